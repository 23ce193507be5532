// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "judge/collect.h"
#include "util/memory.h"
#include "util/text.h"

enum { FLUSH = 5, LOC_PROT = 4, REM_ACCESS = 10, RETRY_EXC = 12 };

static struct failure failure_of(enum error_class class, enum error_stage stage, const char *call,
				 uint64_t at_ns)
{
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -1, class, "%s", call);
	failure.error.stage = stage;
	text_copy(failure.error.call, sizeof(failure.error.call), call);
	failure.at_ns = at_ns;
	return failure;
}

static struct failure status_of(int status, uint64_t at_ns)
{
	struct failure failure = failure_of(ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", at_ns);

	failure.error.kind = ERROR_KIND_WC_STATUS;
	failure.error.number = status;
	return failure;
}

static struct failure session_of(uint64_t at_ns)
{
	return failure_of(ERROR_PEER, STAGE_RUN, "session", at_ns);
}

#define S 1000000000ull

/* Both orders of the two ends; the cause must be the same one. */
static void expect_cause(const struct failure *at_initiator, const struct failure *at_responder,
			 bool is_responder)
{
	struct measurement *m = memory_new(sizeof(*m));
	const struct failure *cause = is_responder ? at_responder : at_initiator;

	m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	m->initiator.failure = *at_initiator;
	m->responder.failure = *at_responder;
	collect_first_error(m);
	assert_string_equal(m->first_error.error.call, cause->error.call);
	assert_int_equal(m->first_error.error.number, cause->error.number);
	assert_int_equal(m->first_error.at_ns, cause->at_ns);
	assert_string_equal(m->first_error.node, is_responder ? "b" : "a");
	/* collecting again changes nothing */
	collect_first_error(m);
	assert_string_equal(m->first_error.error.call, cause->error.call);
	assert_int_equal(m->first_error.at_ns, cause->at_ns);
	free(m);
}

#define EXPECT_CAUSE(at_initiator, at_responder, is_responder)                           \
	do {                                                                             \
		struct failure _initiator = (at_initiator), _responder = (at_responder); \
		expect_cause(&_initiator, &_responder, is_responder);                    \
	} while (0)

static void nothing_failed_means_no_first_error(void **state)
{
	struct measurement *m = memory_new(sizeof(*m));

	collect_first_error(m);
	assert_false(error_is_set(&m->first_error.error));
	free(m);
}

static void the_earlier_error_is_the_first(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), status_of(REM_ACCESS, 2 * S), true);
	EXPECT_CAUSE(status_of(RETRY_EXC, 1 * S), status_of(REM_ACCESS, 2 * S), false);
}

static void an_error_of_the_set_up_precedes_any_traffic(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 0),
		     failure_of(ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", 5 * S), true);
}

static void flushed_completions_are_never_first(void **state)
{
	EXPECT_CAUSE(status_of(FLUSH, 1), status_of(RETRY_EXC, 2 * S), true);
	EXPECT_CAUSE(session_of(3 * S), status_of(FLUSH, 0), false);
	EXPECT_CAUSE(failure_of(ERROR_INPUT, STAGE_RUN, "abort", 3 * S), status_of(FLUSH, S),
		     false);
}

static void a_lone_flush_is_still_told(void **state)
{
	EXPECT_CAUSE(status_of(FLUSH, S), ((struct failure)FAILURE_INIT), false);
}

static void a_refused_request_is_told_by_the_end_that_learnt_why(void **state)
{
	struct failure event = failure_of(ERROR_DEVICE, STAGE_RUN, "ibv_get_async_event", 2 * S);

	EXPECT_CAUSE(status_of(REM_ACCESS, 2 * S + S / 1000), event, false);
	EXPECT_CAUSE(status_of(REM_ACCESS, 2 * S - S / 1000), event, false);
	/* Not what it is no answer to, nor what was long over. */
	EXPECT_CAUSE(status_of(RETRY_EXC, 2 * S + S / 1000), event, true);
	EXPECT_CAUSE(status_of(REM_ACCESS, 3 * S), event, true);
}

static void a_session_lost_within_two_seconds_explains_silence(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), session_of(5 * S), true);
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), session_of(2 * S), true);
	EXPECT_CAUSE(failure_of(ERROR_DEVICE, STAGE_RUN, "stall", 3 * S), session_of(4 * S), true);
	/* later than that, the fabric was silent first */
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), session_of(5 * S + 1), false);
	/* and it explains silence, not a refusal */
	EXPECT_CAUSE(status_of(REM_ACCESS, 3 * S), session_of(4 * S), false);
}

static struct failure silence_of(uint64_t at_ns)
{
	struct failure failure = session_of(at_ns);

	failure.error.kind = ERROR_KIND_ERRNO;
	failure.error.number = ETIMEDOUT;
	return failure;
}

/* A host that vanished resets nothing: its session is found lost six seconds after its last word.
 */
static void a_session_lost_by_silence_was_lost_six_seconds_before(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 1 * S), silence_of(6 * S), true);
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), silence_of(11 * S), true);
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), silence_of(11 * S + 1), false);
}

static void a_responder_that_died_at_an_unknown_time_is_the_cause(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S), session_of(0), true);
}

static void a_removed_device_explains_silence_up_to_its_notice(void **state)
{
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S),
		     failure_of(ERROR_DEVICE, STAGE_RUN, "device", 6 * S), true);
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S),
		     failure_of(ERROR_DEVICE, STAGE_RUN, "device", 6 * S + 1), false);
	EXPECT_CAUSE(status_of(REM_ACCESS, 3 * S),
		     failure_of(ERROR_DEVICE, STAGE_RUN, "device", 4 * S), false);
}

static void a_session_does_not_explain_silence_where_the_own_port_went_down(void **state)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	m->initiator.failure = status_of(RETRY_EXC, 3 * S);
	m->responder.failure = session_of(4 * S);
	port_report_add(&m->initiator.totals.port_report,
			&(struct port_event){ .kind = PORT_EVENT_PORT_ERR, .at_ns = 2 * S });
	collect_first_error(m);
	assert_int_equal(m->first_error.error.number, RETRY_EXC);
	collect_first_error(m);
	assert_int_equal(m->first_error.error.number, RETRY_EXC);
	/* An event that came long after it is not its cause. */
	m->first_error = FAILURE_INIT;
	m->initiator.totals.port_report.events[0].at_ns = 4 * S + 1;
	collect_first_error(m);
	assert_string_equal(m->first_error.error.call, "session");
	free(m);
}

static void the_responder_knows_why_it_refused(void **state)
{
	EXPECT_CAUSE(status_of(REM_ACCESS, 2 * S), status_of(LOC_PROT, 2 * S + 50000000), true);
	EXPECT_CAUSE(status_of(REM_ACCESS, 2 * S), status_of(LOC_PROT, 1 * S), true);
	/* an unrelated later error does not */
	EXPECT_CAUSE(status_of(REM_ACCESS, 2 * S), status_of(LOC_PROT, 3 * S), false);
}

static void an_end_that_was_told_to_stop_is_not_the_cause(void **state)
{
	struct failure abort = failure_of(ERROR_INPUT, STAGE_RUN, "abort", 3 * S);

	/* clocks apart: the stop seems to come 50 ms before */
	EXPECT_CAUSE(status_of(RETRY_EXC, 3 * S + 50000000), abort, false);
	/* but what follows a stop much later follows from it */
	EXPECT_CAUSE(status_of(RETRY_EXC, 4 * S), abort, true);
}

static void what_the_coordinator_saw_takes_part(void **state)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->first_error = failure_of(ERROR_DEVICE, STAGE_RUN, "deadline", 9 * S);
	m->initiator.failure = status_of(RETRY_EXC, 3 * S);
	collect_first_error(m);
	assert_int_equal(m->first_error.error.number, RETRY_EXC);

	memset(m, 0, sizeof(*m));
	m->first_error = failure_of(ERROR_PEER, STAGE_DISCOVER, "connect", 0);
	text_copy(m->first_error.node, sizeof(m->first_error.node), "c");
	collect_first_error(m);
	assert_string_equal(m->first_error.error.call, "connect");
	assert_string_equal(m->first_error.node, "c");
	free(m);
}

static void failures_inside_totals_count_and_flushes_are_summed_over_both_ends(void **state)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	m->initiator.totals.failure = status_of(RETRY_EXC, 3 * S);
	m->initiator.totals.failure.flushed = 127;
	m->initiator.failure = m->initiator.totals.failure; /* the same, told twice */
	m->responder.totals.failure = status_of(FLUSH, 3 * S);
	m->responder.totals.failure.flushed = 3;
	collect_first_error(m);
	assert_int_equal(m->first_error.error.number, RETRY_EXC);
	assert_int_equal(m->first_error.flushed, 130);
	assert_string_equal(m->first_error.node, "a");
	assert_string_equal(m->first_error.device, "rxe0");
	collect_first_error(m);
	assert_int_equal(m->first_error.flushed, 130);
	free(m);
}

/* C43: of traffic that came to its end, whoever saw it; what is not whole is an error as ever. */
static void what_fails_in_the_teardown_is_no_first_error(void **state)
{
	for (int who = 0; who < 3; who++) {
		struct measurement *m = memory_new(sizeof(*m));
		struct failure *const failures[] = { &m->first_error, &m->initiator.failure,
						     &m->responder.failure };

		m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
		m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
		m->initiator.has_totals = m->responder.has_totals = true;
		m->initiator.totals.end = END_ITERATIONS;
		m->responder.totals.end = END_STOPPED;
		*failures[who] = failure_of(ERROR_RESOURCE, STAGE_TEARDOWN, "sick", 9 * S);
		for (int again = 0; again < 2; again++) {
			collect_first_error(m);
			assert_false(error_is_set(&m->first_error.error));
			assert_string_equal(m->teardown.error.call, "sick");
			assert_string_equal(m->teardown.node, who == 0 ? "" : who == 1 ? "a" : "b");
		}
		/* The traffic itself failed before: then it is what followed. */
		m->teardown = FAILURE_INIT;
		*failures[who] = failure_of(ERROR_RESOURCE, STAGE_TEARDOWN, "sick", 9 * S);
		m->initiator.totals.failure = status_of(RETRY_EXC, 2 * S);
		m->initiator.totals.end = END_ERROR;
		collect_first_error(m);
		assert_int_equal(m->first_error.error.number, RETRY_EXC);
		assert_false(error_is_set(&m->teardown.error));
		free(m);
	}
}

static void one_end_that_told_nothing_makes_a_teardown_an_error(void **state)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->initiator.has_totals = true;
	m->initiator.totals.end = END_ITERATIONS;
	m->responder.failure = failure_of(ERROR_PEER, STAGE_TEARDOWN, "session", 9 * S);
	collect_first_error(m);
	assert_string_equal(m->first_error.error.call, "session");
	assert_false(error_is_set(&m->teardown.error));
	free(m);
}

static void verdicts_are_counted(void **state)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run = run_new(scenario);

	run_add_measurement(run)->verdict = VERDICT_PASS;
	run_add_measurement(run)->verdict = VERDICT_FAIL;
	run_add_measurement(run)->verdict = VERDICT_PASS;
	run_add_measurement(run); /* not judged */
	run->counts[VERDICT_PASS] = 77;
	collect_counts(run);
	assert_int_equal(run->counts[VERDICT_PASS], 2);
	assert_int_equal(run->counts[VERDICT_FAIL], 1);
	assert_int_equal(run->counts[VERDICT_NONE], 0);
	run_free(run);
	free(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_failed_means_no_first_error),
		cmocka_unit_test(the_earlier_error_is_the_first),
		cmocka_unit_test(an_error_of_the_set_up_precedes_any_traffic),
		cmocka_unit_test(flushed_completions_are_never_first),
		cmocka_unit_test(a_lone_flush_is_still_told),
		cmocka_unit_test(a_refused_request_is_told_by_the_end_that_learnt_why),
		cmocka_unit_test(a_session_lost_within_two_seconds_explains_silence),
		cmocka_unit_test(a_session_lost_by_silence_was_lost_six_seconds_before),
		cmocka_unit_test(a_responder_that_died_at_an_unknown_time_is_the_cause),
		cmocka_unit_test(a_removed_device_explains_silence_up_to_its_notice),
		cmocka_unit_test(a_session_does_not_explain_silence_where_the_own_port_went_down),
		cmocka_unit_test(the_responder_knows_why_it_refused),
		cmocka_unit_test(an_end_that_was_told_to_stop_is_not_the_cause),
		cmocka_unit_test(what_the_coordinator_saw_takes_part),
		cmocka_unit_test(
			failures_inside_totals_count_and_flushes_are_summed_over_both_ends),
		cmocka_unit_test(what_fails_in_the_teardown_is_no_first_error),
		cmocka_unit_test(one_end_that_told_nothing_makes_a_teardown_an_error),
		cmocka_unit_test(verdicts_are_counted),
	};

	return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}
