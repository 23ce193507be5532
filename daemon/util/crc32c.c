// SPDX-License-Identifier: MIT
#include "util/crc32c.h"

#include <string.h>

#define ROW(r)                                                                                    \
	ENTRY(r), ENTRY((r) + 1), ENTRY((r) + 2), ENTRY((r) + 3), ENTRY((r) + 4), ENTRY((r) + 5), \
		ENTRY((r) + 6), ENTRY((r) + 7)
#define STEP(x) (((x) >> 1) ^ ((x)&1 ? 0x82f63b78u : 0u))
#define STEP4(x) STEP(STEP(STEP(STEP((uint32_t)(x)))))
#define ENTRY(x) STEP4(x)

/* By half bytes: sixteen entries that anybody can check. */
static const uint32_t table[16] = { ROW(0u), ROW(8u) };

uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	crc = ~crc;
	for (size_t i = 0; i < bytes; i++) {
		crc ^= at[i];
		crc = (crc >> 4) ^ table[crc & 15];
		crc = (crc >> 4) ^ table[crc & 15];
	}
	return ~crc;
}

#ifdef __x86_64__
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const void *data,
								 size_t bytes)
{
	const uint8_t *at = data;
	uint64_t sum = (uint32_t)~crc;

	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		sum = _mm_crc32_u64(sum, word);
	}
	for (; bytes > 0; bytes--, at++) {
		sum = _mm_crc32_u8((uint32_t)sum, *at);
	}
	return ~(uint32_t)sum;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	return __builtin_cpu_supports("sse4.2") ? by_instruction(crc, data, bytes)
						: crc32c_by_table(crc, data, bytes);
}
#else
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	return crc32c_by_table(crc, data, bytes);
}
#endif
