// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the queues of a workload must hold: one rule each, for who checks a scenario, for who sizes
 * the verbs objects (verbs/demand) and for who prepares the traffic (engine/). Pure; a workload's
 * fields are within the ranges of their tables.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/workload.h"

/*
 * Operations that a queue pair may have in flight: load.outstanding is shared out, and the first
 * queue pairs get one more each while something is left over. Their sum is load.outstanding.
 */
uint64_t workload_queue_depth(const struct workload *workload, uint64_t qp_index);
/* The largest of them (that of the first queue pair), and the smallest (that of the last). */
uint64_t workload_queue_depth_most(const struct workload *workload);
uint64_t workload_queue_depth_least(const struct workload *workload);

/*
 * The depth that a queue pair of a stream needs at least. What may be in flight must reach from a
 * completed request to the next signalled one, in whole batches of post_list: else all is posted,
 * none of it is signalled, and the flow stands still. signal_interval + post_list - their greatest
 * common divisor.
 */
uint64_t workload_queue_depth_needed(const struct workload *workload);

/*
 * The depth of a send queue: qp.max_send_wr, and, where writes are verified, what is posted beside
 * the workload: their markers, or the answers to these.
 */
#define WORKLOAD_QUEUE_MARKERS 4
uint64_t workload_queue_send_depth(const struct workload *workload);

/*
 * Completions that can wait at once in the send and in the receive completion queue of an end: all
 * that is in flight, as in an error every request completes, signalled or not, and one more for
 * each queue pair, which tells that its send queue is empty. has_receives: whether the other end
 * sends.
 */
uint64_t workload_queue_send_completions(const struct workload *workload);
uint64_t workload_queue_receive_completions(const struct workload *workload, bool has_receives);

/* Receive queues of an end: one for each queue pair, or the shared one. */
uint64_t workload_queue_receive_queues(const struct workload *workload);

/* Receives of a queue pair that are posted again at once: recv_post_list. auto: 16, a quarter of
 * the queue at most. */
uint64_t workload_queue_recv_batch(const struct workload *workload);
/* The largest recv_post_list: half of the queue, so that the other half takes what comes while the
 * last of them is awaited. */
uint64_t workload_queue_recv_batch_most(const struct workload *workload);

/* The prepared work requests of a stream. */
struct workload_ring {
	uint64_t length; /* of one queue pair's ring: a multiple of post_list and signal_interval,
			    at least its depth */
	uint64_t total; /* of all rings */
	bool is_shared; /* the queue pairs share one deck, a part each: proportions hold over all
			   of them; else each has a whole one */
};
/*
 * Whole decks while LIMIT_RING_WRS allows, long enough for the signalled requests of a mix to hold
 * its proportions, else a shared one. False when that is above LIMIT_RING_WRS, too; ret->total then
 * is what it would need.
 */
bool workload_queue_ring(const struct workload *workload, const struct operation_class *classes,
			 size_t class_count, struct workload_ring *ret);
