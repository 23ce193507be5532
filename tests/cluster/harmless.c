// SPDX-License-Identifier: MIT

/* Scenarios that others would feel, on ports that others use: what moves there is told by the
 * counters below the root of /sys. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "unit/tree.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: bulk\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 2000 }\n"
	"    expect: [errors == 0]\n"
	"  - name: ping\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n";

static const char scheduled[] =
	"scenarios:\n"
	"  - name: often\n"
	"    disruptive: true\n"
	"    schedule: { on: [], every: 2m }\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 2000, timeout: 30s }\n"
	"    expect: [errors == 0]\n";

/* The port of the second node, and what others move there. */
struct scene {
	struct cluster *cluster;
	struct tree tree;
	uint64_t bytes;
	uint64_t bytes_per_second;
	uint64_t notifications; /* of congestion, that the port handled */
	uint64_t notifications_per_second;
};

static void write_counters(struct scene *scene)
{
	char path[128];
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", scene->bytes / 4);
	for (size_t i = 0; i < 2; i++) {
		static const char *const names[] = { "port_xmit_data", "port_rcv_data" };

		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/counters/%s",
			 cluster_device(scene->cluster, 1), names[i]);
		tree_write(&scene->tree, path, text);
	}
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/rp_cnp_handled",
		 cluster_device(scene->cluster, 1));
	snprintf(text, sizeof(text), "%" PRIu64 "\n", scene->notifications);
	tree_write(&scene->tree, path, text);
}

static void scene_start(struct scene *scene)
{
	char path[256];

	cluster_start_all(scene->cluster);
	text_copy(path, sizeof(path),
		  daemon_parts(cluster_daemon(scene->cluster, 0))->config->path);
	*strrchr(path, '/') = '\0';
	text_copy(scene->tree.root, sizeof(scene->tree.root), path);
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/rate",
		 cluster_device(scene->cluster, 1));
	tree_write(&scene->tree, path, "100 Gb/sec (4X EDR)\n");
	write_counters(scene);
}

static void scene_begin(struct scene *scene, const char *text)
{
	*scene = (struct scene){ .cluster = cluster_new(21, 2, text) };
	scene_start(scene);
}

static void scene_end(struct scene *scene)
{
	tree_remove(&scene->tree, "/sys");
	cluster_free(scene->cluster);
}

/* Time passes, and others go on. */
static void pass(struct scene *scene, uint64_t seconds)
{
	for (uint64_t i = 0; i < 10 * seconds; i++) {
		scene->bytes += scene->bytes_per_second / 10;
		scene->notifications += scene->notifications_per_second / 10;
		write_counters(scene);
		world_run(cluster_world(scene->cluster), SECOND_NS / 10);
	}
}

static const struct run *find_run(struct scene *scene, const char *id)
{
	return history_find(daemon_parts(cluster_daemon(scene->cluster, 0))->history, id);
}

static void expect_said(const char *text, const char *part)
{
	if (text == NULL || strstr(text, part) == NULL) {
		fail_msg("\"%s\" does not hold \"%s\"", text ? text : "(null)", part);
	}
}

static void a_disruptive_run_waits_until_the_port_is_free_and_others_go_first(void **state)
{
	struct scene scene;
	const struct coordinator *coordinator;
	const struct run *waiting;
	const struct run *run;
	const char *in_use = NULL;
	json_t *progress;
	char bulk[32];

	scene_begin(&scene, scenarios);
	scene.bytes_per_second = 1000000000; /* 8 % of 100 Gbit/s */
	pass(&scene, 5);
	text_copy(bulk, sizeof(bulk), cluster_run(scene.cluster, 0, "bulk"));
	pass(&scene, 20);
	coordinator = daemon_parts(cluster_daemon(scene.cluster, 0))->coordinator;
	waiting = coordinator_waiting_at(coordinator, 0, &in_use);
	assert_non_null(waiting);
	assert_string_equal(waiting->id, bulk);
	expect_said(in_use, "others use fake1 port 1 of \"node02\": ");
	expect_said(in_use, "limits.allow_disruptive is when_idle");
	progress = coordinator_progress(coordinator, bulk);
	in_use = json_string_value(json_object_get(
		json_object_get(json_array_get(json_object_get(progress, "active"), 0), "in_use"),
		"text"));
	expect_said(in_use, "of \"node02\"");
	json_decref(progress);

	cluster_expect_pass(scene.cluster, 0, "ping");
	assert_int_equal(find_run(&scene, bulk)->state, RUN_RUNNING);

	scene.bytes_per_second = 0;
	pass(&scene, 20);
	run = cluster_wait_run(scene.cluster, 0, bulk);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_true(run->measurements[0]->responder.port_use.is_told);
	expect_said(run->measurements[0]->responder.port_use.text, "0 % of its rate");
	/* It counts from its turn, not from when it was asked for. */
	assert_true(run->measurements[0]->accepted_to_first_post_ns < 10 * SECOND_NS);
	assert_int_equal(coordinator_waiting(coordinator), 0);
	scene_end(&scene);
}

static void traffic_of_its_own_keeps_nobody_waiting(void **state)
{
	struct scene scene;

	scene_begin(&scene, scenarios);
	for (unsigned i = 0; i < 3; i++) {
		const char *id = cluster_run(scene.cluster, 0, "bulk");
		const struct run *run;

		/* What it moves is in the port's counters. */
		world_run(cluster_world(scene.cluster), SECOND_NS / 100);
		scene.bytes += 1ull << 32;
		write_counters(&scene);
		run = cluster_wait_run(scene.cluster, 0, id);
		cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	}
	scene_end(&scene);
}

static void a_port_that_stays_in_use_ends_it_inconclusive_by_name(void **state)
{
	struct scene scene;
	const struct run *run;
	char bulk[32];

	scene_begin(&scene, scenarios);
	scene.bytes_per_second = 2000000000;
	pass(&scene, 5);
	text_copy(bulk, sizeof(bulk), cluster_run(scene.cluster, 0, "bulk"));
	pass(&scene, 580);
	assert_int_equal(find_run(&scene, bulk)->state, RUN_RUNNING);
	pass(&scene, 30);
	run = find_run(&scene, bulk);
	assert_int_equal(run->state, RUN_DONE);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RESOURCE, "in_use", "RDT-0140");
	expect_said(run->measurements[0]->first_error.error.text,
		    "% of its rate, moved in the last");
	expect_said(run->measurements[0]->first_error.error.text, "of \"node02\"");
	scene_end(&scene);
}

static void a_run_that_waits_can_be_cancelled(void **state)
{
	struct scene scene;
	struct coordinator *coordinator;
	const struct run *run;
	char bulk[32];

	scene_begin(&scene, scenarios);
	scene.bytes_per_second = 2000000000;
	pass(&scene, 5);
	text_copy(bulk, sizeof(bulk), cluster_run(scene.cluster, 0, "bulk"));
	pass(&scene, 10);
	coordinator = daemon_parts(cluster_daemon(scene.cluster, 0))->coordinator;
	assert_int_equal(coordinator_waiting(coordinator), 1);
	world_enter(cluster_node(scene.cluster, 0));
	assert_int_equal(coordinator_cancel(coordinator, bulk, "by the test"), 0);
	world_enter(NULL);
	pass(&scene, 1);
	run = find_run(&scene, bulk);
	assert_int_equal(run->state, RUN_DONE);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	assert_int_equal(coordinator_waiting(coordinator), 0);
	scene_end(&scene);
}

/* Each gives up before the next is due; stopping in the midst of one leaves nothing behind. */
static void a_scheduled_run_gives_up_before_it_is_due_again(void **state)
{
	struct scene scene;
	const struct history *history;
	size_t done = 0;

	scene_begin(&scene, scheduled);
	scene.bytes_per_second = 2000000000;
	pass(&scene, 600);
	history = daemon_parts(cluster_daemon(scene.cluster, 0))->history;
	for (size_t i = 0; i < history_count(history); i++) {
		const struct run *run = history_at(history, i);

		if (run->state == RUN_DONE && run->started_real_ns > 0) {
			cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RESOURCE,
				       "in_use", "RDT-0140");
			done++;
		}
	}
	assert_in_range(done, 1, 5);
	scene_end(&scene);
}

static const char hourly[] =
	"scenarios:\n"
	"  - name: soak\n"
	"    disruptive: true\n"
	"    schedule: { on: [manual], every: 30s }\n"
	"    workload: { pattern: stream, load: { outstanding: 2 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 2s, interval: 1s }\n"
	"    expect: [errors == 0]\n";

static void scheduled_runs_stop_at_their_share_of_the_hour(void **state)
{
	struct cluster *cluster = cluster_new(22, 2, hourly);
	struct fabric_link link = { .latency_ns = 500000 };
	const struct parts *parts;
	size_t passed = 0;
	size_t full = 0;

	/* 0.5 % of an hour: 18 s, nine runs. */
	cluster_set(cluster, 1, "limits", "{ duty_cycle: 0.5% }");
	fabric_set_link(world_fabric(cluster_world(cluster)), NULL, NULL, &link);
	cluster_start_all(cluster);
	world_run(cluster_world(cluster), 900 * SECOND_NS);
	parts = daemon_parts(cluster_daemon(cluster, 0));
	for (size_t i = 0; i < history_count(parts->history); i++) {
		const struct run *run = history_at(parts->history, i);

		passed += run->verdict == VERDICT_PASS;
		if (run->verdict == VERDICT_INCONCLUSIVE) {
			cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_RESOURCE,
				       "duty_cycle", "RDT-0141");
			full++;
		}
	}
	assert_in_range(passed, 7, 9);
	assert_true(full > 10);
	/* By hand it goes all the same, and counts. */
	cluster_expect_pass(cluster, 0, "soak");
	assert_true(agent_disruptive_ns(daemon_parts(cluster_daemon(cluster, 1))->agent,
					cluster_device(cluster, 1), 1) > 15 * SECOND_NS);
	/* An hour later there is room again. */
	world_run(cluster_world(cluster), 3600 * SECOND_NS);
	passed = 0;
	for (size_t i = 0; i < history_count(parts->history); i++) {
		passed += history_at(parts->history, i)->verdict == VERDICT_PASS;
	}
	assert_in_range(passed, 14, 20);
	cluster_free(cluster);
}

static size_t runs_of_verdict(struct scene *scene, enum verdict verdict)
{
	const struct history *history = daemon_parts(cluster_daemon(scene->cluster, 0))->history;
	size_t count = 0;

	for (size_t i = 0; i < history_count(history); i++) {
		count += history_at(history, i)->verdict == (int)verdict;
	}
	return count;
}

/* 18 s of the hour, of which each run of 2 s takes eight where the port is told of congestion. */
static void a_fabric_that_says_it_is_congested_gets_less_of_our_traffic(void **state)
{
	static const struct {
		uint64_t notifications_per_second;
		size_t least;
		size_t most;
	} rows[] = { { 0, 7, 9 }, { 50, 7, 9 }, { 2000, 2, 3 } };
	struct fabric_link link = { .latency_ns = 500000 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene = {
			.cluster = cluster_new(23, 2, hourly),
			.notifications_per_second = rows[i].notifications_per_second,
		};

		cluster_set(scene.cluster, 1, "limits", "{ duty_cycle: 0.5% }");
		fabric_set_link(world_fabric(cluster_world(scene.cluster)), NULL, NULL, &link);
		scene_start(&scene);
		pass(&scene, 400);
		assert_in_range(runs_of_verdict(&scene, VERDICT_PASS), rows[i].least, rows[i].most);
		scene_end(&scene);
	}
}

static const char by_hand[] =
	"scenarios:\n"
	"  - name: soak\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 2 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 2s, interval: 1s }\n"
	"    expect: [errors == 0]\n";

static void a_peer_has_its_time_of_the_hour_and_is_refused_beyond_it(void **state)
{
	struct cluster *cluster = cluster_new(24, 2, by_hand);
	struct fabric_link link = { .latency_ns = 500000 };
	const char *id;

	cluster_set(cluster, 1, "limits", "{ max_peer_time: 5s }");
	fabric_set_link(world_fabric(cluster_world(cluster)), NULL, NULL, &link);
	cluster_start_all(cluster);
	cluster_expect_pass(cluster, 0, "soak");
	cluster_expect_pass(cluster, 0, "soak");
	id = cluster_run(cluster, 0, "soak");
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_ERROR, ERROR_RESOURCE,
		       STAGE_RESOURCE, "permit", "RDT-0105");
	/* What that node asks for itself is its own affair; the other one has its own hour. */
	cluster_expect_pass(cluster, 1, "soak");
	/* An hour later there is room again. */
	world_run(cluster_world(cluster), 3700 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "soak");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disruptive_run_waits_until_the_port_is_free_and_others_go_first),
		cmocka_unit_test(traffic_of_its_own_keeps_nobody_waiting),
		cmocka_unit_test(a_port_that_stays_in_use_ends_it_inconclusive_by_name),
		cmocka_unit_test(a_run_that_waits_can_be_cancelled),
		cmocka_unit_test(scheduled_runs_stop_at_their_share_of_the_hour),
		cmocka_unit_test(a_fabric_that_says_it_is_congested_gets_less_of_our_traffic),
		cmocka_unit_test(a_peer_has_its_time_of_the_hour_and_is_refused_beyond_it),
		cmocka_unit_test(a_scheduled_run_gives_up_before_it_is_due_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
