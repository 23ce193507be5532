// SPDX-License-Identifier: MIT
#include <errno.h>

#include "run/measure_internal.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/units.h"

#define SECOND_NS 1000000000ull

static void give_up(struct measure *measure)
{
	struct side *side = &measure->sides[measure->in_use_side];
	uint64_t since_mono_ns = measure->deferred_mono_ns;
	struct error err = ERROR_INIT;
	char waited[UNITS_SIZE];

	measure->is_deferred = false;
	error_set(&err, -EBUSY, ERROR_PEER, "it waited for %s: %s",
		  units_format_duration(since_mono_ns != 0 ? clock_mono_ns() - since_mono_ns : 0,
					waited),
		  measure->in_use_text);
	measure_failure_set(measure, side, &err, measure->in_use_cause, STAGE_RESOURCE);
}

bool measure_in_use_wait(struct measure *measure, struct side *side, const char *cause,
			 const char *text, uint64_t retry_after_ns, uint64_t *ret_wait_ns)
{
	uint64_t deadline_mono_ns = measure->options.in_use_deadline_mono_ns;
	uint64_t now_mono_ns = clock_mono_ns();

	measure->in_use_side = side->role == ROLE_INITIATOR ? SIDE_INITIATOR : SIDE_RESPONDER;
	text_copy(measure->in_use_cause, sizeof(measure->in_use_cause), cause);
	text_copy(measure->in_use_text, sizeof(measure->in_use_text), text);
	if (now_mono_ns >= deadline_mono_ns) {
		give_up(measure);
		return false;
	}
	if (measure->deferred_mono_ns == 0) {
		measure->deferred_mono_ns = now_mono_ns;
	}
	measure->is_deferred = true;
	measure->retry_mono_ns = now_mono_ns + retry_after_ns;
	if (measure->retry_mono_ns > deadline_mono_ns) {
		measure->retry_mono_ns = deadline_mono_ns;
	}
	*ret_wait_ns = measure->retry_mono_ns - now_mono_ns;
	return true;
}

bool measure_in_use_over(struct measure *measure, uint64_t *ret_wait_ns)
{
	uint64_t deadline_mono_ns = measure->options.in_use_deadline_mono_ns;
	uint64_t now_mono_ns = clock_mono_ns();

	*ret_wait_ns = 0;
	if (now_mono_ns >= deadline_mono_ns) {
		give_up(measure);
		return false;
	}
	if (measure->options.may_try != NULL &&
	    !measure->options.may_try(measure->options.arg, measure)) {
		measure->retry_mono_ns = now_mono_ns + SECOND_NS;
		if (measure->retry_mono_ns > deadline_mono_ns) {
			measure->retry_mono_ns = deadline_mono_ns;
		}
		*ret_wait_ns = measure->retry_mono_ns - now_mono_ns;
		return false;
	}
	measure->is_deferred = false;
	measure->retry_mono_ns = now_mono_ns;
	/* As a run that had to wait for another one, it counts from its turn. */
	measure->options.accepted_mono_ns = now_mono_ns;
	return true;
}

const char *measure_in_use(const struct measure *measure, uint64_t *ret_retry_ns,
			   uint64_t *ret_give_up_ns)
{
	uint64_t deadline_mono_ns = measure->options.in_use_deadline_mono_ns;
	uint64_t now_mono_ns = clock_mono_ns();

	if (!measure->is_deferred) {
		return NULL;
	}
	*ret_retry_ns = measure->retry_mono_ns > now_mono_ns ? measure->retry_mono_ns - now_mono_ns
							     : 0;
	*ret_give_up_ns = deadline_mono_ns > now_mono_ns ? deadline_mono_ns - now_mono_ns : 0;
	return measure->in_use_text;
}
