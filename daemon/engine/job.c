// SPDX-License-Identifier: MIT
#include "engine/job.h"

#include <errno.h>
#include <stdio.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

struct note {
	struct task task;
	struct job *job;
	enum job_note_kind kind;
};

static void done_note(struct task *task);

void job_note(struct job *job, enum job_note_kind kind)
{
	struct note *note = memory_new(sizeof(*note));

	note->task.done = done_note;
	note->job = job;
	note->kind = kind;
	mailbox_post(job->pool->replies, &note->task.setup.message);
}

void job_submit(struct job *job, void (*run)(struct setup_task *task),
		void (*done)(struct task *task))
{
	struct job_task *own = memory_new(sizeof(*own));

	own->task.setup.run = run;
	own->task.setup.key = job;
	own->task.done = done;
	own->job = job;
	context_submit(job->context, &own->task);
}

uint64_t job_age_ns(const struct job *job)
{
	return job->started_mono_ns ? clock_mono_ns() - job->started_mono_ns : 0;
}

void job_set_failure(struct job *job, const struct error *err)
{
	const struct endpoint *local = assignment_local(&job->assignment);

	if (error_is_set(&job->failure.error)) {
		return;
	}
	job->failure.error = *err;
	text_copy(job->failure.node, sizeof(job->failure.node), local->node);
	text_copy(job->failure.device, sizeof(job->failure.device), local->device);
	job->failure.at_ns = job_age_ns(job);
}

/* To FAILED; the failure must be set. */
static void fail(struct job *job)
{
	job->state = JOB_FAILED;
	if (job->is_releasing) {
		job_release_advance(job);
	} else if (!job->has_told_failed) {
		job->has_told_failed = true;
		job->events.failed(job->arg, job, &job->failure, &job->steps);
	}
}

struct job *job_new(struct engine *engine, const struct assignment *assignment,
		    const struct job_events *events, void *arg)
{
	struct job *job = memory_new(sizeof(*job));
	struct job *other;
	bool is_taken;

	job->pool = engine_job_pool(engine);
	job->assignment = *assignment;
	job->events = *events;
	job->arg = arg;
	job->failure = FAILURE_INIT;
	list_init(&job->wait.link);
	do {
		is_taken = false;
		list_each(other, &job->pool->jobs, link) {
			is_taken |= other->index == job->index;
		}
		job->index += is_taken;
	} while (is_taken);
	list_append(&job->pool->jobs, &job->link);
	return job;
}

const struct assignment *job_assignment(const struct job *job)
{
	return &job->assignment;
}

const struct steps *job_steps(const struct job *job)
{
	return &job->steps;
}

/* --- prepare --- */

static void run_prepare(struct setup_task *setup)
{
	struct job_task *own = (struct job_task *)setup;
	struct job *job = own->job;

	own->error =
		placement_choose(&job->assignment, job->pool->sys_root, &job->placement, &own->err);
	if (own->error == 0) {
		own->error = resources_new(&job->resources, job->device, &job->assignment,
					   &job->steps, &own->err);
	}
	if (own->error == 0 && job->assignment.workload.qp.cm == QP_CM_RDMA_CM) {
		own->error =
			cm_new(&job->cm, job->resources, &job->assignment, &job->steps, &own->err);
	}
	if (own->error == 0) {
		resources_info(job->resources, &job->assignment, &job->info);
		if (job->cm) {
			cm_info(job->cm, &job->info);
		}
	}
}

/* A task came back: true if it went well and the job goes on. */
static bool goes_on(struct job *job, const struct job_task *own)
{
	if (own->error < 0) {
		job_set_failure(job, &own->err);
	}
	if (own->error < 0 || job->is_lost) {
		fail(job);
		return false;
	}
	if (job->is_releasing) {
		job_release_advance(job);
		return false;
	}
	return true;
}

static void done_prepare(struct task *task)
{
	struct job_task *own = (struct job_task *)task;
	struct job *job = own->job;

	job->state = JOB_PREPARED;
	job->prepared_mono_ns = clock_mono_ns();
	if (goes_on(job, own)) {
		job->events.prepared(job->arg, job, &job->info, &job->steps);
	}
	free(own);
}

static void prepare_on(struct job *job, struct device *device)
{
	job->device = device;
	job->state = JOB_PREPARING;
	if (job->assignment.workload.qp.cm == QP_CM_RDMA_CM) {
		context_use_cm(job->context);
	}
	job_submit(job, run_prepare, done_prepare);
}

static void device_ready(struct context_wait *wait, struct device *device, uint64_t open_ns,
			 const struct error *err)
{
	struct job *job = list_entry(wait, struct job, wait);

	step_add(&job->steps, "open_device", open_ns, 0);
	if (!device) {
		job_set_failure(job, err);
		fail(job);
		return;
	}
	prepare_on(job, device);
}

void job_prepare(struct job *job)
{
	struct error err = ERROR_INIT;
	struct device *device;

	if (job->state != JOB_NEW || job->is_releasing) {
		return;
	}
	job->context =
		job->pool->find_context(job->pool->arg, assignment_local(&job->assignment), &err);
	if (!job->context) {
		job_set_failure(job, &err);
		job->state = JOB_FAILED;
		job_note(job, JOB_NOTE_FAILED);
		return;
	}
	job->state = JOB_OPENING;
	job->wait.ready = device_ready;
	device = context_acquire(job->context, &job->wait);
	if (device) {
		prepare_on(job, device);
	}
}

/* --- connect --- */

static void run_connect(struct setup_task *setup)
{
	struct job_task *own = (struct job_task *)setup;
	struct job *job = own->job;
	uint64_t started_mono_ns;
	char name[16];

	own->error = job->cm ? job_cm_connect(job, &own->err)
			     : resources_connect(job->resources, &job->assignment, &job->remote,
						 &job->steps, &own->err);
	if (own->error < 0) {
		job_evidence_port(job, &own->err);
	}
	if (own->error != 0) {
		return;
	}
	started_mono_ns = clock_mono_ns();
	own->error = traffic_new(&job->traffic, job->resources, &job->assignment, &job->remote,
				 &own->err);
	step_add(&job->steps, "build_traffic", clock_mono_ns() - started_mono_ns, 0);
	/* Starting a thread takes its time, too: not on the loop. */
	if (own->error == 0 && !traffic_is_passive(job->traffic)) {
		snprintf(name, sizeof(name), "worker-%u", job->index);
		own->error = worker_new(&job->worker, name, &job->placement,
					traffic_may_sleep(job->traffic), job->pool->reports, job,
					&own->err);
	}
	if (own->error == 0) {
		job_evidence_before(job);
	}
}

static void done_connect(struct task *task)
{
	struct job_task *own = (struct job_task *)task;
	struct job *job = own->job;

	if (own->error == CM_WAITS && !job->is_lost && !job->is_releasing) {
		job_cm_wait(job);
		free(own);
		return;
	}
	job->state = JOB_CONNECTED;
	if (goes_on(job, own)) {
		job->events.connected(job->arg, job, &job->steps);
	}
	free(own);
}

void job_connect_again(struct job *job)
{
	job_submit(job, run_connect, done_connect);
}

void job_connect(struct job *job, const struct endpoint_info *remote)
{
	if (job->state != JOB_PREPARED || job->is_releasing) {
		return;
	}
	step_add(&job->steps, "exchange", clock_mono_ns() - job->prepared_mono_ns, 0);
	job->remote = *remote;
	job->state = JOB_CONNECTING;
	job_connect_again(job);
}

/* --- run --- */

void job_start(struct job *job)
{
	if (job->state != JOB_CONNECTED || job->is_releasing) {
		return;
	}
	job->state = JOB_RUNNING;
	job->started_mono_ns = clock_mono_ns();
	job_guard_begin(job);
	if (job->worker) {
		worker_start(job->worker, job->traffic);
	} else {
		job_note(job, JOB_NOTE_STARTED);
	}
}

/* Takes the totals. */
static void end_traffic(struct job *job, struct totals *totals)
{
	job_guard_end(job);
	if (job->is_releasing) {
		job->state = JOB_FINISHED;
		sample_totals_done(totals);
		job_release_advance(job);
	} else {
		job_evidence_collect(job, totals);
	}
}

/* A passive responder has seen nothing, but its device may have said something. */
static void finish_passive(struct job *job)
{
	struct totals totals;
	struct clock_info info;

	sample_totals_init(&totals);
	clock_info(&info);
	text_copy(totals.clock, sizeof(totals.clock), info.source);
	totals.end = error_is_set(&job->failure.error) ? END_ERROR : END_STOPPED;
	totals.failure = job->failure;
	totals.steps = job->steps;
	end_traffic(job, &totals);
}

void job_stop(struct job *job)
{
	if (job->state != JOB_RUNNING || job->is_releasing) {
		return;
	}
	if (job->worker) {
		worker_stop(job->worker);
	} else {
		job_note(job, JOB_NOTE_FINISHED);
	}
}

static void finish(struct job *job, struct totals *totals)
{
	const struct endpoint *local = assignment_local(&job->assignment);

	totals->steps = job->steps;
	if (error_is_set(&totals->failure.error)) {
		text_copy(totals->failure.node, sizeof(totals->failure.node), local->node);
		text_copy(totals->failure.device, sizeof(totals->failure.device), local->device);
	}
	job_device_explain(job, totals);
	end_traffic(job, totals);
}

void job_report(struct worker_report *report)
{
	struct job *job = report->owner;
	enum worker_report_kind kind = report->kind;
	struct progress progress = report->progress;
	struct totals totals = report->totals;

	/* Now, while its worker is there for certain: a callback may lead to its end. */
	worker_report_free(job->worker, report);
	switch (kind) {
	case WORKER_STARTED:
		if (!job->is_releasing) {
			job->events.started(job->arg, job);
		}
		break;
	case WORKER_PROGRESS:
		if (!job->is_releasing) {
			job->events.progress(job->arg, job, &progress);
		}
		break;
	case WORKER_FINISHED:
		finish(job, &totals);
		break;
	}
}

void job_end_traffic(struct job *job)
{
	if (job->worker) {
		worker_stop(job->worker);
	} else {
		job_note(job, JOB_NOTE_FINISHED);
	}
}

uint64_t job_call_ns(const struct job *job, uint64_t now_mono_ns, const char **ret_call)
{
	return job->state == JOB_RUNNING && job->worker
		       ? worker_call_ns(job->worker, now_mono_ns, ret_call)
		       : 0;
}

bool job_is_stuck(struct job *job)
{
	bool is_running = job->state == JOB_RUNNING && job->worker;
	uint64_t progress = is_running ? worker_progress(job->worker) : 0;
	const char *call;
	bool is_stuck = is_running && job->was_running && progress == job->seen_progress &&
			job_call_ns(job, clock_mono_ns(), &call) == 0;

	job->was_running = is_running;
	job->seen_progress = progress;
	return is_stuck;
}

/* Its steps are the task's. */
static bool has_task_out(const struct job *job)
{
	return job->state == JOB_PREPARING || job->state == JOB_CONNECTING;
}

static void done_note(struct task *task)
{
	static const struct steps no_steps;
	struct note *note = (struct note *)task;
	struct job *job = note->job;
	enum job_note_kind kind = note->kind;

	free(note);
	switch (kind) {
	case JOB_NOTE_FAILED:
		if (!job->is_releasing && !job->has_told_failed) {
			job->has_told_failed = true;
			job->events.failed(job->arg, job, &job->failure,
					   has_task_out(job) ? &no_steps : &job->steps);
		}
		break;
	case JOB_NOTE_STARTED:
		if (!job->is_releasing) {
			job->events.started(job->arg, job);
		}
		break;
	case JOB_NOTE_FINISHED:
		/* The first of several stops. */
		if (job->state == JOB_RUNNING) {
			finish_passive(job);
		}
		break;
	case JOB_NOTE_RELEASED:
		job_release_now(job);
		break;
	}
}
