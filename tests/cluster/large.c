// SPDX-License-Identifier: MIT

/* A thousand peers: what takes thousands of steps leaves the loop its turns. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "run/execution.h"
#include "run/history.h"
#include "util/memory.h"

#define SECOND_NS 1000000000ull
#define GHOSTS 999

static const char scenarios[] =
	"scenarios:\n"
	"  - name: star\n"
	"    peers: { from: \"name=node01\" }\n"
	"    topology: { max_pairs: 4096 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: mesh\n"
	"    topology: { max_pairs: 4096 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

/* Looks before every turn of the loop how much the last one did. */
struct bystander {
	const struct run *run;
	sd_event_source *source;
	int fd;
	size_t seen;
	size_t most; /* measurements in one turn */
};

static int on_never(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	return 0;
}

static int before_turn(sd_event_source *source, void *arg)
{
	struct bystander *bystander = arg;
	size_t done = bystander->run->measurement_count;

	if (done - bystander->seen > bystander->most) {
		bystander->most = done - bystander->seen;
	}
	bystander->seen = done;
	return 0;
}

static void watch(struct cluster *cluster, const char *id, struct bystander *ret)
{
	struct node *before = world_enter(cluster_node(cluster, 0));

	*ret = (struct bystander){
		.run = history_find(daemon_parts(cluster_daemon(cluster, 0))->history, id),
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	assert_non_null(ret->run);
	assert_true(sd_event_add_io(world_event(cluster_node(cluster, 0)), &ret->source, ret->fd,
				    EPOLLIN, on_never, ret) >= 0);
	assert_true(sd_event_source_set_prepare(ret->source, before_turn) >= 0);
	world_enter(before);
}

static void watch_end(struct bystander *bystander)
{
	sd_event_source_disable_unref(bystander->source);
	close(bystander->fd);
}

static struct cluster *new_star(void)
{
	struct cluster *cluster = cluster_new(21, 2, scenarios);

	cluster_add_ghosts(cluster, 0, GHOSTS);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	return cluster;
}

static void a_thousand_refused_pairs_are_judged_in_turns(void **state)
{
	struct cluster *cluster = new_star();
	struct bystander bystander;
	const struct run *run;
	size_t passed = 0;

	watch(cluster, cluster_run(cluster, 0, "star"), &bystander);
	run = cluster_wait_run(cluster, 0, bystander.run->id);
	assert_ptr_equal(run, bystander.run);
	watch_end(&bystander);
	assert_int_equal(run->measurement_count, GHOSTS + 1);
	assert_true(bystander.most > 0);
	assert_true(bystander.most <= EXECUTION_PIECE);
	for (size_t i = 0; i < run->measurement_count; i++) {
		passed += run->measurements[i]->verdict == VERDICT_PASS;
		assert_true(run->measurements[i]->verdict != VERDICT_NONE);
	}
	/* Among all that cannot be reached the one that can is measured. */
	assert_int_equal(passed, 1);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	cluster_free(cluster);
}

static void a_mesh_above_max_pairs_is_refused_whole(void **state)
{
	struct cluster *cluster = new_star();
	const struct run *run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "mesh"));

	assert_int_equal(run->measurement_count, 0);
	assert_int_equal(run->verdict, VERDICT_ERROR);
	assert_non_null(strstr(run->error.error.text, "topology.max_pairs 4096"));
	cluster_free(cluster);
}

/* Stopped in the middle: every pair has its record, and none is made in one go. */
static bool has_begun(void *arg)
{
	const struct run *run = arg;

	return run->measurement_count > 0;
}

static void a_large_run_that_is_stopped_has_a_record_for_every_pair(void **state)
{
	struct cluster *cluster = new_star();
	struct coordinator *coordinator = daemon_parts(cluster_daemon(cluster, 0))->coordinator;
	struct bystander bystander;
	const struct run *run;
	struct node *before;

	watch(cluster, cluster_run(cluster, 0, "star"), &bystander);
	/* The ghosts are awaited first. */
	assert_true(world_run_until(cluster_world(cluster), has_begun, (void *)bystander.run,
				    EXECUTION_MEET_NS + SECOND_NS));
	while (bystander.run->measurement_count < 100) {
		before = world_enter(cluster_node(cluster, 0));
		sd_event_run(world_event(cluster_node(cluster, 0)), 0);
		world_enter(before);
	}
	before = world_enter(cluster_node(cluster, 0));
	assert_int_equal(coordinator_cancel(coordinator, bystander.run->id, "not wanted"), 0);
	world_enter(before);
	run = cluster_wait_run(cluster, 0, bystander.run->id);
	watch_end(&bystander);
	assert_int_equal(run->measurement_count, GHOSTS + 1);
	assert_true(bystander.most <= EXECUTION_PIECE);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	assert_string_equal(run->error.error.call, "abort");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_refused_pairs_are_judged_in_turns),
		cmocka_unit_test(a_mesh_above_max_pairs_is_refused_whole),
		cmocka_unit_test(a_large_run_that_is_stopped_has_a_record_for_every_pair),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
