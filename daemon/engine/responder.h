// SPDX-License-Identifier: MIT
#pragma once

/*
 * The other end of a stream that has sends: takes receives and posts them again, in batches, before
 * the queue runs dry. It has no classes and no latency: its operations are the receives. It ends
 * when it is told to, or at its deadline.
 */

#include "engine/flow.h"

extern const struct flow_pattern responder_pattern;

/*
 * Posts `count` of a queue pair's receives again, at most resources->recv_depth. 0 or a positive
 * errno. Shared with the pingpong.
 */
int responder_repost(struct resources *resources, size_t qp_index, uint64_t count);
