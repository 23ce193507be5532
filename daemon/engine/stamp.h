// SPDX-License-Identifier: MIT
#pragma once

/*
 * The end that posts payload which is verified (workload.verify): numbers and fills each request
 * before it is posted, in a place of its own; looks at what reads and atomics brought back; names
 * finished writes to the other end by markers (engine/inspect.h), and keeps their places until it
 * said that it looked at them. Worker thread, but for new and free.
 */

#include "engine/chain.h"
#include "engine/flow.h"

#define STAMP_MARKERS WORKLOAD_QUEUE_MARKERS

struct stamp_qp {
	uint64_t messages; /* posted, that take a receive */
	uint64_t writes; /* posted, without immediate data */
	uint64_t atomics;
	uint64_t reads; /* posted */
	uint64_t reads_done; /* looked at, or not of the sample */
	uint64_t named; /* writes before it have a marker */
	uint64_t acknowledged; /* writes before it were looked at */
	uint64_t checked; /* position up to which completed requests were looked at */
	uint64_t asked_ticks; /* when the other end was asked last, or answered */
	unsigned markers; /* under way */
};

struct stamp;

/* chain: of this flow, filled. */
int stamp_new(struct stamp **ret, struct flow *flow, const struct chain *chain, struct error *err);
void stamp_free(struct stamp *stamp);

/* Positions begin anew; numbers go on. */
void stamp_begin(struct stamp *stamp);
/* Fills the requests of a queue pair from a position on, which are linked. */
void stamp_fill(struct stamp *stamp, size_t qp_index, uint64_t position, struct ibv_send_wr *wr);
/* Whether `count` more may be posted. */
bool stamp_has_room(const struct stamp *stamp, size_t qp_index, uint64_t count);
/* All before the position have completed. */
void stamp_look(struct stamp *stamp, size_t qp_index, uint64_t position);
/* A marker did. */
void stamp_marked(struct stamp *stamp, size_t qp_index);
/*
 * Posts the marker that is due, and reads what the other end looked at: true when that is more.
 * is_idle: nothing else will be posted before that. May end the flow.
 */
bool stamp_turn(struct stamp *stamp, size_t qp_index, bool is_idle, uint64_t now_ticks);
/* Whether writes of this queue pair, or of any, are still to be looked at. */
bool stamp_is_waiting(const struct stamp *stamp, size_t qp_index);
bool stamp_is_waiting_any(const struct stamp *stamp);
bool stamp_has_writes(const struct stamp *stamp);
void stamp_counts(const struct stamp *stamp, struct verification *ret);
