// SPDX-License-Identifier: MIT
#pragma once

/*
 * The local half of every run: devices, setup pools, jobs. Lives on the control thread's event
 * loop; nothing here blocks. Calls go down through job_*, events come up through the callbacks,
 * always from the loop, never from inside a call.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "model/assignment.h"
#include "model/hang.h"
#include "model/inventory.h"
#include "model/sample.h"
#include "model/topology.h"
#include "util/error.h"

struct engine;
struct job;

typedef void (*engine_inventory_fn)(void *arg, const struct inventory *inventory);

struct engine_options {
	sd_event *event;
	const char *sys_root; /* "" in production; borrowed */
	engine_inventory_fn inventory; /* after the first scan and after every change */
	/*
	 * A device turned sick, or well again after *hang: once each. From the loop, or from inside
	 * engine_hangs and job_prepare. May be NULL.
	 */
	void (*health)(void *arg, const struct hang *hang, bool is_sick);
	void *arg;
};

/* Scans at once (on a setup thread) and again every 2 s; tells when something changed. */
int engine_new(struct engine **ret, const struct engine_options *options,
	       const struct daemon_settings *settings, struct error *err);
/* Other devices configured: scans again. Copies what it needs. */
void engine_configure(struct engine *engine, const struct daemon_settings *settings);
const struct inventory *engine_inventory(const struct engine *engine);
bool engine_has_scanned(const struct engine *engine);
/* When its devices were last looked at; 0: not yet. */
uint64_t engine_scanned_mono_ns(const struct engine *engine);
/* Of the last scan: why the devices, or one of them, could not be asked; not set when all was well.
 */
const struct error *engine_scan_error(const struct engine *engine);

struct engine_usage {
	uint64_t jobs;
	uint64_t stuck_jobs; /* of those, on sick devices: nobody can end them */
	uint64_t qps;
	uint64_t pinned_bytes;
};
/* What all jobs hold, from job_new to their release. */
void engine_usage(const struct engine *engine, struct engine_usage *ret);
/*
 * False when a worker that should be stepping made no step since the last call: no WATCHDOG=1 then.
 * One that is in a call to its device makes that device sick instead: a new process would hang,
 * too.
 */
bool engine_is_progressing(struct engine *engine);
/*
 * Sick devices, those with a call that has not returned for 10 s, one entry each, at most `max`;
 * returns how many. They get no job until the call returns; everything else goes on.
 */
size_t engine_hangs(struct engine *engine, struct hang *ret, size_t max);
bool engine_is_sick(struct engine *engine, const char *device, struct hang *ret);
/* The call that is out longest, of whatever age: what an end of jobs waits for. False: none. */
bool engine_waits_for(struct engine *engine, struct hang *ret);
/*
 * All jobs must be released. Waits for threads until the deadline; -ETIMEDOUT: a thread hangs,
 * nothing is freed, may be called again.
 */
int engine_free(struct engine *engine, uint64_t deadline_mono_ns);

/*
 * Every callback: the job still exists; it may be released from inside. Nothing comes after
 * `released`.
 */
struct job_events {
	void (*prepared)(void *arg, struct job *job, const struct endpoint_info *info,
			 const struct steps *steps);
	void (*connected)(void *arg, struct job *job, const struct steps *steps);
	void (*started)(void *arg, struct job *job); /* first post made, or ready to answer */
	void (*progress)(void *arg, struct job *job, const struct progress *progress);
	/* Traffic is over, well or not; `totals` moves to the receiver (sample_totals_done). */
	void (*finished)(void *arg, struct job *job, struct totals *totals);
	/* prepare or connect failed; only job_release makes sense now. */
	void (*failed)(void *arg, struct job *job, const struct failure *failure,
		       const struct steps *steps);
	/* Its device turned sick while the job was released: `released` comes when the driver lets
	 * go. Once; may be NULL. */
	void (*stuck)(void *arg, struct job *job, const struct failure *failure,
		      const struct steps *steps);
	/* Everything is destroyed; the job is freed after this call. */
	void (*released)(void *arg, struct job *job);
};

/* Copies the assignment. Nothing happens before job_prepare. */
struct job *job_new(struct engine *engine, const struct assignment *assignment,
		    const struct job_events *events, void *arg);
const struct assignment *job_assignment(const struct job *job);
/* All so far; in `released` what destroying took, too. Inside callbacks only. */
const struct steps *job_steps(const struct job *job);
/*
 * A call in a state that it does not fit is ignored: prepare, connect, start come once and in this
 * order.
 */
/* Opens, registers, creates, posts receives -> prepared or failed. */
void job_prepare(struct job *job);
/* To RTS -> connected or failed. Copies remote. */
void job_connect(struct job *job, const struct endpoint_info *remote);
/* -> started, progress..., finished. */
void job_start(struct job *job);
/*
 * -> finished (END_STOPPED), if started and not yet finished; a passive responder finishes with
 * empty totals.
 */
void job_stop(struct job *job);
/*
 * From any state: stops, drains, destroys -> released, and no other callback before it but
 * `stuck`. Calling it
 * again is harmless.
 */
void job_release(struct job *job);
/*
 * A release that takes its time: calls `stuck` if the device is sick, which it may have been long
 * before. True: `stuck` was called, now or earlier.
 */
bool job_release_is_stuck(struct job *job);
