// SPDX-License-Identifier: MIT
#include "run/coordinator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "judge/diagnose.h"
#include "judge/judgement.h"
#include "run/execution.h"
#include "run/identifier.h"
#include "run/link.h"
#include "run/plan.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"
#include "util/text.h"

struct entry {
	struct list link;
	struct run *run; /* the history's */
	uint64_t accepted_mono_ns;
	bool has_waited; /* behind another run */
};

/* A run that waits for ports that others use. */
struct aside {
	struct list link;
	struct execution *execution;
};

struct coordinator {
	struct coordinator_options options;
	struct list queue; /* of struct entry */
	size_t queued;
	struct execution *active;
	struct list aside; /* of struct aside, in order */
	size_t aside_count;
	sd_event_source *kick; /* deferred: begins the next run */
	struct link_local *to_agent;
	struct link_local *to_us;
	struct agent_way *way; /* to our own agent */
	bool is_stopping;
};

static void kick(struct coordinator *coordinator)
{
	sd_event_source_set_enabled(coordinator->kick, SD_EVENT_ONESHOT);
}

static void tell(struct coordinator *coordinator, const struct run *run)
{
	if (coordinator->options.changed != NULL) {
		coordinator->options.changed(coordinator->options.arg, run);
	}
}

/* The local way: our agent's answers, and our messages to it, each in a later turn of the loop. */

static void deliver_to_us(void *arg, const char *kind, const json_t *message)
{
	struct coordinator *coordinator = arg;

	coordinator_message(coordinator, coordinator->options.node_name, kind, message);
}

static void deliver_to_agent(void *arg, const char *kind, const json_t *message)
{
	struct coordinator *coordinator = arg;

	agent_handle(coordinator->way, kind, message);
}

static void answer_from_agent(void *arg, json_t *message)
{
	struct coordinator *coordinator = arg;

	link_local_send(coordinator->to_us, message);
}

static bool send_to_node(void *arg, const char *node, json_t *message)
{
	struct coordinator *coordinator = arg;

	if (strcmp(node, coordinator->options.node_name) == 0) {
		link_local_send(coordinator->to_agent, message);
		return true;
	}
	return peers_send(coordinator->options.peers, node, message);
}

bool coordinator_initiates(const struct coordinator *coordinator, const struct scenario *scenario)
{
	const char *self = coordinator->options.node_name;

	for (size_t i = 0; i < peers_count(coordinator->options.peers); i++) {
		struct peer_status status;

		peers_status(coordinator->options.peers, i, &status);
		if (plan_initiates(scenario, self, coordinator->options.labels,
				   status.settings->name, &status.settings->labels)) {
			return true;
		}
	}
	return false;
}

/* --- runs that wait for ports that others use --- */

static struct aside *find_aside(const struct coordinator *coordinator,
				const struct execution *execution)
{
	struct aside *aside;

	list_each(aside, &((struct coordinator *)coordinator)->aside, link) {
		if (aside->execution == execution) {
			return aside;
		}
	}
	return NULL;
}

static struct execution *remove_aside(struct coordinator *coordinator, struct aside *aside)
{
	struct execution *execution = aside->execution;

	list_remove(&aside->link);
	free(aside);
	coordinator->aside_count--;
	return execution;
}

static void on_set_aside(void *arg, struct execution *execution)
{
	struct coordinator *coordinator = arg;
	struct aside *aside;

	if (coordinator->active != execution) {
		return; /* it is already */
	}
	aside = memory_new(sizeof(*aside));
	aside->execution = take(coordinator->active);
	list_append(&coordinator->aside, &aside->link);
	coordinator->aside_count++;
	kick(coordinator);
}

static bool may_go_on(void *arg, struct execution *execution)
{
	struct coordinator *coordinator = arg;

	if (coordinator->active == NULL) {
		coordinator->active = remove_aside(coordinator, find_aside(coordinator, execution));
	}
	return coordinator->active == execution;
}

/* The one that waits for its turn alone; it waited longest. */
static bool resume_aside(struct coordinator *coordinator)
{
	struct aside *aside;

	list_each(aside, &coordinator->aside, link) {
		if (execution_wants_turn(aside->execution)) {
			coordinator->active = remove_aside(coordinator, aside);
			execution_resume(coordinator->active);
			return true;
		}
	}
	return false;
}

/* A run that has begun and is not done; NULL when there is none of that id. */
static struct execution *find_execution(const struct coordinator *coordinator, const char *id)
{
	struct aside *aside;

	if (coordinator->active != NULL &&
	    strcmp(execution_run(coordinator->active)->id, id) == 0) {
		return coordinator->active;
	}
	list_each(aside, &((struct coordinator *)coordinator)->aside, link) {
		if (strcmp(execution_run(aside->execution)->id, id) == 0) {
			return aside->execution;
		}
	}
	return NULL;
}

/* --- one run after the other --- */

static void on_execution_done(void *arg, struct execution *execution)
{
	struct coordinator *coordinator = arg;
	struct run *run = execution_run(execution);

	if (coordinator->active == execution) {
		coordinator->active = NULL;
	} else {
		remove_aside(coordinator, find_aside(coordinator, execution));
	}
	execution_free(execution);
	tell(coordinator, run);
	kick(coordinator);
}

static void begin_run(struct coordinator *coordinator, struct run *run, uint64_t accepted_mono_ns)
{
	struct execution_options options = {
		.event = coordinator->options.event,
		.peers = coordinator->options.peers,
		.engine = coordinator->options.engine,
		.node_name = coordinator->options.node_name,
		.labels = coordinator->options.labels,
		.send = send_to_node,
		.done = on_execution_done,
		.set_aside = on_set_aside,
		.may_go_on = may_go_on,
		.arg = coordinator,
		.accepted_mono_ns = accepted_mono_ns,
	};

	coordinator->active = execution_new(&options, run);
	tell(coordinator, run);
}

static struct run *remove_entry(struct coordinator *coordinator, struct entry *entry)
{
	struct run *run = entry->run;

	list_remove(&entry->link);
	free(entry);
	coordinator->queued--;
	return run;
}

static int on_kick(sd_event_source *source, void *arg)
{
	struct coordinator *coordinator = arg;
	struct entry *entry = list_first(&coordinator->queue, struct entry, link);

	if (coordinator->active != NULL || resume_aside(coordinator)) {
		return 0;
	}
	if (entry != NULL) {
		uint64_t since_mono_ns = entry->has_waited ? clock_mono_ns()
							   : entry->accepted_mono_ns;

		begin_run(coordinator, remove_entry(coordinator, entry), since_mono_ns);
	}
	return 0;
}

int coordinator_submit(struct coordinator *coordinator, const struct scenario *scenario,
		       enum run_trigger trigger, uint64_t generation, char *ret_id,
		       struct error *err)
{
	struct entry *entry;
	struct run *run;

	if (coordinator->is_stopping) {
		return error_set(err, -ESHUTDOWN, ERROR_RESOURCE,
				 "the daemon is stopping; ask again when it is back");
	}
	if (coordinator->queued + coordinator->aside_count >= COORDINATOR_QUEUE) {
		return error_set(err, -EBUSY, ERROR_RESOURCE,
				 "%d runs wait already; wait for some to end, or cancel them",
				 COORDINATOR_QUEUE);
	}
	run = run_new(scenario);
	identifier_new(run->id);
	text_copy(run->coordinator, sizeof(run->coordinator), coordinator->options.node_name);
	run->trigger = trigger;
	run->state = RUN_QUEUED;
	run->config_generation = generation;
	run->queued_real_ns = clock_real_ns();
	history_add(coordinator->options.history, run);

	entry = memory_new(sizeof(*entry));
	entry->run = run;
	entry->accepted_mono_ns = clock_mono_ns();
	entry->has_waited = coordinator->active != NULL || coordinator->queued > 0;
	list_append(&coordinator->queue, &entry->link);
	coordinator->queued++;
	text_copy(ret_id, sizeof(run->id), run->id);
	tell(coordinator, run);
	kick(coordinator);
	return 0;
}

static void abort_queued(struct coordinator *coordinator, struct entry *entry, const char *reason)
{
	struct run *run = remove_entry(coordinator, entry);

	run_set_stopped(run, coordinator->options.node_name, reason);
	diagnose_run(run);
	judgement_run(run);
	run->state = RUN_DONE;
	run->ended_real_ns = clock_real_ns();
	tell(coordinator, run);
}

int coordinator_cancel(struct coordinator *coordinator, const char *id, const char *reason)
{
	struct execution *execution = find_execution(coordinator, id);
	struct entry *entry;

	if (execution != NULL) {
		execution_abort(execution, reason);
		return 0;
	}
	list_each(entry, &coordinator->queue, link) {
		if (strcmp(entry->run->id, id) == 0) {
			abort_queued(coordinator, entry, reason);
			return 0;
		}
	}
	return -ENOENT;
}

void coordinator_stop(struct coordinator *coordinator, const char *reason)
{
	struct entry *entry;
	struct aside *aside;

	coordinator->is_stopping = true;
	list_each(entry, &coordinator->queue, link) {
		abort_queued(coordinator, entry, reason);
	}
	if (coordinator->active != NULL) {
		execution_abort(coordinator->active, reason);
	}
	list_each(aside, &coordinator->aside, link) {
		execution_abort(aside->execution, reason);
	}
}

bool coordinator_is_idle(const struct coordinator *coordinator)
{
	return coordinator->active == NULL && coordinator->queued == 0 &&
	       coordinator->aside_count == 0;
}

bool coordinator_has(const struct coordinator *coordinator, const char *scenario)
{
	const struct run *active = coordinator_active(coordinator);
	struct entry *entry;
	struct aside *aside;

	if (active != NULL && strcmp(active->scenario->name, scenario) == 0) {
		return true;
	}
	list_each(aside, &((struct coordinator *)coordinator)->aside, link) {
		if (strcmp(execution_run(aside->execution)->scenario->name, scenario) == 0) {
			return true;
		}
	}
	list_each(entry, &((struct coordinator *)coordinator)->queue, link) {
		if (strcmp(entry->run->scenario->name, scenario) == 0) {
			return true;
		}
	}
	return false;
}

size_t coordinator_queued(const struct coordinator *coordinator)
{
	return coordinator->queued;
}

size_t coordinator_waiting(const struct coordinator *coordinator)
{
	return coordinator->aside_count;
}

const struct run *coordinator_waiting_at(const struct coordinator *coordinator, size_t index,
					 const char **ret_in_use)
{
	struct aside *aside;

	list_each(aside, &((struct coordinator *)coordinator)->aside, link) {
		if (index-- == 0) {
			*ret_in_use = execution_in_use(aside->execution);
			return execution_run(aside->execution);
		}
	}
	return NULL;
}

const struct run *coordinator_active(const struct coordinator *coordinator)
{
	return coordinator->active != NULL ? execution_run(coordinator->active) : NULL;
}

void coordinator_message(struct coordinator *coordinator, const char *node, const char *kind,
			 const json_t *message)
{
	struct aside *aside;

	/* Each takes what is about its own run. */
	if (coordinator->active != NULL) {
		execution_message(coordinator->active, node, kind, message);
	}
	list_each(aside, &coordinator->aside, link) {
		execution_message(aside->execution, node, kind, message);
	}
}

void coordinator_lost(struct coordinator *coordinator, const char *node, const struct error *why)
{
	struct aside *aside;

	if (coordinator->active != NULL) {
		execution_lost(coordinator->active, node, why);
	}
	list_each(aside, &coordinator->aside, link) {
		execution_lost(aside->execution, node, why);
	}
}

json_t *coordinator_progress(const struct coordinator *coordinator, const char *id)
{
	const struct execution *execution = find_execution(coordinator, id);
	struct entry *entry;
	uint64_t place = 0;
	json_t *json;

	if (execution != NULL) {
		return execution_progress(execution);
	}
	list_each(entry, &((struct coordinator *)coordinator)->queue, link) {
		place++;
		if (strcmp(entry->run->id, id) == 0) {
			json = json_object();
			json_set_string(json, "state", run_state_names[RUN_QUEUED]);
			json_set_u64(json, "place_in_queue", place);
			return json;
		}
	}
	return NULL;
}

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
	struct coordinator *coordinator = memory_new(sizeof(*coordinator));

	coordinator->options = *options;
	list_init(&coordinator->queue);
	list_init(&coordinator->aside);
	if (sd_event_add_defer(options->event, &coordinator->kick, on_kick, coordinator) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(coordinator->kick, SD_EVENT_OFF);
	coordinator->to_agent = link_local_new(options->event, deliver_to_agent, coordinator);
	coordinator->to_us = link_local_new(options->event, deliver_to_us, coordinator);
	coordinator->way = agent_way_new(options->agent, options->node_name, options->labels,
					 answer_from_agent, coordinator);
	return coordinator;
}

void coordinator_free(struct coordinator *coordinator)
{
	struct aside *aside;

	if (coordinator == NULL) {
		return;
	}
	execution_free(coordinator->active);
	list_each(aside, &coordinator->aside, link) {
		execution_free(remove_aside(coordinator, aside));
	}
	agent_way_free(coordinator->way);
	link_local_free(coordinator->to_agent);
	link_local_free(coordinator->to_us);
	sd_event_source_disable_unref(coordinator->kick);
	free(coordinator);
}
