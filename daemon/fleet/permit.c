// SPDX-License-Identifier: MIT
#include "fleet/permit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "util/clock.h"
#include "util/text.h"
#include "util/units.h"

#define RETRY_AFTER_NS 1000000000ull

struct request {
	const struct assignment *assignment;
	const struct endpoint *local; /* the end that is ours */
	const struct port *port; /* of the local endpoint; set by check_port */
	const char *coordinator;
	const struct labels *labels;
	const char *local_node;
	const struct inventory *inventory;
	const struct limit_settings *limits;
	const struct permit_usage *usage;
};

static enum permit_answer refuse(struct error *err, enum error_stage stage, const char *call)
{
	err->stage = stage;
	text_copy(err->call, sizeof(err->call), call);
	return PERMIT_NO;
}

static enum permit_answer refuse_assignment(struct error *err)
{
	return refuse(err, STAGE_RESOURCE, "assignment");
}

static enum permit_answer refuse_limit(struct error *err)
{
	return refuse(err, STAGE_RESOURCE, "permit");
}

static bool is_own_run(const struct request *request)
{
	return strcmp(request->coordinator, request->local_node) == 0;
}

/* --- who asks, and whether it is meant for us --- */

static enum permit_answer check_parties(struct request *request, struct error *err)
{
	const struct assignment *assignment = request->assignment;
	const struct endpoint *a = &assignment->initiator;
	const struct endpoint *b = &assignment->responder;

	if (strcmp(assignment->coordinator, request->coordinator) != 0) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment names \"%s\" as coordinator, but it came from \"%s\"",
			  assignment->coordinator, request->coordinator);
		return refuse_assignment(err);
	}
	if (assignment->role != ROLE_INITIATOR && assignment->role != ROLE_RESPONDER) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment's role %d is neither initiator nor responder",
			  assignment->role);
		return refuse_assignment(err);
	}
	request->local = assignment_local(assignment);
	if (strcmp(request->local->node, request->local_node) != 0) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment's %s is node \"%s\", but this is \"%s\"; check the "
			  "addresses in peers of \"%s\"",
			  job_role_names[assignment->role], request->local->node, request->local_node,
			  request->coordinator);
		return refuse_assignment(err);
	}
	if (strcmp(a->node, b->node) == 0 && strcmp(a->device, b->device) == 0 &&
	    a->port_num == b->port_num) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "initiator and responder are the same port, %s port %" PRIu64
			  " of \"%s\"; a pair needs two",
			  a->device, a->port_num, a->node);
		return refuse_assignment(err);
	}
	return PERMIT_YES;
}

static enum permit_answer check_coordinator(struct request *request, struct error *err)
{
	if (is_own_run(request) ||
	    labels_selector_matches(&request->limits->accept_from, request->coordinator,
				    request->labels)) {
		return PERMIT_YES;
	}
	error_set(err, -EPERM, ERROR_RESOURCE,
		  "\"%s\" takes no part in runs of \"%s\": limits.accept_from in its configuration "
		  "does not select that node%s",
		  request->local_node, request->coordinator,
		  request->labels ? "" : ", which is not in its peers, so that its labels are unknown");
	return refuse_limit(err);
}

static enum permit_answer check_assignment(struct request *request, struct error *err)
{
	if (assignment_check(request->assignment, err) < 0) {
		error_prefix(err, "the assignment of \"%s\"", request->coordinator);
		return refuse_assignment(err);
	}
	return PERMIT_YES;
}

/* --- configured limits --- */

static enum permit_answer check_duration(struct request *request, struct error *err)
{
	const struct workload *workload = &request->assignment->workload;
	uint64_t limit_ns = request->limits->max_duration_ns;
	uint64_t expected_ns = workload_expected_ns(workload);
	bool is_counted = expected_ns == CLOCK_NEVER; /* ends by iterations, or by its timeout */
	uint64_t longest_ns = is_counted ? workload_timeout_ns(workload) : expected_ns;
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (is_own_run(request) || longest_ns <= limit_ns) {
		return PERMIT_YES;
	}
	units_write_duration(longest_ns, is);
	units_write_duration(limit_ns, may);
	if (is_counted) {
		error_set(err, -EPERM, ERROR_RESOURCE,
			  "run.iterations may take until run.timeout, %s, above limits.max_duration %s of "
			  "\"%s\"; set run.timeout to %s or less in the scenario, or raise the limit there",
			  is, may, request->local_node, may);
	} else {
		error_set(err, -EPERM, ERROR_RESOURCE,
			  "run.warmup and run.duration, together %s, are above limits.max_duration %s of "
			  "\"%s\"; shorten the run, or raise the limit there",
			  is, may, request->local_node);
	}
	return refuse_limit(err);
}

static enum permit_answer check_maxima(struct request *request, struct error *err)
{
	uint64_t num_qps = request->assignment->workload.qp.num_qps;
	uint64_t pinned_bytes = assignment_pinned_bytes(request->assignment);
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (num_qps > request->limits->max_qps) {
		error_set(err, -EPERM, ERROR_RESOURCE,
			  "qp.num_qps %" PRIu64 " is above limits.max_qps %" PRIu64
			  " of \"%s\"; use fewer, or raise the limit there",
			  num_qps, request->limits->max_qps, request->local_node);
		return refuse_limit(err);
	}
	if (pinned_bytes > request->limits->max_pinned_bytes) {
		error_set(err, -EPERM, ERROR_RESOURCE,
			  "the buffers take %s of pinned memory, above limits.max_pinned_memory %s of \"%s\"; "
			  "use smaller sizes or fewer queue pairs, or raise the limit there",
			  units_write_size(pinned_bytes, is),
			  units_write_size(request->limits->max_pinned_bytes, may),
			  request->local_node);
		return refuse_limit(err);
	}
	if (request->usage->is_stopping) {
		error_set(err, -ESHUTDOWN, ERROR_RESOURCE,
			  "\"%s\" is stopping and takes no new job; run it again when the daemon is back",
			  request->local_node);
		return refuse_limit(err);
	}
	return PERMIT_YES;
}

/* --- the port --- */

static void list_ports(const struct inventory *inventory, struct text *out)
{
	for (size_t i = 0; i < inventory->port_count && out->length < 200; i++) {
		text_format(out, "%s%s port %" PRIu64, out->length ? ", " : "",
			    inventory->ports[i].device, inventory->ports[i].port_num);
	}
	text_add(out, inventory->port_count ? "" : "none");
}

static enum permit_answer check_port(struct request *request, struct error *err)
{
	const struct endpoint *local = request->local;
	const struct port *port =
		inventory_port(request->inventory, local->device, local->port_num);

	if (!port) {
		_cleanup_text_ struct text ports = TEXT_INIT;

		list_ports(request->inventory, &ports);
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "\"%s\" has no %s port %" PRIu64 " (it has: %s); check the device there, and "
			  "daemon.devices",
			  request->local_node, local->device, local->port_num, ports.data);
		return refuse(err, STAGE_DISCOVER, "device");
	}
	if (port->state != PORT_STATE_ACTIVE) {
		error_set(err, -ENETDOWN, ERROR_DEVICE,
			  "%s port %" PRIu64 " of \"%s\" is %s, not active; check cable, switch port and "
			  "network interface",
			  local->device, local->port_num, request->local_node,
			  port_state_names[port->state]);
		return refuse(err, STAGE_DISCOVER, "device");
	}
	request->port = port;
	return PERMIT_YES;
}

static enum permit_answer check_gid(struct request *request, struct error *err)
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
		return refuse_assignment(err);
	}
	if (!inventory_gid(port, local->gid_index)) {
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "%s port %" PRIu64 " of \"%s\" has no GID at index %" PRIu64
			  " (it has %zu); check the addresses of its network interface, or qp.gid_index",
			  local->device, local->port_num, request->local_node, local->gid_index,
			  port->gid_count);
		return refuse(err, STAGE_DISCOVER, "device");
	}
	return PERMIT_YES;
}

/* --- limits of the device --- */

static uint64_t largest_bytes(const struct workload *workload)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < workload->workload.op_count; i++) {
		const struct operation *op = &workload->workload.ops[i];

		for (size_t j = 0; j < op->size_count; j++) {
			if (op->sizes[j].size_bytes > largest) {
				largest = op->sizes[j].size_bytes;
			}
		}
	}
	return largest;
}

static bool has_kind(const struct workload *workload, int kind)
{
	for (size_t i = 0; i < workload->workload.op_count; i++) {
		if (workload->workload.ops[i].kind == kind) {
			return true;
		}
	}
	return false;
}

struct demand {
	const char *what; /* as in the scenario */
	uint64_t value;
	const char *limit_name; /* as verbs call it */
	uint64_t limit;
	bool is_bytes;
};

static size_t fill_demands(const struct request *request, struct demand demands[])
{
	const struct workload *workload = &request->assignment->workload;
	const struct device_limits *limits = &request->port->limits;
	const struct qp_settings *qp = &workload->qp;
	bool is_initiator = request->assignment->role == ROLE_INITIATOR;
	bool has_reads = has_kind(workload, OPERATION_READ);
	bool has_sends = has_kind(workload, OPERATION_SEND);
	uint64_t outstanding = workload->workload.load.outstanding;
	const struct demand all[] = {
		{ "qp.num_qps", qp->num_qps, "max_qp", limits->max_qp, false },
		{ "qp.max_send_wr", qp->max_send_wr, "max_qp_wr", limits->max_qp_wr, false },
		{ "qp.max_recv_wr", has_sends ? qp->max_recv_wr : 0, "max_qp_wr", limits->max_qp_wr,
		  false },
		{ "scatter/gather entries", 1, "max_sge", limits->max_sge, false },
		{ "cq.size", workload->cq.size == SCHEMA_AUTO ? 0 : workload->cq.size, "max_cqe",
		  limits->max_cqe, false },
		{ "workload.load.outstanding", outstanding, "max_cqe", limits->max_cqe, false },
		{ "the largest size in workload.ops", largest_bytes(workload), "max_msg_sz",
		  limits->max_msg_bytes, true },
		{ "the buffer", assignment_pinned_bytes(request->assignment), "max_mr_size",
		  limits->max_mr_bytes, true },
		{ "qp.max_rd_atomic", has_reads && is_initiator ? qp->max_rd_atomic : 0,
		  "max_qp_init_rd_atom", limits->max_qp_init_rd_atom, false },
		{ "qp.max_rd_atomic", has_reads && !is_initiator ? qp->max_rd_atomic : 0,
		  "max_qp_rd_atom", limits->max_qp_rd_atom, false },
		{ "qp.path_mtu", qp->path_mtu, "active_mtu", request->port->active_mtu_bytes, true },
	};

	memcpy(demands, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

static enum permit_answer check_device_limits(struct request *request, struct error *err)
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
			  "%s %s is above %s's %s %s on \"%s\"; lower it in the scenario", demand->what,
			  is, request->local->device, demand->limit_name, may, request->local_node);
		return refuse(err, STAGE_RESOURCE, "limit");
	}
	if (request->assignment->workload.qp.pkey_index >= request->port->pkey_count &&
	    request->port->pkey_count > 0) {
		error_set(err, -ERANGE, ERROR_INPUT,
			  "qp.pkey_index %" PRIu64 " is above the last of %s's %" PRIu64
			  " partition keys on \"%s\"; use one from 0 to %" PRIu64,
			  request->assignment->workload.qp.pkey_index, request->local->device,
			  request->port->pkey_count, request->local_node, request->port->pkey_count - 1);
		return refuse(err, STAGE_RESOURCE, "limit");
	}
	return PERMIT_YES;
}

/* --- what comes right by waiting; asked last, so that nobody waits for what can never be --- */

static enum permit_answer check_room(struct request *request, struct error *err)
{
	const struct limit_settings *limits = request->limits;
	const struct permit_usage *usage = request->usage;
	uint64_t num_qps = request->assignment->workload.qp.num_qps;
	uint64_t pinned_bytes = assignment_pinned_bytes(request->assignment);
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (usage->is_endpoint_busy) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "%s port %" PRIu64 " of \"%s\" runs another job; a port runs one at a time",
			  request->local->device, request->local->port_num, request->local_node);
	} else if (usage->jobs >= limits->max_concurrent_jobs) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "\"%s\" runs %" PRIu64 " jobs, as many as its limits.max_concurrent_jobs allows",
			  request->local_node, usage->jobs);
	} else if (usage->qps > limits->max_qps || num_qps > limits->max_qps - usage->qps) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "other jobs on \"%s\" hold %" PRIu64 " queue pairs; with qp.num_qps %" PRIu64
			  " more they would be above its limits.max_qps %" PRIu64,
			  request->local_node, usage->qps, num_qps, limits->max_qps);
	} else if (usage->pinned_bytes > limits->max_pinned_bytes ||
		   pinned_bytes > limits->max_pinned_bytes - usage->pinned_bytes) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "other jobs on \"%s\" hold pinned memory; with %s more it would be above its "
			  "limits.max_pinned_memory %s",
			  request->local_node, units_write_size(pinned_bytes, is),
			  units_write_size(limits->max_pinned_bytes, may));
	} else {
		return PERMIT_YES;
	}
	refuse(err, STAGE_RESOURCE, "busy");
	return PERMIT_BUSY;
}

enum permit_answer permit_check(const struct assignment *assignment, const char *coordinator,
				const struct labels *labels, const char *local_node,
				const struct inventory *inventory, const struct limit_settings *limits,
				const struct permit_usage *usage, uint64_t *ret_retry_after_ns,
				struct error *err)
{
	static enum permit_answer (*const checks[])(struct request * request, struct error * err) = {
		check_parties, check_coordinator, check_assignment, check_duration,	check_maxima,
		check_port,    check_gid,	  check_device_limits, check_room,
	};
	struct request request = {
		.assignment = assignment,
		.coordinator = coordinator,
		.labels = labels,
		.local_node = local_node,
		.inventory = inventory,
		.limits = limits,
		.usage = usage,
	};
	struct error reason = ERROR_INIT;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum permit_answer answer = checks[i](&request, &reason);

		if (answer != PERMIT_YES) {
			if (answer == PERMIT_BUSY) {
				*ret_retry_after_ns = RETRY_AFTER_NS;
			}
			if (err && !error_is_set(err)) {
				*err = reason;
			}
			return answer;
		}
	}
	return PERMIT_YES;
}
