// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "judge/expect.h"
#include "util/memory.h"
#include "util/text.h"

static struct measurement *new_measurement(void)
{
	struct measurement *m = memory_new(sizeof(*m));
	struct totals *totals = &m->initiator.totals;

	m->first_error = FAILURE_INIT;
	m->assignment.workload.qp.path_mtu = 1024;
	m->initiator.endpoint.gid_index = 1;
	for (int i = 0; i < 2; i++) {
		struct port *port = i ? &m->responder.port : &m->initiator.port;

		port->link_layer = LINK_LAYER_ETHERNET;
		port->link_rate_bps = i ? 100000000000 : 200000000000;
		port->gid_count = 1;
		port->gids[0] = (struct gid_entry){ .index = 1,
						    .type = GID_TYPE_ROCE_V2,
						    .gid = "::ffff:10.0.0.1" };
	}
	m->initiator.has_totals = true;
	totals->window_ns = 2000000000;
	totals->operations = 3000;
	totals->bytes = 2000 * 1000 + 1000 * 10;
	totals->class_count = 2;
	totals->classes = memory_new_array(2, sizeof(*totals->classes));
	totals->classes[0].class.kind = OPERATION_WRITE;
	totals->classes[0].completed = 2000;
	totals->classes[0].bytes = 2000 * 1000;
	totals->classes[1].class.kind = OPERATION_READ;
	totals->classes[1].completed = 1000;
	totals->classes[1].bytes = 1000 * 10;
	for (size_t i = 0; i < 2; i++) {
		histogram_reset(&totals->classes[i].latency);
		for (uint64_t v = 1; v <= 2000; v++) {
			histogram_add(&totals->classes[i].latency, v * 1000 + i * 10000000);
		}
	}
	totals->interval_count = 3;
	totals->intervals = memory_new_array(3, sizeof(*totals->intervals));
	totals->intervals[0] = (struct sample){ 0, 1000000000, 2000, 1000000, .errors = 0 };
	totals->intervals[1] = (struct sample){ 1000000000, 1900000000, 900, 900000, .errors = 0 };
	totals->intervals[2] = (struct sample){ 1900000000, 2000000000, 1, 1, .errors = 0 }; /* a
												rest
											      */
	return m;
}

static void free_measurement(struct measurement *m)
{
	sample_totals_done(&m->initiator.totals);
	free(m);
}

static const struct expectation_result *evaluate(struct measurement *m, const char *text)
{
	struct expectations *list = memory_new(sizeof(*list));
	const char *reason = expectation_parse(text, &list->items[0]);

	if (reason) {
		fail_msg("%s %s", text, reason);
	}
	list->count = 1;
	expect_evaluate(m, list);
	free(list);
	assert_int_equal(m->expectation_count, 1);
	return &m->expectations[0];
}

static void expect_outcome(struct measurement *m, const char *text, int outcome, double actual)
{
	const struct expectation_result *result = evaluate(m, text);

	if (result->outcome != outcome || !result->has_actual ||
	    fabs(result->actual - actual) > 0.005 * fabs(actual)) {
		fail_msg("%s: %s, actual %g (%s)", text, outcome_names[result->outcome],
			 result->actual, result->reason);
	}
}

static void expect_inconclusive(struct measurement *m, const char *text, const char *reason)
{
	const struct expectation_result *result = evaluate(m, text);

	assert_int_equal(result->outcome, OUTCOME_INCONCLUSIVE);
	if (!strstr(result->reason, reason)) {
		fail_msg("%s: \"%s\" is not in \"%s\"", text, reason, result->reason);
	}
}

/* The responder does half as much, in a window of its own. */
static void make_mutual(struct measurement *m)
{
	struct totals *totals = &m->responder.totals;

	m->assignment.workload.workload.direction = DIRECTION_BOTH;
	m->responder.has_totals = true;
	totals->window_ns = 1000000000;
	totals->operations = 500;
	totals->bytes = 500 * 1000;
	totals->class_count = 1;
	totals->classes = memory_new_array(1, sizeof(*totals->classes));
	totals->classes[0].class.kind = OPERATION_WRITE;
	totals->classes[0].posted = 500;
	totals->classes[0].completed = 500;
	totals->classes[0].bytes = 500 * 1000;
	histogram_reset(&totals->classes[0].latency);
	for (uint64_t v = 1; v <= 500; v++) {
		histogram_add(&totals->classes[0].latency, 50000000);
	}
	totals->interval_count = 1;
	totals->intervals = memory_new_array(1, sizeof(*totals->intervals));
	totals->intervals[0] = (struct sample){ 0, 1000000000, 500, 500000, .errors = 0 };
}

static void of_two_ends_that_post_the_sum_is_judged(void **state)
{
	struct measurement *m = new_measurement();

	(void)state;
	make_mutual(m);
	expect_outcome(m, "ops_rate.mean >= 2000/s", OUTCOME_MET, 2000);
	expect_outcome(m, "write.ops_rate.mean >= 2000/s", OUTCOME_MISSED, 1500);
	expect_outcome(m, "read.ops_rate.mean >= 500/s", OUTCOME_MET, 500);
	expect_outcome(m, "bandwidth.mean >= 1Mbps", OUTCOME_MET, 12040000);
	/* The first interval of each. */
	expect_outcome(m, "ops_rate.min >= 2500/s", OUTCOME_MET, 2500);
	expect_outcome(m, "write.latency.max <= 1ms", OUTCOME_MISSED, 50000000);
	expect_outcome(m, "errors == 0", OUTCOME_MET, 0);
	m->assignment.workload.workload.direction = DIRECTION_FORWARD;
	{
		double one = expect_ceiling_bps(m);

		m->assignment.workload.workload.direction = DIRECTION_BOTH;
		assert_true(expect_ceiling_bps(m) == 2 * one);
	}
	m->responder.totals.operations = 0;
	expect_inconclusive(m, "ops_rate.mean >= 1/s", "no operation completed");
	m->responder.has_totals = false;
	expect_inconclusive(m, "ops_rate.mean >= 1/s", "the responder sent no totals");
	sample_totals_done(&m->responder.totals);
	free_measurement(m);
}

static void latency_is_that_of_the_operation_or_of_all(void **state)
{
	struct measurement *m = new_measurement();

	expect_outcome(m, "write.latency.p50 <= 1010us", OUTCOME_MET, 1000000);
	expect_outcome(m, "write.latency.p99 <= 1ms", OUTCOME_MISSED, 1980000);
	expect_outcome(m, "write.latency.max <= 2ms", OUTCOME_MET, 2000000);
	expect_outcome(m, "write.latency.max < 2ms", OUTCOME_MISSED, 2000000);
	expect_outcome(m, "write.latency.min >= 1us", OUTCOME_MET, 1000);
	expect_outcome(m, "read.latency.mean <= 20ms", OUTCOME_MET, 11000500);
	expect_outcome(m, "latency.max > 11ms", OUTCOME_MET, 12000000);
	expect_outcome(m, "latency.p50 <= 3ms", OUTCOME_MET, 2000000);
	assert_int_equal(m->expectations[0].samples, 4000);
	free_measurement(m);
}

static void a_percentile_without_enough_samples_is_inconclusive(void **state)
{
	struct measurement *m = new_measurement();

	expect_inconclusive(m, "write.latency.p99.9 <= 1s", "2000 samples; p99.9 needs 10000");
	assert_false(m->expectations[0].has_actual);
	assert_int_equal(m->expectations[0].samples, 2000);
	histogram_reset(&m->initiator.totals.classes[1].latency);
	expect_inconclusive(m, "read.latency.max <= 1s", "no latency was sampled");
	expect_inconclusive(m, "send.latency.max <= 1s", "no latency was sampled");
	free_measurement(m);
}

static void means_of_rates_are_over_the_measured_window(void **state)
{
	struct measurement *m = new_measurement();

	expect_outcome(m, "bandwidth.mean >= 8Mbps", OUTCOME_MET, 8040000);
	expect_outcome(m, "bandwidth.mean >= 9Mbps", OUTCOME_MISSED, 8040000);
	expect_outcome(m, "write.bandwidth.mean >= 8Mbps", OUTCOME_MET, 8000000);
	expect_outcome(m, "ops_rate.mean > 1400/s", OUTCOME_MET, 1500);
	expect_outcome(m, "read.ops_rate.mean <= 500/s", OUTCOME_MET, 500);
	free_measurement(m);
}

static void minimum_and_maximum_are_of_whole_intervals(void **state)
{
	struct measurement *m = new_measurement();

	expect_outcome(m, "ops_rate.min >= 1000/s", OUTCOME_MET, 1000);
	expect_outcome(m, "ops_rate.max <= 2000/s", OUTCOME_MET, 2000);
	expect_outcome(m, "bandwidth.min >= 8Mbps", OUTCOME_MET, 8000000);
	m->initiator.totals.interval_count = 0;
	expect_inconclusive(m, "bandwidth.min >= 8Mbps", "no interval");
	free_measurement(m);
}

static void an_open_load_is_judged_by_what_came_late_or_not_at_all(void **state)
{
	struct measurement *m = new_measurement();
	struct totals *totals = &m->initiator.totals;
	uint64_t posted = 0;

	(void)state;
	expect_inconclusive(m, "service_latency.max <= 1s", "no latency was sampled");
	for (size_t i = 0; i < totals->class_count; i++) {
		struct class_totals *class = &totals->classes[i];

		class->posted = 1000;
		posted += class->posted;
		class->service = memory_new(sizeof(*class->service));
		histogram_reset(class->service);
		histogram_add(class->service, 1000 * (i + 1));
	}
	totals->late_operations = posted / 100;
	totals->dropped_operations = 3;
	expect_outcome(m, "late_ops.ratio <= 1%", OUTCOME_MET, 0.01);
	expect_outcome(m, "late_ops.ratio <= 0.9%", OUTCOME_MISSED, 0.01);
	expect_outcome(m, "dropped_ops == 0", OUTCOME_MISSED, 3);
	expect_outcome(m, "dropped_ops <= 3", OUTCOME_MET, 3);
	expect_outcome(m, "service_latency.min <= 1us", OUTCOME_MET, 1000);
	expect_outcome(m, "service_latency.max <= 1us", OUTCOME_MISSED,
		       1000 * (double)totals->class_count);
	free_measurement(m);
}

static void over_uc_what_arrived_is_judged(void **state)
{
	struct measurement *m = new_measurement();

	(void)state;
	m->assignment.workload.qp.qp_type = QP_TYPE_UC;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->initiator.totals.traffic_operations = 4000;
	m->responder.totals.receives = 3000;
	expect_inconclusive(m, "lost_ops == 0", "what the responder received is not known");
	m->responder.has_totals = true;
	expect_outcome(m, "lost_ops == 0", OUTCOME_MISSED, 1000);
	expect_outcome(m, "lost_ops.ratio <= 25%", OUTCOME_MET, 0.25);
	expect_outcome(m, "lost_ops.ratio < 25%", OUTCOME_MISSED, 0.25);
	/* A quarter of what was sent has no part in a rate. */
	expect_outcome(m, "ops_rate.mean >= 1125/s", OUTCOME_MET, 1125);
	expect_inconclusive(m, "ops_rate.max >= 1500/s", "of the whole run, not of its intervals");
	free_measurement(m);
}

static void errors_of_both_ends_are_counted(void **state)
{
	struct measurement *m = new_measurement();

	expect_outcome(m, "errors == 0", OUTCOME_MET, 0);
	m->responder.totals.errors = 2;
	expect_outcome(m, "errors == 0", OUTCOME_MISSED, 2);
	expect_outcome(m, "errors != 0", OUTCOME_MET, 2);
	free_measurement(m);
}

static void a_share_of_the_link_rate_is_of_the_lower_link_less_headers(void **state)
{
	struct measurement *m = new_measurement();

	/* 100 Gb/s, MTU 1024, 82 bytes around each packet */
	assert_true(fabs(expect_ceiling_bps(m) - 1e11 * 1024 / 1106) < 1);
	expect_outcome(m, "bandwidth.mean >= 90% of link_rate", OUTCOME_MISSED, 8040000);
	assert_true(fabs(m->expectations[0].limit - 0.9e11 * 1024 / 1106) < 1);
	m->initiator.port.gids[0].vlan = 5;
	assert_true(fabs(expect_ceiling_bps(m) - 1e11 * 1024 / 1110) < 1);
	text_copy(m->initiator.port.gids[0].gid, sizeof(m->initiator.port.gids[0].gid),
		  "2001:db8::1");
	assert_true(fabs(expect_ceiling_bps(m) - 1e11 * 1024 / 1130) < 1);
	m->initiator.port.link_layer = LINK_LAYER_INFINIBAND;
	m->assignment.workload.qp.path_mtu = 4096;
	assert_true(fabs(expect_ceiling_bps(m) - 1e11 * 4096 / 4122) < 1);
	/* A datagram is a packet, with 8 bytes more around it. */
	m->assignment.workload.qp.qp_type = QP_TYPE_UD;
	m->assignment.workload.workload.op_count = 1;
	m->assignment.workload.workload.ops[0] = (struct operation){
		.kind = OPERATION_SEND, .weight = 1, .size_count = 1, .sizes = { { 1000, 1 } }
	};
	assert_true(fabs(expect_ceiling_bps(m) - 1e11 * 1000 / 1034) < 1);
	m->responder.port.link_rate_bps = 0;
	assert_true(expect_ceiling_bps(m) == 0);
	expect_inconclusive(m, "bandwidth.mean >= 90% of link_rate", "link rate");
	free_measurement(m);
}

static void without_traffic_nothing_is_met(void **state)
{
	struct measurement *m = new_measurement();

	m->initiator.totals.operations = 0;
	expect_inconclusive(m, "bandwidth.mean >= 0bps", "no operation completed");
	expect_inconclusive(m, "write.latency.p50 <= 1s", "no operation completed");
	m->initiator.totals.operations = 1;
	m->initiator.totals.window_ns = 0;
	expect_inconclusive(m, "ops_rate.mean >= 0/s", "no operation completed");
	m->initiator.has_totals = false;
	expect_inconclusive(m, "errors == 0", "no totals");
	free_measurement(m);
}

static void after_an_error_only_the_count_of_errors_is_evidence(void **state)
{
	struct measurement *m = new_measurement();

	error_set(&m->first_error.error, -1, ERROR_DEVICE, "retry exceeded");
	m->initiator.totals.errors = 1;
	expect_inconclusive(m, "write.latency.p50 <= 1s", "ended early");
	assert_true(m->expectations[0].has_actual); /* still shown */
	expect_outcome(m, "errors == 0", OUTCOME_MISSED, 1);
	free_measurement(m);
}

static void evaluating_again_forgets_what_was(void **state)
{
	struct measurement *m = new_measurement();
	struct expectations *none = memory_new(sizeof(*none));

	expect_outcome(m, "errors == 0", OUTCOME_MET, 0);
	expect_evaluate(m, none);
	assert_int_equal(m->expectation_count, 0);
	free(none);
	free_measurement(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_ends_that_post_the_sum_is_judged),
		cmocka_unit_test(latency_is_that_of_the_operation_or_of_all),
		cmocka_unit_test(a_percentile_without_enough_samples_is_inconclusive),
		cmocka_unit_test(means_of_rates_are_over_the_measured_window),
		cmocka_unit_test(minimum_and_maximum_are_of_whole_intervals),
		cmocka_unit_test(an_open_load_is_judged_by_what_came_late_or_not_at_all),
		cmocka_unit_test(over_uc_what_arrived_is_judged),
		cmocka_unit_test(errors_of_both_ends_are_counted),
		cmocka_unit_test(a_share_of_the_link_rate_is_of_the_lower_link_less_headers),
		cmocka_unit_test(without_traffic_nothing_is_met),
		cmocka_unit_test(after_an_error_only_the_count_of_errors_is_evidence),
		cmocka_unit_test(evaluating_again_forgets_what_was),
	};

	return cmocka_run_group_tests_name("expect", tests, NULL, NULL);
}
