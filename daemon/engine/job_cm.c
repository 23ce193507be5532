// SPDX-License-Identifier: MIT
/*
 * Connecting and parting by a connection manager (qp.cm: rdma_cm): every call is a setup task, and
 * between two of them none is out: the loop watches the descriptor of the job's event channel, and
 * the next deadline.
 */
#include <sys/epoll.h>

#include "engine/job.h"
#include "util/clock.h"
#include "util/memory.h"
#include "verbs/cm.h"

static void go_on(struct job *job);

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	go_on(arg);
	return 0;
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
	go_on(arg);
	return 0;
}

void job_cm_drop(struct job *job)
{
	job->cm_source = sd_event_source_disable_unref(job->cm_source);
	job->cm_timer = sd_event_source_disable_unref(job->cm_timer);
}

/* Both live for one wait: a task takes the descriptor over. */
static void watch(struct job *job)
{
	uint64_t deadline_mono_ns = cm_deadline_mono_ns(job->cm);

	if (sd_event_add_io(job->pool->event, &job->cm_source, cm_fd(job->cm), EPOLLIN, on_readable,
			    job) < 0 ||
	    sd_event_add_time(job->pool->event, &job->cm_timer, CLOCK_MONOTONIC,
			      deadline_mono_ns / 1000 + 1, 1000, on_deadline, job) < 0) {
		abort(); /* out of memory only */
	}
}

static void run_disconnect(struct setup_task *setup)
{
	struct job_task *own = (struct job_task *)setup;
	struct job *job = own->job;

	if (job->has_parted) {
		own->error = cm_go_on(job->cm, &job->steps, &own->err);
	} else {
		job->has_parted = true;
		own->error = cm_disconnect(job->cm, &job->steps);
	}
}

static void done_disconnect(struct task *task)
{
	struct job_task *own = (struct job_task *)task;
	struct job *job = own->job;

	if (own->error == CM_WAITS) {
		watch(job);
	} else {
		job_release_destroy(job);
	}
	free(own);
}

static void go_on(struct job *job)
{
	job_cm_drop(job);
	if (job->state == JOB_AWAITING) {
		job->state = JOB_CONNECTING;
		job_connect_again(job);
	} else if (job->state == JOB_DISCONNECTING) {
		job_submit(job, run_disconnect, done_disconnect);
	}
}

int job_cm_connect(struct job *job, struct error *err)
{
	if (job->has_asked) {
		return cm_go_on(job->cm, &job->steps, err);
	}
	job->has_asked = true;
	return cm_connect(job->cm, &job->remote, &job->steps, err);
}

void job_cm_wait(struct job *job)
{
	job->state = JOB_AWAITING;
	watch(job);
}

void job_cm_disconnect(struct job *job)
{
	job_cm_drop(job);
	job->state = JOB_DISCONNECTING;
	job_submit(job, run_disconnect, done_disconnect);
}
