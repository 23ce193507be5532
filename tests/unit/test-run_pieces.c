// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/run_pieces.h"
#include "util/memory.h"

/* What a piece may take: it is a few KiB. */
#define PIECE_BYTES (16u << 10)

static void fill_class(struct class_totals *class, int kind, uint64_t size_bytes, unsigned buckets)
{
	class->class = (struct operation_class){ kind, false, size_bytes, 1 };
	histogram_reset(&class->latency);
	for (unsigned i = 0; i < buckets; i++) {
		histogram_add(&class->latency, histogram_floor_ns(HISTOGRAM_BUCKETS - 1 - i));
	}
	class->posted = buckets + 1;
	class->completed = buckets;
	class->bytes = buckets * size_bytes;
}

static void fill_totals(struct participant *end, size_t classes, unsigned buckets, size_t intervals)
{
	struct totals *totals = &end->totals;

	end->has_totals = true;
	totals->window_ns = 3000000001;
	totals->class_count = classes;
	totals->classes = memory_new_array(classes + 1, sizeof(*totals->classes));
	for (size_t i = 0; i < classes; i++) {
		fill_class(&totals->classes[i], (int)(i % OPERATION_KINDS), 8 + i, buckets);
	}
	totals->is_half_round_trip[OPERATION_WRITE] = true;
	totals->interval_count = intervals;
	totals->intervals = memory_new_array(intervals + 1, sizeof(*totals->intervals));
	for (size_t i = 0; i < intervals; i++) {
		totals->intervals[i] = (struct sample){ .start_ns = i * 1000000,
							.end_ns = (i + 1) * 1000000,
							.operations = i,
							.bytes = 77 * i,
							.latency_count = i % 2,
							.latency_max_ns = 5 };
	}
}

static struct run *new_run(size_t pairs)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	schema_defaults(scenario_fields, scenario);
	snprintf(scenario->name, sizeof(scenario->name), "mixed");
	run = run_new(scenario);
	snprintf(run->id, sizeof(run->id), "01J8Z3R6000000000000000000");
	run->state = RUN_DONE;
	for (size_t i = 0; i < pairs; i++) {
		struct measurement *measurement = run_add_measurement(run);

		measurement->verdict = VERDICT_PASS;
		measurement->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
		measurement->responder.endpoint = (struct endpoint){ "b\"\\\n", "rxe1", 1, 1 };
	}
	return run;
}

static void read_all(struct run_pieces *pieces, struct text *out)
{
	size_t before = out->length;
	bool is_more = true;

	while (is_more) {
		is_more = run_pieces_next(pieces, out);
		assert_true(out->length - before <= PIECE_BYTES);
		before = out->length;
	}
}

static void assert_same(struct run *run, bool with_histograms)
{
	_cleanup_json_ json_t *record = run_write(run, with_histograms);
	struct run_pieces *pieces = run_pieces_new(
		run, RUN_PIECES_INTERVALS | (with_histograms ? RUN_PIECES_HISTOGRAMS : 0));
	_cleanup_text_ struct text whole = TEXT_INIT;
	_cleanup_text_ struct text joined = TEXT_INIT;

	json_write(record, &whole);
	read_all(pieces, &joined);
	run_pieces_free(pieces);
	assert_string_equal(joined.data, whole.data);
}

static void the_pieces_together_are_the_record(void **state)
{
	static const struct {
		size_t pairs;
		size_t classes;
		unsigned buckets;
		size_t intervals;
	} cases[] = {
		{ 0, 0, 0, 0 },
		{ 1, 0, 0, 0 },
		{ 1, 1, 1, 1 },
		{ 3, 4, 40, 8 },
		{ 2, 8, 0, 9 },
		{ 1, 3, 257, 17 },
		{ 1, LIMIT_CLASSES, 2000, LIMIT_INTERVALS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run *run = new_run(cases[i].pairs);

		assert_same(run, true);
		for (size_t k = 0; k < cases[i].pairs; k++) {
			fill_totals(&run->measurements[k]->initiator, cases[i].classes,
				    cases[i].buckets, cases[i].intervals);
		}
		assert_same(run, true);
		assert_same(run, false);
		run_free(run);
	}
}

static void so_they_are_where_both_ends_posted(void **state)
{
	struct run *run = new_run(2);

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		run->measurements[k]->assignment.workload.workload.direction = DIRECTION_BOTH;
	}
	assert_same(run, true);
	fill_totals(&run->measurements[0]->initiator, 2, 300, 9);
	fill_totals(&run->measurements[0]->responder, 3, 600, 20);
	fill_totals(&run->measurements[1]->responder, 1, 1, 1);
	assert_same(run, true);
	assert_same(run, false);
	run_free(run);
}

static void intervals_can_be_left_out(void **state)
{
	struct run *run = new_run(2);
	struct run_pieces *pieces = run_pieces_new(run, 0);
	_cleanup_text_ struct text out = TEXT_INIT;
	_cleanup_json_ json_t *record = NULL;
	const json_t *measurement;

	fill_totals(&run->measurements[1]->initiator, 2, 5, 20);
	read_all(pieces, &out);
	run_pieces_free(pieces);
	run_free(run);
	record = json_read(out.data, out.length, NULL);
	assert_non_null(record);
	measurement = json_array_get(json_object_get(record, "measurements"), 1);
	assert_int_equal(json_array_size(json_object_get(measurement, "operations")), 3);
	assert_true(json_is_array(json_object_get(measurement, "intervals")));
	assert_int_equal(json_array_size(json_object_get(measurement, "intervals")), 0);
}

static void a_run_that_the_history_lets_go_of_is_written_to_its_end(void **state)
{
	struct run *run = new_run(2);
	struct run_pieces *pieces = run_pieces_new(run, 0);
	_cleanup_text_ struct text out = TEXT_INIT;
	json_t *record;

	assert_true(run_pieces_next(pieces, &out));
	run_free(run);
	read_all(pieces, &out);
	run_pieces_free(pieces);
	record = json_read(out.data, out.length, NULL);
	assert_non_null(record);
	assert_int_equal(json_array_size(json_object_get(record, "measurements")), 2);
	json_decref(record);
	run_pieces_free(NULL);
}

static void a_run_that_goes_on_meanwhile_stays_well_formed(void **state)
{
	/* Whatever piece the change comes before. */
	for (unsigned before = 0; before < 40; before++) {
		struct run *run = new_run(2);
		struct run_pieces *pieces =
			run_pieces_new(run, RUN_PIECES_INTERVALS | RUN_PIECES_HISTOGRAMS);
		_cleanup_text_ struct text out = TEXT_INIT;
		bool is_more = true;
		json_t *record;

		fill_totals(&run->measurements[0]->initiator, 2, 600, 20);
		for (unsigned i = 0; i < before && is_more; i++) {
			is_more = run_pieces_next(pieces, &out);
		}
		if (is_more) {
			fill_totals(&run->measurements[1]->initiator, 3, 5, 3);
			run_add_measurement(run);
			sample_totals_done(&run->measurements[0]->initiator.totals);
			run->measurements[0]->initiator.has_totals = false;
			read_all(pieces, &out);
		}
		run_pieces_free(pieces);
		record = json_read(out.data, out.length, NULL);
		assert_non_null(record);
		json_decref(record);
		run_free(run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pieces_together_are_the_record),
		cmocka_unit_test(so_they_are_where_both_ends_posted),
		cmocka_unit_test(intervals_can_be_left_out),
		cmocka_unit_test(a_run_that_the_history_lets_go_of_is_written_to_its_end),
		cmocka_unit_test(a_run_that_goes_on_meanwhile_stays_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
