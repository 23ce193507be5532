// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>

#include "run/measure_internal.h"
#include "util/clock.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

/* When it happened, as the ends count: since the traffic began. */
static uint64_t at_ns(const struct measure *measure)
{
	return measure->traffic_mono_ns != 0 ? clock_mono_ns() - measure->traffic_mono_ns : 0;
}

void measure_failure_set(struct measure *measure, struct side *side, const struct error *err,
			 const char *call, enum error_stage stage)
{
	struct failure failure = FAILURE_INIT;

	failure.error = *err;
	failure.error.stage = stage;
	text_copy(failure.error.call, sizeof(failure.error.call), call);
	failure.at_ns = at_ns(measure);
	side_set_failure(side, &failure);
}

static void set_late(struct measure *measure, struct side *side)
{
	struct error err = ERROR_INIT;

	error_set(&err, -ETIMEDOUT, ERROR_DEVICE, "node \"%s\" did not %s within %" PRIu64 " s",
		  side->node, phase_task(measure->phase),
		  (uint64_t)((clock_mono_ns() - measure->phase_mono_ns) / SECOND_NS));
	measure_failure_set(measure, side, &err, "deadline", phase_stage(measure->phase));
}

/* Whom the phase waits for, where it is one end. */
static enum side_name late_side(const struct measure *measure)
{
	switch (measure->phase) {
	case PHASE_PREPARE_FIRST:
		return measure->first;
	case PHASE_PREPARE_SECOND:
		return 1 - measure->first;
	case PHASE_CONNECT:
		return measure->sides[SIDE_INITIATOR].is_connected ? SIDE_RESPONDER
								   : SIDE_INITIATOR;
	case PHASE_START_RESPONDER:
		return SIDE_RESPONDER;
	default:
		return SIDE_INITIATOR;
	}
}

void measure_failure_late(struct measure *measure)
{
	for (unsigned i = 0; i < 2; i++) {
		struct side *side = &measure->sides[i];

		if (measure->phase == PHASE_STOPPING && side_owes_end(side)) {
			set_late(measure, side);
			side->is_finished = true;
		} else if (measure->phase == PHASE_RELEASING && side_owes_release(side)) {
			set_late(measure, side);
			side->is_released = true;
		}
	}
	if (measure->phase < PHASE_STOPPING && phase_task(measure->phase) != NULL) {
		set_late(measure, &measure->sides[late_side(measure)]);
	}
}
