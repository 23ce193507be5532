// SPDX-License-Identifier: MIT

/* What goes wrong around a run, one row each: its exact record, then proof that the next run passes
 * with nothing touched in between. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "run/history.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: long\n"
	"    disruptive: true\n"
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
	"  - name: endless\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 1000000000, timeout: 2s }\n";

/* Half a millisecond one way: twenty seconds of traffic are then a matter of thousands of
 * operations, not of millions. */
static struct cluster *new_pair(void)
{
	return cluster_new_pair(11, scenarios);
}

/* A run of the first daemon that measures when this returns. */
static void begin_long(struct cluster *cluster, char id[static 32])
{
	cluster_start_all(cluster);
	text_copy(id, 32, cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
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
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
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

	begin_long(cluster, id);
	assert_false(is_idle(cluster_daemon(cluster, 1)));
	cluster_kill(cluster, 0);
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	cluster_restart(cluster, 0);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_silent_management_network_ends_the_run_on_both_sides(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
	world_cut(cluster_world(cluster), cluster_node(cluster, 1), NULL, WORLD_SILENT);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	world_cut(cluster_world(cluster), cluster_node(cluster, 1), NULL, WORLD_WHOLE);
	cluster_wait_peer(cluster, 0, PEER_UP);
	cluster_expect_pass(cluster, 0, "short");
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
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/* The daemon that runs it has just started: it does not know yet who is there. */
static void a_run_at_the_start_waits_until_each_peer_was_tried(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_start(cluster, 1);
	world_run(cluster_world(cluster), SECOND_NS);
	cluster_start(cluster, 0);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_run_at_the_start_says_of_a_peer_what_the_first_attempt_showed(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_start(cluster, 0);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short"));
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_DISCOVER, "connect",
		       "RDT-0102");
	assert_null(strstr(run->measurements[0]->first_error.error.text, "not tried yet"));
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
	/* Its turn is where it counts from. */
	assert_in_range(second->measurements[0]->accepted_to_first_post_ns, 1, SECOND_NS);
	cluster_free(cluster);
}

static void a_run_that_need_not_wait_counts_from_its_acceptance(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "short"));
	/* Accepted, and the loop does not come to it for two seconds. */
	world_freeze(cluster_node(cluster, 0), true);
	world_run(cluster_world(cluster), 2 * SECOND_NS);
	world_freeze(cluster_node(cluster, 0), false);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_in_range(run->measurements[0]->accepted_to_first_post_ns, 2 * SECOND_NS,
			3 * SECOND_NS);
	cluster_free(cluster);
}

static void a_run_of_the_other_node_waits_for_a_busy_end(void **state)
{
	struct cluster *cluster = new_pair();
	char id[32];

	begin_long(cluster, id);
	cluster_expect_pass(cluster, 1, "short");
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_PASS, ERROR_NONE, STAGE_NONE, "",
		       NULL);
	cluster_free(cluster);
}

static void sigterm_of_the_coordinator_ends_its_run_with_a_record(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
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

	begin_long(cluster, id);
	cluster_stop(cluster, 1);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text, "the test says so"));
	cluster_wait_stopped(cluster, 1);
	cluster_start(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/* SIGSTOP: its device answers on, and its daemon does not. */
static void a_responder_that_is_stopped_is_a_lost_daemon_until_it_goes_on(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
	world_freeze(cluster_node(cluster, 1), true);
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	world_freeze(cluster_node(cluster, 1), false);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_string_equal(run->measurements[0]->first_error.node, "node02");
	assert_true(run->measurements[0]->initiator.totals.operations > 0);
	assert_true(world_run_until(cluster_world(cluster), is_idle, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
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
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_black_hole_between_two_living_daemons_is_a_failure_of_the_path(void **state)
{
	struct cluster *cluster = new_pair();
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	char id[32];

	begin_long(cluster, id);
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1), true);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN,
		       "ibv_poll_cq", "RDT-0107");
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1),
			      false);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/*
 * Three clocks run for it, and the initiator's word is the one that counts, whoever coordinates and
 * however long its word is on the way: the responder began to count before it, the coordinator when
 * it heard that it had begun, over a way that was shorter then.
 */
static void expect_timeout(size_t coordinator, uint64_t latency_then_ns, uint64_t latency_now_ns)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	world_set_latency(cluster_world(cluster), latency_then_ns);
	text_copy(id, sizeof(id), cluster_run(cluster, coordinator, "endless"));
	cluster_wait_phase(cluster, coordinator, id, "measuring");
	world_set_latency(cluster_world(cluster), latency_now_ns);
	run = cluster_wait_run(cluster, coordinator, id);
	cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RUN, "deadline", "RDT-0122");
	assert_string_equal(run->measurements[0]->first_error.node, "node01");
	/* Its own word, not what the coordinator would have said for it. */
	assert_int_equal(run->measurements[0]->initiator.failure.error.class, ERROR_INPUT);
	assert_int_equal(run->measurements[0]->initiator.totals.end, END_DEADLINE);
	assert_int_equal(run->measurements[0]->responder.totals.end, END_STOPPED);
	assert_true(run->measurements[0]->initiator.totals.operations > 0);
	world_set_latency(cluster_world(cluster), 100000);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_run_that_is_not_done_at_its_timeout_is_the_scenarios_error(void **state)
{
	expect_timeout(0, 100000, 100000);
	expect_timeout(1, 100000, 100000);
}

static void a_responder_that_counts_before_the_initiator_lets_it_speak_first(void **state)
{
	expect_timeout(0, 300 * MS_NS, MS_NS);
	expect_timeout(1, 300 * MS_NS, MS_NS);
}

static void a_coordinator_waits_for_the_initiators_word_on_a_slow_way(void **state)
{
	expect_timeout(1, MS_NS, 900 * MS_NS);
}

/* Nobody is there to reset a connection: silence is all that tells. */
static void a_host_that_vanishes_is_a_lost_daemon_not_a_lost_path(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
	world_run(cluster_world(cluster), SECOND_NS);
	cluster_vanish(cluster, 1);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	assert_string_equal(run->measurements[0]->first_error.node, "node02");
	/* The initiator had given up on the path long before. */
	assert_int_equal(run->measurements[0]->initiator.totals.end, END_ERROR);
	cluster_restart(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_hundred_runs_leave_nothing_behind(void **state)
{
	struct cluster *cluster = new_pair();
	unsigned objects;

	cluster_start_all(cluster);
	cluster_expect_pass(cluster, 0, "short");
	objects = fabric_objects(world_fabric(cluster_world(cluster)));
	for (int i = 0; i < 100; i++) {
		cluster_expect_pass(cluster, i % 2, "short");
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
		cmocka_unit_test(a_run_at_the_start_waits_until_each_peer_was_tried),
		cmocka_unit_test(a_run_at_the_start_says_of_a_peer_what_the_first_attempt_showed),
		cmocka_unit_test(a_second_run_waits_for_the_first),
		cmocka_unit_test(a_run_that_need_not_wait_counts_from_its_acceptance),
		cmocka_unit_test(a_run_of_the_other_node_waits_for_a_busy_end),
		cmocka_unit_test(sigterm_of_the_coordinator_ends_its_run_with_a_record),
		cmocka_unit_test(sigterm_of_the_responder_is_a_lost_daemon),
		cmocka_unit_test(a_responder_that_is_stopped_is_a_lost_daemon_until_it_goes_on),
		cmocka_unit_test(cancelling_ends_a_run_that_goes_on_and_one_that_waits),
		cmocka_unit_test(a_black_hole_between_two_living_daemons_is_a_failure_of_the_path),
		cmocka_unit_test(a_run_that_is_not_done_at_its_timeout_is_the_scenarios_error),
		cmocka_unit_test(a_responder_that_counts_before_the_initiator_lets_it_speak_first),
		cmocka_unit_test(a_coordinator_waits_for_the_initiators_word_on_a_slow_way),
		cmocka_unit_test(a_host_that_vanishes_is_a_lost_daemon_not_a_lost_path),
		cmocka_unit_test(a_hundred_runs_leave_nothing_behind),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
