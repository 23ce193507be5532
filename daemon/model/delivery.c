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
	/* Where each has its number, one that came twice does not hide one that did not. */
	ret->received = to->has_verification ? to->verification.received : to->receives;
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

static void add(const struct participant *end, struct verification *ret)
{
	const struct verification *one = &end->totals.verification;

	if (!end->totals.has_verification) {
		return;
	}
	ret->sent += one->sent;
	ret->received += one->received;
	ret->verified += one->verified;
	ret->corrupted += one->corrupted;
	ret->lost += one->lost;
	ret->duplicated += one->duplicated;
	ret->reordered += one->reordered;
	ret->first = ret->first.is_set ? ret->first : one->first;
}

bool delivery_verified(const struct measurement *measurement, struct verification *ret)
{
	int end = measurement->initiator.totals.end;

	*ret = (struct verification){ 0 };
	if (!workload_is_verified(&measurement->assignment.workload) ||
	    !measurement->initiator.has_totals || !measurement->responder.has_totals ||
	    !measurement->initiator.totals.has_verification) {
		return false;
	}
	add(&measurement->initiator, ret);
	add(&measurement->responder, ret);
	/* What was under way when something else ended it is not lost. */
	if (ret->sent > ret->received && (end == END_DURATION || end == END_ITERATIONS) &&
	    !error_is_set(&measurement->first_error.error)) {
		ret->lost += ret->sent - ret->received;
	}
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
