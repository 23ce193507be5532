// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fleet/permit_internal.h"
#include "util/text.h"
#include "util/units.h"

static void list_ports(const struct inventory *inventory, struct text *out)
{
	for (size_t i = 0; i < inventory->port_count && out->length < 200; i++) {
		text_format(out, "%s%s port %" PRIu64, out->length ? ", " : "",
			    inventory->ports[i].device, inventory->ports[i].port_num);
	}
	text_add(out, inventory->port_count ? "" : "none");
}

static enum permit_answer check_port(struct permit_request *request, struct error *err)
{
	const struct endpoint *local = request->local;
	const struct port *port =
		inventory_port(request->inventory, local->device, local->port_num);

	if (!port) {
		_cleanup_text_ struct text ports = TEXT_INIT;

		list_ports(request->inventory, &ports);
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "\"%s\" has no %s port %" PRIu64
			  " (it has: %s); check the device there, and "
			  "daemon.devices",
			  request->local_node, local->device, local->port_num, ports.data);
		return permit_refuse(err, STAGE_DISCOVER, "device");
	}
	if (port->state != PORT_STATE_ACTIVE) {
		error_set(err, -ENETDOWN, ERROR_DEVICE,
			  "%s port %" PRIu64
			  " of \"%s\" is %s, not active; check cable, switch port and "
			  "network interface",
			  local->device, local->port_num, request->local_node,
			  port_state_names[port->state]);
		error_number(err, ENETDOWN);
		return permit_refuse(err, STAGE_DISCOVER, "device");
	}
	request->port = port;
	return PERMIT_YES;
}

static enum permit_answer check_gid(struct permit_request *request, struct error *err)
{
	const struct endpoint *local = request->local;
	const struct port *port = request->port;

	if (local->gid_index == SCHEMA_AUTO && port->link_layer == LINK_LAYER_INFINIBAND) {
		return PERMIT_YES;
	}
	if (local->gid_index == SCHEMA_AUTO) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment gives no gid_index for %s port %" PRIu64
			  ", which is not InfiniBand: it must be decided before it is sent",
			  local->device, local->port_num);
		return permit_refuse(err, STAGE_RESOURCE, "assignment");
	}
	if (!inventory_gid(port, local->gid_index)) {
		error_set(
			err, -ENODEV, ERROR_DEVICE,
			"%s port %" PRIu64 " of \"%s\" has no GID at index %" PRIu64
			" (it has %zu); check the addresses of its network interface, or qp.gid_index",
			local->device, local->port_num, request->local_node, local->gid_index,
			port->gid_count);
		return permit_refuse(err, STAGE_DISCOVER, "device");
	}
	return PERMIT_YES;
}

/* --- limits of the device --- */

static bool has(const struct workload *workload, unsigned traits)
{
	return operation_any(workload->workload.ops, workload->workload.op_count, traits);
}

struct demand {
	const char *what; /* as in the scenario */
	uint64_t value;
	const char *limit_name; /* as verbs call it */
	uint64_t limit;
	bool is_bytes;
};

static size_t fill_demands(const struct permit_request *request, struct demand demands[])
{
	const struct workload *workload = &request->assignment->workload;
	const struct device_limits *limits = &request->port->limits;
	const struct qp_settings *qp = &workload->qp;
	bool is_initiator = request->assignment->role == ROLE_INITIATOR;
	bool fetches = has(workload, OPERATION_FETCHES);
	bool takes_receives = has(workload, OPERATION_TAKES_RECEIVE);
	uint64_t outstanding = workload->workload.load.outstanding;
	const struct demand all[] = {
		{ "qp.num_qps", qp->num_qps, "max_qp", limits->max_qp, false },
		{ "qp.max_send_wr", qp->max_send_wr, "max_qp_wr", limits->max_qp_wr, false },
		{ "qp.max_recv_wr", takes_receives && !qp->srq ? qp->max_recv_wr : 0, "max_qp_wr",
		  limits->max_qp_wr, false },
		{ "qp.max_send_sge", qp->max_send_sge, "max_sge", limits->max_sge, false },
		{ "qp.max_recv_sge", takes_receives ? qp->max_recv_sge : 1, "max_sge",
		  limits->max_sge, false },
		{ "cq.size", workload->cq.size == SCHEMA_AUTO ? 0 : workload->cq.size, "max_cqe",
		  limits->max_cqe, false },
		{ "workload.load.outstanding", outstanding, "max_cqe", limits->max_cqe, false },
		{ "the largest size in workload.ops",
		  operation_largest_bytes(workload->workload.ops, workload->workload.op_count),
		  "max_msg_sz", limits->max_msg_bytes, true },
		{ "the buffer", assignment_pinned_bytes(request->assignment), "max_mr_size",
		  limits->max_mr_bytes, true },
		{ "qp.max_rd_atomic", fetches && is_initiator ? qp->max_rd_atomic : 0,
		  "max_qp_init_rd_atom", limits->max_qp_init_rd_atom, false },
		{ "qp.max_rd_atomic", fetches && !is_initiator ? qp->max_rd_atomic : 0,
		  "max_qp_rd_atom", limits->max_qp_rd_atom, false },
	};

	memcpy(demands, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static enum permit_answer check_device_limits(struct permit_request *request, struct error *err)
{
	struct demand demands[16];
	size_t count = fill_demands(request, demands);

	for (size_t i = 0; i < count; i++) {
		const struct demand *demand = &demands[i];
		char is[UNITS_SIZE];
		char may[UNITS_SIZE];

		if (demand->value <= demand->limit) {
			continue;
		}
		if (demand->is_bytes) {
			units_write_size(demand->value, is);
			units_write_size(demand->limit, may);
		} else {
			units_format_count(demand->value, is);
			units_format_count(demand->limit, may);
		}
		error_set(err, -ERANGE, ERROR_INPUT,
			  "%s %s is above %s's %s %s on \"%s\"; lower it in the scenario",
			  demand->what, is, request->local->device, demand->limit_name, may,
			  request->local_node);
		return permit_refuse(err, STAGE_RESOURCE, "limit");
	}
	if (assignment_check_mtu(request->assignment, request->local,
				 request->port->active_mtu_bytes, true, err) < 0) {
		return permit_refuse(err, STAGE_RESOURCE, "limit");
	}
	if (request->assignment->workload.qp.pkey_index >= request->port->pkey_count &&
	    request->port->pkey_count > 0) {
		error_set(err, -ERANGE, ERROR_INPUT,
			  "qp.pkey_index %" PRIu64 " is above the last of %s's %" PRIu64
			  " partition keys on \"%s\"; use one from 0 to %" PRIu64,
			  request->assignment->workload.qp.pkey_index, request->local->device,
			  request->port->pkey_count, request->local_node,
			  request->port->pkey_count - 1);
		return permit_refuse(err, STAGE_RESOURCE, "limit");
	}
	return PERMIT_YES;
}

enum permit_answer permit_port_check(struct permit_request *request, struct error *err)
{
	enum permit_answer answer = check_port(request, err);

	if (answer == PERMIT_YES) {
		answer = check_gid(request, err);
	}
	if (answer == PERMIT_YES) {
		answer = check_device_limits(request, err);
	}
	return answer;
}
