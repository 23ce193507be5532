// SPDX-License-Identifier: MIT
#include "judge/delivery_evidence.h"

#include <inttypes.h>
#include <stdio.h>

#include "judge/host_evidence.h"
#include "model/delivery.h"

/* Not when somebody wrote how much may be lost, and it was less. */
static bool may_be_lost(const struct measurement *measurement)
{
	bool is_expected = false;

	for (size_t i = 0; i < measurement->expectation_count; i++) {
		const struct expectation_result *result = &measurement->expectations[i];

		if (result->expectation.metric == METRIC_LOST_OPS) {
			is_expected = true;
			if (result->outcome != OUTCOME_MET) {
				return false;
			}
		}
	}
	return is_expected;
}

void delivery_evidence_find(struct measurement *measurement)
{
	struct delivery delivery;
	bool is_starved = host_evidence_is_starved(measurement, &measurement->responder);
	char evidence[LIMIT_TEXT];

	if (!delivery_of(measurement, &delivery) || delivery.lost == 0 ||
	    (delivery.received > 0 && may_be_lost(measurement))) {
		return;
	}
	snprintf(evidence, sizeof(evidence),
		 "%" PRIu64 " completed at %s, %" PRIu64 " completed a receive of %s",
		 delivery.sent, measurement->initiator.endpoint.node, delivery.received,
		 measurement->responder.endpoint.node);
	finding_add(&measurement->findings, FINDING_MESSAGES_LOST,
		    is_starved && delivery.received > 0 ? CONFIDENCE_POSSIBLE : CONFIDENCE_CERTAIN,
		    evidence, "%" PRIu64 " of %" PRIu64 " messages (%.3g %%) did not arrive",
		    delivery.lost, delivery.sent,
		    100 * (double)delivery.lost / (double)delivery.sent);
	if (is_starved && delivery.received > 0) {
		finding_doubt(
			&measurement->findings, FINDING_MESSAGES_LOST,
			"the receiver's host was short of CPU, and may have had no receive posted in time");
	}
}
