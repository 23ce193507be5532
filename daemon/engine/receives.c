// SPDX-License-Identifier: MIT
#include "engine/receives.h"

#include <stdlib.h>

#include "engine/fault.h"
#include "model/workload_queue.h"
#include "util/memory.h"

void receives_init(struct receives *receives, const struct flow *flow)
{
	receives->batch = workload_queue_recv_batch(&flow->assignment->workload);
	receives->owed = memory_new_array(flow->resources->qp_count, sizeof(*receives->owed));
	receives->first = memory_new_array(flow->resources->qp_count, sizeof(*receives->first));
}

void receives_done(struct receives *receives)
{
	free(take(receives->owed));
	free(take(receives->first));
}

int receives_repost(struct resources *resources, size_t qp_index, uint64_t first, uint64_t count)
{
	struct ibv_recv_wr *wr = &resources->recv_wrs[qp_index * resources->recv_depth + first];
	struct ibv_recv_wr *last = wr + count - 1;
	struct ibv_recv_wr *next = last->next;
	struct ibv_recv_wr *bad;
	int number;

	/* The chain is cut for the call. */
	last->next = NULL;
	number = ibv_post_recv(resources->qps[qp_index], wr, &bad);
	last->next = next;
	return number;
}

bool receives_is_good(struct flow *flow, struct ibv_wc *wc, uint64_t now_ticks)
{
	if (wc->status != IBV_WC_SUCCESS) {
		wc->wr_id |= FLOW_WR_RECEIVE;
		fault_completion(flow, wc, now_ticks);
		return false;
	}
	if (wc->wr_id >= flow->resources->qp_count) {
		fault_wr_id(flow, wc, now_ticks);
		return false;
	}
	return true;
}

void receives_give_back(struct receives *receives, struct flow *flow, size_t qp_index,
			uint64_t now_ticks)
{
	uint64_t depth = flow->resources->recv_depth;
	int number = 0;

	if (++receives->owed[qp_index] < receives->batch || flow->state > FLOW_CLOSING) {
		return;
	}
	while (receives->owed[qp_index] > 0 && number == 0) {
		uint64_t first = receives->first[qp_index];
		uint64_t count = receives->owed[qp_index];

		count = count < depth - first ? count : depth - first;
		number = receives_repost(flow->resources, qp_index, first, count);
		receives->owed[qp_index] -= count;
		receives->first[qp_index] = first + count == depth ? 0 : first + count;
	}
	if (number != 0) {
		fault_call(flow, "ibv_post_recv", number, qp_index, -1, now_ticks);
	}
}
