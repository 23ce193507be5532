// SPDX-License-Identifier: MIT
#include "judge/verify_evidence.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/delivery.h"

/* Wrong bytes, and none where some were due. What UC and UD lost on the way is not: nobody promised
 * it. */
static uint64_t wrong_of(const struct measurement *measurement, const struct verification *both)
{
	bool is_lossy = workload_is_lossy(&measurement->assignment.workload);
	uint64_t at_ends = measurement->initiator.totals.verification.lost +
			   measurement->responder.totals.verification.lost;

	return both->corrupted + (is_lossy ? at_ends : both->lost);
}

/* What somebody wrote, and what was met. */
static bool may_be_wrong(const struct measurement *measurement)
{
	bool is_expected = false;

	for (size_t i = 0; i < measurement->expectation_count; i++) {
		const struct expectation_result *result = &measurement->expectations[i];

		if (result->expectation.metric == METRIC_VERIFY_ERRORS) {
			is_expected = true;
			if (result->outcome != OUTCOME_MET) {
				return false;
			}
		}
	}
	return is_expected;
}

/* Without a promise of order nothing was broken, but something is odd. */
static bool is_tolerated(const struct measurement *measurement)
{
	return workload_is_lossy(&measurement->assignment.workload) && may_be_wrong(measurement);
}

static void say_first(const struct verification_fault *first, char *text, size_t size)
{
	char expected[VERIFICATION_HEX_SIZE], found[VERIFICATION_HEX_SIZE];

	text[0] = '\0';
	if (!first->is_set) {
		return;
	}
	verification_hex(first->expected, first->length, expected);
	verification_hex(first->found, first->length, found);
	if (first->length == 0) {
		snprintf(text, size,
			 "the first: %s number %" PRIu64 " on queue pair 0x%" PRIx64 ", %s",
			 operation_names[first->operation], first->number, first->qp_num,
			 first->offset_bytes > 0 ? "which is shorter than any that is sent"
						 : "whose immediate data was another one's");
		return;
	}
	snprintf(text, size,
		 "the first: %s number %" PRIu64 " on queue pair 0x%" PRIx64 ", byte %" PRIu64
		 ": %s where %s was due",
		 operation_names[first->operation], first->number, first->qp_num,
		 first->offset_bytes, found, expected);
}

void verify_evidence_find(struct measurement *measurement)
{
	char evidence[LIMIT_TEXT];
	struct verification both;
	uint64_t wrong;

	if (!workload_is_verified(&measurement->assignment.workload)) {
		return;
	}
	if (!delivery_verified(measurement, &both) ||
	    both.verified + verification_errors(&both) == 0) {
		/* With an error, that is the reason, and said already. */
		if (error_is_set(&measurement->first_error.error)) {
			return;
		}
		finding_add(&measurement->findings, FINDING_NOTHING_MEASURED, CONFIDENCE_CERTAIN,
			    NULL, "payload was to be verified, and none was");
		return;
	}
	wrong = wrong_of(measurement, &both);
	say_first(&both.first, evidence, sizeof(evidence));
	if (wrong > 0) {
		finding_add(&measurement->findings, FINDING_PAYLOAD_WRONG, CONFIDENCE_CERTAIN,
			    evidence[0] ? evidence : NULL,
			    "%" PRIu64 " payloads arrived changed and %" PRIu64
			    " not at all, %" PRIu64 " were as they should be",
			    both.corrupted, wrong - both.corrupted, both.verified);
	}
	if (both.duplicated + both.reordered > 0 && !is_tolerated(measurement)) {
		finding_add(&measurement->findings, FINDING_PAYLOAD_DISORDER, CONFIDENCE_CERTAIN,
			    NULL,
			    "%" PRIu64 " payloads came twice, %" PRIu64
			    " out of order or in the place of others; %" PRIu64 " were verified",
			    both.duplicated, both.reordered, both.verified);
	}
}

enum verdict verify_evidence_verdict(const struct measurement *measurement)
{
	const struct workload *workload = &measurement->assignment.workload;
	struct verification both;

	if (!workload_is_verified(workload)) {
		return VERDICT_PASS;
	}
	if (!delivery_verified(measurement, &both)) {
		return VERDICT_INCONCLUSIVE;
	}
	if (wrong_of(measurement, &both) > 0) {
		return VERDICT_FAIL;
	}
	if (both.duplicated + both.reordered > 0 && !is_tolerated(measurement)) {
		return workload_is_lossy(workload) ? VERDICT_DEGRADED : VERDICT_FAIL;
	}
	/* What was asked for did not happen. */
	return both.verified > 0 ? VERDICT_PASS : VERDICT_INCONCLUSIVE;
}
