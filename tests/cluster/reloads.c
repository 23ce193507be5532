// SPDX-License-Identifier: MIT

/* The configuration is read again: what that changes, what it leaves alone, and a disk that hangs.
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
#include "reload.h"
#include "unit/log-capture.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: long\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n"
	"    expect: [errors == 0]\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: labelled\n"
	"    peers: { from: \"role=tester\" }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

static struct cluster *new_pair(void)
{
	return cluster_new_pair(11, scenarios);
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
	cluster_expect_pass(cluster, 0, "short");
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
	cluster_expect_pass(cluster, 0, "labelled");
	cluster_free(cluster);
}

static void what_a_good_configuration_is_warned_of_is_logged_at_reload(void **state)
{
	struct cluster *cluster = new_pair();
	struct log_capture capture;
	struct reload_wait wait;

	cluster_start_all(cluster);
	log_capture_begin(&capture);
	reload(cluster, 0, &wait);
	log_capture_end(&capture);
	assert_true(wait.is_ok);
	assert_non_null(strstr(capture.lines, "traffic_class"));
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
	cluster_expect_pass(cluster, 0, "short");

	cluster_write_scenarios(
		cluster, 0,
		"scenarios:\n  - name: renamed\n    workload: { pattern: pingpong, ops: [{ op: send, size: 8B }] }\n"
		"    run: { warmup: 0s, iterations: 10 }\n");
	reload(cluster, 0, &wait);
	assert_true(wait.is_ok);
	assert_int_equal(daemon_parts(cluster_daemon(cluster, 0))->config->generation, 2);
	assert_true(daemon_parts(cluster_daemon(cluster, 0))->is_last_reload_ok);
	cluster_expect_pass(cluster, 0, "renamed");
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

static void begin_reload(struct cluster *cluster, size_t index, struct reload_wait *wait)
{
	struct node *before = world_enter(cluster_node(cluster, index));

	*wait = (struct reload_wait){ 0 };
	daemon_reload(cluster_daemon(cluster, index), on_reloaded, wait);
	world_enter(before);
}

static void a_disk_that_hangs_refuses_reloads_and_nothing_else(void **state)
{
	struct cluster *cluster = new_pair();
	struct daemon *daemon;
	struct reload_wait wait;

	cluster_start_all(cluster);
	daemon = cluster_daemon(cluster, 0);
	world_hold(cluster_node(cluster, 0), "reload");
	begin_reload(cluster, 0, &wait);
	/* The daemon lives on meanwhile. */
	cluster_expect_pass(cluster, 0, "short");
	assert_false(wait.is_told);
	assert_true(world_run_until(cluster_world(cluster), is_told, &wait,
				    RELOAD_TIMEOUT_NS + SECOND_NS));
	assert_false(wait.is_ok);
	assert_non_null(strstr(wait.problems, "not read within 10 s"));
	assert_non_null(strstr(wait.problems, "node01.rdmatestd.yaml"));
	assert_false(daemon_parts(daemon)->is_last_reload_ok);
	cluster_expect_pass(cluster, 0, "short");

	/* While it hangs, the next one is refused at once. */
	begin_reload(cluster, 0, &wait);
	assert_true(world_run_until(cluster_world(cluster), is_told, &wait, SECOND_NS));
	assert_false(wait.is_ok);
	assert_non_null(strstr(wait.problems, "still hangs"));

	/* What it read in the end is old, and thrown away; from then on all is as before. */
	world_hold(cluster_node(cluster, 0), NULL);
	world_run(cluster_world(cluster), SECOND_NS);
	assert_int_equal(daemon_parts(daemon)->config->generation, 1);
	reload(cluster, 0, &wait);
	assert_true(wait.is_ok);
	assert_int_equal(daemon_parts(daemon)->config->generation, 2);
	assert_true(daemon_parts(daemon)->is_last_reload_ok);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_that_a_reload_gives_a_peer_count_for_the_session_it_has),
		cmocka_unit_test(labels_that_a_reload_gives_this_node_are_planned_with),
		cmocka_unit_test(what_a_good_configuration_is_warned_of_is_logged_at_reload),
		cmocka_unit_test(a_broken_configuration_at_reload_changes_nothing),
		cmocka_unit_test(
			a_run_goes_on_with_the_scenario_it_began_with_when_a_reload_removes_it),
		cmocka_unit_test(a_disk_that_hangs_refuses_reloads_and_nothing_else),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
