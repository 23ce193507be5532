// SPDX-License-Identifier: MIT
#include "model/delivery.h"

bool delivery_way(const struct measurement *measurement, bool is_reverse, struct delivery *ret)
{
	const struct workload *workload = &measurement->assignment.workload;
	bool is_mutual = workload->workload.direction == DIRECTION_BOTH;
	const struct totals *from = is_reverse ? &measurement->responder.totals
					       : &measurement->initiator.totals;
	const struct totals *to = is_reverse ? &measurement->initiator.totals
					     : &measurement->responder.totals;

	if (!workload_is_lossy(workload) || workload->workload.pattern != PATTERN_STREAM ||
	    (is_reverse && !is_mutual) || !measurement->initiator.has_totals ||
	    !measurement->responder.has_totals || error_is_set(&measurement->first_error.error) ||
	    (from->end != END_DURATION && from->end != END_ITERATIONS)) {
		return false;
	}
	ret->sent = from->traffic_operations;
	ret->received = to->receives;
	ret->lost = ret->sent > ret->received ? ret->sent - ret->received : 0;
	return true;
}

bool delivery_of(const struct measurement *measurement, struct delivery *ret)
{
	bool is_mutual = measurement->assignment.workload.workload.direction == DIRECTION_BOTH;
	struct delivery back = { 0 };

	if (!delivery_way(measurement, false, ret) ||
	    (is_mutual && !delivery_way(measurement, true, &back))) {
		return false;
	}
	ret->sent += back.sent;
	ret->received += back.received;
	ret->lost += back.lost;
	return true;
}

double delivery_share(const struct measurement *measurement, bool is_reverse)
{
	struct delivery delivery;

	if (!delivery_way(measurement, is_reverse, &delivery) || delivery.sent == 0) {
		return 1;
	}
	return 1 - (double)delivery.lost / (double)delivery.sent;
}
