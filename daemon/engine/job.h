// SPDX-License-Identifier: MIT
#pragma once

/*
 * Jobs, as the engine's own files see them; everybody else uses engine/engine.h. A job is a state
 * machine over setup tasks and one worker; its resources and its worker belong to the setup thread
 * while a task is out; the resources to the worker while that runs, and to nobody in between.
 * Control thread, but for the tasks.
 */

#include "engine/context.h"
#include "engine/engine.h"
#include "engine/guard.h"
#include "engine/worker.h"
#include "host/supply.h"
#include "model/counter.h"
#include "model/failure.h"
#include "model/port_report.h"
#include "util/list.h"
#include "verbs/cm.h"
#include "verbs/resources.h"

/* What jobs share; the engine's. */
struct job_pool {
	struct list jobs; /* of struct job */
	struct mailbox *replies; /* of struct task */
	struct mailbox *reports; /* of struct worker_report */
	sd_event *event;
	const char *sys_root;
	/*
	 * The context for an endpoint of this node, or NULL with err: not in the inventory, or no
	 * threads.
	 */
	struct context *(*find_context)(void *arg, const struct endpoint *endpoint,
					struct error *err);
	/* A call to that device hangs: err says so. */
	bool (*is_sick)(void *arg, const char *device, struct error *err);
	void *arg;
};
/* In engine.c. */
struct job_pool *engine_job_pool(struct engine *engine);

enum job_state {
	JOB_NEW,
	JOB_OPENING, /* waits for the device */
	JOB_PREPARING, /* a setup task is out */
	JOB_PREPARED,
	JOB_CONNECTING, /* a setup task is out */
	JOB_AWAITING, /* connecting, and its connection manager waits for events */
	JOB_CONNECTED,
	JOB_RUNNING,
	JOB_COUNTING, /* traffic is over; the counters of the port are awaited */
	JOB_FINISHED,
	JOB_FAILED,
	JOB_DISCONNECTING, /* releasing: the connection manager tells the other end */
	JOB_DESTROYING, /* a setup task is out, or the last note */
};

/*
 * What a call leads to at once is told from the loop all the same: as a task without a run, in the
 * order of the others.
 */
enum job_note_kind { JOB_NOTE_FAILED, JOB_NOTE_STARTED, JOB_NOTE_FINISHED, JOB_NOTE_RELEASED };

struct job_task {
	struct task task;
	struct job *job;
	int error;
	struct error err;
};

struct job {
	struct list link; /* in the pool's jobs */
	struct job_pool *pool;
	unsigned index; /* the smallest that no other job has */
	struct assignment assignment;
	struct job_events events;
	void *arg;
	enum job_state state;
	bool is_releasing;
	bool is_lost; /* the device went, or turned sick, while a task was out */
	bool has_told_failed; /* while it was: nothing more but `released` */
	bool has_told_stuck;
	struct context *context; /* NULL before prepare */
	struct context_wait wait;
	struct device *device; /* held */
	struct placement placement; /* of the worker */
	struct resources *resources;
	struct cm *cm; /* qp.cm: rdma_cm; goes with the resources */
	bool has_asked; /* cm_connect was called; the tasks' */
	bool has_parted; /* cm_disconnect was; the tasks' */
	sd_event_source *cm_source; /* while it waits */
	sd_event_source *cm_timer; /* likewise */
	struct traffic *traffic;
	struct worker *worker; /* NULL for a passive responder */
	struct endpoint_info info;
	struct endpoint_info remote;
	struct steps steps;
	uint64_t prepared_mono_ns; /* when it had told how it is reached */
	struct failure failure; /* what stops the traffic from outside of the worker */
	uint64_t started_mono_ns; /* when the traffic was; 0 before */
	struct port_report port_report;
	sd_event_source *evidence_timer; /* while COUNTING */
	bool is_counting; /* a setup task that reads counters is out */
	uint64_t counters_lifespan_ns;
	struct counters counters_before;
	uint64_t counters_identity; /* of the device that they were read from */
	struct supply supply_before;
	struct totals totals; /* while COUNTING */
	sd_event_source *guard_timer; /* while disruptive traffic goes on */
	struct guard guard;
	bool was_running; /* at the last look of the watchdog */
	uint64_t seen_progress;
};

/* Takes the report (not its job). */
void job_report(struct worker_report *report);
/*
 * True when its worker runs and made no step since the last call, which saw it running as well;
 * not when it is in a call to the device: that makes the device sick, not this process.
 */
bool job_is_stuck(struct job *job);

/* How long its worker has been in a call to the device, and which; 0: in none. */
uint64_t job_call_ns(const struct job *job, uint64_t now_mono_ns, const char **ret_call);

/*
 * job_device.c: the device is gone; running traffic ends with that failure, and what waits fails.
 */
void job_device_lost(struct job *job, const struct context *context, const struct error *lost);
/*
 * The device is sick: what is being set up fails at once, with its task still out; traffic goes on.
 */
void job_device_sick(struct job *job, const struct context *context, const struct error *err);
/* Asks, while the job is released, whether it is: it may have been sick long before. Calls up. */
void job_device_look(struct job *job);
/*
 * An asynchronous event of the device: noted for the totals if it concerns this job, from connected
 * to counted.
 */
void job_device_noticed(struct job *job, const struct context *context,
			const struct device_notice *notice);
/* One about an element: does nothing if it is not of this job or the job does not run. */
void job_device_failed(struct job *job, const struct context *context,
		       const struct device_notice *notice, enum device_event kind);
/* What the device said is the failure of totals that have none of their own, or one that follows
 * from it: flushes, and calls that a device which is gone refuses. */
void job_device_explain(const struct job *job, struct totals *totals);

/* job_cm.c: the first call and, once something happened, the next ones: as cm_connect. Setup
 * thread.
 */
int job_cm_connect(struct job *job, struct error *err);
/* To AWAITING: nothing is out until something happens. */
void job_cm_wait(struct job *job);
/* The other end is told; then job_release_destroy. */
void job_cm_disconnect(struct job *job);
/* Nothing is watched any more. */
void job_cm_drop(struct job *job);

/* job_guard.c: from the start of disruptive traffic to its end. */
void job_guard_begin(struct job *job);
void job_guard_end(struct job *job);

/* Shared by the files of job_*. */
void job_note(struct job *job, enum job_note_kind kind);
/* A struct job_task, on the setup pool of the job, in order. */
void job_submit(struct job *job, void (*run)(struct setup_task *task),
		void (*done)(struct task *task));
/* The next part of connecting. */
void job_connect_again(struct job *job);
/* The first one stays. */
void job_set_failure(struct job *job, const struct error *err);
/* How long ago the traffic started; 0 before. */
uint64_t job_age_ns(const struct job *job);
/* Running traffic is to end: `finished` follows. */
void job_end_traffic(struct job *job);
/* job_evidence.c: reads what the port counts before the traffic. Setup thread. */
void job_evidence_before(struct job *job);
/* An error of the set-up whose reason is a port that is down gets that said before it. Setup
 * thread. */
void job_evidence_port(struct job *job, struct error *err);
/* Takes the totals, and tells `finished` with them once the port was read again, or does not answer
 * for 2 s. */
void job_evidence_collect(struct job *job, struct totals *totals);
/*
 * job_host.c: what the host gives: before the traffic; after it, about the CPU on which its
 * worker was; and the same into totals that have what the worker saw. The first two on a setup
 * thread.
 */
void job_host_before(struct job *job);
void job_host_after(const struct job *job, uint64_t cpu, struct host_report *ret);
void job_host_add(const struct host_report *after, struct totals *totals);
/* While COUNTING and nothing is out: whoever releases wants no totals any more. */
void job_evidence_drop(struct job *job);
/*
 * job_release.c: when releasing, in whatever state: the next step towards the end, if nothing is
 * out that must come back first.
 */
void job_release_advance(struct job *job);
/* What the connection manager had to tell is told. */
void job_release_destroy(struct job *job);
/* Nothing is left: tells so and frees the job. */
void job_release_now(struct job *job);
