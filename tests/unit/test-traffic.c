// SPDX-License-Identifier: MIT
#include "traffic-rig.h"

static void stream_init(struct rig *rig, int kind, uint64_t num_qps)
{
	rig_init(rig, PATTERN_STREAM, kind, 64);
	rig->assignment->workload.qp.num_qps = num_qps;
	rig->assignment->workload.workload.load.outstanding = 16 * num_qps;
	rig->assignment->workload.run.duration_ns = 10000000;
	rig->assignment->workload.run.interval_ns = 1000000;
}

/* Until `end` is over, in at most `steps`; its totals are taken. */
static void run_to_end(struct rig *rig, int end, unsigned steps)
{
	while (!rig->is_over[end]) {
		assert_true(steps-- > 0);
		assert_true(rig_step(rig));
	}
	traffic_totals(rig->traffic[end], &rig->totals[end]);
	rig->has_totals[end] = true;
}

static void run_until_ns(struct rig *rig, uint64_t ns)
{
	while (fake_clock_now_ns() < RIG_START_NS + ns) {
		assert_true(rig_step(rig));
	}
}

/* --- failures --- */

static void check_failure(const struct rig *rig, enum ibv_wc_status status, int operation)
{
	const struct totals *totals = &rig->totals[0];
	const struct failure *failure = &totals->failure;

	assert_int_equal(totals->end, END_ERROR);
	assert_true(totals->errors >= 1);
	assert_int_equal(failure->error.kind, ERROR_KIND_WC_STATUS);
	assert_int_equal(failure->error.number, status);
	assert_int_equal(failure->error.class, ERROR_DEVICE);
	assert_int_equal(failure->error.stage, STAGE_RUN);
	assert_string_equal(failure->error.call, "ibv_poll_cq");
	assert_non_null(strstr(failure->error.text, failure_wc_status_name(status)));
	assert_int_equal(failure->operation, operation);
	assert_string_equal(failure->node, "left");
	assert_string_equal(failure->device, "left");
	assert_true(failure->qp_num != 0);
	rig_check_sums(totals);
}

static void a_wrong_rkey_ends_with_its_status(void **state)
{
	static const int kinds[] = { OPERATION_WRITE, OPERATION_READ };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (uint64_t num_qps = 1; num_qps <= 4; num_qps += 3) {
			struct rig rig;

			stream_init(&rig, kinds[i], num_qps);
			rig_connect(&rig);
			rig.infos[1]->rkey ^= 0x5a5a;
			rig_need(rig_try_traffic(&rig, 0, NULL), &(struct error){ 0 });
			rig_need(rig_try_traffic(&rig, 1, NULL), &(struct error){ 0 });
			rig_start(&rig, 0);
			run_to_end(&rig, 0, 10000);
			check_failure(&rig, IBV_WC_REM_ACCESS_ERR, kinds[i]);
			assert_int_equal(rig.totals[0].operations, 0);
			/* All that was posted but the first came back as a flush or as the others'
			 * own error. */
			assert_int_equal(rig.totals[0].errors + rig.totals[0].failure.flushed,
					 16 * num_qps);
			rig_done(&rig);
		}
	}
}

static void a_receiver_without_receives_ends_with_rnr(void **state)
{
	struct rig rig;
	uint64_t flushed;

	(void)state;
	stream_init(&rig, OPERATION_SEND, 1);
	rig.assignment->workload.qp.max_recv_wr = 4;
	rig.assignment->workload.qp.rnr_retry = 1;
	rig.assignment->workload.qp.min_rnr_timer = 12;
	rig.assignment->workload.workload.load.outstanding = 16;
	rig_open(&rig);
	rig_start(&rig, 0); /* the responder never starts: four receives is all there is */
	run_to_end(&rig, 0, 10000);
	check_failure(&rig, IBV_WC_RNR_RETRY_EXC_ERR, OPERATION_SEND);
	assert_int_equal(rig.totals[0].operations, 4);
	/* What the fifth failure took with it: all the others under way. */
	flushed = rig.totals[0].failure.flushed;
	assert_int_equal(flushed, 15);
	rig_done(&rig);
}

static void a_receiver_that_starts_late_is_waited_for(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_SEND, 2);
	rig.assignment->workload.qp.max_recv_wr = 8;
	rig.assignment->workload.qp.rnr_retry = 7;
	rig.assignment->workload.qp.min_rnr_timer = 12;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1000;
	rig_open(&rig);
	rig_start(&rig, 0);
	run_until_ns(&rig, 5000000);
	rig_start(&rig, 1);
	run_to_end(&rig, 0, 100000);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	assert_int_equal(rig.totals[0].operations, 1000);
	rig_done(&rig);
}

static void a_peer_that_is_gone_ends_with_retry_exceeded(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 2);
	rig.assignment->workload.qp.local_ack_timeout = 8;
	rig.assignment->workload.qp.retry_cnt = 1;
	rig_open(&rig);
	rig_start(&rig, 0);
	run_until_ns(&rig, 200000);
	traffic_free(rig.traffic[1]);
	rig.traffic[1] = NULL;
	resources_free(rig.resources[1], NULL);
	rig.resources[1] = NULL;
	run_to_end(&rig, 0, 100000);
	check_failure(&rig, IBV_WC_RETRY_EXC_ERR, OPERATION_WRITE);
	assert_true(rig.totals[0].operations > 0);
	assert_true(rig.totals[0].failure.at_ns > 200000);
	assert_true(rig.totals[0].window_ns > 200000);
	rig_done(&rig);
}

static void a_failure_in_a_tail_is_told_like_any(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig.assignment->workload.workload.signal_interval = 8;
	rig.assignment->workload.workload.post_list = 4;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 3;
	rig_connect(&rig);
	rig.infos[1]->rkey ^= 0x5a5a;
	rig_need(rig_try_traffic(&rig, 0, NULL), &(struct error){ 0 });
	rig_need(rig_try_traffic(&rig, 1, NULL), &(struct error){ 0 });
	rig_start(&rig, 0);
	run_to_end(&rig, 0, 10000);
	check_failure(&rig, IBV_WC_REM_ACCESS_ERR, OPERATION_WRITE);
	assert_int_equal(rig.totals[0].failure.flushed, 2);
	rig_done(&rig);
}

static void a_pingpong_with_a_wrong_rkey_fails_at_once(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_PINGPONG, OPERATION_WRITE, 8);
	rig.assignment->workload.workload.load.outstanding = 1;
	rig_connect(&rig);
	rig.infos[1]->rkey ^= 0x5a5a;
	rig_need(rig_try_traffic(&rig, 0, NULL), &(struct error){ 0 });
	rig_need(rig_try_traffic(&rig, 1, NULL), &(struct error){ 0 });
	rig_start(&rig, 0);
	run_to_end(&rig, 0, 10000);
	check_failure(&rig, IBV_WC_REM_ACCESS_ERR, OPERATION_WRITE);
	rig_done(&rig);
}

static void a_refused_post_is_told_with_its_errno(void **state)
{
	for (uint64_t num_qps = 1; num_qps <= 2; num_qps++) {
		struct rig rig;
		struct fabric_verb_fault fault = { .error = ENOMEM, .skip = 100, .count = 1 };
		const struct failure *failure = &rig.totals[0].failure;

		(void)state;
		stream_init(&rig, OPERATION_WRITE, num_qps);
		rig_open(&rig);
		fabric_set_verb(rig.fabric, "left", FABRIC_POST_SEND, &fault);
		rig_start(&rig, 0);
		run_to_end(&rig, 0, 10000);
		assert_int_equal(rig.totals[0].end, END_ERROR);
		assert_string_equal(failure->error.call, "ibv_post_send");
		assert_int_equal(failure->error.kind, ERROR_KIND_ERRNO);
		assert_int_equal(failure->error.number, ENOMEM);
		assert_int_equal(failure->operation, OPERATION_WRITE);
		assert_true(rig.totals[0].operations > 0 && rig.totals[0].operations <= 100);
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

static void run_unreadable(int pattern, int kind, int end, uint64_t num_qps)
{
	struct rig rig;
	struct fabric_verb_fault fault = { .error = EINVAL, .skip = 100 };
	const struct failure *failure = &rig.totals[end].failure;

	if (pattern == PATTERN_STREAM) {
		stream_init(&rig, kind, num_qps);
	} else {
		rig_init(&rig, pattern, kind, 64);
	}
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	fabric_set_verb(rig.fabric, end == 0 ? "left" : "right", FABRIC_POLL_CQ, &fault);
	run_to_end(&rig, end, 1000000);
	assert_int_equal(rig.totals[end].end, END_ERROR);
	assert_string_equal(failure->error.call, "ibv_poll_cq");
	assert_int_equal(failure->error.class, ERROR_DEVICE);
	assert_int_equal(failure->error.kind, ERROR_KIND_ERRNO);
	assert_non_null(strstr(failure->error.text, "cannot be read (the driver's answer is -22)"));
	assert_string_equal(failure->device, end == 0 ? "left" : "right");
	/* Once, and at once: silence would have been told after 3 s. */
	assert_int_equal(rig.totals[end].errors, 1);
	assert_true(failure->at_ns < 1000000000);
	rig_done(&rig);
}

static void a_completion_queue_that_cannot_be_read_is_the_devices_error_and_no_stall(void **state)
{
	(void)state;
	run_unreadable(PATTERN_STREAM, OPERATION_WRITE, 0, 1);
	run_unreadable(PATTERN_STREAM, OPERATION_WRITE, 0, 3);
	run_unreadable(PATTERN_STREAM, OPERATION_SEND, 1, 1);
	run_unreadable(PATTERN_PINGPONG, OPERATION_WRITE, 0, 1);
	run_unreadable(PATTERN_PINGPONG, OPERATION_SEND, 1, 1);
}

static void a_refused_receive_ends_the_responder(void **state)
{
	struct rig rig;
	struct fabric_verb_fault fault = { .error = ENOMEM, .skip = 1, .count = 1 };
	const struct failure *failure = &rig.totals[1].failure;

	(void)state;
	stream_init(&rig, OPERATION_SEND, 1);
	rig_open(&rig);
	fabric_set_verb(rig.fabric, "right", FABRIC_POST_RECV, &fault);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	run_to_end(&rig, 1, 10000);
	assert_int_equal(rig.totals[1].end, END_ERROR);
	assert_string_equal(failure->error.call, "ibv_post_recv");
	assert_string_equal(failure->node, "right");
	rig_done(&rig);
}

static void a_device_that_is_removed_does_not_hang_anything(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 2);
	rig_open(&rig);
	rig_start(&rig, 0);
	run_until_ns(&rig, 100000);
	fabric_remove_device(rig.fabric, "left");
	run_to_end(&rig, 0, 100000);
	assert_true(rig.totals[0].end == END_ERROR || rig.totals[0].end == END_STALLED);
	assert_true(error_is_set(&rig.totals[0].failure.error));
	rig_done(&rig);
}

/* --- stalls and deadlines --- */

static void silence_is_a_stall_whatever_the_retries_say(void **state)
{
	for (uint64_t num_qps = 1; num_qps <= 6; num_qps += 5) {
		struct rig rig;
		const struct failure *failure = &rig.totals[0].failure;

		(void)state;
		stream_init(&rig, OPERATION_WRITE, num_qps);
		rig.assignment->workload.qp.local_ack_timeout = 0; /* for ever */
		rig.assignment->workload.run.duration_ns = 60000000000;
		rig.assignment->workload.run.interval_ns = 1000000000;
		rig_open(&rig);
		rig_start(&rig, 0);
		run_until_ns(&rig, 100000);
		fabric_set_black_hole(rig.fabric, "left", "right", true);
		run_to_end(&rig, 0, 1000000);
		assert_int_equal(rig.totals[0].end, END_STALLED);
		assert_string_equal(failure->error.call, "stall");
		assert_int_equal(failure->error.class, ERROR_DEVICE);
		assert_int_equal(failure->error.stage, STAGE_RUN);
		assert_non_null(strstr(failure->error.text, "nothing completed for 3.0"));
		assert_non_null(strstr(failure->error.text, "16 outstanding on queue pair 0x"));
		assert_non_null(strstr(failure->error.text, "oldest a write of 64 B"));
		if (num_qps > 4) {
			assert_non_null(strstr(failure->error.text, "and 2 queue pairs more"));
		}
		assert_int_equal(failure->flushed, 16 * num_qps);
		assert_in_range(failure->at_ns, 3000000000, 3100000000);
		assert_true(rig.totals[0].operations > 0);
		/* The silence is seen in the intervals. */
		assert_true(rig.totals[0].interval_count >= 3);
		assert_int_equal(rig.totals[0].intervals[1].operations, 0);
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

static void a_pause_shorter_than_the_stall_timeout_is_only_latency(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig.assignment->workload.qp.local_ack_timeout = 14; /* 67 ms */
	rig.assignment->workload.run.duration_ns = 4000000000;
	rig.assignment->workload.run.interval_ns = 1000000000;
	rig.assignment->workload.workload.load.outstanding = 1;
	rig_open(&rig);
	fabric_set_link(rig.fabric, NULL, NULL, &(struct fabric_link){ .latency_ns = 1000000 });
	rig_start(&rig, 0);
	run_until_ns(&rig, 1000000);
	fabric_set_black_hole(rig.fabric, "left", "right", true);
	run_until_ns(&rig, 300000000);
	fabric_set_black_hole(rig.fabric, "left", "right", false);
	run_to_end(&rig, 0, 1000000);
	assert_int_equal(rig.totals[0].end, END_DURATION);
	assert_true(rig.totals[0].classes[0].latency.max_ns > 250000000);
	assert_false(error_is_set(&rig.totals[0].failure.error));
	rig_done(&rig);
}

static void a_responder_ends_by_its_own_deadline(void **state)
{
	struct rig rig;
	const struct failure *failure = &rig.totals[1].failure;

	(void)state;
	stream_init(&rig, OPERATION_SEND, 1);
	rig.assignment->workload.run.timeout_ns = 5000000000;
	rig_open(&rig);
	rig_start(&rig, 1);
	run_to_end(&rig, 1, 100000);
	assert_int_equal(rig.totals[1].end, END_DEADLINE);
	assert_int_equal(failure->error.class, ERROR_PEER);
	assert_non_null(strstr(failure->error.text, "nobody ended the run"));
	/* Later than the initiator, whose word on run.timeout counts. */
	assert_int_equal(failure->at_ns, 5000000000 + WORKLOAD_GRACE_NS);
	rig_done(&rig);
}

static void an_initiator_does_not_outlive_its_timeout(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig.assignment->workload.workload.load.outstanding = 1;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1000000000;
	rig.assignment->workload.run.timeout_ns = 2000000;
	rig_open(&rig);
	rig_start(&rig, 0);
	run_to_end(&rig, 0, 100000);
	assert_int_equal(rig.totals[0].end, END_DEADLINE);
	assert_non_null(strstr(rig.totals[0].failure.error.text, "run.timeout"));
	assert_int_equal(rig.totals[0].window_ns, 2000000);
	assert_true(rig.totals[0].operations > 500);
	rig_check_sums(&rig.totals[0]);
	rig_done(&rig);
}

/* --- stopping --- */

static void stopping_is_quick_and_is_no_error(void **state)
{
	for (uint64_t num_qps = 1; num_qps <= 2; num_qps++) {
		struct rig rig;
		uint64_t stopped_ns;

		(void)state;
		stream_init(&rig, OPERATION_SEND, num_qps);
		rig_open(&rig);
		rig_start(&rig, 1);
		rig_start(&rig, 0);
		run_until_ns(&rig, 100000);
		stopped_ns = fake_clock_now_ns();
		traffic_stop(rig.traffic[0]);
		run_to_end(&rig, 0, 10000);
		traffic_stop(rig.traffic[1]);
		run_to_end(&rig, 1, 10000);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(rig.totals[i].end, END_STOPPED);
			assert_int_equal(rig.totals[i].errors, 0);
			assert_false(error_is_set(&rig.totals[i].failure.error));
			rig_check_sums(&rig.totals[i]);
		}
		assert_true(fake_clock_now_ns() - stopped_ns < 1000000000);
		assert_true(rig.totals[1].receives >= rig.totals[0].operations);
		rig_done(&rig);
	}
}

static void stopping_before_the_window_leaves_empty_totals(void **state)
{
	struct rig rig;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig.assignment->workload.run.warmup_ns = 1000000;
	rig_open(&rig);
	rig_start(&rig, 0);
	run_until_ns(&rig, 100000);
	traffic_stop(rig.traffic[0]);
	run_to_end(&rig, 0, 10000);
	assert_int_equal(rig.totals[0].end, END_STOPPED);
	assert_int_equal(rig.totals[0].window_ns, 0);
	assert_int_equal(rig.totals[0].operations, 0);
	assert_int_equal(rig.totals[0].classes[0].posted, 0);
	assert_int_equal(rig.totals[0].interval_count, 0);
	rig_done(&rig);
}

static void stopping_before_the_first_step_posts_nothing(void **state)
{
	struct rig rig;
	struct fabric_counters counters;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig_open(&rig);
	rig_start(&rig, 0);
	traffic_stop(rig.traffic[0]);
	run_to_end(&rig, 0, 10000);
	assert_int_equal(rig.totals[0].end, END_STOPPED);
	assert_int_equal(rig.totals[0].operations, 0);
	assert_int_equal(rig.totals[0].interval_count, 0);
	assert_false(traffic_has_posted(rig.traffic[0]));
	fabric_counters(rig.fabric, "left", &counters);
	assert_int_equal(counters.tx_packets, 0);
	rig_done(&rig);
}

static void traffic_is_freed_in_any_state(void **state)
{
	for (uint64_t ns = 0; ns < 20000; ns += 1000) {
		struct rig rig;

		(void)state;
		stream_init(&rig, OPERATION_SEND, 2);
		rig_open(&rig);
		rig_start(&rig, 1);
		rig_start(&rig, 0);
		run_until_ns(&rig, ns);
		rig_done(&rig);
	}
	traffic_free(NULL);
}

/* --- who needs a worker --- */

static void only_the_other_end_of_one_sided_operations_is_passive(void **state)
{
	static const struct {
		int pattern;
		int kind;
		bool is_passive;
	} cases[] = {
		{ PATTERN_STREAM, OPERATION_WRITE, true },
		{ PATTERN_STREAM, OPERATION_READ, true },
		{ PATTERN_STREAM, OPERATION_SEND, false },
		{ PATTERN_PINGPONG, OPERATION_WRITE, false },
		{ PATTERN_PINGPONG, OPERATION_READ, true },
		{ PATTERN_PINGPONG, OPERATION_SEND, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;

		rig_init(&rig, cases[i].pattern, cases[i].kind, 8);
		rig.assignment->workload.workload.load.outstanding = 1;
		rig_open(&rig);
		assert_false(traffic_is_passive(rig.traffic[0]));
		assert_int_equal(traffic_is_passive(rig.traffic[1]), cases[i].is_passive);
		rig_done(&rig);
	}
}

/* --- intervals --- */

static void more_intervals_than_are_kept_end_in_a_long_one(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	const struct sample *last;

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig.assignment->workload.workload.load.outstanding = 1;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 10000;
	rig.assignment->workload.run.interval_ns = 5000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->interval_count, LIMIT_INTERVALS);
	last = &totals->intervals[LIMIT_INTERVALS - 1];
	assert_int_equal(last->end_ns, totals->window_ns);
	assert_true(last->end_ns - last->start_ns > 1000000);
	assert_int_equal(last->latency_count, last->operations);
	assert_in_range(last->latency_p99_ns, last->latency_min_ns, last->latency_max_ns);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void what_was_slept_through_is_one_interval(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	stream_init(&rig, OPERATION_WRITE, 1);
	rig_open(&rig);
	rig_start(&rig, 0);
	run_until_ns(&rig, 1500000);
	fake_clock_advance(3000000);
	run_to_end(&rig, 0, 1000000);
	assert_int_equal(totals->window_ns, 10000000);
	assert_int_equal(totals->interval_count, 8);
	assert_in_range(totals->intervals[1].end_ns, 4500000, 4510000);
	assert_int_equal(totals->intervals[2].end_ns, 5000000);
	rig_check_sums(totals);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_rkey_ends_with_its_status),
		cmocka_unit_test(a_receiver_without_receives_ends_with_rnr),
		cmocka_unit_test(a_receiver_that_starts_late_is_waited_for),
		cmocka_unit_test(a_peer_that_is_gone_ends_with_retry_exceeded),
		cmocka_unit_test(a_failure_in_a_tail_is_told_like_any),
		cmocka_unit_test(a_pingpong_with_a_wrong_rkey_fails_at_once),
		cmocka_unit_test(a_refused_post_is_told_with_its_errno),
		cmocka_unit_test(
			a_completion_queue_that_cannot_be_read_is_the_devices_error_and_no_stall),
		cmocka_unit_test(a_refused_receive_ends_the_responder),
		cmocka_unit_test(a_device_that_is_removed_does_not_hang_anything),
		cmocka_unit_test(silence_is_a_stall_whatever_the_retries_say),
		cmocka_unit_test(a_pause_shorter_than_the_stall_timeout_is_only_latency),
		cmocka_unit_test(a_responder_ends_by_its_own_deadline),
		cmocka_unit_test(an_initiator_does_not_outlive_its_timeout),
		cmocka_unit_test(stopping_is_quick_and_is_no_error),
		cmocka_unit_test(stopping_before_the_window_leaves_empty_totals),
		cmocka_unit_test(stopping_before_the_first_step_posts_nothing),
		cmocka_unit_test(traffic_is_freed_in_any_state),
		cmocka_unit_test(only_the_other_end_of_one_sided_operations_is_passive),
		cmocka_unit_test(more_intervals_than_are_kept_end_in_a_long_one),
		cmocka_unit_test(what_was_slept_through_is_one_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
