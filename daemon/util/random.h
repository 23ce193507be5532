// SPDX-License-Identifier: MIT
#pragma once

/*
 * Randomness. random_fill is the link-time seam (getrandom in production, seeded in tests). The
 * prng is for workloads: same seed, same sequence, on every machine (splitmix64-seeded
 * xoshiro256**).
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Cryptographic; never fails (blocks only before the kernel's pool is ready at boot). Any thread.
 */
void random_fill(void *bytes, size_t count);

struct prng {
	uint64_t state[4];
};
void prng_init(struct prng *prng, uint64_t seed);
uint64_t prng_next(struct prng *prng);
/* Uniform in [0, bound) without bias; bound >= 1. */
uint64_t prng_below(struct prng *prng, uint64_t bound);

/*
 * A stable 64-bit hash (FNV-1a, finished by a splitmix step) for jitter and ownership; the same on
 * every node.
 */
uint64_t prng_hash(const char *string, uint64_t seed);
