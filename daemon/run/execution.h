// SPDX-License-Identifier: MIT
#pragma once

/*
 * One run, carried out: what is known of all nodes is gathered, planned with, and every pair
 * measured (those that share no node at once, at most four), and judged. A mesh may have thousands
 * of pairs: each turn of the loop does a bounded piece. Loop thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "engine/engine.h"
#include "fleet/peers.h"
#include "model/run.h"
#include "util/json.h"

#define EXECUTION_PARALLEL_PAIRS 4
/* Pairs that one turn begins, or records as refused or stopped, at most. */
#define EXECUTION_PIECE 8
/* How long a run waits until each peer was tried once: a daemon that has just started, or learnt of
 * them, does not know yet who is there. As long as a connection may take. */
#define EXECUTION_MEET_NS (5ull * 1000000000)
/* How long a run waits for ports that others use, all its pairs together. */
#define EXECUTION_IN_USE_NS (600ull * 1000000000)

struct execution;

struct execution_options {
	sd_event *event;
	struct peers *peers;
	struct engine *engine;
	const char *node_name; /* borrowed */
	const struct labels *labels; /* of this node; borrowed */
	/* Takes the message. False when there is no way to that node. */
	bool (*send)(void *arg, const char *node, json_t *message);
	/* The run is done and judged; execution_free may follow at once. Never from inside a call.
	 */
	void (*done)(void *arg, struct execution *execution);
	/* All that is left waits for ports that others use, and holds nothing: another run may go
	 * on meanwhile. From the loop, never from inside a call. */
	void (*set_aside)(void *arg, struct execution *execution);
	/* Whether it may measure now (and is not set aside from then on); asked again, after
	 * execution_resume at the latest, while it may not. */
	bool (*may_go_on)(void *arg, struct execution *execution);
	void *arg;
	/* From when accepted_to_first_post_ns of the pairs counts that are begun at once. */
	uint64_t accepted_mono_ns;
};

/* The run is borrowed; it is RUN_RUNNING from now on. Nothing is sent before the loop's next turn.
 */
struct execution *execution_new(const struct execution_options *options, struct run *run);
/* What is under way is left where it is. */
void execution_free(struct execution *execution);
struct run *execution_run(const struct execution *execution);
/* What goes on is stopped, what has not begun is recorded as stopped; `done` comes after that. */
void execution_abort(struct execution *execution, const char *reason);
/* It may go on, if it waited for that. */
void execution_resume(struct execution *execution);
/* Nothing of it but the turn of other runs is in its way. */
bool execution_wants_turn(const struct execution *execution);
/* What others use and who, while the run waits for it; NULL while it does not. */
const char *execution_in_use(const struct execution *execution);
/* From an end; ignored if it is not about this run. */
void execution_message(struct execution *execution, const char *node, const char *kind,
		       const json_t *message);
/* The way to a node broke. */
void execution_lost(struct execution *execution, const char *node, const struct error *why);
/* {state, pairs_done, pairs, active: [progress_write of each]}. New reference. */
json_t *execution_progress(const struct execution *execution);
