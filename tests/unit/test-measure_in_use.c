// SPDX-License-Identifier: MIT
#include "unit/measure-world.h"

static void say_in_use(struct world *world, const char *node)
{
	json_t *message = json_object();

	json_set_string(message, "role", strcmp(node, "node2") == 0 ? "initiator" : "responder");
	json_set_u64(message, "retry_after_ns", 1000000);
	json_set_string(message, "cause", "in_use");
	json_set_string(message, "error", "others use it: ib_write_bw (process 4711)");
	measure_message(world->measure, node, "busy", message);
	json_decref(message);
}

static void run_until_sent(struct world *world, size_t count)
{
	for (int i = 0; i < 1000 && world->sent_count < count; i++) {
		sd_event_run(world->event, 10000);
	}
	assert_true(world->sent_count >= count);
}

static void a_port_that_others_use_is_waited_for_with_nothing_held(void **state)
{
	struct world *world = new_world();
	uint64_t retry_ns;
	uint64_t give_up_ns;

	measure_start(world->measure);
	assert_null(measure_in_use(world->measure, &retry_ns, &give_up_ns));
	answer(world, "node1", "prepared", "info", new_info());
	world->may_not_try = true;
	say_in_use(world, "node2");
	expect_sent(world, 2, "node1 release responder");
	answer(world, "node1", "released", NULL, NULL);
	assert_int_equal(world->deferred, 1);
	assert_string_equal(measure_in_use(world->measure, &retry_ns, &give_up_ns),
			    "others use it: ib_write_bw (process 4711)");
	assert_non_null(strstr(measure_phase(world->measure), "waiting for a port"));
	/* Others measure: it asks again, and sends nothing. */
	for (int i = 0; i < 1000 && world->asked < 2; i++) {
		sd_event_run(world->event, 10000);
	}
	assert_true(world->asked >= 2);
	assert_int_equal(world->sent_count, 3);

	world->may_not_try = false;
	run_until_sent(world, 4);
	expect_sent(world, 3, "node1 prepare responder");
	assert_null(measure_in_use(world->measure, &retry_ns, &give_up_ns));
	say_in_use(world, "node1");
	assert_int_equal(world->deferred, 2);
	run_until_sent(world, 5);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "prepared", "info", new_info());
	expect_sent(world, 6, "node2 connect initiator");
	assert_string_equal(world->measurement->coordination
				    .items[world->measurement->coordination.count - 1]
				    .name,
			    "in_use_wait");
	measure_abort(world->measure, "test is over");
	free_world(world);
}

static void a_port_that_stays_in_use_ends_it_with_its_users(void **state)
{
	struct world *world = new_world_until(clock_mono_ns() + SECOND_NS / 2);
	const struct failure *failure = &world->measurement->responder.failure;

	measure_start(world->measure);
	/* Nobody has to give it the turn for that. */
	world->may_not_try = true;
	say_in_use(world, "node1");
	run_until_done(world);
	assert_int_equal(world->sent_count, 1);
	assert_string_equal(failure->error.call, "in_use");
	assert_int_equal(failure->error.class, ERROR_PEER);
	assert_string_equal(failure->node, "node1");
	assert_non_null(strstr(failure->error.text, "ib_write_bw (process 4711)"));
	assert_non_null(strstr(failure->error.text, "it waited for "));
	free_world(world);
}

static void a_measurement_that_waits_for_a_port_is_aborted_at_once(void **state)
{
	struct world *world = new_world();
	uint64_t retry_ns;
	uint64_t give_up_ns;

	measure_start(world->measure);
	say_in_use(world, "node1");
	measure_abort(world->measure, "test is over");
	assert_null(measure_in_use(world->measure, &retry_ns, &give_up_ns));
	run_until_done(world);
	assert_string_equal(world->measurement->initiator.failure.error.call, "abort");
	free_world(world);
}

static void what_an_end_saw_of_its_port_is_in_the_record(void **state)
{
	struct world *world = new_world();
	json_t *message = json_object();
	json_t *use = json_object();

	measure_start(world->measure);
	json_set_string(message, "role", "responder");
	json_set_take(message, "info", new_info());
	json_set_string(use, "state", "unseen");
	json_set_string(use, "text", "not seen: queue pairs of others");
	json_set_take(message, "port_use", use);
	measure_message(world->measure, "node1", "prepared", message);
	assert_true(world->measurement->responder.port_use.is_told);
	assert_int_equal(world->measurement->responder.port_use.state, PORT_USE_UNSEEN);
	assert_string_equal(world->measurement->responder.port_use.text,
			    "not seen: queue pairs of others");
	json_set_string(message, "role", "initiator");
	json_set_string(use, "state", "sleepy");
	measure_message(world->measure, "node2", "prepared", message);
	assert_string_equal(world->measurement->initiator.failure.error.call, "message");
	json_decref(message);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_others_use_is_waited_for_with_nothing_held),
		cmocka_unit_test(a_port_that_stays_in_use_ends_it_with_its_users),
		cmocka_unit_test(a_measurement_that_waits_for_a_port_is_aborted_at_once),
		cmocka_unit_test(what_an_end_saw_of_its_port_is_in_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
