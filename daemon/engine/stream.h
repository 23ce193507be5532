// SPDX-License-Identifier: MIT
#pragma once

/*
 * The initiator of a stream: each queue pair keeps its share of `outstanding` operations under way.
 * Positions count requests since begin; a signalled completion completes all before it on its queue
 * pair.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/arrivals.h"
#include "engine/chain.h"
#include "engine/flow.h"
#include "engine/pacer.h"
#include "engine/stamp.h"

extern const struct flow_pattern stream_pattern;

/* What the measured loop (hotloop.c) works on. */
struct stream_qp {
	struct ibv_qp *qp;
	const struct chain_batch *next;
	const struct chain_batch *first;
	const struct chain_batch *end;
	uint64_t posted;
	uint64_t completed;
	uint64_t depth; /* what may be outstanding on it */
	uint64_t batch_limit; /* whole batches are posted up to here; what is between it and limit
				 is the tail */
	uint64_t limit; /* STREAM_ENDLESS, or the position after its last request */
	bool is_ready; /* in stream->ready */
	uint64_t tail_stamp;
	uint64_t open_posted, open_completed; /* when the window opened */
	uint64_t close_posted, close_completed; /* when it closed */
};

#define STREAM_ENDLESS (UINT64_MAX / 4)

struct stream {
	struct flow *flow;
	struct ibv_cq *cq;
	struct stream_qp *qps;
	size_t qp_count;
	uint64_t post_list;
	uint64_t signal_interval;
	size_t unfinished; /* queue pairs that have not completed all up to their limit */
	bool has_short; /* some queue pairs have less to do than a batch, and have not been given it
			 */
	/* Queue pairs that may post, in turn: a ring of indexes, power of two. */
	uint32_t *ready;
	uint64_t ready_mask;
	uint64_t ready_head;
	uint64_t ready_tail;
	struct chain chain;
	struct pacer pacer; /* open loads */
	uint64_t under_way; /* of an open load, on all queue pairs */
	uint64_t before_operations; /* of a warm-up that was drained: positions begin anew */
	uint64_t before_bytes;
	struct stamp *stamp; /* payload is verified; else NULL */
	bool awaits_answers; /* all has completed, and writes are still to be looked at */
	struct arrivals *arrivals; /* direction: both; NULL: nothing comes that takes a receive */
};

/* For the hot loop: the rare cases. May change flow->state. */
void stream_odd_completion(struct stream *stream, const struct ibv_wc *wc, uint64_t now_ticks);
void stream_post_failed(struct stream *stream, struct stream_qp *qp, const struct ibv_send_wr *bad,
			int number);
/* All whole batches are posted: posts the rest when there is room, signalled. */
void stream_post_tail(struct stream *stream, struct stream_qp *qp);
/* Posts to queue pairs whose whole share is less than a batch. */
void stream_post_short(struct stream *stream);
/* An open load has posted all it was asked for: it is over when that has completed, which it may
 * have. */
void stream_posted_all(struct stream *stream, uint64_t now_ticks);
/* A queue pair has completed all it had to. */
void stream_qp_finished(struct stream *stream, uint64_t now_ticks);
