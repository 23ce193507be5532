// SPDX-License-Identifier: MIT
#include "fuzz/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "fake/fake-clock.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"

#define START_MONO_NS 1000000000000ull

enum kind { KIND_IO, KIND_TIME, KIND_DEFER };

struct sd_event {
	unsigned references;
	struct list sources;
	bool is_turning;
	loop_ready_fn ready;
	void *arg;
};

struct sd_event_source {
	struct list link;
	struct sd_event *event;
	enum kind kind;
	bool is_dead; /* swept when the turn is over */
	int enabled;
	int fd;
	uint32_t events;
	uint64_t when_us;
	sd_event_io_handler_t on_io;
	sd_event_time_handler_t on_time;
	sd_event_handler_t on_defer;
	void *arg;
};

sd_event *loop_new(loop_ready_fn ready, void *arg)
{
	static bool is_started;
	sd_event *event = memory_new(sizeof(*event));

	if (is_started) {
		fake_clock_stop();
	}
	is_started = true;
	fake_clock_start(START_MONO_NS);
	event->references = 1;
	list_init(&event->sources);
	event->ready = ready;
	event->arg = arg;
	return event;
}

void loop_free(sd_event *event)
{
	assert(list_is_empty(&event->sources));
	assert(event->references == 1);
	free(event);
}

static bool is_due(const sd_event_source *source)
{
	if (source->is_dead || source->enabled == SD_EVENT_OFF) {
		return false;
	}
	switch (source->kind) {
	case KIND_IO:
		return source->events & source->event->ready(source->event->arg);
	case KIND_TIME:
		return source->when_us <= clock_mono_ns() / 1000;
	default:
		return true;
	}
}

static void call(sd_event_source *source)
{
	uint32_t ready;

	if (source->enabled == SD_EVENT_ONESHOT) {
		source->enabled = SD_EVENT_OFF;
	}
	switch (source->kind) {
	case KIND_IO:
		ready = source->event->ready(source->event->arg);
		source->on_io(source, source->fd, source->events & ready, source->arg);
		break;
	case KIND_TIME:
		source->on_time(source, source->when_us, source->arg);
		break;
	default:
		source->on_defer(source, source->arg);
		break;
	}
}

static void sweep(sd_event *event)
{
	sd_event_source *source;

	list_each(source, &event->sources, link) {
		if (source->is_dead) {
			list_remove(&source->link);
			free(source);
		}
	}
}

bool loop_turn(sd_event *event)
{
	sd_event_source *source;
	bool has_run = false;

	event->is_turning = true;
	list_each(source, &event->sources, link) {
		if (is_due(source)) {
			call(source);
			has_run = true;
		}
	}
	event->is_turning = false;
	sweep(event);
	return has_run;
}

void loop_settle(sd_event *event, unsigned max)
{
	while (loop_turn(event)) {
		assert(max-- > 0);
	}
}

static uint64_t next_ns(const sd_event *event)
{
	uint64_t next = UINT64_MAX;
	const sd_event_source *source;

	list_each(source, &event->sources, link) {
		if (source->kind == KIND_TIME && source->enabled != SD_EVENT_OFF &&
		    source->when_us < next / 1000) {
			next = source->when_us * 1000;
		}
	}
	return next;
}

void loop_pass(sd_event *event, uint64_t ns)
{
	uint64_t end_ns = clock_mono_ns() + ns;

	for (;;) {
		uint64_t at_ns = next_ns(event);

		if (at_ns > end_ns) {
			break;
		}
		if (at_ns > clock_mono_ns()) {
			fake_clock_set(at_ns);
		}
		loop_settle(event, 10000);
	}
	fake_clock_set(end_ns);
	loop_settle(event, 10000);
}

/* --- sd-event's own names --- */

sd_event *sd_event_ref(sd_event *event)
{
	event->references++;
	return event;
}

sd_event *sd_event_unref(sd_event *event)
{
	if (event) {
		assert(event->references > 1); /* the last one is loop_free's */
		event->references--;
	}
	return NULL;
}

static sd_event_source *add(sd_event *event, enum kind kind, int enabled, void *arg)
{
	sd_event_source *source = memory_new(sizeof(*source));

	source->event = event;
	source->kind = kind;
	source->enabled = enabled;
	source->arg = arg;
	list_append(&event->sources, &source->link);
	return source;
}

int sd_event_add_io(sd_event *event, sd_event_source **ret, int fd, uint32_t events,
		    sd_event_io_handler_t callback, void *arg)
{
	*ret = add(event, KIND_IO, SD_EVENT_ON, arg);
	(*ret)->fd = fd;
	(*ret)->events = events;
	(*ret)->on_io = callback;
	return 0;
}

int sd_event_add_time(sd_event *event, sd_event_source **ret, clockid_t clock, uint64_t us,
		      uint64_t accuracy_us, sd_event_time_handler_t callback, void *arg)
{
	assert(clock == CLOCK_MONOTONIC);
	*ret = add(event, KIND_TIME, SD_EVENT_ONESHOT, arg);
	(*ret)->when_us = us;
	(*ret)->on_time = callback;
	return 0;
}

int sd_event_add_defer(sd_event *event, sd_event_source **ret, sd_event_handler_t callback,
		       void *arg)
{
	*ret = add(event, KIND_DEFER, SD_EVENT_ONESHOT, arg);
	(*ret)->on_defer = callback;
	return 0;
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source)
{
	if (source) {
		assert(!source->is_dead);
		source->is_dead = true;
		if (!source->event->is_turning) {
			sweep(source->event);
		}
	}
	return NULL;
}

int sd_event_source_set_enabled(sd_event_source *source, int enabled)
{
	assert(!source->is_dead);
	source->enabled = enabled;
	return 0;
}

int sd_event_source_set_time(sd_event_source *source, uint64_t us)
{
	assert(!source->is_dead && source->kind == KIND_TIME);
	source->when_us = us;
	return 0;
}

int sd_event_source_set_io_events(sd_event_source *source, uint32_t events)
{
	assert(!source->is_dead && source->kind == KIND_IO);
	source->events = events;
	return 0;
}
