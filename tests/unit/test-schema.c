// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/wish.h"

/* Parses YAML as file "f"; problems as text. */
static bool parse(const char *yaml, struct wish *wish, struct text *said)
{
	struct problems problems;
	struct schema_context context = { .path = "f", .problems = &problems };
	struct document *document;
	bool is_fine = false;

	problems_init(&problems);
	document = document_read("f", yaml, strlen(yaml), &problems);
	if (document) {
		is_fine = schema_parse(wish_fields, document->root, "", wish, wish_fields,
				       &context) &&
			  problems.errors == 0;
	}
	problems_print(&problems, 100, said);
	problems_done(&problems);
	document_free(document);
	return is_fine;
}

static void expect_said(const char *yaml, const char *expected)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct wish wish;

	text_add(&said, "");
	assert_int_equal(parse(yaml, &wish, &said), *expected == '\0');
	assert_string_equal(said.data, expected);
}

/* The line after a head that is right. */
#define WITH(line) "name: n\nops: [{op: read, size: 1}]\n" line "\n"

static void defaults_are_what_the_table_says(void **state)
{
	struct wish wish;

	memset(&wish, 0xee, sizeof(wish));
	schema_defaults(wish_fields, &wish);
	assert_string_equal(wish.name, "");
	assert_string_equal(wish.description, "");
	assert_true(wish.enabled);
	assert_int_equal(wish.kind, 0);
	assert_int_equal(wish.flags, 5);
	assert_int_equal(wish.qp.num_qps, 1);
	assert_int_equal(wish.qp.qkey, 0x11111111);
	assert_true(wish.qp.gid_index == SCHEMA_AUTO);
	assert_int_equal(wish.op_count, 0);
	assert_int_equal(wish.label_count, 2);
	assert_string_equal(wish.labels[0], "a");
	assert_string_equal(wish.labels[1], "b");
	assert_string_equal(wish.labels[2], "");
	assert_int_equal(wish.duration_ns, 10000000000);
	assert_int_equal(wish.rate_bps, 10000000000);
	assert_int_equal(wish.ops_rate, 200000);
	assert_int_equal(wish.share_ppm, 950000);
	assert_int_equal(wish.pair[0], 3);
	assert_int_equal(wish.pair[1], 5);
}

static void everything_can_be_written(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct wish wish;

	if (!parse("name: ring.1\ndescription: \"two words\"\nenabled: false\nkind: UD\non: [startup]\n"
		   "qp: {num_qps: 16384, qkey: 0xff, gid_index: 3}\n"
		   "ops:\n  - {op: send, size: 64KiB, weight: 70}\n  - {op: read, size: 0}\n"
		   "labels: [x, yy, zzzzzzz]\nduration: 1500ms\nrate: 2.5Gbps\nops_rate: 1M/s\nshare: 0.5\npair: 7-9\n",
		   &wish, &said)) {
		fail_msg("%s", said.data);
	}
	assert_string_equal(wish.name, "ring.1");
	assert_string_equal(wish.description, "two words");
	assert_false(wish.enabled);
	assert_int_equal(wish.kind, 2);
	assert_int_equal(wish.flags, 2);
	assert_int_equal(wish.qp.num_qps, 16384);
	assert_int_equal(wish.qp.qkey, 255);
	assert_int_equal(wish.qp.gid_index, 3);
	assert_int_equal(wish.op_count, 2);
	assert_int_equal(wish.ops[0].op, 2);
	assert_int_equal(wish.ops[0].size_bytes, 65536);
	assert_int_equal(wish.ops[0].weight, 70);
	assert_int_equal(wish.ops[1].op, 1);
	assert_int_equal(wish.ops[1].weight, 1);
	assert_int_equal(wish.label_count, 3);
	assert_string_equal(wish.labels[2], "zzzzzzz");
	assert_int_equal(wish.duration_ns, 1500000000);
	assert_int_equal(wish.rate_bps, 2500000000);
	assert_int_equal(wish.ops_rate, 1000000);
	assert_int_equal(wish.share_ppm, 500000);
	assert_int_equal(wish.pair[1], 9);
}

static void a_map_written_in_part_keeps_the_other_defaults(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct wish wish;

	assert_true(parse(WITH("qp: {num_qps: 2}"), &wish, &said));
	assert_int_equal(wish.qp.num_qps, 2);
	assert_int_equal(wish.qp.qkey, 0x11111111);
}

static void a_list_written_replaces_its_default(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct wish wish;

	assert_true(parse(WITH("labels: [z]\non: []"), &wish, &said));
	assert_int_equal(wish.label_count, 1);
	assert_string_equal(wish.labels[0], "z");
	assert_string_equal(wish.labels[1], "");
	assert_int_equal(wish.flags, 0);
}

static void unknown_keys_get_a_suggestion(void **state)
{
	expect_said(WITH("knid: RC"),
		    "f:3:1: error: unknown key \"knid\"; did you mean \"kind\"?\n");
	expect_said(WITH("qp: {num_qp: 1}"),
		    "f:3:6: error: qp: unknown key \"num_qp\"; did you mean \"num_qps\"?\n");
	expect_said(WITH("num_qps: 4"),
		    "f:3:1: error: unknown key \"num_qps\"; it belongs under \"qp\"\n");
	expect_said(WITH("weight: 4"),
		    "f:3:1: error: unknown key \"weight\"; it belongs under \"ops\"\n");
	expect_said(WITH("qp: {duration: 1s}"),
		    "f:3:6: error: qp: unknown key \"duration\"; it belongs beside \"name\"\n");
	expect_said(
		WITH("qp: {banana: 1}"),
		"f:3:6: error: qp: unknown key \"banana\"; known here: num_qps, qkey, gid_index\n");
	expect_said("name: n\nops:\n- {op: read, size: 1, sice: 2}\n",
		    "f:3:23: error: ops[0]: unknown key \"sice\"; did you mean \"size\"?\n");
}

static void a_hostile_key_is_quoted_escaped_and_cut(void **state)
{
	expect_said(WITH("\"x\\e[2J\": 1"),
		    "f:3:1: error: unknown key \"x\\x1b[2J\"; known here: name, description, "
		    "enabled, kind, on, qp, ops, labels, duration, rate, ops_rate, share, "
		    "pair\n");
	expect_said(
		WITH("kind: 0123456789012345678901234567890123456789xyz"),
		"f:3:7: error: kind: \"0123456789012345678901234567890123456789...\" is not one of RC, UC, UD\n");
}

static void what_comes_later_is_refused_with_the_way_out(void **state)
{
	expect_said(WITH("qp: {srq: true}"),
		    "f:3:6: error: qp.srq: is not in this version; use num_qps: 1\n");
}

static void missing_keys_are_named_where_they_belong(void **state)
{
	expect_said("kind: RC\n", "f:1:1: error: missing required key \"name\"\n");
	expect_said("name: n\nops:\n  - {op: read}\n  - {}\n",
		    "f:3:5: error: ops[0]: missing required key \"size\"\n"
		    "f:4:5: error: ops[1]: missing required key \"op\"\n"
		    "f:4:5: error: ops[1]: missing required key \"size\"\n");
	expect_said("", "f:1:1: error: missing required key \"name\"\n");
}

static void values_are_typed_strictly(void **state)
{
	expect_said(WITH("enabled: yes"), "f:3:10: error: enabled: \"yes\" is not true or false\n");
	expect_said(WITH("enabled: \"true\""),
		    "f:3:10: error: enabled: \"true\" is in quotes; write true without them\n");
	expect_said(WITH("kind: rc"),
		    "f:3:7: error: kind: \"rc\" is not one of RC, UC, UD; did you mean \"RC\"?\n");
	expect_said(
		WITH("duration: 30"),
		"f:3:11: error: duration: \"30\" needs a unit; write ns, us, ms, s, m, h or d behind it\n");
	expect_said(
		WITH("duration: soon"),
		"f:3:11: error: duration: \"soon\" is not a number; expected a duration such as 10s\n");
	expect_said(
		WITH("duration: auto"),
		"f:3:11: error: duration: \"auto\" is not a number; expected a duration such as 10s\n");
	expect_said(
		WITH("qp: {gid_index: x}"),
		"f:3:17: error: qp.gid_index: \"x\" is not a number; expected a whole number or auto\n");
	expect_said(
		WITH("qp: {gid_index: 'auto'}"),
		"f:3:17: error: qp.gid_index: \"auto\" is not a number; expected a whole number or auto\n");
	expect_said(
		"name: n\nops: [{op: read, size: 64KB}]\n",
		"f:2:24: error: ops[0].size: \"64KB\" is ambiguous; write 64KiB (65536 bytes) or 64000\n");
	expect_said(WITH("on: [manual, startup, manual]"),
		    "f:3:23: error: on[2]: \"manual\" is given twice\n");
	expect_said(WITH("on: [manul]"),
		    "f:3:6: error: on[0]: \"manul\" is not one of manual, startup, reload; did "
		    "you mean \"manual\"?\n");
	expect_said(WITH("pair: 3"), "f:3:7: error: pair: is not a pair such as 3-5\n");
}

static void ranges_name_value_and_limits(void **state)
{
	expect_said(WITH("qp: {num_qps: 0}"),
		    "f:3:15: error: qp.num_qps: 0 is below 1 (allowed: 1 to 16384)\n");
	expect_said(WITH("qp: {num_qps: 70000}"),
		    "f:3:15: error: qp.num_qps: 70000 is above 16384 (allowed: 1 to 16384)\n");
	expect_said(WITH("qp: {gid_index: 256}"),
		    "f:3:17: error: qp.gid_index: 256 is above 255 (allowed: 0 to 255, auto)\n");
	expect_said(
		WITH("qp: {qkey: 0x100000000}"),
		"f:3:12: error: qp.qkey: \"0x100000000\" is above 0xffffffff (allowed: 0x0 to 0xffffffff)\n");
	expect_said("name: n\nops: [{op: read, size: 8GiB}]\n",
		    "f:2:24: error: ops[0].size: \"8GiB\" is above 1GiB (allowed: 0B to 1GiB)\n");
	expect_said(WITH("duration: 1us"),
		    "f:3:11: error: duration: \"1us\" is below 1ms (allowed: 1ms to 1d)\n");
	/* no more than JSON carries, and never what stands for auto */
	expect_said(
		WITH("rate: 18446744073709551615bps"),
		"f:3:7: error: rate: \"18446744073709551615bps\" is above 9223372036854775807bps\n");
}

static void texts_and_names_are_bounded(void **state)
{
	expect_said(
		"name: Ring\nops: [{op: read, size: 1}]\n",
		"f:1:7: error: name: \"Ring\" is not a name: 1 to 63 of a-z 0-9 . _ - beginning with a letter or "
		"digit\n");
	expect_said(
		WITH("description: 12345678901234567890"),
		"f:3:14: error: description: \"12345678901234567890\" has 20 bytes; at most 19\n");
	expect_said(
		WITH("description: \"a\\nb\""),
		"f:3:14: error: description: \"a\\x0ab\" holds a control character; write one line of plain text\n");
	expect_said(WITH("labels: [a, 12345678]"),
		    "f:3:13: error: labels[1]: \"12345678\" has 8 bytes; at most 7\n");
	expect_said(WITH("description: ''"), "");
}

static void wrong_kinds_say_what_was_found(void **state)
{
	expect_said(
		WITH("qp: 5"),
		"f:3:5: error: qp: expected a map with keys such as num_qps, qkey, gid_index, found \"5\"\n");
	expect_said(
		WITH("qp: [1]"),
		"f:3:5: error: qp: expected a map with keys such as num_qps, qkey, gid_index, found a list\n");
	expect_said(
		WITH("qp:"),
		"f:3:4: error: qp: has no value; expected a map with keys such as num_qps, qkey, gid_index\n");
	expect_said(WITH("duration:"),
		    "f:3:10: error: duration: has no value; expected a duration such as 10s\n");
	expect_said(WITH("duration: {a: 1}"),
		    "f:3:11: error: duration: expected a duration such as 10s, found a map\n");
	expect_said(WITH("labels: a"),
		    "f:3:9: error: labels: expected a list of texts, found \"a\"\n");
	expect_said(WITH("labels: [a, [b]]"),
		    "f:3:13: error: labels[1]: expected a list of texts, found a list\n");
	expect_said(WITH("on: manual"),
		    "f:3:5: error: on: expected a list of words, found \"manual\"\n");
	expect_said("name: n\nops: {op: read}\n",
		    "f:2:6: error: ops: expected a list of maps, found a map\n");
	expect_said(
		"name: n\nops: [read]\n",
		"f:2:7: error: ops[0]: expected a map with keys such as op, size, weight, found \"read\"\n");
	expect_said(WITH("pair:"), "f:3:6: error: pair: has no value\n");
}

static void counts_are_bounded(void **state)
{
	expect_said("name: n\nops: []\n", "f:2:6: error: ops: has 0 items; at least 1\n");
	expect_said(
		"name: n\nops: [{op: read, size: 1}, {op: read, size: 1}, {op: read, size: 1}, {op: read, size: "
		"1}, {op: x, size: 1}]\n",
		"f:2:6: error: ops: has 5 items; at most 4\n");
	expect_said(WITH("labels: [a, b, c, d]"), "f:3:9: error: labels: has 4 items; at most 3\n");
}

static void all_errors_come_at_once(void **state)
{
	expect_said(
		"nam: n\nkind: RX\nqp:\n  num_qps: 0\n  qkey: zz\nops:\n  - {op: wirte, size: 4MB}\nenabled: on\n",
		"f:1:1: error: unknown key \"nam\"; did you mean \"name\"?\n"
		"f:1:1: error: missing required key \"name\"\n"
		"f:2:7: error: kind: \"RX\" is not one of RC, UC, UD; did you mean \"RC\"?\n"
		"f:4:12: error: qp.num_qps: 0 is below 1 (allowed: 1 to 16384)\n"
		"f:5:9: error: qp.qkey: \"zz\" is not a number; expected a number such as 0x1f or 31\n"
		"f:7:10: error: ops[0].op: \"wirte\" is not one of write, read, send; did you mean \"write\"?\n"
		"f:7:23: error: ops[0].size: \"4MB\" is ambiguous; write 4MiB (4194304 bytes) or 4000000\n"
		"f:8:10: error: enabled: \"on\" is not true or false\n");
}

static void what_was_reported_is_not_reported_twice(void **state)
{
	expect_said(WITH("duration: *x\nduration: 5"),
		    "f:3:11: error: alias \"*x\" is not supported; write the value itself\n"
		    "f:4:1: error: duplicate key \"duration\" (first at line 3)\n");
	expect_said(WITH("qp: *x\npair: *y"),
		    "f:3:5: error: alias \"*x\" is not supported; write the value itself\n"
		    "f:4:7: error: alias \"*y\" is not supported; write the value itself\n");
	expect_said("name: n\nops: [*x]\n",
		    "f:2:7: error: alias \"*x\" is not supported; write the value itself\n");
}

static void a_place_may_have_a_prefix(void **state)
{
	_cleanup_text_ struct text said = TEXT_INIT;
	struct problems problems;
	struct schema_context context = { .path = "f", .problems = &problems };
	struct document *document;
	struct wish wish;

	problems_init(&problems);
	document = document_read("f", "qp: {num_qps: x}\n", 17, &problems);
	assert_false(
		schema_parse(wish_fields, document->root, "scenarios[3]", &wish, NULL, &context));
	problems_print(&problems, 9, &said);
	assert_string_equal(
		said.data,
		"f:1:1: error: scenarios[3]: missing required key \"name\"\n"
		"f:1:15: error: scenarios[3].qp.num_qps: \"x\" is not a number; expected a "
		"whole number\n");
	problems_done(&problems);
	document_free(document);
}

static void the_reference_is_made_of_the_table(void **state)
{
	_cleanup_text_ struct text page = TEXT_INIT;

	schema_print_reference(wish_fields, "Wish", &page);
	assert_true(text_starts_with(
		page.data, "## Wish\n\n| key | value | default | meaning |\n|---|---|---|---|\n"));
	assert_non_null(strstr(page.data, "\n| `name` | name | required | its name |\n"));
	assert_non_null(strstr(page.data,
			       "\n| `description` | text, at most 19 bytes | none | a \\| b |\n"));
	assert_non_null(
		strstr(page.data, "\n| `enabled` | true or false | `true` | runs at all |\n"));
	assert_non_null(
		strstr(page.data, "\n| `kind` | one of `RC`, `UC`, `UD` | `RC` | ibv_qp_type |\n"));
	assert_non_null(
		strstr(page.data,
		       "\n| `on` | list of `manual`, `startup`, `reload` | `[manual, reload]` | "
		       "when |\n"));
	assert_non_null(
		strstr(page.data, "\n| `ops` | list of maps, below, 1 to 4 | - | the mix |\n"));
	assert_non_null(
		strstr(page.data, "\n| `duration` | duration, 1ms to 1d | `10s` | how long |\n"));
	assert_non_null(strstr(page.data, "\n| `rate` | bit rate | `10Gbps` | limit |\n"));
	assert_non_null(strstr(page.data, "\n### `qp`\n\n| key |"));
	assert_non_null(
		strstr(page.data,
		       "\n| `gid_index` | integer, 0 to 255, or `auto` | `auto` | sgid_index |\n"));
	assert_non_null(
		strstr(page.data, "\n| `srq` | not in this version | - | use num_qps: 1 |\n"));
	assert_non_null(strstr(page.data, "\n### `ops[]`\n\n| key |"));
	assert_non_null(
		strstr(page.data,
		       "\n| `size` | size, 0B to 1GiB | required | bytes of one operation |\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_what_the_table_says),
		cmocka_unit_test(everything_can_be_written),
		cmocka_unit_test(a_map_written_in_part_keeps_the_other_defaults),
		cmocka_unit_test(a_list_written_replaces_its_default),
		cmocka_unit_test(unknown_keys_get_a_suggestion),
		cmocka_unit_test(a_hostile_key_is_quoted_escaped_and_cut),
		cmocka_unit_test(what_comes_later_is_refused_with_the_way_out),
		cmocka_unit_test(missing_keys_are_named_where_they_belong),
		cmocka_unit_test(values_are_typed_strictly),
		cmocka_unit_test(ranges_name_value_and_limits),
		cmocka_unit_test(texts_and_names_are_bounded),
		cmocka_unit_test(wrong_kinds_say_what_was_found),
		cmocka_unit_test(counts_are_bounded),
		cmocka_unit_test(all_errors_come_at_once),
		cmocka_unit_test(what_was_reported_is_not_reported_twice),
		cmocka_unit_test(a_place_may_have_a_prefix),
		cmocka_unit_test(the_reference_is_made_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
