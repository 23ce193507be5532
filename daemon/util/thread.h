// SPDX-License-Identifier: MIT
#pragma once

/*
 * A thread is a short wrapper around a step function (a link-time seam: the stepped harness calls
 * the same step functions from one thread under virtual time).
 *
 * A step does a bounded amount of work (under a millisecond, unless it is a blocking verb on a
 * setup thread) and says what it wants next. It never sleeps by itself.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum thread_want {
	THREAD_AGAIN, /* did work; call again at once */
	THREAD_POLL, /* busy-polling and found nothing; call again at once, the clock may move on to
			`until` */
	THREAD_WAIT, /* nothing to do before thread_wake or `until` */
	THREAD_WAIT_FD, /* nor before `fd` can be read; for threads with has_descriptor */
	THREAD_DONE, /* never call again */
};

struct thread_next {
	enum thread_want want;
	uint64_t until_mono_ns; /* CLOCK_NEVER, or when the step must run even if not woken (POLL,
				   WAIT) */
	int fd; /* WAIT_FD */
};

typedef struct thread_next (*thread_step_fn)(void *arg);

struct thread;

struct thread_options {
	const char *name; /* at most 15 characters, shown by ps and perf */
	int cpu; /* pinned to this CPU, or -1 */
	const int *cpus; /* or kept to these, those of them that this process may use; NULL: not */
	unsigned cpu_count;
	bool has_descriptor; /* may ask for WAIT_FD; costs a descriptor of its own */
	bool is_measuring; /* takes its turn as any program does, whatever thread_give_way said */
};

/*
 * From now on the calling thread, and those that it starts, wait for their turn on a CPU instead of
 * taking it from whoever runs there at the moment (SCHED_BATCH): one that measures, or the host's
 * own work. Does nothing where the process was given another policy than SCHED_OTHER. To be called
 * while there is no other thread.
 */
void thread_give_way(void);

/*
 * From now on the calling thread, and those that it starts, stay on these CPUs, and those that
 * measure off them, unless there are no others: what the daemon does meanwhile then disturbs no
 * measurement. -EINVAL with err where this process may not use one of them. To be called once,
 * while there is no other thread.
 */
int thread_keep_to(const int *cpus, unsigned count, struct error *err);

/*
 * Starts it with all signals blocked but those of its own doing (SIGSEGV and such). *ret is freed
 * by thread_join. `arg` is borrowed until the join.
 */
int thread_start(struct thread **ret, const struct thread_options *options, thread_step_fn step,
		 void *arg, struct error *err);

/* Wakes a waiting step, or has the next wait return at once. Any thread; async-signal-safe. */
void thread_wake(struct thread *thread);

/*
 * Waits for THREAD_DONE (who wants the end tells the step by its own means first). 0 and *thread =
 * NULL, or -ETIMEDOUT with the thread left running and owned by the caller still.
 */
int thread_join(struct thread **thread, uint64_t deadline_mono_ns);

/*
 * The calling thread begins what may block (a static name, "ibv_destroy_qp"), or NULL: came back
 * from it. For thread_doing; nothing happens on a thread that thread_start did not make.
 */
void thread_mark(const char *doing);
/*
 * What the thread is at, NULL when it did not say, and since when: its last mark, 0 before the
 * first. Any thread, as long as that one is not joined.
 */
const char *thread_doing(const struct thread *thread, uint64_t *ret_since_mono_ns);

/* Gives it up: it frees itself when it ends, and nobody can wait for it. *thread = NULL. */
void thread_detach(struct thread **thread);

/* CPUs that a thread of this process that measures may use. `cpus` gets at most `max`; returns how
 * many there are. */
unsigned thread_cpus(int *cpus, unsigned max);

/* CPU time of that thread so far, a system call; UINT64_MAX when it cannot be read. Any thread, as
 * long as that one is not joined. */
uint64_t thread_cpu_ns(const struct thread *thread);

/* The CPU that the calling thread is on at this moment; -1 = unknown. */
int thread_cpu(void);
