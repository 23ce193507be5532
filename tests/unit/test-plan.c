// SPDX-License-Identifier: MIT
#include "run/plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"
#include "util/text.h"

#define NODES 5

struct world {
	struct scenario scenario;
	struct labels labels[NODES];
	struct inventory inventories[NODES];
	char names[NODES][LIMIT_NAME];
	struct plan_node nodes[NODES];
	struct plan_request request;
};

static void add_port(struct inventory *inventory, const char *device, unsigned address,
		     uint64_t rail)
{
	struct port *port = &inventory->ports[inventory->port_count++];

	text_copy(port->device, sizeof(port->device), device);
	port->port_num = 1;
	port->rail = rail;
	port->state = PORT_STATE_ACTIVE;
	port->link_layer = LINK_LAYER_ETHERNET;
	port->active_mtu_bytes = 4096;
	port->max_mtu_bytes = 4096;
	port->link_rate_bps = 100000000000ull;
	port->configured_gid_index = SCHEMA_AUTO;
	port->numa_node = SCHEMA_AUTO;
	port->limits = (struct device_limits){
		.max_qp = 1000,
		.max_qp_wr = 4096,
		.max_sge = 4,
		.max_cqe = 65536,
		.max_mr_bytes = UINT32_MAX,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 8,
		.max_msg_bytes = 1u << 30,
	};
	port->gid_count = 1;
	port->gids[0].index = 3;
	port->gids[0].type = GID_TYPE_ROCE_V2;
	snprintf(port->gids[0].gid, sizeof(port->gids[0].gid), "::ffff:10.0.0.%u", address);
}

static struct world *new_world(size_t nodes)
{
	struct world *world = memory_new(sizeof(*world));

	schema_defaults(scenario_fields, &world->scenario);
	text_copy(world->scenario.name, sizeof(world->scenario.name), "probe");
	world->scenario.workload.workload.op_count = 1;
	world->scenario.workload.workload.ops[0] = (struct operation){
		.kind = OPERATION_WRITE,
		.weight = 1,
		.size_count = 1,
		.sizes = { { .size_bytes = 64, .weight = 1 } },
	};
	for (size_t i = 0; i < nodes; i++) {
		snprintf(world->names[i], sizeof(world->names[i]), "node%zu", i + 1);
		add_port(&world->inventories[i], "fake0", (unsigned)i + 1, 0);
		world->nodes[i] = (struct plan_node){
			.name = world->names[i],
			.labels = &world->labels[i],
			.is_known = true,
			.port_count = 1,
			.ports = world->inventories[i].ports,
		};
	}
	world->request = (struct plan_request){
		.scenario = &world->scenario,
		.nodes = world->nodes,
		.node_count = nodes,
		.run_id = "01J8Z3R6AAAAAAAAAAAAAAAAAA",
		.coordinator = "node1",
	};
	return world;
}

static void add_port_to(struct world *world, size_t node, const char *device, unsigned address,
			uint64_t rail)
{
	add_port(&world->inventories[node], device, address, rail);
	world->nodes[node].port_count++;
}

/* To the end; the pieces it took, each of them bounded. */
static int build_whole(struct world *world, struct plan **ret, size_t *ret_pieces,
		       struct error *err)
{
	struct plan *plan = plan_new(&world->request);
	int r = 1;

	for (*ret_pieces = 0; r > 0; ++*ret_pieces) {
		size_t before = plan->count;

		r = plan_build(plan, err);
		assert_true(plan->count - before <= PLAN_PIECE);
	}
	if (r < 0) {
		plan_free(plan);
		return r;
	}
	*ret = plan;
	return 0;
}

static struct plan *build(struct world *world)
{
	struct plan *plan = NULL;
	struct error err = ERROR_INIT;
	size_t pieces;

	if (build_whole(world, &plan, &pieces, &err) < 0) {
		fail_msg("%s", err.text);
	}
	return plan;
}

static int try_build(struct world *world, struct plan **ret, struct error *err)
{
	size_t pieces;

	return build_whole(world, ret, &pieces, err);
}

static void each_unordered_pair_comes_once_from_the_smaller_name(void **state)
{
	struct world *world = new_world(4);
	struct plan *plan = build(world);

	assert_int_equal(plan->count, 6);
	for (size_t i = 0; i < plan->count; i++) {
		const struct assignment *assignment = &plan->pairs[i]->assignment;

		assert_true(strcmp(assignment->initiator.node, assignment->responder.node) < 0);
		assert_int_equal(assignment->pair, i);
		assert_false(error_is_set(&plan->pairs[i]->failure.error));
	}
	plan_free(plan);
	free(world);
}

static void a_directed_scenario_has_both_ways(void **state)
{
	struct world *world = new_world(3);
	struct plan *plan;

	world->scenario.topology.is_directed = true;
	plan = build(world);
	assert_int_equal(plan->count, 6);
	plan_free(plan);
	free(world);
}

static void in_reverse_the_other_end_of_each_pair_requests(void **state)
{
	struct world *world = new_world(3);
	const struct assignment *assignment;
	struct plan *plan;

	(void)state;
	world->scenario.workload.workload.direction = DIRECTION_REVERSE;
	/* Of a scheduled run the node begins its own pairs, as it does forward. */
	world->request.only_initiator = "node1";
	plan = build(world);
	assert_int_equal(plan->count, 2);
	for (size_t i = 0; i < plan->count; i++) {
		assignment = &plan->pairs[i]->assignment;
		assert_string_equal(assignment->responder.node, "node1");
		assert_string_equal(assignment->initiator.node, world->names[i + 1]);
		assert_int_equal(plan->briefs[i].initiator, i + 1);
		assert_int_equal(plan->briefs[i].responder, 0);
		assert_string_equal(plan->pairs[i]->initiator_port.gids[0].gid,
				    world->inventories[i + 1].ports[0].gids[0].gid);
		/* Swapped once: nobody swaps again. */
		assert_int_equal(assignment->workload.workload.direction, DIRECTION_FORWARD);
	}
	plan_free(plan);
	free(world);
}

/* Each pair is there once, and says itself that both post. */
static void both_is_decided_by_no_planner(void **state)
{
	struct world *world = new_world(2);
	struct plan *plan;

	(void)state;
	world->scenario.workload.workload.direction = DIRECTION_BOTH;
	plan = build(world);
	assert_int_equal(plan->count, 1);
	assert_int_equal(plan->pairs[0]->assignment.workload.workload.direction, DIRECTION_BOTH);
	assert_string_equal(plan->pairs[0]->assignment.initiator.node, "node1");
	plan_free(plan);
	free(world);
}

static void selectors_that_differ_keep_the_larger_name_as_initiator(void **state)
{
	struct world *world = new_world(2);
	struct plan *plan;

	world->scenario.peers = (struct scenario_peers){ 0 };
	assert_null(labels_selector_parse("name=node2", &world->scenario.peers.from));
	assert_null(labels_selector_parse("name=node1", &world->scenario.peers.to));
	plan = build(world);
	assert_int_equal(plan->count, 1);
	assert_string_equal(plan->pairs[0]->assignment.initiator.node, "node2");
	assert_true(plan_initiates(&world->scenario, "node2", NULL, "node1", NULL));
	assert_false(plan_initiates(&world->scenario, "node1", NULL, "node2", NULL));
	plan_free(plan);
	free(world);
}

static void every_auto_is_resolved_from_both_ends(void **state)
{
	struct world *world = new_world(2);
	struct plan *plan;
	const struct assignment *assignment;

	world->inventories[1].ports[0].active_mtu_bytes = 1024;
	plan = build(world);
	assignment = &plan->pairs[0]->assignment;
	assert_int_equal(assignment->workload.qp.path_mtu, 1024);
	assert_int_equal(assignment->workload.qp.max_rd_atomic, 8);
	assert_int_equal(assignment->initiator.gid_index, 3);
	assert_int_equal(assignment->responder.gid_index, 3);
	assert_true(assignment->seed != 0);
	plan_free(plan);
	free(world);
}

static void the_same_input_gives_the_same_plan(void **state)
{
	struct world *world = new_world(5);
	struct plan *a = build(world);
	struct plan *b = build(world);

	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_memory_equal(a->pairs[i], b->pairs[i], sizeof(*a->pairs[i]));
	}
	plan_free(a);
	plan_free(b);
	free(world);
}

static void refused(struct world *world, enum error_class class, const char *call, const char *text)
{
	struct plan *plan = build(world);
	const struct error *err = &plan->pairs[0]->failure.error;

	assert_int_equal(plan->count, 1);
	assert_int_equal(err->class, class);
	assert_string_equal(err->call, call);
	if (strstr(err->text, text) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", err->text, text);
	}
	plan_free(plan);
}

static void a_node_without_a_port_says_why_as_far_as_it_is_known(void **state)
{
	struct world *world = new_world(2);

	world->nodes[1].port_count = 0;
	refused(world, ERROR_DEVICE, "device", "node \"node2\" has no RDMA port; check");
	world->nodes[1].problem = "daemon.devices names \"mlx5_0\", which is not there";
	refused(world, ERROR_DEVICE, "device", "to use: daemon.devices names \"mlx5_0\"");
	world->nodes[1].problem = "its node is refused";
	world->nodes[1].problem_errno = EMFILE;
	refused(world, ERROR_RESOURCE, "ibv_open_device", "to use: its node is refused");
	world->nodes[1].problem_errno = EACCES;
	refused(world, ERROR_RESOURCE, "ibv_open_device", "to use: its node is refused");
	/* One of another device does not stand for this one. */
	world->nodes[1].port_count = 1;
	text_copy(world->scenario.workload.qp.device, LIMIT_NAME, "fake9");
	world->nodes[0].ports = memory_new(sizeof(struct port));
	*(struct port *)world->nodes[0].ports = world->inventories[0].ports[0];
	text_copy(((struct port *)world->nodes[0].ports)->device, LIMIT_NAME, "fake9");
	refused(world, ERROR_DEVICE, "device",
		"no RDMA port on device fake9 (it has: fake0 port 1); check qp.device, and "
		"daemon.devices there; besides: its node is refused");
	free((struct port *)world->nodes[0].ports);
	free(world);
}

static void a_peer_that_was_never_seen_is_a_pair_that_says_so(void **state)
{
	struct world *world = new_world(2);

	world->nodes[1].is_known = false;
	refused(world, ERROR_PEER, "connect", "node2");
	free(world);
}

static void the_reason_why_a_peer_is_away_is_kept(void **state)
{
	struct world *world = new_world(2);
	struct error why = ERROR_INIT;

	error_set(&why, -EKEYREJECTED, ERROR_PEER, "the key differs");
	text_copy(why.call, sizeof(why.call), "tls");
	world->nodes[1].is_known = false;
	world->nodes[1].unreachable = &why;
	refused(world, ERROR_PEER, "tls", "the key differs");
	free(world);
}

static void device_limits_name_the_value_and_the_limit(void **state)
{
	struct world *world = new_world(2);

	world->scenario.workload.qp.max_send_wr = 5000;
	refused(world, ERROR_INPUT, "limit",
		"qp.max_send_wr: 5000 is above max_qp_wr 4096 of node1/fake0");
	world->inventories[0].ports[0].limits.max_qp_wr = 8192;
	refused(world, ERROR_INPUT, "limit", "of node2/fake0");
	free(world);
}

static void an_mtu_above_the_ports_is_refused(void **state)
{
	struct world *world = new_world(2);

	world->scenario.workload.qp.path_mtu = 4096;
	world->inventories[1].ports[0].active_mtu_bytes = 1024;
	refused(world, ERROR_INPUT, "limit", "active MTU 1024 of node2/fake0");
	free(world);
}

static void C33_an_rd_atomic_depth_above_both_is_refused(void **state)
{
	struct world *world = new_world(2);

	world->scenario.workload.qp.max_rd_atomic = 9;
	refused(world, ERROR_INPUT, "limit", "max_qp_init_rd_atom 8");
	free(world);
}

static void a_port_that_is_down_is_a_device_failure(void **state)
{
	struct world *world = new_world(2);

	world->inventories[1].ports[0].state = PORT_STATE_DOWN;
	refused(world, ERROR_DEVICE, "device", "node2/fake0");
	free(world);
}

static void a_device_that_one_end_lacks_is_named(void **state)
{
	struct world *world = new_world(2);

	text_copy(world->scenario.workload.qp.device, LIMIT_NAME, "mlx5_7");
	refused(world, ERROR_DEVICE, "device", "mlx5_7");
	free(world);
}

static void ports_are_paired_by_rail(void **state)
{
	struct world *world = new_world(2);
	struct plan *plan;

	add_port_to(world, 0, "fake1", 11, 1);
	add_port_to(world, 1, "fake1", 12, 1);
	plan = build(world);
	assert_int_equal(plan->count, 2);
	assert_string_equal(plan->pairs[0]->assignment.initiator.device, "fake0");
	assert_string_equal(plan->pairs[1]->assignment.responder.device, "fake1");
	plan_free(plan);
	free(world);
}

static void ports_that_multiply_are_bounded_too(void **state)
{
	struct world *world = new_world(2);
	struct plan *plan = NULL;
	struct error err = ERROR_INIT;

	add_port_to(world, 0, "mlx5_1", 11, 0);
	add_port_to(world, 1, "mlx5_1", 12, 0);
	world->scenario.topology.max_pairs = 3;
	assert_int_equal(try_build(world, &plan, &err), -E2BIG);
	assert_non_null(strstr(err.text, "topology.max_pairs 3"));
	assert_null(plan);
	world->scenario.topology.max_pairs = 4;
	assert_int_equal(try_build(world, &plan, &err), 0);
	assert_int_equal(plan->count, 4);
	plan_free(plan);
	free(world);
}

static void each_pair_of_ports_is_planned_as_often_as_it_is_repeated(void **state)
{
	struct world *world = new_world(3);
	struct plan *plan = NULL;
	struct error err = ERROR_INIT;

	(void)state;
	world->scenario.workload.run.repeat = 4;
	world->scenario.topology.max_pairs = 3;
	assert_int_equal(try_build(world, &plan, &err), 0);
	assert_int_equal(plan->count, 12);
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(plan->pairs[i]->assignment.pair, i);
		assert_int_equal(plan->pairs[i]->repeat_index, i % 4);
		assert_int_equal(plan->pairs[i]->repeat_count, 4);
		assert_string_equal(plan->pairs[i]->assignment.initiator.node,
				    plan->pairs[i - i % 4]->assignment.initiator.node);
		assert_string_equal(plan->pairs[i]->assignment.responder.node,
				    plan->pairs[i - i % 4]->assignment.responder.node);
		/* Each draws its own order. */
		assert_true(i == 0 ||
			    plan->pairs[i]->assignment.seed != plan->pairs[0]->assignment.seed);
	}
	plan_free(plan);
	world->scenario.topology.max_pairs = 2;
	assert_int_equal(try_build(world, &plan, &err), -E2BIG);
	assert_non_null(strstr(err.text, "topology.max_pairs 2"));
	err = ERROR_INIT;
	world->scenario.topology.max_pairs = 4096;
	world->scenario.workload.run.repeat = 400;
	assert_int_equal(try_build(world, &plan, &err), -E2BIG);
	assert_non_null(strstr(err.text, "run.repeat 400"));
	free(world);
}

static void no_pair_and_too_many_pairs_are_refused_whole(void **state)
{
	struct world *world = new_world(4);
	struct plan *plan = NULL;
	struct error err = ERROR_INIT;

	world->scenario.topology.max_pairs = 5;
	assert_int_equal(try_build(world, &plan, &err), -E2BIG);
	assert_non_null(strstr(err.text, "topology.max_pairs 5"));
	assert_null(plan);

	err = ERROR_INIT;
	world->request.node_count = 1;
	assert_int_equal(try_build(world, &plan, &err), -ENOENT);
	assert_non_null(strstr(err.text, "match no pair"));

	err = ERROR_INIT;
	world->scenario.topology.max_pairs = 100;
	world->request.node_count = 2;
	world->request.only_initiator = "node2";
	assert_int_equal(try_build(world, &plan, &err), -ENOENT);
	assert_non_null(strstr(err.text, "initiated by this node"));
	free(world);
}

/* The loop goes on meanwhile: no call looks at more than a piece of the nodes or pairs. */
static void a_large_mesh_is_planned_in_pieces(void **state)
{
	enum { COUNT = 1000, PAIRS = 4096 };
	struct world *world = new_world(1);
	struct plan_node *nodes = memory_new_array(COUNT, sizeof(*nodes));
	char(*names)[LIMIT_NAME] = memory_new_array(COUNT, sizeof(*names));
	struct plan *plan = NULL;
	struct error err = ERROR_INIT;
	size_t pieces;

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "node%04zu", i);
		nodes[i] = (struct plan_node){ .name = names[i], .labels = &world->labels[0] };
	}
	world->request.nodes = nodes;
	world->request.node_count = COUNT;
	world->scenario.topology.max_pairs = PAIRS;
	assert_int_equal(build_whole(world, &plan, &pieces, &err), -E2BIG);
	assert_true(pieces > (COUNT + PAIRS) / PLAN_PIECE);

	world->scenario.peers = (struct scenario_peers){ 0 };
	assert_null(labels_selector_parse("name=node0007", &world->scenario.peers.from));
	assert_int_equal(build_whole(world, &plan, &pieces, &err), 0);
	assert_int_equal(plan->count, COUNT - 1);
	assert_true(pieces >= (2 * COUNT - 1) / PLAN_PIECE);
	for (size_t i = 0; i < plan->count; i++) {
		assert_true(plan->briefs[i].is_refused);
		assert_int_equal(plan->briefs[i].initiator, 7);
		assert_string_equal(names[plan->briefs[i].responder],
				    plan->pairs[i]->assignment.responder.node);
	}
	plan_free(plan);
	free(names);
	free(nodes);
	free(world);
}

/* A peer whose session ended before the run is not one that went away during it. */
static void a_session_that_ended_before_the_run_is_a_node_that_cannot_be_reached(void **state)
{
	struct world *world = new_world(2);
	struct error why = ERROR_INIT;

	error_set(&why, -ECONNRESET, ERROR_PEER, "node2 closed the session: it is stopping");
	text_copy(why.call, sizeof(why.call), "session");
	world->nodes[1].is_known = false;
	world->nodes[1].unreachable = &why;
	refused(world, ERROR_PEER, "connect", "it is stopping");
	why.call[0] = '\0';
	refused(world, ERROR_PEER, "connect", "it is stopping");
	/* One that was put out for what it said is not away. */
	why = ERROR_INIT;
	error_set(&why, -EPROTO, ERROR_PEER, "node2 sent a second hello");
	error_number(&why, EPROTO);
	text_copy(why.call, sizeof(why.call), "session");
	refused(world, ERROR_PEER, "message", "second hello");
	free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unordered_pair_comes_once_from_the_smaller_name),
		cmocka_unit_test(a_directed_scenario_has_both_ways),
		cmocka_unit_test(in_reverse_the_other_end_of_each_pair_requests),
		cmocka_unit_test(both_is_decided_by_no_planner),
		cmocka_unit_test(selectors_that_differ_keep_the_larger_name_as_initiator),
		cmocka_unit_test(every_auto_is_resolved_from_both_ends),
		cmocka_unit_test(the_same_input_gives_the_same_plan),
		cmocka_unit_test(a_node_without_a_port_says_why_as_far_as_it_is_known),
		cmocka_unit_test(a_peer_that_was_never_seen_is_a_pair_that_says_so),
		cmocka_unit_test(the_reason_why_a_peer_is_away_is_kept),
		cmocka_unit_test(device_limits_name_the_value_and_the_limit),
		cmocka_unit_test(an_mtu_above_the_ports_is_refused),
		cmocka_unit_test(C33_an_rd_atomic_depth_above_both_is_refused),
		cmocka_unit_test(a_port_that_is_down_is_a_device_failure),
		cmocka_unit_test(a_device_that_one_end_lacks_is_named),
		cmocka_unit_test(ports_are_paired_by_rail),
		cmocka_unit_test(ports_that_multiply_are_bounded_too),
		cmocka_unit_test(each_pair_of_ports_is_planned_as_often_as_it_is_repeated),
		cmocka_unit_test(no_pair_and_too_many_pairs_are_refused_whole),
		cmocka_unit_test(a_large_mesh_is_planned_in_pieces),
		cmocka_unit_test(
			a_session_that_ended_before_the_run_is_a_node_that_cannot_be_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
