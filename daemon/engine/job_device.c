// SPDX-License-Identifier: MIT
/* What a device says about a job: it is gone, or one of the job's elements failed. */
#include <errno.h>

#include "engine/job.h"
#include "util/text.h"

void job_device_lost(struct job *job, const struct context *context, const struct error *err)
{
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
	case JOB_CONNECTED:
		job_set_failure(job, err);
		job->state = JOB_FAILED;
		job_note(job, JOB_NOTE_FAILED);
		break;
	case JOB_RUNNING:
		job_set_failure(job, err);
		job_end_traffic(job);
		break;
	default:
		break;
	}
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
	return job->resources->send_cq == element || job->resources->recv_cq == element;
}

void job_device_failed(struct job *job, const struct context *context, const void *element,
		       enum device_event kind, const char *name)
{
	struct error err = ERROR_INIT;
	uint64_t qp_num;

	if (job->context != context || job->state != JOB_RUNNING ||
	    !owns_element(job, element, &qp_num)) {
		return;
	}
	if (kind == DEVICE_EVENT_CQ) {
		error_set(&err, -EIO, ERROR_BUG, "a completion queue of %s failed (%s)",
			  context_name(context), name);
	} else {
		error_set(&err, -EIO, ERROR_DEVICE, "qp 0x%llx of %s failed (%s)",
			  (unsigned long long)qp_num, context_name(context), name);
	}
	err.stage = STAGE_RUN;
	text_copy(err.call, sizeof(err.call), "ibv_get_async_event");
	job_set_failure(job, &err);
	job->failure.qp_num = job->failure.qp_num ? job->failure.qp_num : qp_num;
	/*
	 * Completions tell more of a queue pair's error; nothing comes any more from a completion
	 * queue that failed.
	 */
	if (kind == DEVICE_EVENT_CQ) {
		job_end_traffic(job);
	}
}
