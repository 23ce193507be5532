// SPDX-License-Identifier: MIT
#include "run/execution.h"

#include <stdlib.h>
#include <string.h>

#include "judge/collect.h"
#include "judge/diagnose.h"
#include "judge/expect.h"
#include "judge/judgement.h"
#include "run/measure.h"
#include "run/plan.h"
#include "run/progress.h"
#include "run/roster.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define MEET_LOOK_NS 20000000ull

enum execution_phase {
	PHASE_MEETING,
	PHASE_GATHERING,
	PHASE_PLANNING,
	PHASE_PAIRS,
	PHASE_ENDING,
	PHASE_OVER
};

struct slot {
	struct measure *measure; /* NULL: free */
	struct plan_brief brief;
};

struct execution {
	struct execution_options options;
	struct run *run;
	enum execution_phase phase;
	struct roster *roster; /* until the plan is complete */
	struct plan *plan;
	bool *is_begun; /* per pair */
	size_t left; /* pairs that are not begun */
	bool *is_busy; /* per node: one of its pairs goes on */
	size_t pairs_done;
	bool has_begun; /* the first pairs, those that count from the acceptance of the run */
	bool is_aborted;
	bool wants_turn; /* there is something to begin, and another run goes on */
	bool has_waited; /* for a port that others use, and said so */
	uint64_t in_use_deadline_mono_ns;
	struct slot slots[EXECUTION_PARALLEL_PAIRS];
	sd_event_source *turn; /* deferred: the next piece */
	sd_event_source *look; /* timer, while peers are met */
	uint64_t meet_deadline_mono_ns;
};

static void come_again(struct execution *execution)
{
	sd_event_source_set_enabled(execution->turn, SD_EVENT_ONESHOT);
}

/* --- meeting --- */

static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	come_again(arg);
	return 0;
}

static bool awaits_peers(struct execution *execution)
{
	uint64_t now_mono_ns = clock_mono_ns();

	if (now_mono_ns >= execution->meet_deadline_mono_ns ||
	    !roster_awaits_peers(execution->options.peers, &execution->run->scenario->peers)) {
		return false;
	}
	sd_event_source_set_time(execution->look, (now_mono_ns + MEET_LOOK_NS) / 1000);
	sd_event_source_set_enabled(execution->look, SD_EVENT_ONESHOT);
	return true;
}

/* Who is a peer, and what is known of each, from now on. */
static void begin_gathering(struct execution *execution)
{
	const struct execution_options *options = &execution->options;

	execution->look = sd_event_source_disable_unref(execution->look);
	execution->roster = roster_new(options->node_name, options->labels,
				       engine_inventory(options->engine), options->peers);
	execution->phase = PHASE_GATHERING;
}

/* --- judging --- */

static void note_clock(struct execution *execution, struct participant *participant)
{
	struct peer_status status;

	if (peers_find(execution->options.peers, participant->endpoint.node, &status) == 0 &&
	    status.has_offset) {
		participant->clock_offset_ns = status.clock_offset_ns;
		participant->clock_error_ns = status.clock_error_ns;
	}
}

static void judge(struct execution *execution, struct measurement *measurement)
{
	note_clock(execution, &measurement->initiator);
	note_clock(execution, &measurement->responder);
	collect_first_error(measurement);
	expect_evaluate(measurement, &execution->run->scenario->expect);
	diagnose_measurement(measurement);
	judgement_measurement(measurement);
	run_weigh(execution->run, measurement);
	execution->pairs_done++;
}

static void end_run(struct execution *execution)
{
	struct run *run = execution->run;

	diagnose_run(run);
	judgement_run(run);
	run->state = RUN_DONE;
	run->ended_real_ns = run_end_real_ns(run->started_real_ns, run->started_mono_ns);
	execution->phase = PHASE_OVER;
	come_again(execution);
}

/* --- pairs --- */

static struct measurement *add_measurement(struct execution *execution,
					   const struct plan_pair *pair)
{
	struct measurement *measurement = run_add_measurement(execution->run);

	measurement->pair = pair->assignment.pair;
	measurement->repeat_index = pair->repeat_index;
	measurement->repeat_count = pair->repeat_count;
	measurement->assignment = pair->assignment;
	measurement->initiator.endpoint = pair->assignment.initiator;
	measurement->initiator.port = pair->initiator_port;
	measurement->responder.endpoint = pair->assignment.responder;
	measurement->responder.port = pair->responder_port;
	return measurement;
}

/* A pair that the plan or the end of the run does not let run: a measurement that says so. */
static void record_failure(struct execution *execution, const struct plan_pair *pair,
			   const struct failure *failure)
{
	struct measurement *measurement = add_measurement(execution, pair);
	bool is_responders = strcmp(failure->node, pair->assignment.responder.node) == 0;

	measurement->ended_real_ns = clock_real_ns();
	(is_responders ? &measurement->responder : &measurement->initiator)->failure = *failure;
	judge(execution, measurement);
}

static void on_measure_done(void *arg, struct measure *measure)
{
	struct execution *execution = arg;

	judge(execution, measure_measurement(measure));
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		struct slot *slot = &execution->slots[i];

		if (slot->measure == measure) {
			slot->measure = NULL;
			execution->is_busy[slot->brief.initiator] = false;
			execution->is_busy[slot->brief.responder] = false;
		}
	}
	measure_free(measure);
	come_again(execution);
}

static bool send_to_node(void *arg, const char *node, json_t *message)
{
	struct execution *execution = arg;

	return execution->options.send(execution->options.arg, node, message);
}

static struct slot *free_slot(struct execution *execution)
{
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		if (execution->slots[i].measure == NULL) {
			return &execution->slots[i];
		}
	}
	return NULL;
}

static void on_measure_deferred(void *arg, struct measure *measure)
{
	come_again(arg);
}

static bool may_try(void *arg, struct measure *measure)
{
	struct execution *execution = arg;

	return execution->options.may_go_on(execution->options.arg, execution);
}

static void begin_pair(struct execution *execution, const struct plan_pair *pair,
		       const struct plan_brief *brief, struct slot *slot)
{
	struct measure_options options = {
		.event = execution->options.event,
		.send = send_to_node,
		.done = on_measure_done,
		.deferred = on_measure_deferred,
		.may_try = may_try,
		.in_use_deadline_mono_ns = execution->in_use_deadline_mono_ns,
		.arg = execution,
		.accepted_mono_ns = execution->has_begun ? clock_mono_ns()
							 : execution->options.accepted_mono_ns,
	};

	slot->brief = *brief;
	execution->is_busy[brief->initiator] = true;
	execution->is_busy[brief->responder] = true;
	slot->measure = measure_new(&options, add_measurement(execution, pair));
	measure_start(slot->measure);
}

/* What is to be said of a pair instead of measuring it, if anything. */
static const struct failure *hindrance(const struct execution *execution, size_t index)
{
	const struct plan_pair *pair = execution->plan->pairs[index];

	if (execution->plan->briefs[index].is_refused) {
		return &pair->failure;
	}
	return execution->is_aborted ? &execution->run->error : NULL;
}

/* True when the pair was begun, or is over already. */
static bool try_pair(struct execution *execution, size_t index)
{
	const struct plan_brief *brief = &execution->plan->briefs[index];
	const struct failure *failure = hindrance(execution, index);
	struct slot *slot = free_slot(execution);

	if (failure != NULL) {
		record_failure(execution, execution->plan->pairs[index], failure);
	} else if (slot == NULL || execution->is_busy[brief->initiator] ||
		   execution->is_busy[brief->responder]) {
		return false;
	} else {
		begin_pair(execution, execution->plan->pairs[index], brief, slot);
	}
	execution->is_begun[index] = true;
	execution->left--;
	/* The measurement has all that it says. */
	free(take(execution->plan->pairs[index]));
	return true;
}

/* Whether any goes on, and whether all that do wait for ports that others use. */
static bool has_active(const struct execution *execution, bool *ret_all_wait)
{
	bool has = false;

	*ret_all_wait = true;
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		const struct measure *measure = execution->slots[i].measure;
		uint64_t ignored;

		if (measure != NULL) {
			has = true;
			*ret_all_wait = *ret_all_wait &&
					measure_in_use(measure, &ignored, &ignored) != NULL;
		}
	}
	return has;
}

/* Once a run: it tries again every few seconds. */
static void say_wait(struct execution *execution)
{
	const char *in_use = execution_in_use(execution);

	if (!execution->has_waited && in_use != NULL) {
		execution->has_waited = true;
		log_info("run %s of scenario \"%s\" waits: %s", execution->run->id,
			 execution->run->scenario->name, in_use);
	}
}

/* Every pair that is refused or whose nodes are free, while there is room; a piece of them. */
static void begin_pairs(struct execution *execution)
{
	size_t begun = 0;
	bool all_wait;

	execution->wants_turn = execution->left > 0 && !execution->is_aborted &&
				!execution->options.may_go_on(execution->options.arg, execution);
	if (execution->wants_turn) {
		return;
	}

	for (size_t i = 0; i < execution->plan->count && execution->left > 0; i++) {
		if (begun == EXECUTION_PIECE) {
			come_again(execution);
			return;
		}
		begun += !execution->is_begun[i] && try_pair(execution, i);
	}
	execution->has_begun = true;
	if (has_active(execution, &all_wait)) {
		if (all_wait) {
			say_wait(execution);
			execution->options.set_aside(execution->options.arg, execution);
		}
		return;
	}
	execution->phase = PHASE_ENDING;
	come_again(execution);
}

/* --- the plan --- */

static void begin_planning(struct execution *execution)
{
	const struct run *run = execution->run;
	const char *self = execution->options.node_name;
	struct plan_request request = {
		.scenario = run->scenario,
		.nodes = roster_nodes(execution->roster),
		.node_count = roster_count(execution->roster),
		.run_id = run->id,
		.coordinator = self,
		.is_scheduled = run->trigger != TRIGGER_MANUAL,
		.only_initiator = run->trigger == TRIGGER_MANUAL ? NULL : self,
	};

	execution->plan = plan_new(&request);
	execution->phase = PHASE_PLANNING;
}

static void begin_measuring(struct execution *execution)
{
	execution->left = execution->plan->count;
	execution->is_begun = memory_new_array(execution->plan->count, sizeof(bool));
	execution->is_busy = memory_new_array(roster_count(execution->roster), sizeof(bool));
	roster_free(take(execution->roster));
	execution->phase = PHASE_PAIRS;
}

static void refuse_plan(struct execution *execution, const struct error *err)
{
	struct failure *failure = &execution->run->error;

	*failure = FAILURE_INIT;
	failure->error = *err;
	failure->error.stage = STAGE_DISCOVER;
	text_copy(failure->node, sizeof(failure->node), execution->options.node_name);
	execution->phase = PHASE_ENDING;
}

static void build_plan(struct execution *execution)
{
	struct error err = ERROR_INIT;
	int r = plan_build(execution->plan, &err);

	if (r < 0) {
		refuse_plan(execution, &err);
	} else if (r == 0) {
		begin_measuring(execution);
	}
}

static int on_turn(sd_event_source *source, void *arg)
{
	struct execution *execution = arg;

	switch (execution->phase) {
	case PHASE_MEETING:
		if (!awaits_peers(execution)) {
			begin_gathering(execution);
			come_again(execution);
		}
		break;
	case PHASE_GATHERING:
		if (!roster_gather(execution->roster)) {
			begin_planning(execution);
		}
		come_again(execution);
		break;
	case PHASE_PLANNING:
		build_plan(execution);
		come_again(execution);
		break;
	case PHASE_PAIRS:
		begin_pairs(execution);
		break;
	case PHASE_ENDING:
		end_run(execution);
		break;
	case PHASE_OVER:
		execution->options.done(execution->options.arg, execution);
		break;
	}
	return 0;
}

void execution_abort(struct execution *execution, const char *reason)
{
	if (execution->phase >= PHASE_ENDING) {
		return;
	}
	run_set_stopped(execution->run, execution->options.node_name, reason);
	execution->is_aborted = true;
	if (execution->phase < PHASE_PAIRS) {
		execution->phase = PHASE_ENDING;
	}
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		if (execution->slots[i].measure != NULL) {
			measure_abort(execution->slots[i].measure, reason);
		}
	}
	come_again(execution);
}

void execution_resume(struct execution *execution)
{
	if (execution->wants_turn) {
		come_again(execution);
	}
}

bool execution_wants_turn(const struct execution *execution)
{
	return execution->wants_turn;
}

const char *execution_in_use(const struct execution *execution)
{
	bool all_wait;
	uint64_t ignored;

	if (!has_active(execution, &all_wait) || !all_wait) {
		return NULL;
	}
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		if (execution->slots[i].measure != NULL) {
			return measure_in_use(execution->slots[i].measure, &ignored, &ignored);
		}
	}
	return NULL;
}

void execution_message(struct execution *execution, const char *node, const char *kind,
		       const json_t *message)
{
	const char *run_id = json_string_value(json_object_get(message, "run"));
	json_int_t pair = json_integer_value(json_object_get(message, "pair"));

	if (run_id == NULL || strcmp(run_id, execution->run->id) != 0) {
		return;
	}
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		struct measure *measure = execution->slots[i].measure;

		if (measure != NULL && measure_measurement(measure)->pair == (uint64_t)pair) {
			measure_message(measure, node, kind, message);
			return;
		}
	}
}

void execution_lost(struct execution *execution, const char *node, const struct error *why)
{
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		if (execution->slots[i].measure != NULL) {
			measure_lost(execution->slots[i].measure, node, why);
		}
	}
}

json_t *execution_progress(const struct execution *execution)
{
	json_t *json = json_object();
	json_t *pairs = json_array();

	json_set_string(json, "state", run_state_names[RUN_RUNNING]);
	json_set_u64(json, "pairs_done", execution->pairs_done);
	json_set_u64(json, "pairs", execution->plan != NULL ? execution->plan->count : 0);
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		if (execution->slots[i].measure != NULL) {
			json_array_append_new(pairs, progress_write(execution->slots[i].measure));
		}
	}
	json_set_take(json, "active", pairs);
	return json;
}

struct run *execution_run(const struct execution *execution)
{
	return execution->run;
}

/* A scheduled run is over before it is due again. */
static uint64_t in_use_limit_ns(const struct run *run)
{
	uint64_t most_ns = run->scenario->schedule.every_ns / 10 * 9;

	return run->trigger == TRIGGER_SCHEDULE && most_ns < EXECUTION_IN_USE_NS
		       ? most_ns
		       : EXECUTION_IN_USE_NS;
}

struct execution *execution_new(const struct execution_options *options, struct run *run)
{
	struct execution *execution = memory_new(sizeof(*execution));

	execution->options = *options;
	execution->run = run;
	run->state = RUN_RUNNING;
	run->started_real_ns = clock_real_ns();
	run->started_mono_ns = clock_mono_ns();
	execution->in_use_deadline_mono_ns = clock_mono_ns() + in_use_limit_ns(run);
	execution->meet_deadline_mono_ns = clock_mono_ns() + EXECUTION_MEET_NS;
	if (sd_event_add_defer(options->event, &execution->turn, on_turn, execution) < 0 ||
	    sd_event_add_time(options->event, &execution->look, CLOCK_MONOTONIC, 0, 1000, on_look,
			      execution) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(execution->look, SD_EVENT_OFF);
	come_again(execution);
	return execution;
}

void execution_free(struct execution *execution)
{
	if (execution == NULL) {
		return;
	}
	for (size_t i = 0; i < EXECUTION_PARALLEL_PAIRS; i++) {
		measure_free(execution->slots[i].measure);
	}
	sd_event_source_disable_unref(execution->turn);
	sd_event_source_disable_unref(execution->look);
	roster_free(execution->roster);
	plan_free(execution->plan);
	free(execution->is_begun);
	free(execution->is_busy);
	free(execution);
}
