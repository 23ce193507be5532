// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/compat.h"
#include "util/memory.h"

#define SAMPLES 1000

static struct measurement *new_measurement(int pattern, int kind, uint64_t size_bytes)
{
	struct measurement *m = memory_new(sizeof(*m));
	struct totals *totals = &m->initiator.totals;

	m->assignment.workload.workload.pattern = pattern;
	m->initiator.has_totals = true;
	totals->window_ns = 2000000000;
	totals->operations = SAMPLES;
	totals->bytes = SAMPLES * size_bytes;
	totals->class_count = 1;
	totals->classes = memory_new_array(1, sizeof(*totals->classes));
	totals->classes[0].class =
		(struct operation_class){ .kind = kind, .size_bytes = size_bytes };
	totals->classes[0].completed = SAMPLES;
	histogram_reset(&totals->classes[0].latency);
	return m;
}

static void free_measurement(struct measurement *m)
{
	sample_totals_done(&m->initiator.totals);
	sample_totals_done(&m->responder.totals);
	free(m);
}

static double value(const json_t *perftest, const char *key)
{
	const json_t *json = json_object_get(perftest, key);

	if (!json_is_number(json)) {
		fail_msg("%s is no number", key);
	}
	return json_number_value(json);
}

static void expect_near(const json_t *perftest, const char *key, double expected, double tolerance)
{
	double is = value(perftest, key);

	if (fabs(is - expected) > tolerance * fabs(expected) + 1e-9) {
		fail_msg("%s is %g, and not %g", key, is, expected);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* As print_report_lat of perftest 6 does it, on samples in microseconds. */
static void expect_as_perftest(const json_t *perftest, uint64_t *samples_ns, size_t samples)
{
	size_t count = samples - 2;
	double sum = 0, squares = 0, average, median;

	qsort(samples_ns, samples, sizeof(*samples_ns), compare);
	for (size_t i = 0; i < count; i++) {
		sum += (double)samples_ns[i] / 1e3;
	}
	average = sum / (double)count;
	for (size_t i = 0; i < count; i++) {
		int whole = (int)(average - (double)samples_ns[i] / 1e3);

		squares += (double)(whole * whole);
	}
	median = (count - 1) % 2 ? (double)(samples_ns[count / 2] + samples_ns[count / 2 - 1]) / 2
				 : (double)samples_ns[count / 2];
	expect_near(perftest, "t_min_us", (double)samples_ns[0] / 1e3, 1e-5);
	expect_near(perftest, "t_max_us", (double)samples_ns[count] / 1e3, 1e-5);
	expect_near(perftest, "t_typical_us", median / 1e3, 0.005);
	expect_near(perftest, "t_avg_us", average, 1e-5);
	expect_near(perftest, "t_stdev_us", sqrt(squares / (double)count), 0.05);
	expect_near(perftest, "p99_us",
		    (double)samples_ns[(size_t)ceil((double)count * 0.99)] / 1e3, 0.005);
	expect_near(perftest, "p99_9_us",
		    (double)samples_ns[(size_t)ceil((double)count * 0.999)] / 1e3, 0.005);
}

static void latencies_are_those_of_perftest(void **state)
{
	static const size_t counts[] = { 4, 5, 100, 999, SAMPLES };

	(void)state;
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct measurement *m = new_measurement(PATTERN_PINGPONG, OPERATION_WRITE, 2);
		struct totals *totals = &m->initiator.totals;
		uint64_t samples_ns[SAMPLES];
		_cleanup_json_ json_t *compat = NULL;
		const json_t *perftest;

		for (size_t i = 0; i < counts[k]; i++) {
			/* A hyperbola: a bulk and a long tail, in no order. */
			uint64_t place = (i * 389) % counts[k];

			samples_ns[i] = 1000 + 4000000 / (1 + place);
			histogram_add(&totals->classes[0].latency, samples_ns[i]);
			slowest_add(&totals->slowest,
				    &(struct slow_operation){ .latency_ns = samples_ns[i] });
		}
		slowest_sort(&totals->slowest);
		compat = compat_write(m);
		perftest = json_object_get(compat, "perftest");
		assert_string_equal(json_string_value(json_object_get(perftest, "program")),
				    "ib_write_lat");
		expect_as_perftest(perftest, samples_ns, counts[k]);
		free_measurement(m);
	}
}

static void too_few_latencies_are_none(void **state)
{
	struct measurement *m = new_measurement(PATTERN_PINGPONG, OPERATION_READ, 2);
	_cleanup_json_ json_t *compat = NULL;
	const json_t *perftest;

	(void)state;
	compat = compat_write(m);
	perftest = json_object_get(compat, "perftest");
	assert_true(json_is_null(json_object_get(perftest, "t_typical_us")));
	assert_true(json_is_null(json_object_get(perftest, "p99_9_us")));
	assert_null(json_object_get(perftest, "bw_average_mib_s"));
	free_measurement(m);
}

static void bandwidth_is_in_its_units(void **state)
{
	struct measurement *m = new_measurement(PATTERN_STREAM, OPERATION_SEND, 65536);
	struct totals *totals = &m->initiator.totals;
	_cleanup_json_ json_t *compat = NULL;
	_cleanup_json_ json_t *both = NULL;
	const json_t *perftest;

	(void)state;
	totals->interval_count = 2;
	totals->intervals = memory_new_array(2, sizeof(*totals->intervals));
	totals->intervals[0] = (struct sample){ .end_ns = 1000000000, .bytes = 400 * 65536 };
	totals->intervals[1] = (struct sample){ .start_ns = 1000000000,
						.end_ns = 2000000000,
						.bytes = 600 * 65536 };
	compat = compat_write(m);
	perftest = json_object_get(compat, "perftest");
	assert_string_equal(json_string_value(json_object_get(perftest, "program")), "ib_send_bw");
	expect_near(perftest, "bw_average_mib_s", 31.25, 1e-5);
	expect_near(perftest, "bw_average_gb_s", 0.262144, 1e-5);
	expect_near(perftest, "bw_best_interval_mib_s", 37.5, 1e-5);
	expect_near(perftest, "msg_rate_mpps", 0.0005, 1e-5);
	assert_true(value(perftest, "bw_peak_mib_s") == 0);
	assert_true(value(perftest, "iterations") == SAMPLES);
	assert_null(json_object_get(perftest, "t_avg_us"));
	/* -b: each end by its own window. */
	m->assignment.workload.workload.direction = DIRECTION_BOTH;
	assert_null(compat_write(m));
	m->responder.has_totals = true;
	m->responder.totals.window_ns = 1000000000;
	m->responder.totals.operations = SAMPLES;
	m->responder.totals.bytes = SAMPLES * 65536;
	m->responder.totals.class_count = 1;
	m->responder.totals.classes = memory_new_array(1, sizeof(*m->responder.totals.classes));
	both = compat_write(m);
	perftest = json_object_get(both, "perftest");
	expect_near(perftest, "bw_average_mib_s", 93.75, 1e-5);
	expect_near(perftest, "msg_rate_mpps", 0.0015, 1e-5);
	assert_true(json_is_true(json_object_get(perftest, "is_bidirectional")));
	free_measurement(m);
}

static void what_no_program_of_perftest_does_is_none(void **state)
{
	struct measurement *m = new_measurement(PATTERN_REQUEST_RESPONSE, OPERATION_SEND, 64);

	(void)state;
	assert_null(compat_write(m));
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->assignment.workload.workload.load.model = LOAD_OPEN;
	assert_null(compat_write(m));
	m->assignment.workload.workload.load.model = LOAD_CLOSED;
	m->initiator.totals.operations = 0;
	assert_null(compat_write(m));
	m->initiator.totals.operations = 1;
	m->initiator.has_totals = false;
	assert_null(compat_write(m));
	free_measurement(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latencies_are_those_of_perftest),
		cmocka_unit_test(too_few_latencies_are_none),
		cmocka_unit_test(bandwidth_is_in_its_units),
		cmocka_unit_test(what_no_program_of_perftest_does_is_none),
	};

	return cmocka_run_group_tests_name("compat", tests, NULL, NULL);
}
