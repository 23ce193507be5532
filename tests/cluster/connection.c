// SPDX-License-Identifier: MIT

/* Queue pairs that are connected by rdma_cm: what goes well, and each way in which it does not. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "run/history.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: writes\n"
	"    disruptive: true\n"
	"    qp: { cm: rdma_cm, num_qps: 3, local_ack_timeout: 16 }\n"
	"    workload: { pattern: stream, load: { outstanding: 12 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 300 }\n"
	"    expect: [errors == 0]\n"
	"  - name: mix\n"
	"    disruptive: true\n"
	"    qp: { cm: rdma_cm, num_qps: 2 }\n"
	"    workload:\n"
	"      pattern: stream\n"
	"      load: { outstanding: 8 }\n"
	"      ops: [{ op: read, size: 8KiB }, { op: send, size: 256B }, { op: atomic_fetch_and_add, size: 8B }]\n"
	"    run: { warmup: 0s, iterations: 300 }\n"
	"    expect: [errors == 0]\n"
	"  - name: pong\n"
	"    qp: { cm: rdma_cm }\n"
	"    workload: { pattern: pingpong, ops: [{ op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: datagrams\n"
	"    disruptive: true\n"
	"    qp: { cm: rdma_cm, qp_type: UD, num_qps: 2, max_recv_wr: 512 }\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 1KiB }] }\n"
	"    run: { warmup: 0s, iterations: 200 }\n"
	"    expect: [errors == 0]\n"
	"  - name: many\n"
	"    disruptive: true\n"
	"    qp: { cm: rdma_cm, num_qps: 200, max_send_wr: 4 }\n"
	"    workload: { pattern: stream, load: { outstanding: 200 }, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 400 }\n"
	"    expect: [errors == 0]\n"
	"  - name: rounds\n"
	"    qp: { cm: rdma_cm, num_qps: 4 }\n"
	"    workload: { pattern: connect }\n"
	"    run: { warmup: 100ms, iterations: 200 }\n"
	"    expect: [errors == 0, latency.p50 <= 100ms, connect.latency.p90 <= 10ms, ops_rate.mean >= 10/s]\n"
	"  - name: back\n"
	"    qp: { cm: rdma_cm, num_qps: 2 }\n"
	"    workload: { pattern: connect, direction: reverse }\n"
	"    run: { warmup: 100ms, duration: 300ms }\n"
	"    expect: [errors == 0]\n"
	"  - name: endless\n"
	"    qp: { cm: rdma_cm, num_qps: 4 }\n"
	"    workload: { pattern: connect }\n"
	"    run: { warmup: 0s, duration: 12s }\n"
	"    expect: [errors == 0]\n";

static struct fabric *fabric_of(struct cluster *cluster)
{
	return world_fabric(cluster_world(cluster));
}

static struct cluster *start_pair(void)
{
	struct cluster *cluster = cluster_new_pair(17, scenarios);

	cluster_start_all(cluster);
	return cluster;
}

static const struct run *run_once(struct cluster *cluster, const char *scenario)
{
	return cluster_wait_run(cluster, 0, cluster_run(cluster, 0, scenario));
}

static const struct step *find_step(const struct participant *end, const char *name)
{
	for (size_t i = 0; i < end->steps.count; i++) {
		if (strcmp(end->steps.items[i].name, name) == 0) {
			return &end->steps.items[i];
		}
	}
	return NULL;
}

static void expect_steps(const struct participant *end, const char *const *names, uint64_t count)
{
	for (size_t i = 0; names[i] != NULL; i++) {
		if (find_step(end, names[i]) == NULL) {
			fail_msg("%s has no step %s", end->endpoint.node, names[i]);
		}
		assert_int_equal(find_step(end, names[i])->count, count);
	}
}

static void every_pattern_passes_and_the_record_has_each_phase(void **state)
{
	static const char *const active[] = { "resolve_addr", "resolve_route", "connect",
					      "established",  "disconnect",    NULL };
	static const char *const passive[] = { "accept", "established", "disconnect", NULL };
	struct cluster *cluster = start_pair();
	const struct run *run;
	const struct measurement *m;

	cluster_expect_pass(cluster, 0, "mix");
	cluster_expect_pass(cluster, 1, "pong");
	cluster_expect_pass(cluster, 0, "many");
	cluster_expect_pass(cluster, 0, "datagrams");
	run = run_once(cluster, "writes");
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	m = run->measurements[0];
	expect_steps(&m->initiator, active, 3);
	expect_steps(&m->responder, passive, 3);
	/* Half a millisecond each way. */
	assert_in_range(find_step(&m->initiator, "connect")->max_ns, SECOND_NS / 1000,
			SECOND_NS / 100);
	assert_in_range(find_step(&m->responder, "established")->max_ns, SECOND_NS / 1000,
			SECOND_NS / 100);
	assert_int_equal(m->initiator.totals.operations, 300);
	cluster_free(cluster);
}

/* Then everything is as before, and the same run passes. */
static void expect_well_again(struct cluster *cluster)
{
	fabric_set_cm(fabric_of(cluster), cluster_device(cluster, 0), NULL);
	fabric_set_cm(fabric_of(cluster), cluster_device(cluster, 1), NULL);
	cluster_expect_pass(cluster, 0, "writes");
	cluster_free(cluster);
}

/* At the initiator (0) or the responder (1). */
static struct cluster *start_with(size_t index, enum fabric_cm_fate fate, int status)
{
	struct cluster *cluster = start_pair();

	fabric_set_cm(fabric_of(cluster), cluster_device(cluster, index),
		      &(struct fabric_cm_fault){ .fate = fate, .status = status });
	return cluster;
}

static void C37_a_rejection_is_told_with_its_reason(void **state)
{
	struct cluster *cluster = start_with(1, FABRIC_CM_REJECTS, 8);
	const struct run *run = run_once(cluster, "writes");
	const struct failure *failure = &run->measurements[0]->first_error;
	char *record;

	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_CONNECT, "rdma_connect",
		       "RDT-0160");
	assert_int_equal(failure->error.kind, ERROR_KIND_CM_REJECT);
	assert_int_equal(failure->error.number, 8);
	assert_string_equal(failure->node, "node01");
	record = cluster_record(run);
	assert_non_null(strstr(record, "\"status_name\": \"IB_CM_REJ_INVALID_SERVICE_ID\""));
	free(record);
	expect_well_again(cluster);
}

static void a_rejection_for_the_path_is_somebodys_to_set_right(void **state)
{
	struct cluster *cluster = start_with(1, FABRIC_CM_REJECTS, 26);

	cluster_expect(run_once(cluster, "writes"), VERDICT_ERROR, ERROR_DEVICE, STAGE_CONNECT,
		       "rdma_connect", "RDT-0160");
	expect_well_again(cluster);
}

static void C39_an_end_that_does_not_answer_fails_the_run_within_its_deadline(void **state)
{
	struct cluster *cluster = start_with(1, FABRIC_CM_SILENT, 0);
	uint64_t begun_ns = fabric_now_ns();

	cluster_expect(run_once(cluster, "writes"), VERDICT_FAIL, ERROR_DEVICE, STAGE_CONNECT,
		       "rdma_connect", "RDT-0161");
	assert_true(fabric_now_ns() - begun_ns < 12 * SECOND_NS);
	expect_well_again(cluster);
}

static void a_connection_manager_that_gives_up_fails_the_run(void **state)
{
	struct cluster *cluster = start_with(0, FABRIC_CM_UNREACHABLE, -ETIMEDOUT);

	cluster_expect(run_once(cluster, "writes"), VERDICT_FAIL, ERROR_DEVICE, STAGE_CONNECT,
		       "rdma_connect", "RDT-0161");
	expect_well_again(cluster);
}

static void C35_an_address_without_a_device_is_an_error_of_the_path(void **state)
{
	struct cluster *cluster = start_with(0, FABRIC_CM_NO_ADDRESS, -ENODEV);

	cluster_expect(run_once(cluster, "writes"), VERDICT_ERROR, ERROR_DEVICE, STAGE_RESOLVE,
		       "rdma_resolve_addr", "RDT-0112");
	expect_well_again(cluster);
}

static void C36_a_route_that_is_not_resolved_fails_the_run(void **state)
{
	struct cluster *cluster = start_with(0, FABRIC_CM_NO_ROUTE, -ETIMEDOUT);

	cluster_expect(run_once(cluster, "writes"), VERDICT_FAIL, ERROR_DEVICE, STAGE_RESOLVE,
		       "rdma_resolve_route", "RDT-0112");
	expect_well_again(cluster);
}

static void C18_C20_another_device_or_none_is_refused(void **state)
{
	static const enum fabric_cm_fate fates[] = { FABRIC_CM_OTHER_DEVICE, FABRIC_CM_NO_DEVICE };

	for (size_t i = 0; i < 2; i++) {
		struct cluster *cluster = start_with(0, fates[i], 0);

		cluster_expect(run_once(cluster, "writes"), VERDICT_ERROR, ERROR_DEVICE,
			       STAGE_RESOLVE, "rdma_resolve_addr", "RDT-0112");
		expect_well_again(cluster);
	}
}

static void a_daemon_that_may_not_use_the_connection_manager_says_so(void **state)
{
	struct cluster *cluster = start_pair();

	fabric_set_cm_channel(fabric_of(cluster), EACCES, 0);
	cluster_expect(run_once(cluster, "writes"), VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE,
		       "rdma_create_event_channel", "RDT-0136");
	fabric_set_cm_channel(fabric_of(cluster), 0, 0);
	expect_well_again(cluster);
}

/* A run whose connections hang, until something happens. */
static struct cluster *start_connecting(char id[32])
{
	struct cluster *cluster = start_with(1, FABRIC_CM_SILENT, 0);

	text_copy(id, 32, cluster_run(cluster, 0, "writes"));
	cluster_wait_phase(cluster, 0, id, "connecting");
	world_run(cluster_world(cluster), SECOND_NS);
	return cluster;
}

/* In the midst of it; then the next run passes. Frees the cluster. */
static void kill_responder(struct cluster *cluster, const char *id, enum error_stage stage)
{
	cluster_kill(cluster, 1);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_INCONCLUSIVE, ERROR_PEER, stage,
		       "session", "RDT-0101");
	cluster_restart(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_well_again(cluster);
}

static void cancel(struct cluster *cluster, const char *id)
{
	struct node *before = world_enter(cluster_node(cluster, 0));

	assert_int_equal(coordinator_cancel(daemon_parts(cluster_daemon(cluster, 0))->coordinator,
					    id, "not wanted"),
			 0);
	world_enter(before);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_INCONCLUSIVE, ERROR_INPUT,
		       STAGE_RUN, "abort", "RDT-0116");
	expect_well_again(cluster);
}

static void kill_of_the_responder_while_connections_are_made_is_a_lost_daemon(void **state)
{
	char id[32];
	struct cluster *cluster = start_connecting(id);

	kill_responder(cluster, id, STAGE_CONNECT);
}

static void a_run_that_is_stopped_while_it_connects_leaves_nothing(void **state)
{
	char id[32];
	struct cluster *cluster = start_connecting(id);

	cancel(cluster, id);
}

static void a_daemon_that_stops_while_it_connects_leaves_nothing(void **state)
{
	char id[32];
	struct cluster *cluster = start_connecting(id);

	cluster_stop(cluster, 0);
	(void)cluster_wait_run(cluster, 0, id);
	cluster_wait_stopped(cluster, 0);
	cluster_start(cluster, 0);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_well_again(cluster);
}

static void a_device_that_goes_while_it_connects_is_let_go_by_the_connection_manager(void **state)
{
	char id[32];
	struct cluster *cluster = start_connecting(id);

	/* Another one stays: librdmacm looks at its list only if there is one. */
	fabric_add_device(fabric_of(cluster),
			  &(struct fabric_device_config){
				  .name = "spare", .host = "node01", .address = "10.9.9.9" });
	cluster_set_device(cluster, 0, false);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_ERROR, ERROR_DEVICE, STAGE_CONNECT,
		       "device", "RDT-0106");
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	assert_int_equal(fabric_stale_contexts(fabric_of(cluster)), 0);
	fabric_remove_device(fabric_of(cluster), "spare");
	cluster_set_device(cluster, 0, true);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	expect_well_again(cluster);
}

static void a_device_that_goes_long_after_its_last_run_is_let_go_too(void **state)
{
	struct cluster *cluster = start_pair();

	cluster_expect_pass(cluster, 0, "pong");
	/* Our own context is closed after ten seconds. */
	world_run(cluster_world(cluster), 20 * SECOND_NS);
	fabric_add_device(fabric_of(cluster),
			  &(struct fabric_device_config){
				  .name = "spare", .host = "node01", .address = "10.9.9.9" });
	cluster_set_device(cluster, 0, false);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	assert_int_equal(fabric_stale_contexts(fabric_of(cluster)), 0);
	cluster_free(cluster);
}

static void a_hundred_runs_leave_nothing_behind(void **state)
{
	struct cluster *cluster = start_pair();
	unsigned objects;

	cluster_expect_pass(cluster, 0, "writes");
	objects = fabric_objects(fabric_of(cluster));
	for (int i = 0; i < 100; i++) {
		cluster_expect_pass(cluster, i % 2, "pong");
		assert_in_range(fabric_objects(fabric_of(cluster)), 0, objects);
	}
	cluster_free(cluster);
}

static void rounds_of_connections_are_timed_by_phase(void **state)
{
	struct cluster *cluster = start_pair();
	const struct run *run = run_once(cluster, "rounds");
	const struct measurement *m = run->measurements[0];
	unsigned objects = fabric_objects(fabric_of(cluster));

	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_int_equal(m->initiator.totals.operations, 200);
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		const struct connections *ends[] = { m->initiator.totals.connections,
						     m->responder.totals.connections };

		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(ends[i]->phases[phase].failed, 0);
			assert_int_equal(ends[i]->phases[phase].latency.count > 0,
					 connections_has_phase(i == 0, phase));
		}
	}
	/* Half a millisecond each way. */
	assert_in_range(m->initiator.totals.connections->phases[CONNECTION_CONNECT].latency.min_ns,
			SECOND_NS / 1000, SECOND_NS / 500);
	for (int i = 0; i < 10; i++) {
		cluster_expect_pass(cluster, i % 2, "rounds");
		cluster_expect_pass(cluster, i % 2, "back");
		assert_in_range(fabric_objects(fabric_of(cluster)), 0, objects);
	}
	cluster_free(cluster);
}

/* Connections come and go, until something happens. */
static struct cluster *start_rounds(char id[32])
{
	struct cluster *cluster = start_pair();

	text_copy(id, 32, cluster_run(cluster, 0, "endless"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	world_run(cluster_world(cluster), SECOND_NS / 2);
	return cluster;
}

static const struct connections *expect_failed_in(const struct run *run, int phase)
{
	const struct participant *initiator = &run->measurements[0]->initiator;
	const struct connections *connections = initiator->totals.connections;

	assert_non_null(connections);
	assert_true(connections->phases[CONNECTION_SETUP].latency.count > 100);
	for (int i = 0; i < CONNECTION_PHASES; i++) {
		assert_int_equal(connections->phases[i].failed > 0, i == phase);
	}
	return connections;
}

static void C37_a_rejection_among_many_connections_ends_them_with_its_reason(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);
	const struct run *run;

	fabric_set_cm(
		fabric_of(cluster), cluster_device(cluster, 1),
		&(struct fabric_cm_fault){ .fate = FABRIC_CM_REJECTS, .status = 26, .count = 1 });
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "rdma_connect", "RDT-0160");
	assert_int_equal(run->measurements[0]->first_error.error.number, 26);
	expect_failed_in(run, CONNECTION_CONNECT);
	expect_well_again(cluster);
}

static void C25_C42_a_full_queue_and_a_stale_number_are_tried_again(void **state)
{
	static const int passing[] = { 10, 28 };

	for (size_t i = 0; i < 2; i++) {
		char id[32];
		struct cluster *cluster = start_rounds(id);
		const struct run *run;

		fabric_set_cm(fabric_of(cluster), cluster_device(cluster, 1),
			      &(struct fabric_cm_fault){ .fate = FABRIC_CM_REJECTS,
							 .status = passing[i],
							 .count = 5 });
		run = cluster_wait_run(cluster, 0, id);
		cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
		assert_int_equal(run->measurements[0]->initiator.totals.connections->retried, 5);
		cluster_free(cluster);
	}
}

static void C39_one_answer_that_is_lost_is_a_phase_that_lasted_too_long(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);
	uint64_t begun_ns = fabric_now_ns();
	const struct run *run;

	fabric_set_cm(fabric_of(cluster), cluster_device(cluster, 0),
		      &(struct fabric_cm_fault){ .fate = FABRIC_CM_LOSES_ANSWERS, .count = 1 });
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "rdma_connect", "RDT-0161");
	assert_in_range(fabric_now_ns() - begun_ns, 7 * SECOND_NS, 10 * SECOND_NS);
	assert_int_equal(
		expect_failed_in(run, CONNECTION_CONNECT)->phases[CONNECTION_CONNECT].failed, 1);
	expect_well_again(cluster);
}

static void an_end_that_falls_silent_among_connections_is_a_stall(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);
	const struct run *run;

	fabric_set_cm(fabric_of(cluster), cluster_device(cluster, 1),
		      &(struct fabric_cm_fault){ .fate = FABRIC_CM_SILENT });
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "stall", "RDT-0108");
	assert_int_equal(
		expect_failed_in(run, CONNECTION_CONNECT)->phases[CONNECTION_CONNECT].failed, 4);
	expect_well_again(cluster);
}

static void kill_of_the_responder_among_connections_is_a_lost_daemon(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);

	kill_responder(cluster, id, STAGE_RUN);
}

static void connections_that_are_stopped_midway_leave_nothing(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);

	cancel(cluster, id);
}

static void a_device_that_goes_among_connections_is_let_go(void **state)
{
	char id[32];
	struct cluster *cluster = start_rounds(id);

	fabric_add_device(fabric_of(cluster),
			  &(struct fabric_device_config){
				  .name = "spare", .host = "node01", .address = "10.9.9.9" });
	cluster_set_device(cluster, 0, false);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_ERROR, ERROR_DEVICE, STAGE_RUN,
		       "device", "RDT-0106");
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	assert_int_equal(fabric_stale_contexts(fabric_of(cluster)), 0);
	fabric_remove_device(fabric_of(cluster), "spare");
	cluster_set_device(cluster, 0, true);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	expect_well_again(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pattern_passes_and_the_record_has_each_phase),
		cmocka_unit_test(C37_a_rejection_is_told_with_its_reason),
		cmocka_unit_test(a_rejection_for_the_path_is_somebodys_to_set_right),
		cmocka_unit_test(C39_an_end_that_does_not_answer_fails_the_run_within_its_deadline),
		cmocka_unit_test(a_connection_manager_that_gives_up_fails_the_run),
		cmocka_unit_test(C35_an_address_without_a_device_is_an_error_of_the_path),
		cmocka_unit_test(C36_a_route_that_is_not_resolved_fails_the_run),
		cmocka_unit_test(C18_C20_another_device_or_none_is_refused),
		cmocka_unit_test(a_daemon_that_may_not_use_the_connection_manager_says_so),
		cmocka_unit_test(kill_of_the_responder_while_connections_are_made_is_a_lost_daemon),
		cmocka_unit_test(a_run_that_is_stopped_while_it_connects_leaves_nothing),
		cmocka_unit_test(a_daemon_that_stops_while_it_connects_leaves_nothing),
		cmocka_unit_test(
			a_device_that_goes_while_it_connects_is_let_go_by_the_connection_manager),
		cmocka_unit_test(a_device_that_goes_long_after_its_last_run_is_let_go_too),
		cmocka_unit_test(a_hundred_runs_leave_nothing_behind),
		cmocka_unit_test(rounds_of_connections_are_timed_by_phase),
		cmocka_unit_test(C37_a_rejection_among_many_connections_ends_them_with_its_reason),
		cmocka_unit_test(C25_C42_a_full_queue_and_a_stale_number_are_tried_again),
		cmocka_unit_test(C39_one_answer_that_is_lost_is_a_phase_that_lasted_too_long),
		cmocka_unit_test(an_end_that_falls_silent_among_connections_is_a_stall),
		cmocka_unit_test(kill_of_the_responder_among_connections_is_a_lost_daemon),
		cmocka_unit_test(connections_that_are_stopped_midway_leave_nothing),
		cmocka_unit_test(a_device_that_goes_among_connections_is_let_go),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
