// SPDX-License-Identifier: MIT
#pragma once

/*
 * Runs of this node: takes scenarios, has one run at a time carried out (run/execution), and puts
 * each into the history; the rest wait in order. Loop thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "fleet/peers.h"
#include "model/run.h"
#include "model/scenario.h"
#include "run/agent.h"
#include "run/history.h"

#define COORDINATOR_QUEUE 64

struct coordinator;

struct coordinator_options {
	sd_event *event;
	struct peers *peers;
	struct agent *agent;
	struct engine *engine;
	struct history *history;
	const char *node_name; /* borrowed */
	const struct labels *labels; /* of this node; borrowed */
	/* A run changed its state; done ones are judged. May be NULL. */
	void (*changed)(void *arg, const struct run *run);
	void *arg;
};

struct coordinator *coordinator_new(const struct coordinator_options *options);
/* No run may be active: coordinator_stop first. */
void coordinator_free(struct coordinator *coordinator);

/*
 * Accepts a run of a scenario (copied). -EBUSY when COORDINATOR_QUEUE runs wait, -ESHUTDOWN while
 * stopping. A scheduled or startup run covers the pairs that this node initiates. ret_id (32
 * bytes): its id. A plan that is refused is a run too, with the refusal as its error.
 */
int coordinator_submit(struct coordinator *coordinator, const struct scenario *scenario,
		       enum run_trigger trigger, uint64_t generation, char *ret_id,
		       struct error *err);
/* -ENOENT when no such run waits or goes on. */
int coordinator_cancel(struct coordinator *coordinator, const char *id, const char *reason);
bool coordinator_has(const struct coordinator *coordinator, const char *scenario); /* waits or goes
										      on */
/* Aborts everything, refuses new runs. */
void coordinator_stop(struct coordinator *coordinator, const char *reason);
bool coordinator_is_idle(const struct coordinator *coordinator);
size_t coordinator_queued(const struct coordinator *coordinator);
/* Runs that wait for ports that others use. */
size_t coordinator_waiting(const struct coordinator *coordinator);
/* One of them, and what is in use and by whom; NULL behind the last. Borrowed. */
const struct run *coordinator_waiting_at(const struct coordinator *coordinator, size_t index,
					 const char **ret_in_use);
const struct run *coordinator_active(const struct coordinator *coordinator); /* NULL when none */

/* From peers. */
void coordinator_message(struct coordinator *coordinator, const char *node, const char *kind,
			 const json_t *message);
void coordinator_lost(struct coordinator *coordinator, const char *node, const struct error *why);

/* execution_progress of a run that goes on, {state, place_in_queue} of one that waits; NULL
 * otherwise. New reference. */
json_t *coordinator_progress(const struct coordinator *coordinator, const char *id);

/* Whether this node initiates any pair of the scenario, going by names, labels and known peers
 * alone. */
bool coordinator_initiates(const struct coordinator *coordinator, const struct scenario *scenario);
