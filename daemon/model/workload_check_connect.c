// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "model/workload_check.h"

static void check_one(struct workload_check *check, const char *field, uint64_t value)
{
	if (value != 1) {
		workload_check_complain(
			check, field, "workload.pattern",
			"%" PRIu64 " is about requests, and pattern connect has none; leave it out",
			value);
	}
}

static void check_manager(struct workload_check *check)
{
	const struct qp_settings *qp = &check->workload->qp;

	if (qp->cm != QP_CM_RDMA_CM) {
		workload_check_complain(
			check, "qp.cm", "workload.pattern",
			"exchange sets up each connection by the one session of the two daemons, whose speed is none of the "
			"fabric's; pattern connect needs qp.cm: rdma_cm");
	}
	if (qp->qp_type != QP_TYPE_RC) {
		workload_check_complain(
			check, "qp.qp_type", "workload.pattern",
			"%s has no connection to set up and take down; pattern connect needs qp_type: RC",
			qp_type_names[qp->qp_type]);
	}
}

/* What is about operations, their completions or their memory. */
static void check_nothing_moves(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	static const char no_memory[] =
		"is about memory, and pattern connect moves nothing; leave it out";

	if (settings->op_count > 0) {
		workload_check_complain(
			check, "workload.ops", "workload.pattern",
			"is about operations, and pattern connect has none: it sets connections up and takes them down; "
			"leave it out");
	}
	if (settings->load.model == LOAD_CLOSED && settings->load.outstanding != w->qp.num_qps) {
		workload_check_complain(
			check, "workload.load.outstanding", "workload.pattern",
			"%" PRIu64
			" is about operations; pattern connect has as many connections under way as qp.num_qps says, "
			"leave it out",
			settings->load.outstanding);
	}
	if (settings->direction == DIRECTION_BOTH) {
		workload_check_complain(
			check, "workload.direction", "workload.pattern",
			"both does not go with pattern connect, in which one end asks and the other answers; leave it out, "
			"or use reverse");
	}
	check_one(check, "workload.signal_interval", settings->signal_interval);
	check_one(check, "workload.post_list", settings->post_list);
	if (settings->seed != 0) {
		workload_check_complain(
			check, "workload.seed", "workload.pattern",
			"%" PRIu64
			" decides the order of operations, and pattern connect has none; leave it out",
			settings->seed);
	}
	if (w->cq.mode != CQ_MODE_POLL) {
		workload_check_complain(
			check, "cq.mode", "workload.pattern",
			"event is about completions, and pattern connect has none (its thread sleeps until the connection "
			"manager tells something); leave it out");
	}
	if (w->cq.size != SCHEMA_AUTO) {
		workload_check_complain(
			check, "cq.size", "workload.pattern",
			"%" PRIu64
			" is about completions, and pattern connect has none; leave it out",
			w->cq.size);
	}
	if (w->memory.kind != MEMORY_HOST) {
		workload_check_complain(check, "memory.kind", "workload.pattern", "%s %s",
					memory_kind_names[w->memory.kind], no_memory);
	}
	if (w->memory.numa_node != SCHEMA_AUTO) {
		workload_check_complain(check, "memory.numa", "workload.pattern", "%" PRIu64 " %s",
					w->memory.numa_node, no_memory);
	}
	if (w->memory.odp) {
		workload_check_complain(check, "memory.odp", "workload.pattern", "%s", no_memory);
	}
	if (w->cq.moderation_count > 0 || w->cq.moderation_period_ns > 0) {
		workload_check_complain(
			check, "cq.moderation.count", "workload.pattern",
			"moderation is about completions, and pattern connect has none; leave it out");
	}
	if (w->cq.solicited) {
		workload_check_complain(
			check, "cq.solicited", "workload.pattern",
			"is about completions, and pattern connect has none; leave it out");
	}
	if (w->qp.srq) {
		workload_check_complain(
			check, "qp.srq", "workload.pattern",
			"is about receives, and pattern connect has none; leave it out");
	}
	if (w->qp.max_send_sge > 1 || w->qp.max_recv_sge > 1) {
		workload_check_complain(
			check, w->qp.max_send_sge > 1 ? "qp.max_send_sge" : "qp.max_recv_sge",
			"workload.pattern",
			"is about work requests, and pattern connect has none; leave it out");
	}
	if (w->memory.buffers > 1) {
		workload_check_complain(check, "memory.buffers", "workload.pattern",
					"%" PRIu64 " %s", w->memory.buffers, no_memory);
	}
	if (w->memory.relaxed_ordering) {
		workload_check_complain(check, "memory.relaxed_ordering", "workload.pattern", "%s",
					no_memory);
	}
}

void workload_check_connect(struct workload_check *check)
{
	if (workload_is_connecting(check->workload)) {
		check_manager(check);
		check_nothing_moves(check);
	}
}
