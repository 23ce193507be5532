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
