// SPDX-License-Identifier: MIT
#pragma once

/*
 * What comes in at an end that posts a stream of its own (direction: both): receives are counted
 * and posted again between its own posts. Worker thread, but for init and done.
 */

#include "engine/flow.h"

struct arrivals;

/* Only where receives were posted (resources->recv_depth). */
struct arrivals *arrivals_new(const struct flow *flow);
void arrivals_free(struct arrivals *arrivals);

/* Looks once: how many came, below 0 when the flow ended. The first one lets this end begin
 * (flow_arrived). */
int arrivals_take(struct arrivals *arrivals, struct flow *flow);
