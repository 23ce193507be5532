// SPDX-License-Identifier: MIT
#include "judge/judgement.h"

#include <errno.h>
#include <string.h>

#include "judge/collect.h"
#include "judge/diagnose.h"
#include "judge/expect.h"
#include "judge/host_evidence.h"
#include "judge/port_evidence.h"
#include "judge/repetition.h"
#include "judge/verify_evidence.h"
#include "model/delivery.h"

/* By the call that jobs name; what is not here goes by class and stage. */
static const struct {
	const char *call;
	enum error_class class; /* ERROR_NONE: whatever it is */
	int number; /* errno; 0: any. The first that fits counts. */
	enum verdict verdict;
} calls[] = {
	/* What the fabric did cannot be told from a daemon that is not there, or has no time. */
	{ "session", ERROR_PEER, 0, VERDICT_INCONCLUSIVE },
	{ "connect", ERROR_PEER, 0, VERDICT_INCONCLUSIVE },
	{ "busy", ERROR_PEER, 0, VERDICT_INCONCLUSIVE },
	{ "in_use", ERROR_PEER, 0, VERDICT_INCONCLUSIVE },
	{ "duty_cycle", ERROR_PEER, 0, VERDICT_INCONCLUSIVE },
	{ "abort", ERROR_NONE, 0, VERDICT_INCONCLUSIVE },
	{ "starved", ERROR_NONE, 0, VERDICT_INCONCLUSIVE },
	{ "tls", ERROR_PEER, ETIMEDOUT, VERDICT_INCONCLUSIVE },
	{ "tls", ERROR_PEER, ECONNRESET, VERDICT_INCONCLUSIVE },
	{ "hello", ERROR_PEER, ETIMEDOUT, VERDICT_INCONCLUSIVE },
	{ "hello", ERROR_PEER, ECONNRESET, VERDICT_INCONCLUSIVE },
	/* Someone must set this right. */
	{ "tls", ERROR_PEER, 0, VERDICT_ERROR },
	{ "hello", ERROR_PEER, 0, VERDICT_ERROR },
	{ "permit", ERROR_PEER, 0, VERDICT_ERROR },
	{ "assignment", ERROR_NONE, 0, VERDICT_ERROR },
	{ "message", ERROR_PEER, 0, VERDICT_ERROR },
	/* A port that is down is the fabric, also when it was so before anything was sent. */
	{ "device", ERROR_DEVICE, ENETDOWN, VERDICT_FAIL },
	{ "device", ERROR_DEVICE, 0, VERDICT_ERROR },
	/* A daemon or host that hangs is not the fabric. */
	{ "deadline", ERROR_DEVICE, 0, VERDICT_ERROR },
	{ "limit", ERROR_INPUT, 0, VERDICT_ERROR },
	{ "stall", ERROR_DEVICE, 0, VERDICT_FAIL },
};

static bool is_unsupported(const struct error *error)
{
	return error->kind == ERROR_KIND_ERRNO &&
	       (error->number == EOPNOTSUPP || error->number == ENOSYS || error->number == ENOTSUP);
}

/* The neighbour, or its connection manager, did not answer when a queue pair was to be connected.
 */
static bool is_silent_neighbour(const struct error *error)
{
	return (error->stage == STAGE_MODIFY_QP || error->stage == STAGE_RESOLVE ||
		error->stage == STAGE_CONNECT) &&
	       error->kind == ERROR_KIND_ERRNO &&
	       (error->number == ETIMEDOUT || error->number == EHOSTUNREACH ||
		error->number == ENETUNREACH || error->number == EHOSTDOWN);
}

enum verdict judgement_of_failure(const struct failure *failure)
{
	const struct error *error = &failure->error;
	int number = error->kind == ERROR_KIND_ERRNO ? error->number : 0;

	if (error->class == ERROR_BUG) {
		return VERDICT_ERROR;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if ((calls[i].class == ERROR_NONE || calls[i].class == error->class) &&
		    (calls[i].number == 0 || calls[i].number == number) &&
		    strcmp(calls[i].call, error->call) == 0) {
			return calls[i].verdict;
		}
	}
	if (is_unsupported(error)) {
		return VERDICT_UNSUPPORTED;
	}
	switch (error->class) {
	case ERROR_DEVICE:
		return error->stage == STAGE_RUN || is_silent_neighbour(error) ? VERDICT_FAIL
									       : VERDICT_ERROR;
	case ERROR_PEER:
		return VERDICT_INCONCLUSIVE;
	default:
		return VERDICT_ERROR;
	}
}

/* Which hosts were short of CPU. */
struct shortage {
	bool is_any;
	bool is_receiver; /* of messages */
};

static bool is_excused(const struct expectation_result *result, const struct shortage *shortage)
{
	switch (result->expectation.metric) {
	case METRIC_ERRORS:
	case METRIC_VERIFY_ERRORS:
		return false; /* on any host */
	case METRIC_LOST_OPS:
		return shortage->is_receiver; /* a slow sender loses nothing */
	default:
		return shortage->is_any;
	}
}

static enum verdict judge_expectation(const struct expectation_result *result,
				      const struct shortage *shortage)
{
	switch (result->outcome) {
	case OUTCOME_MET:
		return VERDICT_PASS;
	case OUTCOME_INCONCLUSIVE:
		return VERDICT_INCONCLUSIVE;
	default:
		break;
	}
	/* A slow tester makes slow numbers. */
	if (is_excused(result, shortage)) {
		return VERDICT_INCONCLUSIVE;
	}
	return result->expectation.severity == SEVERITY_WARN ? VERDICT_DEGRADED : VERDICT_FAIL;
}

/* An end that posts. */
static enum verdict judge_totals_of(struct measurement *measurement, const struct participant *end)
{
	if (!end->has_totals) {
		finding_add(&measurement->findings, FINDING_RUN_CUT_SHORT, CONFIDENCE_CERTAIN, NULL,
			    "%s sent no totals", end->endpoint.node);
		return VERDICT_INCONCLUSIVE;
	}
	if (end->totals.operations == 0) {
		finding_add(&measurement->findings, FINDING_NOTHING_MEASURED, CONFIDENCE_CERTAIN,
			    NULL, "not one operation completed in the measured window of %s",
			    end->endpoint.node);
		return VERDICT_INCONCLUSIVE;
	}
	/* Ended by something else than its own length, and no error says so. */
	if (end->totals.end != END_DURATION && end->totals.end != END_ITERATIONS) {
		finding_add(&measurement->findings, FINDING_RUN_CUT_SHORT, CONFIDENCE_LIKELY, NULL,
			    "the traffic of %s ended by \"%s\", and no error tells why",
			    end->endpoint.node, sample_end_names[end->totals.end]);
		return VERDICT_INCONCLUSIVE;
	}
	return VERDICT_PASS;
}

static enum verdict judge_totals(struct measurement *measurement)
{
	enum verdict verdict = judge_totals_of(measurement, &measurement->initiator);

	return verdict == VERDICT_PASS && run_is_mutual(measurement)
		       ? judge_totals_of(measurement, &measurement->responder)
		       : verdict;
}

/* A starved host may have caused it, and nothing else explains it: no port that went down, say. */
static bool is_hosts(const struct measurement *measurement)
{
	const struct findings *findings = &measurement->findings;

	return (finding_has(findings, FINDING_STALLED, CONFIDENCE_POSSIBLE) ||
		finding_has(findings, FINDING_RECEIVER_NOT_READY, CONFIDENCE_POSSIBLE)) &&
	       host_evidence_explains_error(measurement);
}

/* A path that lets nothing through is no path, whatever its transport says of it. */
static enum verdict judge_delivery(const struct measurement *measurement)
{
	const struct findings *findings = &measurement->findings;
	struct delivery delivery;

	for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
		if (delivery_way(measurement, is_reverse, &delivery) && delivery.sent > 0 &&
		    delivery.received == 0) {
			return VERDICT_FAIL;
		}
	}
	return finding_has(findings, FINDING_MESSAGES_LOST, CONFIDENCE_LIKELY) ? VERDICT_DEGRADED
	       : finding_has(findings, FINDING_MESSAGES_LOST, CONFIDENCE_POSSIBLE)
		       ? VERDICT_INCONCLUSIVE
		       : VERDICT_PASS;
}

void judgement_measurement(struct measurement *measurement)
{
	enum verdict verdict;
	struct shortage shortage = {
		.is_any = finding_has(&measurement->findings, FINDING_HOST_STARVED,
				      CONFIDENCE_LIKELY),
		.is_receiver = host_evidence_is_starved_receiver(measurement),
	};

	repetition_take(measurement);
	if (error_is_set(&measurement->first_error.error)) {
		measurement->verdict = judgement_of_failure(&measurement->first_error);
		if (measurement->verdict == VERDICT_FAIL && is_hosts(measurement)) {
			measurement->verdict = VERDICT_INCONCLUSIVE;
		}
		return;
	}
	verdict = judge_totals(measurement);
	for (size_t i = 0; i < measurement->expectation_count; i++) {
		verdict = verdict_worse(verdict, judge_expectation(&measurement->expectations[i],
								   &shortage));
	}
	if (port_evidence_is_degraded(measurement)) {
		verdict = verdict_worse(verdict, VERDICT_DEGRADED);
	}
	verdict = verdict_worse(verdict, verify_evidence_verdict(measurement));
	measurement->verdict = verdict_worse(verdict, judge_delivery(measurement));
}

void judgement_run(struct run *run)
{
	enum verdict verdict = VERDICT_NONE;

	collect_counts(run);
	if (error_is_set(&run->error.error)) {
		verdict = judgement_of_failure(&run->error);
	}
	for (size_t i = 0; i < run->measurement_count; i++) {
		verdict = verdict_worse(verdict, (enum verdict)run->measurements[i]->verdict);
	}
	if (verdict == VERDICT_NONE) {
		finding_add(&run->findings, FINDING_NOTHING_MEASURED, CONFIDENCE_CERTAIN, NULL,
			    "the run ended without a measurement");
		verdict = VERDICT_INCONCLUSIVE;
	}
	run->verdict = verdict;
}

void judgement_complete(struct run *run)
{
	for (size_t i = 0; i < run->measurement_count; i++) {
		struct measurement *measurement = run->measurements[i];

		collect_first_error(measurement);
		expect_evaluate(measurement, &run->scenario->expect);
		diagnose_measurement(measurement);
		judgement_measurement(measurement);
	}
	diagnose_run(run);
	judgement_run(run);
}
