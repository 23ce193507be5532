// SPDX-License-Identifier: MIT
#include "unit/engines.h"

#include <errno.h>

static void set_cost(struct engines *engines, const char *device, enum fabric_verb verb,
		     uint64_t cost_ns)
{
	fabric_set_verb(engines->fabric, device, verb,
			&(struct fabric_verb_fault){ .cost_ns = cost_ns });
}

static void clear_cost(struct engines *engines, const char *device, enum fabric_verb verb)
{
	fabric_set_verb(engines->fabric, device, verb, NULL);
}

/* Contexts that the engines keep open count as well. */
static void assert_only_contexts(struct engines *engines)
{
	assert_in_range(fabric_objects(engines->fabric), 0, 2);
}

static void a_job_released_before_anything_happened_is_released(void **state)
{
	struct engines *engines = *state;

	engines_new_jobs(engines);
	job_release(engines->initiator.job);
	job_release(engines->initiator.job);
	job_prepare(engines->initiator.job);
	assert_false(engines->initiator.is_released);
	engines_release(engines);
	assert_int_equal(engines->initiator.events, 1);
	assert_int_equal(fabric_objects(engines->fabric), 0);
}

static void a_job_released_while_its_device_opens_does_not_wait_for_it(void **state)
{
	struct engines *engines = *state;
	uint64_t begun_mono_ns = clock_mono_ns();

	set_cost(engines, "left", FABRIC_OPEN_DEVICE, 500 * ENGINES_MS);
	engines_new_jobs(engines);
	job_prepare(engines->initiator.job);
	job_release(engines->initiator.job);
	engines_release(engines);
	assert_true(clock_mono_ns() - begun_mono_ns < 450 * ENGINES_MS);
	assert_int_equal(engines->initiator.events, 1);
	clear_cost(engines, "left", FABRIC_OPEN_DEVICE);
}

static void a_job_released_during_a_setup_call_waits_for_its_reply(void **state)
{
	struct engines *engines = *state;

	set_cost(engines, "left", FABRIC_REG_MR, 100 * ENGINES_MS);
	engines_new_jobs(engines);
	job_prepare(engines->initiator.job);
	engines_run_for(engines, 50 * ENGINES_MS);
	job_release(engines->initiator.job);
	engines_wait(engines, &engines->initiator.is_released);
	assert_int_equal(engines->initiator.events, 1);
	assert_non_null(engines_step(&engines->initiator.steps, "reg_mr"));
	assert_non_null(engines_step(&engines->initiator.steps, "dereg_mr"));
	assert_only_contexts(engines);
	/* And the same while it fails. */
	player_reset(&engines->initiator);
	fabric_set_verb(engines->fabric, "left", FABRIC_REG_MR,
			&(struct fabric_verb_fault){ .cost_ns = 100 * ENGINES_MS,
						     .error = EFAULT });
	engines->initiator.job = job_new(engines->left.engine, engines->initiator.assignment,
					 &player_events, &engines->initiator);
	job_prepare(engines->initiator.job);
	engines_run_for(engines, 50 * ENGINES_MS);
	engines_release(engines);
	assert_false(engines->initiator.is_failed);
	clear_cost(engines, "left", FABRIC_REG_MR);
}

static void a_job_released_while_it_connects_waits_for_the_reply(void **state)
{
	struct engines *engines = *state;

	engines_prepare(engines);
	set_cost(engines, "left", FABRIC_MODIFY_RTR, 100 * ENGINES_MS);
	job_connect(engines->initiator.job, &engines->responder.info);
	engines_run_for(engines, 20 * ENGINES_MS);
	engines_release(engines);
	assert_false(engines->initiator.is_connected);
	assert_only_contexts(engines);
	clear_cost(engines, "left", FABRIC_MODIFY_RTR);
}

static void jobs_released_connected_running_or_finished_leave_nothing(void **state)
{
	struct engines *engines = *state;

	engines_prepare(engines);
	engines_release(engines);
	assert_only_contexts(engines);
	player_reset(&engines->initiator);
	player_reset(&engines->responder);
	engines_connect(engines);
	engines_release(engines);
	assert_only_contexts(engines);
	player_reset(&engines->initiator);
	player_reset(&engines->responder);
	engines->initiator.assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	engines_start(engines);
	engines_release(engines);
	assert_false(engines->initiator.is_finished);
	assert_false(engines->responder.is_finished);
	assert_only_contexts(engines);
	/* A responder of sends has a worker of its own. */
	player_reset(&engines->initiator);
	player_reset(&engines->responder);
	engines->initiator.assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	engines->responder.assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	engines_start(engines);
	engines_release(engines);
	assert_only_contexts(engines);
	player_reset(&engines->initiator);
	player_reset(&engines->responder);
	engines->initiator.assignment->workload.run.duration_ns = 30 * ENGINES_MS;
	engines_start(engines);
	engines_wait(engines, &engines->initiator.is_finished);
	engines_release(engines);
	assert_only_contexts(engines);
}

static void a_hung_verb_makes_its_device_sick_and_no_other(void **state)
{
	struct engines *engines = *state;
	struct player *other = &engines->responder;
	struct daemon_settings *settings = engines->left.settings;
	uint64_t now_mono_ns;

	/* One engine with both devices: "left" hangs, "right" measures against itself. */
	settings->device_count = 0;
	engine_configure(engines->left.engine, settings);
	while (engine_inventory(engines->left.engine)->port_count < 2) {
		sd_event_run(engines->event, 100000);
	}
	set_cost(engines, "left", FABRIC_REG_MR, UINT64_MAX);
	engines_new_jobs(engines);
	job_prepare(engines->initiator.job);
	engines_run_for(engines, 50 * ENGINES_MS);
	job_release(engines->initiator.job);
	assert_null(engines_sick(engines->left.engine));
	/* Eleven seconds later, for this call. */
	now_mono_ns = clock_mono_ns();
	fake_clock_start(now_mono_ns + 11 * ENGINES_SECOND);
	const char *sick = engines_sick(engines->left.engine);
	fake_clock_stop();
	assert_string_equal(sick, "left");
	assert_null(engines_sick(engines->right.engine));
	/* The other device of the same engine goes on. */
	struct player mine = { .assignment = assignments_new(ROLE_INITIATOR, PATTERN_STREAM,
							     OPERATION_WRITE, 64) };
	snprintf(mine.assignment->initiator.device, LIMIT_NAME, "right");
	mine.job = job_new(engines->left.engine, mine.assignment, &player_events, &mine);
	job_prepare(mine.job);
	job_prepare(other->job);
	engines_wait(engines, &mine.is_prepared);
	engines_wait(engines, &other->is_prepared);
	/* 64-byte buffers are enough for the peer of this one. */
	job_connect(mine.job, &other->info);
	engines_wait(engines, &mine.is_connected);
	job_release(mine.job);
	engines_wait(engines, &mine.is_released);
	free(mine.assignment);
	/* What hung comes back in the end. */
	assert_false(engines->initiator.is_released);
	clear_cost(engines, "left", FABRIC_REG_MR);
	engines_release(engines);
	assert_null(engines_sick(engines->left.engine));
}

static void a_hung_scan_names_the_device_it_asks(void **state)
{
	struct engines *engines = *state;
	uint64_t now_mono_ns;

	set_cost(engines, "left", FABRIC_QUERY_PORT, UINT64_MAX);
	engine_configure(engines->left.engine, engines->left.settings);
	engines_run_for(engines, 50 * ENGINES_MS);
	now_mono_ns = clock_mono_ns();
	fake_clock_start(now_mono_ns + 11 * ENGINES_SECOND);
	const char *sick = engines_sick(engines->left.engine);
	fake_clock_stop();
	assert_string_equal(sick, "left");
	clear_cost(engines, "left", FABRIC_QUERY_PORT);
}

static void a_hung_thread_does_not_hold_up_the_end(void **state)
{
	struct engines *engines = *state;
	struct engine *engine = NULL;
	struct engine_options options = { .event = engines->event, .sys_root = engines->tree.root };
	uint64_t begun_mono_ns = clock_mono_ns();

	set_cost(engines, "left", FABRIC_QUERY_PORT, UINT64_MAX);
	assert_int_equal(engine_new(&engine, &options, engines->left.settings, NULL), 0);
	engines_run_for(engines, 20 * ENGINES_MS);
	assert_false(engine_has_scanned(engine));
	assert_int_equal(engine_free(engine, clock_mono_ns() + 100 * ENGINES_MS), -ETIMEDOUT);
	assert_true(clock_mono_ns() - begun_mono_ns < 10 * ENGINES_SECOND);
	clear_cost(engines, "left", FABRIC_QUERY_PORT);
	assert_int_equal(engine_free(engine, clock_mono_ns() + ENGINES_PATIENCE_NS), 0);
}

static void a_device_removed_during_the_run_ends_it_with_an_error(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	initiator->assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	initiator->assignment->workload.run.stall_timeout_ns = 30 * ENGINES_SECOND;
	engines_start(engines);
	engines_run_for(engines, 50 * ENGINES_MS);
	fabric_remove_device(engines->fabric, "left");
	engines_wait(engines, &initiator->is_finished);
	assert_int_equal(initiator->totals.end, END_ERROR);
	assert_true(error_is_set(&initiator->totals.failure.error));
	assert_string_equal(initiator->totals.failure.device, "left");
	engines_run_for(engines, 100 * ENGINES_MS);
	assert_int_equal(engine_inventory(engines->left.engine)->port_count, 0);
	/* Closed when the last job left, not ten seconds later: the kernel waits for that. */
	job_release(initiator->job);
	engines_wait(engines, &initiator->is_released);
	job_release(engines->responder.job);
	engines_wait(engines, &engines->responder.is_released);
	engines_run_for(engines, 100 * ENGINES_MS);
	assert_int_equal(fabric_objects(engines->fabric), 1);
}

static void a_passive_end_whose_device_is_removed_finishes_with_an_error(void **state)
{
	struct engines *engines = *state;

	engines->initiator.assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	engines_start(engines);
	fabric_remove_device(engines->fabric, "right");
	engines_wait(engines, &engines->responder.is_finished);
	assert_int_equal(engines->responder.totals.end, END_ERROR);
	engines_assert_says(&engines->responder.totals.failure.error,
			    "\"right\" reported a fatal error");
	assert_int_equal(engines->responder.totals.failure.error.class, ERROR_DEVICE);
	engines_release(engines);
}

static void a_device_lost_without_a_word_is_noticed_by_the_scan(void **state)
{
	struct engines *engines = *state;

	engines_prepare(engines);
	fabric_lose_device(engines->fabric, "left");
	engines_wait(engines, &engines->initiator.is_failed);
	engines_assert_says(&engines->initiator.failure.error, "\"left\" was removed");
	/* Before any traffic: its moment is 0, and its stage says so. */
	assert_int_equal(engines->initiator.failure.at_ns, 0);
	assert_int_equal(engines->initiator.failure.error.stage, STAGE_RESOURCE);
	assert_false(engines->responder.is_failed);
	engines_release(engines);
}

static void a_device_that_came_back_is_opened_anew(void **state)
{
	struct engines *engines = *state;

	engines_prepare(engines);
	fabric_remove_device(engines->fabric, "left");
	engines_wait(engines, &engines->initiator.is_failed);
	fabric_add_device(engines->fabric,
			  &(struct fabric_device_config){ .name = "left", .address = "10.0.0.1" });
	engine_configure(engines->left.engine, engines->left.settings);
	/* Before the old context is closed. */
	struct player next = { .assignment = engines->initiator.assignment };
	while (engine_inventory(engines->left.engine)->port_count == 0) {
		sd_event_run(engines->event, 100000);
	}
	next.job = job_new(engines->left.engine, next.assignment, &player_events, &next);
	job_prepare(next.job);
	engines_run_for(engines, 50 * ENGINES_MS);
	assert_false(next.is_prepared || next.is_failed);
	engines_release(engines);
	engines_wait(engines, &next.is_prepared);
	assert_non_null(engines_step(&next.steps, "open_device"));
	job_release(next.job);
	engines_wait(engines, &next.is_released);
}

static void a_port_that_goes_down_is_told_at_once(void **state)
{
	struct engines *engines = *state;
	uint64_t begun_mono_ns;

	engines_prepare(engines);
	begun_mono_ns = clock_mono_ns();
	fabric_set_port(engines->fabric, "left", false);
	while (engine_inventory(engines->left.engine)->ports[0].state != PORT_STATE_DOWN) {
		assert_true(clock_mono_ns() - begun_mono_ns < ENGINES_SECOND);
		sd_event_run(engines->event, 10000);
	}
	assert_int_equal(engines->left.inventories, 2);
	engines_release(engines);
}

/* A new process would hang in the same place: nothing that a watchdog could help. */
static void a_worker_in_a_call_that_hangs_makes_its_device_sick(void **state)
{
	struct engines *engines = *state;
	uint64_t now_mono_ns;
	struct hang hang;

	engines->initiator.assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	engines_start(engines);
	set_cost(engines, "left", FABRIC_MODIFY_ERR, UINT64_MAX);
	job_stop(engines->initiator.job);
	while (!engine_waits_for(engines->left.engine, &hang)) {
		engines_run_for(engines, 5 * ENGINES_MS);
	}
	assert_string_equal(hang.device, "left");
	assert_string_equal(hang.call, "ibv_modify_qp");
	for (unsigned i = 0; i < 3; i++) {
		engines_run_for(engines, 50 * ENGINES_MS);
		assert_true(engine_is_progressing(engines->left.engine));
	}
	now_mono_ns = clock_mono_ns();
	fake_clock_start(now_mono_ns + 11 * ENGINES_SECOND);
	const char *sick = engines_sick(engines->left.engine);
	fake_clock_stop();
	assert_string_equal(sick, "left");
	clear_cost(engines, "left", FABRIC_MODIFY_ERR);
	engines_wait(engines, &engines->initiator.is_finished);
	assert_null(engines_sick(engines->left.engine));
	engines_release(engines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, engines_set_up, engines_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_job_released_before_anything_happened_is_released),
		TEST(a_job_released_while_its_device_opens_does_not_wait_for_it),
		TEST(a_job_released_during_a_setup_call_waits_for_its_reply),
		TEST(a_job_released_while_it_connects_waits_for_the_reply),
		TEST(jobs_released_connected_running_or_finished_leave_nothing),
		TEST(a_hung_verb_makes_its_device_sick_and_no_other),
		TEST(a_hung_scan_names_the_device_it_asks),
		TEST(a_hung_thread_does_not_hold_up_the_end),
		TEST(a_device_removed_during_the_run_ends_it_with_an_error),
		TEST(a_passive_end_whose_device_is_removed_finishes_with_an_error),
		TEST(a_device_lost_without_a_word_is_noticed_by_the_scan),
		TEST(a_device_that_came_back_is_opened_anew),
		TEST(a_port_that_goes_down_is_told_at_once),
		TEST(a_worker_in_a_call_that_hangs_makes_its_device_sick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
