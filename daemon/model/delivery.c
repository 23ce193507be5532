// SPDX-License-Identifier: MIT
#include "model/delivery.h"

bool delivery_of(const struct measurement *measurement, struct delivery *ret)
{
	const struct workload *workload = &measurement->assignment.workload;
	const struct totals *initiator = &measurement->initiator.totals;
	const struct totals *responder = &measurement->responder.totals;

	if (!workload_is_lossy(workload) || workload->workload.pattern != PATTERN_STREAM ||
	    !measurement->initiator.has_totals || !measurement->responder.has_totals ||
	    error_is_set(&measurement->first_error.error) ||
	    (initiator->end != END_DURATION && initiator->end != END_ITERATIONS)) {
		return false;
	}
	ret->sent = initiator->traffic_operations;
	ret->received = responder->receives;
	ret->lost = ret->sent > ret->received ? ret->sent - ret->received : 0;
	return true;
}

double delivery_share(const struct measurement *measurement)
{
	struct delivery delivery;

	if (!delivery_of(measurement, &delivery) || delivery.sent == 0) {
		return 1;
	}
	return 1 - (double)delivery.lost / (double)delivery.sent;
}
