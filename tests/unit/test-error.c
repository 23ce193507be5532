// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "util/error.h"
#include "util/text.h"

static void an_error_carries_class_and_sentence_and_returns_its_number(void **state)
{
	struct error err = ERROR_INIT;

	assert_false(error_is_set(&err));
	assert_int_equal(error_set(&err, -EINVAL, ERROR_INPUT, "\"%s\" is above %d", "9", 7),
			 -EINVAL);
	assert_true(error_is_set(&err));
	assert_int_equal(err.class, ERROR_INPUT);
	assert_int_equal(err.stage, STAGE_NONE);
	assert_int_equal(err.kind, ERROR_KIND_NONE);
	assert_string_equal(err.text, "\"9\" is above 7");
}

static void the_first_error_stays(void **state)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EINVAL, ERROR_INPUT, "first");
	assert_int_equal(error_set(&err, -EIO, ERROR_PEER, "second"), -EIO);
	assert_int_equal(error_set_call(&err, ENOMEM, ERROR_RESOURCE, STAGE_RUN, "ibv_reg_mr",
					"third"),
			 -ENOMEM);
	assert_string_equal(err.text, "first");
	assert_int_equal(err.class, ERROR_INPUT);
	assert_int_equal(err.number, 0);
	assert_string_equal(err.call, "");
}

static void nobody_has_to_listen(void **state)
{
	assert_int_equal(error_set(NULL, -EINVAL, ERROR_INPUT, "unheard"), -EINVAL);
	assert_int_equal(error_set_call(NULL, EPERM, ERROR_DEVICE, STAGE_RUN, "x", "unheard"),
			 -EPERM);
	error_prefix(NULL, "prefix");
}

static void a_failed_call_is_recorded_with_its_errno(void **state)
{
	struct error err = ERROR_INIT;
	int ret = error_set_call(&err, ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr",
				 "cannot register %d bytes", 4096);

	assert_int_equal(ret, -ENOMEM);
	assert_int_equal(err.kind, ERROR_KIND_ERRNO);
	assert_int_equal(err.number, ENOMEM);
	assert_int_equal(err.stage, STAGE_RESOURCE);
	assert_string_equal(err.call, "ibv_reg_mr");
	assert_string_equal(err.text, "cannot register 4096 bytes: Cannot allocate memory");
}

static void strange_numbers_of_a_provider_still_are_errors(void **state)
{
	struct error negative = ERROR_INIT;
	struct error zero = ERROR_INIT;
	struct error unknown = ERROR_INIT;

	assert_int_equal(error_set_call(&negative, -EPERM, ERROR_DEVICE, STAGE_RUN, "x", "no"),
			 -EPERM);
	assert_int_equal(negative.number, EPERM);
	assert_int_equal(error_set_call(&zero, 0, ERROR_DEVICE, STAGE_RUN, "x", "no"), -EIO);
	assert_true(error_is_set(&zero));
	assert_int_equal(error_set_call(&unknown, 99999, ERROR_DEVICE, STAGE_RUN, "x", "no"),
			 -99999);
	assert_string_equal(unknown.text, "no: errno 99999");
}

static void a_number_is_added_without_changing_the_sentence(void **state)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EBADMSG, ERROR_PEER, "sent nonsense");
	assert_int_equal(err.kind, ERROR_KIND_NONE);
	error_number(&err, -EBADMSG);
	assert_int_equal(err.kind, ERROR_KIND_ERRNO);
	assert_int_equal(err.number, EBADMSG);
	assert_string_equal(err.text, "sent nonsense");
}

static void a_long_name_of_a_call_is_cut_not_overrun(void **state)
{
	struct error err = ERROR_INIT;
	char name[200];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	error_set_call(&err, EIO, ERROR_DEVICE, STAGE_RUN, name, "x");
	assert_int_equal(strlen(err.call), sizeof(err.call) - 1);
	error_set_call(&err, EIO, ERROR_DEVICE, STAGE_RUN, NULL, "x");
}

static void a_sentence_stays_one_line_of_text_whatever_it_quotes(void **state)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EINVAL, ERROR_PEER, "peer says \"%s\"", "a\nb\x1b[31m\xff");
	assert_string_equal(err.text, "peer says \"a\\x0ab\\x1b[31m\\xff\"");
}

static void a_long_sentence_is_cut_at_a_character(void **state)
{
	struct error err = ERROR_INIT;
	char long_text[2001];

	/* 1000 letters of two bytes: any odd cut would split one */
	for (unsigned i = 0; i < 1000; i++) {
		memcpy(long_text + 2 * i, "\xc3\xa4", 2);
	}
	long_text[2000] = '\0';
	error_set(&err, -EINVAL, ERROR_INPUT, "x%s", long_text);
	assert_true(strlen(err.text) >= sizeof(err.text) - 2);
	assert_true(text_is_utf8(err.text, strlen(err.text)));
}

static void a_prefix_comes_before_and_is_never_lost(void **state)
{
	struct error err = ERROR_INIT;
	char long_text[501];

	error_prefix(&err, "nothing to prefix");
	assert_string_equal(err.text, "");
	memset(long_text, 't', 500);
	long_text[500] = '\0';
	error_set(&err, -EINVAL, ERROR_INPUT, "%s", long_text);
	error_prefix(&err, "peer \"%s\"", "node2");
	error_prefix(&err, "run");
	assert_true(text_starts_with(err.text, "run: peer \"node2\": ttt"));
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	error_prefix(&err, "%s%s", long_text, long_text);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void names_are_stable_words(void **state)
{
	assert_string_equal(error_class_name(ERROR_NONE), "none");
	assert_string_equal(error_class_name(ERROR_RESOURCE), "resource");
	assert_string_equal(error_class_name(ERROR_BUG), "bug");
	assert_string_equal(error_stage_name(STAGE_MODIFY_QP), "modify_qp");
	assert_string_equal(error_stage_name(STAGE_REPORT), "report");
	assert_string_equal(error_kind_name(ERROR_KIND_WC_STATUS), "wc_status");
	assert_string_equal(error_kind_name(ERROR_KIND_CM_REJECT), "cm_reject");
	assert_string_equal(error_class_name((enum error_class)99), "unknown");
	assert_string_equal(error_stage_name((enum error_stage) - 1), "unknown");
	assert_string_equal(error_kind_name((enum error_kind)4), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_carries_class_and_sentence_and_returns_its_number),
		cmocka_unit_test(the_first_error_stays),
		cmocka_unit_test(nobody_has_to_listen),
		cmocka_unit_test(a_failed_call_is_recorded_with_its_errno),
		cmocka_unit_test(strange_numbers_of_a_provider_still_are_errors),
		cmocka_unit_test(a_number_is_added_without_changing_the_sentence),
		cmocka_unit_test(a_long_name_of_a_call_is_cut_not_overrun),
		cmocka_unit_test(a_sentence_stays_one_line_of_text_whatever_it_quotes),
		cmocka_unit_test(a_long_sentence_is_cut_at_a_character),
		cmocka_unit_test(a_prefix_comes_before_and_is_never_lost),
		cmocka_unit_test(names_are_stable_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
