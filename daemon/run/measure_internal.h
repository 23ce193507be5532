// SPDX-License-Identifier: MIT
#pragma once

/* What the sources of run/measure share and nobody else sees: measure.c (the way of a pair),
 * measure_failure.c (what went wrong on it, as the coordinator sees it), measure_in_use.c (waiting
 * for a port that others use). */

#include "run/measure.h"
#include "run/phase.h"
#include "run/side.h"

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
	bool is_deferred; /* others use a port; phase BUSY_WAIT */
	enum side_name in_use_side; /* whose */
	char in_use_cause[16]; /* "in_use", or "duty_cycle" */
	char in_use_text[LIMIT_TEXT];
	uint64_t deferred_mono_ns; /* since when; 0: never */
	uint64_t retry_mono_ns;
	bool has_progress;
	struct progress progress;
};

/* An end answered that others use its port, or that its hour is full: true when it is worth
 * waiting, and for how long; else it has failed. */
bool measure_in_use_wait(struct measure *measure, struct side *side, const char *cause,
			 const char *text, uint64_t retry_after_ns, uint64_t *ret_wait_ns);
/* The wait is over: true when the ends may be asked again; else it waits on (*ret_wait_ns), or has
 * failed (0). */
bool measure_in_use_over(struct measure *measure, uint64_t *ret_wait_ns);

/* A failure of one end, now. */
void measure_failure_set(struct measure *measure, struct side *side, const struct error *err,
			 const char *call, enum error_stage stage);
/* The phase's time is over: whoever is late has failed, and is not waited for any more. */
void measure_failure_late(struct measure *measure);
