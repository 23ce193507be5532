// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/document.h"
#include "util/memory.h"

/* Reads bytes as file "f"; what it says, up to 50 lines, goes to *ret_said (text_done by the
 * caller). */
static struct document *read_bytes(const char *bytes, size_t count, struct text *ret_said)
{
	struct problems problems;
	struct document *document;

	problems_init(&problems);
	document = document_read("f", bytes, count, &problems);
	*ret_said = TEXT_INIT;
	text_reset(ret_said);
	text_add(ret_said, "");
	problems_print(&problems, 50, ret_said);
	problems_done(&problems);
	return document;
}

static void expect_bytes(const char *bytes, size_t count, const char *said, bool is_usable)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	/* an exact allocation, so that a byte read behind the end is found */
	_cleanup_free_ char *exact = memory_new(count);
	struct document *document;

	memcpy(exact, bytes, count);
	document = read_bytes(exact, count, &text);
	assert_string_equal(text.data, said);
	assert_int_equal(document != NULL, is_usable);
	document_free(document);
}

#define SAYS(yaml, said) expect_bytes(yaml, sizeof(yaml) - 1, said, true)
#define REFUSES(yaml, said) expect_bytes(yaml, sizeof(yaml) - 1, said, false)

static struct document *read_good(const char *yaml)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct document *document = read_bytes(yaml, strlen(yaml), &said);

	assert_string_equal(said.data, "");
	assert_non_null(document);
	return document;
}

static void a_tree_has_values_and_places(void **state)
{
	struct document *document = read_good("version: 1\n"
					      "list:\n"
					      "  - { op: write, size: \"8B\" }\n"
					      "  - plain words\n"
					      "empty:\n"
					      "quoted: ''\n");
	const struct document_node *list = document_get(document->root, "list");
	const struct document_node *size;

	assert_string_equal(document->path, "f");
	assert_int_equal(document->root->kind, DOCUMENT_MAP);
	assert_int_equal(document->root->count, 4);
	assert_string_equal(document_get(document->root, "version")->scalar, "1");
	assert_int_equal(list->kind, DOCUMENT_LIST);
	assert_int_equal(list->count, 2);
	assert_int_equal(list->line, 3);
	assert_int_equal(list->column, 3);
	size = document_get(list->values[0], "size");
	assert_string_equal(size->scalar, "8B");
	assert_true(size->is_quoted);
	assert_int_equal(size->line, 3);
	assert_int_equal(size->column, 24);
	assert_string_equal(list->values[1]->scalar, "plain words");
	assert_false(list->values[1]->is_quoted);
	assert_false(document_get(document->root, "empty")->has_value);
	assert_true(document_get(document->root, "quoted")->has_value);
	assert_null(document_get(document->root, "absent"));
	assert_null(document_get(list, "op"));
	document_free(document);
	document_free(NULL);
}

static void yaml_types_do_not_creep_in(void **state)
{
	struct document *document = read_good("a: no\nb: 010\nc: 22:22\nd: ~\ne: 1e3\nf: 0x10\n");

	assert_string_equal(document_get(document->root, "a")->scalar, "no");
	assert_string_equal(document_get(document->root, "b")->scalar, "010");
	assert_string_equal(document_get(document->root, "c")->scalar, "22:22");
	assert_string_equal(document_get(document->root, "d")->scalar, "~");
	assert_true(document_get(document->root, "d")->has_value);
	document_free(document);
}

static void an_empty_file_is_an_empty_map(void **state)
{
	static const char *const empties[] = { "",	"\n\n",	      "# only a comment\n",
					       "---\n", "---\n...\n", "%YAML 1.1\n---\n" };

	for (unsigned i = 0; i < sizeof(empties) / sizeof(empties[0]); i++) {
		struct document *document = read_good(empties[i]);

		assert_int_equal(document->root->kind, DOCUMENT_MAP);
		assert_int_equal(document->root->count, 0);
		document_free(document);
	}
}

static void line_ends_and_a_byte_order_mark_do_not_matter(void **state)
{
	struct document *document = read_good("\xef\xbb\xbf"
					      "a: 1\r\nb: 2\r\n");

	assert_int_equal(document->root->count, 2);
	assert_int_equal(document->root->keys[1]->line, 2);
	assert_int_equal(document->root->keys[1]->column, 1);
	document_free(document);
}

static void columns_count_characters(void **state)
{
	struct document *document = read_good("k: [\xc3\xa4\xc3\xb6, z]\n");

	assert_int_equal(document_get(document->root, "k")->values[1]->column, 9);
	document_free(document);
}

static void what_yaml_could_do_but_we_do_not_is_refused_in_its_place(void **state)
{
	SAYS("a: &x 1\n",
	     "f:1:4: error: anchor \"&x\" is not supported; write the value where it is used\n");
	SAYS("a: &x {b: 1}\n",
	     "f:1:4: error: anchor \"&x\" is not supported; write the value where it is used\n");
	SAYS("a: 1\nb: *x\n",
	     "f:2:4: error: alias \"*x\" is not supported; write the value itself\n");
	SAYS("a: !!int 1\n",
	     "f:1:4: error: tag \"tag:yaml.org,2002:int\" is not supported; remove it\n");
	SAYS("a: !own [1]\n", "f:1:4: error: tag \"!own\" is not supported; remove it\n");
	SAYS("<<: {a: 1}\nb: 2\n",
	     "f:1:1: error: merge key \"<<\" is not supported; write the keys out\n");
	SAYS("{[a]: 1}\n", "f:1:2: error: a key is a plain word, not a list\n");
	SAYS("? {a: b}\n: 1\n", "f:1:3: error: a key is a plain word, not a map\n");
	SAYS("? ''\n: 1\n", "f:1:3: error: a key is missing before the \":\"\n");
	SAYS("a: \"x\\0y\"\n", "f:1:4: error: NUL byte in a quoted string; remove the \"\\0\"\n");
	REFUSES("a: 1\n---\nb: 2\n",
		"f:2:1: error: second YAML document (\"---\"); write one document per file\n");
	REFUSES("---\n---\n",
		"f:2:1: error: second YAML document (\"---\"); write one document per file\n");
	REFUSES("- a\n- b\n",
		"f:1:1: error: a configuration is a map of keys and values, not a list\n");
	REFUSES("just words\n",
		"f:1:1: error: a configuration is a map of keys and values, not a single value\n");
	REFUSES("*x\n",
		"f:1:1: error: alias \"*x\" is not supported; write the value itself\n"
		"f:1:1: error: a configuration is a map of keys and values, not a single value\n");
}

static void an_alias_cannot_make_a_cycle_or_a_bomb(void **state)
{
	SAYS("a: &x [*x]\n",
	     "f:1:4: error: anchor \"&x\" is not supported; write the value where it is used\n"
	     "f:1:8: error: alias \"*x\" is not supported; write the value itself\n");
}

static void duplicate_keys_name_the_first(void **state)
{
	SAYS("a: 1\nb: 2\na: 3\nc: {d: 1, d: 2}\na: 4\n",
	     "f:3:1: error: duplicate key \"a\" (first at line 1)\n"
	     "f:4:11: error: duplicate key \"d\" (first at line 4)\n"
	     "f:5:1: error: duplicate key \"a\" (first at line 1)\n");
	SAYS("a: 1\n\"a\": 2\n", "f:2:1: error: duplicate key \"a\" (first at line 1)\n");
}

static void the_first_of_duplicates_is_the_one(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct document *document = read_bytes("a: 1\na: 2\n", 10, &said);

	assert_string_equal(document_get(document->root, "a")->scalar, "1");
	assert_false(document->root->keys[0]->is_reported);
	assert_true(document->root->keys[1]->is_reported);
	document_free(document);
}

static void tabs_as_indentation_are_named(void **state)
{
	REFUSES("a:\n\tb: 1\n", "f:2:1: error: tab used for indentation; use spaces\n");
	REFUSES("a:\n  b: 1\n  \tc: 2\n", "f:3:3: error: tab used for indentation; use spaces\n");
	REFUSES("a:\n\t- 1\n", "f:2:1: error: tab used for indentation; use spaces\n");
	/* where libyaml would let it pass */
	SAYS("a: [\n\tb,\n\t{c: 1}]\n", "f:2:2: error: tab used for indentation; use spaces\n"
					"f:3:2: error: tab used for indentation; use spaces\n");
	/* between key and value, and before comments, it harms nobody */
	SAYS("a:\t1\nb: 2\t# x\n", "");
}

static void text_that_is_not_plain_utf8_is_placed(void **state)
{
	REFUSES("a: \xff\n", "f:1:4: error: invalid UTF-8 (byte 0xff); save the file as UTF-8\n");
	REFUSES("a: 1\nb: \xc3\xa4\xc3(\n",
		"f:2:5: error: invalid UTF-8 (byte 0xc3); save the file as UTF-8\n");
	REFUSES("a: 1\nb: \xe2\x82",
		"f:2:4: error: invalid UTF-8 (byte 0xe2); save the file as UTF-8\n");
	REFUSES("\xff\xfe"
		"a\0",
		"f:1:1: error: invalid UTF-8 (byte 0xff); save the file as UTF-8\n");
	REFUSES("a: 1\nb: x\0y\n", "f:2:5: error: NUL byte 0x00; a configuration is plain text\n");
	REFUSES("a: \x1b[2J\n",
		"f:1:4: error: control character 0x1b; a configuration is plain text\n");
	REFUSES("a: \x7f\n",
		"f:1:4: error: control character 0x7f; a configuration is plain text\n");
}

static void characters_that_only_libyaml_refuses_are_placed_too(void **state)
{
	/* U+0081, and U+FFFE */
	REFUSES("a: 1\nb: \xc2\x81\n",
		"f:2:4: error: YAML: control characters are not allowed (0x81)\n");
	REFUSES("a: \xef\xbf\xbe\n",
		"f:1:4: error: YAML: control characters are not allowed (0xfffe)\n");
}

static void syntax_errors_have_their_place(void **state)
{
	REFUSES("a: [1, 2\nb: 3\n",
		"f:2:2: error: YAML: did not find expected ',' or ']' (while parsing a flow "
		"sequence that begins at line 1); close the [ ], or put a value with \"[\" or \"]\" in it in quotes\n");
	REFUSES("a: 1\n  b: 2\n",
		"f:2:4: error: YAML: mapping values are not allowed in this context; put a value that has \": \" in it in quotes, or look for a wrong indentation\n");
	REFUSES("a: 'x\n",
		"f:2:1: error: YAML: found unexpected end of stream (while scanning a quoted scalar "
		"that begins at line 1)\n");
	REFUSES("a: @x\n",
		"f:1:4: error: YAML: found character that cannot start any token (while scanning for the next token); put a value that begins with @, `, % or a tab in quotes\n");
	REFUSES("%YAML 2.0\n---\na: 1\n", "f:1:1: error: YAML: found incompatible YAML document\n");
}

static void all_problems_of_a_file_are_said(void **state)
{
	REFUSES("a: &x 1\nb: *x\nc: !t 1\nd: [1\n",
		"f:1:4: error: anchor \"&x\" is not supported; write the value where it is used\n"
		"f:2:4: error: alias \"*x\" is not supported; write the value itself\n"
		"f:3:4: error: tag \"!t\" is not supported; remove it\n"
		"f:5:1: error: YAML: did not find expected ',' or ']' (while parsing a flow sequence that begins "
		"at line 4); close the [ ], or put a value with \"[\" or \"]\" in it in quotes\n");
}

static void depth_is_limited_and_ends_the_reading(void **state)
{
	static char deep[200000];
	uint64_t start_ns = clock_mono_ns();

	/* the root map is level 1, so 15 lists fit */
	memcpy(deep, "a: ", 3);
	memset(deep + 3, '[', 15);
	memset(deep + 18, ']', 15);
	expect_bytes(deep, 33, "", true);
	memset(deep + 3, '[', sizeof(deep) - 3);
	expect_bytes(deep, sizeof(deep), "f:1:19: error: nested deeper than 16 levels\n", false);
	assert_true(clock_mono_ns() - start_ns < 2000000000);
}

static void nodes_are_limited(void **state)
{
	_cleanup_text_ struct text yaml = TEXT_INIT;

	/* root, key, list and 19,997 items are 20,000 nodes */
	text_add(&yaml, "a:\n");
	for (unsigned i = 0; i < DOCUMENT_MAX_NODES - 3; i++) {
		text_add(&yaml, "- x\n");
	}
	expect_bytes(yaml.data, yaml.length, "", true);
	text_add(&yaml, "- x\n");
	expect_bytes(yaml.data, yaml.length,
		     "f:19999:3: error: more than 20000 keys and values; split the file\n", false);
}

static void bytes_are_limited(void **state)
{
	_cleanup_free_ char *bytes = memory_new(DOCUMENT_MAX_BYTES + 1);

	memset(bytes, '#', DOCUMENT_MAX_BYTES + 1);
	expect_bytes(bytes, DOCUMENT_MAX_BYTES, "", true);
	expect_bytes(bytes, DOCUMENT_MAX_BYTES + 1,
		     "f: error: larger than 1048576 bytes; split the file\n", false);
}

static void ten_thousand_duplicates_take_no_time(void **state)
{
	_cleanup_text_ struct text yaml = TEXT_INIT;
	_cleanup_text_ struct text said = TEXT_INIT;
	uint64_t start_ns = clock_mono_ns();

	for (unsigned i = 0; i < DOCUMENT_MAX_NODES / 2 - 1; i++) {
		text_add(&yaml, "same: 1\n");
	}
	document_free(read_bytes(yaml.data, yaml.length, &said));
	assert_non_null(strstr(said.data, "\n... and 9948 more\n"));
	assert_true(clock_mono_ns() - start_ns < 3000000000);
}

static void problems_are_sorted_by_file_then_place(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct problems problems;

	problems_init(&problems);
	problems_add(&problems, false, "z", 9, 1, "z late");
	problems_add(&problems, false, "a", 2, 5, "a right");
	problems_add(&problems, true, "a", 2, 1, "a %s", "left");
	problems_add(&problems, false, "z", 1, 1, "z early");
	problems_add(&problems, false, "a", 0, 0, "a whole");
	problems_add(&problems, false, "a", 2, 1, "a left too");
	assert_int_equal(problems.errors, 5);
	assert_int_equal(problems.warnings, 1);
	problems_print(&problems, 50, &said);
	assert_string_equal(said.data,
			    "z:1:1: error: z early\nz:9:1: error: z late\n"
			    "a: error: a whole\na:2:1: warning: a left\na:2:1: error: a left too\n"
			    "a:2:5: error: a right\n");
	text_reset(&said);
	problems_print(&problems, 2, &said);
	assert_string_equal(said.data,
			    "z:1:1: error: z early\nz:9:1: error: z late\n... and 4 more\n");
	problems_done(&problems);
	problems_done(&problems);
}

static void problems_are_single_harmless_lines(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct problems problems;

	problems_init(&problems);
	problems_add(&problems, false, "a\nb", 1, 1, "x%sy", "\x1b\n");
	problems_print(&problems, 50, &said);
	assert_string_equal(said.data, "a\\x0ab:1:1: error: x\\x1b\\x0ay\n");
	problems_done(&problems);
}

static char directory[] = "/tmp/test-document-XXXXXX";

static struct document *read_path(const char *name, struct text *ret_said)
{
	struct problems problems;
	struct document *document;

	problems_init(&problems);
	document = document_read_file(name, &problems);
	problems_print(&problems, 50, ret_said);
	problems_done(&problems);
	return document;
}

static void files_are_read_whole(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct document *document;
	char path[100];
	FILE *file;

	snprintf(path, sizeof(path), "%s/good.yaml", directory);
	file = fopen(path, "w");
	fputs("a: 1\n", file);
	fclose(file);
	document = read_path(path, &said);
	assert_non_null(document);
	assert_string_equal(document->path, path);
	assert_string_equal(document_get(document->root, "a")->scalar, "1");
	document_free(document);
	truncate(path, DOCUMENT_MAX_BYTES + 1);
	assert_null(read_path(path, &said));
	assert_non_null(strstr(said.data, "larger than 1048576 bytes"));
	unlink(path);
}

static void what_is_no_file_is_refused_without_waiting(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	char expected[200];
	char path[100];

	snprintf(path, sizeof(path), "%s/absent.yaml", directory);
	assert_null(read_path(path, &said));
	snprintf(expected, sizeof(expected),
		 "%s: error: cannot be read: No such file or directory\n", path);
	assert_string_equal(said.data, expected);
	text_reset(&said);
	assert_null(read_path(directory, &said));
	assert_non_null(strstr(said.data, "cannot be read: Is a directory"));
	text_reset(&said);
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(read_path(path, &said));
	assert_non_null(strstr(said.data, "is not a regular file"));
	unlink(path);
	text_reset(&said);
	assert_null(read_path("/dev/zero", &said));
	assert_string_equal(said.data, "/dev/zero: error: is not a regular file\n");
}

static void cut_at_any_byte_nothing_leaks_or_breaks(void **state)
{
	const char *yaml =
		"v: 1\ns:\n  - {n: &a x, o: [1, 'q', \"d\\x41\"]}\n  - ? k\n    : |\n      b\n      c\n  - *a\n"
		"t: !!s >-\n  f\n\xc3\xa4: 1\n";

	for (size_t i = 0; i <= strlen(yaml); i++) {
		_cleanup_free_ char *exact = memory_new(i);
		_cleanup_text_ struct text said = TEXT_INIT;

		memcpy(exact, yaml, i);
		document_free(read_bytes(exact, i, &said));
	}
}

static int make_directory(void **state)
{
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_has_values_and_places),
		cmocka_unit_test(yaml_types_do_not_creep_in),
		cmocka_unit_test(an_empty_file_is_an_empty_map),
		cmocka_unit_test(line_ends_and_a_byte_order_mark_do_not_matter),
		cmocka_unit_test(columns_count_characters),
		cmocka_unit_test(what_yaml_could_do_but_we_do_not_is_refused_in_its_place),
		cmocka_unit_test(an_alias_cannot_make_a_cycle_or_a_bomb),
		cmocka_unit_test(duplicate_keys_name_the_first),
		cmocka_unit_test(the_first_of_duplicates_is_the_one),
		cmocka_unit_test(tabs_as_indentation_are_named),
		cmocka_unit_test(text_that_is_not_plain_utf8_is_placed),
		cmocka_unit_test(characters_that_only_libyaml_refuses_are_placed_too),
		cmocka_unit_test(syntax_errors_have_their_place),
		cmocka_unit_test(all_problems_of_a_file_are_said),
		cmocka_unit_test(depth_is_limited_and_ends_the_reading),
		cmocka_unit_test(nodes_are_limited),
		cmocka_unit_test(bytes_are_limited),
		cmocka_unit_test(ten_thousand_duplicates_take_no_time),
		cmocka_unit_test(problems_are_sorted_by_file_then_place),
		cmocka_unit_test(problems_are_single_harmless_lines),
		cmocka_unit_test(files_are_read_whole),
		cmocka_unit_test(what_is_no_file_is_refused_without_waiting),
		cmocka_unit_test(cut_at_any_byte_nothing_leaks_or_breaks),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
