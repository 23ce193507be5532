// SPDX-License-Identifier: MIT
#pragma once

/*
 * What goes wrong in a flow: the first failure is recorded with its place and words, what follows
 * is counted, and the flow ends with its queue pairs in ERR. Worker thread; never on the good path.
 */

#include "engine/flow.h"

/* A completion with a status other than success. Flushes are counted once a cause is known, or when
 * the end was asked for. */
void fault_completion(struct flow *flow, const struct ibv_wc *wc, uint64_t now_ticks);
/* A verb refused; number: positive errno. operation: enum operation_kind or -1. */
void fault_call(struct flow *flow, const char *call, int number, size_t qp_index, int operation,
		uint64_t now_ticks);
/* ibv_poll_cq gave `result`, below 0. */
void fault_poll(struct flow *flow, int result, uint64_t now_ticks);
/* Completion events cannot be asked for: number, a positive errno, says why. */
void fault_arm(struct flow *flow, int number, uint64_t now_ticks);
/* The device completed what was never posted. */
void fault_wr_id(struct flow *flow, const struct ibv_wc *wc, uint64_t now_ticks);
/*
 * Nothing completed for run.stall_timeout although something is outstanding. Of the whole flow: a
 * queue pair that stands still while others go on is found when those are done.
 */
void fault_stall(struct flow *flow, uint64_t now_ticks);
void fault_deadline(struct flow *flow, uint64_t now_ticks);
/* A connection came to nothing. */
void fault_manager(struct flow *flow, const struct error *err, uint64_t now_ticks);
/* An open load is so late that its path cannot carry it: PACER_BEHIND_MOST_NS. */
void fault_behind(struct flow *flow, uint64_t now_ticks);
