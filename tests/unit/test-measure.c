// SPDX-License-Identifier: MIT
#include "unit/measure-world.h"

static void a_good_measurement_goes_its_way_in_order(void **state)
{
	struct world *world = new_world();

	come_to_running(world);
	expect_sent(world, 0, "node1 prepare responder"); /* the smaller name first */
	expect_sent(world, 1, "node2 prepare initiator");
	expect_sent(world, 2, "node2 connect initiator");
	expect_sent(world, 3, "node1 connect responder");
	expect_sent(world, 4, "node1 start responder");
	expect_sent(world, 5, "node2 start initiator");
	assert_string_equal(measure_phase(world->measure), "warming up"); /* the default: 1 s */
	answer(world, "node2", "finished", "totals", new_totals(END_DURATION, NULL));
	expect_sent(world, 6, "node1 stop responder");
	answer(world, "node1", "finished", "totals", new_totals(END_STOPPED, NULL));
	expect_sent(world, 7, "node2 release initiator");
	expect_sent(world, 8, "node1 release responder");
	answer(world, "node2", "released", NULL, NULL);
	assert_false(world->is_done);
	answer(world, "node1", "released", NULL, NULL);
	assert_false(world->is_done); /* never from inside a call */
	run_until_done(world);
	assert_int_equal(world->sent_count, 9);
	assert_true(world->measurement->initiator.has_totals);
	assert_true(world->measurement->responder.has_totals);
	assert_false(error_is_set(&world->measurement->initiator.failure.error));
	free_world(world);
}

static void a_refusal_by_the_second_end_releases_the_first(void **state)
{
	struct world *world = new_world();
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -EPERM, ERROR_RESOURCE, "limits.max_qps");
	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "failed", "failure", failure_write(&failure));
	expect_sent(world, 2, "node2 release initiator");
	expect_sent(world, 3, "node1 release responder");
	answer(world, "node1", "released", NULL, NULL);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_int_equal(world->measurement->initiator.failure.error.class, ERROR_RESOURCE);
	assert_false(error_is_set(&world->measurement->responder.failure.error));
	free_world(world);
}

static void a_lost_responder_stops_the_initiator_and_is_not_waited_for(void **state)
{
	struct world *world = new_world();
	struct error why = ERROR_INIT;

	error_set(&why, -ECONNRESET, ERROR_PEER, "node1 closed the connection");
	come_to_running(world);
	measure_lost(world->measure, "node1", &why);
	expect_sent(world, 6, "node2 stop initiator");
	answer(world, "node2", "finished", "totals", new_totals(END_STOPPED, NULL));
	expect_sent(world, 7, "node2 release initiator");
	assert_int_equal(world->sent_count, 8);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_string_equal(world->measurement->responder.failure.error.call, "session");
	assert_int_equal(world->measurement->responder.failure.error.stage, STAGE_RUN);
	free_world(world);
}

static void a_node_without_a_session_is_told_at_once(void **state)
{
	struct world *world = new_world();

	world->unreachable = "node1";
	measure_start(world->measure);
	run_until_done(world);
	assert_int_equal(world->sent_count, 0);
	assert_string_equal(world->measurement->responder.failure.error.call, "connect");
	assert_int_equal(world->measurement->responder.failure.error.class, ERROR_PEER);
	free_world(world);
}

static void a_peer_lost_between_the_two_prepares_is_recorded(void **state)
{
	struct world *world = new_world();
	struct error why = ERROR_INIT;

	error_set(&why, -ECONNRESET, ERROR_PEER, "gone");
	measure_start(world->measure);
	measure_lost(world->measure, "node2", &why);
	assert_string_equal(world->measurement->initiator.failure.error.text, "gone");
	expect_sent(world, 1, "node1 release responder");
	answer(world, "node1", "released", NULL, NULL);
	run_until_done(world);
	free_world(world);
}

static void a_busy_end_lets_the_other_go_and_is_asked_again(void **state)
{
	struct world *world = new_world();

	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "busy", "retry_after_ns", json_integer(1000000));
	expect_sent(world, 2, "node1 release responder");
	assert_string_equal(measure_phase(world->measure), "waiting");
	answer(world, "node1", "released", NULL, NULL);
	for (int i = 0; i < 100 && world->sent_count < 4; i++) {
		sd_event_run(world->event, 10000);
	}
	expect_sent(world, 3, "node1 prepare responder");
	answer(world, "node1", "prepared", "info", new_info());
	expect_sent(world, 4, "node2 prepare initiator");
	measure_abort(world->measure, "test is over");
	answer(world, "node1", "released", NULL, NULL);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_string_equal(world->measurement->initiator.failure.error.call, "abort");
	free_world(world);
}

static void a_node_may_not_speak_for_the_other(void **state)
{
	struct world *world = new_world();
	json_t *message = json_object();

	measure_start(world->measure);
	json_set_string(message, "role", "responder");
	json_set_take(message, "info", new_info());
	measure_message(world->measure, "node2", "prepared", message);
	json_decref(message);
	assert_int_equal(world->sent_count, 1);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

static void an_answer_that_cannot_be_read_ends_it(void **state)
{
	struct world *world = new_world();

	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", json_integer(7));
	assert_int_equal(world->measurement->responder.failure.error.class, ERROR_PEER);
	expect_sent(world, 1, "node1 release responder");
	answer(world, "node1", "released", NULL, NULL);
	run_until_done(world);
	free_world(world);
}

static void the_responders_error_waits_for_what_the_initiator_saw(void **state)
{
	struct world *world = new_world();
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -EIO, ERROR_DEVICE, "LOC_LEN_ERR");
	come_to_running(world);
	answer(world, "node1", "finished", "totals", new_totals(END_ERROR, &failure));
	assert_int_equal(world->sent_count, 6); /* the initiator will see it too */
	answer(world, "node2", "finished", "totals", new_totals(END_ERROR, &failure));
	expect_sent(world, 6, "node2 release initiator");
	answer(world, "node1", "released", NULL, NULL);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_true(error_is_set(&world->measurement->responder.failure.error));
	assert_true(error_is_set(&world->measurement->initiator.failure.error));
	free_world(world);
}

/* Both count from the same moment: an answer in time must not lose against the coordinator's timer.
 */
static void what_the_initiator_says_of_its_timeout_is_the_error(void **state)
{
	struct world *world = new_world();
	struct failure failure = FAILURE_INIT;
	uint64_t until_mono_ns;

	world->measurement->assignment.workload.run.timeout_ns = 20000000;
	error_set(&failure.error, -ETIMEDOUT, ERROR_INPUT, "not done at run.timeout");
	come_to_running(world);
	until_mono_ns = clock_mono_ns() + 100000000;
	while (clock_mono_ns() < until_mono_ns) {
		sd_event_run(world->event, 10000);
	}
	assert_int_equal(world->sent_count, 6); /* nobody was told to stop */
	answer(world, "node2", "finished", "totals", new_totals(END_DEADLINE, &failure));
	answer(world, "node1", "finished", "totals", new_totals(END_STOPPED, NULL));
	answer(world, "node1", "released", NULL, NULL);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_int_equal(world->measurement->initiator.failure.error.class, ERROR_INPUT);
	free_world(world);
}

/* A peer of another release, or one that lies: what it measured is not what was asked. */
static void totals_of_another_assignment_are_an_error_and_not_a_result(void **state)
{
	struct world *world = new_world();
	struct totals totals;

	come_to_running(world);
	sample_totals_init(&totals);
	totals.end = END_DURATION;
	totals.operations = 1000000;
	totals.window_ns = SECOND_NS;
	answer(world, "node2", "finished", "totals", sample_totals_write(&totals));
	assert_false(world->measurement->initiator.has_totals);
	assert_int_equal(world->measurement->initiator.totals.operations, 0);
	assert_int_equal(world->measurement->initiator.failure.error.class, ERROR_PEER);
	assert_int_equal(world->measurement->initiator.failure.error.stage, STAGE_RUN);
	assert_string_equal(world->measurement->initiator.failure.error.call, "message");
	assert_non_null(strstr(world->measurement->initiator.failure.error.text,
			       "0 classes of operations, the assignment has 1"));
	answer(world, "node1", "finished", "totals", new_totals(END_STOPPED, NULL));
	answer(world, "node1", "released", NULL, NULL);
	answer(world, "node2", "released", NULL, NULL);
	run_until_done(world);
	assert_true(world->measurement->responder.has_totals);
	free_world(world);
}

/* Half read is not read: nothing of it may show. */
static void totals_that_break_off_leave_nothing(void **state)
{
	struct world *world = new_world();
	json_t *json = new_totals(END_DURATION, NULL);

	json_object_set_new(json, "operations", json_integer(77));
	json_object_del(json, "intervals");
	come_to_running(world);
	answer(world, "node2", "finished", "totals", json);
	assert_false(world->measurement->initiator.has_totals);
	assert_int_equal(world->measurement->initiator.totals.operations, 0);
	assert_true(error_is_set(&world->measurement->initiator.failure.error));
	free_world(world);
}

static void what_was_not_asked_for_yet_is_ignored(void **state)
{
	struct world *world = new_world();

	measure_start(world->measure);
	/* node2 has not been asked for anything. */
	answer(world, "node2", "prepared", "info", new_info());
	answer(world, "node2", "busy", "retry_after_ns", json_integer(1000000));
	answer(world, "node2", "started", NULL, NULL);
	answer(world, "node2", "finished", "totals", new_totals(END_DURATION, NULL));
	assert_int_equal(world->sent_count, 1);
	assert_string_equal(measure_phase(world->measure), "preparing");
	assert_false(world->measurement->initiator.has_totals);
	answer(world, "node1", "prepared", "info", new_info());
	expect_sent(world, 1, "node2 prepare initiator");
	assert_int_equal(world->sent_count, 2); /* and not connected on its early word */
	answer(world, "node2", "prepared", "info", new_info());
	answer(world, "node2", "prepared", "info", json_integer(7)); /* once is enough */
	assert_int_equal(world->sent_count, 4);
	assert_non_null(world->measurement->initiator.info);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

static void nobody_says_busy_as_fast_as_the_network_goes(void **state)
{
	struct world *world = new_world();
	uint64_t asked_mono_ns;

	measure_start(world->measure);
	asked_mono_ns = clock_mono_ns();
	answer(world, "node1", "busy", "retry_after_ns", json_integer(0));
	for (int i = 0; i < 1000 && world->sent_count < 2; i++) {
		sd_event_run(world->event, 10000);
	}
	expect_sent(world, 1, "node1 prepare responder");
	assert_true(clock_mono_ns() - asked_mono_ns >= SECOND_NS / 10);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

/* It posted when it says, not when its answer came: the way back is not counted. */
static void the_first_post_is_the_initiators_not_its_answers(void **state)
{
	struct world *world = new_world();
	struct timespec pause = { .tv_nsec = 40000000 };
	uint64_t all_ns;
	uint64_t start_ns;

	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "prepared", "info", new_info());
	answer(world, "node1", "connected", NULL, NULL);
	answer(world, "node2", "connected", NULL, NULL);
	answer(world, "node1", "started", NULL, NULL);
	start_ns = clock_mono_ns() - world->accepted_mono_ns;
	nanosleep(&pause, NULL);
	assert_int_equal(world->measurement->accepted_to_first_post_ns, 0);
	answer(world, "node2", "started", "first_post_ns", json_integer(1000));
	all_ns = clock_mono_ns() - world->accepted_mono_ns;
	/* Half of the 40 ms and more that the two ways took. */
	assert_in_range(world->measurement->accepted_to_first_post_ns, start_ns / 2 + 20000000,
			all_ns - 19000000);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

static void a_first_post_after_its_answer_is_not_believed(void **state)
{
	struct world *world = new_world();

	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "prepared", "info", new_info());
	answer(world, "node1", "connected", NULL, NULL);
	answer(world, "node2", "connected", NULL, NULL);
	answer(world, "node1", "started", NULL, NULL);
	answer(world, "node2", "started", "first_post_ns", json_integer(INT64_MAX));
	assert_in_range(world->measurement->accepted_to_first_post_ns, 1,
			clock_mono_ns() - world->accepted_mono_ns);
	measure_abort(world->measure, "test is over");
	free_world(world);
}

static void an_abort_says_when_it_came(void **state)
{
	struct world *world = new_world();
	struct timespec pause = { .tv_nsec = 20000000 };

	come_to_running(world);
	nanosleep(&pause, NULL);
	measure_abort(world->measure, "test is over");
	assert_in_range(world->measurement->initiator.failure.at_ns, 20000000, 60000000000);
	free_world(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_initiator_says_of_its_timeout_is_the_error),
		cmocka_unit_test(an_abort_says_when_it_came),
		cmocka_unit_test(totals_of_another_assignment_are_an_error_and_not_a_result),
		cmocka_unit_test(totals_that_break_off_leave_nothing),
		cmocka_unit_test(what_was_not_asked_for_yet_is_ignored),
		cmocka_unit_test(nobody_says_busy_as_fast_as_the_network_goes),
		cmocka_unit_test(the_first_post_is_the_initiators_not_its_answers),
		cmocka_unit_test(a_first_post_after_its_answer_is_not_believed),
		cmocka_unit_test(a_good_measurement_goes_its_way_in_order),
		cmocka_unit_test(a_refusal_by_the_second_end_releases_the_first),
		cmocka_unit_test(a_lost_responder_stops_the_initiator_and_is_not_waited_for),
		cmocka_unit_test(a_node_without_a_session_is_told_at_once),
		cmocka_unit_test(a_peer_lost_between_the_two_prepares_is_recorded),
		cmocka_unit_test(a_busy_end_lets_the_other_go_and_is_asked_again),
		cmocka_unit_test(a_node_may_not_speak_for_the_other),
		cmocka_unit_test(an_answer_that_cannot_be_read_ends_it),
		cmocka_unit_test(the_responders_error_waits_for_what_the_initiator_saw),
	};

	clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
