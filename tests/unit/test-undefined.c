// SPDX-License-Identifier: MIT

/* Undefined behaviour and nothing else wrong: a build with sanitizers must fail this test. */

#include <limits.h>

int main(int argc, char **argv)
{
	volatile int most = INT_MAX;

	(void)argv;
	most = most + argc;
	return 0;
}
