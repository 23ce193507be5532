// SPDX-License-Identifier: MIT

/* A scheduled scenario whose peer or device went away is resumed by itself, before its next turn.
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
#include "run/retry.h"
#include "util/memory.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)

static const char scenarios[] =
	"scenarios:\n"
	"  - name: hourly\n"
	"    schedule: { every: 1h, on: [startup] }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n";

/* Runs that node01 did, and the newest of them. */
struct count {
	struct cluster *cluster;
	size_t wanted;
};

static size_t count_done(struct cluster *cluster)
{
	const struct history *history = daemon_parts(cluster_daemon(cluster, 0))->history;
	size_t count = 0;

	for (size_t i = 0; i < history_count(history); i++) {
		count += history_at(history, i)->state == RUN_DONE;
	}
	return count;
}

static bool has_done(void *arg)
{
	const struct count *count = arg;

	return count_done(count->cluster) >= count->wanted;
}

static const struct run *wait_for_run(struct cluster *cluster, size_t number, uint64_t timeout_ns)
{
	struct count count = { .cluster = cluster, .wanted = number };

	assert_true(world_run_until(cluster_world(cluster), has_done, &count, timeout_ns));
	return history_at(daemon_parts(cluster_daemon(cluster, 0))->history, 0);
}

static void a_device_that_comes_back_is_measured_before_the_next_turn(void **state)
{
	struct cluster *cluster = cluster_new(23, 2, scenarios);
	const struct run *first;
	const struct run *run;
	char id[sizeof(run->id)];
	int64_t ended_real_ns;

	cluster_set_device(cluster, 1, false);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	first = wait_for_run(cluster, 1, 60 * SECOND_NS);
	cluster_expect(first, VERDICT_ERROR, ERROR_DEVICE, STAGE_DISCOVER, "device", "RDT-0106");
	assert_int_equal(first->trigger, TRIGGER_STARTUP);
	memcpy(id, first->id, sizeof(id));
	ended_real_ns = first->ended_real_ns;
	for (uint64_t attempt = 1; attempt <= 3; attempt++) {
		run = wait_for_run(cluster, 1 + attempt, 120 * SECOND_NS);
		assert_int_equal(run->trigger, TRIGGER_RETRY);
		assert_int_equal(run->retry.attempt, attempt);
		assert_string_equal(run->retry.of, id);
		assert_true(run->retry.since_real_ns == ended_real_ns);
	}
	cluster_set_device(cluster, 1, true);
	run = wait_for_run(cluster, 5, 120 * SECOND_NS);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	assert_int_equal(run->retry.attempt, 4);
	_cleanup_json_ json_t *record = run_write_summary(run);
	const json_t *retry = json_object_get(record, "retry");
	assert_string_equal(json_string_value(json_object_get(retry, "of")), id);
	assert_int_equal(json_integer_value(json_object_get(retry, "attempt")), 4);
	/* Then the schedule alone goes on. */
	world_run(cluster_world(cluster), HOUR_NS / 2);
	assert_int_equal(count_done(cluster), 5);
	run = wait_for_run(cluster, 6, HOUR_NS);
	assert_int_equal(run->trigger, TRIGGER_SCHEDULE);
	assert_int_equal(run->verdict, VERDICT_PASS);
	cluster_free(cluster);
}

static void a_peer_that_stays_away_is_not_asked_for_ever(void **state)
{
	struct cluster *cluster = cluster_new(23, 2, scenarios);
	const struct run *run;

	cluster_start(cluster, 0);
	run = wait_for_run(cluster, 1, 60 * SECOND_NS);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_DISCOVER, "connect",
		       "RDT-0102");
	world_run(cluster_world(cluster), HOUR_NS / 2);
	assert_int_equal(count_done(cluster), 1 + RETRY_MOST);
	world_run(cluster_world(cluster), HOUR_NS / 4);
	assert_int_equal(count_done(cluster), 1 + RETRY_MOST);
	/* The schedule goes on all the same, and then all is as it was. */
	cluster_start(cluster, 1);
	run = wait_for_run(cluster, 2 + RETRY_MOST, HOUR_NS);
	assert_int_equal(run->trigger, TRIGGER_SCHEDULE);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	cluster_free(cluster);
}

/* One that lasts between two nodes that are there, and one that is tried at startup of a third. */
static const char beside[] = "scenarios:\n"
			     "  - name: boot\n"
			     "    peers: { from: name=node01, to: name=node03 }\n"
			     "    schedule: { on: [startup, manual] }\n"
			     "    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
			     "    run: { warmup: 0s, iterations: 50 }\n"
			     "  - name: long\n"
			     "    peers: { from: name=node01, to: name=node02 }\n"
			     "    cq: { mode: event }\n"
			     "    workload: { pattern: stream, ops: [{ op: write, size: 8B }],\n"
			     "      load: { model: open, ops_rate: 10/s } }\n"
			     "    run: { warmup: 0s, duration: 30s }\n";

struct attempt {
	struct cluster *cluster;
	uint64_t number;
	const struct run *run; /* once it is done */
};

static bool was_tried(void *arg)
{
	struct attempt *attempt = arg;
	const struct history *history = daemon_parts(cluster_daemon(attempt->cluster, 0))->history;

	for (size_t i = 0; i < history_count(history); i++) {
		const struct run *run = history_at(history, i);

		if (run->state == RUN_DONE && run->trigger == TRIGGER_RETRY &&
		    run->retry.attempt == attempt->number) {
			attempt->run = run;
			return true;
		}
	}
	return false;
}

static const struct run *wait_for_attempt(struct cluster *cluster, uint64_t number)
{
	struct attempt attempt = { .cluster = cluster, .number = number };

	if (!world_run_until(cluster_world(cluster), was_tried, &attempt, 60 * SECOND_NS)) {
		fail_msg("attempt %u did not come", (unsigned)number);
	}
	return attempt.run;
}

static void cancel_all(struct cluster *cluster)
{
	const struct parts *parts = daemon_parts(cluster_daemon(cluster, 0));

	world_enter(cluster_node(cluster, 0));
	for (size_t i = 0; i < history_count(parts->history); i++) {
		const struct run *run = history_at(parts->history, i);

		if (run->state != RUN_DONE) {
			coordinator_cancel(parts->coordinator, run->id, "enough");
		}
	}
	world_enter(NULL);
}

/* A queue without room when it is due, and then a run of the same scenario by hand. */
static void a_retry_that_finds_no_place_comes_later(void **state)
{
	struct cluster *cluster = cluster_new(29, 3, beside);
	const struct run *run;

	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	run = wait_for_run(cluster, 1, 60 * SECOND_NS);
	assert_int_equal(run->trigger, TRIGGER_STARTUP);
	cluster_expect(run, VERDICT_INCONCLUSIVE, ERROR_PEER, STAGE_DISCOVER, "connect",
		       "RDT-0102");
	for (size_t i = 0; i < 1 + COORDINATOR_QUEUE; i++) {
		cluster_run(cluster, 0, "long");
		world_run(cluster_world(cluster), SECOND_NS / 1000);
	}
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	assert_int_equal(count_done(cluster), 1);
	cancel_all(cluster);
	run = wait_for_attempt(cluster, 1);
	assert_int_equal(run->verdict, VERDICT_INCONCLUSIVE);
	/* The next is due in 10 to 15 s. */
	cluster_run(cluster, 0, "long");
	cluster_run(cluster, 0, "boot");
	cluster_start(cluster, 2);
	run = wait_for_attempt(cluster, 2);
	cluster_expect(run, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
	/* Once it is well, nothing is tried any more. */
	world_run(cluster_world(cluster), 600 * SECOND_NS);
	assert_int_equal(count_done(cluster), 1 + 1 + COORDINATOR_QUEUE + 1 + 2 + 1);
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_comes_back_is_measured_before_the_next_turn),
		cmocka_unit_test(a_peer_that_stays_away_is_not_asked_for_ever),
		cmocka_unit_test(a_retry_that_finds_no_place_comes_later),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
