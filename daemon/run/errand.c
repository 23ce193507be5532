// SPDX-License-Identifier: MIT
#include "run/errand.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/failure.h"
#include "model/sample.h"
#include "run/backoff.h"
#include "run/ledger.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define IDLE_TIMEOUT_NS (60ull * 1000000000)
/* A release that takes longer is looked at: the coordinator gives up on it in seven times that. */
#define RELEASE_LOOK_NS (2ull * 1000000000)

json_t *errand_answer(const char *kind, const struct assignment *assignment)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	json_set_string(message, "run", assignment->run_id);
	json_set_u64(message, "pair", assignment->pair);
	json_set_string(message, "role", job_role_names[assignment->role]);
	return message;
}

json_t *errand_answer_failed(const struct assignment *assignment, const char *node,
			     const struct failure *failure, const struct steps *steps)
{
	json_t *message = errand_answer("failed", assignment);
	struct failure named = *failure;

	text_copy(named.node, sizeof(named.node), node);
	if (named.device[0] == '\0') {
		text_copy(named.device, sizeof(named.device), assignment_local(assignment)->device);
	}
	json_set_take(message, "failure", failure_write(&named));
	json_set_take(message, "steps", step_write(steps));
	return message;
}

static void answer(struct errand *errand, json_t *message)
{
	if (errand->way != NULL && !errand->has_failed) {
		errand->way->answer(errand->way->arg, message);
	} else {
		json_decref(message);
	}
}

static void look_later(struct errand *errand)
{
	sd_event_source_set_time(errand->deadline, (clock_mono_ns() + RELEASE_LOOK_NS) / 1000);
	sd_event_source_set_enabled(errand->deadline, SD_EVENT_ONESHOT);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
	struct errand *errand = arg;

	if (errand->state == ERRAND_RELEASING) {
		if (!job_release_is_stuck(errand->job)) {
			look_later(errand);
		}
		return 0;
	}
	log_warning("run %s: job of coordinator \"%s\" got no further message in time; released",
		    errand->assignment.run_id, errand->assignment.coordinator);
	errand->state = ERRAND_RELEASING;
	job_release(errand->job);
	return 0;
}

/* The next message must come by then; at most the whole run's deadline. */
static void arm(struct errand *errand, uint64_t timeout_ns)
{
	uint64_t when = clock_mono_ns() + timeout_ns;

	if (when > errand->whole_deadline_mono_ns) {
		when = errand->whole_deadline_mono_ns;
	}
	sd_event_source_set_time(errand->deadline, when / 1000);
	sd_event_source_set_enabled(errand->deadline, SD_EVENT_ONESHOT);
}

/* --- what the job tells --- */

static void on_prepared(void *arg, struct job *job, const struct endpoint_info *info,
			const struct steps *steps)
{
	struct errand *errand = arg;
	json_t *message = errand_answer("prepared", &errand->assignment);

	errand->state = ERRAND_PREPARED;
	json_set_take(message, "info", schema_write(endpoint_info_fields, info));
	if (errand->use.is_told) {
		json_set_take(message, "port_use", port_use_note_write(&errand->use));
	}
	json_set_take(message, "steps", step_write(steps));
	answer(errand, message);
	arm(errand, IDLE_TIMEOUT_NS);
}

static void on_connected(void *arg, struct job *job, const struct steps *steps)
{
	struct errand *errand = arg;
	json_t *message = errand_answer("connected", &errand->assignment);

	errand->state = ERRAND_CONNECTED;
	json_set_take(message, "steps", step_write(steps));
	answer(errand, message);
	arm(errand, IDLE_TIMEOUT_NS);
}

static void on_started(void *arg, struct job *job)
{
	struct errand *errand = arg;
	json_t *message = errand_answer("started", &errand->assignment);

	json_set_u64(message, "first_post_ns", clock_mono_ns() - errand->start_mono_ns);
	answer(errand, message);
}

static void on_progress(void *arg, struct job *job, const struct progress *progress)
{
	struct errand *errand = arg;
	json_t *message = errand_answer("progress", &errand->assignment);

	json_set_take(message, "progress", sample_progress_write(progress));
	answer(errand, message);
}

/* What others felt of it, and what who asked for it had. totals: NULL when there are none. */
static void book(struct errand *errand, const struct totals *totals)
{
	const struct endpoint *local = assignment_local(&errand->assignment);
	uint64_t now_mono_ns = clock_mono_ns();
	uint64_t traffic_ns = now_mono_ns - errand->start_mono_ns;

	if (errand->start_mono_ns == 0 || errand->is_booked) {
		return;
	}
	errand->is_booked = true;
	ledger_add(errand->agent->peer_ledger, errand->assignment.coordinator, 0, now_mono_ns,
		   traffic_ns);
	if (!errand->assignment.is_disruptive) {
		return;
	}
	ledger_add(errand->agent->ledger, local->device, local->port_num, now_mono_ns,
		   traffic_ns * backoff_weight(totals, traffic_ns));
}

static void on_finished(void *arg, struct job *job, struct totals *totals)
{
	struct errand *errand = arg;
	json_t *message = errand_answer("finished", &errand->assignment);

	book(errand, totals);
	if (errand->state == ERRAND_RUNNING) {
		errand->state = ERRAND_FINISHED;
		arm(errand, IDLE_TIMEOUT_NS);
	}
	if (error_is_set(&totals->failure.error) && totals->failure.node[0] == '\0') {
		text_copy(totals->failure.node, sizeof(totals->failure.node),
			  errand->agent->node_name);
	}
	json_set_take(message, "totals", sample_totals_write(totals));
	sample_totals_done(totals);
	answer(errand, message);
}

static void on_failed(void *arg, struct job *job, const struct failure *failure,
		      const struct steps *steps)
{
	struct errand *errand = arg;

	errand->state = ERRAND_FINISHED;
	answer(errand,
	       errand_answer_failed(&errand->assignment, errand->agent->node_name, failure, steps));
	errand->has_failed = true;
	arm(errand, IDLE_TIMEOUT_NS);
}

static void on_stuck(void *arg, struct job *job, const struct failure *failure,
		     const struct steps *steps)
{
	struct errand *errand = arg;

	if (errand->wants_released) {
		answer(errand, errand_answer_failed(&errand->assignment, errand->agent->node_name,
						    failure, steps));
	}
}

static void on_released(void *arg, struct job *job)
{
	struct errand *errand = arg;

	book(errand, NULL);
	if (errand->wants_released) {
		json_t *message = errand_answer("released", &errand->assignment);

		json_set_take(message, "steps", step_write(job_steps(job)));
		errand->has_failed = false;
		answer(errand, message);
	}
	if (errand->agent->occupancy != NULL) {
		const struct endpoint *local = assignment_local(&errand->assignment);

		occupancy_end_own(errand->agent->occupancy, local->device, local->port_num);
	}
	sd_event_source_disable_unref(errand->deadline);
	list_remove(&errand->link);
	errand->agent->errand_count--;
	free(errand);
}

static const struct job_events job_events = {
	.prepared = on_prepared,
	.connected = on_connected,
	.started = on_started,
	.progress = on_progress,
	.finished = on_finished,
	.failed = on_failed,
	.stuck = on_stuck,
	.released = on_released,
};

/* --- what the coordinator asks --- */

void errand_new(struct agent_way *way, const struct assignment *assignment,
		const struct port_use *use)
{
	struct agent *agent = way->agent;
	struct errand *errand = memory_new(sizeof(*errand));

	errand->agent = agent;
	errand->way = way;
	errand->assignment = *assignment;
	if (use != NULL) {
		port_use_note(use, &errand->use);
	}
	if (agent->occupancy != NULL) {
		const struct endpoint *local = assignment_local(assignment);

		occupancy_begin_own(agent->occupancy, local->device, local->port_num);
	}
	errand->whole_deadline_mono_ns =
		clock_mono_ns() + workload_timeout_ns(&assignment->workload) + IDLE_TIMEOUT_NS;
	if (sd_event_add_time(agent->event, &errand->deadline, CLOCK_MONOTONIC, 0, 1000,
			      on_deadline, errand) < 0) {
		abort(); /* out of memory only */
	}
	list_append(&agent->errands, &errand->link);
	agent->errand_count++;
	errand->job = job_new(agent->engine, assignment, &job_events, errand);
	arm(errand, IDLE_TIMEOUT_NS);
	job_prepare(errand->job);
}

static void fail(struct errand *errand, const struct error *err)
{
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	failure.error = *err;
	failure.error.stage = STAGE_CONNECT;
	on_failed(errand, errand->job, &failure, &steps);
}

/* A message out of order is the coordinator's bug: said, and the job ends. */
static bool expect_state(struct errand *errand, enum errand_state state, const char *kind)
{
	struct error err = ERROR_INIT;

	if (errand->state == state && !errand->has_failed) {
		return true;
	}
	if (errand->state == ERRAND_RUNNING) {
		job_stop(errand->job);
	}
	if (errand->state != ERRAND_RELEASING) {
		error_set(&err, -EPROTO, ERROR_PEER, "message \"%s\" came out of order", kind);
		fail(errand, &err);
	}
	return false;
}

void errand_connect(struct errand *errand, const json_t *message)
{
	_cleanup_free_ struct endpoint_info *info = memory_new(sizeof(*info));
	struct error err = ERROR_INIT;
	json_t *object;
	uint64_t wanted;

	if (!expect_state(errand, ERRAND_PREPARED, "connect")) {
		return;
	}
	if (json_get_object(message, "info", &object, &err) < 0 ||
	    schema_read(endpoint_info_fields, object, info, &err) < 0) {
		fail(errand, &err);
		return;
	}
	wanted = workload_is_connecting(&errand->assignment.workload)
			 ? 0
			 : errand->assignment.workload.qp.num_qps;
	if (info->qp_count != wanted) {
		error_set(&err, -EINVAL, ERROR_PEER,
			  "the other end prepared %zu queue pairs, the assignment says %" PRIu64,
			  info->qp_count, wanted);
		fail(errand, &err);
		return;
	}
	errand->state = ERRAND_CONNECTING;
	arm(errand, IDLE_TIMEOUT_NS);
	job_connect(errand->job, info);
}

void errand_start(struct errand *errand)
{
	if (!expect_state(errand, ERRAND_CONNECTED, "start")) {
		return;
	}
	errand->state = ERRAND_RUNNING;
	errand->start_mono_ns = clock_mono_ns();
	/* The worker keeps the run's own deadline; this one is for a worker that is gone. */
	arm(errand, workload_timeout_ns(&errand->assignment.workload) + IDLE_TIMEOUT_NS);
	job_start(errand->job);
}

void errand_stop(struct errand *errand)
{
	if (errand->state == ERRAND_RUNNING) {
		job_stop(errand->job);
	}
}

void errand_release(struct errand *errand, bool wants_released)
{
	errand->wants_released = errand->wants_released || wants_released;
	if (errand->state != ERRAND_RELEASING) {
		errand->state = ERRAND_RELEASING;
		look_later(errand);
		job_release(errand->job);
	}
}
