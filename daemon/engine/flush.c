// SPDX-License-Identifier: MIT
#include "engine/flush.h"

#include "engine/fault.h"
#include "util/thread.h"

#define FLUSH_POLL 32

enum { MARK_WANTED, MARK_POSTED, MARK_SEEN };

static void mark_seen(struct flow *flow, size_t qp_index)
{
	if (flow->flush_state[qp_index] != MARK_SEEN) {
		flow->flush_state[qp_index] = MARK_SEEN;
		flow->flush_marks--;
	}
}

/* A send queue may still be full of what is not flushed yet: then it is tried again later. */
static void post_mark(struct flow *flow, size_t qp_index)
{
	struct ibv_send_wr wr = { .wr_id = FLOW_WR_FLUSH | qp_index,
				  .opcode = flow->resources->ah ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	flow_address(flow, qp_index, &wr);
	if (ibv_post_send(flow->resources->qps[qp_index], &wr, &bad) == 0) {
		flow->flush_state[qp_index] = MARK_POSTED;
	}
}

void flush_begin(struct flow *flow)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	flow->flush_marks = flow->resources->qp_count;
	for (size_t i = 0; i < flow->resources->qp_count; i++) {
		flow->flush_state[i] = MARK_WANTED;
		thread_mark("ibv_modify_qp");
		if (ibv_modify_qp(flow->resources->qps[i], &attr, IBV_QP_STATE) != 0) {
			/* The device is gone: nothing will come back. */
			mark_seen(flow, i);
		} else {
			post_mark(flow, i);
		}
	}
	thread_mark(NULL);
}

static bool poll_sends(struct flow *flow)
{
	struct ibv_wc wcs[FLUSH_POLL];
	int count = ibv_poll_cq(flow->resources->send_cq, FLUSH_POLL, wcs);
	uint64_t now_ticks = clock_ticks();

	for (int i = 0; i < count; i++) {
		uint64_t mark = wcs[i].wr_id & ~FLOW_WR_FLUSH;

		if ((wcs[i].wr_id & FLOW_WR_FLUSH) && mark < flow->resources->qp_count) {
			mark_seen(flow, mark);
		} else if (wcs[i].status != IBV_WC_SUCCESS) {
			fault_completion(flow, &wcs[i], now_ticks);
		}
	}
	return count > 0;
}

static bool poll_receives(struct flow *flow)
{
	struct ibv_wc wcs[FLUSH_POLL];
	int count = ibv_poll_cq(flow->resources->recv_cq, FLUSH_POLL, wcs);

	for (int i = 0; i < count; i++) {
		if (wcs[i].status != IBV_WC_SUCCESS) {
			continue;
		}
		if (flow->pattern->take_late) {
			flow->pattern->take_late(flow, &wcs[i]);
		} else {
			flow->receives++;
		}
	}
	return count > 0;
}

bool flush_burst(struct flow *flow)
{
	bool has_found = false;
	bool has_more = true;

	for (unsigned round = 0; has_more && round < FLOW_BURST_ROUNDS; round++) {
		has_more = poll_sends(flow);
		if (flow->resources->recv_cq && flow->resources->recv_depth > 0) {
			has_more |= poll_receives(flow);
		}
		has_found |= has_more;
	}
	for (size_t i = 0; flow->flush_marks > 0 && i < flow->resources->qp_count; i++) {
		if (flow->flush_state[i] == MARK_WANTED) {
			post_mark(flow, i);
		}
	}
	return has_found;
}
