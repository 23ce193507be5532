// SPDX-License-Identifier: MIT
#include "run/identifier.h"

#include <stdint.h>

#include "util/clock.h"
#include "util/random.h"

#define LENGTH 26

void identifier_new(char *ret)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t ms = (uint64_t)(clock_real_ns() / 1000000);
	uint8_t random[10];
	unsigned __int128 value;

	random_fill(random, sizeof(random));
	value = ms & 0xffffffffffffull;
	for (unsigned i = 0; i < sizeof(random); i++) {
		value = value << 8 | random[i];
	}
	for (int i = LENGTH - 1; i >= 0; i--) {
		ret[i] = digits[(unsigned)(value & 31)];
		value >>= 5;
	}
	ret[LENGTH] = '\0';
}
