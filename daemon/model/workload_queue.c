// SPDX-License-Identifier: MIT
#include "model/workload_queue.h"

#include "model/divisor.h"

#define PINGPONG_DEPTH 2 /* a post may meet the completion before it still unread */
#define SIGNALLED_LEAST 200 /* signalled requests in the deck of a mix */
#define RECV_BATCH 16

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t workload_queue_depth(const struct workload *workload, uint64_t qp_index)
{
	uint64_t outstanding = workload->workload.load.outstanding;
	uint64_t num_qps = workload->qp.num_qps;

	return outstanding / num_qps + (qp_index < outstanding % num_qps ? 1 : 0);
}

uint64_t workload_queue_depth_most(const struct workload *workload)
{
	return workload_queue_depth(workload, 0);
}

uint64_t workload_queue_depth_least(const struct workload *workload)
{
	return workload_queue_depth(workload, workload->qp.num_qps - 1);
}

uint64_t workload_queue_depth_needed(const struct workload *workload)
{
	uint64_t signal_interval = workload->workload.signal_interval;
	uint64_t post_list = workload->workload.post_list;

	return signal_interval + post_list - divisor_greatest(signal_interval, post_list);
}

static uint64_t markers_of(const struct workload *workload)
{
	const struct workload_settings *settings = &workload->workload;

	return workload_is_verified(workload) &&
			       operation_any(settings->ops, settings->op_count, OPERATION_PLACES)
		       ? WORKLOAD_QUEUE_MARKERS
		       : 0;
}

uint64_t workload_queue_send_depth(const struct workload *workload)
{
	return workload->qp.max_send_wr + markers_of(workload);
}

uint64_t workload_queue_send_completions(const struct workload *workload)
{
	uint64_t depth = larger(workload_queue_depth_most(workload), PINGPONG_DEPTH);

	depth = depth < workload->qp.max_send_wr ? depth : workload->qp.max_send_wr;
	return workload->qp.num_qps * (depth + markers_of(workload) + 1);
}

uint64_t workload_queue_receive_completions(const struct workload *workload, bool has_receives)
{
	/* There is no completion queue of none. */
	return has_receives ? workload_queue_receive_queues(workload) * workload->qp.max_recv_wr
			    : 1;
}

uint64_t workload_queue_receive_queues(const struct workload *workload)
{
	return workload->qp.srq ? 1 : workload->qp.num_qps;
}

uint64_t workload_queue_recv_batch_most(const struct workload *workload)
{
	uint64_t most = workload->qp.max_recv_wr / 2;

	return most > 0 ? most : 1;
}

uint64_t workload_queue_recv_batch(const struct workload *workload)
{
	uint64_t batch = workload->qp.max_recv_wr / 4;

	if (workload->workload.recv_post_list != SCHEMA_AUTO) {
		return workload->workload.recv_post_list;
	}
	batch = batch < RECV_BATCH ? batch : RECV_BATCH;
	return batch > 0 ? batch : 1;
}

bool workload_queue_ring(const struct workload *workload, const struct operation_class *classes,
			 size_t class_count, struct workload_ring *ret)
{
	const struct workload_settings *settings = &workload->workload;
	uint64_t num_qps = workload->qp.num_qps;
	uint64_t step = divisor_multiple(settings->post_list, settings->signal_interval);
	/* Each buffer is in the ring. */
	uint64_t depth = larger(workload_queue_depth_most(workload), workload->memory.buffers);
	uint64_t wanted = class_count > 1 ? SIGNALLED_LEAST * settings->signal_interval : 0;
	uint64_t length = operation_deck_length(classes, class_count, settings->signal_interval,
						step, larger(wanted, depth));

	if (length * num_qps <= LIMIT_RING_WRS) {
		*ret = (struct workload_ring){ .length = length, .total = length * num_qps };
		return true;
	}
	length = operation_deck_length(classes, class_count, settings->signal_interval,
				       step * num_qps, depth * num_qps);
	*ret = (struct workload_ring){ .length = length / num_qps,
				       .total = length,
				       .is_shared = true };
	return length <= LIMIT_RING_WRS;
}
