// SPDX-License-Identifier: MIT
/* util/random for tests: a stream for each node of a world, the product's without one. */
#define random_fill real_random_fill
#include "util/random.c" /* NOLINT(bugprone-suspicious-include) */
#undef random_fill

#include "fake/inside.h"

void random_fill(void *bytes, size_t count);

void random_fill(void *bytes, size_t count)
{
	unsigned char *next = bytes;
	struct node *node = inside_node();

	if (node == NULL) {
		real_random_fill(bytes, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		next[i] = (unsigned char)prng_next(&node->prng);
	}
}
