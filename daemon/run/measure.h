// SPDX-License-Identifier: MIT
#pragma once

/*
 * One pair of a plan, carried out: prepare both ends, connect, start, watch, stop, release, with a
 * deadline on every wait; what both ends told is put into a measurement. Never judges. Loop thread;
 * `done` never comes from inside a call.
 *
 *   prepare first -> prepare second -> connect both -> start responder -> start initiator ->
 * running -> stopping -> releasing -> done
 *
 * When the initiator posted first is its word on how long after `start` that was; the rest of the
 * time until that word came is the way of both messages, half of it each.
 *
 * Ends are prepared in the order of their node names, so that two coordinators that want the same
 * two ends cannot each hold one; an end that answers busy gets the other one released and is asked
 * again.
 *
 * Busy with jobs of its own an end is waited for up to 60 s; where others use its port (cause
 * "in_use"), until in_use_deadline_mono_ns.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "model/run.h"
#include "util/json.h"

struct measure;

struct measure_options {
	sd_event *event;
	/* Takes the message. False when there is no way to that node. */
	bool (*send)(void *arg, const char *node, json_t *message);
	/* Everything is released, or given up; the measurement is complete but for its judgement.
	 * measure_free may follow at once. */
	void (*done)(void *arg, struct measure *measure);
	/* Others use a port of it: it holds nothing, and tries again later. May be NULL. */
	void (*deferred)(void *arg, struct measure *measure);
	/* Whether it may try again now; asked each second while it may not. NULL: always. */
	bool (*may_try)(void *arg, struct measure *measure);
	void *arg;
	uint64_t in_use_deadline_mono_ns; /* how long it waits for a port that others use */
	uint64_t accepted_mono_ns; /* where accepted_to_first_post_ns counts from */
};

/* The measurement is borrowed; its assignment and ports are filled in. */
struct measure *measure_new(const struct measure_options *options, struct measurement *measurement);
void measure_free(struct measure *measure);
void measure_start(struct measure *measure);
/* From an end; ignored if it is not about this pair. */
void measure_message(struct measure *measure, const char *node, const char *kind,
		     const json_t *message);
/* The way to a node broke. */
void measure_lost(struct measure *measure, const char *node, const struct error *why);
/* Stops and releases; the initiator's failure becomes class INPUT, call "abort". */
void measure_abort(struct measure *measure, const char *reason);

/* Waits for a port that others use: why, in how long it tries again, and gives up. NULL: it does
 * not. */
const char *measure_in_use(const struct measure *measure, uint64_t *ret_retry_ns,
			   uint64_t *ret_give_up_ns);

struct measurement *measure_measurement(struct measure *measure);
/* For the live line: a word for the phase ("preparing", "measuring", ...) and the initiator's
 * latest progress. */
const char *measure_phase(const struct measure *measure);
const struct progress *measure_progress(const struct measure *measure); /* NULL before the first */
