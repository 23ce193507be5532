// SPDX-License-Identifier: MIT
#include "engine/payload.h"

#include <endian.h>
#include <string.h>

#include "model/workload.h"
#include "util/crc32c.h"

#define WORD_BYTES sizeof(uint64_t)
#define STEP 0x9e3779b97f4a7c15ull /* odd */

struct head {
	uint64_t number;
	uint32_t qp_index;
	uint32_t size_bytes;
	uint32_t sum; /* of what is behind the head; 0 where that does not count */
	uint32_t head_sum; /* of all before it */
};
_Static_assert(sizeof(struct head) == PAYLOAD_HEAD_BYTES, "no gaps");

/* splitmix64: any two words are unlike. */
static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static uint64_t base_of(const struct payload *payload)
{
	return mix((payload->qp_index + 1) * STEP ^ (payload->number + 1));
}

static uint64_t word(int method, uint64_t base, uint64_t index)
{
	return htole64(method == VERIFY_CRC32C ? mix(base + index * STEP) : base + index);
}

static void fill(const struct payload *payload, uint8_t *to, uint64_t bytes)
{
	uint64_t base = base_of(payload);
	uint64_t index = 0;

	for (; bytes >= WORD_BYTES; bytes -= WORD_BYTES, to += WORD_BYTES) {
		uint64_t value = word(payload->method, base, index++);

		memcpy(to, &value, WORD_BYTES);
	}
	if (bytes > 0) {
		uint64_t value = word(payload->method, base, index);

		memcpy(to, &value, bytes);
	}
}

/* Offset of the first byte that differs; `bytes` if none does. */
static uint64_t differs_at(const struct payload *payload, const uint8_t *from, uint64_t bytes)
{
	uint64_t base = base_of(payload);

	for (uint64_t at = 0; at < bytes; at += WORD_BYTES) {
		uint64_t length = bytes - at < WORD_BYTES ? bytes - at : WORD_BYTES;
		uint64_t value = word(payload->method, base, at / WORD_BYTES);
		const uint8_t *expected = (const uint8_t *)&value;

		if (memcmp(expected, from + at, length) == 0) {
			continue;
		}
		for (uint64_t i = 0; i < length; i++) {
			if (expected[i] != from[at + i]) {
				return at + i;
			}
		}
	}
	return bytes;
}

static uint32_t sum_of_body(const struct payload *payload, const void *body)
{
	return payload->method == VERIFY_CRC32C && payload->is_whole
		       ? crc32c(0, body, payload->size_bytes - PAYLOAD_HEAD_BYTES)
		       : 0;
}

static void make_head(const struct payload *payload, uint32_t sum, struct head *ret)
{
	*ret = (struct head){ .number = htole64(payload->number),
			      .qp_index = htole32((uint32_t)payload->qp_index),
			      .size_bytes = htole32((uint32_t)payload->size_bytes),
			      .sum = htole32(sum) };
	ret->head_sum = htole32(crc32c(0, ret, offsetof(struct head, head_sum)));
}

void payload_write(const struct payload *payload, void *to)
{
	uint8_t *body = (uint8_t *)to + PAYLOAD_HEAD_BYTES;
	struct head head;

	if (payload->is_whole) {
		fill(payload, body, payload->size_bytes - PAYLOAD_HEAD_BYTES);
	}
	make_head(payload, sum_of_body(payload, body), &head);
	memcpy(to, &head, sizeof(head));
}

enum payload_state payload_read_head(const void *from, struct payload *ret)
{
	static const struct head absent;
	struct head head;

	memcpy(&head, from, sizeof(head));
	if (memcmp(&head, &absent, sizeof(head)) == 0) {
		return PAYLOAD_ABSENT;
	}
	if (le32toh(head.head_sum) != crc32c(0, &head, offsetof(struct head, head_sum))) {
		return PAYLOAD_BROKEN;
	}
	*ret = (struct payload){ .qp_index = le32toh(head.qp_index),
				 .number = le64toh(head.number),
				 .size_bytes = le32toh(head.size_bytes) };
	return PAYLOAD_GOOD;
}

/* What should stand at an offset, and what does. */
static void show(const void *expected, const void *found, uint64_t length,
		 struct verification_fault *ret)
{
	ret->length = length < VERIFICATION_SHOWN_BYTES ? length : VERIFICATION_SHOWN_BYTES;
	memcpy(ret->expected, expected, ret->length);
	memcpy(ret->found, found, ret->length);
}

/* From `offset` on, counted in what was laid out or stands behind the head. */
static void show_body(const struct payload *payload, const uint8_t *from, uint64_t offset,
		      uint64_t bytes, struct verification_fault *ret)
{
	uint8_t expected[VERIFICATION_SHOWN_BYTES];
	uint64_t base = base_of(payload);

	for (uint64_t i = 0; i < sizeof(expected); i++) {
		uint64_t value = word(payload->method, base, (offset + i) / WORD_BYTES);

		expected[i] = ((const uint8_t *)&value)[(offset + i) % WORD_BYTES];
	}
	show(expected, from + offset, bytes - offset, ret);
}

/* Of a body as it should be, a piece at a time. */
static uint32_t expected_sum(const struct payload *payload)
{
	uint64_t left = payload->size_bytes - PAYLOAD_HEAD_BYTES;
	uint64_t base = base_of(payload);
	uint32_t sum = 0;

	if (payload->method != VERIFY_CRC32C || !payload->is_whole) {
		return 0;
	}
	for (uint64_t index = 0; left > 0; index++) {
		uint64_t value = word(payload->method, base, index);
		uint64_t length = left < WORD_BYTES ? left : WORD_BYTES;

		sum = crc32c(sum, &value, length);
		left -= length;
	}
	return sum;
}

void payload_tell(const struct payload *payload, const void *from, struct verification_fault *ret)
{
	const uint8_t *found = from;
	const uint8_t *body = found + PAYLOAD_HEAD_BYTES;
	uint64_t body_bytes;
	struct head head;
	uint64_t at;

	ret->number = payload->number;
	if (payload->size_bytes < PAYLOAD_HEAD_BYTES) {
		ret->offset_bytes = payload->size_bytes; /* it ends there */
		return;
	}
	body_bytes = payload->size_bytes - PAYLOAD_HEAD_BYTES;
	make_head(payload, expected_sum(payload), &head);
	for (at = 0; at < sizeof(head); at++) {
		if (((const uint8_t *)&head)[at] != found[at]) {
			ret->offset_bytes = at;
			show((const uint8_t *)&head + at, found + at, sizeof(head) - at, ret);
			return;
		}
	}
	at = payload->is_whole ? differs_at(payload, body, body_bytes) : body_bytes;
	if (at < body_bytes) {
		ret->offset_bytes = PAYLOAD_HEAD_BYTES + at;
		show_body(payload, body, at, body_bytes, ret);
	}
}

bool payload_is(const struct payload *payload, const void *from, struct verification_fault *ret)
{
	const uint8_t *body = (const uint8_t *)from + PAYLOAD_HEAD_BYTES;
	uint64_t bytes = payload->size_bytes - PAYLOAD_HEAD_BYTES;
	struct head head, expected;
	bool is_good;

	if (payload->size_bytes < PAYLOAD_HEAD_BYTES) {
		payload_tell(payload, from, ret);
		return false;
	}
	memcpy(&head, from, sizeof(head));
	make_head(payload, sum_of_body(payload, body), &expected);
	is_good = memcmp(&head, &expected, sizeof(head)) == 0 &&
		  (payload->method == VERIFY_CRC32C || !payload->is_whole ||
		   differs_at(payload, body, bytes) == bytes);
	if (!is_good) {
		payload_tell(payload, from, ret);
	}
	return is_good;
}

void payload_clear(void *head)
{
	memset(head, 0, PAYLOAD_HEAD_BYTES);
}

/* --- without a head --- */

void payload_lay_out(const struct payload *payload, void *to)
{
	fill(payload, to, payload->size_bytes);
}

uint32_t payload_sum(const struct payload *payload, const void *from)
{
	return payload->method == VERIFY_CRC32C ? crc32c(0, from, payload->size_bytes) : 0;
}

bool payload_is_laid_out(const struct payload *payload, uint32_t sum, const void *from,
			 struct verification_fault *ret)
{
	uint64_t at;

	if (payload->method == VERIFY_CRC32C && payload_sum(payload, from) == sum) {
		return true;
	}
	at = differs_at(payload, from, payload->size_bytes);
	if (at == payload->size_bytes) {
		return payload->method != VERIFY_CRC32C;
	}
	ret->number = payload->number;
	ret->offset_bytes = at;
	show_body(payload, from, at, payload->size_bytes, ret);
	return false;
}

bool payload_begins(const struct payload *payload, const void *from)
{
	uint64_t bytes = payload->size_bytes < WORD_BYTES ? payload->size_bytes : WORD_BYTES;

	return differs_at(payload, from, bytes) == bytes;
}
