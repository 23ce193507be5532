// SPDX-License-Identifier: MIT
#include "util/crc32c.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* RFC 3720, appendix B.4. */
static void the_examples_of_the_rfc_come_out(void **state)
{
	static const uint8_t read_command[48] = {
		0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
		0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
		0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0,
	};
	uint8_t bytes[32];

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)i;
	}
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)(31 - i);
	}
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x113fdb5c);
	assert_int_equal(crc32c(0, read_command, sizeof(read_command)), 0xd9963a56);
	assert_int_equal(crc32c_by_table(0, read_command, sizeof(read_command)), 0xd9963a56);
}

static void both_ways_agree_on_every_length_and_in_pieces(void **state)
{
	uint8_t bytes[100];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)(i * 37 + 11);
	}
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	for (size_t length = 0; length <= sizeof(bytes) - 3; length++) {
		uint32_t sum = crc32c_by_table(0, bytes + 3, length);

		assert_int_equal(crc32c(0, bytes + 3, length), sum);
		assert_int_equal(crc32c(crc32c(0, bytes + 3, length / 3), bytes + 3 + length / 3,
					length - length / 3),
				 sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_examples_of_the_rfc_come_out),
		cmocka_unit_test(both_ways_agree_on_every_length_and_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
