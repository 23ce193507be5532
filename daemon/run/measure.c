// SPDX-License-Identifier: MIT
#include "run/measure.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/side.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define PREPARE_TIMEOUT_NS (30 * SECOND_NS)
#define CONNECT_TIMEOUT_NS (20 * SECOND_NS)
#define START_TIMEOUT_NS (10 * SECOND_NS)
/* Longer than the silence limit of sessions: a peer that is gone is not one that is late. */
#define STOP_TIMEOUT_NS (9 * SECOND_NS)
#define RELEASE_TIMEOUT_NS (15 * SECOND_NS)
/* After one end stopped by itself the other gets this long to see the same thing. */
#define OTHER_END_NS (2 * SECOND_NS)
#define BUSY_TIMEOUT_NS (60 * SECOND_NS)

enum phase {
	PHASE_NEW,
	PHASE_BUSY_WAIT,
	PHASE_PREPARE_FIRST,
	PHASE_PREPARE_SECOND,
	PHASE_CONNECT,
	PHASE_START_RESPONDER,
	PHASE_START_INITIATOR,
	PHASE_RUNNING,
	PHASE_ONE_END_OVER,
	PHASE_STOPPING,
	PHASE_RELEASING,
	PHASE_DONE,
};

static const char *const phase_words[] = {
	"queued",   "waiting",	 "preparing", "preparing", "connecting", "starting",
	"starting", "measuring", "measuring", "stopping",  "releasing",	 "done",
};

enum side_name { SIDE_INITIATOR, SIDE_RESPONDER };

struct measure {
	struct measure_options options;
	struct measurement *measurement;
	enum phase phase;
	struct side sides[2];
	unsigned first; /* index of the side that is prepared first */
	sd_event_source *timer;
	uint64_t phase_mono_ns; /* when the phase began */
	uint64_t traffic_mono_ns; /* when the initiator had started; 0: it did not */
	uint64_t busy_deadline_mono_ns;
	unsigned busy_attempts;
	bool has_progress;
	struct progress progress;
};

static void advance(struct measure *measure);

static enum error_stage stage_of(enum phase phase)
{
	switch (phase) {
	case PHASE_NEW:
	case PHASE_BUSY_WAIT:
	case PHASE_PREPARE_FIRST:
	case PHASE_PREPARE_SECOND:
		return STAGE_RESOURCE;
	case PHASE_CONNECT:
	case PHASE_START_RESPONDER:
	case PHASE_START_INITIATOR:
		return STAGE_CONNECT;
	case PHASE_RUNNING:
	case PHASE_ONE_END_OVER:
	case PHASE_STOPPING:
		return STAGE_RUN;
	default:
		return STAGE_TEARDOWN;
	}
}

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

static json_t *new_message(struct measure *measure, const char *kind, enum side_name side)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	json_set_string(message, "run", measure->measurement->assignment.run_id);
	json_set_u64(message, "pair", measure->measurement->assignment.pair);
	json_set_string(message, "role",
			job_role_names[side == SIDE_INITIATOR ? ROLE_INITIATOR : ROLE_RESPONDER]);
	return message;
}

/* When it happened, as the ends count: since the traffic began. */
static uint64_t at_ns(const struct measure *measure)
{
	return measure->traffic_mono_ns != 0 ? clock_mono_ns() - measure->traffic_mono_ns : 0;
}

static void send_message(struct measure *measure, enum side_name side, json_t *message)
{
	struct side *to = &measure->sides[side];
	struct failure failure = FAILURE_INIT;

	if (to->is_lost) {
		json_decref(message);
		return;
	}
	if (!measure->options.send(measure->options.arg, to->node, message)) {
		error_set(&failure.error, -ENOTCONN, ERROR_PEER, "no session to node \"%s\"",
			  to->node);
		failure.error.stage = measure->phase <= PHASE_PREPARE_SECOND
					      ? STAGE_DISCOVER
					      : stage_of(measure->phase);
		text_copy(failure.error.call, sizeof(failure.error.call),
			  measure->phase <= PHASE_PREPARE_SECOND ? "connect" : "session");
		side_set_failure(to, &failure);
		to->is_lost = true;
		to->has_job = false;
		to->is_finished = true;
	}
}

static void send_simple(struct measure *measure, const char *kind, enum side_name side)
{
	send_message(measure, side, new_message(measure, kind, side));
}

static void send_prepare(struct measure *measure, enum side_name side)
{
	struct assignment *assignment = memory_new(sizeof(*assignment));
	json_t *message = new_message(measure, "prepare", side);

	*assignment = measure->measurement->assignment;
	assignment->role = side == SIDE_INITIATOR ? ROLE_INITIATOR : ROLE_RESPONDER;
	json_set_take(message, "assignment", schema_write(assignment_fields, assignment));
	free(assignment);
	measure->sides[side].has_job = true;
	send_message(measure, side, message);
}

static void send_connect(struct measure *measure, enum side_name side)
{
	const struct participant *other = measure->sides[1 - side].participant;
	json_t *message = new_message(measure, "connect", side);

	json_set_take(message, "info", schema_write(endpoint_info_fields, other->info));
	send_message(measure, side, message);
}

static void begin_releasing(struct measure *measure)
{
	enter(measure, PHASE_RELEASING, RELEASE_TIMEOUT_NS);
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
	enter(measure, PHASE_STOPPING, STOP_TIMEOUT_NS);
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
	measure->measurement->ended_real_ns = clock_real_ns();
	/* Told from the loop's next turn: the caller may be inside measure_message. */
	arm(measure, clock_mono_ns());
}

static void start_initiator(struct measure *measure)
{
	end_step(measure, "start_responder");
	enter(measure, PHASE_START_INITIATOR, START_TIMEOUT_NS);
	measure->sides[SIDE_INITIATOR].is_start_sent = true;
	send_simple(measure, "start", SIDE_INITIATOR);
}

static void start_responder(struct measure *measure)
{
	end_step(measure, "connect");
	enter(measure, PHASE_START_RESPONDER, START_TIMEOUT_NS);
	measure->sides[SIDE_RESPONDER].is_start_sent = true;
	send_simple(measure, "start", SIDE_RESPONDER);
}

static void begin_running(struct measure *measure)
{
	end_step(measure, "start_initiator");
	measure->measurement->started_real_ns = clock_real_ns();
	measure->traffic_mono_ns = clock_mono_ns();
	measure->measurement->accepted_to_first_post_ns =
		clock_mono_ns() - measure->options.accepted_mono_ns;
	enter(measure, PHASE_RUNNING,
	      workload_timeout_ns(&measure->measurement->assignment.workload) +
		      2 * WORKLOAD_GRACE_NS);
}

static void prepare_second(struct measure *measure)
{
	end_step(measure, "prepare_first");
	enter(measure, PHASE_PREPARE_SECOND, PREPARE_TIMEOUT_NS);
	send_prepare(measure, 1 - measure->first);
}

static void connect_both(struct measure *measure)
{
	end_step(measure, "prepare_second");
	enter(measure, PHASE_CONNECT, CONNECT_TIMEOUT_NS);
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
	if (measure->phase == PHASE_RUNNING && initiator->is_finished) {
		begin_stopping(measure);
	} else if (measure->phase == PHASE_RUNNING && responder->is_finished) {
		enter(measure, PHASE_ONE_END_OVER, OTHER_END_NS);
	} else if (measure->phase == PHASE_ONE_END_OVER && initiator->is_finished) {
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
	enter(measure, PHASE_PREPARE_FIRST, PREPARE_TIMEOUT_NS);
	send_prepare(measure, measure->first);
	advance(measure);
}

static void deadline_passed(struct measure *measure, enum side_name late, const char *what)
{
	struct failure failure = FAILURE_INIT;
	struct side *side = &measure->sides[late];

	error_set(&failure.error, -ETIMEDOUT, ERROR_DEVICE,
		  "node \"%s\" did not %s within %" PRIu64 " s", side->node, what,
		  (uint64_t)((clock_mono_ns() - measure->phase_mono_ns) / SECOND_NS));
	failure.error.stage = stage_of(measure->phase);
	text_copy(failure.error.call, sizeof(failure.error.call), "deadline");
	failure.at_ns = at_ns(measure);
	side_set_failure(side, &failure);
}

static void give_up_waiting(struct measure *measure)
{
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &measure->sides[i];

		if (measure->phase == PHASE_STOPPING && side_owes_end(side)) {
			deadline_passed(measure, i, "report the end of its traffic");
			side->is_finished = true;
		} else if (measure->phase == PHASE_RELEASING && side_owes_release(side)) {
			deadline_passed(measure, i, "release its resources");
			side->is_released = true;
		}
	}
	advance(measure);
}

static void on_phase_deadline(struct measure *measure)
{
	switch (measure->phase) {
	case PHASE_PREPARE_FIRST:
		deadline_passed(measure, measure->first, "prepare");
		break;
	case PHASE_PREPARE_SECOND:
		deadline_passed(measure, 1 - measure->first, "prepare");
		break;
	case PHASE_CONNECT:
		deadline_passed(measure,
				measure->sides[SIDE_INITIATOR].is_connected ? SIDE_RESPONDER
									    : SIDE_INITIATOR,
				"connect its queue pairs");
		break;
	case PHASE_START_RESPONDER:
		deadline_passed(measure, SIDE_RESPONDER, "start");
		break;
	case PHASE_START_INITIATOR:
		deadline_passed(measure, SIDE_INITIATOR, "start");
		break;
	case PHASE_RUNNING:
		deadline_passed(measure, SIDE_INITIATOR, "finish its traffic (run.timeout)");
		break;
	default:
		break;
	}
	begin_stopping(measure);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct measure *measure = arg;

	switch (measure->phase) {
	case PHASE_DONE:
		measure->options.done(measure->options.arg, measure);
		break;
	case PHASE_BUSY_WAIT:
		begin_prepare(measure);
		break;
	case PHASE_STOPPING:
	case PHASE_RELEASING:
		give_up_waiting(measure);
		break;
	default:
		on_phase_deadline(measure);
		break;
	}
	return 0;
}

/* Somebody else measures there: let the other end go, come back later. */
static void on_busy(struct measure *measure, struct side *side, const json_t *message)
{
	uint64_t retry_after_ns = SECOND_NS;
	char text[LIMIT_TEXT] = "";
	uint64_t now = clock_mono_ns();
	uint64_t jitter;

	if (measure->phase != PHASE_PREPARE_FIRST && measure->phase != PHASE_PREPARE_SECOND) {
		return;
	}
	json_get_u64_or(message, "retry_after_ns", 0, 10 * SECOND_NS, &retry_after_ns, NULL);
	json_get_string_or(message, "error", text, sizeof(text), NULL);
	side->has_job = false;
	if (now >= measure->busy_deadline_mono_ns) {
		struct failure failure = FAILURE_INIT;

		error_set(&failure.error, -EBUSY, ERROR_PEER,
			  "node \"%s\" stayed busy for %llu s: %s", side->node,
			  BUSY_TIMEOUT_NS / SECOND_NS, text);
		failure.error.stage = STAGE_RESOURCE;
		text_copy(failure.error.call, sizeof(failure.error.call), "busy");
		side_set_failure(side, &failure);
		begin_stopping(measure);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (measure->sides[i].has_job) {
			send_simple(measure, "release", i);
			measure->sides[i].has_job = false;
		}
	}
	jitter = prng_hash(measure->measurement->assignment.run_id, measure->busy_attempts++) %
		 (retry_after_ns / 2 + 1);
	step_add(&measure->measurement->coordination, "busy_wait", retry_after_ns + jitter, 0);
	enter(measure, PHASE_BUSY_WAIT, retry_after_ns + jitter);
}

static void on_unreadable(struct measure *measure, struct side *side, const char *kind,
			  const struct error *err)
{
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -EPROTO, ERROR_PEER,
		  "node \"%s\" sent a \"%s\" that cannot be read: %s", side->node, kind, err->text);
	failure.error.stage = stage_of(measure->phase);
	text_copy(failure.error.call, sizeof(failure.error.call), "message");
	side_set_failure(side, &failure);
	side->is_finished = true;
	begin_stopping(measure);
}

static void dispatch(struct measure *measure, struct side *side, const char *kind,
		     const json_t *message)
{
	struct error err = ERROR_INIT;
	int r = 0;

	if (strcmp(kind, "prepared") == 0) {
		r = side_read_prepared(side, message, &err);
	} else if (strcmp(kind, "connected") == 0) {
		side_read_steps(side, message);
		side->is_connected = true;
	} else if (strcmp(kind, "started") == 0) {
		side->is_started = true;
	} else if (strcmp(kind, "progress") == 0) {
		if (side == &measure->sides[SIDE_INITIATOR] &&
		    sample_progress_read(json_object_get(message, "progress"), &measure->progress,
					 NULL) == 0) {
			measure->has_progress = true;
		}
	} else if (strcmp(kind, "finished") == 0) {
		r = side_read_finished(side, message, &err);
	} else if (strcmp(kind, "failed") == 0) {
		r = side_read_failed(side, message, &err);
		begin_stopping(measure);
	} else if (strcmp(kind, "busy") == 0) {
		on_busy(measure, side, message);
	} else if (strcmp(kind, "released") == 0) {
		/* Late answers to a release of the busy wait are not about the present job. */
		side->is_released = measure->phase == PHASE_RELEASING;
	}
	if (r < 0) {
		on_unreadable(measure, side, kind, &err);
	}
}

void measure_message(struct measure *measure, const char *node, const char *kind,
		     const json_t *message)
{
	const char *role = json_string_value(json_object_get(message, "role"));
	struct side *side;

	if (measure->phase == PHASE_DONE || role == NULL) {
		return;
	}
	side = &measure->sides[strcmp(role, job_role_names[ROLE_INITIATOR]) == 0 ? SIDE_INITIATOR
										 : SIDE_RESPONDER];
	if (strcmp(side->node, node) != 0) {
		return; /* a node may speak for itself alone */
	}
	dispatch(measure, side, kind, message);
	advance(measure);
}

void measure_lost(struct measure *measure, const char *node, const struct error *why)
{
	if (measure->phase == PHASE_DONE) {
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &measure->sides[i];
		struct failure failure = FAILURE_INIT;

		if (strcmp(side->node, node) != 0 || side->is_lost) {
			continue;
		}
		side->is_lost = true;
		/* Once it has nothing more to tell, the session is not needed. */
		if (measure->phase >= PHASE_STOPPING &&
		    (!side->is_start_sent || side->is_finished)) {
			continue;
		}
		failure.error = *why;
		failure.error.class = ERROR_PEER;
		failure.error.stage = stage_of(measure->phase);
		text_copy(failure.error.call, sizeof(failure.error.call), "session");
		failure.at_ns = at_ns(measure);
		side_set_failure(side, &failure);
		side->is_finished = true;
	}
	if (has_failed(measure)) {
		begin_stopping(measure);
	}
	advance(measure);
}

void measure_abort(struct measure *measure, const char *reason)
{
	struct failure failure = FAILURE_INIT;

	if (measure->phase >= PHASE_STOPPING) {
		return;
	}
	error_set(&failure.error, -ECANCELED, ERROR_INPUT, "stopped: %s", reason);
	failure.error.stage = STAGE_RUN;
	text_copy(failure.error.call, sizeof(failure.error.call), "abort");
	failure.at_ns = at_ns(measure);
	side_set_failure(&measure->sides[SIDE_INITIATOR], &failure);
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
	measure->sides[SIDE_INITIATOR].node = measurement->assignment.initiator.node;
	measure->sides[SIDE_INITIATOR].participant = &measurement->initiator;
	measure->sides[SIDE_RESPONDER].node = measurement->assignment.responder.node;
	measure->sides[SIDE_RESPONDER].participant = &measurement->responder;
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
	if (measure->phase == PHASE_RUNNING &&
	    (measure->has_progress ? measure->progress.phase == PHASE_WARMUP
				   : measure->measurement->assignment.workload.run.warmup_ns > 0)) {
		return "warming up";
	}
	return phase_words[measure->phase];
}

const struct progress *measure_progress(const struct measure *measure)
{
	return measure->has_progress ? &measure->progress : NULL;
}
