// SPDX-License-Identifier: MIT
#pragma once

/*
 * A measuring worker: one thread for one job's traffic, busy-polling only while it measures, or,
 * where the traffic has completion events, sleeping until they come.
 * Control thread: everything but the step; worker_new and worker_free, which may block, on a setup
 * thread, that has the worker before and after.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/placement.h"
#include "engine/traffic.h"
#include "util/mailbox.h"

enum worker_report_kind { WORKER_STARTED, WORKER_PROGRESS, WORKER_FINISHED };

struct worker_report {
	struct message message; /* first */
	enum worker_report_kind kind;
	void *owner; /* as given to worker_new */
	struct progress progress;
	struct totals totals; /* FINISHED: moves to the reader (sample_totals_done) */
};

struct worker;

/* reports: where worker_report messages go; the reader gives them back with worker_report_free.
 * placement: NULL = any CPU. has_events: its traffic may sleep (cq.mode: event). Starts the
 * thread; it waits. */
int worker_new(struct worker **ret, const char *name, const struct placement *placement,
	       bool has_events, struct mailbox *reports, void *owner, struct error *err);
/* Hands the traffic over; STARTED follows once it posted (or is ready), then PROGRESS, then
 * FINISHED exactly once. */
void worker_start(struct worker *worker, struct traffic *traffic);
/* Asks for the end; FINISHED follows (END_STOPPED) within its drain deadline. */
void worker_stop(struct worker *worker);
/* Grows while the worker makes steps: the watchdog compares. */
uint64_t worker_progress(const struct worker *worker);
/* CPU time that it had so far; UINT64_MAX when it cannot be read. A system call. */
uint64_t worker_cpu_ns(const struct worker *worker);
/*
 * How long it has been in a call to the device that may block, and which; 0: it is in none.
 */
uint64_t worker_call_ns(const struct worker *worker, uint64_t now_mono_ns, const char **ret_call);
/*
 * After FINISHED was read (or if never started): ends the thread. -ETIMEDOUT leaves it to be asked
 * again; with a deadline of 0 it is told to end and not waited for.
 */
int worker_free(struct worker *worker, uint64_t deadline_mono_ns);
/*
 * Gives a report back (totals already taken or done): its buffer is used again. worker: whose it
 * was, or NULL when that is gone.
 */
void worker_report_free(struct worker *worker, struct worker_report *report);
