// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/wish.h"

static void json_goes_there_and_back(void **state)
{
	_cleanup_text_ struct text first = TEXT_INIT;
	_cleanup_text_ struct text second = TEXT_INIT;
	_cleanup_json_ json_t *json = NULL;
	_cleanup_json_ json_t *again = NULL;
	struct error err = ERROR_INIT;
	struct wish wish;
	struct wish copy;

	schema_defaults(wish_fields, &wish);
	text_copy(wish.name, sizeof(wish.name), "n");
	wish.kind = 1;
	wish.op_count = 1;
	wish.ops[0] = (struct op){ .op = 2, .size_bytes = 65536, .weight = 1 };
	wish.label_count = 0;
	json = schema_write(wish_fields, &wish);
	json_write(json, &first);
	assert_string_equal(first.data,
			    "{\"name\":\"n\",\"description\":\"\",\"enabled\":true,\"kind\":\"UC\","
			    "\"on\":[\"manual\",\"reload\"],"
			    "\"qp\":{\"num_qps\":1,\"qkey\":286331153,\"gid_index\":null},"
			    "\"ops\":[{\"op\":\"send\",\"size_bytes\":65536,\"weight\":1}],"
			    "\"labels\":[],\"duration_ns\":10000000000,\"rate_bps\":10000000000,"
			    "\"ops_per_s\":200000,\"share_ppm\":950000,\"pair\":[3,5]}");
	memset(&copy, 0xee, sizeof(copy));
	assert_int_equal(schema_read(wish_fields, json, &copy, &err), 0);
	again = schema_write(wish_fields, &copy);
	json_write(again, &second);
	assert_string_equal(first.data, second.data);
	assert_true(copy.qp.gid_index == SCHEMA_AUTO);
	assert_int_equal(copy.op_count, 1);
	assert_int_equal(copy.ops[0].op, 2);
	assert_int_equal(copy.label_count, 0);
}

static void expect_unread(const char *text, const char *expected)
{
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *json = json_read(text, strlen(text), &err);
	struct wish wish;

	assert_non_null(json);
	assert_int_equal(schema_read(wish_fields, json, &wish, &err), -EINVAL);
	assert_int_equal(err.class, ERROR_INPUT);
	assert_string_equal(err.text, expected);
	assert_int_equal(schema_read(wish_fields, json, &wish, NULL), -EINVAL);
}

#define JSON_WITH(member) "{\"name\":\"n\"," member "}"

static void numbers_of_a_peer_are_checked(void **state)
{
	expect_unread(JSON_WITH("\"qp\":{\"num_qps\":70000}"),
		      "\"qp.num_qps\": 70000 is above 16384 (allowed: 1 to 16384)");
	expect_unread(JSON_WITH("\"qp\":{\"num_qps\":-1}"), "\"qp.num_qps\": -1 is below 0");
	expect_unread(JSON_WITH("\"qp\":{\"num_qps\":null}"),
		      "\"qp.num_qps\": a whole number is expected, not null");
	expect_unread(JSON_WITH("\"qp\":{\"gid_index\":\"auto\"}"),
		      "\"qp.gid_index\": a whole number or null is expected, not a string");
	expect_unread(JSON_WITH("\"duration_ns\":1.5"),
		      "\"duration_ns\": a whole number is expected, not a fraction");
	expect_unread(JSON_WITH("\"ops\":[{\"op\":\"read\",\"size_bytes\":1073741825}]"),
		      "\"ops[0].size_bytes\": 1073741825 is above 1073741824 "
		      "(allowed: 0 to 1073741824)");
}

static void words_of_a_peer_are_checked(void **state)
{
	expect_unread("{}", "\"name\": missing");
	expect_unread("{\"name\":\"\"}", "\"name\": \"\" is not a name: 1 to 63 of a-z 0-9 . _ - "
					 "beginning with a letter or digit");
	expect_unread("{\"name\":5}", "\"name\": a string is expected, not a whole number");
	expect_unread(JSON_WITH("\"enabled\":1"),
		      "\"enabled\": true or false is expected, not a whole number");
	expect_unread(JSON_WITH("\"kind\":\"RX\""),
		      "\"kind\": \"RX\" is not one of RC, UC, UD; did you mean \"RC\"?");
	expect_unread(JSON_WITH("\"on\":[\"manual\",\"manual\"]"),
		      "\"on[1]\": \"manual\" is given twice");
	expect_unread(JSON_WITH("\"labels\":[\"12345678\"]"),
		      "\"labels[0]\": \"12345678\" has 8 bytes; at most 7");
	expect_unread(JSON_WITH("\"description\":\"\\u001b[2J\""),
		      "\"description\": \"\\x1b[2J\" holds a control character; "
		      "write one line of plain text");
}

static void the_shape_of_what_a_peer_sends_is_checked(void **state)
{
	expect_unread(JSON_WITH("\"qp\":[]"), "\"qp\": an object is expected, not an array");
	expect_unread(JSON_WITH("\"on\":\"manual\""), "\"on\": an array is expected, not a string");
	expect_unread(JSON_WITH("\"on\":[1]"),
		      "\"on[0]\": a string is expected, not a whole number");
	expect_unread(JSON_WITH("\"ops\":[]"), "\"ops\": 0 items; at least 1");
	expect_unread(JSON_WITH("\"ops\":[{},{},{},{},{}]"), "\"ops\": 5 items; at most 4");
	expect_unread(JSON_WITH("\"ops\":[{\"op\":\"read\"}]"), "\"ops[0].size_bytes\": missing");
	expect_unread(JSON_WITH("\"ops\":[7]"),
		      "\"ops[0]\": an object is expected, not a whole number");
	expect_unread(JSON_WITH("\"pair\":[1]"), "\"pair\": a pair is expected");
}

static void json_that_is_no_object_is_refused(void **state)
{
	_cleanup_json_ json_t *array = json_array();
	struct error err = ERROR_INIT;
	struct wish wish;

	assert_int_equal(schema_read(wish_fields, array, &wish, &err), -EINVAL);
	assert_string_equal(err.text, "\"message\": an object is expected, not an array");
	assert_int_equal(schema_read(wish_fields, NULL, &wish, NULL), -EINVAL);
}

static void unknown_keys_are_ignored_and_absent_ones_keep_their_default(void **state)
{
	const char *text = JSON_WITH("\"of_a_newer_version\":{\"x\":[1]},\"qp\":{\"qkey\":7}");
	_cleanup_json_ json_t *json = json_read(text, strlen(text), NULL);
	struct wish wish;

	assert_int_equal(schema_read(wish_fields, json, &wish, NULL), 0);
	assert_int_equal(wish.qp.qkey, 7);
	assert_int_equal(wish.qp.num_qps, 1);
	assert_int_equal(wish.label_count, 2);
	assert_int_equal(wish.duration_ns, 10000000000);
}

static void bytes_that_are_no_text_are_written_escaped(void **state)
{
	_cleanup_json_ json_t *json = NULL;
	struct wish wish;

	/* as a device may name itself */
	schema_defaults(wish_fields, &wish);
	text_copy(wish.description, sizeof(wish.description), "fw \xff");
	text_copy(wish.labels[0], sizeof(wish.labels[0]), "\x80");
	json = schema_write(wish_fields, &wish);
	assert_string_equal(json_string_value(json_object_get(json, "description")), "fw \\xff");
	assert_string_equal(json_string_value(json_array_get(json_object_get(json, "labels"), 0)),
			    "\\x80");
}

static void what_was_never_filled_comes_back_as_empty(void **state)
{
	static const struct schema_field fields[] = {
		{ .key = "peer", .type = SCHEMA_NAME, .size = 64, .doc = "optional" }, { 0 }
	};
	_cleanup_json_ json_t *json = NULL;
	struct error err = ERROR_INIT;
	char peer[64];

	schema_defaults(fields, peer);
	json = schema_write(fields, peer);
	memset(peer, 'x', sizeof(peer));
	assert_int_equal(schema_read(fields, json, peer, &err), 0);
	assert_string_equal(peer, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_goes_there_and_back),
		cmocka_unit_test(numbers_of_a_peer_are_checked),
		cmocka_unit_test(words_of_a_peer_are_checked),
		cmocka_unit_test(the_shape_of_what_a_peer_sends_is_checked),
		cmocka_unit_test(json_that_is_no_object_is_refused),
		cmocka_unit_test(unknown_keys_are_ignored_and_absent_ones_keep_their_default),
		cmocka_unit_test(bytes_that_are_no_text_are_written_escaped),
		cmocka_unit_test(what_was_never_filled_comes_back_as_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
