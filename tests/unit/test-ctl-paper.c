// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ctl/client.h"
#include "ctl/field.h"
#include "ctl/option.h"
#include "ctl/paper.h"
#include "ctl/run_name.h"
#include "ctl/table.h"
#include "ctl/verdict_word.h"

static json_t *parse(const char *string)
{
	json_t *json = json_read(string, strlen(string), NULL);

	assert_non_null(json);
	return json;
}

/* --- paper --- */

static void hostile_text_is_escaped_and_colours_come_from_us_alone(void **state)
{
	_cleanup_paper_ struct paper plain = PAPER_INIT;
	_cleanup_paper_ struct paper toned = PAPER_INIT;

	paper_add(&plain, PAPER_BAD, "a\033[31mb\nc\xff");
	assert_string_equal(plain.text.data, "a\\x1b[31mb\\x0ac\\xff");
	assert_int_equal(plain.column, strlen(plain.text.data));
	toned.has_color = true;
	paper_add(&toned, PAPER_BAD, "a\033");
	assert_string_equal(toned.text.data, "\033[31ma\\x1b\033[0m");
	assert_int_equal(toned.column, 5);
}

static void words_are_wrapped_at_the_last_column(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	paper.columns = 20;
	paper_add(&paper, PAPER_PLAIN, "ab: ");
	paper_wrap(&paper, PAPER_PLAIN, 4, "one two  three four five six seven");
	assert_string_equal(paper.text.data, "ab: one two three\n    four five six\n    seven");
}

static void a_line_may_be_full_to_the_last_column(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	paper.columns = 11;
	paper_wrap(&paper, PAPER_PLAIN, 2, "12345 67890 abc");
	assert_string_equal(paper.text.data, "12345 67890\n  abc");
}

static void a_word_longer_than_a_line_is_broken_and_nothing_is_lost(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;
	char word[64];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	paper.columns = 24;
	paper_wrap(&paper, PAPER_PLAIN, 4, word);
	assert_string_equal(paper.text.data, "xxxxxxxxxxxxxxxxxxxx\n    xxxxxxxxxxxxxxxxxxxx\n"
					     "    xxxxxxxxxxxxxxxxxxxx\n    xxx");
}

static void wrapping_ends_even_where_there_is_no_room(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	paper.columns = 3;
	paper_wrap(&paper, PAPER_PLAIN, 8, "several words in no room");
	assert_non_null(strstr(paper.text.data, "several"));
	assert_non_null(strstr(paper.text.data, "room"));
}

static void characters_are_counted_not_bytes(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	assert_int_equal(paper_width("a · b"), 5);
	assert_int_equal(paper_width("\001"), 4);
	paper.columns = 8;
	paper_wrap(&paper, PAPER_PLAIN, 0, "äöü ßµ· x");
	assert_string_equal(paper.text.data, "äöü ßµ·\nx");
}

static void a_full_disk_is_an_error(void **state)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	paper_add(&paper, PAPER_PLAIN, "something");
	assert_int_equal(paper_print(&paper, full), -ENOSPC);
	fclose(full);
}

/* --- table --- */

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	_cleanup_table_ struct table *table = table_new();
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	table_column(table, TABLE_LEFT, "name");
	table_column(table, TABLE_RIGHT, "count");
	table_column(table, TABLE_LEFT, "why");
	table_cell(table, PAPER_PLAIN, "a");
	table_cell(table, PAPER_PLAIN, "1 234 567");
	table_cell(table, PAPER_PLAIN, NULL);
	table_cell(table, PAPER_PLAIN, "longer");
	table_cell(table, PAPER_PLAIN, "1");
	table_cell(table, PAPER_PLAIN, "so");
	table_cell(table, PAPER_PLAIN, "x" /* of a row that never ends */);
	table_print(table, &paper, 1);
	assert_int_equal(table_rows(table), 2);
	assert_string_equal(paper.text.data, " name        count  why\n"
					     " a       1 234 567  -\n"
					     " longer          1  so\n");
}

static void the_last_column_wraps_below_itself(void **state)
{
	_cleanup_table_ struct table *table = table_new();
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	paper.columns = 20;
	table_column(table, TABLE_LEFT, "k");
	table_column(table, TABLE_LEFT, "text");
	table_cell(table, PAPER_PLAIN, "key");
	table_cell(table, PAPER_PLAIN, "many words that do not fit");
	table_print(table, &paper, 0);
	assert_string_equal(paper.text.data, "k    text\n"
					     "key  many words that\n"
					     "     do not fit\n");
}

/* --- field --- */

static void members_of_another_kind_are_not_there(void **state)
{
	_cleanup_json_ json_t *json =
		parse("{\"a\": {\"b\": \"text\", \"n\": -1, \"z\": null, \"r\": 1.5},"
		      " \"list\": [1], \"yes\": true}");
	char buf[UNITS_SIZE];
	uint64_t number = 7;
	double real = 7;

	assert_string_equal(field_string(json, "a.b", "?"), "text");
	assert_string_equal(field_string(json, "a.b.c", "?"), "?");
	assert_string_equal(field_string(json, "list", "?"), "?");
	assert_string_equal(field_string(NULL, "a", "?"), "?");
	assert_null(field_find(json, "a.z"));
	assert_false(field_u64(json, "a.n", &number));
	assert_false(field_u64(json, "a.r", &number));
	assert_int_equal(number, 7);
	assert_true(field_real(json, "a.r", &real));
	assert_true(real == 1.5);
	assert_null(field_array(json, "a"));
	assert_int_equal(json_array_size(field_array(json, "list")), 1);
	assert_true(field_is_true(json, "yes"));
	assert_false(field_is_false(json, "no"));
	assert_string_equal(field_show_duration(json, "a.n", buf), "-");
	assert_string_equal(field_show_count(json, "a.b", buf), "-");
}

static void a_key_that_is_too_long_is_not_there(void **state)
{
	_cleanup_json_ json_t *json = parse("{}");
	char place[200];

	memset(place, 'k', sizeof(place) - 1);
	place[sizeof(place) - 1] = '\0';
	assert_null(field_find(json, place));
}

static void values_are_shown_with_their_unit(void **state)
{
	_cleanup_json_ json_t *json = parse(
		"{\"ns\": 61000, \"bps\": 402000000.0, \"bytes\": 65536, \"count\": 84201,"
		" \"huge\": 1e300, \"at\": \"2026-09-01T12:00:00.123456789Z\", \"at2\": \"soon\"}");
	char buf[UNITS_SIZE];

	assert_string_equal(field_show_duration(json, "ns", buf), "61 us");
	assert_string_equal(field_show_rate(json, "bps", buf), "402 Mb/s");
	assert_string_equal(field_show_size(json, "bytes", buf), "64 KiB");
	assert_string_equal(field_show_count(json, "count", buf), "84 201");
	assert_string_equal(field_show_duration(json, "huge", buf), "-");
	assert_string_equal(field_show_time(json, "at", buf), "2026-09-01 12:00:00Z");
	assert_string_equal(field_show_time(json, "at2", buf), "-");
}

static void an_ipv4_address_in_a_gid_is_shown_alone(void **state)
{
	_cleanup_json_ json_t *json =
		parse("{\"a\": \"::ffff:10.99.0.1\", \"b\": \"fe80::1\", \"c\": \"::ffff:1\"}");

	assert_string_equal(field_address(json, "a"), "10.99.0.1");
	assert_string_equal(field_address(json, "b"), "fe80::1");
	assert_string_equal(field_address(json, "c"), "::ffff:1");
	assert_string_equal(field_address(json, "d"), "-");
}

/* --- words and names --- */

static void verdicts_are_said_in_capitals(void **state)
{
	char buf[VERDICT_WORD_SIZE];

	assert_string_equal(verdict_word("inconclusive", buf), "INCONCLUSIVE");
	assert_string_equal(verdict_word("averyveryverylongunknownword", buf),
			    "AVERYVERYVERYLONGUNKNOW");
	assert_int_equal(verdict_word_parse("fail"), VERDICT_FAIL);
	assert_int_equal(verdict_word_parse("odd"), VERDICT_NONE);
	assert_true(verdict_word_badness("fail") > verdict_word_badness("error"));
	assert_true(verdict_word_badness("degraded") > verdict_word_badness("pass"));
}

static void ids_of_runs_make_paths_however_they_were_typed(void **state)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	char name[RUN_NAME_SIZE];

	run_name_add_path(&path, "01k3v9q7/../x", "/cancel");
	assert_string_equal(path.data, "/v1/runs/01K3V9Q7%2F..%2FX/cancel");
	assert_string_equal(run_name_short("01K3V9Q7W0E5R2T8Y4U6J1M3N5", name), "01K3V9Q7W0");
	assert_string_equal(run_name_short("x", name), "x");
}

/* --- options --- */

static const struct option_row general[] = {
	{ "socket", "PATH", "" }, { "json", NULL, "" }, { "help", NULL, "" }, { 0 }
};
static const struct option_row own[] = { { "wait", "DURATION", "" }, { 0 } };

static int read_options(const char *const *argv, bool only_first, struct option_values *values,
			struct error *err)
{
	int argc = 0;

	while (argv[argc] != NULL) {
		argc++;
	}
	memset(values, 0, sizeof(*values));
	*err = ERROR_INIT;
	return option_parse(general, own, argc, argv, only_first, values, err);
}

#define ARGV(...) ((const char *[]){ __VA_ARGS__, NULL })

static void options_are_taken_in_both_forms_and_anywhere(void **state)
{
	struct option_values values;
	struct error err;

	assert_int_equal(read_options(ARGV("--socket=a=b", "run", "--wait", "3s", "--json", "-h",
					   "--", "--x"),
				      false, &values, &err),
			 8);
	assert_string_equal(option_get(&values, "socket"), "a=b");
	assert_string_equal(option_get(&values, "wait"), "3s");
	assert_string_equal(option_get(&values, "json"), "");
	assert_non_null(option_get(&values, "help"));
	assert_null(option_get(&values, "no-such"));
	assert_int_equal(values.positional_count, 2);
	assert_string_equal(values.positionals[1], "--x");
}

static void reading_may_stop_behind_the_command(void **state)
{
	struct option_values values;
	struct error err;

	assert_int_equal(read_options(ARGV("--json", "run", "--odd"), true, &values, &err), 2);
	assert_int_equal(values.positional_count, 1);
}

static void what_is_wrong_with_an_argument_is_said(void **state)
{
	static const struct {
		const char *argv[3];
		const char *sentence;
	} cases[] = {
		{ { "--wiat=3s" }, "unknown option \"--wiat\"; did you mean --wait?" },
		{ { "-x" }, "unknown option \"-x\"" },
		{ { "--"
		    "zzzzzzzzzz" },
		  "unknown option \"--zzzzzzzzzz\"" },
		{ { "--json=1" }, "--json takes no value" },
		{ { "--wait" }, "--wait needs a value: --wait=DURATION" },
		{ { "--json", "--json" }, "--json is given twice" },
		{ { "--\033[31m" }, "unknown option \"--\\x1b[31m\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *argv[4] = { cases[i].argv[0], cases[i].argv[1], cases[i].argv[2] };
		struct option_values values;
		struct error err;

		assert_int_equal(read_options(argv, false, &values, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].sentence);
	}
}

static void too_many_arguments_are_refused(void **state)
{
	const char *argv[12];
	struct option_values values;
	struct error err;
	char word[] = "x";

	for (size_t i = 0; i < 11; i++) {
		argv[i] = word;
	}
	argv[11] = NULL;
	assert_int_equal(read_options(argv, false, &values, &err), -EINVAL);
	assert_non_null(strstr(err.text, "more than 8 arguments"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_text_is_escaped_and_colours_come_from_us_alone),
		cmocka_unit_test(words_are_wrapped_at_the_last_column),
		cmocka_unit_test(a_line_may_be_full_to_the_last_column),
		cmocka_unit_test(a_word_longer_than_a_line_is_broken_and_nothing_is_lost),
		cmocka_unit_test(wrapping_ends_even_where_there_is_no_room),
		cmocka_unit_test(characters_are_counted_not_bytes),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(the_last_column_wraps_below_itself),
		cmocka_unit_test(members_of_another_kind_are_not_there),
		cmocka_unit_test(a_key_that_is_too_long_is_not_there),
		cmocka_unit_test(values_are_shown_with_their_unit),
		cmocka_unit_test(an_ipv4_address_in_a_gid_is_shown_alone),
		cmocka_unit_test(verdicts_are_said_in_capitals),
		cmocka_unit_test(ids_of_runs_make_paths_however_they_were_typed),
		cmocka_unit_test(options_are_taken_in_both_forms_and_anywhere),
		cmocka_unit_test(reading_may_stop_behind_the_command),
		cmocka_unit_test(what_is_wrong_with_an_argument_is_said),
		cmocka_unit_test(too_many_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
