// SPDX-License-Identifier: MIT
/* util/random for tests: a stream for each node of a world, the kernel's without one. */
#include "util/random.h"

#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

#include "fake/inside.h"

static void fill_seeded(struct prng *prng, unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bytes[i] = (unsigned char)prng_next(prng);
	}
}

void random_fill(void *bytes, size_t count)
{
	unsigned char *next = bytes;
	struct node *node = inside_node();

	if (node != NULL) {
		fill_seeded(&node->prng, bytes, count);
		return;
	}
	while (count > 0) {
		ssize_t got = getrandom(next, count, 0);
		if (got < 0) {
			abort();
		}
		next += got;
		count -= (size_t)got;
	}
}
