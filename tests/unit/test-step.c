// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/step.h"
#include "util/text.h"

static void repeated_steps_are_summed_counted_and_keep_their_longest(void **state)
{
	struct steps steps = { 0 };

	step_add(&steps, "reg_mr", 1000, 65536);
	step_add(&steps, "modify_rtr", 10, 0);
	step_add(&steps, "modify_rtr", 30, 0);
	step_add(&steps, "modify_rtr", 20, 0);
	assert_int_equal(steps.count, 2);
	assert_int_equal(steps.items[0].bytes, 65536);
	assert_int_equal(steps.items[1].count, 3);
	assert_int_equal(steps.items[1].duration_ns, 60);
	assert_int_equal(steps.items[1].max_ns, 30);
}

static void C63_sums_saturate_instead_of_wrapping(void **state)
{
	struct steps steps = { 0 };

	step_add(&steps, "exchange", UINT64_MAX - 1, 0);
	step_add(&steps, "exchange", 5, 0);
	assert_true(steps.items[0].duration_ns == UINT64_MAX);
}

static void a_full_table_puts_the_rest_together(void **state)
{
	struct steps steps = { 0 };
	char name[8] = "aa";

	for (int i = 0; i < LIMIT_STEPS + 5; i++) {
		name[0] = (char)('a' + i / 26);
		name[1] = (char)('a' + i % 26);
		step_add(&steps, name, 1, 0);
	}
	assert_int_equal(steps.count, LIMIT_STEPS);
	assert_string_equal(steps.items[LIMIT_STEPS - 1].name, "other");
	assert_int_equal(steps.items[LIMIT_STEPS - 1].count, 6);
}

static void steps_come_back_from_json(void **state)
{
	struct steps steps = { 0 }, read = { 0 };
	struct error err = ERROR_INIT;
	json_t *json;

	step_add(&steps, "open_device", 1500000, 0);
	step_add(&steps, "reg_mr", 90000, 1 << 20);
	step_add(&steps, "reg_mr", 80000, 1 << 20);
	json = step_write(&steps);
	assert_int_equal(step_read(json, &read, &err), 0);
	assert_memory_equal(&steps, &read, sizeof(steps));
	json_decref(json);
}

static void refuse(const char *text)
{
	struct steps read = { .count = 7 };
	struct error err = ERROR_INIT;
	json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(json);
	assert_true(step_read(json, &read, &err) < 0);
	assert_true(error_is_set(&err));
	assert_int_equal(read.count, 7); /* set on success only */
	json_decref(json);
}

static void steps_of_a_hostile_peer_are_refused(void **state)
{
	struct text many = TEXT_INIT;

	refuse("{}");
	refuse("[1]");
	refuse("[{\"name\":\"x\",\"count\":0,\"duration_ns\":0,\"max_ns\":0}]");
	refuse("[{\"name\":\"x\",\"count\":1,\"duration_ns\":-1,\"max_ns\":0}]");
	refuse("[{\"name\":\"x y\",\"count\":1,\"duration_ns\":1,\"max_ns\":0}]");
	refuse("[{\"name\":\"0123456789012345678901234567890123456789\",\"count\":1,\"duration_ns\":1,\"max_ns\":0}]");
	refuse("[{\"count\":1,\"duration_ns\":1,\"max_ns\":0}]");
	for (int i = 0; i <= LIMIT_STEPS; i++) {
		text_add(&many, i ? "," : "[");
		text_add(&many, "{\"name\":\"x\",\"count\":1,\"duration_ns\":1,\"max_ns\":1}");
	}
	text_add(&many, "]");
	refuse(many.data);
	text_done(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_steps_are_summed_counted_and_keep_their_longest),
		cmocka_unit_test(C63_sums_saturate_instead_of_wrapping),
		cmocka_unit_test(a_full_table_puts_the_rest_together),
		cmocka_unit_test(steps_come_back_from_json),
		cmocka_unit_test(steps_of_a_hostile_peer_are_refused),
	};

	return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
