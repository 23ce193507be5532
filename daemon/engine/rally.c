// SPDX-License-Identifier: MIT
#include "engine/rally.h"

#include "engine/fault.h"
#include "engine/responder.h"

/* What one burst may spend on looking in vain: a look at a completion queue costs as much as many
 * at memory. */
#define LOOKS (LOOK_COST * FLOW_BURST_EMPTY)
#define LOOK_COST 16

/* What is waited for must not be there already: another size may have left any byte in its place.
 */
void rally_forget(const struct pingpong_class *class, uint64_t iteration)
{
	if (class->kind == OPERATION_WRITE) {
		*class->seen = (uint8_t)~iteration;
	}
}

static inline void step_deck(struct pingpong *pingpong)
{
	pingpong->iteration++;
	pingpong->deck_place++;
	pingpong->deck_place = pingpong->deck_place == pingpong->deck_length ? 0
									     : pingpong->deck_place;
	pingpong->current = &pingpong->classes[pingpong->deck[pingpong->deck_place]];
}

/* Reads leave no trace at the end that answers. */
void rally_skip_reads(struct pingpong *pingpong)
{
	while (pingpong->current->kind == OPERATION_READ) {
		step_deck(pingpong);
	}
}

static void receive_failed(struct pingpong *pingpong, struct ibv_wc *wc)
{
	wc->wr_id |= FLOW_WR_RECEIVE;
	fault_completion(pingpong->flow, wc, clock_ticks());
}

static inline void look_for_completion(struct pingpong *pingpong)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(pingpong->send_cq, 1, &wc);

	if (__builtin_expect(count < 0, 0)) {
		fault_poll(pingpong->flow, count, clock_ticks());
	} else if (count > 0) {
		if (__builtin_expect(wc.status != IBV_WC_SUCCESS, 0)) {
			fault_completion(pingpong->flow, &wc, clock_ticks());
			return;
		}
		pingpong->wants_completion = false;
	}
}

/* A receive is posted again before the answer: the next one may follow at once. */
static inline void look_for_receive(struct pingpong *pingpong)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(pingpong->recv_cq, 1, &wc);

	if (__builtin_expect(count < 0, 0)) {
		fault_poll(pingpong->flow, count, clock_ticks());
	} else if (count > 0) {
		int number;

		if (__builtin_expect(wc.status != IBV_WC_SUCCESS, 0)) {
			receive_failed(pingpong, &wc);
			return;
		}
		pingpong->flow->receives++;
		number = responder_repost(pingpong->flow->resources, 0, 1);
		if (__builtin_expect(number != 0, 0)) {
			fault_call(pingpong->flow, "ibv_post_recv", number, 0, -1, clock_ticks());
			return;
		}
		pingpong->wants_arrival = false;
	}
}

static inline void look_for_arrival(struct pingpong *pingpong)
{
	const struct pingpong_class *class = pingpong->current;

	if (class->kind == OPERATION_WRITE) {
		/* What follows must not be read before it. */
		if (__atomic_load_n(class->seen, __ATOMIC_ACQUIRE) ==
		    (uint8_t)pingpong->iteration) {
			pingpong->wants_arrival = false;
		}
	} else {
		look_for_receive(pingpong);
	}
}

/* One look at all that is awaited; true when none of it is any more. After a failure the queue pair
 * is in ERR: nothing is taken from it or given to it here. */
static inline bool look(struct pingpong *pingpong)
{
	if (pingpong->wants_completion) {
		look_for_completion(pingpong);
	}
	if (pingpong->wants_arrival && pingpong->flow->state <= FLOW_CLOSING) {
		look_for_arrival(pingpong);
	}
	pingpong->flow->polls++;
	if (pingpong->wants_completion || pingpong->wants_arrival) {
		pingpong->flow->empty_polls++;
		return false;
	}
	return true;
}

/* Looks until all is there, too often for one burst, or something failed. */
static inline bool wait_for_all(struct pingpong *pingpong, int *looks)
{
	while (!look(pingpong)) {
		*looks -= pingpong->wants_completion || pingpong->current->kind == OPERATION_SEND
				  ? LOOK_COST
				  : 1;
		if (*looks <= 0 || pingpong->flow->state > FLOW_CLOSING) {
			return false;
		}
	}
	return pingpong->flow->state <= FLOW_CLOSING;
}

static inline bool post(struct pingpong *pingpong, struct pingpong_class *class, uint64_t iteration)
{
	struct ibv_send_wr *bad;
	int number;

	if (class->kind == OPERATION_WRITE) {
		*class->mark = (uint8_t)iteration;
	}
	pingpong->posted[class - pingpong->classes]++;
	pingpong->wants_completion = true;
	number = ibv_post_send(pingpong->qp, &class->wr, &bad);
	if (__builtin_expect(number != 0, 0)) {
		fault_call(pingpong->flow, "ibv_post_send", number, 0, class->kind, clock_ticks());
		return false;
	}
	return true;
}

static inline void count_done(struct pingpong *pingpong, const struct pingpong_class *class)
{
	pingpong->completed[class - pingpong->classes]++;
	pingpong->bytes += class->sge.length;
	pingpong->done++;
}

static inline void add_sample(struct pingpong *pingpong, uint64_t now_ticks)
{
	const struct pingpong_class *class = pingpong->current;
	struct window *window = &pingpong->flow->window;

	if (window_is_open(window)) {
		uint64_t ns = clock_ticks_to_ns(&window->scale, now_ticks - pingpong->stamp);

		histogram_add(&window->interval[class - pingpong->classes],
			      ns >> class->half_shift);
	}
}

/* An iteration is over at now_ticks. False when there is no next one. */
static inline bool end_iteration(struct pingpong *pingpong, uint64_t now_ticks)
{
	struct flow *flow = pingpong->flow;

	add_sample(pingpong, now_ticks);
	count_done(pingpong, pingpong->current);
	step_deck(pingpong);
	pingpong->is_under_way = false;
	flow->found_ticks = now_ticks;
	if (__builtin_expect(flow->state == FLOW_CLOSING, 0)) {
		flow_drained(flow, now_ticks);
	} else if (__builtin_expect(pingpong->done == pingpong->limit, 0)) {
		flow_finish(flow, now_ticks);
	} else if (__builtin_expect(now_ticks >= flow->window.next_ticks, 0)) {
		flow_tick(flow, now_ticks);
	}
	return flow->state <= FLOW_CLOSING;
}

bool rally_initiate(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;
	uint64_t now_ticks = clock_ticks();
	uint64_t until_ticks = now_ticks + flow->burst_ticks;
	int looks = LOOKS;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		if (!pingpong->is_under_way) {
			pingpong->is_under_way = true;
			pingpong->wants_arrival = pingpong->current->kind != OPERATION_READ;
			rally_forget(pingpong->current, pingpong->iteration);
			pingpong->stamp = now_ticks;
			if (!post(pingpong, pingpong->current, pingpong->iteration)) {
				break;
			}
		}
		if (!wait_for_all(pingpong, &looks)) {
			break;
		}
		/* One reading is the end of this sample and the begin of the next. */
		now_ticks = clock_ticks();
		has_found = true;
		bool is_quiet = flow->state == FLOW_RUNNING && now_ticks < flow->window.next_ticks;

		if (!end_iteration(pingpong, now_ticks) || now_ticks >= until_ticks) {
			break;
		}
		if (__builtin_expect(!is_quiet, 0)) {
			/* Cutting an interval or opening the window is in no sample. */
			now_ticks = clock_ticks();
		}
	}
	return has_found;
}

bool rally_answer(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;
	uint64_t until_ticks = clock_ticks() + flow->burst_ticks;
	struct pingpong_class *answered;
	uint64_t iteration;
	uint64_t now_ticks;
	int looks = LOOKS;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		if (!wait_for_all(pingpong, &looks)) {
			break;
		}
		has_found = true;
		if (!pingpong->has_opened) {
			pingpong->has_opened = true;
			flow_arrived(flow);
		}
		answered = pingpong->current;
		iteration = pingpong->iteration;
		step_deck(pingpong);
		rally_skip_reads(pingpong);
		rally_forget(pingpong->current, pingpong->iteration);
		pingpong->wants_arrival = true;
		now_ticks = clock_ticks();
		if (!post(pingpong, answered, iteration)) {
			break;
		}
		count_done(pingpong, answered);
		if (now_ticks >= flow->window.next_ticks) {
			flow_tick(flow, now_ticks);
		}
		if (flow->state > FLOW_CLOSING || now_ticks >= until_ticks) {
			break;
		}
	}
	return has_found;
}
