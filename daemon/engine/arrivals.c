// SPDX-License-Identifier: MIT
#include "engine/arrivals.h"

#include <stdlib.h>

#include "engine/fault.h"
#include "engine/responder.h"
#include "util/memory.h"

#define ARRIVALS_POLL 32
#define ARRIVALS_BATCH 16

struct arrivals {
	uint64_t batch; /* receives posted again at once */
	uint64_t *owed; /* by queue pair */
};

struct arrivals *arrivals_new(const struct flow *flow)
{
	struct arrivals *arrivals = memory_new(sizeof(*arrivals));
	uint64_t quarter = flow->resources->recv_depth / 4;

	arrivals->batch = quarter < ARRIVALS_BATCH ? quarter : ARRIVALS_BATCH;
	arrivals->batch = arrivals->batch > 0 ? arrivals->batch : 1;
	arrivals->owed = memory_new_array(flow->resources->qp_count, sizeof(*arrivals->owed));
	return arrivals;
}

void arrivals_free(struct arrivals *arrivals)
{
	if (arrivals) {
		free(arrivals->owed);
		free(arrivals);
	}
}

static void take_one(struct arrivals *arrivals, struct flow *flow, struct ibv_wc *wc,
		     uint64_t now_ticks)
{
	uint64_t qp_index = wc->wr_id;
	int number;

	if (wc->status != IBV_WC_SUCCESS) {
		wc->wr_id |= FLOW_WR_RECEIVE;
		fault_completion(flow, wc, now_ticks);
		return;
	}
	if (qp_index >= flow->resources->qp_count) {
		fault_wr_id(flow, wc, now_ticks);
		return;
	}
	flow->receives++;
	if (++arrivals->owed[qp_index] < arrivals->batch || flow->state > FLOW_CLOSING) {
		return;
	}
	number = responder_repost(flow->resources, qp_index, arrivals->batch);
	arrivals->owed[qp_index] -= arrivals->batch;
	if (number != 0) {
		fault_call(flow, "ibv_post_recv", number, qp_index, -1, now_ticks);
	}
}

int arrivals_take(struct arrivals *arrivals, struct flow *flow)
{
	struct ibv_wc wcs[ARRIVALS_POLL];
	int count = ibv_poll_cq(flow->resources->recv_cq, ARRIVALS_POLL, wcs);
	uint64_t now_ticks;

	if (count == 0) {
		return 0;
	}
	now_ticks = clock_ticks();
	if (count < 0) {
		fault_poll(flow, count, now_ticks);
		return count;
	}
	if (flow->awaits_first) {
		flow_arrived(flow);
	}
	for (int i = 0; i < count; i++) {
		take_one(arrivals, flow, &wcs[i], now_ticks);
	}
	return count;
}
