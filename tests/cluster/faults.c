// SPDX-License-Identifier: MIT

/* What goes wrong around a run, one row each: its exact record, then proof that the next run passes
 * with nothing touched in between. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "run/history.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: long\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n"
	"    expect: [errors == 0]\n"
	"  - name: pong\n"
	"    workload: { pattern: pingpong, ops: [{ op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n"
	"    expect: [errors == 0]\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: deep\n"
	"    qp: { max_send_wr: 32000 }\n"
	"    workload: { pattern: stream, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"  - name: wide\n"
	"    qp: { num_qps: 64 }\n"
	"    workload: { pattern: stream, load: { outstanding: 64 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 128 }\n"
	"  - name: endless\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 1000000000, timeout: 2s }\n"
	"  - name: labelled\n"
	"    peers: { from: \"role=tester\" }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

/* Half a millisecond one way: twenty seconds of traffic are then a matter of thousands of
 * operations, not of millions. */
static struct cluster *new_pair(void)
{
	struct cluster *cluster = cluster_new(11, 2, scenarios);
	struct fabric_link link = { .latency_ns = 500000 };

	fabric_set_link(world_fabric(cluster_world(cluster)), NULL, NULL, &link);
	return cluster;
}

static void expect_pass(struct cluster *cluster, size_t index, const char *scenario)
{
	cluster_expect(cluster_wait_run(cluster, index, cluster_run(cluster, index, scenario)),
		       VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
}

struct peer_wait {
	struct cluster *cluster;
	size_t index;
	enum peer_state state;
};

static bool peer_is(void *arg)
{
	struct peer_wait *wait = arg;
	struct peer_status status;

	peers_status(daemon_parts(cluster_daemon(wait->cluster, wait->index))->peers, 0, &status);
	return status.state == wait->state;
}

static void wait_peer(struct cluster *cluster, size_t index, enum peer_state state)
{
	struct peer_wait wait = { .cluster = cluster, .index = index, .state = state };

	assert_true(world_run_until(cluster_world(cluster), peer_is, &wait, 120 * SECOND_NS));
}

static void kill_of_the_responder(const char *scenario)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, scenario));
	cluster_wait_phase(cluster, 0, id, "measuring");
	world_run(cluster_world(cluster), SECOND_NS);
	cluster_kill(cluster, 1);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_string_equal(run->measurements[0]->first_error.node, "node02");
	/* What was measured until then is not lost. */
	assert_true(run->measurements[0]->initiator.has_totals);
	assert_true(run->measurements[0]->initiator.totals.operations > 0);

	cluster_restart(cluster, 1);
	wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void kill_of_the_responder_in_a_stream_is_inconclusive(void **state)
{
	kill_of_the_responder("long");
}

static void kill_of_the_responder_in_a_ping_pong_is_inconclusive(void **state)
{
	kill_of_the_responder("pong");
}

static bool is_idle(void *arg)
{
	return agent_is_idle(daemon_parts(arg)->agent);
}

static void kill_of_the_coordinator_frees_the_responder_within_ten_seconds(void **state)
{
	struct cluster *cluster = new_pair();
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	assert_false(is_idle(cluster_daemon(cluster, 1)));
	cluster_kill(cluster, 0);
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	cluster_restart(cluster, 0);
	wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_silent_management_network_ends_the_run_on_both_sides(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	world_cut(cluster_world(cluster), cluster_node(cluster, 1), NULL, WORLD_SILENT);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	world_cut(cluster_world(cluster), cluster_node(cluster, 1), NULL, WORLD_WHOLE);
	wait_peer(cluster, 0, PEER_UP);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_peer_that_is_not_there_is_said_and_the_run_passes_once_it_is(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_start(cluster, 0);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_DISCOVER, "connect", "RDT-0102");
	cluster_start(cluster, 1);
	wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void another_fleet_key_is_named_as_such(void **state)
{
	struct cluster *cluster = new_pair();
	char path[] = "/tmp/rdmatestd-key-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "ffeeddccbbaa99887766554433221100\n", 33), 33);
	close(fd);
	cluster_set(cluster, 1, "key_file", path);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_PEER, STAGE_DISCOVER, "tls", "RDT-0103");
	/* Neither of them takes part in anything of the other's. */
	assert_int_equal(guest_count(daemon_parts(cluster_daemon(cluster, 0))->guests), 0);
	assert_int_equal(guest_count(daemon_parts(cluster_daemon(cluster, 1))->guests), 0);
	cluster_free(cluster);
	unlink(path);
}

static void another_protocol_version_is_named_as_such(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_set_protocol(cluster, 1, SESSION_PROTOCOL + 1);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_PEER, STAGE_DISCOVER, "hello", "RDT-0104");
	cluster_free(cluster);
}

static bool has_port(void *arg)
{
	return engine_inventory(daemon_parts(arg)->engine)->port_count > 0;
}

static bool peer_has_port(void *arg)
{
	struct peer_status status;

	peers_status(daemon_parts(arg)->peers, 0, &status);
	return status.inventory != NULL && status.inventory->port_count > 0;
}

static void a_device_that_appears_later_is_used_without_a_restart(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_set_device(cluster, 1, false);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_DEVICE, STAGE_DISCOVER, "device", "RDT-0106");
	cluster_set_device(cluster, 1, true);
	assert_true(world_run_until(cluster_world(cluster), has_port, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	assert_true(world_run_until(cluster_world(cluster), peer_has_port,
				    cluster_daemon(cluster, 0), 10 * SECOND_NS));
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void above_a_device_limit_is_refused_before_anything_is_made(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "deep"));
	cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOURCE, "limit", "RDT-0110");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text,
			       "32000 is above max_qp_wr 16384"));
	assert_int_equal(run->measurements[0]->initiator.steps.count, 0);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void above_a_configured_limit_of_the_responder_is_refused_by_name(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_set(cluster, 1, "limits", "{ max_qps: 10 }");
	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "wide"));
	cluster_expect(run, VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "permit", "RDT-0105");
	assert_string_equal(run->measurements[0]->first_error.node, "node02");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text, "max_qps"));
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_second_run_waits_for_the_first(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *first;
	const struct run *second;
	char ids[2][32];

	cluster_start_all(cluster);
	text_copy(ids[0], sizeof(ids[0]), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, ids[0], "measuring");
	text_copy(ids[1], sizeof(ids[1]), cluster_run(cluster, 0, "short"));
	second = cluster_wait_run(cluster, 0, ids[1]);
	first = cluster_wait_run(cluster, 0, ids[0]);
	cluster_expect(first, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	cluster_expect(second, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_true(second->started_real_ns >= first->ended_real_ns);
	cluster_free(cluster);
}

static void a_run_of_the_other_node_waits_for_a_busy_end(void **state)
{
	struct cluster *cluster = new_pair();
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	expect_pass(cluster, 1, "short");
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_PASS, ERROR_NONE, STAGE_NONE, "",
		       NULL);
	cluster_free(cluster);
}

struct reload_wait {
	bool is_told;
	bool is_ok;
	char problems[512];
};

static void on_reloaded(void *arg, bool is_ok, const char *problems)
{
	struct reload_wait *wait = arg;

	wait->is_told = true;
	wait->is_ok = is_ok;
	text_copy(wait->problems, sizeof(wait->problems), problems);
}

static bool is_told(void *arg)
{
	return ((struct reload_wait *)arg)->is_told;
}

static void reload(struct cluster *cluster, size_t index, struct reload_wait *wait)
{
	struct node *before = world_enter(cluster_node(cluster, index));

	*wait = (struct reload_wait){ 0 };
	daemon_reload(cluster_daemon(cluster, index), on_reloaded, wait);
	world_enter(before);
	assert_true(world_run_until(cluster_world(cluster), is_told, wait, 10 * SECOND_NS));
}

static void labels_that_a_reload_gives_a_peer_count_for_the_session_it_has(void **state)
{
	struct cluster *cluster = new_pair();
	struct reload_wait wait;

	cluster_set(cluster, 1, "limits", "{ accept_from: \"role=tester\" }");
	cluster_start_all(cluster);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "permit", "RDT-0105");
	cluster_edit(cluster, 1, "{ name: node01,", "{ name: node01, labels: { role: tester },");
	reload(cluster, 1, &wait);
	assert_true(wait.is_ok);
	expect_pass(cluster, 0, "short");
	cluster_edit(cluster, 1, "role: tester", "role: retired");
	reload(cluster, 1, &wait);
	assert_true(wait.is_ok);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "permit", "RDT-0105");
	cluster_free(cluster);
}

static void labels_that_a_reload_gives_this_node_are_planned_with(void **state)
{
	struct cluster *cluster = new_pair();
	struct reload_wait wait;
	const struct run *run;

	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "labelled"));
	assert_int_equal(run->verdict, VERDICT_ERROR);
	assert_int_equal(run->measurement_count, 0);
	cluster_edit(cluster, 0, "daemon:\n", "daemon:\n  labels: { role: tester }\n");
	reload(cluster, 0, &wait);
	assert_true(wait.is_ok);
	expect_pass(cluster, 0, "labelled");
	cluster_free(cluster);
}

static void a_broken_configuration_at_reload_changes_nothing(void **state)
{
	struct cluster *cluster = new_pair();
	struct reload_wait wait;

	cluster_start_all(cluster);
	cluster_write_scenarios(cluster, 0,
				"scenarios: [{ name: x, workload: { pattern: pingpongg } }]\n");
	reload(cluster, 0, &wait);
	assert_false(wait.is_ok);
	assert_non_null(strstr(wait.problems, "node01.scenarios.yaml:2:"));
	assert_non_null(strstr(wait.problems, "pingpong"));
	assert_false(daemon_parts(cluster_daemon(cluster, 0))->is_last_reload_ok);
	assert_int_equal(daemon_parts(cluster_daemon(cluster, 0))->config->generation, 1);
	expect_pass(cluster, 0, "short");

	cluster_write_scenarios(
		cluster, 0,
		"scenarios:\n  - name: renamed\n    workload: { pattern: pingpong, ops: [{ op: send, size: 8B }] }\n"
		"    run: { warmup: 0s, iterations: 10 }\n");
	reload(cluster, 0, &wait);
	assert_true(wait.is_ok);
	assert_int_equal(daemon_parts(cluster_daemon(cluster, 0))->config->generation, 2);
	assert_true(daemon_parts(cluster_daemon(cluster, 0))->is_last_reload_ok);
	expect_pass(cluster, 0, "renamed");
	cluster_free(cluster);
}

static void a_run_goes_on_with_the_scenario_it_began_with_when_a_reload_removes_it(void **state)
{
	struct cluster *cluster = new_pair();
	struct reload_wait wait;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	cluster_write_scenarios(cluster, 0, "scenarios: []\n");
	reload(cluster, 0, &wait);
	assert_true(wait.is_ok);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_PASS, ERROR_NONE, STAGE_NONE, "",
		       NULL);
	cluster_free(cluster);
}

static void sigterm_of_the_coordinator_ends_its_run_with_a_record(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	cluster_stop(cluster, 0);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_INPUT, STAGE_RUN, "abort", "RDT-0116");
	assert_true(run->measurements[0]->initiator.has_totals);
	cluster_wait_stopped(cluster, 0);
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	cluster_free(cluster);
}

static void sigterm_of_the_responder_is_a_lost_daemon(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	cluster_stop(cluster, 1);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text, "the test says so"));
	cluster_wait_stopped(cluster, 1);
	cluster_start(cluster, 1);
	wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void cancelling_ends_a_run_that_goes_on_and_one_that_waits(void **state)
{
	struct cluster *cluster = new_pair();
	struct coordinator *coordinator;
	struct node *before;
	char ids[2][32];

	cluster_start_all(cluster);
	coordinator = daemon_parts(cluster_daemon(cluster, 0))->coordinator;
	text_copy(ids[0], sizeof(ids[0]), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, ids[0], "measuring");
	text_copy(ids[1], sizeof(ids[1]), cluster_run(cluster, 0, "short"));
	before = world_enter(cluster_node(cluster, 0));
	assert_int_equal(coordinator_cancel(coordinator, ids[1], "not wanted"), 0);
	assert_int_equal(coordinator_cancel(coordinator, ids[0], "not wanted"), 0);
	world_enter(before);
	cluster_expect(cluster_wait_run(cluster, 0, ids[0]), VERDICT_INCONCLUSIVE, ERROR_INPUT,
		       STAGE_RUN, "abort", "RDT-0116");
	cluster_expect(cluster_wait_run(cluster, 0, ids[1]), VERDICT_INCONCLUSIVE, ERROR_INPUT,
		       STAGE_RUN, "abort", "RDT-0116");
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_black_hole_between_two_living_daemons_is_a_failure_of_the_path(void **state)
{
	struct cluster *cluster = new_pair();
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1), true);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN,
		       "ibv_poll_cq", "RDT-0107");
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1),
			      false);
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/* Three clocks run for it, and the initiator's word is the one that counts, whoever coordinates. */
static void a_run_that_is_not_done_at_its_timeout_is_the_scenarios_error(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_start_all(cluster);
	for (size_t i = 0; i < 2; i++) {
		const struct run *run =
			cluster_wait_run(cluster, i, cluster_run(cluster, i, "endless"));

		cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RUN, "deadline", "RDT-0122");
		assert_string_equal(run->measurements[0]->first_error.node, "node01");
		assert_int_equal(run->measurements[0]->responder.totals.end, END_STOPPED);
		assert_true(run->measurements[0]->initiator.totals.operations > 0);
	}
	expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_hundred_runs_leave_nothing_behind(void **state)
{
	struct cluster *cluster = new_pair();
	unsigned objects;

	cluster_start_all(cluster);
	expect_pass(cluster, 0, "short");
	objects = fabric_objects(world_fabric(cluster_world(cluster)));
	for (int i = 0; i < 100; i++) {
		expect_pass(cluster, i % 2, "short");
		assert_in_range(fabric_objects(world_fabric(cluster_world(cluster))), 0, objects);
	}
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kill_of_the_responder_in_a_stream_is_inconclusive),
		cmocka_unit_test(kill_of_the_responder_in_a_ping_pong_is_inconclusive),
		cmocka_unit_test(kill_of_the_coordinator_frees_the_responder_within_ten_seconds),
		cmocka_unit_test(a_silent_management_network_ends_the_run_on_both_sides),
		cmocka_unit_test(a_peer_that_is_not_there_is_said_and_the_run_passes_once_it_is),
		cmocka_unit_test(another_fleet_key_is_named_as_such),
		cmocka_unit_test(another_protocol_version_is_named_as_such),
		cmocka_unit_test(a_device_that_appears_later_is_used_without_a_restart),
		cmocka_unit_test(above_a_device_limit_is_refused_before_anything_is_made),
		cmocka_unit_test(above_a_configured_limit_of_the_responder_is_refused_by_name),
		cmocka_unit_test(a_second_run_waits_for_the_first),
		cmocka_unit_test(a_run_of_the_other_node_waits_for_a_busy_end),
		cmocka_unit_test(labels_that_a_reload_gives_a_peer_count_for_the_session_it_has),
		cmocka_unit_test(labels_that_a_reload_gives_this_node_are_planned_with),
		cmocka_unit_test(a_broken_configuration_at_reload_changes_nothing),
		cmocka_unit_test(
			a_run_goes_on_with_the_scenario_it_began_with_when_a_reload_removes_it),
		cmocka_unit_test(sigterm_of_the_coordinator_ends_its_run_with_a_record),
		cmocka_unit_test(sigterm_of_the_responder_is_a_lost_daemon),
		cmocka_unit_test(cancelling_ends_a_run_that_goes_on_and_one_that_waits),
		cmocka_unit_test(a_black_hole_between_two_living_daemons_is_a_failure_of_the_path),
		cmocka_unit_test(a_run_that_is_not_done_at_its_timeout_is_the_scenarios_error),
		cmocka_unit_test(a_hundred_runs_leave_nothing_behind),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
