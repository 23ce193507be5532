// SPDX-License-Identifier: MIT
#include "engine/rally.h"

#include "engine/fault.h"
#include "engine/receives.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Of what one burst may spend on looking in vain: a look at a completion queue costs as much as
 * many at memory. */
#define LOOK_COST 16

/* What is waited for must not be there already: another size may have left any byte in its place.
 */
void rally_forget(const struct pingpong_class *class, uint64_t iteration)
{
	if (class->kind == OPERATION_WRITE) {
		*class->seen = (uint8_t)~iteration;
	}
}

static inline struct pingpong_class **deck_after(const struct pingpong *pingpong,
						 struct pingpong_class **card)
{
	card++;
	return card == pingpong->deck_end ? pingpong->deck : card;
}

static inline void step_deck(struct pingpong *pingpong)
{
	pingpong->iteration++;
	pingpong->card = deck_after(pingpong, pingpong->card);
}

/* What is fetched leaves no trace at the end that answers. */
void rally_skip_fetches(struct pingpong *pingpong)
{
	while ((*pingpong->card)->is_fetched) {
		step_deck(pingpong);
	}
}

static void completion_failed(struct pingpong *pingpong, int count, const struct ibv_wc *wc)
{
	if (count < 0) {
		fault_poll(pingpong->flow, count, clock_ticks());
	} else {
		fault_completion(pingpong->flow, wc, clock_ticks());
	}
}

/* True unless it failed. */
static inline bool look_for_completion(struct pingpong *pingpong)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(pingpong->send_cq, 1, &wc);

	if (likely(count > 0 && wc.status == IBV_WC_SUCCESS)) {
		pingpong->wants_completion = false;
	} else if (unlikely(count != 0)) {
		completion_failed(pingpong, count, &wc);
		return false;
	}
	return true;
}

static bool receive_failed(struct pingpong *pingpong, int count, struct ibv_wc *wc)
{
	wc->wr_id |= FLOW_WR_RECEIVE;
	completion_failed(pingpong, count, wc);
	return false;
}

/* A receive is posted again before the answer: the next one may follow at once. */
static inline bool look_for_receive(struct pingpong *pingpong)
{
	struct ibv_wc wc;
	int count = ibv_poll_cq(pingpong->recv_cq, 1, &wc);
	int number;

	if (count == 0) {
		return true;
	}
	if (unlikely(count < 0 || wc.status != IBV_WC_SUCCESS)) {
		return receive_failed(pingpong, count, &wc);
	}
	pingpong->flow->receives++;
	number = receives_repost(pingpong->flow->resources, 0, 0, 1);
	if (unlikely(number != 0)) {
		fault_call(pingpong->flow, pingpong->flow->resources->recv_call, number, 0, -1,
			   clock_ticks());
		return false;
	}
	pingpong->wants_arrival = false;
	return true;
}

static inline bool look_for_arrival(struct pingpong *pingpong)
{
	const struct pingpong_class *class = *pingpong->card;

	if (class->takes_receive) {
		return look_for_receive(pingpong);
	}
	/* What follows must not be read before it. */
	if (__atomic_load_n(class->seen, __ATOMIC_ACQUIRE) == (uint8_t)pingpong->iteration) {
		pingpong->wants_arrival = false;
	}
	return true;
}

/*
 * Looks until all is there, too often for one burst, or something failed: then the queue pair is in
 * ERR, and nothing is taken from it or given to it here.
 */
static inline bool wait_for_all(struct pingpong *pingpong, int *looks)
{
	struct flow *flow = pingpong->flow;

	for (;;) {
		flow->polls++;
		if (pingpong->wants_completion && !look_for_completion(pingpong)) {
			return false;
		}
		if (pingpong->wants_arrival && !look_for_arrival(pingpong)) {
			return false;
		}
		if (!pingpong->wants_completion && !pingpong->wants_arrival) {
			return true;
		}
		flow->empty_polls++;
		*looks -= pingpong->wants_completion || (*pingpong->card)->takes_receive ? LOOK_COST
											 : 1;
		if (*looks <= 0) {
			return false;
		}
	}
}

static inline bool post(struct pingpong *pingpong, struct pingpong_class *class, uint64_t iteration)
{
	struct ibv_send_wr *bad;
	int number;

	if (class->kind == OPERATION_WRITE) {
		*class->mark = (uint8_t)iteration;
	}
	class->posted++;
	pingpong->wants_completion = true;
	number = ibv_post_send(pingpong->qp, &class->wr, &bad);
	if (unlikely(number != 0)) {
		fault_call(pingpong->flow, "ibv_post_send", number, 0, class->kind, clock_ticks());
		return false;
	}
	return true;
}

static inline void add_sample(struct pingpong *pingpong, const struct pingpong_class *class,
			      uint64_t now_ticks)
{
	struct window *window = &pingpong->flow->window;

	if (likely(window_is_open(window))) {
		uint64_t ns = clock_ticks_to_ns(&window->scale, now_ticks - pingpong->stamp) >>
			      class->half_shift;

		histogram_add(class->latency, ns);
		if (unlikely(ns > window->slowest.floor_ns)) {
			window_slow(window, ns, now_ticks, 0, (size_t)(class - pingpong->classes));
		}
	}
}

/* An iteration is over at now_ticks. */
static inline void end_iteration(struct pingpong *pingpong, uint64_t now_ticks)
{
	struct pingpong_class *class = *pingpong->card;

	add_sample(pingpong, class, now_ticks);
	class->completed++;
	step_deck(pingpong);
	pingpong->is_under_way = false;
	pingpong->flow->found_ticks = now_ticks;
}

/* What is rarely due after an iteration. False when there is no next one. */
static bool look_around(struct pingpong *pingpong, uint64_t now_ticks)
{
	struct flow *flow = pingpong->flow;

	if (flow->state == FLOW_CLOSING) {
		flow_drained(flow, now_ticks);
	} else if (pingpong->iteration == pingpong->limit) {
		flow_finish(flow, now_ticks);
	} else if (now_ticks >= flow->window.next_ticks) {
		flow_tick(flow, now_ticks);
	}
	return flow->state <= FLOW_CLOSING;
}

static inline bool begin_iteration(struct pingpong *pingpong, uint64_t now_ticks)
{
	struct pingpong_class *class = *pingpong->card;

	pingpong->is_under_way = true;
	pingpong->wants_arrival = !class->is_fetched;
	rally_forget(class, pingpong->iteration);
	pingpong->stamp = now_ticks;
	return post(pingpong, class, pingpong->iteration);
}

bool rally_initiate(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;
	uint64_t now_ticks = clock_ticks();
	uint64_t until_ticks = now_ticks + flow->burst_ticks;
	int looks = LOOK_COST * (int)flow->burst_empty;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		if (!pingpong->is_under_way && !begin_iteration(pingpong, now_ticks)) {
			break;
		}
		if (!wait_for_all(pingpong, &looks)) {
			break;
		}
		/* One reading is the end of this sample and the begin of the next. */
		now_ticks = clock_ticks();
		has_found = true;
		end_iteration(pingpong, now_ticks);
		if (unlikely(flow->state != FLOW_RUNNING ||
			     pingpong->iteration == pingpong->limit ||
			     now_ticks >= flow->window.next_ticks)) {
			if (!look_around(pingpong, now_ticks)) {
				break;
			}
			/* Cutting an interval or opening the window is in no sample. */
			now_ticks = clock_ticks();
		}
		if (now_ticks >= until_ticks) {
			break;
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
	int looks = LOOK_COST * (int)flow->burst_empty;
	bool has_found = false;

	for (unsigned round = 0; round < FLOW_BURST_ROUNDS; round++) {
		if (!wait_for_all(pingpong, &looks)) {
			break;
		}
		has_found = true;
		if (unlikely(!pingpong->has_opened)) {
			pingpong->has_opened = true;
			flow_arrived(flow);
		}
		answered = *pingpong->card;
		iteration = pingpong->iteration;
		step_deck(pingpong);
		rally_skip_fetches(pingpong);
		rally_forget(*pingpong->card, pingpong->iteration);
		pingpong->wants_arrival = true;
		now_ticks = clock_ticks();
		flow->found_ticks = now_ticks;
		if (!post(pingpong, answered, iteration)) {
			break;
		}
		answered->completed++;
		if (unlikely(now_ticks >= flow->window.next_ticks)) {
			flow_tick(flow, now_ticks);
		}
		if (unlikely(flow->state > FLOW_CLOSING || now_ticks >= until_ticks)) {
			break;
		}
	}
	return has_found;
}
