// SPDX-License-Identifier: MIT
#include "verbs/setup.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include "model/limits.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/thread.h"

#define MAX_THREADS 8

/*
 * The tasks of one key, in order. A lane with tasks is either in the mailbox `runnable` or held by
 * one thread, which runs one task and hands it on: so tasks of a key never run at once, and lanes
 * take turns. `pending` decides who hands it on; at zero no thread touches the lane any more.
 */
struct lane {
	struct message message; /* first: in `runnable` */
	struct list link; /* in setup->lanes; control thread only */
	const void *key;
	struct mailbox tasks;
	atomic_uint pending; /* posted and not yet run */
};

struct pool_thread {
	struct setup *setup;
	struct thread *thread;
	_Atomic uint64_t busy_since_mono_ns; /* 0: runs nothing; for the watchdog */
};

struct setup {
	struct list lanes;
	struct mailbox runnable; /* of struct lane; read by every thread of the pool */
	atomic_bool is_stopping;
	unsigned thread_count;
	struct pool_thread threads[MAX_THREADS];
};

static void run_task(struct pool_thread *self, struct setup_task *task)
{
	/* Without a reply address the task is gone after run. */
	struct mailbox *reply = task->reply;

	task->started_mono_ns = clock_mono_ns();
	thread_mark(NULL);
	atomic_store(&self->busy_since_mono_ns, task->started_mono_ns);
	task->run(task);
	thread_mark(NULL);
	atomic_store(&self->busy_since_mono_ns, 0);
	if (reply) {
		mailbox_post(reply, &task->message);
	}
}

static struct thread_next pool_step(void *arg)
{
	struct pool_thread *self = arg;
	struct setup *setup = self->setup;
	/* Before the look into the mailbox: what is submitted before the stop is run. */
	bool is_stopping = atomic_load(&setup->is_stopping);
	struct message *message = mailbox_get(&setup->runnable);

	if (message) {
		struct lane *lane = list_entry(message, struct lane, message);
		struct message *task = mailbox_get(&lane->tasks);

		assert(task);
		run_task(self, list_entry(task, struct setup_task, message));
		if (atomic_fetch_sub(&lane->pending, 1) > 1) {
			mailbox_post(&setup->runnable, &lane->message);
		}
		return (struct thread_next){ THREAD_AGAIN, CLOCK_NEVER };
	}
	return (struct thread_next){ is_stopping ? THREAD_DONE : THREAD_WAIT, CLOCK_NEVER };
}

static void lane_free(struct lane *lane)
{
	list_remove(&lane->link);
	mailbox_done(&lane->tasks);
	free(lane);
}

/* The lane of a key that still has tasks, or an idle one, or a new one. */
static struct lane *lane_find(struct setup *setup, const void *key)
{
	struct lane *idle = NULL;
	struct lane *lane;

	list_each(lane, &setup->lanes, link) {
		if (atomic_load(&lane->pending) == 0) {
			idle = lane;
		} else if (key && lane->key == key) {
			return lane;
		}
	}
	if (!idle) {
		idle = memory_new(sizeof(*idle));
		list_init(&idle->message.link);
		mailbox_init(&idle->tasks, NULL, NULL);
		list_append(&setup->lanes, &idle->link);
	}
	idle->key = key;
	return idle;
}

static void wake_all(struct setup *setup)
{
	for (unsigned i = 0; i < setup->thread_count; i++) {
		if (setup->threads[i].thread) {
			thread_wake(setup->threads[i].thread);
		}
	}
}

void setup_submit(struct setup *setup, struct setup_task *task)
{
	struct lane *lane = lane_find(setup, task->key);

	assert(!atomic_load(&setup->is_stopping));
	task->started_mono_ns = 0;
	mailbox_post(&lane->tasks, &task->message);
	if (atomic_fetch_add(&lane->pending, 1) == 0) {
		mailbox_post(&setup->runnable, &lane->message);
		wake_all(setup);
	}
}

int setup_new(struct setup **ret, const char *device_name, unsigned threads, struct error *err)
{
	struct setup *setup = memory_new(sizeof(*setup));
	char name[LIMIT_NAME];

	assert(threads >= 1 && threads <= MAX_THREADS);
	list_init(&setup->lanes);
	mailbox_init(&setup->runnable, NULL, NULL);
	for (unsigned i = 0; i < threads; i++) {
		struct pool_thread *self = &setup->threads[i];

		self->setup = setup;
		snprintf(name, sizeof(name), "s%u-%s", i, device_name);
		int error = thread_start(&self->thread,
					 &(struct thread_options){ .name = name, .cpu = -1 },
					 pool_step, self, err);
		if (error < 0) {
			/* The others wait for work: they end at once. */
			(void)setup_stop(setup, CLOCK_NEVER);
			return error;
		}
		setup->thread_count++;
	}
	*ret = setup;
	return 0;
}

/* 0: it runs nothing. */
static uint64_t thread_age_ns(struct pool_thread *self, uint64_t now_mono_ns, const char **ret_call)
{
	uint64_t busy_since_mono_ns = atomic_load(&self->busy_since_mono_ns);
	uint64_t mark_mono_ns = 0;

	if (busy_since_mono_ns == 0 || !self->thread) {
		return 0;
	}
	*ret_call = thread_doing(self->thread, &mark_mono_ns);
	if (mark_mono_ns < busy_since_mono_ns) {
		mark_mono_ns = busy_since_mono_ns;
	}
	return now_mono_ns > mark_mono_ns ? now_mono_ns - mark_mono_ns : 0;
}

uint64_t setup_oldest_ns(struct setup *setup, uint64_t now_mono_ns, const char **ret_call)
{
	uint64_t oldest_ns = 0;

	*ret_call = NULL;
	for (unsigned i = 0; i < setup->thread_count; i++) {
		const char *call = NULL;
		uint64_t age_ns = thread_age_ns(&setup->threads[i], now_mono_ns, &call);

		if (age_ns > oldest_ns) {
			oldest_ns = age_ns;
			*ret_call = call;
		}
	}
	*ret_call = *ret_call ? *ret_call : "a step of its setup";
	return oldest_ns;
}

int setup_stop(struct setup *setup, uint64_t deadline_mono_ns)
{
	struct lane *lane;
	int ret = 0;

	if (!setup) {
		return 0;
	}
	atomic_store(&setup->is_stopping, true);
	wake_all(setup);
	for (unsigned i = 0; i < setup->thread_count; i++) {
		struct pool_thread *self = &setup->threads[i];

		if (self->thread && thread_join(&self->thread, deadline_mono_ns) < 0) {
			ret = -ETIMEDOUT;
		}
	}
	if (ret < 0) {
		return ret;
	}
	list_each(lane, &setup->lanes, link) {
		lane_free(lane);
	}
	mailbox_done(&setup->runnable);
	free(setup);
	return 0;
}
