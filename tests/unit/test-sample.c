// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/sample.h"
#include "util/memory.h"
#include "util/text.h"

static void fill(struct totals *totals)
{
	sample_totals_init(totals);
	totals->end = END_DURATION;
	totals->window_ns = 10000000000;
	totals->operations = 300;
	totals->bytes = 300 * 64;
	totals->clock_drift_ppm = -0.25;
	totals->late_operations = 5;
	totals->dropped_operations = 6;
	totals->has_verification = true;
	totals->verification.verified = 299;
	totals->verification.lost = 1;
	totals->is_half_round_trip[OPERATION_WRITE] = true;
	totals->is_round_trip = true;
	text_copy(totals->clock, sizeof(totals->clock), "virtual");
	step_add(&totals->steps, "reg_mr", 5000, 4096);
	totals->class_count = 2;
	totals->classes = memory_new_array(2, sizeof(*totals->classes));
	for (size_t i = 0; i < 2; i++) {
		struct class_totals *class = &totals->classes[i];

		class->class = (struct operation_class){ i ? OPERATION_READ : OPERATION_WRITE, !i,
							 64 * (i + 1), 1 + i };
		class->posted = 151;
		class->completed = 150;
		class->bytes = 150 * 64 * (i + 1);
		histogram_reset(&class->latency);
		for (uint64_t v = 1; v < 150; v++) {
			histogram_add(&class->latency, v * v * 100);
		}
		if (i == 1) {
			class->service = memory_new(sizeof(*class->service));
			histogram_reset(class->service);
			histogram_add(class->service, 77);
		}
	}
	slowest_add(&totals->slowest, &(struct slow_operation){ 150 * 150 * 100, 7, 0, 17, 1 });
	slowest_add(&totals->slowest, &(struct slow_operation){ 149 * 149 * 100, 5, 1, 18, 0 });
	totals->interval_count = 3;
	totals->intervals = memory_new_array(3, sizeof(*totals->intervals));
	for (uint64_t i = 0; i < 3; i++) {
		totals->intervals[i] = (struct sample){ .start_ns = i * 1000,
							.end_ns = i * 1000 + 1000,
							.operations = 100,
							.bytes = 6400,
							.latency_count = 50,
							.latency_min_ns = 1,
							.latency_p50_ns = 5,
							.latency_p99_ns = 9,
							.latency_max_ns = 10 };
	}
}

static void totals_come_back_from_json(void **state)
{
	struct totals totals, read;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	fill(&totals);
	error_set(&totals.failure.error, -1, ERROR_DEVICE, "broken");
	port_report_add(&totals.port_report,
			&(struct port_event){ .kind = PORT_EVENT_PORT_ERR, .port_num = 1 });
	json = sample_totals_write(&totals);
	if (sample_totals_read(json, &read, &err) < 0) {
		fail_msg("%s", err.text);
	}
	again = sample_totals_write(&read);
	assert_true(json_equal(json, again));
	assert_int_equal(read.slowest.count, 2);
	assert_memory_equal(&read.slowest.items, &totals.slowest.items,
			    sizeof(totals.slowest.items));
	assert_int_equal(read.class_count, 2);
	assert_memory_equal(&read.classes[1].latency, &totals.classes[1].latency,
			    sizeof(struct histogram));
	assert_null(read.classes[0].service);
	assert_memory_equal(read.classes[1].service, totals.classes[1].service,
			    sizeof(struct histogram));
	assert_int_equal(read.late_operations, 5);
	assert_int_equal(read.dropped_operations, 6);
	assert_true(read.has_verification);
	assert_int_equal(read.verification.verified, 299);
	assert_int_equal(read.verification.lost, 1);
	assert_true(read.is_half_round_trip[OPERATION_WRITE]);
	assert_true(read.is_round_trip);
	assert_false(read.is_half_round_trip[OPERATION_READ]);
	assert_int_equal(read.intervals[2].latency_max_ns, 10);
	assert_int_equal(read.port_report.event_count, 1);
	assert_true(read.clock_drift_ppm == -0.25);
	json_decref(json);
	json_decref(again);
	sample_totals_done(&totals);
	sample_totals_done(&read);
	sample_totals_done(&read); /* harmless */
}

static void empty_totals_come_back_empty(void **state)
{
	struct totals totals, read;
	struct error err = ERROR_INIT;
	json_t *json;

	sample_totals_init(&totals);
	json = sample_totals_write(&totals);
	assert_int_equal(sample_totals_read(json, &read, &err), 0);
	assert_null(read.classes);
	assert_null(read.intervals);
	assert_int_equal(read.failure.operation, -1);
	json_decref(json);
	sample_totals_done(&read);
}

/* Changes one member of good totals; they must be refused, and freeing must be safe. */
static void refuse_with(const char *key, json_t *value)
{
	struct totals totals, read;
	struct error err = ERROR_INIT;
	json_t *json;

	fill(&totals);
	json = sample_totals_write(&totals);
	if (value) {
		json_object_set_new(json, key, value);
	} else {
		json_object_del(json, key);
	}
	if (sample_totals_read(json, &read, &err) == 0) {
		fail_msg("a wrong \"%s\" was accepted", key);
	}
	assert_true(error_is_set(&err));
	json_decref(json);
	sample_totals_done(&totals);
	sample_totals_done(&read);
}

static json_t *list_of(size_t count, json_t *item)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		json_array_append(list, item);
	}
	json_decref(item);
	return list;
}

static void hostile_totals_are_refused(void **state)
{
	refuse_with("end", json_string("well"));
	refuse_with("end", NULL);
	refuse_with("window_ns", json_integer(-1));
	refuse_with("window_ns", json_string("1"));
	refuse_with("polls", NULL);
	refuse_with("clock", json_string("0123456789abcdef"));
	refuse_with("clock_drift_ppm", json_string("fast"));
	refuse_with("half_round_trip", list_of(1, json_string("writes")));
	refuse_with("half_round_trip", list_of(OPERATION_KINDS + 1, json_string("write")));
	refuse_with("failure", json_integer(1));
	refuse_with("port_report", json_array());
	refuse_with("steps", json_object());
	refuse_with("classes", json_object());
	refuse_with("classes", list_of(1, json_integer(1)));
	refuse_with("classes", list_of(2, json_object()));
	refuse_with("classes", list_of(LIMIT_CLASSES + 1, json_object()));
	refuse_with("intervals", list_of(LIMIT_INTERVALS + 1, json_array()));
	refuse_with("intervals", list_of(1, json_array()));
	refuse_with("intervals", list_of(2, list_of(10, json_integer(-1))));
	refuse_with("intervals", list_of(2, list_of(10, json_string("1"))));
	refuse_with("intervals",
		    list_of(1, json_pack("[i,i,i,i,i,i,i,i,i,i]", 5, 4, 0, 0, 0, 0, 0, 0, 0, 0)));
}

static void something_else_than_totals_is_refused(void **state)
{
	struct totals read;
	struct error err = ERROR_INIT;
	json_t *json = json_array();

	assert_true(sample_totals_read(json, &read, &err) < 0);
	sample_totals_done(&read);
	json_decref(json);
	err = ERROR_INIT;
	assert_true(sample_totals_read(NULL, &read, &err) < 0);
	sample_totals_done(&read);
}

static void a_broken_class_is_named(void **state)
{
	struct totals totals, read;
	struct error err = ERROR_INIT;
	json_t *json;

	fill(&totals);
	json = sample_totals_write(&totals);
	json_object_set_new(json_array_get(json_object_get(json, "classes"), 1), "size_bytes",
			    json_integer(1ll << 40));
	assert_true(sample_totals_read(json, &read, &err) < 0);
	assert_non_null(strstr(err.text, "classes[1]"));
	assert_non_null(strstr(err.text, "size_bytes"));
	json_decref(json);
	sample_totals_done(&totals);
	sample_totals_done(&read);
}

static void progress_comes_back_from_json(void **state)
{
	struct progress progress = { .phase = PHASE_MEASURING,
				     .elapsed_ns = 3,
				     .total_ns = 10,
				     .operations = 7,
				     .last = { .start_ns = 1, .end_ns = 2, .bytes = 9 } };
	struct progress read = { 0 };
	struct error err = ERROR_INIT;
	json_t *json = sample_progress_write(&progress);

	assert_int_equal(sample_progress_read(json, &read, &err), 0);
	assert_int_equal(read.phase, PHASE_MEASURING);
	assert_int_equal(read.operations, 7);
	assert_int_equal(read.last.bytes, 9);
	read.phase = 77;
	json_object_set_new(json, "phase", json_string("sleeping"));
	assert_true(sample_progress_read(json, &read, &err) < 0);
	assert_int_equal(read.phase, 77);
	json_object_set_new(json, "phase", json_string("warmup"));
	json_object_del(json, "last");
	err = ERROR_INIT;
	assert_true(sample_progress_read(json, &read, &err) < 0);
	assert_int_equal(read.phase, 77);
	json_decref(json);
}

static void the_variation_is_that_of_whole_intervals(void **state)
{
	struct totals totals;
	double variation = 0;

	(void)state;
	fill(&totals);
	assert_true(sample_variation(&totals, &variation));
	assert_true(variation == 0);
	totals.intervals[0].operations = 90;
	totals.intervals[2].operations = 110;
	assert_true(sample_variation(&totals, &variation));
	assert_true(variation > 0.0999 && variation < 0.1001);
	/* One that was cut short says nothing of the rate. */
	totals.intervals[2].end_ns = totals.intervals[2].start_ns + 10;
	assert_false(sample_variation(&totals, &variation));
	totals.interval_count = 2;
	assert_false(sample_variation(&totals, &variation));
	sample_totals_done(&totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_come_back_from_json),
		cmocka_unit_test(empty_totals_come_back_empty),
		cmocka_unit_test(hostile_totals_are_refused),
		cmocka_unit_test(something_else_than_totals_is_refused),
		cmocka_unit_test(a_broken_class_is_named),
		cmocka_unit_test(progress_comes_back_from_json),
		cmocka_unit_test(the_variation_is_that_of_whole_intervals),
	};

	return cmocka_run_group_tests_name("sample", tests, NULL, NULL);
}
