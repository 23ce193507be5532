// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "util/json.h"

static json_t *read_text(const char *text)
{
	struct error err = ERROR_INIT;
	json_t *value = json_read(text, strlen(text), &err);

	if (!value) {
		fail_msg("%s: %s", text, err.text);
	}
	return value;
}

static void expect_refused(const char *bytes, size_t count, const char *part)
{
	struct error err = ERROR_INIT;
	json_t *value = json_read(bytes, count, &err);

	if (value) {
		json_decref(value);
		fail_msg("accepted: %s", bytes);
	}
	assert_int_equal(err.class, ERROR_INPUT);
	if (!strstr(err.text, part)) {
		fail_msg("\"%s\" lacks \"%s\"", err.text, part);
	}
}

static void an_object_is_read_and_written_in_its_order(void **state)
{
	const char *text = "{\"z\":1,\"a\":[true,null,\"x\"],\"m\":{\"k\":-5}}";
	_cleanup_json_ json_t *value = read_text(text);
	_cleanup_text_ struct text out = TEXT_INIT;

	json_write(value, &out);
	assert_string_equal(out.data, text);
	text_reset(&out);
	json_write_pretty(value, &out);
	assert_non_null(strstr(out.data, "{\n  \"z\": 1,\n  \"a\": [\n    true,"));
}

static void the_largest_integers_are_exact(void **state)
{
	const char *text = "{\"a\":9223372036854775807,\"b\":-9223372036854775808}";
	_cleanup_json_ json_t *value = read_text(text);
	_cleanup_text_ struct text out = TEXT_INIT;

	json_write(value, &out);
	assert_string_equal(out.data, text);
}

#define REFUSE(text, part) expect_refused(text, sizeof(text) - 1, part)

static void what_is_not_one_strict_object_is_refused(void **state)
{
	REFUSE("", "line 1");
	REFUSE("[1]", "an array");
	REFUSE("{\"a\":1} x", "end of file expected");
	REFUSE("{\"a\":1}{}", "end of file expected");
	REFUSE("{\"a\":1,\"a\":2}", "duplicate");
	REFUSE("{\"a\":\"\xff\"}", "decode byte 0xff");
	REFUSE("{\"a\":\"\\u0000\"}", "line 1");
	REFUSE("{\"a\":\"x\0y\"}", "line 1");
	REFUSE("{\"a\":NaN}", "line 1");
	REFUSE("{\"a\":010}", "line 1");
	REFUSE("{'a':1}", "line 1");
	REFUSE("{\"a\":9223372036854775808}", "big");
	REFUSE("{\"a\":1e999}", "real number overflow");
	REFUSE("{\"a\":", "line 1");
	REFUSE("{\n\"a\"\n1}", "line 3");
	REFUSE("\0", "line 1");
}

static void nesting_is_limited_before_it_is_parsed(void **state)
{
	static char deep[400000];
	struct error err = ERROR_INIT;
	json_t *value;

	memset(deep, '[', sizeof(deep));
	expect_refused(deep, sizeof(deep), "nested deeper than 32");
	/* exactly 32: the object and 31 arrays */
	memcpy(deep, "{\"a\":", 5);
	memset(deep + 5, '[', 31);
	memset(deep + 36, ']', 31);
	deep[67] = '}';
	value = json_read(deep, 68, &err);
	assert_non_null(value);
	json_decref(value);
	/* one more */
	memset(deep + 5, '[', 32);
	memset(deep + 37, ']', 32);
	deep[69] = '}';
	expect_refused(deep, 70, "nested deeper than 32");
}

static void values_are_limited_before_they_are_made(void **state)
{
	static const struct {
		const char *text;
		size_t values;
	} cases[] = {
		{ "{}", 2 }, /* at most, as it is counted */
		{ "{\"a\":1}", 2 },
		{ "{\"a\":[1,2,3]}", 5 },
		{ "{\"a\":[],\"b\":{}}", 5 },
		{ "{\"a,[{\":\"\\\",[{,\"}", 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t count = strlen(cases[i].text);
		struct error err = ERROR_INIT;
		json_t *value = json_read_limited(cases[i].text, count, cases[i].values, &err);

		if (!value) {
			fail_msg("%s: %s", cases[i].text, err.text);
		}
		json_decref(value);
		assert_null(json_read_limited(cases[i].text, count, cases[i].values - 1, &err));
		assert_non_null(strstr(err.text, "values; at most"));
	}
}

static void brackets_in_strings_are_no_nesting(void **state)
{
	_cleanup_json_ json_t *value = read_text(
		"{\"a\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"{{{{\\\\\",\"b\":[]}");

	assert_int_equal(json_object_size(value), 2);
}

static void refusals_do_not_pass_on_what_controls_a_terminal(void **state)
{
	struct error err = ERROR_INIT;

	assert_null(json_read("{\"a\" \x1b[2J}", 10, &err));
	assert_null(strchr(err.text, '\x1b'));
	assert_null(json_read("{", 1, NULL));
}

/* Who pipes a record to a terminal sees what it says; who parses it gets what there was. */
static void what_a_terminal_must_not_get_is_written_as_a_number(void **state)
{
	static const char hostile[] = "\x7f \xc2\x9b"
				      "31m \xe2\x80\xae"
				      "ssap \xf3\xa0\x80\x81 \xc3\xa4 \xf0\x9f\x98\x80";
	_cleanup_json_ json_t *value = json_object();
	_cleanup_json_ json_t *again = NULL;
	_cleanup_text_ struct text out = TEXT_INIT;

	json_set_string(value, "s", hostile);
	json_write(value, &out);
	assert_string_equal(out.data, "{\"s\":\"\\u007f \\u009b31m \\u202essap \\udb40\\udc01 "
				      "\xc3\xa4 \xf0\x9f\x98\x80\"}");
	again = read_text(out.data);
	assert_string_equal(json_string_value(json_object_get(again, "s")), hostile);
	text_reset(&out);
	json_write_pretty(value, &out);
	assert_non_null(strstr(out.data, "\\u202essap"));
}

static void numbers_that_json_cannot_hold_become_null(void **state)
{
	_cleanup_json_ json_t *object = json_object();
	_cleanup_text_ struct text out = TEXT_INIT;

	json_set_real(object, "nan", NAN);
	json_set_real(object, "inf", -INFINITY);
	json_set_u64(object, "huge", (uint64_t)INT64_MAX + 1);
	json_set_u64(object, "large", INT64_MAX);
	json_set_real(object, "tenth", 0.1);
	json_write(object, &out);
	assert_string_equal(
		out.data, "{\"nan\":null,\"inf\":null,\"huge\":null,\"large\":9223372036854775807,"
			  "\"tenth\":0.1}");
}

static void setters_write_what_they_say(void **state)
{
	_cleanup_json_ json_t *object = json_object();
	_cleanup_text_ struct text out = TEXT_INIT;

	json_set_string(object, "s", "\xc3\xa4\n");
	json_set_string(object, "none", NULL);
	json_set_i64(object, "i", INT64_MIN);
	json_set_bool(object, "b", true);
	json_set_time(object, "t", 1788264000123456789);
	json_set_time(object, "never", 0);
	json_set_take(object, "o", json_object());
	json_set_take(object, "nothing", NULL);
	json_set_bool(object, "b", false); /* the last one wins, at its place */
	json_write(object, &out);
	assert_string_equal(out.data,
			    "{\"s\":\"\xc3\xa4\\n\",\"none\":null,\"i\":-9223372036854775808,"
			    "\"b\":false,\"t\":\"2026-09-01T12:00:00.123456789Z\",\"never\":null,"
			    "\"o\":{},\"nothing\":null}");
}

static void bytes_that_are_no_text_are_escaped_not_lost(void **state)
{
	_cleanup_json_ json_t *object = json_object();

	json_set_string(object, "s", "fw\xff\x80");
	assert_string_equal(json_string_value(json_object_get(object, "s")), "fw\\xff\\x80");
}

static void getters_take_what_is_right(void **state)
{
	_cleanup_json_ json_t *object = read_text(
		"{\"s\":\"abc\",\"u\":5,\"i\":-5,\"b\":true,\"r\":1.5,\"o\":{},\"a\":[1,2],\"n\":null}");
	struct error err = ERROR_INIT;
	char string[4];
	json_t *member;
	uint64_t u64;
	int64_t i64;
	double real;
	bool flag;

	assert_int_equal(json_get_string(object, "s", string, sizeof(string), &err), 0);
	assert_string_equal(string, "abc");
	assert_int_equal(json_get_u64(object, "u", 5, 5, &u64, &err), 0);
	assert_int_equal(u64, 5);
	assert_int_equal(json_get_i64(object, "i", &i64, &err), 0);
	assert_int_equal(i64, -5);
	assert_int_equal(json_get_bool(object, "b", &flag, &err), 0);
	assert_true(flag);
	assert_int_equal(json_get_real(object, "r", &real, &err), 0);
	assert_true(real == 1.5);
	assert_int_equal(json_get_real(object, "u", &real, &err), 0);
	assert_true(real == 5);
	assert_int_equal(json_get_object(object, "o", &member, &err), 0);
	assert_true(json_is_object(member));
	assert_int_equal(json_get_array(object, "a", 2, &member, &err), 0);
	assert_int_equal(json_array_size(member), 2);
	assert_false(error_is_set(&err));
}

static void expect_error(int ret, struct error *err, const char *text)
{
	assert_int_equal(ret, -EINVAL);
	assert_int_equal(err->class, ERROR_INPUT);
	assert_string_equal(err->text, text);
	*err = ERROR_INIT;
}

static void getters_say_what_is_wrong_and_change_nothing(void **state)
{
	_cleanup_json_ json_t *object =
		read_text("{\"s\":\"abcd\",\"u\":70000,\"i\":-3,\"r\":1.0,\"n\":null,\"a\":[1,2]}");
	struct error err = ERROR_INIT;
	char string[4] = "old";
	json_t *member = NULL;
	uint64_t u64 = 7;
	int64_t i64 = 7;
	double real = 7;
	bool flag = true;

	expect_error(json_get_string(object, "s", string, 4, &err), &err,
		     "\"s\": \"abcd\" has 4 bytes; at most 3");
	expect_error(json_get_string(object, "u", string, 4, &err), &err,
		     "\"u\": a string is expected, not a whole number");
	expect_error(json_get_u64(object, "x", 0, 9, &u64, &err), &err, "\"x\": missing");
	expect_error(json_get_u64(object, "u", 1, 16384, &u64, &err), &err,
		     "\"u\": 70000 is above 16384");
	expect_error(json_get_u64(object, "u", 80000, 90000, &u64, &err), &err,
		     "\"u\": 70000 is below 80000");
	expect_error(json_get_u64(object, "i", 0, 9, &u64, &err), &err, "\"i\": -3 is below 0");
	expect_error(json_get_u64(object, "r", 0, 9, &u64, &err), &err,
		     "\"r\": a whole number is expected, not a fraction");
	expect_error(json_get_u64(object, "n", 0, 9, &u64, &err), &err,
		     "\"n\": a whole number is expected, not null");
	expect_error(json_get_i64(object, "s", &i64, &err), &err,
		     "\"s\": a whole number is expected, not a string");
	expect_error(json_get_bool(object, "u", &flag, &err), &err,
		     "\"u\": true or false is expected, not a whole number");
	expect_error(json_get_real(object, "s", &real, &err), &err,
		     "\"s\": a number is expected, not a string");
	expect_error(json_get_object(object, "a", &member, &err), &err,
		     "\"a\": an object is expected, not an array");
	expect_error(json_get_array(object, "s", 9, &member, &err), &err,
		     "\"s\": an array is expected, not a string");
	expect_error(json_get_array(object, "a", 1, &member, &err), &err,
		     "\"a\": 2 items; at most 1");
	assert_string_equal(string, "old");
	assert_null(member);
	assert_true(u64 == 7 && i64 == 7 && real == 7 && flag);
}

static void optional_members_keep_their_value_when_absent_or_null(void **state)
{
	_cleanup_json_ json_t *object = read_text("{\"n\":null,\"u\":5,\"s\":\"x\",\"bad\":[]}");
	struct error err = ERROR_INIT;
	char string[4] = "old";
	uint64_t u64 = 7;

	assert_int_equal(json_get_u64_or(object, "n", 0, 9, &u64, &err), 0);
	assert_int_equal(json_get_u64_or(object, "absent", 0, 9, &u64, &err), 0);
	assert_int_equal(u64, 7);
	assert_int_equal(json_get_string_or(object, "n", string, 4, &err), 0);
	assert_int_equal(json_get_string_or(object, "absent", string, 4, &err), 0);
	assert_string_equal(string, "old");
	assert_int_equal(json_get_u64_or(object, "u", 0, 9, &u64, &err), 0);
	assert_int_equal(u64, 5);
	assert_int_equal(json_get_string_or(object, "s", string, 4, &err), 0);
	assert_string_equal(string, "x");
	assert_int_equal(json_get_u64_or(object, "bad", 0, 9, &u64, &err), -EINVAL);
	assert_int_equal(json_get_string_or(object, "bad", string, 4, NULL), -EINVAL);
}

static void getters_live_with_what_is_no_object(void **state)
{
	_cleanup_json_ json_t *array = json_array();
	struct error err = ERROR_INIT;
	uint64_t u64;

	expect_error(json_get_u64(array, "x", 0, 9, &u64, &err), &err, "\"x\": missing");
	expect_error(json_get_u64(NULL, "x", 0, 9, &u64, &err), &err, "\"x\": missing");
}

static void a_hostile_string_is_quoted_shortly(void **state)
{
	_cleanup_json_ json_t *object = json_object();
	struct error err = ERROR_INIT;
	char longer[1001];
	char string[8];

	memset(longer, '\n', 1000);
	longer[1000] = '\0';
	json_set_string(object, "s", longer);
	assert_int_equal(json_get_string(object, "s", string, sizeof(string), &err), -EINVAL);
	assert_true(strlen(err.text) < 100);
	assert_null(strchr(err.text, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_read_and_written_in_its_order),
		cmocka_unit_test(the_largest_integers_are_exact),
		cmocka_unit_test(what_is_not_one_strict_object_is_refused),
		cmocka_unit_test(nesting_is_limited_before_it_is_parsed),
		cmocka_unit_test(values_are_limited_before_they_are_made),
		cmocka_unit_test(brackets_in_strings_are_no_nesting),
		cmocka_unit_test(refusals_do_not_pass_on_what_controls_a_terminal),
		cmocka_unit_test(what_a_terminal_must_not_get_is_written_as_a_number),
		cmocka_unit_test(numbers_that_json_cannot_hold_become_null),
		cmocka_unit_test(setters_write_what_they_say),
		cmocka_unit_test(bytes_that_are_no_text_are_escaped_not_lost),
		cmocka_unit_test(getters_take_what_is_right),
		cmocka_unit_test(getters_say_what_is_wrong_and_change_nothing),
		cmocka_unit_test(optional_members_keep_their_value_when_absent_or_null),
		cmocka_unit_test(getters_live_with_what_is_no_object),
		cmocka_unit_test(a_hostile_string_is_quoted_shortly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
