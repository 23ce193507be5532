// SPDX-License-Identifier: MIT
#include "judge/delivery_evidence.h"

#include <inttypes.h>

#include "judge/host_evidence.h"
#include "model/delivery.h"
#include "util/text.h"

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

/* Whatever may be lost: a way through which nothing comes is none. */
static bool has_dead_way(const struct measurement *measurement)
{
	struct delivery delivery;

	for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
		if (delivery_way(measurement, is_reverse, &delivery) && delivery.sent > 0 &&
		    delivery.received == 0) {
			return true;
		}
	}
	return false;
}

static void add_way(const struct measurement *measurement, bool is_reverse, struct text *out)
{
	const struct participant *from = is_reverse ? &measurement->responder
						    : &measurement->initiator;
	const struct participant *to = is_reverse ? &measurement->initiator
						  : &measurement->responder;
	struct delivery delivery;

	if (delivery_way(measurement, is_reverse, &delivery)) {
		text_format(out,
			    "%s%" PRIu64 " completed at %s, %" PRIu64 " completed a receive of %s",
			    out->length > 0 ? "; " : "", delivery.sent, from->endpoint.node,
			    delivery.received, to->endpoint.node);
	}
}

void delivery_evidence_find(struct measurement *measurement)
{
	struct delivery delivery;
	bool is_starved = host_evidence_is_starved_receiver(measurement);
	bool is_dead = has_dead_way(measurement);
	_cleanup_text_ struct text evidence = TEXT_INIT;

	if (!delivery_of(measurement, &delivery) || delivery.lost == 0 ||
	    (!is_dead && may_be_lost(measurement))) {
		return;
	}
	add_way(measurement, false, &evidence);
	add_way(measurement, true, &evidence);
	finding_add(&measurement->findings, FINDING_MESSAGES_LOST,
		    is_starved && !is_dead ? CONFIDENCE_POSSIBLE : CONFIDENCE_CERTAIN,
		    evidence.data, "%" PRIu64 " of %" PRIu64 " messages (%.3g %%) did not arrive",
		    delivery.lost, delivery.sent,
		    100 * (double)delivery.lost / (double)delivery.sent);
	if (is_starved && !is_dead) {
		finding_doubt(
			&measurement->findings, FINDING_MESSAGES_LOST,
			"the receiver's host was short of CPU, and may have had no receive posted in time");
	}
}
