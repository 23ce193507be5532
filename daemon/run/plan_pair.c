// SPDX-License-Identifier: MIT
#include "run/plan_pair.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/text.h"

int plan_pair_refuse(struct plan_pair *pair, enum error_class class, enum error_stage stage,
		     const char *call, const char *node, const char *device, const char *format,
		     ...)
{
	struct failure *failure = &pair->failure;
	char sentence[sizeof(failure->error.text)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	error_set(&failure->error, -EINVAL, class, "%s", sentence);
	failure->error.stage = stage;
	text_copy(failure->error.call, sizeof(failure->error.call), call);
	text_copy(failure->node, sizeof(failure->node), node);
	text_copy(failure->device, sizeof(failure->device), device);
	return -EINVAL;
}

static int check_limit(struct plan_pair *pair, const struct endpoint *endpoint, const char *field,
		       uint64_t value, const char *limit_name, uint64_t limit)
{
	if (limit == 0 || value <= limit) {
		return 0;
	}
	return plan_pair_refuse(pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node,
				endpoint->device,
				"%s: %" PRIu64 " is above %s %" PRIu64
				" of %s/%s; ask for at most that",
				field, value, limit_name, limit, endpoint->node, endpoint->device);
}

static int check_device_limits(struct plan_pair *pair, const struct endpoint *endpoint,
			       const struct port *port)
{
	const struct workload *workload = &pair->assignment.workload;
	const struct device_limits *limits = &port->limits;
	int r;

	if ((r = check_limit(pair, endpoint, "qp.max_send_wr", workload->qp.max_send_wr,
			     "max_qp_wr", limits->max_qp_wr)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.max_recv_wr",
			     workload->qp.srq ? 0 : workload->qp.max_recv_wr, "max_qp_wr",
			     limits->max_qp_wr)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.max_send_sge", workload->qp.max_send_sge,
			     "max_sge", limits->max_sge)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.max_recv_sge", workload->qp.max_recv_sge,
			     "max_sge", limits->max_sge)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.num_qps", workload->qp.num_qps, "max_qp",
			     limits->max_qp)) < 0 ||
	    (r = check_limit(pair, endpoint, "workload.ops[].size",
			     operation_largest_bytes(workload->workload.ops,
						     workload->workload.op_count),
			     "max_msg_sz", limits->max_msg_bytes)) < 0) {
		return r;
	}
	if (workload->cq.size != SCHEMA_AUTO) {
		return check_limit(pair, endpoint, "cq.size", workload->cq.size, "max_cqe",
				   limits->max_cqe);
	}
	return 0;
}

static int resolve_path_mtu(struct plan_pair *pair)
{
	struct assignment *assignment = &pair->assignment;
	uint64_t *path_mtu = &assignment->workload.qp.path_mtu;
	const struct port *ports[] = { &pair->initiator_port, &pair->responder_port };
	const struct endpoint *endpoints[] = { &assignment->initiator, &assignment->responder };

	for (size_t i = 0; i < 2; i++) {
		struct error err = ERROR_INIT;

		if (assignment_check_mtu(assignment, endpoints[i], ports[i]->active_mtu_bytes,
					 false, &err) < 0) {
			return plan_pair_refuse(pair, err.class, STAGE_RESOURCE, "limit",
						endpoints[i]->node, endpoints[i]->device, "%s",
						err.text);
		}
	}
	if (*path_mtu == SCHEMA_AUTO) {
		uint64_t a = ports[0]->active_mtu_bytes;
		uint64_t b = ports[1]->active_mtu_bytes;

		*path_mtu = a < b ? a : b;
	}
	return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int resolve_rd_atomic(struct plan_pair *pair)
{
	uint64_t *depth = &pair->assignment.workload.qp.max_rd_atomic;
	const struct device_limits *a = &pair->initiator_port.limits;
	const struct device_limits *b = &pair->responder_port.limits;
	bool is_mutual = pair->assignment.workload.workload.direction == DIRECTION_BOTH;
	/* Where both ends ask, each one must be able to do either. */
	uint64_t out = is_mutual ? smaller(a->max_qp_init_rd_atom, a->max_qp_rd_atom)
				 : a->max_qp_init_rd_atom;
	uint64_t in = is_mutual ? smaller(b->max_qp_init_rd_atom, b->max_qp_rd_atom)
				: b->max_qp_rd_atom;
	uint64_t both = smaller(smaller(out, in), 255);

	if (*depth == SCHEMA_AUTO) {
		*depth = both;
		return 0;
	}
	if (*depth > both) {
		const struct endpoint *endpoint = out < in ? &pair->assignment.initiator
							   : &pair->assignment.responder;

		return plan_pair_refuse(pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node,
					endpoint->device,
					"qp.max_rd_atomic: %" PRIu64 " is above %s %" PRIu64
					" of %s/%s; write auto or at most that",
					*depth,
					is_mutual  ? "max_qp_init_rd_atom or max_qp_rd_atom"
					: out < in ? "max_qp_init_rd_atom"
						   : "max_qp_rd_atom",
					both, endpoint->node, endpoint->device);
	}
	return 0;
}

static int resolve_gids(struct plan_pair *pair)
{
	struct assignment *assignment = &pair->assignment;
	uint64_t wish = assignment->workload.qp.gid_index;
	uint64_t wish_a = wish != SCHEMA_AUTO ? wish : pair->initiator_port.configured_gid_index;
	uint64_t wish_b = wish != SCHEMA_AUTO ? wish : pair->responder_port.configured_gid_index;
	struct error err = ERROR_INIT;
	int r = inventory_pick_gids(&pair->initiator_port, wish_a, &pair->responder_port, wish_b,
				    &assignment->initiator.gid_index,
				    &assignment->responder.gid_index, &err);

	if (r < 0) {
		return plan_pair_refuse(pair, err.class, STAGE_RESOLVE, "gid",
					assignment->initiator.node, assignment->initiator.device,
					"%s", err.text);
	}
	return 0;
}

/* As workload_check, which knows the path MTU only where it is given. */
static int check_datagrams(struct plan_pair *pair)
{
	const struct workload *workload = &pair->assignment.workload;
	const struct endpoint *endpoint = &pair->assignment.initiator;
	uint64_t largest_bytes =
		operation_largest_bytes(workload->workload.ops, workload->workload.op_count);

	if (workload->qp.qp_type != QP_TYPE_UD || largest_bytes <= workload->qp.path_mtu) {
		return 0;
	}
	return plan_pair_refuse(pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node,
				endpoint->device,
				"workload.ops: a size of %" PRIu64
				" bytes is above the path MTU %" PRIu64
				", and UD sends one packet a message; use a smaller size, or "
				"qp_type: UC",
				largest_bytes, workload->qp.path_mtu);
}

static int check_port(struct plan_pair *pair, const struct endpoint *endpoint,
		      const struct port *port)
{
	if (port->state == PORT_STATE_ACTIVE) {
		return 0;
	}
	plan_pair_refuse(
		pair, ERROR_DEVICE, STAGE_DISCOVER, "device", endpoint->node, endpoint->device,
		"port %" PRIu64 " of %s/%s is %s, not active; check the cable, the netdev and "
		"`rdmatestctl devices` there",
		port->port_num, endpoint->node, endpoint->device, port_state_names[port->state]);
	error_number(&pair->failure.error, ENETDOWN);
	return -ENETDOWN;
}

void plan_pair_resolve(struct plan_pair *pair)
{
	struct assignment *assignment = &pair->assignment;

	if (check_port(pair, &assignment->initiator, &pair->initiator_port) < 0 ||
	    check_port(pair, &assignment->responder, &pair->responder_port) < 0 ||
	    check_device_limits(pair, &assignment->initiator, &pair->initiator_port) < 0 ||
	    check_device_limits(pair, &assignment->responder, &pair->responder_port) < 0 ||
	    resolve_path_mtu(pair) < 0 || resolve_rd_atomic(pair) < 0 || resolve_gids(pair) < 0) {
		return;
	}
	(void)check_datagrams(pair);
}
