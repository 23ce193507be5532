// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model/counter.h"

static const struct counter_value nothing = { .state = COUNTER_ABSENT };

static struct counter_value growth(struct counter_value before, struct counter_value after)
{
	struct counters from = { 0 };
	struct counters to = { 0 };

	from.values[COUNTER_ICRC_ERRORS] = before;
	to.values[COUNTER_ICRC_ERRORS] = after;
	counter_growth(&from, &to, &to);
	assert_int_equal(to.values[COUNTER_SENT_BYTES].state, COUNTER_ABSENT);
	return to.values[COUNTER_ICRC_ERRORS];
}

static struct counter_value read_as(uint64_t value)
{
	return (struct counter_value){ .state = COUNTER_READ, .value = value };
}

static void growth_is_the_difference_of_two_readings(void **state)
{
	assert_int_equal(growth(read_as(5), read_as(12)).value, 7);
	assert_int_equal(growth(read_as(5), read_as(5)).state, COUNTER_READ);
	assert_int_equal(growth(read_as(0), read_as(UINT64_MAX)).value, UINT64_MAX);
}

static void a_counter_that_shrank_was_reset_and_its_growth_is_not_known(void **state)
{
	struct counter_value is = growth(read_as(12), read_as(5));

	assert_int_equal(is.state, COUNTER_RESET);
	assert_int_equal(is.value, 0);
}

static void what_was_not_read_at_either_time_has_no_growth(void **state)
{
	struct counter_value full = { .state = COUNTER_SATURATED };
	struct counter_value bad = { .state = COUNTER_UNREADABLE };

	assert_int_equal(growth(nothing, nothing).state, COUNTER_ABSENT);
	assert_int_equal(growth(read_as(1), nothing).state, COUNTER_ABSENT);
	assert_int_equal(growth(nothing, read_as(3)).state, COUNTER_UNREADABLE);
	assert_int_equal(growth(read_as(1), full).state, COUNTER_SATURATED);
	assert_int_equal(growth(full, read_as(3)).state, COUNTER_SATURATED);
	assert_int_equal(growth(bad, read_as(3)).state, COUNTER_UNREADABLE);
	assert_int_equal(growth(read_as(3), bad).state, COUNTER_UNREADABLE);
}

static void what_is_written_is_read_again_and_absent_ones_take_no_room(void **state)
{
	struct counters counters = { 0 };
	struct counters again;
	struct error err = ERROR_INIT;
	json_t *json;

	counters.values[COUNTER_RETRANSMISSIONS] = read_as(3);
	counters.values[COUNTER_LINK_ERRORS].state = COUNTER_SATURATED;
	counters.values[COUNTER_SENT_BYTES].state = COUNTER_RESET;
	json = counter_write(&counters);
	assert_int_equal(json_object_size(json), 3);
	assert_int_equal(counter_read(json, &again, &err), 0);
	assert_memory_equal(&again, &counters, sizeof(counters));
	assert_true(counter_grew(&again, COUNTER_RETRANSMISSIONS));
	assert_false(counter_grew(&again, COUNTER_LINK_ERRORS));
	json_decref(json);
}

static void every_counter_and_state_has_a_name_of_its_own(void **state)
{
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		assert_non_null(counter_names[i]);
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(counter_names[i], counter_names[j]);
		}
	}
	assert_null(counter_names[COUNTER_COUNT]);
	assert_null(counter_state_names[COUNTER_RESET + 1]);
}

static void a_peer_that_lies_is_refused(void **state)
{
	static const char *const bad[] = {
		"[]",
		"7",
		"{\"icrc_errors\": -1}",
		"{\"icrc_errors\": 1.5}",
		"{\"icrc_errors\": \"read\"}",
		"{\"icrc_errors\": \"absent\"}",
		"{\"icrc_errors\": null}",
		"{\"icrc_errors\": {}}",
	};
	struct counters counters = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = json_loads(bad[i], JSON_DECODE_ANY, NULL);
		struct error err = ERROR_INIT;

		counters.values[0] = read_as(42);
		assert_int_equal(counter_read(json, &counters, &err), -EINVAL);
		assert_true(err.text[0] != '\0');
		assert_int_equal(counters.values[0].value, 42);
		json_decref(json);
	}
}

static void unknown_counters_of_a_newer_peer_are_ignored(void **state)
{
	json_t *json = json_loads("{\"flux\": \"high\", \"sent_packets\": 9}", 0, NULL);
	struct counters counters;
	struct error err = ERROR_INIT;

	assert_int_equal(counter_read(json, &counters, &err), 0);
	assert_int_equal(counters.values[COUNTER_SENT_PACKETS].value, 9);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth_is_the_difference_of_two_readings),
		cmocka_unit_test(a_counter_that_shrank_was_reset_and_its_growth_is_not_known),
		cmocka_unit_test(what_was_not_read_at_either_time_has_no_growth),
		cmocka_unit_test(what_is_written_is_read_again_and_absent_ones_take_no_room),
		cmocka_unit_test(every_counter_and_state_has_a_name_of_its_own),
		cmocka_unit_test(a_peer_that_lies_is_refused),
		cmocka_unit_test(unknown_counters_of_a_newer_peer_are_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
