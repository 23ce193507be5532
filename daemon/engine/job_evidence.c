// SPDX-License-Identifier: MIT
/*
 * What the port counted around the traffic of a job: read before its start and after its end, never
 * in between; how the port is then, and what its device said. Totals wait for the second reading,
 * but not for a driver that does not answer.
 */
#include <errno.h>

#include "engine/job.h"
#include "host/counters.h"
#include "host/sysfs.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"
#include "verbs/port.h"

/* A driver keeps what it counted for its lifespan, to the tick. */
#define LIFESPAN_SLACK_NS 2000000ull
#define ANSWER_NS 2000000000ull

struct evidence_task {
	struct task task;
	struct job *job;
	struct counters after;
	uint64_t identity; /* of the device that they were read from */
	struct port_after port;
};

struct host_task {
	struct task task;
	struct job *job;
	uint64_t cpu;
	struct host_report after;
};

static void read_port(struct job *job, struct counters *ret)
{
	const struct endpoint *local = assignment_local(&job->assignment);
	struct sysfs_port port;

	/* A driver fills some of these files when they are read. */
	thread_mark("reading its counters");
	if (!sysfs_port(job->pool->sys_root, local->device, local->port_num, &port)) {
		*ret = (struct counters){ 0 };
		return;
	}
	counters_read(job->pool->sys_root, local->device, local->port_num, port.netdev, ret);
}

void job_evidence_before(struct job *job)
{
	const struct endpoint *local = assignment_local(&job->assignment);
	uint64_t started_mono_ns = clock_mono_ns();

	job->counters_lifespan_ns =
		counters_lifespan_ns(job->pool->sys_root, local->device, local->port_num);
	job->counters_identity = sysfs_identity(job->pool->sys_root, local->device);
	read_port(job, &job->counters_before);
	job_host_before(job);
	step_add(&job->steps, "read_counters", clock_mono_ns() - started_mono_ns, 0);
}

static void look_at_port(struct job *job, struct port_after *ret)
{
	const struct endpoint *local = assignment_local(&job->assignment);

	port_look(job->pool->sys_root, job->device, local->port_num, local->gid_index, ret);
}

void job_evidence_port(struct job *job, struct error *err)
{
	const struct endpoint *local = assignment_local(&job->assignment);
	struct port_after port;

	look_at_port(job, &port);
	if (err->class != ERROR_DEVICE || !port.is_present || port.state == PORT_STATE_UNKNOWN ||
	    port.state == PORT_STATE_ACTIVE) {
		return;
	}
	error_prefix(err, "port %llu of %s is %s", (unsigned long long)local->port_num,
		     local->device, port_state_names[port.state]);
	error_number(err, ENETDOWN);
	text_copy(err->call, sizeof(err->call), "device");
}

static bool is_whole(const struct totals *totals)
{
	return totals->end == END_DURATION || totals->end == END_ITERATIONS;
}

static void deliver(struct job *job)
{
	struct totals totals = job->totals;

	job->evidence_timer = sd_event_source_disable_unref(job->evidence_timer);
	totals.port_report = job->port_report;
	/* It may have become known only now that the device is gone. */
	if (!is_whole(&totals)) {
		job_device_explain(job, &totals);
	}
	sample_totals_init(&job->totals);
	job->state = JOB_FINISHED;
	job->events.finished(job->arg, job, &totals);
}

static void run_after(struct setup_task *setup)
{
	struct evidence_task *own = (struct evidence_task *)setup;

	own->identity = sysfs_identity(own->job->pool->sys_root,
				       assignment_local(&own->job->assignment)->device);
	read_port(own->job, &own->after);
	look_at_port(own->job, &own->port);
}

/* A device that went and came back began to count anew: two moments of two devices tell no growth.
 */
static void take_counters(struct job *job, const struct evidence_task *own)
{
	job->totals.has_counters = true;
	if (own->identity == job->counters_identity) {
		counter_growth(&job->counters_before, &own->after, &job->totals.counters);
	} else {
		counter_unknown_growth(&job->counters_before, &job->totals.counters);
	}
}

static void done_after(struct task *task)
{
	struct evidence_task *own = (struct evidence_task *)task;
	struct job *job = own->job;

	job->is_counting = false;
	if (job->state == JOB_COUNTING && job->is_releasing) {
		job_evidence_drop(job);
		job_release_advance(job);
	} else if (job->state == JOB_COUNTING) {
		/* An event that is on its way belongs to this job, too. */
		context_drain(job->context);
		job->port_report.after = own->port;
		if (own->port.is_known && !own->port.is_present) {
			context_vanished(job->context);
		}
		take_counters(job, own);
		deliver(job);
	}
	free(own);
}

static void run_host(struct setup_task *setup)
{
	struct host_task *own = (struct host_task *)setup;

	job_host_after(own->job, own->cpu, &own->after);
}

static void done_host(struct task *task)
{
	struct host_task *own = (struct host_task *)task;

	if (own->job->state == JOB_COUNTING) {
		job_host_add(&own->after, &own->job->totals);
	}
	free(own);
}

/* Asks no driver, and is wanted most where the host is slow: by itself, and first. */
static void submit_host(struct job *job)
{
	struct host_task *own = memory_new(sizeof(*own));

	own->task.setup.run = run_host;
	own->task.setup.key = job;
	own->task.done = done_host;
	own->job = job;
	own->cpu = job->totals.host.cpu;
	context_submit(job->context, &own->task);
}

static void submit(struct job *job)
{
	struct evidence_task *own = memory_new(sizeof(*own));

	own->task.setup.run = run_after;
	own->task.setup.key = job;
	own->task.done = done_after;
	own->job = job;
	job->is_counting = true;
	submit_host(job);
	context_submit(job->context, &own->task);
}

static void arm(struct job *job, uint64_t after_ns)
{
	sd_event_source_set_time(job->evidence_timer, (clock_mono_ns() + after_ns) / 1000 + 1);
	sd_event_source_set_enabled(job->evidence_timer, SD_EVENT_ONESHOT);
}

/* First the lifespan is over, then the patience. */
static int on_evidence_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct job *job = arg;

	if (job->is_counting && job->is_releasing) {
		job_evidence_drop(job);
		job->state = JOB_FINISHED;
		job_release_advance(job);
	} else if (job->is_counting) {
		deliver(job);
	} else {
		submit(job);
		arm(job, ANSWER_NS);
	}
	return 0;
}

void job_evidence_collect(struct job *job, struct totals *totals)
{
	uint64_t wait_ns = job->counters_lifespan_ns ? job->counters_lifespan_ns + LIFESPAN_SLACK_NS
						     : 0;

	job->totals = *totals;
	job->state = JOB_COUNTING;
	if (sd_event_add_time(job->pool->event, &job->evidence_timer, CLOCK_MONOTONIC,
			      (clock_mono_ns() + wait_ns) / 1000, 1, on_evidence_timer, job) < 0) {
		deliver(job);
	}
}

void job_evidence_drop(struct job *job)
{
	job->evidence_timer = sd_event_source_disable_unref(job->evidence_timer);
	sample_totals_done(&job->totals);
}
