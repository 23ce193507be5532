// SPDX-License-Identifier: MIT
/* What a device means for a job: it is gone, or sick, or one of the job's elements failed. */
#include <errno.h>
#include <string.h>

#include "engine/job.h"
#include "util/text.h"

/* What no event said. */
static void note_removal(struct job *job)
{
	if (!port_report_find(&job->port_report, PORT_EVENT_DEVICE_FATAL)) {
		port_report_add(&job->port_report,
				&(struct port_event){ .kind = PORT_EVENT_DEVICE_REMOVED,
						      .at_ns = job_age_ns(job) });
	}
}

void job_device_lost(struct job *job, const struct context *context, const struct error *lost)
{
	struct error own = *lost;
	const struct error *err = &own;

	/* In the stage in which it stopped us, whatever it means for others. */
	if (job->state == JOB_PREPARING || job->state == JOB_PREPARED) {
		own.stage = STAGE_RESOURCE;
	} else if (job->state == JOB_CONNECTING || job->state == JOB_AWAITING ||
		   job->state == JOB_CONNECTED) {
		own.stage = STAGE_CONNECT;
	}
	if (job->context != context || !job->device) {
		return;
	}
	switch (job->state) {
	case JOB_PREPARING:
	case JOB_CONNECTING:
		job_set_failure(job, err);
		job->is_lost = true;
		break;
	case JOB_PREPARED:
	case JOB_AWAITING:
	case JOB_CONNECTED:
		job_set_failure(job, err);
		job_cm_drop(job);
		job->state = JOB_FAILED;
		job_note(job, JOB_NOTE_FAILED);
		break;
	case JOB_RUNNING:
		note_removal(job);
		job_set_failure(job, err);
		job_end_traffic(job);
		break;
	case JOB_COUNTING:
		/* Traffic that came to its own end was not cut short by it. */
		note_removal(job);
		job_set_failure(job, err);
		break;
	default:
		break;
	}
}

/* Whoever waits for its release need not wait for the driver to hear why. */
static void tell_stuck(struct job *job, const struct error *err)
{
	struct failure failure = FAILURE_INIT;
	const struct endpoint *local = assignment_local(&job->assignment);

	if (job->has_told_stuck || !job->events.stuck) {
		return;
	}
	job->has_told_stuck = true;
	failure.error = *err;
	failure.error.stage = STAGE_TEARDOWN;
	text_copy(failure.node, sizeof(failure.node), local->node);
	text_copy(failure.device, sizeof(failure.device), local->device);
	failure.at_ns = job_age_ns(job);
	job->events.stuck(job->arg, job, &failure, &job->steps);
}

void job_device_look(struct job *job)
{
	struct error err = ERROR_INIT;

	if (job->device && job->pool->is_sick(job->pool->arg, context_name(job->context), &err)) {
		tell_stuck(job, &err);
	}
}

void job_device_sick(struct job *job, const struct context *context, const struct error *err)
{
	if (job->context != context) {
		return;
	}
	if (job->is_releasing) {
		tell_stuck(job, err);
	}
	switch (job->state) {
	case JOB_OPENING:
		context_cancel(job->context, &job->wait);
		break;
	case JOB_PREPARED:
	case JOB_AWAITING:
	case JOB_CONNECTED:
		break;
	case JOB_PREPARING:
	case JOB_CONNECTING:
		/* Its own call may be the one that hangs: nobody has to wait to hear that. */
		job_set_failure(job, err);
		job->is_lost = true;
		job_note(job, JOB_NOTE_FAILED);
		return;
	default:
		return;
	}
	job_set_failure(job, err);
	job_cm_drop(job);
	job->state = JOB_FAILED;
	job_note(job, JOB_NOTE_FAILED);
}

/*
 * The queue pair's number, or 0 when the element is a completion queue; false if it is none of
 * ours.
 */
static bool owns_element(const struct job *job, const void *element, uint64_t *ret_qp_num)
{
	*ret_qp_num = 0;
	for (size_t i = 0; i < job->resources->qp_count; i++) {
		if (job->resources->qps[i] == element) {
			*ret_qp_num = job->resources->qps[i]->qp_num;
			return true;
		}
	}
	return job->resources->send_cq == element || job->resources->recv_cq == element ||
	       job->resources->srq == element;
}

void job_device_noticed(struct job *job, const struct context *context,
			const struct device_notice *notice)
{
	const struct endpoint *local = assignment_local(&job->assignment);
	bool is_of_its_time = job->state == JOB_CONNECTED || job->state == JOB_RUNNING ||
			      job->state == JOB_COUNTING;
	uint64_t qp_num = 0;

	if (job->context != context || !is_of_its_time || notice->event == PORT_EVENT_KINDS ||
	    (notice->port_num && notice->port_num != local->port_num) ||
	    (notice->element && !owns_element(job, notice->element, &qp_num))) {
		return;
	}
	port_report_add(&job->port_report, &(struct port_event){ .kind = notice->event,
								 .port_num = notice->port_num,
								 .qp_num = qp_num,
								 .at_ns = job_age_ns(job) });
}

void job_device_failed(struct job *job, const struct context *context,
		       const struct device_notice *notice, enum device_event kind)
{
	struct error err = ERROR_INIT;
	uint64_t qp_num;

	if (job->context != context || job->state != JOB_RUNNING ||
	    !owns_element(job, notice->element, &qp_num)) {
		return;
	}
	if (kind == DEVICE_EVENT_CQ) {
		error_set(&err, -EIO, ERROR_BUG, "a completion queue of %s failed (%s)",
			  context_name(context), notice->name);
	} else if (kind == DEVICE_EVENT_SRQ) {
		error_set(&err, -EIO, ERROR_DEVICE, "the shared receive queue of %s failed (%s)",
			  context_name(context), notice->name);
	} else {
		error_set(&err, -EIO, ERROR_DEVICE, "qp 0x%llx of %s failed (%s)",
			  (unsigned long long)qp_num, context_name(context), notice->name);
	}
	/* Rules go by numbers: what the device refused, or that it failed itself. */
	error_number(&err, notice->event == PORT_EVENT_QP_ACCESS_ERR ? EACCES
			   : notice->event == PORT_EVENT_QP_REQ_ERR  ? EPROTO
								     : EIO);
	err.stage = STAGE_RUN;
	text_copy(err.call, sizeof(err.call), "ibv_get_async_event");
	job_set_failure(job, &err);
	job->failure.qp_num = job->failure.qp_num ? job->failure.qp_num : qp_num;
	/*
	 * Completions tell more of a queue pair's error; nothing comes any more from, or through, a
	 * queue that failed.
	 */
	if (kind != DEVICE_EVENT_QP) {
		job_end_traffic(job);
	}
}

/*
 * What a device that is gone leads to: flushes in its name, refused calls, and on its way out queue
 * pairs that have nowhere to send any more. An error of a queue pair explains its flushes.
 */
static bool is_consequence(const struct job *job, const struct failure *failure)
{
	bool is_gone = strcmp(job->failure.error.call, "device") == 0;

	if (failure->error.kind == ERROR_KIND_WC_STATUS) {
		return failure->error.number == IBV_WC_WR_FLUSH_ERR ||
		       (is_gone && (failure->error.number == IBV_WC_FATAL_ERR ||
				    failure->error.number == IBV_WC_LOC_QP_OP_ERR));
	}
	return is_gone && (text_starts_with(failure->error.call, "ibv_") ||
			   (failure->error.kind == ERROR_KIND_ERRNO &&
			    text_starts_with(failure->error.call, "rdma_")));
}

void job_device_explain(const struct job *job, struct totals *totals)
{
	uint64_t flushed = totals->failure.flushed;

	if (!error_is_set(&job->failure.error) ||
	    (error_is_set(&totals->failure.error) && !is_consequence(job, &totals->failure))) {
		return;
	}
	totals->failure = job->failure;
	totals->failure.flushed = flushed;
	totals->end = END_ERROR;
}
