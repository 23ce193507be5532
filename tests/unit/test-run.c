// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "model/run.h"
#include "model/run_record.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

static struct scenario *new_scenario(void)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));

	schema_defaults(scenario_fields, scenario);
	text_copy(scenario->name, sizeof(scenario->name), "mixed");
	scenario->workload.workload.pattern = PATTERN_STREAM;
	scenario->workload.workload.op_count = 1;
	scenario->workload.workload.ops[0] =
		(struct operation){ .kind = OPERATION_WRITE,
				    .weight = 1,
				    .size_count = 2,
				    .sizes = { { 64, 1 }, { 4096, 1 } } };
	workload_complete(&scenario->workload);
	return scenario;
}

static void fill_totals(struct participant *end)
{
	struct totals *totals = &end->totals;

	end->has_totals = true;
	totals->window_ns = 2000000000;
	totals->class_count = 3;
	totals->classes = memory_new_array(3, sizeof(*totals->classes));
	totals->classes[0].class = (struct operation_class){ OPERATION_WRITE, true, 64, 1 };
	totals->classes[1].class = (struct operation_class){ OPERATION_WRITE, false, 4096, 1 };
	totals->classes[2].class = (struct operation_class){ OPERATION_READ, false, 8, 1 };
	for (size_t i = 0; i < 3; i++) {
		struct class_totals *class = &totals->classes[i];

		histogram_reset(&class->latency);
		for (uint64_t v = 0; v < 1000; v++) {
			histogram_add(&class->latency, 1000 * (i + 1) + v);
		}
		class->posted = 1001;
		class->completed = 1000;
		class->bytes = class->class.size_bytes * 1000;
		totals->operations += class->completed;
		totals->bytes += class->bytes;
	}
	totals->is_half_round_trip[OPERATION_WRITE] = true;
	totals->interval_count = 2;
	totals->intervals = memory_new_array(2, sizeof(*totals->intervals));
	totals->intervals[0] =
		(struct sample){ .end_ns = 1000000000, .operations = 2000, .bytes = 250 };
	totals->intervals[1] = (struct sample){ .start_ns = 1000000000, .end_ns = 1000000000 };
	text_copy(totals->clock, sizeof(totals->clock), "virtual");
}

static struct run *new_run(void)
{
	struct scenario *scenario = new_scenario();
	struct run *run = run_new(scenario);
	struct measurement *measurement = run_add_measurement(run);

	free(scenario);
	text_copy(run->id, sizeof(run->id), "01J8Z3R6000000000000000000");
	text_copy(run->coordinator, sizeof(run->coordinator), "a");
	run->state = RUN_DONE;
	run->queued_real_ns = 1788264000000000000;
	run->started_real_ns = 1788264000000000001;
	run->ended_real_ns = 1788264012000000001;
	run->verdict = VERDICT_PASS;
	run->counts[VERDICT_PASS] = 1;
	measurement->verdict = VERDICT_PASS;
	measurement->started_real_ns = run->started_real_ns;
	measurement->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	measurement->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	measurement->assignment.workload = run->scenario->workload;
	measurement->initiator.info = memory_new(sizeof(struct endpoint_info));
	measurement->initiator.info->qp_count = 1;
	measurement->initiator.info->qps[0].qp_num = 0x11;
	fill_totals(&measurement->initiator);
	return run;
}

static json_t *path(json_t *json, const char *dotted)
{
	char copy[128], *rest = copy, *word;

	text_copy(copy, sizeof(copy), dotted);
	while ((word = strsep(&rest, "."))) {
		json = word[0] >= '0' && word[0] <= '9'
			       ? json_array_get(json, (size_t)(word[0] - '0'))
			       : json_object_get(json, word);
		if (!json) {
			fail_msg("%s: no %s", dotted, word);
		}
	}
	return json;
}

static void expect_integer(json_t *json, const char *dotted, json_int_t value)
{
	json_t *found = path(json, dotted);

	if (!json_is_integer(found) || json_integer_value(found) != value) {
		fail_msg("%s is not %lld", dotted, (long long)value);
	}
}

static void expect_word(json_t *json, const char *dotted, const char *value)
{
	assert_string_equal(json_string_value(path(json, dotted)), value);
}

static void expect_number(json_t *json, const char *dotted, double value)
{
	double found = json_number_value(path(json, dotted));

	if (fabs(found - value) > fabs(value) * 1e-5) {
		fail_msg("%s is %g, not %g", dotted, found, value);
	}
}

static void the_record_of_a_run_holds_context_verdict_and_measurements(void **state)
{
	struct run *run = new_run();
	json_t *json = run_write(run, false);

	expect_word(json, "schema", "rdmatestd.run");
	expect_integer(json, "schema_version", 1);
	expect_word(json, "id", "01J8Z3R6000000000000000000");
	expect_word(json, "scenario", "mixed");
	expect_word(json, "verdict", "pass");
	expect_word(json, "started_at", "2026-09-01T12:00:00.000000001Z");
	expect_integer(json, "duration_ns", 12000000000);
	expect_integer(json, "counts.pass", 1);
	expect_integer(json, "counts.fail", 0);
	expect_word(json, "plan.pattern", "stream");
	expect_integer(json, "plan.ops.0.sizes.1.size_bytes", 4096);
	assert_true(json_is_null(path(json, "plan.iterations")));
	assert_true(json_is_null(path(json, "error")));
	expect_word(json, "measurements.0.initiator.node", "a");
	expect_integer(json, "measurements.0.initiator.prepared.first_qp_num", 0x11);
	assert_true(json_is_null(path(json, "measurements.0.responder.prepared")));
	assert_true(json_is_null(path(json, "measurements.0.responder.traffic")));
	expect_integer(json, "measurements.0.completed", 3000);
	/* (64 + 4096 + 8) x 1000 bytes in 2 s */
	expect_number(json, "measurements.0.bandwidth_bps", 16672000);
	expect_number(json, "measurements.0.ops_per_s", 1500);
	json_decref(json);
	run_free(run);
}

static void operations_come_by_size_by_operation_and_all_together(void **state)
{
	struct run *run = new_run();
	json_t *json = run_write(run, false);
	json_t *operations = path(json, "measurements.0.operations");

	assert_int_equal(json_array_size(operations), 5);
	expect_word(operations, "0.scope", "size");
	expect_integer(operations, "0.size_bytes", 64);
	expect_word(operations, "2.op", "read");
	/* write has two sizes, read has one */
	expect_word(operations, "3.scope", "operation");
	expect_word(operations, "3.op", "write");
	expect_integer(operations, "3.completed", 2000);
	assert_true(json_is_null(path(operations, "3.size_bytes")));
	expect_word(operations, "3.latency.definition", "half_round_trip");
	expect_word(operations, "4.scope", "all");
	expect_word(operations, "4.latency.definition", "mixed");
	expect_integer(operations, "4.latency.count", 3000);
	expect_integer(operations, "4.latency.min_ns", 1000);
	expect_integer(operations, "4.latency.max_ns", 3999);
	assert_true(json_is_null(path(operations, "4.latency.buckets")));
	json_decref(json);
	run_free(run);
}

static void percentiles_need_enough_samples(void **state)
{
	struct run *run = new_run();
	json_t *json = run_write(run, true);
	json_t *percentiles = path(json, "measurements.0.operations.0.latency.percentiles");

	assert_int_equal(json_array_size(percentiles), 6);
	expect_word(percentiles, "2.p", "99");
	expect_number(percentiles, "0.value_ns", 1499);
	assert_true(json_is_null(path(percentiles, "0.reason")));
	expect_word(percentiles, "3.p", "99.9");
	assert_true(json_is_null(path(percentiles, "3.value_ns")));
	expect_word(percentiles, "3.reason", "insufficient_samples");
	/* with histograms: [lowest_ns, count], adding up */
	json_int_t total = 0;
	json_t *buckets = path(json, "measurements.0.operations.0.latency.buckets"), *bucket;
	size_t i;

	json_array_foreach(buckets, i, bucket) {
		total += json_integer_value(json_array_get(bucket, 1));
	}
	assert_int_equal(total, 1000);
	json_decref(json);
	run_free(run);
}

static void expect_keys(const json_t *a, const json_t *b, const char *place)
{
	const char *key;
	json_t *value;
	void *other = json_object_iter((json_t *)b);

	json_object_foreach((json_t *)a, key, value) {
		if (!other || strcmp(json_object_iter_key(other), key) != 0) {
			fail_msg("%s: key %s differs", place, key);
		}
		other = json_object_iter_next((json_t *)b, other);
	}
	assert_null(other);
}

static void a_failed_run_has_the_same_keys_and_no_numbers_it_does_not_know(void **state)
{
	struct run *good = new_run();
	struct scenario *scenario = new_scenario();
	struct run *bad = run_new(scenario);
	struct measurement *m = run_add_measurement(bad);
	json_t *a, *b;
	struct text out = TEXT_INIT;

	free(scenario);
	error_set(&m->first_error.error, -1, ERROR_PEER, "gone");
	a = run_write(good, false);
	b = run_write(bad, false);
	expect_keys(a, b, "run");
	expect_keys(path(a, "measurements.0"), path(b, "measurements.0"), "measurement");
	expect_keys(path(a, "measurements.0.initiator"), path(b, "measurements.0.initiator"),
		    "initiator");
	assert_true(json_is_null(path(b, "verdict")));
	assert_true(json_is_null(path(b, "started_at")));
	assert_true(json_is_null(path(b, "duration_ns")));
	assert_true(json_is_null(path(b, "measurements.0.window_ns")));
	assert_true(json_is_null(path(b, "measurements.0.bandwidth_bps")));
	assert_true(json_is_null(path(b, "measurements.0.end")));
	assert_int_equal(json_array_size(path(b, "measurements.0.operations")), 0);
	expect_word(b, "measurements.0.first_error.class", "peer");
	json_write(b, &out);
	assert_null(strstr(out.data, "nan"));
	assert_null(strstr(out.data, "inf\""));
	text_done(&out);
	json_decref(a);
	json_decref(b);
	run_free(good);
	run_free(bad);
}

static void an_interval_without_length_has_no_rate(void **state)
{
	struct run *run = new_run();
	json_t *json = run_write(run, false);

	expect_number(json, "measurements.0.intervals.0.ops_per_s", 2000);
	expect_number(json, "measurements.0.intervals.0.bandwidth_bps", 2000);
	assert_true(json_is_null(path(json, "measurements.0.intervals.1.ops_per_s")));
	assert_true(json_is_null(path(json, "measurements.0.intervals.0.latency_p99_ns")));
	json_decref(json);
	run_free(run);
}

static void expect_percentiles(uint64_t count, bool has_p50, bool has_p99)
{
	const struct sample sample = { .end_ns = 1000,
				       .operations = count,
				       .latency_count = count,
				       .latency_min_ns = 5,
				       .latency_p50_ns = 6,
				       .latency_p99_ns = 7,
				       .latency_max_ns = 8 };
	_cleanup_json_ json_t *json = run_record_interval(&sample);

	assert_int_equal(json_is_null(path(json, "latency_p50_ns")), !has_p50);
	assert_int_equal(json_is_null(path(json, "latency_p99_ns")), !has_p99);
	/* They are exact, however few there are. */
	assert_int_equal(json_is_null(path(json, "latency_min_ns")), count == 0);
	assert_int_equal(json_is_null(path(json, "latency_max_ns")), count == 0);
	if (has_p50) {
		expect_number(json, "latency_p50_ns", 6);
	}
	if (has_p99) {
		expect_number(json, "latency_p99_ns", 7);
	}
}

static void an_interval_shows_no_percentile_of_too_few_latencies(void **state)
{
	(void)state;
	expect_percentiles(0, false, false);
	expect_percentiles(1, false, false);
	expect_percentiles(19, false, false);
	expect_percentiles(20, true, false);
	expect_percentiles(999, true, false);
	expect_percentiles(1000, true, true);
}

static void expectations_are_shown_with_actual_limit_and_reason(void **state)
{
	struct run *run = new_run();
	struct measurement *m = run->measurements[0];
	json_t *json;

	m->expectation_count = 2;
	assert_null(expectation_parse("write.latency.p99 <= 5ms", &m->expectations[0].expectation));
	m->expectations[0].has_actual = true;
	m->expectations[0].actual = 1234567.8;
	m->expectations[0].limit = 5e6;
	m->expectations[0].samples = 2000;
	assert_null(expectation_parse("errors == 0", &m->expectations[1].expectation));
	m->expectations[1].outcome = OUTCOME_INCONCLUSIVE;
	m->expectations[1].expectation.severity = SEVERITY_WARN;
	text_copy(m->expectations[1].reason, sizeof(m->expectations[1].reason), "no totals");
	json = run_write(run, false);
	expect_word(json, "measurements.0.expect.0.outcome", "ok");
	expect_word(json, "measurements.0.expect.0.unit", "ns");
	expect_number(json, "measurements.0.expect.0.actual", 1234570);
	assert_true(json_is_null(path(json, "measurements.0.expect.0.reason")));
	assert_true(json_is_null(path(json, "measurements.0.expect.1.actual")));
	expect_word(json, "measurements.0.expect.1.outcome", "inconclusive");
	expect_word(json, "measurements.0.expect.1.severity", "warn");
	expect_word(json, "measurements.0.expect.1.reason", "no totals");
	json_decref(json);
	run_free(run);
}

static void the_same_run_is_written_byte_for_byte_the_same(void **state)
{
	struct run *a = new_run(), *b = new_run();
	struct text text_a = TEXT_INIT, text_b = TEXT_INIT;
	json_t *json_a = run_write(a, true), *json_b = run_write(b, true);

	json_write(json_a, &text_a);
	json_write(json_b, &text_b);
	assert_string_equal(text_a.data, text_b.data);
	json_decref(json_a);
	json_decref(json_b);
	text_done(&text_a);
	text_done(&text_b);
	run_free(a);
	run_free(b);
}

static void measured_numbers_have_six_significant_digits(void **state)
{
	json_t *json = json_object();
	struct text out = TEXT_INIT;

	run_record_set_real(json, "a", 402123456.789);
	run_record_set_real(json, "b", 1.0 / 3);
	run_record_set_real(json, "c", NAN);
	run_record_set_real(json, "d", INFINITY);
	run_record_set_real(json, "e", 0);
	json_write(json, &out);
	assert_string_equal(out.data,
			    "{\"a\":402123000.0,\"b\":0.333333,\"c\":null,\"d\":null,\"e\":0.0}");
	json_decref(json);
	text_done(&out);
}

static void a_line_of_the_list_names_the_most_telling_finding(void **state)
{
	struct run *run = new_run();
	struct measurement *second = run_add_measurement(run);
	json_t *json = run_write_summary(run);

	assert_true(json_is_null(path(json, "first_finding")));
	expect_integer(json, "measurements", 2);
	json_decref(json);

	finding_add(&run->measurements[0]->findings, FINDING_HOST_STARVED, CONFIDENCE_POSSIBLE,
		    NULL, "busy");
	finding_add(&second->findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN, NULL, "lost");
	second->verdict = VERDICT_FAIL;
	json = run_write_summary(run);
	expect_word(json, "first_finding.code", "RDT-0107");
	expect_word(json, "first_finding.text", "lost");
	assert_true(json_is_null(path(json, "first_finding.against")));
	json_decref(json);

	finding_add(&run->findings, FINDING_RUN_ABORTED, CONFIDENCE_CERTAIN, NULL, "stopped");
	json = run_write_summary(run);
	expect_word(json, "first_finding.code", "RDT-0116");
	json_decref(json);
	run_free(run);
}

static void freeing_takes_nothing_and_half_built_runs(void **state)
{
	struct scenario *scenario = new_scenario();
	struct run *run = run_new(scenario);

	run_free(NULL);
	run_free(run);
	run = run_new(scenario);
	run_add_measurement(run);
	run_add_measurement(run);
	assert_int_equal(run->measurements[1]->pair, 1);
	assert_int_equal(run->measurements[1]->responder.failure.operation, -1);
	run_free(run);
	free(scenario);
}

/* The clock of the day may be set while a run goes on: how long it took is measured by another. */
static void an_end_is_later_than_its_begin_by_what_it_took(void **state)
{
	int64_t day_ago_ns = clock_real_ns() - 86400000000000;
	uint64_t began_mono_ns = clock_mono_ns() - 5000000;
	int64_t ended_ns = run_end_real_ns(day_ago_ns, began_mono_ns);

	assert_true(ended_ns - day_ago_ns >= 5000000);
	assert_true(ended_ns < day_ago_ns + 43200000000000);
	assert_true(run_end_real_ns(0, 0) > day_ago_ns + 43200000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_is_later_than_its_begin_by_what_it_took),
		cmocka_unit_test(the_record_of_a_run_holds_context_verdict_and_measurements),
		cmocka_unit_test(operations_come_by_size_by_operation_and_all_together),
		cmocka_unit_test(percentiles_need_enough_samples),
		cmocka_unit_test(a_failed_run_has_the_same_keys_and_no_numbers_it_does_not_know),
		cmocka_unit_test(an_interval_without_length_has_no_rate),
		cmocka_unit_test(an_interval_shows_no_percentile_of_too_few_latencies),
		cmocka_unit_test(expectations_are_shown_with_actual_limit_and_reason),
		cmocka_unit_test(the_same_run_is_written_byte_for_byte_the_same),
		cmocka_unit_test(measured_numbers_have_six_significant_digits),
		cmocka_unit_test(a_line_of_the_list_names_the_most_telling_finding),
		cmocka_unit_test(freeing_takes_nothing_and_half_built_runs),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
