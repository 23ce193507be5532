// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/verdict.h"

static void the_worst_of_a_set_is_fail_then_error_then_inconclusive(void **state)
{
	static const enum verdict order[] = {
		VERDICT_NONE,	      VERDICT_PASS,  VERDICT_DEGRADED, VERDICT_UNSUPPORTED,
		VERDICT_INCONCLUSIVE, VERDICT_ERROR, VERDICT_FAIL,
	};

	for (int i = 0; i < VERDICT_COUNT; i++) {
		for (int j = 0; j < VERDICT_COUNT; j++) {
			assert_int_equal(verdict_worse(order[i], order[j]), order[i > j ? i : j]);
		}
	}
}

static void every_verdict_has_its_word_and_exit_status(void **state)
{
	assert_string_equal(verdict_names[VERDICT_PASS], "pass");
	assert_string_equal(verdict_names[VERDICT_FAIL], "fail");
	assert_string_equal(verdict_names[VERDICT_UNSUPPORTED], "unsupported");
	assert_null(verdict_names[VERDICT_COUNT]);
	assert_int_equal(verdict_exit_status(VERDICT_PASS), 0);
	assert_int_equal(verdict_exit_status(VERDICT_FAIL), 1);
	assert_int_equal(verdict_exit_status(VERDICT_ERROR), 3);
	assert_int_equal(verdict_exit_status(VERDICT_INCONCLUSIVE), 4);
	assert_int_equal(verdict_exit_status(VERDICT_DEGRADED), 5);
	assert_int_equal(verdict_exit_status(VERDICT_UNSUPPORTED), 6);
	/* what was never judged is no success */
	assert_int_equal(verdict_exit_status(VERDICT_NONE), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_of_a_set_is_fail_then_error_then_inconclusive),
		cmocka_unit_test(every_verdict_has_its_word_and_exit_status),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
