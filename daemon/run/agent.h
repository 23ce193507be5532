// SPDX-License-Identifier: MIT
#pragma once

/*
 * The jobs of this node: takes the messages of coordinators (this node's own included), asks
 * `permit`, drives engine jobs, answers. Each job belongs to the way it came by: when that way
 * breaks, its jobs are released. Loop thread.
 *
 * Every job has deadlines of its own, so that a coordinator that forgets cannot hold resources: 60
 * s from one message to the next before the traffic starts, the assignment's run.timeout over all.
 *
 * A disruptive job is prepared once its port was looked at (run/occupancy), where limits ask for
 * that.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "engine/engine.h"
#include "model/topology.h"
#include "run/occupancy.h"
#include "util/json.h"

struct agent;
struct agent_way;

struct agent_options {
	sd_event *event;
	struct engine *engine;
	const char *node_name; /* borrowed */
	/* Asked before a disruptive job begins; NULL: nobody can look at ports. */
	struct occupancy *occupancy;
};

struct agent *agent_new(const struct agent_options *options, const struct limit_settings *limits);
/* All jobs must be gone: agent_stop first. */
void agent_free(struct agent *agent);
void agent_configure(struct agent *agent, const struct limit_settings *limits);
/* Releases every job, refuses new ones; agent_is_idle tells when all are gone. */
void agent_stop(struct agent *agent, const char *reason);
bool agent_is_idle(const struct agent *agent);
/* Disruptive traffic of ours on a port in the last hour, whoever asked for it. */
uint64_t agent_disruptive_ns(const struct agent *agent, const char *device, uint64_t port_num);

/* How answers go back. Takes the message. */
typedef void (*agent_answer_fn)(void *arg, json_t *message);

/* labels: of the coordinator if we know it, copied; may be NULL. */
struct agent_way *agent_way_new(struct agent *agent, const char *coordinator,
				const struct labels *labels, agent_answer_fn answer, void *arg);
/* Other labels than it was made with; copied; may be NULL. */
void agent_way_set_labels(struct agent_way *way, const struct labels *labels);
/* The way broke: no answers any more, its jobs are released. */
void agent_way_free(struct agent_way *way);
/* False when the kind is not an agent's. */
bool agent_handle(struct agent_way *way, const char *kind, const json_t *message);
