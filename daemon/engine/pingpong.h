// SPDX-License-Identifier: MIT
#pragma once

/*
 * One operation at a time on one queue pair, answered by the other end with the same, or (pattern
 * request_response) with as much as the class says. Both ends draw the same deck from the run's
 * seed, so each knows what comes next. What an answer is, and what a sample means, is as in
 * perftest's latency tests, but that request_response keeps the whole time:
 *
 *   write  the last byte of the written memory tells the iteration; half the time from post to
 *          post. That holds for one packet: what takes more, there or back, carries immediate data,
 *          and is seen by a receive
 *   send   a receive, posted again before the answer; half the time from post to post
 *   read   nobody answers: the other end skips it; the whole time from post to post
 *
 * The own completion is waited for in every iteration.
 */

#include "engine/flow.h"

extern const struct flow_pattern pingpong_pattern;
