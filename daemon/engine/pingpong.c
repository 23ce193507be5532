// SPDX-License-Identifier: MIT
#include "engine/pingpong.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/rally.h"
#include "util/memory.h"
#include "util/units.h"

#define DECK_LEAST 1000

/* As it is posted. */
static int kind_of(const struct flow *flow, const struct operation_class *class)
{
	return class->kind == OPERATION_WRITE &&
			       workload_is_seen_by_receive(&flow->assignment->workload,
							   class->size_bytes, class->response_bytes)
		       ? OPERATION_WRITE_WITH_IMM
		       : class->kind;
}

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
		if ((operation_traits(kind_of(flow, class)) & OPERATION_TAKES_RECEIVE) &&
		    flow->resources->recv_depth == 0) {
			return error_set(err, -EINVAL, ERROR_BUG,
					 "no receives were posted although %s will take them",
					 operation_names[class->kind]);
		}
	}
	return 0;
}

static void fill_class(struct pingpong *pingpong, size_t class_index)
{
	const struct flow *flow = pingpong->flow;
	const struct operation_class *of = &flow->classes[class_index];
	struct pingpong_class *class = &pingpong->classes[class_index];
	bool is_halved = flow->assignment->workload.workload.pattern == PATTERN_PINGPONG;
	uint64_t out_bytes = flow->is_answering ? of->response_bytes : of->size_bytes;
	uint64_t in_bytes = flow->is_answering ? of->size_bytes : of->response_bytes;
	bool is_inline = flow->is_answering ? of->is_response_inline : of->is_inline;
	uint8_t *buffer = flow->resources->buffer;

	flow_request(flow, 0, class_index, 0, &class->wr, class->sges);
	flow_pieces(flow, of->kind, class->sges[0].addr, out_bytes, &class->wr);
	class->out_bytes = out_bytes;
	class->wr.wr_id = class_index;
	class->kind = kind_of(flow, of);
	class->wr.send_flags = flow_signal_flags(flow, class->kind) |
			       (is_inline ? IBV_SEND_INLINE : 0u);
	if (class->kind == OPERATION_WRITE_WITH_IMM) {
		class->wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	}
	class->is_fetched = operation_traits(class->kind) & OPERATION_FETCHES;
	class->takes_receive = operation_traits(class->kind) & OPERATION_TAKES_RECEIVE;
	class->half_shift = is_halved && !class->is_fetched ? 1 : 0;
	if (class->kind == OPERATION_WRITE) {
		class->mark = buffer + out_bytes - 1;
		class->seen = buffer + flow->resources->layout.half_bytes + in_bytes - 1;
	}
	class->latency = &flow->window.interval[class_index];
}

/* The order of all operations: round and round the same deck. */
static void deal(struct pingpong *pingpong)
{
	const struct flow *flow = pingpong->flow;
	size_t length = operation_deck_length(flow->classes, flow->class_count, 1, 1, DECK_LEAST);
	_cleanup_free_ uint16_t *deck = memory_new_array(length, sizeof(*deck));

	operation_deck(flow->classes, flow->class_count, 1, flow->assignment->seed, deck, length);
	pingpong->deck = memory_new_array(length, sizeof(struct pingpong_class *));
	for (size_t i = 0; i < length; i++) {
		pingpong->deck[i] = &pingpong->classes[deck[i]];
	}
	pingpong->deck_end = pingpong->deck + length;
	pingpong->card = pingpong->deck;
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
	for (size_t i = 0; i < flow->class_count; i++) {
		fill_class(pingpong, i);
	}
	deal(pingpong);
	flow->burst = flow->is_answering ? rally_answer : rally_initiate;
	if (flow->is_answering) {
		/* Here, and not at the start: the other end may begin first. */
		rally_skip_fetches(pingpong);
		rally_forget(*pingpong->card, pingpong->iteration);
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

static void pingpong_begin(struct flow *flow, uint64_t iterations)
{
	struct pingpong *pingpong = flow->own;

	/* The place in the deck stays: the other end is there, too. */
	pingpong->limit = iterations > 0 ? pingpong->iteration + iterations : UINT64_MAX;
}

static void mark(const struct flow *flow, uint64_t *posted, uint64_t *completed)
{
	const struct pingpong *pingpong = flow->own;

	for (size_t i = 0; i < flow->class_count; i++) {
		posted[i] = pingpong->classes[i].posted;
		completed[i] = pingpong->classes[i].completed;
	}
}

static void pingpong_mark_open(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;

	mark(flow, pingpong->open_posted, pingpong->open_completed);
}

static void pingpong_mark_close(struct flow *flow)
{
	struct pingpong *pingpong = flow->own;

	mark(flow, pingpong->close_posted, pingpong->close_completed);
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

	for (size_t i = 0; i < flow->class_count; i++) {
		ret->operations += pingpong->classes[i].completed;
		ret->bytes += pingpong->classes[i].completed * flow->classes[i].size_bytes;
	}
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
		 (unsigned long long)pingpong->iteration, operation_names[(*pingpong->card)->kind],
		 units_format_size((*pingpong->card)->out_bytes, size), pingpong->qp->qp_num,
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
	.burst = rally_initiate,
	.mark_open = pingpong_mark_open,
	.mark_close = pingpong_mark_close,
	.close = pingpong_close,
	.counts = pingpong_counts,
	.is_waiting = pingpong_is_waiting,
	.describe = pingpong_describe,
	.operation = pingpong_operation,
	.class_totals = pingpong_class_totals,
};
