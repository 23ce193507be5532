// SPDX-License-Identifier: MIT
#include "util/random.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void random_fill(void *bytes, size_t count)
{
	unsigned char *next = bytes;

	while (count > 0) {
		ssize_t got = getrandom(next, count, 0);

		if (got < 0) {
			if (errno == EINTR) {
				continue;
			}
			/*
			 * Only a kernel before 3.17 or a filter that forbids the call; keys cannot
			 * be made.
			 */
			abort();
		}
		next += got;
		count -= (size_t)got;
	}
}
