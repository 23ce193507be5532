// SPDX-License-Identifier: MIT

/* What is told of the request of a stream that failed. */

#include "traffic-rig.h"

/* Writes of 64 bytes over impatient queue pairs. */
static void stream_init(struct rig *rig, uint64_t num_qps)
{
	rig_init(rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig->assignment->workload.qp.num_qps = num_qps;
	rig->assignment->workload.qp.local_ack_timeout = 8;
	rig->assignment->workload.qp.retry_cnt = 1;
	rig->assignment->workload.workload.load.outstanding = 16 * num_qps;
}

static const struct failure *failure_of(struct rig *rig)
{
	const struct failure *failure = &rig->totals[0].failure;
	unsigned steps = 100000;

	while (!rig->is_over[0]) {
		assert_true(steps-- > 0);
		assert_true(rig_step(rig));
	}
	traffic_totals(rig->traffic[0], &rig->totals[0]);
	rig->has_totals[0] = true;
	assert_int_equal(rig->totals[0].end, END_ERROR);
	assert_int_equal(failure->error.number, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(failure->operation, OPERATION_WRITE);
	return failure;
}

static void a_request_that_failed_is_told_with_its_size_and_what_passed_before(void **state)
{
	static const uint64_t signal_intervals[] = { 1, 8 };
	struct fabric_link link;
	const struct failure *failure;
	struct rig rig;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		stream_init(&rig, 2);
		rig_set_op(&rig, 0, OPERATION_WRITE, 14, 64);
		rig_set_op(&rig, 1, OPERATION_WRITE, 1, 512);
		rig_set_op(&rig, 2, OPERATION_WRITE, 1, 256);
		rig.assignment->workload.workload.signal_interval = signal_intervals[i];
		fabric_link(rig.fabric, "left", "right", &link);
		link.largest_bytes = 400;
		fabric_set_link(rig.fabric, "left", "right", &link);
		rig_open(&rig);
		rig_start(&rig, 0);
		rig_start(&rig, 1);
		failure = failure_of(&rig);
		assert_int_equal(failure->size_bytes, 512);
		assert_true(failure->completed_bytes == 64 || failure->completed_bytes == 256);
		assert_non_null(strstr(failure->error.text, "write of 512 B on queue"));
		rig_done(&rig);
	}
}

static void the_first_request_of_all_that_fails_follows_nothing(void **state)
{
	const struct failure *failure;
	struct rig rig;

	(void)state;
	stream_init(&rig, 1);
	fabric_set_black_hole(rig.fabric, "left", "right", true);
	rig_open(&rig);
	rig_start(&rig, 0);
	failure = failure_of(&rig);
	assert_int_equal(failure->size_bytes, 64);
	assert_true(failure->completed_bytes == FAILURE_UNKNOWN);
	rig_done(&rig);
}

/* The answering end opens its window when the first message comes, and that one may be the error: a
 * window as long as nothing, not as long as all time. */
static void a_first_receive_that_fails_leaves_a_window_of_no_length(void **state)
{
	unsigned steps = 100000;
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, 64);
	fabric_set_defect(rig.fabric, "right", FABRIC_SHORT_RECEIVES, true);
	rig_open(&rig);
	fake_clock_set_read_cost(37);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	while (!rig.is_over[1]) {
		assert_true(steps-- > 0);
		assert_true(rig_step(&rig));
	}
	fake_clock_set_read_cost(0);
	traffic_totals(rig.traffic[1], &rig.totals[1]);
	rig.has_totals[1] = true;
	assert_int_equal(rig.totals[1].end, END_ERROR);
	assert_int_equal(rig.totals[1].failure.error.number, IBV_WC_LOC_LEN_ERR);
	assert_in_range(rig.totals[1].window_ns, 0, 1000000);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_request_that_failed_is_told_with_its_size_and_what_passed_before),
		cmocka_unit_test(the_first_request_of_all_that_fails_follows_nothing),
		cmocka_unit_test(a_first_receive_that_fails_leaves_a_window_of_no_length),
	};

	return cmocka_run_group_tests_name("stream-failures", tests, NULL, NULL);
}
