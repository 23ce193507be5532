// SPDX-License-Identifier: MIT

/* Sixteen daemons in one process under virtual time: what they find is decided by the seed alone.
 */

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
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char mesh[] =
	"scenarios:\n"
	"  - name: mesh\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 2 }\n"
	"    workload:\n"
	"      pattern: stream\n"
	"      load: { outstanding: 16 }\n"
	"      signal_interval: 2\n"
	"      ops:\n"
	"        - { op: write, weight: 70, size: [{ size: 4KiB }, { size: 16KiB }] }\n"
	"        - { op: read, weight: 20, size: 4KiB }\n"
	"        - { op: send, weight: 10, size: 256B }\n"
	"    run: { warmup: 0s, iterations: 600 }\n"
	"    expect: [errors == 0, write.latency.p50 <= 1s]\n"
	"  - name: ping\n"
	"    workload:\n"
	"      pattern: pingpong\n"
	"      ops: [{ op: write, size: 8B }, { op: send, size: 8B }, { op: read, size: 8B }]\n"
	"    run: { warmup: 1ms, duration: 20ms, interval: 10ms }\n"
	"    expect: [errors == 0]\n";

static char *run_mesh(uint64_t seed, size_t nodes, const char *scenario)
{
	struct cluster *cluster = cluster_new(seed, nodes, mesh);
	const struct run *run;
	char *record;

	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 2, cluster_run(cluster, 2, scenario));
	assert_int_equal(run->measurement_count, nodes * (nodes - 1) / 2);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	record = cluster_record(run);
	cluster_free(cluster);
	return record;
}

/* Says where two records part, instead of printing megabytes. */
static void expect_same(const char *a, const char *b)
{
	size_t same = 0;

	while (a[same] != '\0' && a[same] == b[same]) {
		same++;
	}
	if (a[same] != b[same]) {
		size_t from = same > 200 ? same - 200 : 0;

		fail_msg("the records part at byte %zu: ...%.300s... and ...%.300s...", same,
			 a + from, b + from);
	}
}

static void sixteen_daemons_give_identical_results_for_the_same_seed(void **state)
{
	_cleanup_free_ char *a = run_mesh(7, 16, "mesh");
	_cleanup_free_ char *b = run_mesh(7, 16, "mesh");
	_cleanup_free_ char *c = run_mesh(8, 16, "mesh");

	expect_same(a, b);
	assert_string_not_equal(a, c);
}

static void a_ping_pong_measures_the_latency_of_the_fabric(void **state)
{
	struct cluster *cluster = cluster_new(1, 2, mesh);
	struct fabric_link link = { .latency_ns = 5000 };
	const struct run *run;
	const struct totals *totals;

	fabric_set_link(world_fabric(cluster_world(cluster)), NULL, NULL, &link);
	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "ping"));
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	totals = &run->measurements[0]->initiator.totals;
	assert_int_equal(totals->class_count, 3);
	for (size_t i = 0; i < totals->class_count; i++) {
		const struct class_totals *class = &totals->classes[i];
		uint64_t p50 = histogram_percentile_ns(&class->latency, 500000);
		/* One way for half a round trip, both ways for a read; sending and answering cost
		 * under a microsecond each. */
		uint64_t expected = class->class.kind == OPERATION_READ ? 10000 : 5000;

		assert_true(class->completed > 100);
		assert_true(p50 >= expected && p50 <= expected + 2000);
	}
	cluster_free(cluster);
}

static uint64_t step_ns(const struct steps *steps, const char *name)
{
	for (size_t i = 0; i < steps->count; i++) {
		if (strcmp(steps->items[i].name, name) == 0) {
			assert_int_equal(steps->items[i].count, 1);
			return steps->items[i].duration_ns;
		}
	}
	fail_msg("no step %s", name);
	return 0;
}

static void three_parties_measure_between_two_that_did_not_ask(void **state)
{
	struct cluster *cluster =
		cluster_new(3, 3,
			    "scenarios:\n"
			    "  - name: others\n"
			    "    disruptive: true\n"
			    "    peers: { from: name=node02, to: name=node03 }\n"
			    "    workload: { pattern: stream, ops: [{ op: send, size: 64B }] }\n"
			    "    run: { warmup: 0s, iterations: 100 }\n");
	const struct run *run;
	const struct measurement *m;

	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "others"));
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_int_equal(run->measurement_count, 1);
	assert_string_equal(run->measurements[0]->initiator.endpoint.node, "node02");
	assert_string_equal(run->measurements[0]->responder.endpoint.node, "node03");
	assert_int_equal(run->measurements[0]->initiator.totals.operations, 100);
	assert_int_equal(run->measurements[0]->responder.totals.receives, 100);
	/* 100 us to the coordinator, and as much from there; who was prepared first waits for the
	 * other, too. */
	m = run->measurements[0];
	assert_int_equal(step_ns(&m->responder.steps, "exchange"), 200000);
	assert_int_equal(step_ns(&m->initiator.steps, "exchange"),
			 200000 + step_ns(&m->coordination, "prepare_second"));
	cluster_free(cluster);
}

static void in_reverse_the_peer_requests_in_a_run_that_this_node_begins(void **state)
{
	struct cluster *cluster = cluster_new(
		4, 2,
		"scenarios:\n"
		"  - name: back\n"
		"    disruptive: true\n"
		"    peers: { from: name=node01, to: name=node02 }\n"
		"    workload: { pattern: stream, direction: reverse, ops: [{ op: send, size: 64B }] }\n"
		"    run: { warmup: 0s, iterations: 100 }\n");
	const struct run *run;

	(void)state;
	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "back"));
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_string_equal(run->measurements[0]->initiator.endpoint.node, "node02");
	assert_int_equal(run->measurements[0]->initiator.totals.operations, 100);
	assert_int_equal(run->measurements[0]->responder.totals.receives, 100);
	cluster_free(cluster);
}

static bool is_enough(void *arg)
{
	return false;
}

static void three_hours_of_heartbeats_keep_their_rhythm(void **state)
{
	struct cluster *cluster =
		cluster_new(5, 2,
			    "scenarios:\n"
			    "  - name: beat\n"
			    "    schedule: { every: 5m, jitter: 30s }\n"
			    "    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
			    "    run: { warmup: 0s, iterations: 20 }\n"
			    "    expect: [errors == 0]\n");
	const struct history *history;
	size_t passed = 0;

	cluster_start_all(cluster);
	world_run_until(cluster_world(cluster), is_enough, NULL, 3 * 3600 * SECOND_NS);
	history = daemon_parts(cluster_daemon(cluster, 0))->history;
	for (size_t i = 0; i < history_count(history); i++) {
		passed += history_at(history, i)->verdict == VERDICT_PASS;
	}
	/* 36 periods; the first tick lies anywhere in the first one. */
	assert_in_range(passed, 34, 37);
	assert_int_equal(passed, history_count(history));
	/* The pair belongs to the smaller name: the other node begins nothing. */
	assert_int_equal(history_count(daemon_parts(cluster_daemon(cluster, 1))->history), 0);
	cluster_free(cluster);
}

static void two_coordinators_that_want_the_same_ends_both_get_them(void **state)
{
	struct cluster *cluster = cluster_new(9, 3, mesh);
	char ids[3][32];

	cluster_start_all(cluster);
	for (size_t i = 0; i < 3; i++) {
		text_copy(ids[i], sizeof(ids[i]), cluster_run(cluster, i, "ping"));
	}
	for (size_t i = 0; i < 3; i++) {
		const struct run *run = cluster_wait_run(cluster, i, ids[i]);

		assert_int_equal(run->measurement_count, 3);
		cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	}
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ping_pong_measures_the_latency_of_the_fabric),
		cmocka_unit_test(three_parties_measure_between_two_that_did_not_ask),
		cmocka_unit_test(in_reverse_the_peer_requests_in_a_run_that_this_node_begins),
		cmocka_unit_test(two_coordinators_that_want_the_same_ends_both_get_them),
		cmocka_unit_test(three_hours_of_heartbeats_keep_their_rhythm),
		cmocka_unit_test(sixteen_daemons_give_identical_results_for_the_same_seed),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
