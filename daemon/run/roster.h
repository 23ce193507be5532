// SPDX-License-Identifier: MIT
#pragma once

/*
 * What is known of every node when a run begins: a copy for the planner, which takes its time while
 * peers come and go. Loop thread.
 */

#include "fleet/peers.h"
#include "model/inventory.h"
#include "model/scenario.h"
#include "run/plan.h"

struct roster;

/* What one call of roster_gather does at most: nodes looked for, and ports copied. */
#define ROSTER_PIECE 32

/* Whether the first attempt to reach one of the peers that the scenario may select has not ended:
 * what could be said of it is not known to be true. */
bool roster_awaits_peers(const struct peers *peers, const struct scenario_peers *selected);

/* This node, first in the list, and the names of those that are peers now. node_name: borrowed. */
struct roster *roster_new(const char *node_name, const struct labels *labels,
			  const struct inventory *inventory, struct peers *peers);
void roster_free(struct roster *roster);
/* A bounded piece; true when there is more to do. Peers that are down are tried again at once; one
 * that is no peer any more is left out. */
bool roster_gather(struct roster *roster);
/* Once complete. */
size_t roster_count(const struct roster *roster);
const struct plan_node *roster_nodes(const struct roster *roster);
