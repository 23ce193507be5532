// SPDX-License-Identifier: MIT

/* direction: both, by whole daemons: either end posts, is waited for, counted, and told to stop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "util/memory.h"

#define MS_NS 1000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: counted\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 2, max_recv_wr: 32 }\n"
	"    workload:\n"
	"      pattern: stream\n"
	"      direction: both\n"
	"      load: { outstanding: 32 }\n"
	"      ops: [{ op: send, size: 64B }, { op: write, size: 8KiB }, { op: read, size: 64B }]\n"
	"    run: { warmup: 10ms, iterations: 3000 }\n"
	"    expect: [errors == 0]\n"
	"  - name: timed\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, direction: both, load: { outstanding: 16 }, ops: [{ op: write, size: 64KiB }] }\n"
	"    run: { warmup: 10ms, duration: 100ms, interval: 10ms }\n"
	"    expect: [errors == 0, bandwidth.mean >= 90% of link_rate, bandwidth.min >= 80% of link_rate]\n"
	"  - name: one-way\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 16 }, ops: [{ op: write, size: 64KiB }] }\n"
	"    run: { warmup: 10ms, duration: 100ms, interval: 10ms }\n"
	"  - name: datagrams\n"
	"    disruptive: true\n"
	"    qp: { qp_type: UD, max_recv_wr: 2048 }\n"
	"    workload: { pattern: stream, direction: both, load: { outstanding: 8 }, ops: [{ op: send, size: 512B }] }\n"
	"    run: { warmup: 0s, iterations: 1000 }\n"
	"    expect: [errors == 0]\n"
	"  - name: long\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, direction: both, load: { outstanding: 4 }, ops: [{ op: send, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n";

static const struct run *run(struct cluster *cluster, const char *scenario)
{
	return cluster_wait_run(cluster, 0, cluster_run(cluster, 0, scenario));
}

static void both_ends_do_all_of_it_and_take_all_that_comes(void **state)
{
	struct cluster *cluster = cluster_new(11, 2, scenarios);
	const struct measurement *m;
	const struct run *done;

	(void)state;
	cluster_start_all(cluster);
	done = run(cluster, "counted");
	cluster_expect(done, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	m = done->measurements[0];
	assert_true(run_is_mutual(m));
	assert_int_equal(m->initiator.totals.operations, 3000);
	assert_int_equal(m->responder.totals.operations, 3000);
	assert_int_equal(m->initiator.totals.end, END_ITERATIONS);
	assert_int_equal(m->responder.totals.end, END_ITERATIONS);
	/* The warm-up is in neither window, and in what was received. */
	assert_true(m->initiator.totals.receives > 1000);
	assert_true(m->responder.totals.receives > 1000);
	assert_int_equal(m->responder.totals.class_count, 3);
	cluster_free(cluster);
}

static double rate_of(const struct participant *end)
{
	return (double)end->totals.bytes * 8e9 / (double)end->totals.window_ns;
}

/* The fabric is full duplex: each way is as fast as alone. */
static void the_sum_is_of_both_ways(void **state)
{
	struct cluster *cluster = cluster_new(12, 2, scenarios);
	_cleanup_json_ json_t *record = NULL;
	const struct measurement *m;
	const struct run *done;
	const json_t *json;
	double alone, sum;

	(void)state;
	cluster_start_all(cluster);
	alone = rate_of(&run(cluster, "one-way")->measurements[0]->initiator);
	done = run(cluster, "timed");
	cluster_expect(done, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	m = done->measurements[0];
	sum = rate_of(&m->initiator) + rate_of(&m->responder);
	assert_true(sum > 1.8 * alone && sum < 2.02 * alone);
	assert_in_range(m->initiator.totals.window_ns, 99 * MS_NS, 102 * MS_NS);
	assert_in_range(m->responder.totals.window_ns, 99 * MS_NS, 102 * MS_NS);
	record = run_write(done, true);
	json = json_array_get(json_object_get(record, "measurements"), 0);
	json = json_object_get(json_object_get(json, "both"), "bandwidth_bps");
	assert_true(json_number_value(json) > 0.999 * sum && json_number_value(json) < 1.001 * sum);
	cluster_free(cluster);
}

static void what_is_lost_either_way_degrades_the_run(void **state)
{
	struct cluster *cluster = cluster_new_pair(13, scenarios);
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	const struct measurement *m;
	const struct run *done;

	(void)state;
	cluster_start_all(cluster);
	cluster_expect(run(cluster, "datagrams"), VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	fabric_next_packets(fabric, cluster_device(cluster, 1), cluster_device(cluster, 0),
			    FABRIC_DROP, 5);
	done = run(cluster, "datagrams");
	cluster_expect(done, VERDICT_DEGRADED, ERROR_NONE, STAGE_NONE, "", "RDT-0137");
	m = done->measurements[0];
	assert_int_equal(m->initiator.totals.receives, 995);
	assert_int_equal(m->responder.totals.receives, 1000);
	assert_non_null(strstr(m->findings.items[0].text, "5 of 2000 messages"));
	cluster_free(cluster);
}

/* Nothing comes one way: the other one alone makes no path. */
static void one_way_that_is_dead_fails_it(void **state)
{
	struct cluster *cluster = cluster_new_pair(14, scenarios);
	struct fabric *fabric = world_fabric(cluster_world(cluster));

	(void)state;
	cluster_start_all(cluster);
	fabric_next_packets(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1),
			    FABRIC_DROP, 1000000);
	cluster_expect(run(cluster, "datagrams"), VERDICT_FAIL, ERROR_NONE, STAGE_NONE, "",
		       "RDT-0137");
	cluster_free(cluster);
}

static void an_end_that_is_killed_ends_the_other(void **state)
{
	(void)state;
	for (size_t killed = 0; killed < 2; killed++) {
		struct cluster *cluster = cluster_new_pair(15 + killed, scenarios);
		size_t asked = 1 - killed;
		const char *id;

		cluster_start_all(cluster);
		id = cluster_run(cluster, asked, "long");
		cluster_wait_phase(cluster, asked, id, "measuring");
		cluster_kill(cluster, killed);
		cluster_expect(cluster_wait_run(cluster, asked, id), VERDICT_INCONCLUSIVE,
			       ERROR_PEER, STAGE_RUN, "session", "RDT-0101");
		cluster_restart(cluster, killed);
		cluster_wait_peer(cluster, asked, PEER_UP);
		cluster_expect_pass(cluster, asked, "counted");
		cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_do_all_of_it_and_take_all_that_comes),
		cmocka_unit_test(the_sum_is_of_both_ways),
		cmocka_unit_test(what_is_lost_either_way_degrades_the_run),
		cmocka_unit_test(one_way_that_is_dead_fails_it),
		cmocka_unit_test(an_end_that_is_killed_ends_the_other),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
