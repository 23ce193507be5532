// SPDX-License-Identifier: MIT
#include "notify.h"

#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "status_line.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define STATUS_PERIOD_NS SECOND_NS

struct notify {
	const struct parts *parts;
	sd_event_source *status_timer;
	sd_event_source *watchdog_timer;
	uint64_t watchdog_ns;
	bool is_starving; /* the watchdog was not fed when last looked */
	bool is_stopping;
	char line[512];
};

static void arm(sd_event_source *timer, uint64_t period_ns)
{
	sd_event_source_set_time(timer, (clock_mono_ns() + period_ns) / 1000);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void tell_status(struct notify *notify)
{
	char line[sizeof(notify->line)];

	status_line_write(notify->parts, line, sizeof(line));
	if (!notify->is_stopping && strcmp(line, notify->line) != 0) {
		text_copy(notify->line, sizeof(notify->line), line);
		sd_notifyf(0, "STATUS=%s", line);
	}
}

static int on_status(sd_event_source *source, uint64_t usec, void *arg)
{
	struct notify *notify = arg;

	tell_status(notify);
	arm(source, STATUS_PERIOD_NS);
	return 0;
}

/*
 * Fed at half its period, so that it was fed half a period ago when a look finds that a worker
 * stands still. That may be no more than a process that was stopped for a moment: the next looks
 * come soon, lest a daemon that is well again is ended for one of them.
 */
static int on_watchdog(sd_event_source *source, uint64_t usec, void *arg)
{
	struct notify *notify = arg;
	uint64_t again_ns = notify->watchdog_ns / 8;

	if (notify->parts->is_progressing) {
		notify->is_starving = false;
		sd_notify(0, "WATCHDOG=1");
		arm(source, notify->watchdog_ns / 2);
		return 0;
	}
	if (!notify->is_starving) {
		notify->is_starving = true;
		log_error("a measuring worker makes no steps: the watchdog is not fed");
	}
	arm(source, again_ns < SECOND_NS ? again_ns : SECOND_NS);
	return 0;
}

static sd_event_source *add_timer(struct notify *notify, sd_event_time_handler_t handler,
				  uint64_t period_ns)
{
	sd_event_source *timer;

	if (sd_event_add_time(notify->parts->event, &timer, CLOCK_MONOTONIC, 0, 1000, handler,
			      notify) < 0) {
		abort(); /* out of memory only */
	}
	arm(timer, period_ns);
	return timer;
}

struct notify *notify_new(const struct parts *parts)
{
	struct notify *notify = memory_new(sizeof(*notify));
	uint64_t watchdog_us = 0;

	notify->parts = parts;
	notify->status_timer = add_timer(notify, on_status, STATUS_PERIOD_NS);
	if (sd_watchdog_enabled(0, &watchdog_us) > 0) {
		notify->watchdog_ns = watchdog_us * 1000;
		notify->watchdog_timer = add_timer(notify, on_watchdog, notify->watchdog_ns / 2);
	}
	return notify;
}

void notify_free(struct notify *notify)
{
	if (notify == NULL) {
		return;
	}
	sd_event_source_disable_unref(notify->status_timer);
	sd_event_source_disable_unref(notify->watchdog_timer);
	free(notify);
}

void notify_ready(struct notify *notify)
{
	status_line_write(notify->parts, notify->line, sizeof(notify->line));
	sd_notifyf(0, "READY=1\nSTATUS=%s", notify->line);
}

void notify_reloading(struct notify *notify)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reading the configuration again",
		   (unsigned long long)(clock_mono_ns() / 1000));
}

void notify_stopping(struct notify *notify, const char *reason)
{
	notify->is_stopping = true;
	sd_notifyf(0, "STOPPING=1\nSTATUS=stopping: %s", reason);
}
