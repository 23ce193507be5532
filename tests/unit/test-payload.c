// SPDX-License-Identifier: MIT
#include "engine/payload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model/workload.h"

#define BYTES 301

static struct payload payload_of(int method, uint64_t number)
{
	return (struct payload){ .method = method,
				 .qp_index = 3,
				 .number = number,
				 .size_bytes = BYTES,
				 .is_whole = true };
}

static void a_byte_that_changes_is_found_wherever_it_is(void **state)
{
	uint8_t bytes[BYTES];

	(void)state;
	for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
		struct payload payload = payload_of(method, 77);
		struct payload head;

		payload_write(&payload, bytes);
		for (uint64_t at = 0; at < BYTES; at++) {
			struct verification_fault fault = { 0 };
			uint8_t was = bytes[at];

			assert_true(payload_is(&payload, bytes, &fault));
			bytes[at] ^= 0x10;
			assert_false(payload_is(&payload, bytes, &fault));
			assert_int_equal(fault.number, 77);
			assert_int_equal(fault.offset_bytes, at);
			assert_true(fault.length >= 1);
			assert_int_equal(fault.expected[0], was);
			assert_int_equal(fault.found[0], bytes[at]);
			assert_int_equal(payload_read_head(bytes, &head),
					 at < PAYLOAD_HEAD_BYTES ? PAYLOAD_BROKEN : PAYLOAD_GOOD);
			bytes[at] = was;
		}
		assert_int_equal(payload_read_head(bytes, &head), PAYLOAD_GOOD);
		assert_int_equal(head.number, 77);
		assert_int_equal(head.qp_index, 3);
		assert_int_equal(head.size_bytes, BYTES);
		payload_clear(bytes);
		assert_int_equal(payload_read_head(bytes, &head), PAYLOAD_ABSENT);
	}
}

static void no_two_messages_are_alike(void **state)
{
	uint8_t one[BYTES], other[BYTES];
	struct verification_fault fault = { 0 };

	(void)state;
	for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
		struct payload a = payload_of(method, 1), b = payload_of(method, 2);

		payload_write(&a, one);
		payload_write(&b, other);
		for (size_t at = PAYLOAD_HEAD_BYTES; at + 8 <= BYTES; at += 8) {
			assert_memory_not_equal(one + at, other + at, 8);
		}
		/* A packet of another one in its middle. */
		memcpy(one + 128, other + 128, 64);
		assert_false(payload_is(&a, one, &fault));
		assert_int_equal(fault.offset_bytes / 64, 2);
	}
}

static void of_a_head_alone_the_rest_does_not_matter(void **state)
{
	uint8_t bytes[BYTES] = { 0 };
	struct verification_fault fault = { 0 };

	(void)state;
	for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
		struct payload payload = payload_of(method, 5);

		payload.is_whole = false;
		payload_write(&payload, bytes);
		memset(bytes + PAYLOAD_HEAD_BYTES, method, BYTES - PAYLOAD_HEAD_BYTES);
		assert_true(payload_is(&payload, bytes, &fault));
		bytes[2] ^= 1;
		assert_false(payload_is(&payload, bytes, &fault));
	}
}

static void what_is_laid_out_is_known_without_a_head(void **state)
{
	uint8_t bytes[BYTES];

	(void)state;
	for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
		struct payload payload = payload_of(method, 2), other = payload_of(method, 3);
		struct verification_fault fault = { 0 };
		uint32_t sum;

		payload_lay_out(&payload, bytes);
		sum = payload_sum(&payload, bytes);
		assert_true(payload_is_laid_out(&payload, sum, bytes, &fault));
		assert_true(payload_begins(&payload, bytes));
		assert_false(payload_begins(&other, bytes));
		payload.size_bytes = 8;
		assert_true(
			payload_is_laid_out(&payload, payload_sum(&payload, bytes), bytes, &fault));
		payload.size_bytes = BYTES;
		bytes[BYTES - 1] ^= 1;
		assert_false(payload_is_laid_out(&payload, sum, bytes, &fault));
		assert_int_equal(fault.offset_bytes, BYTES - 1);
		assert_int_equal(fault.length, 1);
	}
}

/* Whoever knows the queue key may send that: there is no body to look at, and no end to look for.
 */
static void of_a_message_that_is_shorter_than_its_head_the_end_is_told(void **state)
{
	const uint8_t bytes[PAYLOAD_HEAD_BYTES] = { 1, 2, 3 };

	(void)state;
	for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
		for (uint64_t size = 0; size < PAYLOAD_HEAD_BYTES; size++) {
			struct payload payload = payload_of(method, 5);
			struct verification_fault fault = { 0 };

			payload.size_bytes = size;
			payload_tell(&payload, bytes, &fault);
			assert_int_equal(fault.number, 5);
			assert_int_equal(fault.offset_bytes, size);
			assert_int_equal(fault.length, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_byte_that_changes_is_found_wherever_it_is),
		cmocka_unit_test(no_two_messages_are_alike),
		cmocka_unit_test(of_a_head_alone_the_rest_does_not_matter),
		cmocka_unit_test(what_is_laid_out_is_known_without_a_head),
		cmocka_unit_test(of_a_message_that_is_shorter_than_its_head_the_end_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
