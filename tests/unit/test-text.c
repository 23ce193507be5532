// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

static void a_text_grows_and_stays_terminated(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (unsigned i = 0; i < 1000; i++) {
		text_format(&text, "%u,", i);
		assert_int_equal(strlen(text.data), text.length);
	}
	assert_true(text_starts_with(text.data, "0,1,2,"));
	assert_string_equal(text.data + text.length - 8, "998,999,");
	text_reset(&text);
	assert_int_equal(text.length, 0);
	assert_string_equal(text.data, "");
	text_add(&text, "again");
	assert_string_equal(text.data, "again");
}

static void adding_nothing_still_terminates(void **state)
{
	_cleanup_text_ struct text empty = TEXT_INIT;
	_cleanup_text_ struct text formatted = TEXT_INIT;

	text_reset(&empty);
	text_add_bytes(&empty, NULL, 0);
	assert_string_equal(empty.data, "");
	text_format(&formatted, "%s", "");
	assert_string_equal(formatted.data, "");
}

static void a_formatted_piece_may_be_longer_than_the_buffer(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	char piece[5001];

	memset(piece, 'p', 5000);
	piece[5000] = '\0';
	text_add(&text, "<");
	text_format(&text, "%s>", piece);
	assert_int_equal(text.length, 5002);
	assert_int_equal(text.data[5001], '>');
}

static void bytes_with_nul_are_kept(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add_bytes(&text, "a\0b", 3);
	assert_int_equal(text.length, 3);
	assert_memory_equal(text.data, "a\0b", 4);
}

static void a_copy_is_cut_at_characters_only(void **state)
{
	char small[5];

	assert_true(text_copy(small, sizeof(small), "abcd"));
	assert_string_equal(small, "abcd");
	assert_false(text_copy(small, sizeof(small), "abcde"));
	assert_string_equal(small, "abcd");
	assert_false(text_copy(small, sizeof(small), "abc\xc3\xa4"));
	assert_string_equal(small, "abc");
	assert_true(text_copy(small, sizeof(small), "\xf0\x9f\x98\x80"));
	assert_false(text_copy(small, 4, "\xf0\x9f\x98\x80"));
	assert_string_equal(small, "");
	assert_false(text_copy(small, 0, "x"));
	assert_false(text_copy(small, 1, "x"));
	assert_string_equal(small, "");
	assert_true(text_copy(small, 1, ""));
}

static void escapes_leave_one_harmless_line(void **state)
{
	char out[100];

	text_escape(out, sizeof(out), "plain \xc3\xa4 \xe2\x82\xac \"q\" \\");
	assert_string_equal(out, "plain \xc3\xa4 \xe2\x82\xac \"q\" \\");
	text_escape(out, sizeof(out), "a\tb\r\n\x7f");
	assert_string_equal(out, "a\\x09b\\x0d\\x0a\\x7f");
	/* terminals obey C1 controls as well: CSI is c2 9b */
	text_escape(out, sizeof(out),
		    "\xc2\x9b"
		    "31m");
	assert_string_equal(out, "\\xc2\\x9b31m");
	text_escape(out, sizeof(out), "\xff\xc3");
	assert_string_equal(out, "\\xff\\xc3");
}

static void what_is_invisible_or_turns_the_line_around_is_escaped(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} cases[] = {
		/* of each range the first and the last, and what stands just outside */
		{ "\xc2\xac \xc2\xad \xc2\xae", "\xc2\xac \\xc2\\xad \xc2\xae" },
		{ "\xcd\x8f", "\\xcd\\x8f" },
		{ "\xd8\x9b\xd8\x9c\xd8\x9e", "\xd8\x9b\\xd8\\x9c\xd8\x9e" },
		{ "\xe1\x85\x9f\xe1\x85\xa0", "\\xe1\\x85\\x9f\\xe1\\x85\\xa0" },
		{ "\xe1\xa0\x8e", "\\xe1\\xa0\\x8e" },
		{ "\xe2\x80\x8a\xe2\x80\x8b", "\xe2\x80\x8a\\xe2\\x80\\x8b" },
		{ "\xe2\x80\x8f\xe2\x80\x90", "\\xe2\\x80\\x8f\xe2\x80\x90" },
		{ "\xe2\x80\xa7\xe2\x80\xa8", "\xe2\x80\xa7\\xe2\\x80\\xa8" },
		{ "\xe2\x80\xa9", "\\xe2\\x80\\xa9" },
		{ "\xe2\x80\xaa\xe2\x80\xae", "\\xe2\\x80\\xaa\\xe2\\x80\\xae" },
		{ "\xe2\x80\xaf", "\xe2\x80\xaf" },
		{ "\xe2\x81\x9f\xe2\x81\xa0", "\xe2\x81\x9f\\xe2\\x81\\xa0" },
		{ "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9" },
		{ "\xe2\x81\xaf\xe2\x81\xb0", "\\xe2\\x81\\xaf\xe2\x81\xb0" },
		{ "\xe3\x85\xa4", "\\xe3\\x85\\xa4" },
		{ "\xef\xbb\xbf", "\\xef\\xbb\\xbf" },
		{ "\xef\xbf\xb9\xef\xbf\xbb\xef\xbf\xbd",
		  "\\xef\\xbf\\xb9\\xef\\xbf\\xbb\xef\xbf\xbd" },
		{ "\xf0\x9d\x85\xb3", "\\xf0\\x9d\\x85\\xb3" },
		{ "\xf3\xa0\x80\x80\xf3\xa0\x81\xbf", "\\xf3\\xa0\\x80\\x80\\xf3\\xa0\\x81\\xbf" },
		{ "\xf0\x9f\x98\x80 \xe6\xbc\xa2 \xd7\x90",
		  "\xf0\x9f\x98\x80 \xe6\xbc\xa2 \xd7\x90" },
	};
	char out[100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text_escape(out, sizeof(out), cases[i].from);
		assert_string_equal(out, cases[i].to);
	}
	/* either all bytes of a character or none */
	text_escape(out, 14, "a\xe2\x80\xae");
	assert_string_equal(out, "a\\xe2\\x80\\xae");
	text_escape(out, 13, "a\xe2\x80\xae");
	assert_string_equal(out, "a");
}

static void an_escape_is_never_cut_in_half(void **state)
{
	char out[8];

	text_escape(out, sizeof(out), "abcd\n");
	assert_string_equal(out, "abcd");
	text_escape(out, sizeof(out), "abc\nd");
	assert_string_equal(out, "abc\\x0a");
	text_escape(out, 3, "a\xe2\x82\xac");
	assert_string_equal(out, "a");
	text_escape(out, 1, "abc");
	assert_string_equal(out, "");
	out[0] = 'k';
	text_escape(out, 0, "abc");
	assert_int_equal(out[0], 'k');
}

static void a_quote_says_when_it_is_cut(void **state)
{
	const char *forty = "0123456789012345678901234567890123456789";
	char buf[TEXT_QUOTED_SIZE];
	char longer[100];

	assert_string_equal(text_quote(buf, "64KB"), "64KB");
	assert_string_equal(text_quote(buf, forty), forty);
	memset(longer, 'x', 99);
	longer[99] = '\0';
	text_quote(buf, longer);
	assert_int_equal(strlen(buf), 43);
	assert_string_equal(buf + 40, "...");
	memset(longer, '\n', 99);
	text_quote(buf, longer);
	assert_int_equal(strlen(buf), 43);
	assert_string_equal(buf + 36, "\\x0a...");
	/* 38 letters and one that would end at 41 */
	memset(longer, 'x', 38);
	memcpy(longer + 38, "\xe2\x82\xac", 4);
	text_quote(buf, longer);
	assert_string_equal(buf + 37, "x...");
}

static void names_are_what_labels_and_files_can_hold(void **state)
{
	char longest[65];

	memset(longest, 'a', 64);
	longest[64] = '\0';
	assert_false(text_is_name(longest));
	longest[63] = '\0';
	assert_true(text_is_name(longest));
	assert_true(text_is_name("node-1.rack_2"));
	assert_true(text_is_name("0"));
	assert_false(text_is_name(""));
	assert_false(text_is_name(".hidden"));
	assert_false(text_is_name("-x"));
	assert_false(text_is_name("Node"));
	assert_false(text_is_name("a/b"));
	assert_false(text_is_name("a b"));
	assert_false(text_is_name("\xc3\xa4"));
}

static void utf8_is_strict(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
		size_t valid;
	} cases[] = {
		{ "", 0, 0 },
		{ "abc", 3, 3 },
		{ "a\0b", 3, 3 },
		{ "\xc3\xa4", 2, 2 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 },
		{ "a\xf4\x90\x80\x80", 5, 1 }, /* above 10ffff */
		{ "\xc0\x80", 2, 0 }, /* NUL in two bytes */
		{ "\xc1\xbf", 2, 0 },
		{ "\xe0\x9f\xbf", 3, 0 }, /* too long a form */
		{ "\xf0\x8f\xbf\xbf", 4, 0 },
		{ "\xed\xa0\x80", 3, 0 }, /* surrogate */
		{ "\xed\x9f\xbf", 3, 3 },
		{ "ab\xe2\x82", 4, 2 }, /* cut */
		{ "\x80", 1, 0 },
		{ "\xfe", 1, 0 },
		{ "\xc3(", 2, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(text_utf8_prefix(cases[i].bytes, cases[i].count), cases[i].valid);
		assert_int_equal(text_is_utf8(cases[i].bytes, cases[i].count),
				 cases[i].valid == cases[i].count);
	}
}

static void distance_counts_edits_without_case(void **state)
{
	char longest[65];

	assert_int_equal(text_distance("", ""), 0);
	assert_int_equal(text_distance("abc", ""), 3);
	assert_int_equal(text_distance("qp_typ", "qp_type"), 1);
	assert_int_equal(text_distance("RC", "rc"), 0);
	assert_int_equal(text_distance("kitten", "sitting"), 3);
	memset(longest, 'a', 64);
	longest[64] = '\0';
	assert_int_equal(text_distance(longest, "a"), 99);
	assert_int_equal(text_distance("a", longest), 99);
	longest[63] = '\0';
	assert_int_equal(text_distance(longest, "a"), 62);
}

static void only_what_is_near_is_suggested(void **state)
{
	static const char *const keys[] = { "qp_type", NULL, "num_qps", "signal_interval", "cm" };

	assert_string_equal(text_closest("qp_typ", keys, 5), "qp_type");
	assert_string_equal(text_closest("numqps", keys, 5), "num_qps");
	assert_string_equal(text_closest("signal_every_n",
					 (const char *const[]){ "signal_every_nth" }, 1),
			    "signal_every_nth");
	assert_string_equal(text_closest("CM", keys, 5), "cm");
	assert_null(text_closest("banana", keys, 5));
	/* two edits turn any two letters into any other */
	assert_null(text_closest("xy", keys, 5));
	assert_null(text_closest("", keys, 5));
	assert_null(text_closest("x", keys, 0));
}

static void a_prefix_is_found_at_the_start_only(void **state)
{
	assert_true(text_starts_with("abc", ""));
	assert_true(text_starts_with("abc", "abc"));
	assert_false(text_starts_with("abc", "abcd"));
	assert_false(text_starts_with("abc", "bc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_grows_and_stays_terminated),
		cmocka_unit_test(adding_nothing_still_terminates),
		cmocka_unit_test(a_formatted_piece_may_be_longer_than_the_buffer),
		cmocka_unit_test(bytes_with_nul_are_kept),
		cmocka_unit_test(a_copy_is_cut_at_characters_only),
		cmocka_unit_test(escapes_leave_one_harmless_line),
		cmocka_unit_test(what_is_invisible_or_turns_the_line_around_is_escaped),
		cmocka_unit_test(an_escape_is_never_cut_in_half),
		cmocka_unit_test(a_quote_says_when_it_is_cut),
		cmocka_unit_test(names_are_what_labels_and_files_can_hold),
		cmocka_unit_test(utf8_is_strict),
		cmocka_unit_test(distance_counts_edits_without_case),
		cmocka_unit_test(only_what_is_near_is_suggested),
		cmocka_unit_test(a_prefix_is_found_at_the_start_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
