// SPDX-License-Identifier: MIT
#pragma once

/*
 * Whether and when a run that this node began by itself is tried again before its next turn, since
 * a peer or a device was away. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/run.h"

/* In a row; then the schedule alone goes on. */
#define RETRY_MOST 8

/*
 * It came to nothing since a peer could not be reached or went away, a device was not there,
 * not active or sick, or a port went down or lost its address under the traffic. False as soon as
 * one of its pairs measured, or failed for another reason: a mesh in which one node is away is not
 * measured more often for that.
 */
bool retry_is_worth(const struct run *run);
/*
 * attempt: from 1. Twice as long each time, 5 s to 5 min, and up to half of that more, by `seed`.
 * CLOCK_NEVER: it was tried often enough, or the schedule's next turn (in until_next_ns;
 * CLOCK_NEVER: it has none) comes before twice that time.
 */
uint64_t retry_after_ns(uint64_t attempt, uint64_t until_next_ns, uint64_t seed);
