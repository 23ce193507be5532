// SPDX-License-Identifier: MIT
#include "model/verification.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "model/operation.h"

static const struct verification example = {
	.sent = 1,
	.received = 2,
	.verified = 3,
	.corrupted = 4,
	.lost = 5,
	.duplicated = 6,
	.reordered = 7,
	.first = { .is_set = true,
		   .operation = OPERATION_READ,
		   .qp_num = 0x11,
		   .number = 99,
		   .offset_bytes = 24,
		   .length = 3,
		   .expected = { 0xab, 0, 0x7f },
		   .found = { 0xaa, 0, 0x7f } },
};

static void it_travels_whole(void **state)
{
	_cleanup_json_ json_t *json = verification_write(&example);
	struct verification read;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(verification_errors(&example), 22);
	assert_int_equal(verification_read(json, &read, &err), 0);
	assert_memory_equal(&read, &example, sizeof(read));
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(json, "first_corrupted"), "expected")),
			    "ab007f");
}

static void without_a_fault_there_is_none(void **state)
{
	struct verification none = { .verified = 5 }, read;
	_cleanup_json_ json_t *json = verification_write(&none);
	struct error err = ERROR_INIT;

	(void)state;
	assert_true(json_is_null(json_object_get(json, "first_corrupted")));
	assert_int_equal(verification_read(json, &read, &err), 0);
	assert_memory_equal(&read, &none, sizeof(read));
}

static void what_does_not_hold_together_is_refused(void **state)
{
	static const struct {
		const char *key, *value, *says;
	} cases[] = {
		{ "expected", "abc", "hexadecimal" },
		{ "found", "zz", "hexadecimal" },
		{ "found", "aabb", "as many bytes" },
		{ "op", "jump", "an operation" },
		{ "expected", "001122334455667788", "expected" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_json_ json_t *json = verification_write(&example);
		struct verification read;
		struct error err = ERROR_INIT;

		json_set_string(json_object_get(json, "first_corrupted"), cases[i].key,
				cases[i].value);
		assert_true(verification_read(json, &read, &err) < 0);
		assert_non_null(strstr(err.text, cases[i].says));
		assert_non_null(strstr(err.text, "first_corrupted"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_travels_whole),
		cmocka_unit_test(without_a_fault_there_is_none),
		cmocka_unit_test(what_does_not_hold_together_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
