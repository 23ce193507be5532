// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "judge/judgement.h"
#include "util/memory.h"
#include "util/text.h"

static struct failure failure_of(enum error_class class, enum error_stage stage, const char *call,
				 enum error_kind kind, int number)
{
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -1, class, "it went wrong");
	failure.error.stage = stage;
	failure.error.kind = kind;
	failure.error.number = number;
	text_copy(failure.error.call, sizeof(failure.error.call), call);
	return failure;
}

/* A run of one measurement that went well. */
static struct run *new_run(void)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;
	struct measurement *m;

	schema_defaults(scenario_fields, scenario);
	run = run_new(scenario);
	free(scenario);
	m = run_add_measurement(run);
	m->initiator.has_totals = true;
	m->initiator.totals.window_ns = 1000000000;
	m->initiator.totals.operations = 1000;
	m->initiator.totals.bytes = 1000000;
	return run;
}

static void expect(struct run *run, const char *text, int severity)
{
	struct expectation *item = &run->scenario->expect.items[run->scenario->expect.count++];

	assert_null(expectation_parse(text, item));
	item->severity = severity;
}

static void judge(struct run *run, enum verdict verdict)
{
	judgement_complete(run);
	if (run->measurements[0]->verdict != (int)verdict) {
		fail_msg("measurement: %s, not %s", verdict_names[run->measurements[0]->verdict],
			 verdict_names[verdict]);
	}
	assert_int_equal(run->verdict, verdict);
	assert_int_equal(run->counts[verdict], 1);
	/* what did not pass says why */
	if (verdict != VERDICT_PASS) {
		assert_true(run->measurements[0]->findings.count > 0);
	}
	run_free(run);
}

static void a_whole_measurement_without_expectations_passes(void **state)
{
	judge(new_run(), VERDICT_PASS);
}

static void zero_completed_operations_never_pass(void **state)
{
	struct run *run = new_run();

	run->measurements[0]->initiator.totals.operations = 0;
	expect(run, "errors == 0", SEVERITY_FAIL);
	judge(run, VERDICT_INCONCLUSIVE);
}

static void absent_totals_never_pass(void **state)
{
	struct run *run = new_run();

	run->measurements[0]->initiator.has_totals = false;
	judge(run, VERDICT_INCONCLUSIVE);
}

static void traffic_that_ended_otherwise_never_passes(void **state)
{
	static const int ends[] = { END_STOPPED, END_STALLED, END_ERROR, END_DEADLINE };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct run *run = new_run();

		run->measurements[0]->initiator.totals.end = ends[i];
		judge(run, VERDICT_INCONCLUSIVE);
	}
}

static void the_class_of_the_first_error_decides(void **state)
{
	static const struct {
		enum error_class class;
		enum error_stage stage;
		const char *call;
		enum error_kind kind;
		int number;
		enum verdict verdict;
	} rows[] = {
		{ ERROR_PEER, STAGE_RUN, "session", 0, 0, VERDICT_INCONCLUSIVE },
		{ ERROR_PEER, STAGE_DISCOVER, "connect", 0, 0, VERDICT_INCONCLUSIVE },
		{ ERROR_PEER, STAGE_DISCOVER, "tls", 0, 0, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_DISCOVER, "hello", 0, 0, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_DISCOVER, "hello", ERROR_KIND_ERRNO, EPROTONOSUPPORT,
		  VERDICT_ERROR },
		{ ERROR_PEER, STAGE_DISCOVER, "hello", ERROR_KIND_ERRNO, EBADMSG, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_DISCOVER, "hello", ERROR_KIND_ERRNO, ETIMEDOUT,
		  VERDICT_INCONCLUSIVE },
		{ ERROR_PEER, STAGE_DISCOVER, "tls", ERROR_KIND_ERRNO, EKEYREJECTED,
		  VERDICT_ERROR },
		{ ERROR_PEER, STAGE_DISCOVER, "tls", ERROR_KIND_ERRNO, ECONNRESET,
		  VERDICT_INCONCLUSIVE },
		{ ERROR_INPUT, STAGE_RESOURCE, "assignment", 0, 0, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_RUN, "message", 0, 0, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_RESOURCE, "permit", 0, 0, VERDICT_ERROR },
		{ ERROR_PEER, STAGE_RESOURCE, "busy", 0, 0, VERDICT_INCONCLUSIVE },
		{ ERROR_PEER, STAGE_RUN, "", 0, 0, VERDICT_INCONCLUSIVE },
		{ ERROR_DEVICE, STAGE_DISCOVER, "device", 0, 0, VERDICT_ERROR },
		{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 12, VERDICT_FAIL },
		{ ERROR_DEVICE, STAGE_RUN, "stall", 0, 0, VERDICT_FAIL },
		{ ERROR_DEVICE, STAGE_RUN, "deadline", 0, 0, VERDICT_ERROR },
		{ ERROR_DEVICE, STAGE_CONNECT, "deadline", 0, 0, VERDICT_ERROR },
		{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, ETIMEDOUT,
		  VERDICT_FAIL },
		{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, EINVAL,
		  VERDICT_ERROR },
		{ ERROR_DEVICE, STAGE_CONNECT, "rdma_connect", ERROR_KIND_ERRNO, ETIMEDOUT,
		  VERDICT_FAIL },
		{ ERROR_DEVICE, STAGE_RESOLVE, "rdma_resolve_addr", ERROR_KIND_ERRNO, ETIMEDOUT,
		  VERDICT_FAIL },
		{ ERROR_DEVICE, STAGE_RESOLVE, "rdma_resolve_addr", ERROR_KIND_ERRNO, ENODEV,
		  VERDICT_ERROR },
		{ ERROR_PEER, STAGE_CONNECT, "rdma_connect", ERROR_KIND_CM_REJECT, 28,
		  VERDICT_INCONCLUSIVE },
		{ ERROR_DEVICE, STAGE_CONNECT, "rdma_connect", ERROR_KIND_CM_REJECT, ETIMEDOUT,
		  VERDICT_ERROR },
		{ ERROR_DEVICE, STAGE_RESOURCE, "ibv_create_qp", ERROR_KIND_ERRNO, EOPNOTSUPP,
		  VERDICT_UNSUPPORTED },
		{ ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr", ERROR_KIND_ERRNO, ENOMEM,
		  VERDICT_ERROR },
		{ ERROR_INPUT, STAGE_RESOURCE, "limit", 0, 0, VERDICT_ERROR },
		{ ERROR_INPUT, STAGE_CONFIG, "", 0, 0, VERDICT_ERROR },
		{ ERROR_INPUT, STAGE_RUN, "abort", 0, 0, VERDICT_INCONCLUSIVE },
		{ ERROR_RESOURCE, STAGE_RUN, "starved", ERROR_KIND_ERRNO, EBUSY,
		  VERDICT_INCONCLUSIVE },
		{ ERROR_BUG, STAGE_RUN, "session", 0, 0, VERDICT_ERROR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct run *run = new_run();
		struct failure failure = failure_of(rows[i].class, rows[i].stage, rows[i].call,
						    rows[i].kind, rows[i].number);

		assert_int_equal(judgement_of_failure(&failure), rows[i].verdict);
		run->measurements[0]->initiator.failure = failure;
		/* a limit that would have been met moves nothing */
		expect(run, "ops_rate.mean > 1/s", SEVERITY_FAIL);
		judge(run, rows[i].verdict);
	}
}

static void a_missed_expectation_fails_or_degrades_by_its_severity(void **state)
{
	struct run *run = new_run();

	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
	run = new_run();
	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_WARN);
	judge(run, VERDICT_DEGRADED);
	run = new_run();
	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_WARN);
	expect(run, "ops_rate.mean >= 2M/s", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
	run = new_run();
	expect(run, "ops_rate.mean >= 999/s", SEVERITY_FAIL);
	judge(run, VERDICT_PASS);
}

static void an_expectation_that_cannot_be_judged_is_inconclusive(void **state)
{
	struct run *run = new_run();

	expect(run, "latency.p99 <= 1s", SEVERITY_FAIL);
	judge(run, VERDICT_INCONCLUSIVE);
	/* a miss beside it is worse */
	run = new_run();
	expect(run, "latency.p99 <= 1s", SEVERITY_FAIL);
	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
}

static void starve(struct run *run, uint64_t share_percent)
{
	run->measurements[0]->initiator.totals.worker_cpu_ns = share_percent * 10000000;
}

static void a_starved_host_makes_misses_inconclusive_and_leaves_a_pass(void **state)
{
	struct run *run = new_run();

	starve(run, 50);
	judge(run, VERDICT_PASS);
	run = new_run();
	starve(run, 50);
	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_FAIL);
	judge(run, VERDICT_INCONCLUSIVE);
	/* only possibly starved: the miss stands */
	run = new_run();
	starve(run, 95);
	expect(run, "ops_rate.mean >= 1M/s", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
	/* errors are errors on any host */
	run = new_run();
	starve(run, 50);
	run->measurements[0]->initiator.totals.errors = 1;
	expect(run, "errors == 0", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
}

static void lose(struct run *run, uint64_t received)
{
	struct measurement *m = run->measurements[0];

	m->assignment.workload.qp.qp_type = QP_TYPE_UC;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->initiator.totals.traffic_operations = 1000;
	m->responder.has_totals = true;
	m->responder.totals.end = END_STOPPED;
	m->responder.totals.receives = received;
}

/* What comes one way makes no path of the other. */
static void of_two_ways_each_must_let_something_through(void **state)
{
	(void)state;
	for (int lost = 0; lost < 3; lost++) {
		struct run *run = new_run();
		struct measurement *m = run->measurements[0];

		lose(run, 1000);
		m->assignment.workload.workload.direction = DIRECTION_BOTH;
		m->responder.totals.end = m->initiator.totals.end;
		m->responder.totals.operations = 100;
		m->responder.totals.traffic_operations = 1000;
		m->initiator.totals.receives = lost == 0 ? 1000 : lost == 1 ? 999 : 0;
		judge(run, lost == 0 ? VERDICT_PASS : lost == 1 ? VERDICT_DEGRADED : VERDICT_FAIL);
	}
}

static void the_responder_of_two_ends_that_post_must_have_measured(void **state)
{
	struct run *run = new_run();
	struct measurement *m = run->measurements[0];

	(void)state;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->assignment.workload.workload.direction = DIRECTION_BOTH;
	judge(run, VERDICT_INCONCLUSIVE);
}

static void
what_did_not_arrive_degrades_unless_it_may_be_lost_and_nothing_at_all_fails(void **state)
{
	struct run *run = new_run();

	(void)state;
	lose(run, 1000);
	judge(run, VERDICT_PASS);
	run = new_run();
	lose(run, 990);
	judge(run, VERDICT_DEGRADED);
	run = new_run();
	lose(run, 990);
	expect(run, "lost_ops.ratio <= 1%", SEVERITY_FAIL);
	judge(run, VERDICT_PASS);
	run = new_run();
	lose(run, 980);
	expect(run, "lost_ops.ratio <= 1%", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
	run = new_run();
	lose(run, 0);
	judge(run, VERDICT_FAIL);
	/* Whatever somebody allowed. */
	run = new_run();
	lose(run, 0);
	expect(run, "lost_ops.ratio <= 100%", SEVERITY_FAIL);
	judge(run, VERDICT_FAIL);
}

static void only_a_receiver_that_was_short_of_cpu_excuses_a_loss(void **state)
{
	(void)state;
	for (int is_receiver = 0; is_receiver < 2; is_receiver++) {
		for (int has_limit = 0; has_limit < 2; has_limit++) {
			struct run *run = new_run();
			struct measurement *m = run->measurements[0];
			struct totals *totals = is_receiver ? &m->responder.totals
							    : &m->initiator.totals;

			lose(run, 900);
			totals->window_ns = 1000000000;
			totals->worker_cpu_ns = 500000000;
			if (has_limit) {
				expect(run, "lost_ops.ratio <= 1%", SEVERITY_FAIL);
			}
			judge(run, is_receiver ? VERDICT_INCONCLUSIVE
				   : has_limit ? VERDICT_FAIL
					       : VERDICT_DEGRADED);
		}
	}
}

/* Payload that was verified at both ends, and what was wrong with it. */
static struct run *verified_run(int qp_type, struct verification found)
{
	struct run *run = new_run();
	struct measurement *m = run->measurements[0];

	m->assignment.workload.qp.qp_type = qp_type;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->assignment.workload.workload.verify.method = VERIFY_SEQUENCE;
	m->initiator.totals.has_verification = true;
	m->initiator.totals.verification.sent = 1000;
	m->initiator.totals.traffic_operations = 1000;
	m->responder.has_totals = true;
	m->responder.totals.has_verification = true;
	m->responder.totals.receives = 1000;
	m->responder.totals.verification = found;
	m->responder.totals.verification.received = 1000;
	return run;
}

static void judge_verified(int qp_type, struct verification found, enum verdict verdict,
			   const char *expectation)
{
	struct run *run = verified_run(qp_type, found);

	if (expectation) {
		expect(run, expectation, SEVERITY_FAIL);
	}
	judge(run, verdict);
}

static void what_verified_payload_came_to_decides(void **state)
{
	const struct verification good = { .verified = 1000 };
	const struct verification bad = { .verified = 999, .corrupted = 1 };
	const struct verification twice = { .verified = 1000, .duplicated = 1 };
	const struct verification late = { .verified = 1000, .reordered = 3 };
	const struct verification empty = { .verified = 999, .lost = 1 };
	const struct verification none = { 0 };
	struct run *run;

	(void)state;
	judge_verified(QP_TYPE_RC, good, VERDICT_PASS, "verify_errors == 0");
	judge_verified(QP_TYPE_RC, bad, VERDICT_FAIL, NULL);
	judge_verified(QP_TYPE_RC, bad, VERDICT_FAIL, "verify_errors <= 5");
	judge_verified(QP_TYPE_RC, twice, VERDICT_FAIL, NULL);
	judge_verified(QP_TYPE_RC, late, VERDICT_FAIL, "verify_errors <= 5");
	judge_verified(QP_TYPE_RC, empty, VERDICT_FAIL, NULL);
	judge_verified(QP_TYPE_UD, bad, VERDICT_FAIL, NULL);
	judge_verified(QP_TYPE_UC, empty, VERDICT_FAIL, NULL);
	judge_verified(QP_TYPE_UD, twice, VERDICT_DEGRADED, NULL);
	judge_verified(QP_TYPE_UD, late, VERDICT_PASS, "verify_errors.reordered <= 3");
	judge_verified(QP_TYPE_UD, late, VERDICT_FAIL, "verify_errors.reordered <= 2");
	/* Asked for, and it did not happen. */
	judge_verified(QP_TYPE_RC, none, VERDICT_INCONCLUSIVE, NULL);
	judge_verified(QP_TYPE_RC, none, VERDICT_INCONCLUSIVE, "verify_errors == 0");
	/* What one that came twice would hide. */
	run = verified_run(QP_TYPE_UD, twice);
	run->measurements[0]->responder.totals.verification.received = 999;
	expect(run, "lost_ops == 1", SEVERITY_FAIL);
	expect(run, "verify_errors.lost == 1", SEVERITY_FAIL);
	expect(run, "verify_errors.duplicated == 1", SEVERITY_FAIL);
	judge(run, VERDICT_PASS);
}

static void a_run_takes_the_worst_of_its_measurements(void **state)
{
	struct run *run = new_run();
	struct measurement *second = run_add_measurement(run);

	second->first_error = failure_of(ERROR_PEER, STAGE_RUN, "session", 0, 0);
	judgement_complete(run);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(run->counts[VERDICT_PASS], 1);
	assert_int_equal(run->counts[VERDICT_INCONCLUSIVE], 1);
	assert_int_equal(second->findings.items[0].code, FINDING_PEER_DAEMON_LOST);
	run_free(run);
}

static void an_error_of_the_run_itself_counts(void **state)
{
	struct run *run = new_run();

	run->error = failure_of(ERROR_INPUT, STAGE_CONFIG, "", 0, 0);
	judgement_complete(run);
	assert_int_equal(run->verdict, VERDICT_ERROR);
	assert_int_equal(run->findings.items[0].code, FINDING_INPUT_REFUSED);
	run_free(run);
}

static void a_run_without_measurements_does_not_pass(void **state)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run = run_new(scenario);

	free(scenario);
	judgement_complete(run);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(run->findings.items[0].code, FINDING_NOTHING_MEASURED);
	run_free(run);
}

static void judging_twice_gives_the_same(void **state)
{
	struct run *run = new_run();
	struct measurement *m = run->measurements[0];
	size_t count;

	m->initiator.failure =
		failure_of(ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 12);
	expect(run, "errors == 0", SEVERITY_FAIL);
	judgement_complete(run);
	count = m->findings.count;
	judgement_complete(run);
	assert_int_equal(m->findings.count, count);
	assert_int_equal(run->counts[VERDICT_FAIL], 1);
	run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_measurement_without_expectations_passes),
		cmocka_unit_test(zero_completed_operations_never_pass),
		cmocka_unit_test(absent_totals_never_pass),
		cmocka_unit_test(traffic_that_ended_otherwise_never_passes),
		cmocka_unit_test(the_class_of_the_first_error_decides),
		cmocka_unit_test(a_missed_expectation_fails_or_degrades_by_its_severity),
		cmocka_unit_test(an_expectation_that_cannot_be_judged_is_inconclusive),
		cmocka_unit_test(a_starved_host_makes_misses_inconclusive_and_leaves_a_pass),
		cmocka_unit_test(of_two_ways_each_must_let_something_through),
		cmocka_unit_test(the_responder_of_two_ends_that_post_must_have_measured),
		cmocka_unit_test(
			what_did_not_arrive_degrades_unless_it_may_be_lost_and_nothing_at_all_fails),
		cmocka_unit_test(only_a_receiver_that_was_short_of_cpu_excuses_a_loss),
		cmocka_unit_test(what_verified_payload_came_to_decides),
		cmocka_unit_test(a_run_takes_the_worst_of_its_measurements),
		cmocka_unit_test(an_error_of_the_run_itself_counts),
		cmocka_unit_test(a_run_without_measurements_does_not_pass),
		cmocka_unit_test(judging_twice_gives_the_same),
	};

	return cmocka_run_group_tests_name("verdict-rules", tests, NULL, NULL);
}
