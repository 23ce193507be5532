// SPDX-License-Identifier: MIT
#include "startup.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/memory.h"

#define SECOND_NS 1000000000ull
#define TIMEOUT_NS (10 * SECOND_NS)
#define FIRST_LOOK_NS (SECOND_NS / 10)
#define LOOK_EVERY_NS (SECOND_NS / 5)

struct startup {
	const struct parts *parts;
	sd_event_source *timer;
	uint64_t deadline_mono_ns;
};

static bool is_settled(const struct parts *parts)
{
	if (!engine_has_scanned(parts->engine)) {
		return false;
	}
	for (size_t i = 0; i < peers_count(parts->peers); i++) {
		struct peer_status status;

		peers_status(parts->peers, i, &status);
		if (status.state != PEER_UP || status.inventory == NULL ||
		    status.inventory->port_count == 0) {
			return false;
		}
	}
	return true;
}

static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	struct startup *startup = arg;
	uint64_t now_mono_ns = clock_mono_ns();

	if (is_settled(startup->parts) || now_mono_ns >= startup->deadline_mono_ns) {
		schedule_begin(startup->parts->schedule);
		return 0;
	}
	sd_event_source_set_time(source, (now_mono_ns + LOOK_EVERY_NS) / 1000);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

struct startup *startup_new(const struct parts *parts)
{
	struct startup *startup = memory_new(sizeof(*startup));
	uint64_t now_mono_ns = clock_mono_ns();

	startup->parts = parts;
	startup->deadline_mono_ns = now_mono_ns + TIMEOUT_NS;
	if (sd_event_add_time(parts->event, &startup->timer, CLOCK_MONOTONIC,
			      (now_mono_ns + FIRST_LOOK_NS) / 1000, 1000, on_look, startup) < 0) {
		abort(); /* out of memory only */
	}
	return startup;
}

void startup_free(struct startup *startup)
{
	if (startup != NULL) {
		sd_event_source_disable_unref(startup->timer);
		free(startup);
	}
}
