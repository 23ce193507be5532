// SPDX-License-Identifier: MIT
#include "run/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

/* How far a plan is: first every node meets the selectors once, then the rows of those that
 * initiate are gone through. */
struct plan_builder {
	struct plan_request request;
	size_t matched; /* nodes that met the selectors */
	bool *is_from;
	bool *is_to;
	size_t from; /* index of the next pair of nodes to look at */
	size_t to;
	size_t from_port; /* and of their ports */
	size_t to_port;
	bool has_ports; /* the present pair of nodes has had one that go together */
	uint64_t repeated; /* times that the present pair of ports is in the plan */
	size_t capacity;
};

static void builder_free(struct plan_builder *builder)
{
	if (builder != NULL) {
		free(builder->is_from);
		free(builder->is_to);
		free(builder);
	}
}

struct plan *plan_new(const struct plan_request *request)
{
	struct plan *plan = memory_new(sizeof(*plan));
	struct plan_builder *builder = memory_new(sizeof(*builder));

	builder->request = *request;
	builder->is_from = memory_new_array(request->node_count + 1, sizeof(bool));
	builder->is_to = memory_new_array(request->node_count + 1, sizeof(bool));
	plan->builder = builder;
	return plan;
}

void plan_free(struct plan *plan)
{
	if (plan == NULL) {
		return;
	}
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->pairs[i]);
	}
	free(plan->pairs);
	free(plan->briefs);
	builder_free(plan->builder);
	free(plan);
}

/* Who requests is the initiator, whoever began the run. */
static bool is_reverse(const struct plan_builder *builder)
{
	return builder->request.scenario->workload.workload.direction == DIRECTION_REVERSE;
}

static struct plan_pair *add_pair(struct plan *plan, bool is_refused)
{
	struct plan_builder *builder = plan->builder;
	const struct plan_request *request = &builder->request;
	const struct scenario *scenario = request->scenario;
	size_t initiator = is_reverse(builder) ? builder->to : builder->from;
	size_t responder = is_reverse(builder) ? builder->from : builder->to;
	struct plan_pair *pair = memory_new(sizeof(*pair));
	struct assignment *assignment = &pair->assignment;

	pair->failure = FAILURE_INIT;
	text_copy(assignment->run_id, sizeof(assignment->run_id), request->run_id);
	assignment->pair = plan->count;
	text_copy(assignment->scenario, sizeof(assignment->scenario), scenario->name);
	text_copy(assignment->coordinator, sizeof(assignment->coordinator), request->coordinator);
	assignment->role = ROLE_INITIATOR;
	assignment->is_disruptive = scenario->is_disruptive;
	assignment->is_scheduled = request->is_scheduled;
	text_copy(assignment->initiator.node, sizeof(assignment->initiator.node),
		  request->nodes[initiator].name);
	text_copy(assignment->responder.node, sizeof(assignment->responder.node),
		  request->nodes[responder].name);
	assignment->initiator.gid_index = SCHEMA_AUTO;
	assignment->responder.gid_index = SCHEMA_AUTO;
	assignment->workload = scenario->workload;
	assignment->workload.workload.direction =
		scenario->workload.workload.direction == DIRECTION_BOTH ? DIRECTION_BOTH
									: DIRECTION_FORWARD;
	assignment->seed = scenario->workload.workload.seed != 0
				   ? scenario->workload.workload.seed
				   : prng_hash(request->run_id, plan->count);
	/* Travels as a JSON integer: keep it exact there. */
	assignment->seed &= INT64_MAX;

	if (plan->count == builder->capacity) {
		builder->capacity = builder->capacity * 2 + PLAN_PIECE;
		plan->pairs = memory_resize(plan->pairs, builder->capacity, sizeof(*plan->pairs));
		plan->briefs =
			memory_resize(plan->briefs, builder->capacity, sizeof(*plan->briefs));
	}
	plan->briefs[plan->count] = (struct plan_brief){ .initiator = (unsigned)initiator,
							 .responder = (unsigned)responder,
							 .is_refused = is_refused };
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

static void add_ports(struct plan *plan, const struct port *a, const struct port *b)
{
	struct plan_pair *pair = add_pair(plan, false);
	bool is_swapped = is_reverse(plan->builder);

	take_port(&pair->assignment.initiator, &pair->initiator_port, is_swapped ? b : a);
	take_port(&pair->assignment.responder, &pair->responder_port, is_swapped ? a : b);
	plan_pair_resolve(pair);
	plan->briefs[plan->count - 1].is_refused = error_is_set(&pair->failure.error);
}

/* What cannot run cannot run once. */
static void repeat_or_go_on(struct plan *plan)
{
	struct plan_builder *builder = plan->builder;
	struct plan_pair *pair = plan->pairs[plan->count - 1];
	uint64_t count = builder->request.scenario->workload.run.repeat;

	if (!error_is_set(&pair->failure.error)) {
		pair->repeat_index = builder->repeated++;
		pair->repeat_count = count;
		if (builder->repeated < count) {
			return;
		}
	}
	builder->repeated = 0;
	builder->to_port++;
}

static void add_unreachable(struct plan *plan, const struct plan_node *node)
{
	struct plan_pair *pair = add_pair(plan, true);
	struct error *error = &pair->failure.error;

	if (node->unreachable == NULL || !error_is_set(node->unreachable)) {
		plan_pair_refuse(
			pair, ERROR_PEER, STAGE_DISCOVER, "connect", node->name, "",
			"node \"%s\" was not reached yet; check that rdmatestd runs there and its address in peers",
			node->name);
		return;
	}
	*error = *node->unreachable;
	error->stage = STAGE_DISCOVER;
	text_copy(pair->failure.node, sizeof(pair->failure.node), node->name);
	/* A session that ended before this run is no part of it: the node cannot be reached, unless
	 * it was put out for what it said. */
	if (error->class == ERROR_PEER &&
	    (error->call[0] == '\0' || strcmp(error->call, "session") == 0)) {
		bool is_wrong = error->kind == ERROR_KIND_ERRNO &&
				(error->number == EPROTO || error->number == EBADMSG);

		text_copy(error->call, sizeof(error->call), is_wrong ? "message" : "connect");
	}
}

static bool has_problem(const struct plan_node *node)
{
	return node->problem != NULL && node->problem[0] != '\0';
}

/* It has devices, and cannot use them: for want of a permission or of a resource, or for another
 * reason that it tells. */
static void refuse_unusable(struct plan_pair *pair, const struct plan_node *node,
			    const char *device)
{
	bool is_refused = node->problem_errno == EACCES || node->problem_errno == EPERM;
	bool is_short = node->problem_errno == EMFILE || node->problem_errno == ENFILE ||
			node->problem_errno == ENOMEM;

	plan_pair_refuse(pair, is_refused || is_short ? ERROR_RESOURCE : ERROR_DEVICE,
			 STAGE_DISCOVER, is_refused || is_short ? "ibv_open_device" : "device",
			 node->name, device, "node \"%s\" has no RDMA port to use: %s", node->name,
			 node->problem);
	if (is_refused || is_short) {
		error_number(&pair->failure.error, (int)node->problem_errno);
	}
}

/* It has ports, and none of that device. */
static void refuse_device(struct plan_pair *pair, const struct plan_node *node, const char *device)
{
	_cleanup_text_ struct text ports = TEXT_INIT;

	for (size_t i = 0; i < node->port_count && ports.length < 200; i++) {
		text_format(&ports, "%s%s port %" PRIu64, i ? ", " : "", node->ports[i].device,
			    node->ports[i].port_num);
	}
	plan_pair_refuse(
		pair, ERROR_DEVICE, STAGE_DISCOVER, "device", node->name, device,
		"node \"%s\" has no RDMA port on device %s (it has: %s); check qp.device, and "
		"daemon.devices there%s%s",
		node->name, device, ports.data, has_problem(node) ? "; besides: " : "",
		has_problem(node) ? node->problem : "");
}

static void add_portless(struct plan *plan, const struct plan_node *from,
			 const struct plan_node *to)
{
	const struct plan_node *nodes[] = { from, to };
	const struct scenario *scenario = plan->builder->request.scenario;
	const struct qp_settings *qp = &scenario->workload.qp;
	struct plan_pair *pair = add_pair(plan, true);

	for (size_t i = 0; i < 2; i++) {
		bool has = false;

		for (size_t j = 0; j < nodes[i]->port_count; j++) {
			has = has || port_is_wished(scenario, &nodes[i]->ports[j]);
		}
		if (!has && nodes[i]->port_count > 0) {
			refuse_device(pair, nodes[i], qp->device);
			return;
		}
		if (!has && has_problem(nodes[i])) {
			refuse_unusable(pair, nodes[i], qp->device);
			return;
		}
		if (!has) {
			plan_pair_refuse(
				pair, ERROR_DEVICE, STAGE_DISCOVER, "device", nodes[i]->name,
				qp->device,
				"node \"%s\" has no RDMA port%s%s; check the driver module, the cable and daemon.devices there",
				nodes[i]->name, qp->device[0] != '\0' ? " on device " : "",
				qp->device);
			return;
		}
	}
	plan_pair_refuse(
		pair, ERROR_INPUT, STAGE_DISCOVER, "device", from->name, qp->device,
		"nodes \"%s\" and \"%s\" have no rail in common; set daemon.devices[].rail alike on both",
		from->name, to->name);
}

/* --- which pairs there are --- */

static void match_node(struct plan_builder *builder)
{
	const struct scenario_peers *peers = &builder->request.scenario->peers;
	const struct plan_node *node = &builder->request.nodes[builder->matched];

	builder->is_from[builder->matched] =
		labels_selector_matches(&peers->from, node->name, node->labels);
	builder->is_to[builder->matched] =
		labels_selector_matches(&peers->to, node->name, node->labels);
	builder->matched++;
}

static bool is_pair(const struct plan_builder *builder, size_t from, size_t to)
{
	return from != to && builder->is_from[from] && builder->is_to[to];
}

/* An unordered pair that matches both ways is initiated by the smaller name. */
static bool is_initiated(const struct plan_builder *builder, size_t from, size_t to)
{
	const struct plan_node *nodes = builder->request.nodes;

	return is_pair(builder, from, to) &&
	       (builder->request.scenario->topology.is_directed || !is_pair(builder, to, from) ||
		strcmp(nodes[from].name, nodes[to].name) < 0);
}

static bool is_row_ours(const struct plan_builder *builder)
{
	const char *only = builder->request.only_initiator;

	return builder->is_from[builder->from] &&
	       (only == NULL || strcmp(only, builder->request.nodes[builder->from].name) == 0);
}

static void next_nodes(struct plan_builder *builder)
{
	builder->to++;
	builder->from_port = 0;
	builder->to_port = 0;
	builder->has_ports = false;
}

/* On to a pair of nodes, the present one included. False: there is none left. */
static bool seek_nodes(struct plan_builder *builder)
{
	for (; builder->from < builder->request.node_count; builder->from++) {
		while (is_row_ours(builder) && builder->to < builder->request.node_count) {
			if (is_initiated(builder, builder->from, builder->to)) {
				return true;
			}
			next_nodes(builder);
		}
		builder->to = 0;
	}
	return false;
}

/* On to ports of the present pair of nodes that go together. False: there are none left. */
static bool seek_ports(struct plan_builder *builder)
{
	const struct scenario *scenario = builder->request.scenario;
	const struct plan_node *from = &builder->request.nodes[builder->from];
	const struct plan_node *to = &builder->request.nodes[builder->to];

	for (; builder->from_port < from->port_count; builder->from_port++) {
		const struct port *a = &from->ports[builder->from_port];

		for (; builder->to_port < to->port_count; builder->to_port++) {
			const struct port *b = &to->ports[builder->to_port];

			if (a->rail == b->rail && port_is_wished(scenario, a) &&
			    port_is_wished(scenario, b)) {
				builder->has_ports = true;
				return true;
			}
		}
		builder->to_port = 0;
	}
	return false;
}

/* Ports multiply: every pair of them is one of the pairs that topology.max_pairs bounds. */
static int check_room(const struct plan *plan, struct error *err)
{
	const struct scenario *scenario = plan->builder->request.scenario;

	uint64_t repeat = scenario->workload.run.repeat;

	if (repeat > 1 && plan->count >= LIMIT_REPEATED) {
		return error_set(err, -E2BIG, ERROR_INPUT,
				 "scenario \"%s\": with run.repeat %" PRIu64
				 " it has more than %d measurements; repeat less often, or narrow "
				 "peers.from and peers.to",
				 scenario->name, repeat, LIMIT_REPEATED);
	}
	if (plan->count < LIMIT_PAIRS &&
	    plan->count / (repeat ? repeat : 1) < scenario->topology.max_pairs) {
		return 0;
	}
	return error_set(err, -E2BIG, ERROR_INPUT,
			 "scenario \"%s\": more than topology.max_pairs %" PRIu64
			 " pairs; narrow peers.from and peers.to, or raise it",
			 scenario->name, scenario->topology.max_pairs);
}

/* 1 and one pair more; 0: there is no other. */
static int add_next(struct plan *plan, struct error *err)
{
	struct plan_builder *builder = plan->builder;

	while (seek_nodes(builder)) {
		const struct plan_node *from = &builder->request.nodes[builder->from];
		const struct plan_node *to = &builder->request.nodes[builder->to];
		bool is_known = from->is_known && to->is_known;
		bool has_next = is_known && seek_ports(builder);

		if (is_known && !has_next && builder->has_ports) {
			next_nodes(builder);
			continue;
		}
		if (check_room(plan, err) < 0) {
			return -E2BIG;
		}
		if (has_next) {
			add_ports(plan, &from->ports[builder->from_port],
				  &to->ports[builder->to_port]);
			repeat_or_go_on(plan);
			return 1;
		}
		if (is_known) {
			add_portless(plan, from, to);
		} else {
			add_unreachable(plan, from->is_known ? to : from);
		}
		next_nodes(builder);
		return 1;
	}
	return 0;
}

static size_t count_true(const bool *list, const bool *other, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		found += list[i] && (other == NULL || other[i]);
	}
	return found;
}

/* Without going through them. */
static size_t count_node_pairs(const struct plan_builder *builder)
{
	size_t nodes = builder->request.node_count;
	size_t both = count_true(builder->is_from, builder->is_to, nodes);
	size_t pairs = count_true(builder->is_from, NULL, nodes) *
			       count_true(builder->is_to, NULL, nodes) -
		       both;

	if (!builder->request.scenario->topology.is_directed && both > 0) {
		pairs -= both * (both - 1) / 2;
	}
	return pairs;
}

static int complete(struct plan *plan, struct error *err)
{
	const struct plan_request *request = &plan->builder->request;
	size_t matched = count_node_pairs(plan->builder);

	if (plan->count == 0 && matched > 0) {
		return error_set(err, -ENOENT, ERROR_INPUT,
				 "scenario \"%s\": none of its %zu pairs is initiated by this node",
				 request->scenario->name, matched);
	}
	if (plan->count == 0) {
		return error_set(
			err, -ENOENT, ERROR_INPUT,
			"scenario \"%s\": peers.from and peers.to match no pair of the %zu known nodes; see `rdmatestctl peers`",
			request->scenario->name, request->node_count);
	}
	builder_free(take(plan->builder));
	return 0;
}

int plan_build(struct plan *plan, struct error *err)
{
	struct plan_builder *builder = plan->builder;

	for (unsigned i = 0; i < PLAN_PIECE; i++) {
		int r = 1;

		if (builder->matched < builder->request.node_count) {
			match_node(builder);
		} else {
			r = add_next(plan, err);
		}
		if (r <= 0) {
			return r < 0 ? r : complete(plan, err);
		}
	}
	return 1;
}

static bool matches(const struct scenario *scenario, const struct plan_node *from,
		    const struct plan_node *to)
{
	return labels_selector_matches(&scenario->peers.from, from->name, from->labels) &&
	       labels_selector_matches(&scenario->peers.to, to->name, to->labels);
}

bool plan_initiates(const struct scenario *scenario, const char *node, const struct labels *labels,
		    const char *other, const struct labels *other_labels)
{
	struct plan_node from = { .name = node, .labels = labels };
	struct plan_node to = { .name = other, .labels = other_labels };

	return strcmp(node, other) != 0 && matches(scenario, &from, &to) &&
	       (scenario->topology.is_directed || !matches(scenario, &to, &from) ||
		strcmp(node, other) < 0);
}
