// SPDX-License-Identifier: MIT
#include "engine/responder.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "engine/inspect.h"
#include "engine/receives.h"
#include "util/memory.h"
#include "util/text.h"

#define RESPONDER_POLL 32

struct responder {
	struct receives receives;
	struct inspect *inspect; /* NULL: payload is not verified */
	uint64_t bytes;
	bool has_opened;
};

static bool burst_verified(struct flow *flow);

static int responder_prepare(struct flow *flow, struct error *err)
{
	struct responder *responder = memory_new(sizeof(*responder));

	flow->own = responder;
	if (flow->resources->recv_depth == 0) {
		return error_set(err, -EINVAL, ERROR_BUG,
				 "no receives were posted although sends will come");
	}
	receives_init(&responder->receives, flow);
	if (workload_is_verified(&flow->assignment->workload)) {
		responder->inspect = inspect_new(flow);
		flow->burst = burst_verified;
	}
	return 0;
}

static void responder_release(struct flow *flow)
{
	struct responder *responder = flow->own;

	if (responder) {
		receives_done(&responder->receives);
		inspect_free(responder->inspect);
		free(responder);
	}
	flow->own = NULL;
}

static inline void take_receive(struct flow *flow, struct ibv_wc *wc, uint64_t now_ticks,
				bool is_verified)
{
	struct responder *responder = flow->own;

	if (!receives_is_good(flow, wc, now_ticks)) {
		return;
	}
	if (!is_verified || inspect_take(responder->inspect, wc)) {
		flow->receives++;
		responder->bytes += wc->byte_len - flow->resources->layout.header_bytes;
	}
	receives_give_back(&responder->receives, flow, wc->wr_id, now_ticks);
}

static inline __attribute__((always_inline)) bool burst(struct flow *flow, bool is_verified)
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
			if (is_verified) {
				inspect_answer(responder->inspect, flow->found_ticks);
			}
			if (flow->state > FLOW_CLOSING) {
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
			take_receive(flow, &wcs[i], now_ticks, is_verified);
		}
		if (is_verified && flow->state <= FLOW_CLOSING) {
			inspect_answer(responder->inspect, now_ticks);
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

static bool responder_burst(struct flow *flow)
{
	return burst(flow, false);
}

static bool burst_verified(struct flow *flow)
{
	return burst(flow, true);
}

static void responder_take_late(struct flow *flow, const struct ibv_wc *wc)
{
	struct responder *responder = flow->own;

	flow->receives += !responder->inspect || wc->wr_id >= flow->resources->recv_queues ||
			  inspect_take(responder->inspect, wc);
}

static bool responder_verification(const struct flow *flow, struct verification *ret)
{
	const struct responder *responder = flow->own;

	if (responder->inspect) {
		inspect_counts(responder->inspect, ret);
	}
	return responder->inspect != NULL;
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
	uint64_t qp_index = wr_id & ~(FLOW_WR_RECEIVE | FLOW_WR_MARK);

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
	.take_late = responder_take_late,
	.verification = responder_verification,
};
