// SPDX-License-Identifier: MIT
#pragma once

/*
 * The measured loops of a pingpong: post, look for the own completion and for the other end's
 * answer, take the time. One reading of the clock an iteration, before its post: it ends one sample
 * and begins the next.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/flow.h"

struct pingpong_class {
	struct ibv_send_wr wr;
	int kind;
	bool is_fetched; /* its own answer */
	bool takes_receive; /* seen by a receive; what neither fetches nor takes one is a write,
			       seen in memory */
	unsigned half_shift; /* 1: a sample is half of what was measured */
	volatile uint8_t *mark; /* write: last byte of what goes out */
	volatile uint8_t *seen; /* write: last byte of what comes in */
	struct histogram *latency; /* of the running interval */
	uint64_t posted; /* since traffic began */
	uint64_t completed;
	uint64_t out_bytes;
	struct ibv_sge sges[LIMIT_SGE];
};

struct pingpong {
	struct flow *flow;
	struct ibv_qp *qp;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct pingpong_class **deck;
	struct pingpong_class **deck_end;
	struct pingpong_class **card; /* of `iteration` */
	uint64_t iteration; /* the one to post next, or under way */
	uint64_t limit; /* of iteration */
	uint64_t stamp; /* of the post under way */
	bool is_under_way;
	bool wants_completion;
	bool wants_arrival;
	bool has_opened;
	struct pingpong_class classes[LIMIT_CLASSES];
	uint64_t open_completed[LIMIT_CLASSES], open_posted[LIMIT_CLASSES];
	uint64_t close_completed[LIMIT_CLASSES], close_posted[LIMIT_CLASSES];
};

/* Bursts (flow_pattern.burst) of the two ends. */
bool rally_initiate(struct flow *flow);
bool rally_answer(struct flow *flow);

/* What will be waited for must not be there already: another size may have left any byte in its
 * place. */
void rally_forget(const struct pingpong_class *class, uint64_t iteration);
/* What is fetched leaves no trace at the end that answers. */
void rally_skip_fetches(struct pingpong *pingpong);
