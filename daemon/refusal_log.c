// SPDX-License-Identifier: MIT
#include "refusal_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/log.h"
#include "util/memory.h"

#define APART_NS (60ull * 1000000000)

struct refusal_log {
	uint64_t heard; /* told of so far: heard, and not let in */
	uint64_t unheard; /* closed without being heard */
	bool has_told;
	uint64_t told_mono_ns;
};

struct refusal_log *refusal_log_new(void)
{
	return memory_new(sizeof(struct refusal_log));
}

void refusal_log_free(struct refusal_log *log)
{
	free(log);
}

static bool is_unheard(unsigned refusal)
{
	return refusal == SESSION_REFUSED_RATE || refusal == SESSION_REFUSED_FULL;
}

static void count(const struct session_listener_status *status, uint64_t *ret_heard,
		  uint64_t *ret_unheard)
{
	*ret_heard = 0;
	*ret_unheard = 0;
	for (unsigned i = 0; i < SESSION_REFUSALS; i++) {
		if (is_unheard(i)) {
			*ret_unheard += status->refused[i];
		} else if (i != SESSION_REFUSED_CLOSED) {
			*ret_heard += status->refused[i];
		}
	}
}

void refusal_log_tell(struct refusal_log *log, const struct session_listener_status *status,
		      uint64_t now_mono_ns)
{
	uint64_t heard;
	uint64_t unheard;
	uint64_t fresh;

	count(status, &heard, &unheard);
	fresh = heard - log->heard + unheard - log->unheard;
	if (fresh == 0 || (log->has_told && now_mono_ns - log->told_mono_ns < APART_NS)) {
		return;
	}
	/* Who was heard tells more than who was not. */
	log_warning("%" PRIu64 " connection%s to the control port did not get in; the last: %s",
		    fresh, fresh == 1 ? "" : "s",
		    heard > log->heard ? status->last_failure.text : status->last_unheard.text);
	log->heard = heard;
	log->unheard = unheard;
	log->has_told = true;
	log->told_mono_ns = now_mono_ns;
}
