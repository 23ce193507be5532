// SPDX-License-Identifier: MIT
#include "model/reject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void each_reason_has_a_name_and_words_of_its_own(void **state)
{
	for (int reason = 1; reason <= 32; reason++) {
		/* End-to-end contexts and alternate paths: nobody asks for them. */
		bool is_left_out = reason == 2 || reason == 11 || (reason >= 18 && reason <= 23);

		assert_int_equal(strcmp(reject_name(reason), "unknown") == 0, is_left_out);
		assert_true(strlen(reject_words(reason)) > 10);
	}
	assert_string_equal(reject_name(REJECT_NO_LISTENER), "IB_CM_REJ_INVALID_SERVICE_ID");
	assert_string_equal(reject_name(REJECT_STALE), "IB_CM_REJ_STALE_CONN");
	assert_string_equal(reject_name(REJECT_CONSUMER), "IB_CM_REJ_CONSUMER_DEFINED");
}

static void a_number_without_a_name_is_said_to_have_none(void **state)
{
	assert_string_equal(reject_name(0), "unknown");
	assert_string_equal(reject_name(-111), "unknown");
	assert_string_equal(reject_words(65535), "for a reason that has no name here");
	assert_false(reject_is_of_peer(65535));
}

static void the_peers_word_is_told_from_what_lies_between(void **state)
{
	assert_true(reject_is_of_peer(REJECT_CONSUMER));
	assert_true(reject_is_of_peer(REJECT_NO_LISTENER));
	assert_true(reject_is_of_peer(REJECT_STALE));
	assert_false(reject_is_of_peer(12));
	assert_false(reject_is_of_peer(26));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_a_name_and_words_of_its_own),
		cmocka_unit_test(a_number_without_a_name_is_said_to_have_none),
		cmocka_unit_test(the_peers_word_is_told_from_what_lies_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
