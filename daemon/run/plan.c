// SPDX-License-Identifier: MIT
#include "run/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"
#include "util/units.h"

void plan_free(struct plan *plan)
{
	if (plan == NULL) {
		return;
	}
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->pairs[i]);
	}
	free(plan->pairs);
	free(plan);
}

MEMORY_CLEANUP(struct plan, plan_free)

static int refuse(struct plan_pair *pair, enum error_class class, enum error_stage stage,
		  const char *call, const char *node, const char *device)
{
	struct failure *failure = &pair->failure;

	failure->error.class = class;
	failure->error.stage = stage;
	text_copy(failure->error.call, sizeof(failure->error.call), call);
	text_copy(failure->node, sizeof(failure->node), node);
	text_copy(failure->device, sizeof(failure->device), device);
	return -EINVAL;
}

/* Refuses the pair with a sentence: REFUSE(pair, class, stage, call, port's node, port, format,
 * ...). */
#define REFUSE(pair, class, stage, call, node, device, ...)              \
	(error_set(&(pair)->failure.error, -EINVAL, class, __VA_ARGS__), \
	 refuse(pair, class, stage, call, node, device))

static int check_limit(struct plan_pair *pair, const struct endpoint *endpoint, const char *field,
		       uint64_t value, const char *limit_name, uint64_t limit)
{
	if (limit == 0 || value <= limit) {
		return 0;
	}
	return REFUSE(pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node, endpoint->device,
		      "%s: %" PRIu64 " is above %s %" PRIu64 " of %s/%s; ask for at most that",
		      field, value, limit_name, limit, endpoint->node, endpoint->device);
}

static uint64_t largest_size(const struct workload *workload)
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

static bool has_kind(const struct workload *workload, enum operation_kind kind)
{
	for (size_t i = 0; i < workload->workload.op_count; i++) {
		if (workload->workload.ops[i].kind == (int)kind) {
			return true;
		}
	}
	return false;
}

static int check_device_limits(struct plan_pair *pair, const struct endpoint *endpoint,
			       const struct port *port)
{
	const struct workload *workload = &pair->assignment.workload;
	const struct device_limits *limits = &port->limits;
	int r;

	if ((r = check_limit(pair, endpoint, "qp.max_send_wr", workload->qp.max_send_wr,
			     "max_qp_wr", limits->max_qp_wr)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.max_recv_wr", workload->qp.max_recv_wr,
			     "max_qp_wr", limits->max_qp_wr)) < 0 ||
	    (r = check_limit(pair, endpoint, "qp.num_qps", workload->qp.num_qps, "max_qp",
			     limits->max_qp)) < 0 ||
	    (r = check_limit(pair, endpoint, "workload.ops[].size", largest_size(workload),
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
		uint64_t active = ports[i]->active_mtu_bytes;

		if (*path_mtu == SCHEMA_AUTO) {
			continue;
		}
		if (active != 0 && *path_mtu > active) {
			return REFUSE(pair, ERROR_INPUT, STAGE_RESOURCE, "limit",
				      endpoints[i]->node, endpoints[i]->device,
				      "qp.path_mtu: %" PRIu64 " is above the active MTU %" PRIu64
				      " of %s/%s; write auto, or raise the MTU of its netdev",
				      *path_mtu, active, endpoints[i]->node, endpoints[i]->device);
		}
	}
	if (*path_mtu == SCHEMA_AUTO) {
		uint64_t a = ports[0]->active_mtu_bytes;
		uint64_t b = ports[1]->active_mtu_bytes;

		*path_mtu = a < b ? a : b;
	}
	return 0;
}

static int resolve_rd_atomic(struct plan_pair *pair)
{
	uint64_t *depth = &pair->assignment.workload.qp.max_rd_atomic;
	uint64_t out = pair->initiator_port.limits.max_qp_init_rd_atom;
	uint64_t in = pair->responder_port.limits.max_qp_rd_atom;
	uint64_t both = out < in ? out : in;

	if (both > 255) {
		both = 255;
	}
	if (*depth == SCHEMA_AUTO) {
		*depth = both;
		return 0;
	}
	if (*depth > both) {
		const struct endpoint *endpoint = out < in ? &pair->assignment.initiator
							   : &pair->assignment.responder;

		return REFUSE(pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node,
			      endpoint->device,
			      "qp.max_rd_atomic: %" PRIu64 " is above %s %" PRIu64
			      " of %s/%s; write auto or at most that",
			      *depth, out < in ? "max_qp_init_rd_atom" : "max_qp_rd_atom", both,
			      endpoint->node, endpoint->device);
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
		pair->failure.error = err;
		return refuse(pair, err.class, STAGE_RESOLVE, "gid", assignment->initiator.node,
			      assignment->initiator.device);
	}
	return 0;
}

/* A ping-pong write is seen by its last byte in memory: only within one packet is that also its
 * last to arrive. */
static int check_pingpong(struct plan_pair *pair)
{
	const struct workload *workload = &pair->assignment.workload;
	const struct endpoint *endpoint = &pair->assignment.initiator;

	if (workload->workload.pattern != PATTERN_PINGPONG ||
	    !has_kind(workload, OPERATION_WRITE)) {
		return 0;
	}
	for (size_t i = 0; i < workload->workload.op_count; i++) {
		const struct operation *op = &workload->workload.ops[i];

		for (size_t j = 0; op->kind == OPERATION_WRITE && j < op->size_count; j++) {
			if (op->sizes[j].size_bytes > workload->qp.path_mtu) {
				return REFUSE(
					pair, ERROR_INPUT, STAGE_RESOURCE, "limit", endpoint->node,
					endpoint->device,
					"workload.ops[%zu].size: a ping-pong write of %" PRIu64
					" bytes is above the path MTU %" PRIu64
					"; use send for larger messages, or pattern stream",
					i, op->sizes[j].size_bytes, workload->qp.path_mtu);
			}
		}
	}
	return 0;
}

static int check_port(struct plan_pair *pair, const struct endpoint *endpoint,
		      const struct port *port)
{
	if (port->state == PORT_STATE_ACTIVE) {
		return 0;
	}
	return REFUSE(
		pair, ERROR_DEVICE, STAGE_DISCOVER, "device", endpoint->node, endpoint->device,
		"port %" PRIu64 " of %s/%s is %s, not active; check the cable, the netdev and "
		"`rdmatestctl devices` there",
		port->port_num, endpoint->node, endpoint->device, port_state_names[port->state]);
}

static void resolve(struct plan_pair *pair)
{
	struct assignment *assignment = &pair->assignment;

	if (check_port(pair, &assignment->initiator, &pair->initiator_port) < 0 ||
	    check_port(pair, &assignment->responder, &pair->responder_port) < 0 ||
	    check_device_limits(pair, &assignment->initiator, &pair->initiator_port) < 0 ||
	    check_device_limits(pair, &assignment->responder, &pair->responder_port) < 0 ||
	    resolve_path_mtu(pair) < 0 || resolve_rd_atomic(pair) < 0 || resolve_gids(pair) < 0) {
		return;
	}
	check_pingpong(pair);
}

static struct plan_pair *add_pair(struct plan *plan, const struct plan_request *request,
				  const struct plan_node *from, const struct plan_node *to)
{
	const struct scenario *scenario = request->scenario;
	struct plan_pair *pair = memory_new(sizeof(*pair));
	struct assignment *assignment = &pair->assignment;

	pair->failure = FAILURE_INIT;
	text_copy(assignment->run_id, sizeof(assignment->run_id), request->run_id);
	assignment->pair = plan->count;
	text_copy(assignment->scenario, sizeof(assignment->scenario), scenario->name);
	text_copy(assignment->coordinator, sizeof(assignment->coordinator), request->coordinator);
	assignment->role = ROLE_INITIATOR;
	text_copy(assignment->initiator.node, sizeof(assignment->initiator.node), from->name);
	text_copy(assignment->responder.node, sizeof(assignment->responder.node), to->name);
	assignment->initiator.gid_index = SCHEMA_AUTO;
	assignment->responder.gid_index = SCHEMA_AUTO;
	assignment->workload = scenario->workload;
	assignment->seed = scenario->workload.workload.seed != 0
				   ? scenario->workload.workload.seed
				   : prng_hash(request->run_id, plan->count);
	/* Travels as a JSON integer: keep it exact there. */
	assignment->seed &= INT64_MAX;

	plan->pairs = memory_resize(plan->pairs, plan->count + 1, sizeof(*plan->pairs));
	plan->pairs[plan->count++] = pair;
	return pair;
}

static bool port_is_wished(const struct scenario *scenario, const struct port *port)
{
	const struct qp_settings *qp = &scenario->workload.qp;

	return (qp->device[0] == '\0' || strcmp(qp->device, port->device) == 0) &&
	       (qp->port_num == SCHEMA_AUTO || qp->port_num == port->port_num);
}

static void take_port(struct endpoint *endpoint, struct port *copy, const struct port *port)
{
	text_copy(endpoint->device, sizeof(endpoint->device), port->device);
	endpoint->port_num = port->port_num;
	*copy = *port;
}

static void refuse_unreachable(struct plan_pair *pair, const struct plan_node *node)
{
	if (node->unreachable != NULL && error_is_set(node->unreachable)) {
		pair->failure.error = *node->unreachable;
		pair->failure.error.stage = STAGE_DISCOVER;
		text_copy(pair->failure.node, sizeof(pair->failure.node), node->name);
		return;
	}
	REFUSE(pair, ERROR_PEER, STAGE_DISCOVER, "connect", node->name, "",
	       "node \"%s\" was not reached yet; check that rdmatestd runs there and its address in peers",
	       node->name);
}

static void refuse_no_port(struct plan_pair *pair, const struct scenario *scenario,
			   const struct plan_node *from, const struct plan_node *to)
{
	const struct plan_node *nodes[] = { from, to };
	const struct qp_settings *qp = &scenario->workload.qp;

	for (size_t i = 0; i < 2; i++) {
		bool has = false;

		for (size_t j = 0; j < nodes[i]->inventory->port_count; j++) {
			has = has || port_is_wished(scenario, &nodes[i]->inventory->ports[j]);
		}
		if (!has) {
			REFUSE(pair, ERROR_DEVICE, STAGE_DISCOVER, "device", nodes[i]->name,
			       qp->device,
			       "node \"%s\" has no RDMA port%s%s; check the driver module, the cable and daemon.devices there",
			       nodes[i]->name, qp->device[0] != '\0' ? " on device " : "",
			       qp->device);
			return;
		}
	}
	REFUSE(pair, ERROR_INPUT, STAGE_DISCOVER, "device", from->name, qp->device,
	       "nodes \"%s\" and \"%s\" have no rail in common; set daemon.devices[].rail alike on both",
	       from->name, to->name);
}

/* Ports multiply: every pair of them is one of the pairs that topology.max_pairs bounds. */
static bool is_full(const struct plan *plan, const struct plan_request *request)
{
	return plan->count >= request->scenario->topology.max_pairs || plan->count >= LIMIT_PAIRS;
}

/* False when there are more pairs than the scenario allows. */
static bool add_node_pair(struct plan *plan, const struct plan_request *request,
			  const struct plan_node *from, const struct plan_node *to)
{
	size_t before = plan->count;

	if (from->inventory == NULL || to->inventory == NULL) {
		refuse_unreachable(add_pair(plan, request, from, to),
				   from->inventory == NULL ? from : to);
		return true;
	}
	for (size_t i = 0; i < from->inventory->port_count; i++) {
		const struct port *a = &from->inventory->ports[i];

		for (size_t j = 0; j < to->inventory->port_count; j++) {
			const struct port *b = &to->inventory->ports[j];
			struct plan_pair *pair;

			if (a->rail != b->rail || !port_is_wished(request->scenario, a) ||
			    !port_is_wished(request->scenario, b)) {
				continue;
			}
			if (is_full(plan, request)) {
				return false;
			}
			pair = add_pair(plan, request, from, to);
			take_port(&pair->assignment.initiator, &pair->initiator_port, a);
			take_port(&pair->assignment.responder, &pair->responder_port, b);
			resolve(pair);
		}
	}
	if (plan->count == before) {
		refuse_no_port(add_pair(plan, request, from, to), request->scenario, from, to);
	}
	return true;
}

static bool is_pair(const struct scenario *scenario, const struct plan_node *from,
		    const struct plan_node *to)
{
	return strcmp(from->name, to->name) != 0 &&
	       labels_selector_matches(&scenario->peers.from, from->name, from->labels) &&
	       labels_selector_matches(&scenario->peers.to, to->name, to->labels);
}

/* An unordered pair that matches both ways is initiated by the smaller name. */
static bool is_initiated(const struct scenario *scenario, const struct plan_node *from,
			 const struct plan_node *to)
{
	return is_pair(scenario, from, to) &&
	       (scenario->topology.is_directed || !is_pair(scenario, to, from) ||
		strcmp(from->name, to->name) < 0);
}

bool plan_initiates(const struct scenario *scenario, const char *node, const struct labels *labels,
		    const char *other, const struct labels *other_labels)
{
	struct plan_node from = { .name = node, .labels = labels };
	struct plan_node to = { .name = other, .labels = other_labels };

	return is_initiated(scenario, &from, &to);
}

int plan_build(const struct plan_request *request, struct plan **ret, struct error *err)
{
	const struct scenario *scenario = request->scenario;
	_cleanup_(plan_free_pointer) struct plan *plan = memory_new(sizeof(*plan));
	size_t matched = 0;

	for (size_t i = 0; i < request->node_count; i++) {
		for (size_t j = 0; j < request->node_count; j++) {
			const struct plan_node *from = &request->nodes[i];
			const struct plan_node *to = &request->nodes[j];

			if (!is_initiated(scenario, from, to)) {
				continue;
			}
			matched++;
			if (request->only_initiator != NULL &&
			    strcmp(request->only_initiator, from->name) != 0) {
				continue;
			}
			if (is_full(plan, request) || !add_node_pair(plan, request, from, to)) {
				return error_set(
					err, -E2BIG, ERROR_INPUT,
					"scenario \"%s\": more than topology.max_pairs %" PRIu64
					" pairs; narrow peers.from and peers.to, or raise it",
					scenario->name, scenario->topology.max_pairs);
			}
		}
	}
	if (plan->count == 0) {
		return error_set(
			err, -ENOENT, ERROR_INPUT,
			matched > 0
				? "scenario \"%s\": none of its %zu pairs is initiated by this node"
				: "scenario \"%s\": peers.from and peers.to match no pair of the %zu known nodes; see `rdmatestctl peers`",
			scenario->name, matched > 0 ? matched : request->node_count);
	}
	*ret = take(plan);
	return 0;
}
