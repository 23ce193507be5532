// SPDX-License-Identifier: MIT
#include "engine/responder.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "util/memory.h"
#include "util/text.h"

#define RESPONDER_POLL 32
#define RESPONDER_BATCH 16

struct responder {
	uint64_t batch; /* receives posted again at once */
	uint64_t *owed; /* by queue pair */
	uint64_t bytes;
	bool has_opened;
};

static int responder_prepare(struct flow *flow, struct error *err)
{
	struct responder *responder = memory_new(sizeof(*responder));
	uint64_t depth = flow->resources->recv_depth;

	flow->own = responder;
	if (depth == 0) {
		return error_set(err, -EINVAL, ERROR_BUG,
				 "no receives were posted although sends will come");
	}
	responder->batch = depth / 4 < RESPONDER_BATCH ? depth / 4 : RESPONDER_BATCH;
	responder->batch = responder->batch > 0 ? responder->batch : 1;
	responder->owed = memory_new_array(flow->resources->qp_count, sizeof(*responder->owed));
	return 0;
}

static void responder_release(struct flow *flow)
{
	struct responder *responder = flow->own;

	if (responder) {
		free(responder->owed);
		free(responder);
	}
	flow->own = NULL;
}

int responder_repost(struct resources *resources, size_t qp_index, uint64_t count)
{
	struct ibv_recv_wr *first = &resources->recv_wrs[qp_index * resources->recv_depth];
	struct ibv_recv_wr *last = first + count - 1;
	struct ibv_recv_wr *next = last->next;
	struct ibv_recv_wr *bad;
	int number;

	/* All receives of a queue pair are alike: the chain is cut for the call. */
	last->next = NULL;
	number = ibv_post_recv(resources->qps[qp_index], first, &bad);
	last->next = next;
	return number;
}

static void take_receive(struct flow *flow, struct ibv_wc *wc, uint64_t now_ticks)
{
	struct responder *responder = flow->own;
	uint64_t qp_index = wc->wr_id;

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
	responder->bytes += wc->byte_len - flow->resources->layout.header_bytes;
	if (++responder->owed[qp_index] < responder->batch || flow->state > FLOW_CLOSING) {
		return;
	}

	int number = responder_repost(flow->resources, qp_index, responder->batch);

	responder->owed[qp_index] -= responder->batch;
	if (number != 0) {
		fault_call(flow, "ibv_post_recv", number, qp_index, -1, now_ticks);
	}
}

static bool responder_burst(struct flow *flow)
{
	struct responder *responder = flow->own;
	struct ibv_wc wcs[RESPONDER_POLL];
	uint64_t until_ticks = clock_ticks() + flow->burst_ticks;
	unsigned empty = 0;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		uint64_t now_ticks;
		int count;

		while ((count = ibv_poll_cq(flow->resources->recv_cq, RESPONDER_POLL, wcs)) <= 0) {
			flow->polls++;
			flow->empty_polls++;
			if (count < 0) {
				fault_poll(flow, count, clock_ticks());
				return has_found;
			}
			if (++empty == flow->burst_empty) {
				return has_found;
			}
		}
		flow->polls++;
		has_found = true;
		now_ticks = clock_ticks();
		flow->found_ticks = now_ticks;
		if (!responder->has_opened) {
			responder->has_opened = true;
			flow_arrived(flow);
		}
		for (int i = 0; i < count; i++) {
			take_receive(flow, &wcs[i], now_ticks);
		}
		if (now_ticks >= flow->window.next_ticks) {
			flow_tick(flow, now_ticks);
		}
		if (flow->state > FLOW_CLOSING || now_ticks >= until_ticks) {
			break;
		}
	}
	return has_found;
}

static void responder_begin(struct flow *flow, uint64_t iterations)
{
	(void)flow;
	(void)iterations; /* counted by the initiator */
}

static void responder_mark(struct flow *flow)
{
	(void)flow; /* the window's counts say it all */
}

static void responder_close(struct flow *flow, uint64_t now_ticks)
{
	flow_drained(flow, now_ticks);
}

static void responder_counts(const struct flow *flow, struct window_counts *ret)
{
	const struct responder *responder = flow->own;

	ret->operations = flow->receives;
	ret->bytes = responder->bytes;
}

static bool responder_is_waiting(const struct flow *flow)
{
	(void)flow;
	return false; /* silence is the initiator's matter */
}

static void responder_describe(const struct flow *flow, char *text, size_t size_bytes)
{
	(void)flow;
	text_copy(text, size_bytes, "nothing is outstanding at this end");
}

static int responder_operation(const struct flow *flow, uint64_t wr_id, size_t *ret_qp)
{
	uint64_t qp_index = wr_id & ~FLOW_WR_RECEIVE;

	if (qp_index < flow->resources->qp_count) {
		*ret_qp = qp_index;
	}
	return -1;
}

const struct flow_pattern responder_pattern = {
	.name = "responder",
	.may_linger = true,
	.prepare = responder_prepare,
	.release = responder_release,
	.begin = responder_begin,
	.burst = responder_burst,
	.mark_open = responder_mark,
	.mark_close = responder_mark,
	.close = responder_close,
	.counts = responder_counts,
	.is_waiting = responder_is_waiting,
	.describe = responder_describe,
	.operation = responder_operation,
};
