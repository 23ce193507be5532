// SPDX-License-Identifier: MIT
#include "engine/pingpong.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/fault.h"
#include "engine/responder.h"
#include "util/memory.h"
#include "util/units.h"

#define DECK_LEAST 1000
/* What one burst may spend on looking in vain: a look at a completion queue costs as much as many
 * at memory. */
#define LOOKS (LOOK_COST * FLOW_BURST_EMPTY)
#define LOOK_COST 16

struct pingpong_class {
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int kind;
	unsigned half_shift; /* 1: a sample is half of what was measured */
	volatile uint8_t *mark; /* write: last byte of what goes out */
	volatile uint8_t *seen; /* write: last byte of what comes in */
};

struct pingpong {
	struct flow *flow;
	struct ibv_qp *qp;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	uint16_t *deck;
	size_t deck_length;
	size_t deck_place; /* of `iteration` */
	uint64_t iteration; /* the one to post next, or under way */
	uint64_t done;
	uint64_t limit; /* of done */
	uint64_t bytes;
	uint64_t stamp; /* of the post under way */
	struct pingpong_class *current; /* of `iteration` */
	bool is_under_way;
	bool wants_completion;
	bool wants_arrival;
	bool has_opened;
	struct pingpong_class classes[LIMIT_CLASSES];
	uint64_t completed[LIMIT_CLASSES];
	uint64_t posted[LIMIT_CLASSES];
	uint64_t open_completed[LIMIT_CLASSES], open_posted[LIMIT_CLASSES];
	uint64_t close_completed[LIMIT_CLASSES], close_posted[LIMIT_CLASSES];
};

static bool pingpong_initiate(struct flow *flow);
static bool pingpong_answer(struct flow *flow);

static int check(const struct flow *flow, struct error *err)
{
	const struct workload *workload = &flow->assignment->workload;

	if (flow->resources->qp_count != 1) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"workload.pattern: pingpong uses one queue pair, not qp.num_qps %zu",
			flow->resources->qp_count);
	}
	if (workload->workload.load.outstanding != 1 || workload->workload.post_list != 1 ||
	    workload->workload.signal_interval != 1) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.pattern: pingpong has one operation under way: "
				 "load.outstanding, post_list and signal_interval must be 1");
	}
	for (size_t i = 0; i < flow->class_count; i++) {
		const struct operation_class *class = &flow->classes[i];

		if (class->kind == OPERATION_WRITE && class->size_bytes == 0) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "workload.ops: a pingpong write is seen by its last byte: "
					 "size must be at least 1B");
		}
		if (class->kind == OPERATION_SEND && flow->resources->recv_depth == 0) {
			return error_set(err, -EINVAL, ERROR_BUG,
					 "no receives were posted although sends will come");
		}
	}
	return 0;
}

static void fill_class(struct pingpong *pingpong, size_t class_index)
{
	const struct flow *flow = pingpong->flow;
	struct pingpong_class *class = &pingpong->classes[class_index];
	uint8_t *buffer = flow->resources->buffer;
	uint64_t size_bytes = flow->classes[class_index].size_bytes;

	flow_request(flow, 0, class_index, &class->wr, &class->sge);
	class->wr.wr_id = class_index;
	class->wr.send_flags |= IBV_SEND_SIGNALED;
	class->kind = flow->classes[class_index].kind;
	class->half_shift = class->kind == OPERATION_READ ? 0 : 1;
	if (class->kind == OPERATION_WRITE) {
		class->mark = buffer + size_bytes - 1;
		class->seen = buffer + flow->resources->layout.half_bytes + size_bytes - 1;
	}
}

/* What is waited for must not be there already: another size may have left any byte in its place.
 */
static inline void forget(const struct pingpong_class *class, uint64_t iteration)
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
static inline void skip_reads(struct pingpong *pingpong)
{
	while (pingpong->current->kind == OPERATION_READ) {
		step_deck(pingpong);
	}
}

static int pingpong_prepare(struct flow *flow, struct error *err)
{
	struct pingpong *pingpong = memory_new(sizeof(*pingpong));
	int ret = check(flow, err);

	flow->own = pingpong;
	if (ret < 0) {
		return ret;
	}
	pingpong->flow = flow;
	pingpong->qp = flow->resources->qps[0];
	pingpong->send_cq = flow->resources->send_cq;
	pingpong->recv_cq = flow->resources->recv_cq;
	pingpong->deck_length =
		operation_deck_length(flow->classes, flow->class_count, 1, 1, DECK_LEAST);
	pingpong->deck = memory_new_array(pingpong->deck_length, sizeof(*pingpong->deck));
	operation_deck(flow->classes, flow->class_count, 1, flow->assignment->seed, pingpong->deck,
		       pingpong->deck_length);
	for (size_t i = 0; i < flow->class_count; i++) {
		fill_class(pingpong, i);
	}
	pingpong->current = &pingpong->classes[pingpong->deck[0]];
	flow->burst = flow->is_answering ? pingpong_answer : pingpong_initiate;
	if (flow->is_answering) {
		/* Here, and not at the start: the other end may begin first. */
		skip_reads(pingpong);
		forget(pingpong->current, pingpong->iteration);
		pingpong->wants_arrival = true;
	}
	return 0;
}

static void pingpong_release(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;

	if (pingpong) {
		free(pingpong->deck);
		free(pingpong);
	}
	flow->own = NULL;
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

	if (count > 0) {
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

	if (count > 0) {
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
		if (*class->seen == (uint8_t)pingpong->iteration) {
			/* What follows must not be read before it. */
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			pingpong->wants_arrival = false;
		}
	} else {
		look_for_receive(pingpong);
	}
}

/* One look at all that is awaited; true when none of it is any more. */
static inline bool look(struct pingpong *pingpong)
{
	if (pingpong->wants_completion) {
		look_for_completion(pingpong);
	}
	if (pingpong->wants_arrival) {
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

	if (pingpong->stamp >= window->open_ticks) {
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

static bool pingpong_initiate(struct flow *flow)
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
			forget(pingpong->current, pingpong->iteration);
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
		bool is_quiet = now_ticks < flow->window.next_ticks;

		if (!end_iteration(pingpong, now_ticks) || now_ticks >= until_ticks) {
			break;
		}
		if (__builtin_expect(!is_quiet, 0)) {
			now_ticks = clock_ticks(); /* cutting an interval is in no sample */
		}
	}
	return has_found;
}

static bool pingpong_answer(struct flow *flow)
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
		skip_reads(pingpong);
		forget(pingpong->current, pingpong->iteration);
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

static void pingpong_begin(struct flow *flow, uint64_t iterations)
{
	struct pingpong *pingpong = flow->own;

	/* The place in the deck stays: the other end is there, too. */
	pingpong->limit = iterations > 0 ? pingpong->done + iterations : UINT64_MAX;
}

static void pingpong_mark_open(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;

	memcpy(pingpong->open_posted, pingpong->posted, sizeof(pingpong->posted));
	memcpy(pingpong->open_completed, pingpong->completed, sizeof(pingpong->completed));
}

static void pingpong_mark_close(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;

	memcpy(pingpong->close_posted, pingpong->posted, sizeof(pingpong->posted));
	memcpy(pingpong->close_completed, pingpong->completed, sizeof(pingpong->completed));
}

static void pingpong_close(struct flow *flow, uint64_t now_ticks)
{
	const struct pingpong *pingpong = flow->own;

	if (!pingpong->is_under_way) {
		flow_drained(flow, now_ticks);
	}
}

static void pingpong_counts(const struct flow *flow, struct window_counts *ret)
{
	const struct pingpong *pingpong = flow->own;

	ret->operations = pingpong->done;
	ret->bytes = pingpong->bytes;
}

static bool pingpong_is_waiting(const struct flow *flow)
{
	const struct pingpong *pingpong = flow->own;

	return pingpong->is_under_way;
}

static void pingpong_describe(const struct flow *flow, char *text, size_t size_bytes)
{
	const struct pingpong *pingpong = flow->own;
	const char *missing = pingpong->wants_completion ? "its own completion"
							 : "the answer of the other end";
	char size[UNITS_SIZE];

	snprintf(text, size_bytes,
		 "iteration %llu, a %s of %s on queue pair 0x%x to 0x%llx, lacks %s",
		 (unsigned long long)pingpong->iteration, operation_names[pingpong->current->kind],
		 units_format_size(pingpong->current->sge.length, size), pingpong->qp->qp_num,
		 (unsigned long long)flow->remote->qps[0].qp_num, missing);
}

static int pingpong_operation(const struct flow *flow, uint64_t wr_id, size_t *ret_qp)
{
	*ret_qp = 0;
	return wr_id < flow->class_count ? flow->classes[wr_id].kind : -1;
}

static void pingpong_class_totals(const struct flow *flow, struct class_totals *classes)
{
	const struct pingpong *pingpong = flow->own;

	for (size_t i = 0; i < flow->class_count; i++) {
		classes[i].posted = pingpong->close_posted[i] - pingpong->open_posted[i];
		classes[i].completed = pingpong->close_completed[i] - pingpong->open_completed[i];
		classes[i].bytes = classes[i].completed * flow->classes[i].size_bytes;
	}
}

const struct flow_pattern pingpong_pattern = {
	.name = "pingpong",
	.prepare = pingpong_prepare,
	.release = pingpong_release,
	.begin = pingpong_begin,
	.burst = pingpong_initiate,
	.mark_open = pingpong_mark_open,
	.mark_close = pingpong_mark_close,
	.close = pingpong_close,
	.counts = pingpong_counts,
	.is_waiting = pingpong_is_waiting,
	.describe = pingpong_describe,
	.operation = pingpong_operation,
	.class_totals = pingpong_class_totals,
};
