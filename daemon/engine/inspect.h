// SPDX-License-Identifier: MIT
#pragma once

/*
 * The end that payload comes to (workload.verify): looks at each message in its own receive, and at
 * each place that the other end wrote once a message names it: a write_with_imm itself, or a
 * marker, a message of no bytes whose immediate data counts the writes before it. How many it has
 * looked at it then writes into a line of the other end, which uses those places again and no
 * others. Worker thread, but for new and free.
 */

#include "engine/flow.h"

struct inspect;

struct inspect *inspect_new(struct flow *flow);
void inspect_free(struct inspect *inspect);

/* A good receive of queue pair wc->wr_id, before its buffer is given back. False: it was a marker,
 * and no message of the workload. */
bool inspect_take(struct inspect *inspect, const struct ibv_wc *wc);
/* Writes back what was looked at, and takes what became of that. May end the flow. */
void inspect_answer(struct inspect *inspect, uint64_t now_ticks);
void inspect_counts(const struct inspect *inspect, struct verification *ret);

/* What the other end reads. Setup thread. */
void inspect_lay_out(const struct resources *resources, const struct workload *workload);
