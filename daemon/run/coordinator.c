// SPDX-License-Identifier: MIT
#include "run/coordinator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "judge/collect.h"
#include "judge/diagnose.h"
#include "judge/expect.h"
#include "judge/judgement.h"
#include "run/identifier.h"
#include "run/link.h"
#include "run/measure.h"
#include "run/plan.h"
#include "run/progress.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

struct entry {
	struct list link;
	struct run *run; /* the history's */
};

struct slot {
	struct measure *measure; /* NULL: free */
};

struct coordinator {
	struct coordinator_options options;
	struct list queue; /* of struct entry */
	size_t queued;
	struct run *active;
	struct plan *plan;
	size_t next_pair; /* of the plan, next to look at */
	bool *is_begun; /* per pair */
	size_t pairs_done;
	uint64_t accepted_mono_ns;
	struct slot slots[COORDINATOR_PARALLEL_PAIRS];
	sd_event_source *kick; /* deferred: begins what can begin */
	struct link_local *to_agent;
	struct link_local *to_us;
	struct agent_way *way; /* to our own agent */
	bool is_stopping;
	char stop_reason[128];
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

static void end_run(struct coordinator *coordinator)
{
	struct run *run = coordinator->active;

	diagnose_run(run);
	judgement_run(run);
	run->state = RUN_DONE;
	run->ended_real_ns = clock_real_ns();
	coordinator->active = NULL;
	plan_free(take(coordinator->plan));
	free(take(coordinator->is_begun));
	tell(coordinator, run);
	kick(coordinator);
}

static void note_clock(struct coordinator *coordinator, struct participant *participant)
{
	struct peer_status status;

	if (peers_find(coordinator->options.peers, participant->endpoint.node, &status) == 0 &&
	    status.has_offset) {
		participant->clock_offset_ns = status.clock_offset_ns;
		participant->clock_error_ns = status.clock_error_ns;
	}
}

static void judge(struct coordinator *coordinator, struct measurement *measurement)
{
	note_clock(coordinator, &measurement->initiator);
	note_clock(coordinator, &measurement->responder);
	collect_first_error(measurement);
	expect_evaluate(measurement, &coordinator->active->scenario->expect);
	diagnose_measurement(measurement);
	judgement_measurement(measurement);
	coordinator->pairs_done++;
}

static void on_measure_done(void *arg, struct measure *measure)
{
	struct coordinator *coordinator = arg;

	judge(coordinator, measure_measurement(measure));
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		if (coordinator->slots[i].measure == measure) {
			coordinator->slots[i].measure = NULL;
		}
	}
	measure_free(measure);
	kick(coordinator);
}

static bool is_node_in_use(const struct coordinator *coordinator, const char *node)
{
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		const struct measurement *measurement;

		if (coordinator->slots[i].measure == NULL) {
			continue;
		}
		measurement = measure_measurement(coordinator->slots[i].measure);
		if (strcmp(measurement->assignment.initiator.node, node) == 0 ||
		    strcmp(measurement->assignment.responder.node, node) == 0) {
			return true;
		}
	}
	return false;
}

static struct slot *free_slot(struct coordinator *coordinator)
{
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		if (coordinator->slots[i].measure == NULL) {
			return &coordinator->slots[i];
		}
	}
	return NULL;
}

static struct measurement *add_measurement(struct coordinator *coordinator,
					   const struct plan_pair *pair)
{
	struct measurement *measurement = run_add_measurement(coordinator->active);

	measurement->pair = pair->assignment.pair;
	measurement->assignment = pair->assignment;
	measurement->initiator.endpoint = pair->assignment.initiator;
	measurement->initiator.port = pair->initiator_port;
	measurement->responder.endpoint = pair->assignment.responder;
	measurement->responder.port = pair->responder_port;
	return measurement;
}

/* A pair that the plan or the end of the run does not let run: a measurement that says so. */
static void record_failure(struct coordinator *coordinator, const struct plan_pair *pair,
			   const struct failure *failure)
{
	struct measurement *measurement = add_measurement(coordinator, pair);
	bool is_responders = strcmp(failure->node, pair->assignment.responder.node) == 0;

	measurement->ended_real_ns = clock_real_ns();
	(is_responders ? &measurement->responder : &measurement->initiator)->failure = *failure;
	judge(coordinator, measurement);
}

static void begin_pair(struct coordinator *coordinator, const struct plan_pair *pair,
		       struct slot *slot)
{
	struct measure_options options = {
		.event = coordinator->options.event,
		.send = send_to_node,
		.done = on_measure_done,
		.arg = coordinator,
		.accepted_mono_ns = coordinator->pairs_done == 0 ? coordinator->accepted_mono_ns
								 : clock_mono_ns(),
	};

	slot->measure = measure_new(&options, add_measurement(coordinator, pair));
	measure_start(slot->measure);
}

/* Every pair whose nodes are free, while there is room. */
static void begin_pairs(struct coordinator *coordinator)
{
	bool is_waiting = false;

	for (size_t i = 0; i < coordinator->plan->count; i++) {
		const struct plan_pair *pair = coordinator->plan->pairs[i];
		struct slot *slot = free_slot(coordinator);

		if (coordinator->is_begun[i]) {
			continue;
		}
		if (error_is_set(&pair->failure.error)) {
			coordinator->is_begun[i] = true;
			record_failure(coordinator, pair, &pair->failure);
		} else if (slot != NULL &&
			   !is_node_in_use(coordinator, pair->assignment.initiator.node) &&
			   !is_node_in_use(coordinator, pair->assignment.responder.node)) {
			coordinator->is_begun[i] = true;
			begin_pair(coordinator, pair, slot);
			is_waiting = true;
		} else {
			is_waiting = true;
		}
	}
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		is_waiting = is_waiting || coordinator->slots[i].measure != NULL;
	}
	if (!is_waiting) {
		end_run(coordinator);
	}
}

/* Every node that a plan may use: ourselves, then the peers as last heard. */
static struct plan_node *list_nodes(struct coordinator *coordinator,
				    struct peer_status **ret_status, size_t *ret_count)
{
	size_t peers = peers_count(coordinator->options.peers);
	struct plan_node *nodes = memory_new_array(peers + 1, sizeof(*nodes));
	struct peer_status *status = memory_new_array(peers + 1, sizeof(*status));
	size_t count = 0;

	nodes[count++] = (struct plan_node){
		.name = coordinator->options.node_name,
		.labels = coordinator->options.labels,
		.inventory = engine_inventory(coordinator->options.engine),
	};
	for (size_t i = 0; i < peers; i++) {
		peers_status(coordinator->options.peers, i, &status[i]);
		nodes[count++] = (struct plan_node){
			.name = status[i].settings->name,
			.labels = &status[i].settings->labels,
			.inventory = status[i].state == PEER_UP ? status[i].inventory : NULL,
			.unreachable = &status[i].last_error,
		};
		if (status[i].state != PEER_UP) {
			peers_hurry(coordinator->options.peers, status[i].settings->name);
		}
	}
	*ret_status = status;
	*ret_count = count;
	return nodes;
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

static int plan_run(struct coordinator *coordinator, struct run *run, struct error *err)
{
	_cleanup_free_ struct peer_status *status = NULL;
	_cleanup_free_ struct plan_node *nodes = NULL;
	struct plan_request request = {
		.scenario = run->scenario,
		.run_id = run->id,
		.coordinator = coordinator->options.node_name,
		.only_initiator = run->trigger == TRIGGER_MANUAL ? NULL
								 : coordinator->options.node_name,
	};

	nodes = list_nodes(coordinator, &status, &request.node_count);
	request.nodes = nodes;
	return plan_build(&request, &coordinator->plan, err);
}

static void begin_run(struct coordinator *coordinator, struct run *run)
{
	struct error err = ERROR_INIT;

	coordinator->active = run;
	coordinator->pairs_done = 0;
	coordinator->accepted_mono_ns = clock_mono_ns();
	run->state = RUN_RUNNING;
	run->started_real_ns = clock_real_ns();
	tell(coordinator, run);
	if (plan_run(coordinator, run, &err) < 0) {
		run->error = FAILURE_INIT;
		run->error.error = err;
		run->error.error.stage = STAGE_DISCOVER;
		text_copy(run->error.node, sizeof(run->error.node), coordinator->options.node_name);
		end_run(coordinator);
		return;
	}
	coordinator->is_begun = memory_new_array(coordinator->plan->count, sizeof(bool));
	begin_pairs(coordinator);
}

static int on_kick(sd_event_source *source, void *arg)
{
	struct coordinator *coordinator = arg;
	struct entry *entry;

	if (coordinator->active != NULL) {
		begin_pairs(coordinator);
		return 0;
	}
	entry = list_first(&coordinator->queue, struct entry, link);
	if (entry != NULL) {
		struct run *run = entry->run;

		list_remove(&entry->link);
		free(entry);
		coordinator->queued--;
		begin_run(coordinator, run);
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
	if (coordinator->queued >= COORDINATOR_QUEUE) {
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
	list_append(&coordinator->queue, &entry->link);
	coordinator->queued++;
	text_copy(ret_id, sizeof(run->id), run->id);
	tell(coordinator, run);
	kick(coordinator);
	return 0;
}

static void set_aborted(struct coordinator *coordinator, struct run *run, const char *reason)
{
	if (!error_is_set(&run->error.error)) {
		run->error = FAILURE_INIT;
		error_set(&run->error.error, -ECANCELED, ERROR_INPUT, "stopped: %s", reason);
		run->error.error.stage = STAGE_RUN;
		text_copy(run->error.error.call, sizeof(run->error.error.call), "abort");
		text_copy(run->error.node, sizeof(run->error.node), coordinator->options.node_name);
	}
}

static void abort_active(struct coordinator *coordinator, const char *reason)
{
	set_aborted(coordinator, coordinator->active, reason);
	for (size_t i = 0; coordinator->is_begun != NULL && i < coordinator->plan->count; i++) {
		if (!coordinator->is_begun[i]) {
			coordinator->is_begun[i] = true;
			record_failure(coordinator, coordinator->plan->pairs[i],
				       &coordinator->active->error);
		}
	}
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		if (coordinator->slots[i].measure != NULL) {
			measure_abort(coordinator->slots[i].measure, reason);
		}
	}
}

static void abort_queued(struct coordinator *coordinator, struct entry *entry, const char *reason)
{
	struct run *run = entry->run;

	list_remove(&entry->link);
	free(entry);
	coordinator->queued--;
	set_aborted(coordinator, run, reason);
	diagnose_run(run);
	judgement_run(run);
	run->state = RUN_DONE;
	run->ended_real_ns = clock_real_ns();
	tell(coordinator, run);
}

int coordinator_cancel(struct coordinator *coordinator, const char *id, const char *reason)
{
	struct entry *entry;

	if (coordinator->active != NULL && strcmp(coordinator->active->id, id) == 0) {
		abort_active(coordinator, reason);
		kick(coordinator);
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

	coordinator->is_stopping = true;
	list_each(entry, &coordinator->queue, link) {
		abort_queued(coordinator, entry, reason);
	}
	if (coordinator->active != NULL) {
		abort_active(coordinator, reason);
		kick(coordinator);
	}
}

bool coordinator_is_idle(const struct coordinator *coordinator)
{
	return coordinator->active == NULL && coordinator->queued == 0;
}

bool coordinator_has(const struct coordinator *coordinator, const char *scenario)
{
	struct entry *entry;

	if (coordinator->active != NULL &&
	    strcmp(coordinator->active->scenario->name, scenario) == 0) {
		return true;
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

const struct run *coordinator_active(const struct coordinator *coordinator)
{
	return coordinator->active;
}

void coordinator_message(struct coordinator *coordinator, const char *node, const char *kind,
			 const json_t *message)
{
	const char *run_id = json_string_value(json_object_get(message, "run"));
	json_int_t pair = json_integer_value(json_object_get(message, "pair"));

	if (coordinator->active == NULL || run_id == NULL ||
	    strcmp(run_id, coordinator->active->id) != 0) {
		return;
	}
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		struct measure *measure = coordinator->slots[i].measure;

		if (measure != NULL && measure_measurement(measure)->pair == (uint64_t)pair) {
			measure_message(measure, node, kind, message);
			return;
		}
	}
}

void coordinator_lost(struct coordinator *coordinator, const char *node, const struct error *why)
{
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		if (coordinator->slots[i].measure != NULL) {
			measure_lost(coordinator->slots[i].measure, node, why);
		}
	}
}

json_t *coordinator_progress(const struct coordinator *coordinator, const char *id)
{
	struct entry *entry;
	uint64_t place = 0;
	json_t *json;
	json_t *pairs;

	list_each(entry, &((struct coordinator *)coordinator)->queue, link) {
		place++;
		if (strcmp(entry->run->id, id) == 0) {
			json = json_object();
			json_set_string(json, "state", run_state_names[RUN_QUEUED]);
			json_set_u64(json, "place_in_queue", place);
			return json;
		}
	}
	if (coordinator->active == NULL || strcmp(coordinator->active->id, id) != 0) {
		return NULL;
	}
	json = json_object();
	json_set_string(json, "state", run_state_names[RUN_RUNNING]);
	json_set_u64(json, "pairs_done", coordinator->pairs_done);
	json_set_u64(json, "pairs", coordinator->plan != NULL ? coordinator->plan->count : 0);
	pairs = json_array();
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		if (coordinator->slots[i].measure != NULL) {
			json_array_append_new(pairs, progress_write(coordinator->slots[i].measure));
		}
	}
	json_set_take(json, "active", pairs);
	return json;
}

struct coordinator *coordinator_new(const struct coordinator_options *options)
{
	struct coordinator *coordinator = memory_new(sizeof(*coordinator));

	coordinator->options = *options;
	list_init(&coordinator->queue);
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
	if (coordinator == NULL) {
		return;
	}
	for (size_t i = 0; i < COORDINATOR_PARALLEL_PAIRS; i++) {
		measure_free(coordinator->slots[i].measure);
	}
	agent_way_free(coordinator->way);
	link_local_free(coordinator->to_agent);
	link_local_free(coordinator->to_us);
	plan_free(coordinator->plan);
	free(coordinator->is_begun);
	sd_event_source_disable_unref(coordinator->kick);
	free(coordinator);
}
