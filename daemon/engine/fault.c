// SPDX-License-Identifier: MIT
#include "engine/fault.h"

#include <errno.h>

#include "engine/pacer.h"
#include "util/text.h"
#include "util/units.h"

/* The first failure is the failure; only a flush without a visible cause gives way to a real one.
 */
static struct failure *first_failure(struct flow *flow, uint64_t now_ticks)
{
	const struct endpoint *local = assignment_local(flow->assignment);
	struct failure *failure = &flow->failure;
	bool is_flush = failure->error.kind == ERROR_KIND_WC_STATUS &&
			failure->error.number == IBV_WC_WR_FLUSH_ERR;

	if (error_is_set(&failure->error) && !is_flush) {
		return NULL;
	}
	uint64_t flushed = failure->flushed;

	*failure = FAILURE_INIT;
	failure->flushed = flushed;
	text_copy(failure->node, sizeof(failure->node), local->node);
	text_copy(failure->device, sizeof(failure->device), local->device);
	failure->at_ns =
		clock_ticks_to_ns(&flow->window.scale, now_ticks - flow->window.started_ticks);
	return failure;
}

void fault_deadline(struct flow *flow, uint64_t now_ticks)
{
	bool is_others = flow->is_answering || flow->has_ended;
	const char *limit = workload_timeout_ns(&flow->assignment->workload) > LIMIT_RUN_DURATION_NS
				    ? "the limit of a run"
				    : "run.timeout";
	struct failure *failure = first_failure(flow, now_ticks);
	char duration[UNITS_SIZE];

	if (failure) {
		units_format_duration(failure->at_ns, duration);
		error_set(
			&failure->error, -ETIMEDOUT, is_others ? ERROR_PEER : ERROR_INPUT,
			is_others
				? "nobody ended the run: this end stopped by itself at %s after %s"
				: "not done at %s after %s; give it more time or less to do",
			limit, duration);
		failure->error.stage = STAGE_RUN;
		text_copy(failure->error.call, sizeof(failure->error.call), "deadline");
	}
	flow_end(flow, END_DEADLINE, now_ticks);
}

void fault_behind(struct flow *flow, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);
	char behind[UNITS_SIZE];

	if (failure) {
		units_format_duration(PACER_BEHIND_MOST_NS, behind);
		error_set(
			&failure->error, -ETIMEDOUT, ERROR_INPUT,
			"the load is %s behind: the path carries less than workload.load asks for; lower "
			"ops_rate or rate, raise max_outstanding, or write on_full: drop",
			behind);
		failure->error.stage = STAGE_RUN;
		text_copy(failure->error.call, sizeof(failure->error.call), "deadline");
	}
	flow_end(flow, END_DEADLINE, now_ticks);
}

void fault_stall(struct flow *flow, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);
	char duration[UNITS_SIZE];
	char text[LIMIT_TEXT - 64] = "";

	if (failure) {
		flow->pattern->describe(flow, text, sizeof(text));
		units_format_duration(flow->assignment->workload.run.stall_timeout_ns, duration);
		error_set(&failure->error, -ETIMEDOUT, ERROR_DEVICE,
			  "nothing completed for %s (run.stall_timeout): %s", duration, text);
		failure->error.stage = STAGE_RUN;
		text_copy(failure->error.call, sizeof(failure->error.call), "stall");
	}
	flow_end(flow, END_STALLED, now_ticks);
}

static const char *operation_word(int operation)
{
	return operation >= 0 && operation < OPERATION_KINDS ? operation_names[operation]
							     : "request";
}

static void set_place(const struct flow *flow, struct failure *failure, size_t qp_index,
		      int operation)
{
	failure->operation = operation;
	failure->qp_num =
		qp_index < flow->resources->qp_count ? flow->resources->qps[qp_index]->qp_num : 0;
}

static void record_completion(struct flow *flow, struct failure *failure, const struct ibv_wc *wc)
{
	size_t qp_index = SIZE_MAX;
	int operation = flow->pattern->operation(flow, wc->wr_id, &qp_index);
	char size[UNITS_SIZE], of_size[UNITS_SIZE + 8] = "";

	set_place(flow, failure, qp_index, operation);
	failure->qp_num = wc->qp_num;
	failure->vendor_err = wc->vendor_err;
	if (flow->pattern->explain) {
		flow->pattern->explain(flow, wc->wr_id, failure);
	}
	if (failure->size_bytes != FAILURE_UNKNOWN) {
		snprintf(of_size, sizeof(of_size), " of %s",
			 units_format_size(failure->size_bytes, size));
	}
	error_set(&failure->error, -EIO, ERROR_DEVICE,
		  "%s%s on queue pair 0x%x to node \"%s\" (queue pair 0x%llx) ended with %s (%d)",
		  (wc->wr_id & FLOW_WR_RECEIVE) ? "receive" : operation_word(operation), of_size,
		  wc->qp_num, assignment_remote(flow->assignment)->node,
		  (unsigned long long)(qp_index < flow->remote->qp_count
					       ? flow->remote->qps[qp_index].qp_num
					       : 0),
		  failure_wc_status_name(wc->status), wc->status);
	failure->error.stage = STAGE_RUN;
	failure->error.kind = ERROR_KIND_WC_STATUS;
	failure->error.number = wc->status;
	text_copy(failure->error.call, sizeof(failure->error.call), "ibv_poll_cq");
}

void fault_completion(struct flow *flow, const struct ibv_wc *wc, uint64_t now_ticks)
{
	bool is_flush = wc->status == IBV_WC_WR_FLUSH_ERR;

	flow->errors += !is_flush;
	/* While stopping, a flush is what was asked for. */
	if (is_flush && (error_is_set(&flow->failure.error) || flow->state > FLOW_CLOSING)) {
		flow->failure.flushed += error_is_set(&flow->failure.error);
		return;
	}
	if (flow->state <= FLOW_CLOSING || flow->end == END_ERROR) {
		struct failure *failure = first_failure(flow, now_ticks);

		if (failure) {
			record_completion(flow, failure, wc);
		}
	}
	if (flow->state <= FLOW_CLOSING) {
		flow_end(flow, END_ERROR, now_ticks);
	}
}

/* What was recorded about ends the flow. */
static void end_with_error(struct flow *flow, uint64_t now_ticks)
{
	flow->errors++;
	if (flow->state <= FLOW_CLOSING) {
		flow_end(flow, END_ERROR, now_ticks);
	}
}

void fault_poll(struct flow *flow, int result, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);

	if (failure) {
		error_set_call(&failure->error, EIO, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq",
			       "a completion queue of %s cannot be read (the driver's answer is "
			       "%d); see the kernel's log",
			       assignment_local(flow->assignment)->device, result);
	}
	end_with_error(flow, now_ticks);
}

void fault_arm(struct flow *flow, int number, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);

	if (failure) {
		error_set_call(&failure->error, number, ERROR_DEVICE, STAGE_RUN,
			       "ibv_req_notify_cq",
			       "%s refuses to tell of completions (cq.mode: event)",
			       assignment_local(flow->assignment)->device);
	}
	end_with_error(flow, now_ticks);
}

void fault_wr_id(struct flow *flow, const struct ibv_wc *wc, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);

	if (failure) {
		failure->qp_num = wc->qp_num;
		error_set(&failure->error, -EIO, ERROR_DEVICE,
			  "%s completed a request that was never posted: wr_id 0x%llx on queue "
			  "pair 0x%x",
			  assignment_local(flow->assignment)->device, (unsigned long long)wc->wr_id,
			  wc->qp_num);
		failure->error.stage = STAGE_RUN;
		text_copy(failure->error.call, sizeof(failure->error.call), "ibv_poll_cq");
	}
	end_with_error(flow, now_ticks);
}

void fault_call(struct flow *flow, const char *call, int number, size_t qp_index, int operation,
		uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);

	if (failure) {
		set_place(flow, failure, qp_index, operation);
		error_set_call(&failure->error, number, ERROR_DEVICE, STAGE_RUN, call,
			       "%s on queue pair 0x%llx of %s was refused",
			       operation_word(operation), (unsigned long long)failure->qp_num,
			       assignment_local(flow->assignment)->device);
	}
	end_with_error(flow, now_ticks);
}

void fault_manager(struct flow *flow, const struct error *err, uint64_t now_ticks)
{
	struct failure *failure = first_failure(flow, now_ticks);

	if (failure) {
		struct window_counts counts = { 0 };

		flow->pattern->counts(flow, &counts);
		failure->error = *err;
		/* Connections are the traffic here: it had begun, unless the way was never found.
		 */
		if (err->stage != STAGE_RESOLVE || counts.operations > 0) {
			failure->error.stage = STAGE_RUN;
		}
	}
	end_with_error(flow, now_ticks);
}
