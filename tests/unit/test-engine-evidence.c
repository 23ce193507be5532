// SPDX-License-Identifier: MIT
#include "unit/engines.h"

#define HW "/sys/class/infiniband/left/ports/1/hw_counters/"

static void totals_tell_by_how_much_the_port_counted(void **state)
{
	struct engines *engines = *state;
	const struct totals *totals = &engines->initiator.totals;

	tree_write(&engines->tree, HW "sent_pkts", "100\n");
	tree_write(&engines->tree, HW "out_of_seq_request", "7\n");
	engines_start(engines);
	tree_write(&engines->tree, HW "sent_pkts", "150\n");
	engines_wait(engines, &engines->initiator.is_finished);
	assert_true(totals->has_counters);
	assert_int_equal(totals->counters.values[COUNTER_SENT_PACKETS].value, 50);
	assert_int_equal(totals->counters.values[COUNTER_OUT_OF_SEQUENCE].state, COUNTER_READ);
	assert_int_equal(totals->counters.values[COUNTER_OUT_OF_SEQUENCE].value, 0);
	assert_int_equal(totals->counters.values[COUNTER_ICRC_ERRORS].state, COUNTER_ABSENT);
	assert_non_null(engines_step(&totals->steps, "read_counters"));
	/* Warm-up and what was drained count here, too. */
	assert_true(totals->traffic_operations >= totals->operations);
	assert_int_equal(totals->traffic_bytes, totals->traffic_operations * 4096);
	engines_release(engines);
}

static void a_passive_end_reads_its_port_too(void **state)
{
	struct engines *engines = *state;
	const struct counters *counters = &engines->responder.totals.counters;

	tree_write(&engines->tree, "/sys/class/infiniband/right/ports/1/hw_counters/rcvd_pkts",
		   "1\n");
	engines_start(engines);
	tree_write(&engines->tree, "/sys/class/infiniband/right/ports/1/hw_counters/rcvd_pkts",
		   "4\n");
	engines_wait(engines, &engines->initiator.is_finished);
	job_stop(engines->responder.job);
	job_stop(engines->responder.job);
	engines_wait(engines, &engines->responder.is_finished);
	assert_true(engines->responder.totals.has_counters);
	assert_int_equal(counters->values[COUNTER_RECEIVED_PACKETS].value, 3);
	engines_release(engines);
}

static void a_reading_waits_until_the_driver_counts_anew(void **state)
{
	struct engines *engines = *state;
	const struct counters *counters = &engines->initiator.totals.counters;

	/* The traffic lasts a tenth of the lifespan. */
	tree_write(&engines->tree, HW "lifespan", "1000\n");
	tree_write(&engines->tree, HW "sent_pkts", "100\n");
	engines_start(engines);
	engines_run_for(engines, 600 * ENGINES_MS);
	assert_false(engines->initiator.is_finished);
	tree_write(&engines->tree, HW "sent_pkts", "142\n");
	engines_wait(engines, &engines->initiator.is_finished);
	assert_int_equal(counters->values[COUNTER_SENT_PACKETS].value, 42);
	engines_release(engines);
}

static void a_job_is_released_while_it_waits_for_its_reading(void **state)
{
	struct engines *engines = *state;

	tree_write(&engines->tree, HW "lifespan", "60000\n");
	engines_start(engines);
	engines_run_for(engines, 600 * ENGINES_MS);
	assert_false(engines->initiator.is_finished);
	engines_release(engines);
	assert_false(engines->initiator.is_finished);
}

/* Every setup thread of "left" hangs: its counters cannot be read. */
static void hang_left(struct engines *engines, struct player *hung, size_t count)
{
	struct fabric_verb_fault fault = { .cost_ns = UINT64_MAX };

	fabric_set_verb(engines->fabric, "left", FABRIC_REG_MR, &fault);
	for (size_t i = 0; i < count; i++) {
		hung[i] = (struct player){ .assignment = assignments_new(ROLE_INITIATOR,
									 PATTERN_STREAM,
									 OPERATION_WRITE, 64) };
		hung[i].job =
			job_new(engines->left.engine, hung[i].assignment, &player_events, &hung[i]);
		job_prepare(hung[i].job);
	}
}

static void a_driver_that_does_not_answer_keeps_no_totals(void **state)
{
	struct engines *engines = *state;
	struct player hung[2];

	engines_start(engines);
	hang_left(engines, hung, 2);
	engines_wait(engines, &engines->initiator.is_finished);
	assert_false(engines->initiator.totals.has_counters);
	assert_true(engines->initiator.totals.operations > 0);
	job_release(engines->initiator.job);
	engines_run_for(engines, 50 * ENGINES_MS);
	assert_false(engines->initiator.is_released);
	fabric_set_verb(engines->fabric, "left", FABRIC_REG_MR, NULL);
	for (size_t i = 0; i < 2; i++) {
		job_release(hung[i].job);
		engines_wait(engines, &hung[i].is_released);
		free(hung[i].assignment);
	}
	engines_release(engines);
}

static void a_job_that_is_released_is_told_nothing_when_its_driver_hangs(void **state)
{
	struct engines *engines = *state;
	struct player hung[2];

	engines_start(engines);
	hang_left(engines, hung, 2);
	engines_run_for(engines, 600 * ENGINES_MS);
	job_release(engines->initiator.job);
	/* The patience with the driver ends meanwhile. */
	engines_run_for(engines, 2500 * ENGINES_MS);
	fabric_set_verb(engines->fabric, "left", FABRIC_REG_MR, NULL);
	for (size_t i = 0; i < 2; i++) {
		job_release(hung[i].job);
		engines_wait(engines, &hung[i].is_released);
		free(hung[i].assignment);
	}
	engines_release(engines);
	assert_false(engines->initiator.is_finished);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, engines_set_up, engines_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(totals_tell_by_how_much_the_port_counted),
		TEST(a_passive_end_reads_its_port_too),
		TEST(a_reading_waits_until_the_driver_counts_anew),
		TEST(a_job_is_released_while_it_waits_for_its_reading),
		TEST(a_driver_that_does_not_answer_keeps_no_totals),
		TEST(a_job_that_is_released_is_told_nothing_when_its_driver_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
