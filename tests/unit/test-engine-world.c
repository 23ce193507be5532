// SPDX-License-Identifier: MIT
#include "unit/engines.h"

#include <errno.h>

#include "fake/world.h"

/*
 * The engine in the stepped harness: the same code in one thread under virtual time, where every
 * duration is exact.
 */

struct side {
	struct node *node;
	struct engines_node engine;
	struct player player;
};

struct stage {
	struct world *world;
	struct fabric *fabric;
	struct tree tree;
	struct side left;
	struct side right;
};

static void add_device(struct stage *stage, const char *name, const char *host, const char *address)
{
	fabric_add_device(stage->fabric, &(struct fabric_device_config){
						 .name = name, .host = host, .address = address });
}

static void side_init(struct stage *stage, struct side *side, const char *name, const char *address,
		      int role)
{
	side->node = world_add_node(stage->world,
				    &(struct node_options){ .name = name, .address = address });
	side->player.assignment = assignments_new(role, PATTERN_STREAM, OPERATION_WRITE, 4096);
	world_enter(side->node);
	struct engine_options options = { .event = world_event(side->node),
					  .sys_root = stage->tree.root,
					  .inventory = engines_inventory,
					  .arg = &side->engine };
	side->engine.settings = calloc(1, sizeof(*side->engine.settings));
	assert_int_equal(engine_new(&side->engine.engine, &options, side->engine.settings, NULL),
			 0);
	world_enter(NULL);
}

static int set_up(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	tree_init(&stage->tree);
	stage->world = world_new(5);
	stage->fabric = world_fabric(stage->world);
	add_device(stage, "left", "left", "10.0.0.1");
	add_device(stage, "right", "right", "10.0.0.2");
	side_init(stage, &stage->left, "left", "10.0.0.1", ROLE_INITIATOR);
	side_init(stage, &stage->right, "right", "10.0.0.2", ROLE_RESPONDER);
	world_run(stage->world, 10 * ENGINES_MS);
	assert_int_equal(stage->left.engine.inventories, 1);
	*state = stage;
	return 0;
}

static void side_done(struct side *side)
{
	player_reset(&side->player);
	free(side->player.assignment);
	world_enter(side->node);
	assert_int_equal(engine_free(side->engine.engine, clock_mono_ns() + ENGINES_SECOND), 0);
	world_enter(NULL);
	free(side->engine.settings);
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	side_done(&stage->left);
	side_done(&stage->right);
	assert_int_equal(fabric_objects(stage->fabric), 0);
	world_free(stage->world);
	tree_done(&stage->tree);
	free(stage);
	return 0;
}

static bool is_set(void *arg)
{
	return *(const bool *)arg;
}

static void wait_for(struct stage *stage, bool *fact)
{
	assert_true(world_run_until(stage->world, is_set, fact, 60 * ENGINES_SECOND));
}

/* A call on the control thread of that side. */
static void side_new_job(struct side *side)
{
	world_enter(side->node);
	side->player.job = job_new(side->engine.engine, side->player.assignment, &player_events,
				   &side->player);
	job_prepare(side->player.job);
	world_enter(NULL);
}

static void side_call(struct side *side, void (*call)(struct job *job))
{
	world_enter(side->node);
	call(side->player.job);
	world_enter(NULL);
}

static void prepare(struct stage *stage)
{
	side_new_job(&stage->left);
	side_new_job(&stage->right);
	wait_for(stage, &stage->left.player.is_prepared);
	wait_for(stage, &stage->right.player.is_prepared);
}

static void connect_sides(struct stage *stage)
{
	prepare(stage);
	world_enter(stage->left.node);
	job_connect(stage->left.player.job, &stage->right.player.info);
	world_enter(stage->right.node);
	job_connect(stage->right.player.job, &stage->left.player.info);
	world_enter(NULL);
	wait_for(stage, &stage->left.player.is_connected);
	wait_for(stage, &stage->right.player.is_connected);
}

static void release(struct stage *stage)
{
	side_call(&stage->left, job_release);
	side_call(&stage->right, job_release);
	wait_for(stage, &stage->left.player.is_released);
	wait_for(stage, &stage->right.player.is_released);
}

static void run_once(struct stage *stage)
{
	connect_sides(stage);
	side_call(&stage->right, job_start);
	side_call(&stage->left, job_start);
	wait_for(stage, &stage->left.player.is_finished);
	side_call(&stage->right, job_stop);
	wait_for(stage, &stage->right.player.is_finished);
	release(stage);
}

static void a_measurement_runs_under_virtual_time(void **state)
{
	struct stage *stage = *state;
	struct totals *totals = &stage->left.player.totals;

	run_once(stage);
	assert_int_equal(totals->end, END_DURATION);
	assert_true(totals->operations > 1000);
	assert_string_equal(totals->clock, "virtual");
	assert_in_range(totals->window_ns, 100 * ENGINES_MS, 101 * ENGINES_MS);
	assert_int_equal(fabric_objects(stage->fabric), 2);
}

static void slow_steps_are_told_to_the_nanosecond(void **state)
{
	struct stage *stage = *state;

	fabric_set_verb(stage->fabric, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .cost_ns = 30 * ENGINES_MS });
	fabric_set_verb(stage->fabric, "left", FABRIC_REG_MR,
			&(struct fabric_verb_fault){ .cost_ns = 250 * ENGINES_MS });
	fabric_set_verb(stage->fabric, "left", FABRIC_MODIFY_RTR,
			&(struct fabric_verb_fault){ .cost_ns = 1030 * ENGINES_MS });
	run_once(stage);
	const struct steps *steps = &stage->left.player.steps;
	/* The scan opens, too, but on its own pool. */
	assert_int_equal(engines_step(steps, "open_device")->duration_ns, 30 * ENGINES_MS);
	assert_int_equal(engines_step(steps, "reg_mr")->duration_ns, 250 * ENGINES_MS);
	assert_int_equal(engines_step(steps, "modify_rtr")->duration_ns, 1030 * ENGINES_MS);
	assert_int_equal(engines_step(steps, "modify_rts")->duration_ns, 0);
	/* Who was prepared last hears of the other at once; that one waited for it. */
	assert_int_equal(engines_step(steps, "exchange")->duration_ns, 0);
	assert_int_equal(engines_step(&stage->right.player.steps, "exchange")->duration_ns,
			 280 * ENGINES_MS);
}

static void a_context_nobody_used_for_ten_seconds_is_closed(void **state)
{
	struct stage *stage = *state;

	prepare(stage);
	release(stage);
	assert_int_equal(fabric_objects(stage->fabric), 2);
	world_run(stage->world, 6 * ENGINES_SECOND);
	assert_int_equal(fabric_objects(stage->fabric), 2);
	/*
	 * Who comes before the end is served by the same context, and the ten seconds begin anew.
	 */
	player_reset(&stage->left.player);
	player_reset(&stage->right.player);
	prepare(stage);
	assert_null(engines_step(&stage->left.player.steps, "open_device"));
	world_run(stage->world, 30 * ENGINES_SECOND);
	release(stage);
	world_run(stage->world, 9 * ENGINES_SECOND);
	assert_int_equal(fabric_objects(stage->fabric), 2);
	world_run(stage->world, 2 * ENGINES_SECOND);
	assert_int_equal(fabric_objects(stage->fabric), 0);
}

static void scans_come_every_two_seconds_and_see_what_came_and_went(void **state)
{
	struct stage *stage = *state;

	add_device(stage, "late", "left", "10.0.0.3");
	world_run(stage->world, 1500 * ENGINES_MS);
	assert_int_equal(stage->left.engine.inventories, 1);
	world_run(stage->world, 1000 * ENGINES_MS);
	assert_int_equal(stage->left.engine.inventories, 2);
	assert_int_equal(engine_inventory(stage->left.engine.engine)->port_count, 2);
	/* Not of this host. */
	assert_int_equal(stage->right.engine.inventories, 1);
	fabric_lose_device(stage->fabric, "late");
	world_run(stage->world, 2500 * ENGINES_MS);
	assert_int_equal(stage->left.engine.inventories, 3);
	assert_int_equal(engine_inventory(stage->left.engine.engine)->port_count, 1);
	world_run(stage->world, 60 * ENGINES_SECOND);
	assert_int_equal(stage->left.engine.inventories, 3);
}

static void a_device_lost_without_a_word_is_closed_within_three_seconds(void **state)
{
	struct stage *stage = *state;

	prepare(stage);
	fabric_lose_device(stage->fabric, "left");
	wait_for(stage, &stage->left.player.is_failed);
	side_call(&stage->left, job_release);
	wait_for(stage, &stage->left.player.is_released);
	world_run(stage->world, 10 * ENGINES_MS);
	/* Of the right: context, pd, mr, two cqs, qp. */
	assert_int_equal(fabric_objects(stage->fabric), 6);
	side_call(&stage->right, job_release);
	wait_for(stage, &stage->right.player.is_released);
}

static void a_call_of_over_ten_seconds_makes_a_device_sick_until_it_returns(void **state)
{
	struct stage *stage = *state;

	fabric_set_verb(stage->fabric, "left", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .cost_ns = 15 * ENGINES_SECOND, .count = 1 });
	side_new_job(&stage->left);
	world_run(stage->world, 9 * ENGINES_SECOND);
	world_enter(stage->left.node);
	assert_null(engines_sick(stage->left.engine.engine));
	world_enter(NULL);
	world_run(stage->world, 2 * ENGINES_SECOND);
	world_enter(stage->left.node);
	assert_string_equal(engines_sick(stage->left.engine.engine), "left");
	world_enter(NULL);
	/* Told while the call is still out, and what comes then is told to nobody. */
	wait_for(stage, &stage->left.player.is_failed);
	engines_assert_says(&stage->left.player.failure.error,
			    "\"left\" is sick: ibv_create_qp has not returned for 10 s");
	assert_int_equal(stage->left.player.failure.error.class, ERROR_RESOURCE);
	assert_int_equal(stage->left.player.steps.count, 0);
	world_run(stage->world, 5 * ENGINES_SECOND);
	assert_int_equal(stage->left.player.events, 1);
	world_enter(stage->left.node);
	assert_null(engines_sick(stage->left.engine.engine));
	world_enter(NULL);
	side_call(&stage->left, job_release);
	wait_for(stage, &stage->left.player.is_released);
}

/* How late a loop looks at a timer of 1 ms at the latest. */
struct pulse {
	uint64_t due_mono_ns;
	uint64_t latest_ns;
};

static int on_pulse(sd_event_source *source, uint64_t usec, void *arg)
{
	struct pulse *pulse = arg;
	uint64_t now_mono_ns = clock_mono_ns();

	if (now_mono_ns > pulse->due_mono_ns + pulse->latest_ns) {
		pulse->latest_ns = now_mono_ns - pulse->due_mono_ns;
	}
	pulse->due_mono_ns = now_mono_ns + ENGINES_MS;
	sd_event_source_set_time(source, pulse->due_mono_ns / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void a_worker_that_does_not_end_holds_up_its_job_and_not_the_loop(void **state)
{
	struct stage *stage = *state;
	struct player *player = &stage->left.player;
	struct pulse pulse = { 0 };
	sd_event_source *source = NULL;

	connect_sides(stage);
	side_call(&stage->right, job_start);
	side_call(&stage->left, job_start);
	wait_for(stage, &player->is_finished);
	world_hold(stage->left.node, "worker-0");
	world_enter(stage->left.node);
	pulse.due_mono_ns = clock_mono_ns() + ENGINES_MS;
	assert_true(sd_event_add_time(world_event(stage->left.node), &source, CLOCK_MONOTONIC,
				      pulse.due_mono_ns / 1000, 1, on_pulse, &pulse) >= 0);
	job_release(player->job);
	world_enter(NULL);
	/* Longer than one task waits. */
	world_run(stage->world, 2 * ENGINES_SECOND);
	assert_false(player->is_released);
	/* The queue pair and all else is gone: contexts are left, and what the other end has. */
	assert_int_equal(fabric_objects(stage->fabric), 2 + 5);
	world_hold(stage->left.node, NULL);
	wait_for(stage, &player->is_released);
	assert_in_range(pulse.latest_ns, 0, ENGINES_MS);
	sd_event_source_disable_unref(source);
	side_call(&stage->right, job_release);
	wait_for(stage, &stage->right.player.is_released);
}

static bool is_progressing(struct side *side)
{
	struct node *before = world_enter(side->node);
	bool ret = engine_is_progressing(side->engine.engine);

	world_enter(before);
	return ret;
}

static void a_worker_that_makes_no_step_is_noticed(void **state)
{
	struct stage *stage = *state;

	stage->left.player.assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	connect_sides(stage);
	side_call(&stage->right, job_start);
	side_call(&stage->left, job_start);
	for (unsigned i = 0; i < 3; i++) {
		world_run(stage->world, 2 * ENGINES_MS);
		assert_true(is_progressing(&stage->left));
		/* A passive end has nobody who could stand still. */
		assert_true(is_progressing(&stage->right));
	}
	world_hold(stage->left.node, "worker-0");
	world_run(stage->world, 2 * ENGINES_MS);
	(void)is_progressing(&stage->left);
	world_run(stage->world, 2 * ENGINES_MS);
	assert_false(is_progressing(&stage->left));
	world_hold(stage->left.node, NULL);
	world_run(stage->world, 2 * ENGINES_MS);
	assert_true(is_progressing(&stage->left));
	side_call(&stage->left, job_stop);
	wait_for(stage, &stage->left.player.is_finished);
	release(stage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_measurement_runs_under_virtual_time),
		TEST(slow_steps_are_told_to_the_nanosecond),
		TEST(a_context_nobody_used_for_ten_seconds_is_closed),
		TEST(scans_come_every_two_seconds_and_see_what_came_and_went),
		TEST(a_device_lost_without_a_word_is_closed_within_three_seconds),
		TEST(a_call_of_over_ten_seconds_makes_a_device_sick_until_it_returns),
		TEST(a_worker_that_does_not_end_holds_up_its_job_and_not_the_loop),
		TEST(a_worker_that_makes_no_step_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
