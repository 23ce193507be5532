// SPDX-License-Identifier: MIT
#include "shutdown.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"

#define SECOND_NS 1000000000ull
#define TIMEOUT_NS (10 * SECOND_NS)
#define LOOK_EVERY_NS (SECOND_NS / 100)

struct shutdown {
	struct parts *parts;
	shutdown_done_fn done;
	void *arg;
	sd_event_source *timer;
	uint64_t deadline_mono_ns;
	bool has_runs_ended;
	char reason[160];
};

void shutdown_name_call(struct engine *engine, char *ret, size_t size)
{
	char duration[UNITS_SIZE];
	struct hang hang;

	if (!engine_waits_for(engine, &hang)) {
		text_copy(ret, size, "a call to an RDMA driver hangs");
		return;
	}
	snprintf(ret, size, "%s of RDMA device \"%s\" has not returned for %s", hang.call,
		 hang.device,
		 units_format_duration(clock_mono_ns() - hang.since_mono_ns, duration));
}

static bool is_down(const struct parts *parts, const char **ret_what)
{
	if (!coordinator_is_idle(parts->coordinator)) {
		*ret_what = "a run that does not end";
	} else if (!agent_is_idle(parts->agent)) {
		*ret_what = "a job that is not released";
	} else if (guest_count(parts->guests) > 0) {
		*ret_what = "a session that does not close";
	} else {
		return true;
	}
	return false;
}

static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	struct shutdown *shutdown = arg;
	struct parts *parts = shutdown->parts;
	uint64_t now_mono_ns = clock_mono_ns();
	const char *what = NULL;
	char call[SHUTDOWN_CALL_SIZE];

	if (coordinator_is_idle(parts->coordinator) && !shutdown->has_runs_ended) {
		shutdown->has_runs_ended = true;
		agent_stop(parts->agent, shutdown->reason);
	}
	if (is_down(parts, &what)) {
		log_info("stopped");
		shutdown->done(shutdown->arg, 0);
	} else if (now_mono_ns >= shutdown->deadline_mono_ns) {
		shutdown_name_call(parts->engine, call, sizeof(call));
		log_error("not everything ended within %llu s: %s%s%s", TIMEOUT_NS / SECOND_NS,
			  what, agent_is_idle(parts->agent) ? "" : "; ",
			  agent_is_idle(parts->agent) ? "" : call);
		shutdown->done(shutdown->arg, 1);
	} else {
		sd_event_source_set_time(source, (now_mono_ns + LOOK_EVERY_NS) / 1000);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	return 0;
}

struct shutdown *shutdown_new(struct parts *parts, const char *reason, shutdown_done_fn done,
			      void *arg)
{
	struct shutdown *shutdown = memory_new(sizeof(*shutdown));
	uint64_t now_mono_ns = clock_mono_ns();

	shutdown->parts = parts;
	shutdown->done = done;
	shutdown->arg = arg;
	shutdown->deadline_mono_ns = now_mono_ns + TIMEOUT_NS;
	text_copy(shutdown->reason, sizeof(shutdown->reason), reason);
	schedule_stop(parts->schedule);
	session_listener_free(take(parts->listener));
	coordinator_stop(parts->coordinator, reason);
	guest_close(parts->guests, reason);
	if (sd_event_add_time(parts->event, &shutdown->timer, CLOCK_MONOTONIC, now_mono_ns / 1000,
			      1000, on_look, shutdown) < 0) {
		abort(); /* out of memory only */
	}
	return shutdown;
}

void shutdown_free(struct shutdown *shutdown)
{
	if (shutdown != NULL) {
		sd_event_source_disable_unref(shutdown->timer);
		free(shutdown);
	}
}
