// SPDX-License-Identifier: MIT
/* The end of a job, from any state. */
#include "engine/job.h"
#include "util/clock.h"
#include "util/memory.h"

/* How long a task waits for a thread that was told to end before everything was destroyed; then the
 * next task does. */
#define WORKER_END_NS 1000000000ull

static void dismiss_worker(struct job *job, uint64_t deadline_mono_ns)
{
	if (job->worker && worker_free(job->worker, deadline_mono_ns) == 0) {
		job->worker = NULL;
	}
}

static void run_dismiss(struct setup_task *setup)
{
	struct job *job = ((struct job_task *)setup)->job;

	dismiss_worker(job, clock_mono_ns() + WORKER_END_NS);
}

static void run_destroy(struct setup_task *setup)
{
	struct job *job = ((struct job_task *)setup)->job;

	/* It has handed back what it had: its thread may end while the rest is destroyed. */
	dismiss_worker(job, 0);
	traffic_free(take(job->traffic));
	cm_free(take(job->cm), &job->steps);
	resources_free(take(job->resources), &job->steps);
	run_dismiss(setup);
}

void job_release_now(struct job *job)
{
	void (*released)(void *arg, struct job *job) = job->events.released;

	job_guard_end(job);
	job_cm_drop(job);
	if (job->device) {
		context_release(job->context);
	}
	placement_done(&job->placement);
	list_remove(&job->link);
	released(job->arg, job);
	free(job);
}

static void done_destroy(struct task *task)
{
	struct job_task *own = (struct job_task *)task;
	struct job *job = own->job;

	free(own);
	if (job->worker) {
		job_submit(job, run_dismiss, done_destroy);
	} else {
		job_release_now(job);
	}
}

void job_release_destroy(struct job *job)
{
	job->state = JOB_DESTROYING;
	job_submit(job, run_destroy, done_destroy);
}

/* In whatever state: the next step towards the end, if nothing is out that must come back first. */
void job_release_advance(struct job *job)
{
	switch (job->state) {
	case JOB_OPENING:
		context_cancel(job->context, &job->wait);
		break;
	case JOB_PREPARING:
	case JOB_CONNECTING:
	case JOB_DISCONNECTING:
	case JOB_DESTROYING:
		return;
	case JOB_COUNTING:
		if (job->is_counting) {
			return;
		}
		job_evidence_drop(job);
		break;
	case JOB_RUNNING:
		job_end_traffic(job);
		return;
	default:
		break;
	}
	if (job->cm) {
		job_cm_disconnect(job);
	} else if (job->device) {
		job_release_destroy(job);
	} else {
		job->state = JOB_DESTROYING;
		job_note(job, JOB_NOTE_RELEASED);
	}
}

void job_release(struct job *job)
{
	if (!job->is_releasing) {
		job->is_releasing = true;
		job_release_advance(job);
	}
}

bool job_release_is_stuck(struct job *job)
{
	if (job->is_releasing) {
		job_device_look(job);
	}
	return job->has_told_stuck;
}
