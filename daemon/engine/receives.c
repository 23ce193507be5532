// SPDX-License-Identifier: MIT
#include "engine/receives.h"

#include <stdlib.h>

#include "engine/fault.h"
#include "model/workload_queue.h"
#include "util/memory.h"

void receives_init(struct receives *receives, const struct flow *flow)
{
	receives->batch = workload_queue_recv_batch(&flow->assignment->workload);
	receives->owed = memory_new_array(flow->resources->recv_queues, sizeof(*receives->owed));
	receives->first = memory_new_array(flow->resources->recv_queues, sizeof(*receives->first));
}

void receives_done(struct receives *receives)
{
	free(take(receives->owed));
	free(take(receives->first));
}

int receives_repost(struct resources *resources, size_t queue, uint64_t first, uint64_t count)
{
	struct ibv_recv_wr *wr = &resources->recv_wrs[queue * resources->recv_depth + first];
	struct ibv_recv_wr *last = wr + count - 1;
	struct ibv_recv_wr *next = last->next;
	int number;

	/* The chain is cut for the call. */
	last->next = NULL;
	number = resources->post_recv(resources, queue, wr);
	last->next = next;
	return number;
}

/* A shared queue does not tell it. */
static uint64_t queue_pair_of(const struct resources *resources, const struct ibv_wc *wc)
{
	for (size_t i = 0; resources->srq && i < resources->qp_count; i++) {
		if (resources->qps[i]->qp_num == wc->qp_num) {
			return i;
		}
	}
	return wc->wr_id;
}

bool receives_is_good(struct flow *flow, struct ibv_wc *wc, uint64_t now_ticks)
{
	if (wc->status != IBV_WC_SUCCESS) {
		wc->wr_id = FLOW_WR_RECEIVE | queue_pair_of(flow->resources, wc);
		fault_completion(flow, wc, now_ticks);
		return false;
	}
	if (wc->wr_id >= flow->resources->recv_queues) {
		fault_wr_id(flow, wc, now_ticks);
		return false;
	}
	return true;
}

void receives_give_back(struct receives *receives, struct flow *flow, size_t queue,
			uint64_t now_ticks)
{
	uint64_t depth = flow->resources->recv_depth;
	int number = 0;

	if (++receives->owed[queue] < receives->batch || flow->state > FLOW_CLOSING) {
		return;
	}
	while (receives->owed[queue] > 0 && number == 0) {
		uint64_t first = receives->first[queue];
		uint64_t count = receives->owed[queue];

		count = count < depth - first ? count : depth - first;
		number = receives_repost(flow->resources, queue, first, count);
		receives->owed[queue] -= count;
		receives->first[queue] = first + count == depth ? 0 : first + count;
	}
	if (number != 0) {
		fault_call(flow, flow->resources->recv_call, number, queue, -1, now_ticks);
	}
}
