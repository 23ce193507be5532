// SPDX-License-Identifier: MIT
#include "run/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/measure_internal.h"
#include "run/order.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define BUSY_TIMEOUT_NS (60 * SECOND_NS)
#define BUSY_RETRY_LEAST_NS (SECOND_NS / 10)

static void advance(struct measure *measure);

static void arm(struct measure *measure, uint64_t when_mono_ns)
{
	sd_event_source_set_time(measure->timer, when_mono_ns / 1000);
	sd_event_source_set_enabled(measure->timer, SD_EVENT_ONESHOT);
}

static void enter(struct measure *measure, enum phase phase, uint64_t timeout_ns)
{
	measure->phase = phase;
	measure->phase_mono_ns = clock_mono_ns();
	arm(measure, measure->phase_mono_ns + timeout_ns);
}

static void end_step(struct measure *measure, const char *name)
{
	step_add(&measure->measurement->coordination, name,
		 clock_mono_ns() - measure->phase_mono_ns, 0);
}

static void send_message(struct measure *measure, enum side_name side, json_t *message)
{
	struct side *to = &measure->sides[side];
	bool is_first = measure->phase <= PHASE_PREPARE_SECOND;
	struct error err = ERROR_INIT;

	if (to->is_lost) {
		json_decref(message);
		return;
	}
	if (!measure->options.send(measure->options.arg, to->node, message)) {
		error_set(&err, -ENOTCONN, ERROR_PEER, "no session to node \"%s\"", to->node);
		measure_failure_set(measure, to, &err, is_first ? "connect" : "session",
				    is_first ? STAGE_DISCOVER : phase_stage(measure->phase));
		to->is_lost = true;
		to->has_job = false;
		to->is_finished = true;
	}
}

static void send_simple(struct measure *measure, const char *kind, enum side_name side)
{
	send_message(measure, side,
		     order_new(kind, &measure->measurement->assignment, measure->sides[side].role));
}

static void send_prepare(struct measure *measure, enum side_name side)
{
	measure->sides[side].has_job = true;
	send_message(measure, side,
		     order_prepare(&measure->measurement->assignment, measure->sides[side].role));
}

static void send_connect(struct measure *measure, enum side_name side)
{
	send_message(measure, side,
		     order_connect(&measure->measurement->assignment, measure->sides[side].role,
				   measure->sides[1 - side].participant->info));
}

static void begin_releasing(struct measure *measure)
{
	enter(measure, PHASE_RELEASING, phase_timeout_ns(PHASE_RELEASING));
	for (unsigned i = 0; i < 2; i++) {
		if (measure->sides[i].has_job && !measure->sides[i].is_lost) {
			send_simple(measure, "release", i);
		}
	}
	advance(measure);
}

/* The measurement is over, well or not: ends that run are asked for what they have. */
static void begin_stopping(struct measure *measure)
{
	if (measure->phase >= PHASE_STOPPING) {
		return;
	}
	measure->is_deferred = false;
	enter(measure, PHASE_STOPPING, phase_timeout_ns(PHASE_STOPPING));
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &measure->sides[i];

		if (side->is_start_sent && !side->is_finished && !side->is_lost) {
			send_simple(measure, "stop", i);
		}
	}
	advance(measure);
}

static bool has_failed(const struct measure *measure)
{
	return side_has_failed(&measure->sides[0]) || side_has_failed(&measure->sides[1]);
}

static void finish(struct measure *measure)
{
	measure->phase = PHASE_DONE;
	measure->measurement->ended_real_ns = run_end_real_ns(
		measure->measurement->started_real_ns, measure->measurement->started_mono_ns);
	/* Told from the loop's next turn: the caller may be inside measure_message. */
	arm(measure, clock_mono_ns());
}

static void start_initiator(struct measure *measure)
{
	end_step(measure, "start_responder");
	enter(measure, PHASE_START_INITIATOR, phase_timeout_ns(PHASE_START_INITIATOR));
	measure->sides[SIDE_INITIATOR].is_start_sent = true;
	send_simple(measure, "start", SIDE_INITIATOR);
}

static void start_responder(struct measure *measure)
{
	end_step(measure, "connect");
	enter(measure, PHASE_START_RESPONDER, phase_timeout_ns(PHASE_START_RESPONDER));
	measure->sides[SIDE_RESPONDER].is_start_sent = true;
	send_simple(measure, "start", SIDE_RESPONDER);
}

/*
 * When the initiator posted first, on our clock: it says how long after `start` came; the ways of
 * `start` and `started` took the rest of the time, half of it each.
 */
static uint64_t first_post_mono_ns(const struct measure *measure)
{
	uint64_t both_ns = clock_mono_ns() - measure->phase_mono_ns;
	uint64_t there_ns = measure->sides[SIDE_INITIATOR].first_post_ns;

	there_ns = there_ns < both_ns ? there_ns : both_ns;
	return measure->phase_mono_ns + there_ns + (both_ns - there_ns) / 2;
}

static void begin_running(struct measure *measure)
{
	struct measurement *measurement = measure->measurement;

	if (measure->sides[SIDE_INITIATOR].is_started) {
		measurement->accepted_to_first_post_ns =
			first_post_mono_ns(measure) - measure->options.accepted_mono_ns;
	}
	end_step(measure, "start_initiator");
	measurement->started_real_ns = clock_real_ns();
	measurement->started_mono_ns = clock_mono_ns();
	measure->traffic_mono_ns = measurement->started_mono_ns;
	enter(measure, PHASE_RUNNING,
	      workload_timeout_ns(&measurement->assignment.workload) + 2 * WORKLOAD_GRACE_NS);
}

static void prepare_second(struct measure *measure)
{
	end_step(measure, "prepare_first");
	enter(measure, PHASE_PREPARE_SECOND, phase_timeout_ns(PHASE_PREPARE_SECOND));
	send_prepare(measure, 1 - measure->first);
}

static void connect_both(struct measure *measure)
{
	end_step(measure, "prepare_second");
	if (measure->deferred_mono_ns != 0) {
		step_add(&measure->measurement->coordination, "in_use_wait",
			 measure->retry_mono_ns - measure->deferred_mono_ns, 0);
	}
	enter(measure, PHASE_CONNECT, phase_timeout_ns(PHASE_CONNECT));
	send_connect(measure, SIDE_INITIATOR);
	send_connect(measure, SIDE_RESPONDER);
}

/* One step of the way, if what it waits for is there. */
static void advance_forward(struct measure *measure)
{
	const struct side *initiator = &measure->sides[SIDE_INITIATOR];
	const struct side *responder = &measure->sides[SIDE_RESPONDER];

	if (measure->phase == PHASE_PREPARE_FIRST && measure->sides[measure->first].is_prepared) {
		prepare_second(measure);
	} else if (measure->phase == PHASE_PREPARE_SECOND &&
		   measure->sides[1 - measure->first].is_prepared) {
		connect_both(measure);
	} else if (measure->phase == PHASE_CONNECT && initiator->is_connected &&
		   responder->is_connected) {
		start_responder(measure);
	} else if (measure->phase == PHASE_START_RESPONDER && responder->is_started) {
		start_initiator(measure);
	} else if (measure->phase == PHASE_START_INITIATOR &&
		   (initiator->is_started || initiator->is_finished)) {
		begin_running(measure);
	}
	if (measure->phase == PHASE_RUNNING &&
	    (initiator->is_finished || (initiator->has_ended && responder->has_ended))) {
		begin_stopping(measure);
	} else if (measure->phase == PHASE_RUNNING && responder->is_finished) {
		enter(measure, PHASE_ONE_END_OVER, phase_timeout_ns(PHASE_ONE_END_OVER));
	}
	if (measure->phase == PHASE_ONE_END_OVER &&
	    (initiator->is_finished || initiator->has_ended)) {
		begin_stopping(measure);
	}
}

static void advance(struct measure *measure)
{
	if (measure->phase < PHASE_RUNNING && measure->phase != PHASE_BUSY_WAIT &&
	    has_failed(measure)) {
		begin_stopping(measure);
		return;
	}
	advance_forward(measure);
	if (measure->phase == PHASE_STOPPING && !side_owes_end(&measure->sides[0]) &&
	    !side_owes_end(&measure->sides[1])) {
		begin_releasing(measure);
	} else if (measure->phase == PHASE_RELEASING && !side_owes_release(&measure->sides[0]) &&
		   !side_owes_release(&measure->sides[1])) {
		finish(measure);
	}
}

static void begin_prepare(struct measure *measure)
{
	for (unsigned i = 0; i < 2; i++) {
		side_reset(&measure->sides[i]);
	}
	enter(measure, PHASE_PREPARE_FIRST, phase_timeout_ns(PHASE_PREPARE_FIRST));
	send_prepare(measure, measure->first);
	advance(measure);
}

static void on_wait_over(struct measure *measure)
{
	uint64_t wait_ns;

	if (!measure->is_deferred) {
		begin_prepare(measure);
	} else if (measure_in_use_over(measure, &wait_ns)) {
		measure->busy_deadline_mono_ns = clock_mono_ns() + BUSY_TIMEOUT_NS;
		begin_prepare(measure);
	} else if (wait_ns > 0) {
		enter(measure, PHASE_BUSY_WAIT, wait_ns);
	} else {
		begin_stopping(measure);
	}
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct measure *measure = arg;

	switch (measure->phase) {
	case PHASE_DONE:
		measure->options.done(measure->options.arg, measure);
		break;
	case PHASE_BUSY_WAIT:
		on_wait_over(measure);
		break;
	case PHASE_STOPPING:
	case PHASE_RELEASING:
		measure_failure_late(measure);
		advance(measure);
		break;
	default:
		measure_failure_late(measure);
		begin_stopping(measure);
		break;
	}
	return 0;
}

static void let_go(struct measure *measure)
{
	for (unsigned i = 0; i < 2; i++) {
		if (measure->sides[i].has_job) {
			send_simple(measure, "release", i);
			measure->sides[i].has_job = false;
		}
	}
}

static uint64_t with_jitter(struct measure *measure, uint64_t wait_ns)
{
	return wait_ns +
	       prng_hash(measure->measurement->assignment.run_id, measure->busy_attempts++) %
		       (wait_ns / 2 + 1);
}

static void on_in_use(struct measure *measure, struct side *side, const char *cause,
		      const char *text, uint64_t retry_after_ns)
{
	uint64_t wait_ns;

	side->has_job = false;
	if (!measure_in_use_wait(measure, side, cause, text, with_jitter(measure, retry_after_ns),
				 &wait_ns)) {
		begin_stopping(measure);
		return;
	}
	let_go(measure);
	enter(measure, PHASE_BUSY_WAIT, wait_ns);
	if (measure->options.deferred != NULL) {
		measure->options.deferred(measure->options.arg, measure);
	}
}

/* Somebody else measures there: let the other end go, come back later. */
static void on_own_jobs(struct measure *measure, struct side *side, const char *text,
			uint64_t retry_after_ns)
{
	struct error err = ERROR_INIT;
	uint64_t wait_ns;

	side->has_job = false;
	if (clock_mono_ns() >= measure->busy_deadline_mono_ns) {
		error_set(&err, -EBUSY, ERROR_PEER, "node \"%s\" stayed busy for %llu s: %s",
			  side->node, BUSY_TIMEOUT_NS / SECOND_NS, text);
		measure_failure_set(measure, side, &err, "busy", STAGE_RESOURCE);
		begin_stopping(measure);
		return;
	}
	let_go(measure);
	wait_ns = with_jitter(measure, retry_after_ns);
	step_add(&measure->measurement->coordination, "busy_wait", wait_ns, 0);
	enter(measure, PHASE_BUSY_WAIT, wait_ns);
}

static void on_busy(struct measure *measure, struct side *side, const json_t *message)
{
	const char *cause = json_string_value(json_object_get(message, "cause"));
	uint64_t retry_after_ns = SECOND_NS;
	char text[LIMIT_TEXT] = "";

	json_get_u64_or(message, "retry_after_ns", 0, 10 * SECOND_NS, &retry_after_ns, NULL);
	if (retry_after_ns < BUSY_RETRY_LEAST_NS) {
		retry_after_ns = BUSY_RETRY_LEAST_NS;
	}
	json_get_string_or(message, "error", text, sizeof(text), NULL);
	if (cause != NULL && (strcmp(cause, "in_use") == 0 || strcmp(cause, "duty_cycle") == 0)) {
		on_in_use(measure, side, cause, text, retry_after_ns);
	} else {
		on_own_jobs(measure, side, text, retry_after_ns);
	}
}

static void on_unreadable(struct measure *measure, struct side *side, const char *kind,
			  const struct error *reason)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EPROTO, ERROR_PEER, "node \"%s\" sent a \"%s\" that cannot be used: %s",
		  side->node, kind, reason->text);
	measure_failure_set(measure, side, &err, "message", phase_stage(measure->phase));
	side->is_finished = true;
	begin_stopping(measure);
}

static void on_progress(struct measure *measure, struct side *side, const json_t *message)
{
	const struct workload_settings *workload =
		&measure->measurement->assignment.workload.workload;
	struct progress progress;

	if (sample_progress_read(json_object_get(message, "progress"), &progress, NULL) < 0) {
		return;
	}
	if (side == &measure->sides[SIDE_INITIATOR]) {
		measure->progress = progress;
		measure->has_progress = true;
	}
	/* With direction: both neither end is over before the other one is. */
	if (workload->direction == DIRECTION_BOTH && progress.phase == PHASE_DRAINING &&
	    side->is_start_sent) {
		side->has_ended = true;
		advance(measure);
	}
}

static void dispatch(struct measure *measure, struct side *side, const char *kind,
		     const json_t *message)
{
	struct error err = ERROR_INIT;

	if (strcmp(kind, "progress") == 0) {
		on_progress(measure, side, message);
		return;
	}
	switch (side_take(side, measure->phase, kind, message, &err)) {
	case SIDE_IGNORED:
		return;
	case SIDE_TOLD:
		break;
	case SIDE_FAILED:
		begin_stopping(measure);
		break;
	case SIDE_BUSY:
		on_busy(measure, side, message);
		break;
	case SIDE_UNREADABLE:
		on_unreadable(measure, side, kind, &err);
		break;
	}
	advance(measure);
}

void measure_message(struct measure *measure, const char *node, const char *kind,
		     const json_t *message)
{
	const char *role = json_string_value(json_object_get(message, "role"));

	for (unsigned i = 0; role != NULL && measure->phase != PHASE_DONE && i < 2; i++) {
		struct side *side = &measure->sides[i];

		/* A node may speak for itself alone. */
		if (strcmp(role, job_role_names[side->role]) == 0 &&
		    strcmp(side->node, node) == 0) {
			dispatch(measure, side, kind, message);
			return;
		}
	}
}

void measure_lost(struct measure *measure, const char *node, const struct error *why)
{
	if (measure->phase == PHASE_DONE) {
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &measure->sides[i];
		struct error err = *why;

		if (strcmp(side->node, node) != 0 || side->is_lost) {
			continue;
		}
		side->is_lost = true;
		/* Once it has nothing more to tell, the session is not needed. */
		if (measure->phase >= PHASE_STOPPING &&
		    (!side->is_start_sent || side->is_finished)) {
			continue;
		}
		err.class = ERROR_PEER;
		measure_failure_set(measure, side, &err, "session", phase_stage(measure->phase));
		side->is_finished = true;
	}
	if (has_failed(measure)) {
		begin_stopping(measure);
	}
	advance(measure);
}

void measure_abort(struct measure *measure, const char *reason)
{
	struct error err = ERROR_INIT;

	if (measure->phase >= PHASE_STOPPING) {
		return;
	}
	error_set(&err, -ECANCELED, ERROR_INPUT, "stopped: %s", reason);
	measure_failure_set(measure, &measure->sides[SIDE_INITIATOR], &err, "abort", STAGE_RUN);
	begin_stopping(measure);
}

void measure_start(struct measure *measure)
{
	measure->busy_deadline_mono_ns = clock_mono_ns() + BUSY_TIMEOUT_NS;
	begin_prepare(measure);
}

struct measure *measure_new(const struct measure_options *options, struct measurement *measurement)
{
	struct measure *measure = memory_new(sizeof(*measure));

	measure->options = *options;
	measure->measurement = measurement;
	side_init(&measure->sides[SIDE_INITIATOR], &measurement->assignment, ROLE_INITIATOR,
		  &measurement->initiator);
	side_init(&measure->sides[SIDE_RESPONDER], &measurement->assignment, ROLE_RESPONDER,
		  &measurement->responder);
	measure->first = strcmp(measure->sides[0].node, measure->sides[1].node) <= 0 ? 0 : 1;
	if (sd_event_add_time(options->event, &measure->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
			      measure) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(measure->timer, SD_EVENT_OFF);
	return measure;
}

void measure_free(struct measure *measure)
{
	if (measure == NULL) {
		return;
	}
	sd_event_source_disable_unref(measure->timer);
	free(measure);
}

struct measurement *measure_measurement(struct measure *measure)
{
	return measure->measurement;
}

const char *measure_phase(const struct measure *measure)
{
	if (measure->is_deferred) {
		return "waiting for a port";
	}
	if (measure->phase == PHASE_RUNNING &&
	    (measure->has_progress ? measure->progress.phase == PHASE_WARMUP
				   : measure->measurement->assignment.workload.run.warmup_ns > 0)) {
		return "warming up";
	}
	return phase_word(measure->phase);
}

const struct progress *measure_progress(const struct measure *measure)
{
	return measure->has_progress ? &measure->progress : NULL;
}
