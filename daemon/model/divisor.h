// SPDX-License-Identifier: MIT
#pragma once

/* Divisors and multiples of counts. Pure; neither argument is 0. */

#include <stdint.h>

static inline uint64_t divisor_greatest(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The least common multiple; of counts below 2^32, so that it cannot overflow. */
static inline uint64_t divisor_multiple(uint64_t a, uint64_t b)
{
	return a / divisor_greatest(a, b) * b;
}
