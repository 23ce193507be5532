// SPDX-License-Identifier: MIT
#pragma once

/*
 * A fabric that says it is congested gets less of our traffic: disruptive traffic whose port was
 * told to pause, or told of congestion, counts more of its hour (limits.duty_cycle), so that the
 * next scheduled run comes later. Pure.
 */

#include <stdint.h>

#include "model/sample.h"

/* Frames that told the port to pause, and notifications of congestion that it handled, for each
 * second of traffic. */
#define BACKOFF_EVENTS_PER_S 100
#define BACKOFF_WEIGHT 4

/* How many times that traffic counts: 1 or BACKOFF_WEIGHT. totals: of this end; NULL, or without
 * counters: nothing was said. */
uint64_t backoff_weight(const struct totals *totals, uint64_t traffic_ns);
