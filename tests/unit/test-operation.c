// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "model/operation.h"
#include "util/memory.h"

static struct operation entry(int kind, uint64_t weight, uint64_t size_bytes)
{
	return (struct operation){
		.kind = kind, .weight = weight, .size_count = 1, .sizes = { { size_bytes, 1 } }
	};
}

static void weights_of_sizes_and_entries_come_over_one_denominator(void **state)
{
	struct operation ops[3] = { entry(OPERATION_WRITE, 70, 0), entry(OPERATION_READ, 20, 16384),
				    entry(OPERATION_SEND, 10, 256) };
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total;

	ops[0].size_count = 3;
	ops[0].sizes[0] = (struct operation_size){ 4096, 50 };
	ops[0].sizes[1] = (struct operation_size){ 65536, 40 };
	ops[0].sizes[2] = (struct operation_size){ 1048576, 10 };
	assert_int_equal(operation_classes(ops, 3, 0, classes, &total), 5);
	/* 70 % x 50 %, 40 %, 10 %; 20 %; 10 % */
	assert_int_equal(total, 100);
	assert_int_equal(classes[0].weight, 35);
	assert_int_equal(classes[1].weight, 28);
	assert_int_equal(classes[2].weight, 7);
	assert_int_equal(classes[3].weight, 20);
	assert_int_equal(classes[4].weight, 10);
	assert_int_equal(classes[2].size_bytes, 1048576);
	assert_int_equal(classes[4].kind, OPERATION_SEND);
}

static void inline_auto_takes_what_fits_and_is_no_read(void **state)
{
	struct operation ops[4] = { entry(OPERATION_WRITE, 1, 220), entry(OPERATION_WRITE, 1, 221),
				    entry(OPERATION_READ, 1, 8), entry(OPERATION_SEND, 1, 8) };
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total;

	ops[3].inline_mode = INLINE_NO;
	assert_int_equal(operation_classes(ops, 4, 220, classes, &total), 4);
	assert_true(classes[0].is_inline);
	assert_false(classes[1].is_inline);
	assert_false(classes[2].is_inline);
	assert_false(classes[3].is_inline);
	ops[1].inline_mode = INLINE_YES;
	operation_classes(ops, 4, 220, classes, &total);
	assert_true(classes[1].is_inline);
}

static void a_response_has_a_size_of_its_own(void **state)
{
	struct operation ops[2] = { entry(OPERATION_SEND, 1, 64), entry(OPERATION_WRITE, 3, 100) };
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total;

	(void)state;
	ops[1].response_bytes = 500;
	assert_int_equal(operation_classes(ops, 2, 220, classes, &total), 2);
	assert_int_equal(classes[0].response_bytes, 64);
	assert_true(classes[0].is_response_inline);
	assert_int_equal(classes[1].response_bytes, 500);
	assert_true(classes[1].is_inline);
	assert_false(classes[1].is_response_inline);
	assert_int_equal(operation_largest_bytes(ops, 2), 500);
	assert_int_equal(operation_response_bytes(ops, 2, OPERATION_WRITE, 100), 500);
	assert_int_equal(operation_response_bytes(ops, 2, OPERATION_SEND, 64), 64);
	assert_true(operation_mean_bytes(ops, 2) == 91);
	assert_true(operation_mean_response_bytes(ops, 2) == 391);
}

static void too_many_classes_are_none(void **state)
{
	struct operation *ops = memory_new_array(LIMIT_OPS, sizeof(*ops));
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total = 5;

	for (size_t i = 0; i < LIMIT_OPS; i++) {
		ops[i] = entry(OPERATION_WRITE, 1, 1);
		ops[i].size_count = LIMIT_CLASSES / LIMIT_OPS;
		for (size_t j = 0; j < ops[i].size_count; j++) {
			ops[i].sizes[j] = (struct operation_size){ i * 100 + j, 1 };
		}
	}
	assert_int_equal(operation_classes(ops, LIMIT_OPS, 0, classes, &total), LIMIT_CLASSES);
	assert_int_equal(total, LIMIT_CLASSES);
	ops[0].size_count++;
	ops[0].sizes[ops[0].size_count - 1] = (struct operation_size){ 9999, 1 };
	assert_int_equal(operation_classes(ops, LIMIT_OPS, 0, classes, &total), 0);
	free(ops);
}

static void weights_without_a_common_denominator_keep_their_proportions(void **state)
{
	struct operation ops[8];
	struct operation_class classes[LIMIT_CLASSES];
	static const uint64_t primes[8] = { 999983, 999979, 999961, 999959,
					    999953, 999931, 999917, 999907 };
	uint64_t total;

	for (size_t i = 0; i < 8; i++) {
		ops[i] = entry(OPERATION_WRITE, 1000000, i + 1);
		ops[i].size_count = 2;
		ops[i].sizes[0] = (struct operation_size){ 100 + i, 1 };
		ops[i].sizes[1] = (struct operation_size){ 200 + i, primes[i] - 1 };
	}
	assert_int_equal(operation_classes(ops, 8, 0, classes, &total), 16);
	for (size_t i = 0; i < 8; i++) {
		double share =
			(double)(classes[2 * i].weight + classes[2 * i + 1].weight) / (double)total;

		assert_true(share > 0.1249 && share < 0.1251);
		assert_true(classes[2 * i].weight >= 1);
	}
}

/* Exact counts by class, of all positions and of the signalled ones. */
static void count(const uint16_t *deck, size_t length, uint64_t interval, size_t *all,
		  size_t *signalled)
{
	memset(all, 0, LIMIT_CLASSES * sizeof(*all));
	memset(signalled, 0, LIMIT_CLASSES * sizeof(*signalled));
	for (size_t i = 0; i < length; i++) {
		assert_true(deck[i] < LIMIT_CLASSES);
		all[deck[i]]++;
		signalled[deck[i]] += (i + 1) % interval == 0;
	}
}

static void a_deck_holds_every_class_in_proportion_also_where_it_is_signalled(void **state)
{
	struct operation ops[3] = { entry(OPERATION_WRITE, 70, 65536),
				    entry(OPERATION_READ, 20, 16384),
				    entry(OPERATION_SEND, 10, 256) };
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total;
	size_t class_count = operation_classes(ops, 3, 0, classes, &total);
	static const uint64_t intervals[] = { 1, 2, 4, 7, 16, 100 };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		size_t length = operation_deck_length(classes, class_count, intervals[i], 16, 64);
		uint16_t *deck = memory_new_array(length, sizeof(*deck));
		size_t all[LIMIT_CLASSES], signalled[LIMIT_CLASSES];

		assert_int_equal(length % 16, 0);
		assert_int_equal(length % intervals[i], 0);
		assert_int_equal(length % 10, 0); /* weights 7, 2, 1 are exact */
		operation_deck(classes, class_count, intervals[i], 42, deck, length);
		count(deck, length, intervals[i], all, signalled);
		assert_int_equal(all[0] * 10, length * 7);
		assert_int_equal(all[1] * 10, length * 2);
		assert_int_equal(all[2] * 10, length);
		for (size_t c = 0; c < class_count; c++) {
			double share =
				(double)signalled[c] / ((double)length / (double)intervals[i]);

			assert_true(signalled[c] >= 1);
			assert_true(share < (double)classes[c].weight / 10.0 +
						    1.0 / ((double)length / (double)intervals[i]));
		}
		free(deck);
	}
}

static void a_rare_class_is_there_at_least_once_and_signalled(void **state)
{
	struct operation ops[2] = { entry(OPERATION_WRITE, 1000000, 64),
				    entry(OPERATION_READ, 1, 64) };
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t total;
	size_t class_count = operation_classes(ops, 2, 0, classes, &total);
	size_t length = operation_deck_length(classes, class_count, 32, 8, 1);
	uint16_t *deck = memory_new_array(length, sizeof(*deck));
	size_t all[LIMIT_CLASSES], signalled[LIMIT_CLASSES];

	assert_true(length >= 1000); /* one too many is below 0.1 % */
	assert_true(length <= LIMIT_RING_WRS);
	operation_deck(classes, class_count, 32, 1, deck, length);
	count(deck, length, 32, all, signalled);
	assert_int_equal(all[1], 1);
	assert_int_equal(signalled[1], 1);
	assert_int_equal(all[0], length - 1);
	free(deck);
}

static void the_same_seed_gives_the_same_deck_and_another_one_does_not(void **state)
{
	struct operation ops[2] = { entry(OPERATION_WRITE, 1, 64), entry(OPERATION_READ, 1, 64) };
	struct operation_class classes[LIMIT_CLASSES];
	uint16_t a[256], b[256], c[256];
	uint64_t total;
	size_t class_count = operation_classes(ops, 2, 0, classes, &total);

	operation_deck(classes, class_count, 4, 7, a, 256);
	operation_deck(classes, class_count, 4, 7, b, 256);
	operation_deck(classes, class_count, 4, 8, c, 256);
	assert_memory_equal(a, b, sizeof(a));
	assert_memory_not_equal(a, c, sizeof(a));
}

static void one_class_needs_no_more_than_was_asked_for(void **state)
{
	struct operation_class class = { .kind = OPERATION_WRITE, .size_bytes = 8, .weight = 1 };

	assert_int_equal(operation_deck_length(&class, 1, 1, 1, 1), 1);
	assert_int_equal(operation_deck_length(&class, 1, 100, 16, 1), 400);
	assert_int_equal(operation_deck_length(&class, 1, 4, 16, 100), 112);
	assert_int_equal(operation_deck_length(&class, 1, 1, 1, 0), 1);
}

static void every_length_of_many_classes_fits_its_promises(void **state)
{
	struct operation_class classes[LIMIT_CLASSES];
	static const uint64_t intervals[] = { 1, 3, 16, 128 };
	static const size_t multiples[] = { 1, 8, 12 };

	for (size_t class_count = 2; class_count <= LIMIT_CLASSES; class_count += 31) {
		for (size_t i = 0; i < class_count; i++) {
			classes[i] = (struct operation_class){ .weight = i * i + 1 };
		}
		for (size_t i = 0; i < 4; i++) {
			for (size_t j = 0; j < 3; j++) {
				size_t length = operation_deck_length(
					classes, class_count, intervals[i], multiples[j], 5);
				uint16_t *deck = memory_new_array(length, sizeof(*deck));
				size_t all[LIMIT_CLASSES], signalled[LIMIT_CLASSES];

				assert_int_equal(length % intervals[i], 0);
				assert_int_equal(length % multiples[j], 0);
				operation_deck(classes, class_count, intervals[i], 1, deck, length);
				count(deck, length, intervals[i], all, signalled);
				for (size_t c = 0; c < class_count; c++) {
					assert_true(all[c] >= 1);
					assert_true(signalled[c] >= 1);
				}
				free(deck);
			}
		}
	}
}

/* --- how it is written --- */

static unsigned parse(const char *yaml, struct operation *op, struct problems *problems)
{
	struct document *document = document_read("ops.yaml", yaml, strlen(yaml), problems);
	struct schema_context context = { "ops.yaml", problems };

	memset(op, 0, sizeof(*op));
	if (document) {
		schema_parse(operation_fields, document->root, "ops[0]", op, operation_fields,
			     &context);
	}
	document_free(document);
	return problems->errors;
}

static void expect_problem(const char *yaml, const char *part)
{
	struct problems problems;
	struct operation op;
	struct text out = TEXT_INIT;

	problems_init(&problems);
	assert_true(parse(yaml, &op, &problems) > 0);
	problems_print(&problems, 20, &out);
	if (!strstr(out.data, part)) {
		fail_msg("\"%s\" is not in: %s", part, out.data);
	}
	text_done(&out);
	problems_done(&problems);
}

static void sizes_are_one_or_a_list_with_or_without_weights(void **state)
{
	struct problems problems;
	struct operation op;

	problems_init(&problems);
	assert_int_equal(parse("{op: write, size: 64KiB}", &op, &problems), 0);
	assert_int_equal(op.size_count, 1);
	assert_int_equal(op.sizes[0].size_bytes, 65536);
	assert_int_equal(op.sizes[0].weight, 1);
	assert_int_equal(op.weight, 1);
	assert_int_equal(op.inline_mode, INLINE_AUTO);
	assert_int_equal(
		parse("{op: read, size: [{size: 4KiB, weight: 50}, {size: 1MiB}, 8B], weight: 3}",
		      &op, &problems),
		0);
	assert_int_equal(op.size_count, 3);
	assert_int_equal(op.sizes[0].weight, 50);
	assert_int_equal(op.sizes[1].weight, 1);
	assert_int_equal(op.sizes[2].size_bytes, 8);
	assert_int_equal(parse("{op: send, size: 0, inline: true}", &op, &problems), 0);
	assert_int_equal(op.inline_mode, INLINE_YES);
	problems_done(&problems);
}

static void a_wrong_size_is_refused_with_its_place(void **state)
{
	expect_problem("{op: write}", "size");
	expect_problem("{op: write, size: 64KB}", "ops[0].size");
	expect_problem("{op: write, size: 2GiB}", "above");
	expect_problem("{op: write, size: []}", "0 sizes");
	expect_problem("{op: write, size: [{size: 1B}, {size: 2B, weight: 0}]}",
		       "ops[0].size[1].weight");
	expect_problem("{op: write, size: [{sice: 1B}]}", "size");
	expect_problem("{op: write, size: [[1B]]}", "ops[0].size[0]");
	expect_problem("{op: write, size: {from: 1B}}", "ops[0].size");
	expect_problem("{op: writes, size: 1B}", "write");
	expect_problem("{op: write, size: 1B, inline: yes}", "inline");
	expect_problem(
		"{op: write, size: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
		"33 sizes");
}

static void an_operation_comes_back_from_json_and_a_hostile_one_does_not(void **state)
{
	struct operation op, read;
	struct problems problems;
	struct error err = ERROR_INIT;
	json_t *json, *again, *sizes;

	problems_init(&problems);
	parse("{op: read, size: [{size: 4KiB, weight: 50}, 1MiB], weight: 3, inline: false}", &op,
	      &problems);
	json = schema_write(operation_fields, &op);
	assert_int_equal(schema_read(operation_fields, json, &read, &err), 0);
	again = schema_write(operation_fields, &read);
	assert_true(json_equal(json, again));
	json_decref(again);

	sizes = json_object_get(json, "sizes");
	json_object_set_new(json_array_get(sizes, 0), "weight", json_integer(0));
	assert_true(schema_read(operation_fields, json, &read, &err) < 0);
	assert_non_null(strstr(err.text, "weight"));
	err = ERROR_INIT;
	json_array_clear(sizes);
	assert_true(schema_read(operation_fields, json, &read, &err) < 0);
	err = ERROR_INIT;
	json_object_set_new(json, "sizes", json_integer(3));
	assert_true(schema_read(operation_fields, json, &read, &err) < 0);
	json_decref(json);
	problems_done(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_of_sizes_and_entries_come_over_one_denominator),
		cmocka_unit_test(inline_auto_takes_what_fits_and_is_no_read),
		cmocka_unit_test(a_response_has_a_size_of_its_own),
		cmocka_unit_test(too_many_classes_are_none),
		cmocka_unit_test(weights_without_a_common_denominator_keep_their_proportions),
		cmocka_unit_test(a_deck_holds_every_class_in_proportion_also_where_it_is_signalled),
		cmocka_unit_test(a_rare_class_is_there_at_least_once_and_signalled),
		cmocka_unit_test(the_same_seed_gives_the_same_deck_and_another_one_does_not),
		cmocka_unit_test(one_class_needs_no_more_than_was_asked_for),
		cmocka_unit_test(every_length_of_many_classes_fits_its_promises),
		cmocka_unit_test(sizes_are_one_or_a_list_with_or_without_weights),
		cmocka_unit_test(a_wrong_size_is_refused_with_its_place),
		cmocka_unit_test(an_operation_comes_back_from_json_and_a_hostile_one_does_not),
	};

	return cmocka_run_group_tests_name("operation", tests, NULL, NULL);
}
