// SPDX-License-Identifier: MIT
#include "unit/engines.h"

#include <errno.h>

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

static void throttle(struct engines *engines, const char *stat)
{
	tree_replace(&engines->tree, "/sys/fs/cgroup/rdma.service/cpu.stat", stat);
}

static void what_the_host_withheld_is_in_the_totals_and_what_is_not_known_says_so(void **state)
{
	struct engines *engines = *state;
	const struct host_report *host = &engines->initiator.totals.host;
	const struct host_report *passive = &engines->responder.totals.host;

	tree_write(&engines->tree, "/proc/self/cgroup", "0::/rdma.service\n");
	tree_write(&engines->tree, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		char path[128];

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%ld/cpufreq/scaling_cur_freq", cpu);
		tree_write(&engines->tree, path, "800000\n");
	}
	throttle(engines, "nr_throttled 5\nthrottled_usec 1000\n");
	engines_start(engines);
	throttle(engines, "nr_throttled 8\nthrottled_usec 251000\n");
	engines_wait(engines, &engines->initiator.is_finished);
	assert_true(host->is_read);
	assert_int_equal(host->throttled_periods, 3);
	assert_int_equal(host->throttled_ns, 250000000);
	assert_true(host->span_ns >= engines->initiator.totals.window_ns);
	assert_true(host->cpu != HOST_UNKNOWN);
	assert_int_equal(host->frequency_hz, 800000000);
	assert_true(host->max_frequency_hz == HOST_UNKNOWN);
	assert_true(host->stolen_ns == HOST_UNKNOWN);
	assert_true(host->voluntary_switches != HOST_UNKNOWN);
	assert_true(host->longest_gap_ns != HOST_UNKNOWN);
	job_stop(engines->responder.job);
	engines_wait(engines, &engines->responder.is_finished);
	assert_true(passive->is_read);
	assert_int_equal(passive->throttled_periods, 3);
	assert_true(passive->cpu == HOST_UNKNOWN);
	assert_true(passive->longest_gap_ns == HOST_UNKNOWN);
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

static void start_long(struct engines *engines)
{
	engines->initiator.assignment->workload.run.duration_ns = 60 * ENGINES_SECOND;
	engines->initiator.assignment->workload.run.stall_timeout_ns = 30 * ENGINES_SECOND;
	engines_start(engines);
	engines_run_for(engines, 20 * ENGINES_MS);
}

static void stop(struct engines *engines, struct player *player)
{
	job_stop(player->job);
	engines_wait(engines, &player->is_finished);
}

static void what_a_device_said_while_the_job_ran_is_in_its_totals(void **state)
{
	struct engines *engines = *state;
	const struct port_report *ours = &engines->initiator.totals.port_report;
	const struct port_report *theirs = &engines->responder.totals.port_report;

	start_long(engines);
	fabric_set_port(engines->fabric, "left", false);
	fabric_set_port(engines->fabric, "left", true);
	fabric_set_address(engines->fabric, "right", "10.0.0.9");
	engines_run_for(engines, 20 * ENGINES_MS);
	stop(engines, &engines->initiator);
	stop(engines, &engines->responder);
	assert_int_equal(ours->event_count, 2);
	assert_int_equal(ours->events[0].kind, PORT_EVENT_PORT_ERR);
	assert_int_equal(ours->events[0].port_num, 1);
	assert_true(ours->events[0].at_ns > 0);
	assert_int_equal(ours->events[1].kind, PORT_EVENT_PORT_ACTIVE);
	assert_true(ours->after.is_known && ours->after.is_present);
	assert_int_equal(ours->after.state, PORT_STATE_ACTIVE);
	assert_string_equal(ours->after.gid, engines->initiator.info.gid);
	/* Each device to its own job. */
	assert_int_equal(theirs->event_count, 1);
	assert_int_equal(theirs->events[0].kind, PORT_EVENT_GID_CHANGE);
	assert_string_equal(theirs->after.gid, "::ffff:10.0.0.9");
	engines_release(engines);
}

static void an_event_on_its_way_when_the_traffic_ends_is_in_the_totals(void **state)
{
	struct engines *engines = *state;
	const struct port_report *report = &engines->responder.totals.port_report;

	start_long(engines);
	/* Nobody reads it before the job is told to stop. */
	fabric_set_port(engines->fabric, "right", false);
	stop(engines, &engines->responder);
	assert_int_equal(report->events[0].kind, PORT_EVENT_PORT_ERR);
	assert_int_equal(report->after.state, PORT_STATE_DOWN);
	engines_release(engines);
}

static void a_port_that_goes_down_ends_the_traffic_with_its_event(void **state)
{
	struct engines *engines = *state;
	const struct totals *totals = &engines->initiator.totals;

	start_long(engines);
	fabric_set_port(engines->fabric, "left", false);
	engines_wait(engines, &engines->initiator.is_finished);
	assert_int_equal(totals->failure.error.number, IBV_WC_RETRY_EXC_ERR);
	assert_non_null(port_report_find(&totals->port_report, PORT_EVENT_PORT_ERR));
	assert_int_equal(totals->port_report.after.state, PORT_STATE_DOWN);
	engines_release(engines);
}

static void events_before_the_start_are_told_as_such(void **state)
{
	struct engines *engines = *state;
	const struct port_report *report = &engines->responder.totals.port_report;

	engines_connect(engines);
	fabric_set_port(engines->fabric, "right", false);
	fabric_set_port(engines->fabric, "right", true);
	engines_run_for(engines, 20 * ENGINES_MS);
	job_start(engines->responder.job);
	engines_wait(engines, &engines->responder.is_started);
	stop(engines, &engines->responder);
	assert_int_equal(report->event_count, 2);
	assert_int_equal(report->events[0].at_ns, 0);
	engines_release(engines);
}

static void more_events_than_there_is_room_for_are_counted(void **state)
{
	struct engines *engines = *state;
	const struct port_report *report = &engines->responder.totals.port_report;

	start_long(engines);
	for (int i = 0; i < LIMIT_EVENTS; i++) {
		fabric_set_port(engines->fabric, "right", false);
		fabric_set_port(engines->fabric, "right", true);
		engines_run_for(engines, ENGINES_MS);
	}
	stop(engines, &engines->responder);
	assert_int_equal(report->event_count, LIMIT_EVENTS);
	assert_int_equal(report->more_events, LIMIT_EVENTS);
	engines_release(engines);
}

static void a_device_lost_without_a_word_is_missed_when_its_port_is_looked_at(void **state)
{
	struct engines *engines = *state;
	const struct totals *totals = &engines->responder.totals;

	start_long(engines);
	fabric_lose_device(engines->fabric, "right");
	stop(engines, &engines->responder);
	assert_int_equal(totals->end, END_ERROR);
	assert_string_equal(totals->failure.error.call, "device");
	assert_true(totals->failure.at_ns > 0);
	engines_assert_says(&totals->failure.error, "\"right\" was removed");
	assert_non_null(port_report_find(&totals->port_report, PORT_EVENT_DEVICE_REMOVED));
	assert_true(totals->port_report.after.is_known);
	assert_false(totals->port_report.after.is_present);
	engines_release(engines);
}

static void a_device_that_went_and_came_back_has_no_growth(void **state)
{
	struct engines *engines = *state;
	const struct counters *counters = &engines->initiator.totals.counters;

	tree_write(&engines->tree, HW "sent_pkts", "100\n");
	tree_write(&engines->tree, HW "out_of_seq_request", "7\n");
	start_long(engines);
	/* Kept, so that its inode is not that of the next one. */
	tree_move(&engines->tree, "/sys/class/infiniband/left", "/sys/class/infiniband.old");
	tree_write(&engines->tree, HW "sent_pkts", "150\n");
	tree_write(&engines->tree, HW "out_of_seq_request", "9\n");
	stop(engines, &engines->initiator);
	stop(engines, &engines->responder);
	assert_true(engines->initiator.totals.has_counters);
	assert_int_equal(counters->values[COUNTER_SENT_PACKETS].state, COUNTER_RESET);
	assert_int_equal(counters->values[COUNTER_OUT_OF_SEQUENCE].state, COUNTER_RESET);
	assert_int_equal(counters->values[COUNTER_OUT_OF_SEQUENCE].value, 0);
	assert_int_equal(counters->values[COUNTER_ICRC_ERRORS].state, COUNTER_ABSENT);
	engines_release(engines);
}

static void a_port_that_is_down_when_queue_pairs_connect_is_named(void **state)
{
	struct engines *engines = *state;
	const struct error *error = &engines->initiator.failure.error;

	engines_prepare(engines);
	fabric_set_port(engines->fabric, "left", false);
	job_connect(engines->initiator.job, &engines->responder.info);
	engines_wait(engines, &engines->initiator.is_failed);
	engines_assert_says(error, "port 1 of left is down: ");
	assert_string_equal(error->call, "device");
	assert_int_equal(error->number, ENETDOWN);
	engines_release(engines);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, engines_set_up, engines_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(totals_tell_by_how_much_the_port_counted),
		TEST(what_the_host_withheld_is_in_the_totals_and_what_is_not_known_says_so),
		TEST(a_passive_end_reads_its_port_too),
		TEST(a_reading_waits_until_the_driver_counts_anew),
		TEST(a_job_is_released_while_it_waits_for_its_reading),
		TEST(a_driver_that_does_not_answer_keeps_no_totals),
		TEST(a_job_that_is_released_is_told_nothing_when_its_driver_hangs),
		TEST(what_a_device_said_while_the_job_ran_is_in_its_totals),
		TEST(an_event_on_its_way_when_the_traffic_ends_is_in_the_totals),
		TEST(a_port_that_goes_down_ends_the_traffic_with_its_event),
		TEST(events_before_the_start_are_told_as_such),
		TEST(more_events_than_there_is_room_for_are_counted),
		TEST(a_device_lost_without_a_word_is_missed_when_its_port_is_looked_at),
		TEST(a_device_that_went_and_came_back_has_no_growth),
		TEST(a_port_that_is_down_when_queue_pairs_connect_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
