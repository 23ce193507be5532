// SPDX-License-Identifier: MIT
#include "engine/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void what_comes_once_and_in_order_is_nothing_else(void **state)
{
	struct sequence sequence = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 3 * SEQUENCE_WINDOW; i++) {
		assert_int_equal(sequence_take(&sequence, i), SEQUENCE_NEXT);
	}
	assert_int_equal(sequence.missing, 0);
	assert_int_equal(sequence.next, 3 * SEQUENCE_WINDOW);
}

static void gaps_are_missing_until_they_are_filled_once(void **state)
{
	struct sequence sequence = { 0 };

	(void)state;
	assert_int_equal(sequence_take(&sequence, 0), SEQUENCE_NEXT);
	assert_int_equal(sequence_take(&sequence, 5), SEQUENCE_NEXT);
	assert_int_equal(sequence.missing, 4);
	assert_int_equal(sequence_take(&sequence, 2), SEQUENCE_LATE);
	assert_int_equal(sequence_take(&sequence, 2), SEQUENCE_AGAIN);
	assert_int_equal(sequence_take(&sequence, 5), SEQUENCE_AGAIN);
	assert_int_equal(sequence.missing, 3);
}

static void what_is_older_than_the_window_is_late_while_something_is_missing(void **state)
{
	struct sequence sequence = { 0 };

	(void)state;
	assert_int_equal(sequence_take(&sequence, 1), SEQUENCE_NEXT);
	assert_int_equal(sequence_take(&sequence, 10 * SEQUENCE_WINDOW), SEQUENCE_NEXT);
	assert_int_equal(sequence_take(&sequence, 10 * SEQUENCE_WINDOW - 1), SEQUENCE_LATE);
	assert_int_equal(sequence_take(&sequence, 0), SEQUENCE_LATE);
	sequence.missing = 0;
	assert_int_equal(sequence_take(&sequence, 2), SEQUENCE_AGAIN);
}

static void half_a_number_is_the_one_nearest_to_the_next(void **state)
{
	struct sequence sequence = { .next = 5 };

	(void)state;
	assert_int_equal(sequence_widen(&sequence, 7), 7);
	assert_int_equal(sequence_widen(&sequence, 3), 3);
	sequence.next = 0x100000002ull;
	assert_int_equal(sequence_widen(&sequence, 2), 0x100000002ull);
	assert_int_equal(sequence_widen(&sequence, 0xffffffffu), 0xffffffffull);
	assert_int_equal(sequence_widen(&sequence, 9), 0x100000009ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_once_and_in_order_is_nothing_else),
		cmocka_unit_test(gaps_are_missing_until_they_are_filled_once),
		cmocka_unit_test(what_is_older_than_the_window_is_late_while_something_is_missing),
		cmocka_unit_test(half_a_number_is_the_one_nearest_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
