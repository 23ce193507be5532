// SPDX-License-Identifier: MIT
#include "engine/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "engine/hotloop.h"
#include "engine/stream_verify.h"
#include "model/load.h"
#include "model/workload_queue.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"

#define DESCRIBED_QPS 4

/* As scenarios and assignments are checked long before: what comes here otherwise is refused, too.
 */
static int check_load(const struct workload *workload, struct error *err)
{
	uint64_t post_list = workload->workload.post_list;
	uint64_t signal_interval = workload->workload.signal_interval;
	uint64_t outstanding = workload->workload.load.outstanding;
	uint64_t needed;

	if (post_list < 1 || signal_interval < 1 || post_list > LIMIT_SEND_WR ||
	    signal_interval > LIMIT_SEND_WR) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"workload.post_list %llu and workload.signal_interval %llu must be "
			"1 to %d",
			(unsigned long long)post_list, (unsigned long long)signal_interval,
			LIMIT_SEND_WR);
	}
	needed = workload_queue_depth_needed(workload);
	if (workload_queue_depth_least(workload) < needed) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.load.outstanding %llu is %llu for each of %llu queue "
				 "pairs; post_list %llu with signal_interval %llu needs %llu",
				 (unsigned long long)outstanding,
				 (unsigned long long)workload_queue_depth_least(workload),
				 (unsigned long long)workload->qp.num_qps,
				 (unsigned long long)post_list, (unsigned long long)signal_interval,
				 (unsigned long long)needed);
	}
	if (workload_queue_depth_most(workload) > workload->qp.max_send_wr) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.load.outstanding %llu is %llu for each of %llu queue "
				 "pairs, above qp.max_send_wr %llu",
				 (unsigned long long)outstanding,
				 (unsigned long long)workload_queue_depth_most(workload),
				 (unsigned long long)workload->qp.num_qps,
				 (unsigned long long)workload->qp.max_send_wr);
	}
	return 0;
}

static int stream_prepare(struct flow *flow, struct error *err)
{
	const struct workload *workload = &flow->assignment->workload;
	struct stream *stream = memory_new(sizeof(*stream));
	size_t ready_count = 1;
	int ret;

	flow->own = stream;
	stream->flow = flow;
	stream->cq = flow->resources->send_cq;
	stream->qp_count = flow->resources->qp_count;
	stream->post_list = workload->workload.post_list;
	stream->signal_interval = workload->workload.signal_interval;
	ret = check_load(workload, err);
	if (ret < 0) {
		return ret;
	}
	ret = chain_init(&stream->chain, flow, err);
	if (ret < 0) {
		return ret;
	}
	while (ready_count < stream->qp_count) {
		ready_count *= 2;
	}
	stream->ready = memory_new_array(ready_count, sizeof(*stream->ready));
	stream->ready_mask = ready_count - 1;
	stream->qps = memory_new_array(stream->qp_count, sizeof(*stream->qps));
	for (size_t i = 0; i < stream->qp_count; i++) {
		struct stream_qp *qp = &stream->qps[i];

		qp->qp = flow->resources->qps[i];
		qp->depth = workload_queue_depth(workload, i);
		qp->first = &stream->chain.batches[i * stream->chain.batch_count];
		qp->end = qp->first + stream->chain.batch_count;
	}
	if (workload_is_verified(workload)) {
		ret = stamp_new(&stream->stamp, flow, &stream->chain, err);
		if (ret < 0) {
			return ret;
		}
	}
	if (flow->is_mutual && flow->resources->recv_depth > 0) {
		stream->arrivals = arrivals_new(flow);
	}
	if (load_is_open(workload)) {
		flow->burst = stream->stamp	 ? hotloop_paced_verified
			      : stream->arrivals ? hotloop_paced_mutual
						 : hotloop_paced;
		/* Of two ends that post each has moments of its own. */
		return pacer_init(
			&stream->pacer, workload, &flow->window.scale,
			flow->assignment->seed + (flow->assignment->role == ROLE_RESPONDER), err);
	}
	if (stream->stamp) {
		flow->burst = hotloop_verified;
	} else if (stream->arrivals) {
		flow->burst = hotloop_mutual;
	} else if (stream->qp_count > 1) {
		flow->burst = hotloop_many;
	}
	return 0;
}

static void stream_release(struct flow *flow)
{
	struct stream *stream = flow->own;

	if (!stream) {
		return;
	}
	chain_done(&stream->chain);
	pacer_done(&stream->pacer);
	arrivals_free(stream->arrivals);
	stamp_free(stream->stamp);
	free(stream->ready);
	free(stream->qps);
	free(stream);
	flow->own = NULL;
}

/* A finite run ends with a signalled request; one that the ring does not signal goes out as a
 * copied tail. */
static void set_limit(const struct stream *stream, struct stream_qp *qp, uint64_t limit)
{
	uint64_t tail = limit % stream->post_list;

	if (tail == 0 && limit % stream->signal_interval != 0) {
		tail = stream->post_list;
	}
	qp->limit = limit;
	qp->batch_limit = limit - tail;
}

static void make_all_ready(struct stream *stream)
{
	stream->ready_head = 0;
	stream->ready_tail = 0;
	for (size_t i = 0; i < stream->qp_count; i++) {
		struct stream_qp *qp = &stream->qps[i];

		qp->is_ready = qp->batch_limit >= stream->post_list;
		if (qp->is_ready) {
			stream->ready[stream->ready_tail++] = (uint32_t)i;
		}
	}
}

static void stream_counts(const struct flow *flow, struct window_counts *ret)
{
	const struct stream *stream = flow->own;

	ret->operations = stream->before_operations;
	ret->bytes = stream->before_bytes;
	for (size_t i = 0; i < stream->qp_count; i++) {
		ret->operations += stream->qps[i].completed;
		ret->bytes += chain_bytes(&stream->chain, i, stream->qps[i].completed);
	}
	ret->late = stream->pacer.late;
	ret->dropped = stream->pacer.dropped;
}

static void stream_begin(struct flow *flow, uint64_t iterations)
{
	struct stream *stream = flow->own;
	bool is_paced = stream->pacer.gaps != NULL;
	/* The pacer counts itself: which queue pair posts the next one is not known before. */
	uint64_t counted = is_paced ? 0 : iterations;
	uint64_t share = counted / stream->qp_count;
	uint64_t rest = counted % stream->qp_count;
	struct window_counts before = { 0 };

	stream_counts(flow, &before);
	stream->before_operations = before.operations;
	stream->before_bytes = before.bytes;
	stream->unfinished = 0;
	stream->has_short = false;
	for (size_t i = 0; i < stream->qp_count; i++) {
		struct stream_qp *qp = &stream->qps[i];

		qp->posted = 0;
		qp->completed = 0;
		qp->next = qp->first;
		if (counted == 0) {
			qp->limit = STREAM_ENDLESS;
			qp->batch_limit = STREAM_ENDLESS;
		} else {
			set_limit(stream, qp, share + (i < rest));
		}
		stream->unfinished += qp->limit > 0;
		stream->has_short |= qp->batch_limit == 0 && qp->limit > 0;
	}
	make_all_ready(stream);
	if (stream->stamp) {
		stamp_begin(stream->stamp);
	}
	if (is_paced) {
		pacer_begin(&stream->pacer, iterations);
		stream->under_way = 0;
		flow->pace_ticks = clock_ticks();
	}
}

static void stream_mark_open(struct flow *flow)
{
	struct stream *stream = flow->own;

	for (size_t i = 0; i < stream->qp_count; i++) {
		stream->qps[i].open_posted = stream->qps[i].posted;
		stream->qps[i].open_completed = stream->qps[i].completed;
	}
}

static void stream_mark_close(struct flow *flow)
{
	struct stream *stream = flow->own;

	for (size_t i = 0; i < stream->qp_count; i++) {
		stream->qps[i].close_posted = stream->qps[i].posted;
		stream->qps[i].close_completed = stream->qps[i].completed;
	}
}

/* Nothing of its own is under way any more; of verified writes the answer may be. */
static void is_done(struct stream *stream, uint64_t now_ticks)
{
	struct flow *flow = stream->flow;
	bool is_closing = flow->state == FLOW_CLOSING;

	if (stream->stamp && stamp_is_waiting_any(stream->stamp)) {
		stream->awaits_answers = true;
		if (!is_closing) {
			flow_settle(flow, now_ticks);
		}
	} else if (is_closing) {
		flow_drained(flow, now_ticks);
	} else {
		flow_finish(flow, now_ticks);
	}
}

/* Where the last posted request is not signalled, one more has to be posted to learn that it
 * completed. */
static void stream_close(struct flow *flow, uint64_t now_ticks)
{
	struct stream *stream = flow->own;

	stream->unfinished = 0;
	stream->ready_head = 0;
	stream->ready_tail = 0;
	for (size_t i = 0; i < stream->qp_count; i++) {
		struct stream_qp *qp = &stream->qps[i];
		bool is_done = qp->posted == qp->completed;
		bool is_signalled = qp->posted % stream->signal_interval == 0;

		qp->is_ready = false;
		qp->batch_limit = qp->posted;
		qp->limit = qp->posted + (is_done || is_signalled ? 0 : 1);
		stream->unfinished += !is_done;
	}
	if (stream->unfinished == 0) {
		is_done(stream, now_ticks);
		return;
	}
	for (size_t i = 0; i < stream->qp_count && flow->state == FLOW_CLOSING; i++) {
		stream_post_tail(stream, &stream->qps[i]);
	}
}

static bool stream_is_waiting(const struct flow *flow)
{
	const struct stream *stream = flow->own;

	for (size_t i = 0; i < stream->qp_count; i++) {
		if (stream->qps[i].posted != stream->qps[i].completed) {
			return true;
		}
	}
	return stream->stamp && stamp_is_waiting_any(stream->stamp);
}

static size_t describe_qp(const struct stream *stream, size_t i, char *text, size_t size_bytes)
{
	const struct flow *flow = stream->flow;
	const struct stream_qp *qp = &stream->qps[i];
	const struct operation_class *class =
		&flow->classes[chain_class(&stream->chain, i, qp->completed)];
	char size[UNITS_SIZE];
	int length = snprintf(text, size_bytes,
			      "%llu outstanding on queue pair 0x%x to 0x%llx, oldest a %s of %s",
			      (unsigned long long)(qp->posted - qp->completed), qp->qp->qp_num,
			      (unsigned long long)flow->remote->qps[i].qp_num,
			      operation_names[class->kind],
			      units_format_size(class->size_bytes, size));

	return length < 0 ? 0 : (size_t)length;
}

static void stream_describe(const struct flow *flow, char *text, size_t size_bytes)
{
	const struct stream *stream = flow->own;
	size_t length = 0;
	size_t waiting = 0;

	text[0] = '\0';
	for (size_t i = 0; i < stream->qp_count; i++) {
		if (stream->qps[i].posted == stream->qps[i].completed) {
			continue;
		}
		if (waiting > 0 && waiting < DESCRIBED_QPS && length < size_bytes) {
			length += (size_t)snprintf(text + length, size_bytes - length, "; ");
		}
		if (waiting < DESCRIBED_QPS && length < size_bytes) {
			length += describe_qp(stream, i, text + length, size_bytes - length);
		}
		waiting++;
	}
	if (waiting == 0) {
		text_copy(text, size_bytes,
			  "the other end does not say that it looked at the writes");
	}
	if (waiting > DESCRIBED_QPS && length < size_bytes) {
		snprintf(text + length, size_bytes - length, "; and %zu queue pairs more",
			 waiting - DESCRIBED_QPS);
	}
}

static int stream_operation(const struct flow *flow, uint64_t wr_id, size_t *ret_qp)
{
	const struct stream *stream = flow->own;
	uint64_t qp_index = wr_id & ~(FLOW_WR_TAIL | FLOW_WR_RECEIVE | FLOW_WR_MARK);

	if ((wr_id & (FLOW_WR_RECEIVE | FLOW_WR_MARK)) && qp_index < stream->qp_count) {
		*ret_qp = qp_index;
		return -1;
	}
	if (wr_id < stream->chain.slot_count) {
		const struct chain_slot *slot = &stream->chain.slots[wr_id];

		*ret_qp = slot->qp_index;
		return flow->classes[slot->class_index].kind;
	}
	if ((wr_id & FLOW_WR_TAIL) && qp_index < stream->qp_count) {
		/* Also before it is posted: a tail ends at the limit. */
		uint64_t last = stream->qps[qp_index].limit - 1;

		*ret_qp = qp_index;
		return flow->classes[chain_class(&stream->chain, qp_index, last)].kind;
	}
	return -1;
}

/* Where in the deck of a queue pair a request is that failed; what is before it has completed. */
static bool failed_position(const struct stream *stream, uint64_t wr_id, size_t *ret_qp,
			    uint64_t *ret)
{
	if (wr_id < stream->chain.slot_count) {
		const struct stream_qp *qp;

		*ret_qp = stream->chain.slots[wr_id].qp_index;
		qp = &stream->qps[*ret_qp];
		for (*ret = qp->completed; *ret < qp->posted; ++*ret) {
			if (chain_slot(&stream->chain, *ret_qp, *ret) == wr_id) {
				return true;
			}
		}
		return false;
	}
	*ret_qp = wr_id & ~FLOW_WR_TAIL;
	if (!(wr_id & FLOW_WR_TAIL) || *ret_qp >= stream->qp_count ||
	    stream->qps[*ret_qp].posted == 0) {
		return false;
	}
	*ret = stream->qps[*ret_qp].posted - 1;
	return true;
}

static void stream_explain(const struct flow *flow, uint64_t wr_id, struct failure *failure)
{
	const struct stream *stream = flow->own;
	uint64_t completed[LIMIT_CLASSES] = { 0 };
	uint64_t position;
	size_t qp_index;

	if (!failed_position(stream, wr_id, &qp_index, &position)) {
		return;
	}
	failure->size_bytes =
		flow->classes[chain_class(&stream->chain, qp_index, position)].size_bytes;
	for (size_t i = 0; i < stream->qp_count; i++) {
		chain_count(&stream->chain, i, 0,
			    i == qp_index ? position : stream->qps[i].completed, completed);
	}
	for (size_t i = 0; i < flow->class_count; i++) {
		/* Before a warm-up that was drained all of them may have been. */
		if ((completed[i] > 0 || stream->before_operations > 0) &&
		    (failure->completed_bytes == FAILURE_UNKNOWN ||
		     flow->classes[i].size_bytes > failure->completed_bytes)) {
			failure->completed_bytes = flow->classes[i].size_bytes;
		}
	}
}

static void stream_class_totals(const struct flow *flow, struct class_totals *classes)
{
	const struct stream *stream = flow->own;
	uint64_t posted[LIMIT_CLASSES] = { 0 };
	uint64_t completed[LIMIT_CLASSES] = { 0 };

	for (size_t i = 0; i < stream->qp_count; i++) {
		const struct stream_qp *qp = &stream->qps[i];

		chain_count(&stream->chain, i, qp->open_posted, qp->close_posted, posted);
		chain_count(&stream->chain, i, qp->open_completed, qp->close_completed, completed);
	}
	for (size_t i = 0; i < flow->class_count; i++) {
		classes[i].posted = posted[i];
		classes[i].completed = completed[i];
		classes[i].bytes = completed[i] * flow->classes[i].size_bytes;
	}
}

static bool stream_verification(const struct flow *flow, struct verification *ret)
{
	const struct stream *stream = flow->own;

	if (stream->stamp) {
		stamp_counts(stream->stamp, ret);
	}
	return stream->stamp != NULL;
}

static void complete_tail(struct stream *stream, struct stream_qp *qp, uint64_t now_ticks)
{
	struct flow *flow = stream->flow;
	size_t qp_index = (size_t)(qp - stream->qps);

	if (window_is_open(&flow->window)) {
		uint32_t class_index = chain_class(&stream->chain, qp_index, qp->posted - 1);

		uint64_t ns = clock_ticks_to_ns(&flow->window.scale, now_ticks - qp->tail_stamp);

		histogram_add(&flow->window.interval[class_index], ns);
		if (ns > flow->window.slowest.floor_ns) {
			window_slow(&flow->window, ns, now_ticks, qp_index, class_index);
		}
	}
	qp->completed = qp->posted;
	stream_qp_finished(stream, now_ticks);
}

void stream_odd_completion(struct stream *stream, const struct ibv_wc *wc, uint64_t now_ticks)
{
	uint64_t qp_index = wc->wr_id & ~FLOW_WR_TAIL;

	if (wc->status != IBV_WC_SUCCESS) {
		fault_completion(stream->flow, wc, now_ticks);
	} else if (stream->stamp && (wc->wr_id & FLOW_WR_MARK)) {
		stamp_marked(stream->stamp, wc->wr_id & ~FLOW_WR_MARK);
	} else if ((wc->wr_id & FLOW_WR_TAIL) && qp_index < stream->qp_count &&
		   stream->qps[qp_index].posted == stream->qps[qp_index].limit &&
		   stream->qps[qp_index].completed < stream->qps[qp_index].posted) {
		complete_tail(stream, &stream->qps[qp_index], now_ticks);
	} else {
		fault_wr_id(stream->flow, wc, now_ticks);
	}
}

void stream_posted_all(struct stream *stream, uint64_t now_ticks)
{
	stream->unfinished = 0;
	for (size_t i = 0; i < stream->qp_count; i++) {
		struct stream_qp *qp = &stream->qps[i];

		qp->batch_limit = qp->posted;
		qp->limit = qp->posted;
		stream->unfinished += qp->posted != qp->completed;
	}
	stream->flow->pace_ticks = CLOCK_NEVER;
	if (stream->unfinished == 0) {
		is_done(stream, now_ticks);
	}
}

void stream_qp_finished(struct stream *stream, uint64_t now_ticks)
{
	struct flow *flow = stream->flow;

	if (flow->state > FLOW_CLOSING || --stream->unfinished > 0) {
		return;
	}
	if (stream->stamp) {
		stream_verify_look(stream);
	}
	is_done(stream, now_ticks);
}

void stream_post_failed(struct stream *stream, struct stream_qp *qp, const struct ibv_send_wr *bad,
			int number)
{
	size_t qp_index = (size_t)(qp - stream->qps);
	size_t failed_qp = qp_index;
	int operation = bad ? stream_operation(stream->flow, bad->wr_id, &failed_qp) : -1;

	fault_call(stream->flow, "ibv_post_send", number, qp_index, operation, clock_ticks());
}

void stream_post_tail(struct stream *stream, struct stream_qp *qp)
{
	struct flow *flow = stream->flow;
	size_t qp_index = (size_t)(qp - stream->qps);
	uint64_t count = qp->limit - qp->posted;
	struct ibv_send_wr *bad = NULL;
	struct ibv_send_wr *tail;
	int number;

	if (count == 0 || flow->state > FLOW_CLOSING || qp->posted < qp->batch_limit ||
	    qp->posted + count > qp->completed + qp->depth) {
		return;
	}
	tail = chain_tail(&stream->chain, qp_index, qp->posted, count);
	if (stream->stamp) {
		if (!stamp_has_room(stream->stamp, qp_index, count)) {
			return;
		}
		stamp_fill(stream->stamp, qp_index, qp->posted, tail);
	}
	qp->tail_stamp = clock_ticks();
	/* Requests inside it that are signalled anyhow read the stamp of their batch. */
	stream->chain.stamps[qp->next - stream->chain.batches] = qp->tail_stamp;
	number = ibv_post_send(qp->qp, tail, &bad);
	if (number != 0) {
		stream_post_failed(stream, qp, bad, number);
		return;
	}
	qp->posted = qp->limit;
}

void stream_post_short(struct stream *stream)
{
	stream->has_short = false;
	for (size_t i = 0; i < stream->qp_count; i++) {
		if (stream->qps[i].batch_limit == 0) {
			stream_post_tail(stream, &stream->qps[i]);
		}
	}
}

const struct flow_pattern stream_pattern = {
	.name = "stream",
	.prepare = stream_prepare,
	.release = stream_release,
	.begin = stream_begin,
	.burst = hotloop_one,
	.mark_open = stream_mark_open,
	.mark_close = stream_mark_close,
	.close = stream_close,
	.counts = stream_counts,
	.is_waiting = stream_is_waiting,
	.describe = stream_describe,
	.operation = stream_operation,
	.explain = stream_explain,
	.class_totals = stream_class_totals,
	.verification = stream_verification,
};
