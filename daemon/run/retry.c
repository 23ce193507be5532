// SPDX-License-Identifier: MIT
#include "run/retry.h"

#include <string.h>

#include "util/clock.h"

#define SECOND_NS 1000000000ull
#define FIRST_NS (5 * SECOND_NS)
#define LONGEST_NS (300 * SECOND_NS)

/* What may pass without anybody's doing. */
static bool is_absence(const struct failure *failure)
{
	static const char *const peer_calls[] = { "connect", "session" };
	static const char *const device_calls[] = { "device", "sick" };
	const struct error *error = &failure->error;
	const char *const *calls = error->class == ERROR_PEER ? peer_calls : device_calls;

	if (error->class != ERROR_PEER && error->class != ERROR_DEVICE &&
	    error->class != ERROR_RESOURCE) {
		return false;
	}
	return strcmp(error->call, calls[0]) == 0 || strcmp(error->call, calls[1]) == 0;
}

/* A port that went down under the traffic, or lost its address: judged by both ends, whatever the
 * call that failed first. */
static bool is_port_gone(const struct findings *findings)
{
	const struct finding *first = &findings->items[0];

	return findings->count > 0 && first->confidence >= CONFIDENCE_LIKELY &&
	       (first->code == FINDING_PORT_DOWN || first->code == FINDING_ADDRESS_LOST);
}

bool retry_is_worth(const struct run *run)
{
	if (error_is_set(&run->error.error)) {
		return is_absence(&run->error);
	}
	for (size_t i = 0; i < run->measurement_count; i++) {
		const struct measurement *measurement = run->measurements[i];

		if (!is_absence(&measurement->first_error) &&
		    !(error_is_set(&measurement->first_error.error) &&
		      is_port_gone(&measurement->findings))) {
			return false;
		}
	}
	return run->measurement_count > 0;
}

uint64_t retry_after_ns(uint64_t attempt, uint64_t until_next_ns, uint64_t seed)
{
	uint64_t after_ns = FIRST_NS;

	if (attempt > RETRY_MOST) {
		return CLOCK_NEVER;
	}
	for (uint64_t i = 1; i < attempt && after_ns < LONGEST_NS; i++) {
		after_ns *= 2;
	}
	after_ns = after_ns < LONGEST_NS ? after_ns : LONGEST_NS;
	after_ns += seed % (after_ns / 2 + 1);
	return until_next_ns / 2 > after_ns ? after_ns : CLOCK_NEVER;
}
