// SPDX-License-Identifier: MIT
#include "unit/engines.h"

#include <errno.h>

static void the_first_scan_tells_ports_and_host(void **state)
{
	struct engines *engines = *state;
	const struct inventory *inventory = engine_inventory(engines->left.engine);

	assert_true(engine_has_scanned(engines->left.engine));
	assert_int_equal(inventory->port_count, 1);
	assert_string_equal(inventory->ports[0].device, "left");
	assert_string_equal(inventory->node, "left");
	assert_string_equal(inventory->boot_id, "11111111-2222-3333-4444-555555555555");
	assert_string_equal(inventory->version, RDMATESTD_VERSION);
	assert_string_equal(inventory->clock, "monotonic");
	assert_true(inventory->kernel[0] != '\0');
	assert_string_equal(engine_inventory(engines->right.engine)->ports[0].device, "right");
	assert_null(engines_sick(engines->left.engine));
	assert_true(engine_is_progressing(engines->left.engine));
}

static void scans_that_find_nothing_new_tell_nothing(void **state)
{
	struct engines *engines = *state;

	engine_configure(engines->left.engine, engines->left.settings);
	engine_configure(engines->left.engine, engines->left.settings);
	engines_run_for(engines, 300 * ENGINES_MS);
	assert_int_equal(engines->left.inventories, 1);
}

static void other_devices_configured_are_told(void **state)
{
	struct engines *engines = *state;

	engines->left.settings->device_count = 0;
	engine_configure(engines->left.engine, engines->left.settings);
	engines_run_for(engines, 300 * ENGINES_MS);
	assert_int_equal(engines->left.inventories, 2);
	assert_int_equal(engine_inventory(engines->left.engine)->port_count, 2);
	snprintf(engines->left.settings->node_name, sizeof(engines->left.settings->node_name),
		 "renamed");
	engine_configure(engines->left.engine, engines->left.settings);
	engines_run_for(engines, 300 * ENGINES_MS);
	assert_int_equal(engines->left.inventories, 3);
	assert_string_equal(engine_inventory(engines->left.engine)->node, "renamed");
}

static void a_device_that_appears_later_is_told_and_can_be_used(void **state)
{
	struct engines *engines = *state;
	uint64_t begun_mono_ns = clock_mono_ns();

	engines->left.settings->device_count = 2;
	engines->left.settings->devices[1] = (struct device_settings){
		.name = "late", .port_num = 1, .gid_index = SCHEMA_AUTO, .rail = SCHEMA_AUTO
	};
	engine_configure(engines->left.engine, engines->left.settings);
	engines_run_for(engines, 100 * ENGINES_MS);
	/* That it is not there is told, too. */
	assert_int_equal(engines->left.inventories, 2);
	assert_non_null(strstr(engine_inventory(engines->left.engine)->problem, "\"late\""));
	fabric_add_device(engines->fabric,
			  &(struct fabric_device_config){ .name = "late", .address = "10.0.0.3" });
	while (engines->left.inventories == 2) {
		assert_true(clock_mono_ns() - begun_mono_ns < ENGINES_PATIENCE_NS);
		sd_event_run(engines->event, 100000);
	}
	assert_non_null(inventory_port(engine_inventory(engines->left.engine), "late", 1));
	assert_string_equal(engine_inventory(engines->left.engine)->problem, "");
	snprintf(engines->initiator.assignment->initiator.device, LIMIT_NAME, "late");
	engines_start(engines);
	engines_wait(engines, &engines->initiator.is_finished);
	assert_int_equal(engines->initiator.totals.end, END_DURATION);
	engines_release(engines);
}

static void a_whole_measurement_goes_from_prepare_to_release(void **state)
{
	static const char *const steps[] = { "open_device", "alloc_pd",	    "map_buffer",
					     "reg_mr",	    "create_cq",    "create_qp",
					     "modify_init", "exchange",	    "modify_rtr",
					     "modify_rts",  "build_traffic" };
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;
	struct player *responder = &engines->responder;

	engines_start(engines);
	engines_wait(engines, &initiator->is_finished);
	assert_int_equal(initiator->totals.end, END_DURATION);
	assert_false(error_is_set(&initiator->totals.failure.error));
	assert_true(initiator->totals.operations > 0);
	assert_int_equal(initiator->totals.bytes, initiator->totals.operations * 4096);
	assert_in_range(initiator->totals.window_ns, 100 * ENGINES_MS, 2 * ENGINES_SECOND);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_non_null(engines_step(&initiator->totals.steps, steps[i]));
	}
	assert_int_equal(engines_step(&initiator->totals.steps, "reg_mr")->bytes, 8192);
	assert_int_equal(engines_step(&initiator->totals.steps, "exchange")->count, 1);
	/* Who only answers writes waits to be told. */
	assert_false(responder->is_finished);
	job_stop(responder->job);
	job_stop(responder->job);
	assert_false(responder->is_finished);
	engines_wait(engines, &responder->is_finished);
	assert_int_equal(responder->totals.end, END_STOPPED);
	assert_int_equal(responder->totals.operations, 0);
	assert_false(error_is_set(&responder->totals.failure.error));
	assert_string_equal(responder->totals.clock, "monotonic");
	engines_release(engines);
	assert_non_null(engines_step(&initiator->steps, "destroy_qp"));
	assert_non_null(engines_step(&initiator->steps, "dereg_mr"));
	/* The contexts stay open for the next one. */
	assert_int_equal(fabric_objects(engines->fabric), 2);
}

static void the_next_job_finds_the_device_open(void **state)
{
	struct engines *engines = *state;

	engines_prepare(engines);
	assert_non_null(engines_step(&engines->initiator.steps, "open_device"));
	engines_release(engines);
	player_reset(&engines->initiator);
	player_reset(&engines->responder);
	engines_prepare(engines);
	assert_null(engines_step(&engines->initiator.steps, "open_device"));
	engines_release(engines);
}

static void sends_are_answered_by_a_worker_that_stops_when_told(void **state)
{
	struct engines *engines = *state;

	engines->initiator.assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	engines->responder.assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	engines_start(engines);
	engines_wait(engines, &engines->initiator.is_finished);
	job_stop(engines->responder.job);
	engines_wait(engines, &engines->responder.is_finished);
	assert_int_equal(engines->responder.totals.end, END_STOPPED);
	assert_true(engines->responder.totals.receives >= engines->initiator.totals.operations);
	assert_true(engines->initiator.progress > 0);
	engines_release(engines);
}

static void what_jobs_hold_is_counted_until_they_are_released(void **state)
{
	struct engines *engines = *state;
	struct engine_usage usage;
	struct player second = { .assignment = engines->initiator.assignment };

	engines->initiator.assignment->workload.qp.num_qps = 3;
	engines->responder.assignment->workload.qp.num_qps = 3;
	engines_new_jobs(engines);
	second.job = job_new(engines->left.engine, second.assignment, &player_events, &second);
	engine_usage(engines->left.engine, &usage);
	assert_int_equal(usage.jobs, 2);
	assert_int_equal(usage.qps, 6);
	assert_int_equal(usage.pinned_bytes, 2 * 3 * 8192);
	assert_memory_equal(job_assignment(second.job), second.assignment,
			    sizeof(*second.assignment));
	job_release(second.job);
	assert_false(second.is_released);
	engines_wait(engines, &second.is_released);
	engine_usage(engines->left.engine, &usage);
	assert_int_equal(usage.jobs, 1);
	engines_release(engines);
	engine_usage(engines->left.engine, &usage);
	assert_int_equal(usage.jobs + usage.qps + usage.pinned_bytes, 0);
}

static void a_device_that_is_not_there_fails_the_job(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	snprintf(initiator->assignment->initiator.device, LIMIT_NAME, "absent");
	engines_new_jobs(engines);
	job_prepare(initiator->job);
	assert_false(initiator->is_failed);
	engines_wait(engines, &initiator->is_failed);
	engines_assert_says(&initiator->failure.error,
			    "RDMA device \"absent\" port 1 is not there");
	assert_int_equal(initiator->failure.error.class, ERROR_DEVICE);
	assert_int_equal(initiator->failure.error.stage, STAGE_DISCOVER);
	assert_string_equal(initiator->failure.error.call, "device");
	assert_string_equal(initiator->failure.node, "left");
	assert_string_equal(initiator->failure.device, "absent");
	engines_release(engines);
}

static void a_device_that_does_not_open_fails_the_job(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	fabric_set_verb(engines->fabric, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .error = EIO });
	engines_new_jobs(engines);
	job_prepare(initiator->job);
	engines_wait(engines, &initiator->is_failed);
	assert_string_equal(initiator->failure.error.call, "ibv_open_device");
	job_release(initiator->job);
	engines_wait(engines, &initiator->is_released);
	/* The next one tries again. */
	fabric_set_verb(engines->fabric, "left", FABRIC_OPEN_DEVICE, NULL);
	player_reset(initiator);
	initiator->job =
		job_new(engines->left.engine, initiator->assignment, &player_events, initiator);
	job_prepare(initiator->job);
	job_prepare(engines->responder.job);
	engines_wait(engines, &initiator->is_prepared);
	engines_release(engines);
}

static void a_limit_exceeded_fails_the_job_with_its_sentence(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	initiator->assignment->workload.qp.max_rd_atomic = 99;
	engines_new_jobs(engines);
	job_prepare(initiator->job);
	engines_wait(engines, &initiator->is_failed);
	engines_assert_says(&initiator->failure.error, "qp.max_rd_atomic 99 is above left's");
	assert_false(initiator->is_prepared);
	/* Nothing but a release makes sense now; the rest is ignored. */
	job_connect(initiator->job, &initiator->info);
	job_start(initiator->job);
	job_stop(initiator->job);
	job_prepare(initiator->job);
	engines_run_for(engines, 50 * ENGINES_MS);
	assert_int_equal(initiator->events, 1);
	engines_release(engines);
}

static void a_cpu_that_is_not_ours_fails_the_job(void **state)
{
	struct engines *engines = *state;

	engines->initiator.assignment->workload.cpu.affinity = 4095;
	engines_new_jobs(engines);
	job_prepare(engines->initiator.job);
	engines_wait(engines, &engines->initiator.is_failed);
	engines_assert_says(&engines->initiator.failure.error,
			    "cpu.affinity 4095 is not among the CPUs");
	assert_int_equal(engines->initiator.failure.error.class, ERROR_INPUT);
	engines_release(engines);
}

static void an_address_nobody_has_fails_the_connection(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	engines_prepare(engines);
	snprintf(engines->responder.info.gid, sizeof(engines->responder.info.gid),
		 "::ffff:10.9.9.9");
	job_connect(initiator->job, &engines->responder.info);
	engines_wait(engines, &initiator->is_failed);
	assert_int_equal(initiator->failure.error.stage, STAGE_MODIFY_QP);
	engines_assert_says(&initiator->failure.error, "::ffff:10.9.9.9");
	assert_non_null(engines_step(&initiator->steps, "modify_rtr"));
	engines_release(engines);
}

static void a_failing_operation_is_told_by_both_ends(void **state)
{
	struct engines *engines = *state;
	struct failure *failure = &engines->initiator.totals.failure;

	engines_prepare(engines);
	engines->responder.info.rkey ^= 0xff00;
	job_connect(engines->initiator.job, &engines->responder.info);
	job_connect(engines->responder.job, &engines->initiator.info);
	engines_wait(engines, &engines->initiator.is_connected);
	engines_wait(engines, &engines->responder.is_connected);
	job_start(engines->responder.job);
	job_start(engines->initiator.job);
	engines_wait(engines, &engines->initiator.is_finished);
	assert_int_equal(engines->initiator.totals.end, END_ERROR);
	assert_string_equal(failure->node, "left");
	assert_string_equal(failure->device, "left");
	assert_int_equal(failure->error.number, IBV_WC_REM_ACCESS_ERR);
	/* The device of the one who only waits raised an event. */
	engines_run_for(engines, 50 * ENGINES_MS);
	job_stop(engines->responder.job);
	engines_wait(engines, &engines->responder.is_finished);
	assert_int_equal(engines->responder.totals.end, END_ERROR);
	failure = &engines->responder.totals.failure;
	assert_string_equal(failure->error.call, "ibv_get_async_event");
	assert_int_equal(failure->qp_num, engines->responder.info.qps[0].qp_num);
	assert_string_equal(failure->node, "right");
	engines_release(engines);
}

static void a_job_may_be_released_inside_of_every_callback(void **state)
{
	struct engines *engines = *state;
	struct player *initiator = &engines->initiator;

	/* prepared */
	engines_new_jobs(engines);
	initiator->releases_itself = true;
	job_prepare(initiator->job);
	engines_wait(engines, &initiator->is_released);
	assert_int_equal(initiator->events, 2);
	job_release(engines->responder.job);
	engines_wait(engines, &engines->responder.is_released);
	/* connected */
	player_reset(initiator);
	player_reset(&engines->responder);
	engines_prepare(engines);
	initiator->releases_itself = true;
	job_connect(initiator->job, &engines->responder.info);
	engines_wait(engines, &initiator->is_released);
	assert_int_equal(initiator->events, 3);
	engines_release(engines);
	/* started, of both kinds */
	player_reset(initiator);
	player_reset(&engines->responder);
	engines_connect(engines);
	initiator->releases_itself = true;
	engines->responder.releases_itself = true;
	job_start(engines->responder.job);
	job_start(initiator->job);
	engines_wait(engines, &initiator->is_released);
	engines_wait(engines, &engines->responder.is_released);
	assert_false(initiator->is_finished);
	assert_false(engines->responder.is_finished);
	/* finished, failed */
	player_reset(initiator);
	player_reset(&engines->responder);
	engines_start(engines);
	initiator->releases_itself = true;
	engines_wait(engines, &initiator->is_released);
	assert_true(initiator->is_finished || initiator->progress > 0);
	engines->responder.releases_itself = true;
	job_stop(engines->responder.job);
	engines_wait(engines, &engines->responder.is_released);
	player_reset(initiator);
	player_reset(&engines->responder);
	engines_prepare(engines);
	initiator->releases_itself = true;
	engines->responder.info.qp_count = 9;
	job_connect(initiator->job, &engines->responder.info);
	engines_wait(engines, &initiator->is_released);
	assert_true(initiator->is_failed);
	engines_release(engines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, engines_set_up, engines_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_scan_tells_ports_and_host),
		TEST(scans_that_find_nothing_new_tell_nothing),
		TEST(other_devices_configured_are_told),
		TEST(a_device_that_appears_later_is_told_and_can_be_used),
		TEST(a_whole_measurement_goes_from_prepare_to_release),
		TEST(the_next_job_finds_the_device_open),
		TEST(sends_are_answered_by_a_worker_that_stops_when_told),
		TEST(what_jobs_hold_is_counted_until_they_are_released),
		TEST(a_device_that_is_not_there_fails_the_job),
		TEST(a_device_that_does_not_open_fails_the_job),
		TEST(a_limit_exceeded_fails_the_job_with_its_sentence),
		TEST(a_cpu_that_is_not_ours_fails_the_job),
		TEST(an_address_nobody_has_fails_the_connection),
		TEST(a_failing_operation_is_told_by_both_ends),
		TEST(a_job_may_be_released_inside_of_every_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
