// SPDX-License-Identifier: MIT

/* cq.mode: event: the measuring threads of both ends sleep until completions come. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/cluster.h"

#define OPERATIONS                                                                              \
	"{ op: send, size: 64B }, { op: send_with_imm, size: 0 }, { op: write_with_imm, size: " \
	"64B }, { op: read, size: 64B }, { op: atomic_fetch_and_add, size: 8B }"

static const char scenarios[] =
	"scenarios:\n"
	"  - name: answered\n"
	"    cq: { mode: event }\n"
	"    workload: { pattern: pingpong, ops: [" OPERATIONS "] }\n"
	"    run: { warmup: 0s, iterations: 500 }\n"
	"  - name: polled\n"
	"    workload: { pattern: pingpong, ops: [" OPERATIONS "] }\n"
	"    run: { warmup: 0s, iterations: 500 }\n"
	"  - name: streamed\n"
	"    disruptive: true\n"
	"    cq: { mode: event }\n"
	"    qp: { num_qps: 3 }\n"
	"    workload: { pattern: stream, load: { outstanding: 24 }, signal_interval: 4, post_list: 2,\n"
	"      ops: [" OPERATIONS ", { op: write, size: 4KiB }] }\n"
	"    run: { warmup: 10ms, duration: 100ms, interval: 10ms }\n"
	"  - name: paced\n"
	"    cq: { mode: event }\n"
	"    qp: { num_qps: 2 }\n"
	"    workload: { pattern: stream, ops: [" OPERATIONS "],\n"
	"      load: { model: open, ops_rate: 1k/s, arrival: poisson } }\n"
	"    run: { warmup: 10ms, duration: 2s, interval: 100ms }\n"
	"  - name: long\n"
	"    cq: { mode: event }\n"
	"    workload: { pattern: pingpong, ops: [{ op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, duration: 60s }\n";

static const struct totals *run(struct cluster *cluster, const char *name)
{
	const struct run *run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, name));

	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	return &run->measurements[0]->initiator.totals;
}

static void who_sleeps_measures_the_same_and_looks_less_often(void **state)
{
	struct cluster *cluster = cluster_new_pair(31, scenarios);
	const struct totals *totals;
	uint64_t polls;

	(void)state;
	cluster_start_all(cluster);
	totals = run(cluster, "polled");
	polls = totals->polls;
	totals = run(cluster, "answered");
	assert_int_equal(totals->operations, 500);
	assert_int_equal(totals->class_count, 5);
	for (size_t i = 0; i < totals->class_count; i++) {
		assert_in_range(totals->classes[i].completed, 80, 120);
		assert_int_equal(totals->classes[i].latency.count, totals->classes[i].completed);
		/* One way is half a millisecond. */
		assert_in_range(totals->classes[i].latency.min_ns, 500000, 1100000);
		assert_in_range(totals->classes[i].latency.max_ns, 500000, 1100000);
	}
	assert_true(totals->polls < polls / 10);
	cluster_free(cluster);
}

static void a_stream_of_several_queue_pairs_sleeps_as_well(void **state)
{
	struct cluster *cluster = cluster_new_pair(32, scenarios);
	const struct totals *totals;

	(void)state;
	cluster_start_all(cluster);
	totals = run(cluster, "streamed");
	assert_true(totals->operations > 24 * 90);
	assert_in_range(totals->interval_count, 9, 11);
	cluster_free(cluster);
}

/* It sleeps from one operation to the next, and to the completion between them. */
static void an_open_load_sleeps_between_its_operations(void **state)
{
	struct cluster *cluster = cluster_new_pair(34, scenarios);
	const struct totals *totals;

	(void)state;
	cluster_start_all(cluster);
	totals = run(cluster, "paced");
	assert_in_range(totals->operations, 1850, 2150);
	assert_int_equal(totals->late_operations, 0);
	assert_true(totals->polls < 8 * totals->operations);
	for (size_t i = 0; i < totals->class_count; i++) {
		assert_int_equal(totals->classes[i].latency.count, totals->classes[i].completed);
		assert_int_equal(totals->classes[i].service->count, totals->classes[i].completed);
		/* Both ways, and nothing waits. */
		assert_in_range(totals->classes[i].latency.max_ns, 1000000, 1100000);
	}
	cluster_free(cluster);
}

/* Nobody but the control thread has a reason to wake it. */
static void a_peer_that_is_killed_ends_a_sleeping_run(void **state)
{
	struct cluster *cluster = cluster_new_pair(33, scenarios);
	const struct run *run;
	const char *id;

	(void)state;
	cluster_start_all(cluster);
	id = cluster_run(cluster, 0, "long");
	cluster_wait_phase(cluster, 0, id, "measuring");
	cluster_kill(cluster, 1);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
	cluster_restart(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	cluster_expect_pass(cluster, 0, "answered");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sleeps_measures_the_same_and_looks_less_often),
		cmocka_unit_test(a_stream_of_several_queue_pairs_sleeps_as_well),
		cmocka_unit_test(an_open_load_sleeps_between_its_operations),
		cmocka_unit_test(a_peer_that_is_killed_ends_a_sleeping_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
