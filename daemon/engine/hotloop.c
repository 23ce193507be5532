// SPDX-License-Identifier: MIT
#include "engine/hotloop.h"

#include <infiniband/verbs.h>

#include "engine/fault.h"
#include "engine/stream.h"
#include "engine/stream_verify.h"

#define HOTLOOP_POLL 32
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Position up to which a queue pair may have posted now. */
static inline uint64_t room_limit(const struct stream_qp *qp)
{
	uint64_t limit = qp->completed + qp->depth;

	return limit < qp->batch_limit ? limit : qp->batch_limit;
}

/* Only batches that hold a signalled request are stamped: no other stamp is ever read. */
static inline int post_batch(struct stream_qp *qp, const struct chain_batch *batch,
			     struct ibv_send_wr **bad)
{
	if (batch->stamp) {
		*batch->stamp = clock_ticks();
	}
	return ibv_post_send(qp->qp, batch->head, bad);
}

static inline void complete(struct stream *stream, const struct ibv_wc *wc, uint64_t now_ticks)
{
	struct window *window = &stream->flow->window;

	if (unlikely(wc->status != IBV_WC_SUCCESS || wc->wr_id >= stream->chain.slot_count)) {
		stream_odd_completion(stream, wc, now_ticks);
		return;
	}

	const struct chain_slot *slot = &stream->chain.slots[wc->wr_id];
	struct stream_qp *qp = &stream->qps[slot->qp_index];

	if (likely(window_is_open(window))) {
		uint64_t ns = clock_ticks_to_ns(&window->scale, now_ticks - *slot->stamp);

		histogram_add(slot->latency, ns);
		if (unlikely(ns > window->slowest.floor_ns)) {
			window_slow(window, ns, now_ticks, slot->qp_index, slot->class_index);
		}
	}
	qp->completed += stream->signal_interval;
	if (unlikely(qp->completed == qp->limit)) {
		stream_qp_finished(stream, now_ticks);
	}
}

/* What both loops do after posting. Returns how many completions there were, below 0 when the flow
 * ended because they cannot be read. */
static inline int poll_round(struct stream *stream, struct ibv_wc *wcs, uint64_t *ret_now_ticks)
{
	struct flow *flow = stream->flow;
	int count = ibv_poll_cq(stream->cq, HOTLOOP_POLL, wcs);

	flow->polls++;
	if (count <= 0) {
		flow->empty_polls++;
		if (unlikely(count < 0)) {
			fault_poll(flow, count, clock_ticks());
		}
		return count;
	}
	*ret_now_ticks = clock_ticks();
	flow->found_ticks = *ret_now_ticks;
	return count;
}

/* Whether a burst goes on after something completed at now_ticks. */
static inline bool goes_on(struct flow *flow, uint64_t now_ticks, uint64_t until_ticks)
{
	if (unlikely(now_ticks >= flow->window.next_ticks)) {
		flow_tick(flow, now_ticks);
		return false;
	}
	return likely(flow->state <= FLOW_CLOSING && now_ticks < until_ticks);
}

/* --- verified payload --- */

/* What a completion brought back, before its place is used again. */
static inline void look_at(struct stream *stream, const struct ibv_wc *wc)
{
	if (likely(wc->status == IBV_WC_SUCCESS && wc->wr_id < stream->chain.slot_count)) {
		size_t qp_index = stream->chain.slots[wc->wr_id].qp_index;

		stamp_look(stream->stamp, qp_index, stream->qps[qp_index].completed);
	}
}

/* Nothing completed: whether there is something else, or the flow is not what it was. */
static bool look_around(struct stream *stream, bool *ret_found)
{
	bool has_come = stream_verify_turn(stream, clock_ticks());

	*ret_found |= has_come;
	return has_come || stream->flow->state > FLOW_CLOSING;
}

static inline bool post_all(struct stream *stream, struct stream_qp *qp)
{
	const struct chain_batch *next = qp->next;
	uint64_t post_list = stream->post_list;
	uint64_t most = qp->posted + FLOW_BURST_ROUNDS * post_list;
	uint64_t limit = room_limit(qp);
	uint64_t posted = qp->posted;
	struct ibv_send_wr *bad = NULL;
	int number = 0;

	limit = limit < most ? limit : most;
	while (posted + post_list <= limit) {
		number = post_batch(qp, next, &bad);
		if (unlikely(number != 0)) {
			break;
		}
		next++;
		next = next == qp->end ? qp->first : next;
		posted += post_list;
	}
	bool has_posted = posted != qp->posted;

	qp->next = next;
	qp->posted = posted;
	if (unlikely(number != 0)) {
		stream_post_failed(stream, qp, bad, number);
	} else if (unlikely(posted >= qp->batch_limit)) {
		stream_post_tail(stream, qp);
	}
	return has_posted;
}

bool hotloop_one(struct flow *flow)
{
	struct stream *stream = flow->own;
	struct ibv_wc wcs[HOTLOOP_POLL];
	uint64_t until_ticks = clock_ticks() + flow->burst_ticks;
	uint64_t now_ticks = 0;
	unsigned empty = 0;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		bool has_posted = post_all(stream, &stream->qps[0]);
		int count;

		if (unlikely(flow->state > FLOW_CLOSING)) {
			break;
		}
		while ((count = poll_round(stream, wcs, &now_ticks)) == 0 && !has_posted) {
			if (++empty == flow->burst_empty) {
				return has_found;
			}
		}
		if (unlikely(count < 0)) {
			break;
		}
		for (int i = 0; i < count; i++) {
			complete(stream, &wcs[i], now_ticks);
		}
		has_found |= count > 0;
		if (count > 0 && !goes_on(flow, now_ticks, until_ticks)) {
			break;
		}
	}
	return has_found;
}

static inline __attribute__((always_inline)) void make_ready(struct stream *stream,
							     struct stream_qp *qp, bool is_verified)
{
	if (!qp->is_ready && qp->posted + stream->post_list <= room_limit(qp) &&
	    (!is_verified ||
	     stamp_has_room(stream->stamp, (size_t)(qp - stream->qps), stream->post_list))) {
		qp->is_ready = true;
		stream->ready[stream->ready_tail++ & stream->ready_mask] =
			(uint32_t)(qp - stream->qps);
	}
}

void hotloop_make_ready(struct stream *stream, struct stream_qp *qp)
{
	make_ready(stream, qp, true);
	if (qp->posted >= qp->batch_limit) {
		stream_post_tail(stream, qp);
	}
}

/* A queue pair's next batch. */
static inline void fill_next(struct stream *stream, struct stream_qp *qp)
{
	stamp_fill(stream->stamp, (size_t)(qp - stream->qps), qp->posted, qp->next->head);
}

/*
 * One batch of each queue pair that has room, round and round, for a bounded number of batches.
 * Once a post failed all queue pairs are in ERR: nothing is posted to the others either.
 */
static inline __attribute__((always_inline)) bool post_in_turn(struct stream *stream,
							       bool is_verified)
{
	uint64_t left = FLOW_BURST_ROUNDS;
	bool has_posted = false;

	while (stream->ready_head != stream->ready_tail && left > 0) {
		struct stream_qp *qp =
			&stream->qps[stream->ready[stream->ready_head++ & stream->ready_mask]];
		struct ibv_send_wr *bad = NULL;
		int number;

		qp->is_ready = false;
		if (is_verified) {
			fill_next(stream, qp);
		}
		number = post_batch(qp, qp->next, &bad);
		if (unlikely(number != 0)) {
			stream_post_failed(stream, qp, bad, number);
			return has_posted;
		}
		qp->next++;
		qp->next = qp->next == qp->end ? qp->first : qp->next;
		qp->posted += stream->post_list;
		has_posted = true;
		left--;
		make_ready(stream, qp, is_verified);
		if (unlikely(qp->posted >= qp->batch_limit)) {
			stream_post_tail(stream, qp);
			if (stream->flow->state > FLOW_CLOSING) {
				return has_posted;
			}
		}
	}
	return has_posted;
}

static inline __attribute__((always_inline)) void
ready_again(struct stream *stream, const struct ibv_wc *wc, bool is_verified)
{
	if (likely(wc->wr_id < stream->chain.slot_count)) {
		struct stream_qp *qp = &stream->qps[stream->chain.slots[wc->wr_id].qp_index];

		make_ready(stream, qp, is_verified);
		if (unlikely(qp->posted >= qp->batch_limit)) {
			stream_post_tail(stream, qp);
		}
	}
}

static inline __attribute__((always_inline)) bool many(struct flow *flow, bool is_verified)
{
	struct stream *stream = flow->own;
	struct ibv_wc wcs[HOTLOOP_POLL];
	uint64_t until_ticks = clock_ticks() + flow->burst_ticks;
	uint64_t now_ticks = 0;
	unsigned empty = 0;
	bool has_found = false;

	if (unlikely(stream->has_short)) {
		stream_post_short(stream);
		if (flow->state > FLOW_CLOSING) {
			return false;
		}
	}
	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		bool has_posted = post_in_turn(stream, is_verified);
		int count;

		if (unlikely(flow->state > FLOW_CLOSING)) {
			break;
		}
		while ((count = poll_round(stream, wcs, &now_ticks)) == 0 && !has_posted) {
			if (is_verified && look_around(stream, &has_found)) {
				if (flow->state > FLOW_CLOSING) {
					return has_found;
				}
				break;
			}
			if (++empty == flow->burst_empty) {
				return has_found;
			}
		}
		if (unlikely(count < 0)) {
			break;
		}
		for (int i = 0; i < count; i++) {
			complete(stream, &wcs[i], now_ticks);
			if (is_verified) {
				look_at(stream, &wcs[i]);
			}
			ready_again(stream, &wcs[i], is_verified);
		}
		has_found |= count > 0;
		if (is_verified && count > 0 && flow->state <= FLOW_CLOSING) {
			stream_verify_turn(stream, now_ticks);
		}
		if (count > 0 && !goes_on(flow, now_ticks, until_ticks)) {
			break;
		}
	}
	return has_found;
}

bool hotloop_many(struct flow *flow)
{
	return many(flow, false);
}

bool hotloop_verified(struct flow *flow)
{
	return many(flow, true);
}

/* --- direction: both --- */

/* Whether a burst goes on after something arrived, and nothing of its own completed: no completion
 * was there to look at the clock for. */
static inline bool goes_on_answering(struct flow *flow, uint64_t until_ticks)
{
	flow_look(flow);
	return likely(flow->state <= FLOW_CLOSING && flow->seen_ticks < until_ticks);
}

bool hotloop_mutual(struct flow *flow)
{
	struct stream *stream = flow->own;
	struct ibv_wc wcs[HOTLOOP_POLL];
	uint64_t until_ticks = clock_ticks() + flow->burst_ticks;
	uint64_t now_ticks = 0;
	unsigned empty = 0;
	bool has_found = false;
	bool goes_further = true;

	if (unlikely(stream->has_short)) {
		stream_post_short(stream);
	}
	for (unsigned round = 0; round < FLOW_BURST_ROUNDS && goes_further; round++) {
		bool has_posted = flow->state <= FLOW_CLOSING && post_in_turn(stream, false);
		int came = flow->state <= FLOW_CLOSING ? arrivals_take(stream->arrivals, flow) : 0;
		int count;

		if (unlikely(flow->state > FLOW_CLOSING)) {
			break;
		}
		count = poll_round(stream, wcs, &now_ticks);
		if (unlikely(count < 0)) {
			break;
		}
		for (int i = 0; i < count; i++) {
			complete(stream, &wcs[i], now_ticks);
			ready_again(stream, &wcs[i], false);
		}
		has_found |= count + came > 0;
		goes_further = count > 0  ? goes_on(flow, now_ticks, until_ticks)
			       : came > 0 ? goes_on_answering(flow, until_ticks)
					  : has_posted || ++empty < flow->burst_empty;
	}
	return has_found;
}

/* --- open loads --- */

/* Posts one request, meant for `pacer->next_ticks`. */
static inline int post_one(struct stream *stream, struct stream_qp *qp, struct ibv_send_wr **bad)
{
	const struct chain_batch *batch = qp->next;
	struct pacer *pacer = &stream->pacer;

	stream->chain.intended[batch->head->wr_id] = pacer->next_ticks;
	pacer->late += pacer->next_ticks <= pacer->full_ticks;
	qp->next = batch + 1 == qp->end ? qp->first : batch + 1;
	qp->posted++;
	return post_batch(qp, batch, bad);
}

/* Nothing was under way: silence before was no stall. */
static inline void note_begin(struct stream *stream, uint64_t now_ticks)
{
	if (stream->under_way++ == 0) {
		stream->flow->found_ticks = now_ticks;
	}
}

/* All that is due by now, as far as there is room, for a bounded number of them. */
static inline __attribute__((always_inline)) void post_due(struct stream *stream,
							   uint64_t now_ticks, bool is_verified)
{
	struct flow *flow = stream->flow;
	struct pacer *pacer = &stream->pacer;
	uint64_t left = FLOW_BURST_ROUNDS;

	pacer_look(pacer, now_ticks);
	while (pacer->next_ticks <= now_ticks && left > 0) {
		struct ibv_send_wr *bad = NULL;
		struct stream_qp *qp;
		int number;

		if (unlikely(stream->ready_head == stream->ready_tail)) {
			if (!pacer_full(pacer, now_ticks)) {
				fault_behind(flow, now_ticks);
				return;
			}
			break;
		}
		qp = &stream->qps[stream->ready[stream->ready_head++ & stream->ready_mask]];
		qp->is_ready = false;
		note_begin(stream, now_ticks);
		if (is_verified) {
			fill_next(stream, qp);
		}
		number = post_one(stream, qp, &bad);
		if (unlikely(number != 0)) {
			qp->posted--;
			stream_post_failed(stream, qp, bad, number);
			return;
		}
		make_ready(stream, qp, is_verified);
		pacer_advance(pacer);
		left--;
		if (unlikely(--pacer->left == 0)) {
			stream_posted_all(stream, now_ticks);
			return;
		}
	}
	/* Without room only a completion can help, but for what is dropped at its time. */
	flow->pace_ticks = stream->ready_head == stream->ready_tail && !pacer->is_dropping
				   ? CLOCK_NEVER
				   : pacer->next_ticks;
}

static inline void complete_paced(struct stream *stream, const struct ibv_wc *wc,
				  uint64_t now_ticks)
{
	struct flow *flow = stream->flow;

	stream->under_way--;
	if (likely(wc->status == IBV_WC_SUCCESS && wc->wr_id < stream->chain.slot_count &&
		   window_is_open(&flow->window))) {
		/* A request is a batch of its own. */
		uint64_t stamp = stream->chain.stamps[wc->wr_id];

		histogram_add(&flow->window.service[stream->chain.slots[wc->wr_id].class_index],
			      clock_ticks_to_ns(&flow->window.scale, now_ticks - stamp));
	}
	complete(stream, wc, now_ticks);
}

static inline __attribute__((always_inline)) bool paced(struct flow *flow, bool is_mutual,
							bool is_verified)
{
	struct stream *stream = flow->own;
	struct ibv_wc wcs[HOTLOOP_POLL];
	uint64_t now_ticks = clock_ticks();
	uint64_t until_ticks = now_ticks + flow->burst_ticks;
	unsigned empty = 0;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		int came = is_mutual ? arrivals_take(stream->arrivals, flow) : 0;
		int count;

		if (is_mutual && unlikely(flow->state > FLOW_CLOSING)) {
			break;
		}
		/* First of all: what has completed makes room. */
		count = poll_round(stream, wcs, &now_ticks);
		if (unlikely(count < 0)) {
			break;
		}
		for (int i = 0; i < count; i++) {
			if (is_verified && (wcs[i].wr_id & FLOW_WR_MARK)) {
				complete(stream, &wcs[i], now_ticks);
				continue;
			}
			complete_paced(stream, &wcs[i], now_ticks);
			if (is_verified) {
				look_at(stream, &wcs[i]);
			}
			ready_again(stream, &wcs[i], is_verified);
		}
		has_found |= count + came > 0;
		if (count > 0 && !goes_on(flow, now_ticks, until_ticks)) {
			break;
		}
		if (is_mutual && count == 0 && came > 0 && !goes_on_answering(flow, until_ticks)) {
			break;
		}
		if (count == 0) {
			now_ticks = clock_ticks();
		}
		if (is_verified && flow->state <= FLOW_CLOSING &&
		    stream_verify_turn(stream, now_ticks)) {
			has_found = true;
			came = 1;
		}
		if (likely(flow->state == FLOW_RUNNING && stream->pacer.left > 0)) {
			post_due(stream, now_ticks, is_verified);
		}
		if (unlikely(flow->state > FLOW_CLOSING) ||
		    (count + came == 0 && ++empty == flow->burst_empty)) {
			break;
		}
	}
	return has_found;
}

bool hotloop_paced(struct flow *flow)
{
	return paced(flow, false, false);
}

bool hotloop_paced_verified(struct flow *flow)
{
	return paced(flow, false, true);
}

bool hotloop_paced_mutual(struct flow *flow)
{
	return paced(flow, true, false);
}
