// SPDX-License-Identifier: MIT
#include "engine/arrivals.h"

#include <stdlib.h>

#include "engine/fault.h"
#include "engine/receives.h"
#include "util/memory.h"

#define ARRIVALS_POLL 32

struct arrivals {
	struct receives receives;
};

struct arrivals *arrivals_new(const struct flow *flow)
{
	struct arrivals *arrivals = memory_new(sizeof(*arrivals));

	receives_init(&arrivals->receives, flow);
	return arrivals;
}

void arrivals_free(struct arrivals *arrivals)
{
	if (arrivals) {
		receives_done(&arrivals->receives);
		free(arrivals);
	}
}

static void take_one(struct arrivals *arrivals, struct flow *flow, struct ibv_wc *wc,
		     uint64_t now_ticks)
{
	if (receives_is_good(flow, wc, now_ticks)) {
		flow->receives++;
		receives_give_back(&arrivals->receives, flow, wc->wr_id, now_ticks);
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
