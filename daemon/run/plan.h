// SPDX-License-Identifier: MIT
#pragma once

/*
 * A scenario and what nodes have said of themselves -> a plan: who does what with whom, every
 * `auto` resolved, or why not.
 *
 * Pure: no clock, no device, no network; the same input gives the same plan on every node. A pair
 * that cannot run is in the plan too, with its failure: it becomes a measurement that says so.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/assignment.h"
#include "model/failure.h"
#include "model/scenario.h"
#include "util/error.h"

/* A node as the planner sees it. Borrowed. */
struct plan_node {
	const char *name;
	const struct labels *labels;
	const struct inventory *inventory; /* NULL: never heard of, or away */
	const struct error *unreachable; /* why the inventory is NULL; may be NULL */
};

struct plan_request {
	const struct scenario *scenario;
	const struct plan_node *nodes;
	size_t node_count;
	const char *run_id;
	const char *coordinator;
	const char *only_initiator; /* scheduled runs: only the pairs that this node initiates;
				       NULL: all */
};

struct plan_pair {
	struct assignment assignment; /* role initiator; the responder's is the same with its role
				       */
	struct port initiator_port;
	struct port responder_port;
	struct failure failure; /* set: this pair cannot run */
};

struct plan {
	size_t count;
	struct plan_pair **pairs; /* owned */
};

/*
 * 0 and a plan of at least one pair; -ENOENT when the selectors match no pair (err says what each
 * matched) or none is ours; -E2BIG above topology.max_pairs; -EINVAL for a scenario that this
 * version cannot run.
 */
int plan_build(const struct plan_request *request, struct plan **ret, struct error *err);
void plan_free(struct plan *plan);

/* Whether `node` initiates a pair with `other`. */
bool plan_initiates(const struct scenario *scenario, const char *node, const struct labels *labels,
		    const char *other, const struct labels *other_labels);
