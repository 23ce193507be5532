// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "model/repeat.h"
#include "model/run.h"
#include "util/memory.h"
#include "util/text.h"

#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-3)

static void values_have_their_mean_and_interval(void **state)
{
	double values[] = { 12, 10, 14, 11, 13 };
	struct repeat_summary summary;

	(void)state;
	repeat_summarize(values, 5, &summary);
	assert_int_equal(summary.count, 5);
	CLOSE(summary.mean, 12);
	CLOSE(summary.median, 12);
	CLOSE(summary.min, 10);
	CLOSE(summary.max, 14);
	assert_true(summary.has_interval);
	/* s = 1.5811, s / sqrt(5) = 0.70711, t(4) = 2.776 */
	CLOSE(summary.low, 12 - 1.96294);
	CLOSE(summary.high, 12 + 1.96294);
}

static void two_values_have_a_wide_interval_and_one_has_none(void **state)
{
	double values[] = { 4, 2 };
	struct repeat_summary summary;

	(void)state;
	repeat_summarize(values, 2, &summary);
	CLOSE(summary.median, 3);
	CLOSE(summary.high - summary.low, 2 * 12.706);
	repeat_summarize(values, 1, &summary);
	CLOSE(summary.median, 2);
	assert_false(summary.has_interval);
}

static void many_values_have_the_quantile_of_no_fewer_degrees_than_theirs(void **state)
{
	double values[100];
	struct repeat_summary summary;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		values[i] = i % 2 ? 1 : -1;
	}
	repeat_summarize(values, 100, &summary);
	/* 99 degrees: the row of 60, which is the wider one; s = 1.00504 */
	CLOSE(summary.high, 2.000 * 1.00504 / 10);
}

/* Pairs 0 to 2 are one pair of ports, 3 is refused, 4 to 6 another one; in the order of their ends.
 */
static struct run *new_run(void)
{
	static const uint64_t pairs[] = { 4, 0, 3, 5, 1, 2, 6 };
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	scenario->workload.run.repeat = 3;
	run = run_new(scenario);
	free(scenario);
	run->state = RUN_DONE;
	for (size_t i = 0; i < 7; i++) {
		struct measurement *m = run_add_measurement(run);

		m->pair = pairs[i];
		if (m->pair == 3) {
			continue;
		}
		m->repeat_count = 3;
		m->repeat_index = m->pair % 4;
		text_copy(m->initiator.endpoint.node, LIMIT_NAME, m->pair < 3 ? "a" : "c");
		m->repeat_values = memory_new(sizeof(*m->repeat_values));
		for (size_t j = 0; j < REPEAT_VALUES; j++) {
			m->repeat_values->values[j] = (double)NAN;
		}
		m->repeat_values->values[REPEAT_BANDWIDTH] = 1e9 * (double)(m->pair + 1);
		m->repeat_values->values[REPEAT_P99 + OPERATION_READ] = 5000;
	}
	return run;
}

static const json_t *metric(const json_t *repeats, size_t pair, size_t index)
{
	return json_array_get(json_object_get(json_array_get(repeats, pair), "metrics"), index);
}

static void each_pair_has_its_entry_whatever_order_they_ended_in(void **state)
{
	struct run *run = new_run();
	json_t *repeats;

	(void)state;
	/* One ended in an error. */
	free(take(run->measurements[4]->repeat_values));
	repeats = repeat_write(run);
	assert_int_equal(json_array_size(repeats), 2);
	assert_string_equal(json_string_value(json_object_get(metric(repeats, 0, 0), "metric")),
			    "bandwidth");
	assert_int_equal(json_integer_value(json_object_get(metric(repeats, 0, 0), "count")), 2);
	CLOSE(json_real_value(json_object_get(metric(repeats, 0, 0), "mean")), 2e9);
	assert_int_equal(json_integer_value(json_object_get(metric(repeats, 1, 0), "count")), 3);
	CLOSE(json_real_value(json_object_get(metric(repeats, 1, 0), "mean")), 6e9);
	assert_string_equal(json_string_value(json_object_get(metric(repeats, 1, 1), "metric")),
			    "read.latency.p99");
	assert_null(metric(repeats, 1, 2));
	json_decref(repeats);
	run_free(run);
}

static void a_run_that_goes_on_or_repeats_nothing_has_none(void **state)
{
	struct run *run = new_run();
	json_t *repeats;

	(void)state;
	run->state = RUN_RUNNING;
	repeats = repeat_write(run);
	assert_int_equal(json_array_size(repeats), 0);
	json_decref(repeats);
	run->state = RUN_DONE;
	run->scenario->workload.run.repeat = 1;
	repeats = repeat_write(run);
	assert_int_equal(json_array_size(repeats), 0);
	json_decref(repeats);
	run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_their_mean_and_interval),
		cmocka_unit_test(two_values_have_a_wide_interval_and_one_has_none),
		cmocka_unit_test(many_values_have_the_quantile_of_no_fewer_degrees_than_theirs),
		cmocka_unit_test(each_pair_has_its_entry_whatever_order_they_ended_in),
		cmocka_unit_test(a_run_that_goes_on_or_repeats_nothing_has_none),
	};

	return cmocka_run_group_tests_name("repeat", tests, NULL, NULL);
}
