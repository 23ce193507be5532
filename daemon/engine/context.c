// SPDX-License-Identifier: MIT
#include "engine/context.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/cm.h"

#define SETUP_THREADS 2
#define IDLE_US 10000000u
#define IDLE_ACCURACY_US 100000u
#define EVENTS_AT_ONCE 32

enum context_state { CONTEXT_CLOSED, CONTEXT_OPENING, CONTEXT_OPEN, CONTEXT_CLOSING };

struct context {
	struct context_owner owner;
	char name[LIMIT_NAME];
	struct setup *setup;
	enum context_state state;
	bool is_lost; /* while open */
	bool is_shut; /* for good */
	bool uses_cm; /* a job on it did, since the process began */
	struct device *device; /* while open */
	unsigned users;
	struct list waits; /* of struct context_wait */
	sd_event_source *async_source;
	sd_event_source *idle_source;
};

struct context_task {
	struct task task;
	struct context *context;
	struct device *device;
	uint64_t duration_ns;
	int error;
	struct error err;
};

static void settle(struct context *context);

int context_new(struct context **ret, const char *name, const struct context_owner *owner,
		struct error *err)
{
	struct context *context = memory_new(sizeof(*context));
	int error;

	context->owner = *owner;
	list_init(&context->waits);
	text_copy(context->name, sizeof(context->name), name);
	error = setup_new(&context->setup, name, SETUP_THREADS, err);
	if (error < 0) {
		free(context);
		return error;
	}
	*ret = context;
	return 0;
}

const char *context_name(const struct context *context)
{
	return context->name;
}

void context_submit(struct context *context, struct task *task)
{
	task->setup.reply = context->owner.replies;
	setup_submit(context->setup, &task->setup);
	context->owner.submitted(context->owner.arg, context);
}

uint64_t context_oldest_ns(struct context *context, uint64_t now_mono_ns, const char **ret_call)
{
	return context->setup ? setup_oldest_ns(context->setup, now_mono_ns, ret_call) : 0;
}

static void submit_own(struct context *context, void (*run)(struct setup_task *task),
		       void (*done)(struct task *task), struct device *device)
{
	struct context_task *own = memory_new(sizeof(*own));

	own->task.setup.run = run;
	own->task.setup.key = context;
	own->task.done = done;
	own->context = context;
	own->device = device;
	context_submit(context, &own->task);
}

static void lose(struct context *context, const char *reason)
{
	struct error err = ERROR_INIT;

	if (context->state != CONTEXT_OPEN || context->is_lost) {
		return;
	}
	context->is_lost = true;
	context->async_source = sd_event_source_disable_unref(context->async_source);
	error_set(&err, -ENODEV, ERROR_DEVICE, "RDMA device \"%s\" %s; see the kernel's log",
		  context->name, reason);
	err.stage = STAGE_RUN;
	text_copy(err.call, sizeof(err.call), "device");
	context->owner.lost(context->owner.arg, context, &err);
	settle(context);
}

/* True if it may have more: one event was read, and the device lives. */
static bool read_event(struct context *context)
{
	struct device_notice notice;
	enum device_event event = device_next_event(context->device, &notice);

	if (event != DEVICE_EVENT_NONE) {
		context->owner.noticed(context->owner.arg, context, &notice);
	}
	switch (event) {
	case DEVICE_EVENT_NONE:
		return false;
	case DEVICE_EVENT_FATAL:
		lose(context, "reported a fatal error");
		return false;
	case DEVICE_EVENT_PORT:
		context->owner.changed(context->owner.arg, context);
		break;
	case DEVICE_EVENT_QP:
	case DEVICE_EVENT_CQ:
	case DEVICE_EVENT_SRQ:
		context->owner.failed(context->owner.arg, context, &notice, event);
		break;
	case DEVICE_EVENT_OTHER:
		break;
	}
	return true;
}

static bool read_events(struct context *context)
{
	bool has_read = false;

	for (unsigned i = 0; i < EVENTS_AT_ONCE && context->device && read_event(context); i++) {
		has_read = true;
	}
	return has_read;
}

static int on_async(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct context *context = arg;

	/* A descriptor of a device that is gone stays readable without giving anything. */
	if (!read_events(context) && revents & (EPOLLHUP | EPOLLERR)) {
		lose(context, "closed its event descriptor");
	}
	return 0;
}

void context_drain(struct context *context)
{
	if (context->state == CONTEXT_OPEN && !context->is_lost) {
		read_events(context);
	}
}

static void run_open(struct setup_task *setup)
{
	struct context_task *own = (struct context_task *)setup;
	uint64_t started_mono_ns = clock_mono_ns();

	own->error = device_open(&own->device, own->context->name, &own->err);
	own->duration_ns = clock_mono_ns() - started_mono_ns;
}

static void tell_waiting(struct context *context, uint64_t open_ns, const struct error *err)
{
	struct list waits;
	struct context_wait *wait;

	/* Those who come from inside a callback wait for the next time. */
	list_init(&waits);
	while ((wait = list_first(&context->waits, struct context_wait, link))) {
		list_remove(&wait->link);
		list_append(&waits, &wait->link);
	}
	while ((wait = list_first(&waits, struct context_wait, link))) {
		list_remove(&wait->link);
		if (context->device) {
			context->users++;
		}
		wait->ready(wait, context->device, open_ns, err);
	}
}

static void done_open(struct task *task)
{
	struct context_task *own = (struct context_task *)task;
	struct context *context = own->context;

	if (own->error < 0) {
		context->state = CONTEXT_CLOSED;
		tell_waiting(context, own->duration_ns, &own->err);
	} else {
		context->state = CONTEXT_OPEN;
		context->is_lost = false;
		context->device = own->device;
		/* Without a source for events a lost device is still noticed by the scan. */
		(void)sd_event_add_io(context->owner.event, &context->async_source,
				      context->device->context->async_fd, EPOLLIN, on_async,
				      context);
		tell_waiting(context, own->duration_ns, NULL);
	}
	free(own);
	settle(context);
}

static void run_close(struct setup_task *setup)
{
	struct context_task *own = (struct context_task *)setup;

	device_close(own->device);
}

static void run_forget(struct setup_task *setup)
{
	struct context_task *own = (struct context_task *)setup;

	own->error = cm_forget_devices() ? 0 : -ENODEV;
}

static void done_forget(struct task *task)
{
	struct context_task *own = (struct context_task *)task;

	/* The next scan asks again. */
	own->context->uses_cm |= own->error < 0;
	free(own);
}

/* Of a device that is gone the connection manager may have a context, too. */
static void forget(struct context *context)
{
	if (context->setup && context->uses_cm) {
		context->uses_cm = false;
		submit_own(context, run_forget, done_forget, NULL);
	}
}

void context_vanished(struct context *context)
{
	lose(context, "was removed");
	if (context->state == CONTEXT_CLOSED) {
		forget(context);
	}
}

static void done_close(struct task *task)
{
	struct context_task *own = (struct context_task *)task;
	struct context *context = own->context;

	context->state = CONTEXT_CLOSED;
	free(own);
	if (context->is_lost) {
		forget(context);
	}
	settle(context);
}

static void close_now(struct context *context)
{
	context->state = CONTEXT_CLOSING;
	context->async_source = sd_event_source_disable_unref(context->async_source);
	context->idle_source = sd_event_source_disable_unref(context->idle_source);
	submit_own(context, run_close, done_close, take(context->device));
}

static int on_idle(sd_event_source *source, uint64_t usec, void *arg)
{
	struct context *context = arg;

	context->idle_source = sd_event_source_disable_unref(context->idle_source);
	close_now(context);
	return 0;
}

/* Does what the state asks for: open, close, or set the clock for closing. */
static void settle(struct context *context)
{
	bool is_wanted = context->users > 0 || !list_is_empty(&context->waits);

	if (!context->setup) { /* stopped */
		return;
	}
	switch (context->state) {
	case CONTEXT_CLOSED:
		if (is_wanted && !context->is_shut) {
			context->state = CONTEXT_OPENING;
			submit_own(context, run_open, done_open, NULL);
		}
		return;
	case CONTEXT_OPENING:
	case CONTEXT_CLOSING:
		return;
	case CONTEXT_OPEN:
		break;
	}
	if (context->users > 0) {
		context->idle_source = sd_event_source_disable_unref(context->idle_source);
	} else if (context->is_lost || context->is_shut) {
		close_now(context);
	} else if (!context->idle_source &&
		   sd_event_add_time_relative(context->owner.event, &context->idle_source,
					      CLOCK_MONOTONIC, IDLE_US, IDLE_ACCURACY_US, on_idle,
					      context) < 0) {
		close_now(context);
	}
}

struct device *context_acquire(struct context *context, struct context_wait *wait)
{
	assert(!context->is_shut);
	if (context->state == CONTEXT_OPEN && !context->is_lost) {
		context->users++;
		settle(context);
		return context->device;
	}
	list_append(&context->waits, &wait->link);
	settle(context);
	return NULL;
}

void context_cancel(struct context *context, struct context_wait *wait)
{
	list_remove(&wait->link);
}

void context_use_cm(struct context *context)
{
	context->uses_cm = true;
}

void context_release(struct context *context)
{
	assert(context->users > 0);
	context->users--;
	settle(context);
}

void context_shut(struct context *context)
{
	assert(context->users == 0 && list_is_empty(&context->waits));
	context->is_shut = true;
	settle(context);
}

int context_stop(struct context *context, uint64_t deadline_mono_ns)
{
	int ret = setup_stop(context->setup, deadline_mono_ns);

	if (ret == 0) {
		context->setup = NULL;
	}
	return ret;
}

void context_free(struct context *context)
{
	if (!context) {
		return;
	}
	/*
	 * A close that was handed out has run: setup_stop lets tasks finish. An open that came last
	 * is closed here.
	 */
	device_close(context->device);
	sd_event_source_disable_unref(context->async_source);
	sd_event_source_disable_unref(context->idle_source);
	free(context);
}
