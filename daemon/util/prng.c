// SPDX-License-Identifier: MIT
#include "util/random.h"

#include <assert.h>

/*
 * Constants and steps of splitmix64 (Steele, Lea, Flood 2014) and xoshiro256** 1.0 (Blackman, Vigna
 * 2018).
 */
#define SPLITMIX_GAMMA 0x9e3779b97f4a7c15ull
#define FNV_OFFSET 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

static uint64_t splitmix_finish(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static uint64_t rotate_left(uint64_t value, unsigned bits)
{
	return (value << bits) | (value >> (64 - bits));
}

void prng_init(struct prng *prng, uint64_t seed)
{
	for (unsigned i = 0; i < 4; i++) {
		seed += SPLITMIX_GAMMA;
		prng->state[i] = splitmix_finish(seed);
	}
}

uint64_t prng_next(struct prng *prng)
{
	uint64_t *state = prng->state;
	uint64_t result = rotate_left(state[1] * 5, 7) * 9;
	uint64_t shifted = state[1] << 17;

	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= shifted;
	state[3] = rotate_left(state[3], 45);
	return result;
}

/*
 * The high half of a 64x64 product; products whose low half falls in the surplus are drawn again
 * (Lemire 2019).
 */
uint64_t prng_below(struct prng *prng, uint64_t bound)
{
	unsigned __int128 product;

	assert(bound >= 1);
	product = (unsigned __int128)prng_next(prng) * bound;
	if ((uint64_t)product < bound) {
		uint64_t surplus = -bound % bound;

		while ((uint64_t)product < surplus) {
			product = (unsigned __int128)prng_next(prng) * bound;
		}
	}
	return (uint64_t)(product >> 64);
}

uint64_t prng_hash(const char *string, uint64_t seed)
{
	uint64_t hash = FNV_OFFSET ^ splitmix_finish(seed + SPLITMIX_GAMMA);

	for (const char *c = string; *c; c++) {
		hash = (hash ^ (unsigned char)*c) * FNV_PRIME;
	}
	return splitmix_finish(hash + SPLITMIX_GAMMA);
}
