// SPDX-License-Identifier: MIT

/*
 * Many of one thing: a thousand queue pairs in one run; run after run, or a link that comes and
 * goes, after which nothing is left. CLUSTER_RUNS says how many runs (500).
 */

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "resident.h"
#include "run/history.h"
#include "util/clock.h"

#define RUNS 500
/* Until every pool, table and buffer has its size. */
#define RUNS_BEFORE 100
/* Below eight bytes a run. */
#define HEAP_SLACK_BYTES 1024
#define RSS_SLACK_KIB 1024

#define SECOND_NS 1000000000ull
#define INTERVAL_NS (5 * SECOND_NS)
#define DOWN_NS (10 * SECOND_NS)
#define CYCLES 100
#define CYCLES_BEFORE 20

static const char scenarios[] =
	"scenarios:\n"
	"  - name: wide\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 1000, max_send_wr: 4 }\n"
	"    workload: { pattern: stream, load: { outstanding: 1000 }, ops: [{ op: write, size: 64B }] }\n"
	"    run: { warmup: 0s, iterations: 5000 }\n"
	"    expect: [errors == 0]\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }, { op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: wrong\n"
	"    qp: { gid_index: 7 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

static const char pulses[] = "scenarios:\n"
			     "  - name: pulse\n"
			     "    schedule: { every: 5s }\n"
			     "    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
			     "    run: { warmup: 0s, iterations: 50 }\n"
			     "    expect: [errors == 0]\n";

struct usage {
	size_t fds;
	unsigned objects;
	size_t heap_bytes; /* allocated and not freed, to the byte; 0 where nobody tells */
	long rss_kib;
};

static size_t count_fds(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory)) {
		count++;
	}
	closedir(directory);
	return count;
}

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

static size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	return 0;
#endif
}

static struct usage usage_now(struct cluster *cluster)
{
	return (struct usage){ .fds = count_fds(),
			       .objects = fabric_objects(world_fabric(cluster_world(cluster))),
			       .heap_bytes = heap_bytes(),
			       .rss_kib = resident_bytes() / 1024 };
}

static void print_usage(const char *what, unsigned long count, const struct usage *before,
			const struct usage *after)
{
	print_message(
		"after %lu %s: %zu descriptors (%zu before), %u objects (%u), %zu bytes (%zu), RSS %ld KiB (%ld)\n",
		count, what, after->fds, before->fds, after->objects, before->objects,
		after->heap_bytes, before->heap_bytes, after->rss_kib, before->rss_kib);
}

static void assert_flat(const struct usage *before, const struct usage *after)
{
	assert_int_equal(after->fds, before->fds);
	assert_int_equal(after->objects, before->objects);
	assert_true(after->heap_bytes <= before->heap_bytes + HEAP_SLACK_BYTES);
#ifndef __SANITIZE_ADDRESS__
	/* The sanitizer keeps what was freed; there the bytes above are exact. */
	assert_true(after->rss_kib <= before->rss_kib + RSS_SLACK_KIB);
#endif
}

static void a_thousand_queue_pairs_are_one_run(void **state)
{
	struct cluster *cluster = cluster_new_pair(31, scenarios);
	const struct class_totals *class;
	const struct measurement *m;
	struct usage before;

	(void)state;
	cluster_start_all(cluster);
	cluster_expect_pass(cluster, 0, "short");
	before = usage_now(cluster);
	m = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "wide"))->measurements[0];
	assert_int_equal(m->verdict, VERDICT_PASS);
	assert_int_equal(m->initiator.info->qp_count, 1000);
	assert_int_equal(m->initiator.totals.operations, 5000);
	class = &m->initiator.totals.classes[0];
	assert_int_equal(class->posted, 5000);
	assert_int_equal(class->latency.count, 5000);
	assert_int_equal(usage_now(cluster).fds, before.fds);
	assert_int_equal(usage_now(cluster).objects, before.objects);
	cluster_free(cluster);
}

static void run_after_run_leaves_nothing_behind(void **state)
{
	struct cluster *cluster = cluster_new_pair(37, scenarios);
	const char *wanted = getenv("CLUSTER_RUNS");
	unsigned long runs = wanted ? strtoul(wanted, NULL, 10) : RUNS;
	struct usage before = { 0 }, after;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		cluster_set(cluster, i, "results", "{ keep_runs: 10 }");
	}
	cluster_start_all(cluster);
	for (unsigned long i = 0; i < RUNS_BEFORE + runs; i++) {
		if (i == RUNS_BEFORE) {
			before = usage_now(cluster);
		}
		/* One in eight does not come to pass. */
		if (i % 8 == 7) {
			const struct run *run =
				cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "wrong"));

			assert_int_not_equal(run->verdict, VERDICT_PASS);
		} else {
			cluster_expect_pass(cluster, i % 2, "short");
		}
	}
	after = usage_now(cluster);
	print_usage("runs", runs, &before, &after);
	assert_flat(&before, &after);
	cluster_free(cluster);
}

struct pulse {
	struct cluster *cluster;
	int64_t from_real_ns;
};

static bool has_passed(void *arg)
{
	const struct pulse *pulse = arg;
	const struct history *history = daemon_parts(cluster_daemon(pulse->cluster, 0))->history;
	const struct run *run = history_at(history, 0);

	return run->state == RUN_DONE && run->verdict == VERDICT_PASS &&
	       run->started_real_ns >= pulse->from_real_ns;
}

static void come_and_go(struct cluster *cluster)
{
	struct world *world = cluster_world(cluster);
	struct fabric *fabric = world_fabric(world);
	const struct history *history = daemon_parts(cluster_daemon(cluster, 0))->history;
	struct pulse pulse = { .cluster = cluster };

	fabric_set_port(fabric, cluster_device(cluster, 1), false);
	world_run(world, DOWN_NS);
	cluster_expect(history_at(history, 0), VERDICT_FAIL, ERROR_DEVICE, STAGE_DISCOVER, "device",
		       "RDT-0132");
	fabric_set_port(fabric, cluster_device(cluster, 1), true);
	pulse.from_real_ns = clock_real_ns();
	assert_true(world_run_until(world, has_passed, &pulse, 2 * INTERVAL_NS));
}

static void C59_a_link_that_comes_and_goes_a_hundred_times_passes_within_two_intervals(void **state)
{
	struct cluster *cluster = cluster_new_pair(41, pulses);
	struct usage before = { 0 }, after;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		cluster_set(cluster, i, "results", "{ keep_runs: 10 }");
	}
	cluster_start_all(cluster);
	world_run(cluster_world(cluster), 2 * INTERVAL_NS);
	for (unsigned i = 0; i < CYCLES_BEFORE + CYCLES; i++) {
		if (i == CYCLES_BEFORE) {
			before = usage_now(cluster);
		}
		come_and_go(cluster);
	}
	after = usage_now(cluster);
	print_usage("cycles", CYCLES, &before, &after);
	assert_flat(&before, &after);
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_queue_pairs_are_one_run),
		cmocka_unit_test(run_after_run_leaves_nothing_behind),
		cmocka_unit_test(
			C59_a_link_that_comes_and_goes_a_hundred_times_passes_within_two_intervals),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
