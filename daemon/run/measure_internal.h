// SPDX-License-Identifier: MIT
#pragma once

/* What the sources of run/measure share and nobody else sees: measure.c (the way of a pair),
 * measure_failure.c (what went wrong on it, as the coordinator sees it). */

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
	bool has_progress;
	struct progress progress;
};

/* A failure of one end, now. */
void measure_failure_set(struct measure *measure, struct side *side, const struct error *err,
			 const char *call, enum error_stage stage);
/* The phase's time is over: whoever is late has failed, and is not waited for any more. */
void measure_failure_late(struct measure *measure);
