// SPDX-License-Identifier: MIT
#pragma once

/*
 * The measured loop of a stream: posts prepared batches, polls, adds latencies. In here: no system
 * call, lock, allocation, log, division by a variable, or branch on configuration.
 */

#include <stdbool.h>

#include "engine/flow.h"

/* A burst (flow_pattern.burst) for one queue pair, and for any number of them in turn, batch by
 * batch. */
bool hotloop_one(struct flow *flow);
bool hotloop_many(struct flow *flow);
/* The same for an open load: each request at its own time, to the queue pairs in turn. Looks at the
 * clock in each round. */
bool hotloop_paced(struct flow *flow);
/*
 * The same where the other end posts, too (direction: both), and what it posts takes receives:
 * they are taken between the own posts (engine/arrivals). For any number of queue pairs.
 */
bool hotloop_mutual(struct flow *flow);
bool hotloop_paced_mutual(struct flow *flow);
/*
 * The same where payload is verified (engine/stamp): it is filled before each post and looked at
 * after each completion. For any number of queue pairs.
 */
bool hotloop_verified(struct flow *flow);
bool hotloop_paced_verified(struct flow *flow);

struct stream;
struct stream_qp;
/* It may have room again. */
void hotloop_make_ready(struct stream *stream, struct stream_qp *qp);
