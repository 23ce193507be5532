// SPDX-License-Identifier: MIT
#pragma once

/*
 * A scenario and what nodes have said of themselves -> a plan: who does what with whom, every
 * `auto` resolved, or why not.
 *
 * Pure: no clock, no device, no network; the same input gives the same plan on every node. A pair
 * that cannot run is in the plan too, with its failure: it becomes a measurement that says so.
 *
 * Thousands of pairs of a thousand nodes take longer than a turn of the loop may: a plan is built
 * in bounded pieces.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/scenario.h"
#include "run/plan_pair.h"
#include "util/error.h"

/* A node as the planner sees it. Borrowed. */
struct plan_node {
	const char *name;
	const struct labels *labels;
	bool is_known; /* it told its ports; false: never heard of, or away */
	size_t port_count;
	const struct port *ports;
	const char *problem; /* inventory.problem; NULL or "": none */
	uint64_t problem_errno;
	const struct error *unreachable; /* why it is not known; may be NULL */
};

struct plan_request {
	const struct scenario *scenario;
	const struct plan_node *nodes;
	size_t node_count;
	const char *run_id;
	const char *coordinator;
	bool is_scheduled; /* no person asked for it */
	const char *only_initiator; /* scheduled runs: only the pairs that this node initiates;
				       NULL: all */
};

/* What is asked of pairs often, close together. */
struct plan_brief {
	unsigned initiator; /* index in request.nodes */
	unsigned responder;
	bool is_refused;
};

struct plan_builder;

struct plan {
	size_t count;
	struct plan_pair **pairs; /* owned; whoever takes one leaves NULL */
	struct plan_brief *briefs; /* one for each pair */
	struct plan_builder *builder; /* NULL once it is complete */
};

/* What one call of plan_build does at most: nodes looked at, pairs resolved. */
#define PLAN_PIECE 16

/* Nothing is looked at yet. What the request points to is borrowed until the plan is complete. */
struct plan *plan_new(const struct plan_request *request);
/*
 * A bounded piece. 1 when there is more to do; 0 when the plan is complete, with at least one pair;
 * -ENOENT when the selectors match no pair (err says how many nodes there were) or none is ours;
 * -E2BIG above topology.max_pairs.
 */
int plan_build(struct plan *plan, struct error *err);
void plan_free(struct plan *plan);

/* Whether `node` initiates a pair with `other`. */
bool plan_initiates(const struct scenario *scenario, const char *node, const struct labels *labels,
		    const char *other, const struct labels *other_labels);
