// SPDX-License-Identifier: MIT
/* direction: both: either end posts a stream, takes what comes, and answers until it is told to
 * stop. */
#include "traffic-rig.h"

#define OPERATIONS 300

static void init(struct rig *rig, int kind, uint64_t size_bytes)
{
	rig_init(rig, PATTERN_STREAM, kind, size_bytes);
	rig->assignment->workload.workload.direction = DIRECTION_BOTH;
	rig->assignment->workload.run.warmup_ns = 0;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = OPERATIONS;
}

static void expect_each(const struct rig *rig, uint64_t receives)
{
	for (int i = 0; i < 2; i++) {
		const struct totals *totals = &rig->totals[i];

		assert_int_equal(totals->end, END_ITERATIONS);
		assert_int_equal(totals->operations, OPERATIONS);
		assert_int_equal(totals->traffic_operations, OPERATIONS);
		assert_int_equal(totals->receives, receives);
		assert_int_equal(totals->errors, 0);
		assert_false(error_is_set(&totals->failure.error));
		rig_check_sums(totals);
	}
}

static void each_operation_streams_both_ways(void **state)
{
	(void)state;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		for (int shape = 0; shape < 4; shape++) {
			struct rig rig;

			init(&rig, kind,
			     operation_traits(kind) & OPERATION_IS_ATOMIC ? OPERATION_ATOMIC_BYTES
									  : 2000);
			rig.assignment->workload.qp.num_qps = shape & 1 ? 3 : 1;
			rig.assignment->workload.cq.mode = shape & 2 ? CQ_MODE_EVENT : CQ_MODE_POLL;
			rig_open(&rig);
			rig_run(&rig);
			expect_each(&rig, operation_traits(kind) & OPERATION_TAKES_RECEIVE
						  ? OPERATIONS
						  : 0);
			rig_done(&rig);
		}
	}
}

/* More queue pairs than operations, lists of posts, requests without a completion, a mix. */
static void shapes_of_posting_hold_both_ways(void **state)
{
	static const struct {
		uint64_t num_qps, outstanding, post_list, signal_interval, iterations;
	} shapes[] = {
		{ 1, 16, 4, 4, 301 }, { 4, 64, 2, 8, 303 }, { 8, 64, 4, 8, 5 }, { 1, 1, 1, 1, 7 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct workload *workload;
		struct rig rig;

		init(&rig, OPERATION_SEND, 64);
		rig_set_op(&rig, 1, OPERATION_WRITE, 2, 3000);
		rig_set_op(&rig, 2, OPERATION_READ, 1, 64);
		workload = &rig.assignment->workload;
		workload->qp.num_qps = shapes[i].num_qps;
		workload->workload.load.outstanding = shapes[i].outstanding;
		workload->workload.post_list = shapes[i].post_list;
		workload->workload.signal_interval = shapes[i].signal_interval;
		workload->run.iterations = shapes[i].iterations;
		rig_open(&rig);
		rig_run(&rig);
		for (int end = 0; end < 2; end++) {
			assert_int_equal(rig.totals[end].operations, shapes[i].iterations);
			assert_int_equal(rig.totals[end].receives,
					 rig.totals[!end].classes[0].completed);
			rig_check_sums(&rig.totals[end]);
		}
		rig_done(&rig);
	}
}

static void each_end_has_a_warm_up_and_a_window_of_its_own(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct rig rig;

		init(&rig, kinds[i], 4096);
		rig.assignment->workload.run.warmup_ns = 1000000;
		rig.assignment->workload.run.duration_ns = 10000000;
		rig.assignment->workload.run.interval_ns = 2000000;
		rig.assignment->workload.run.iterations = 0;
		rig_open(&rig);
		rig_run(&rig);
		for (int end = 0; end < 2; end++) {
			const struct totals *totals = &rig.totals[end];

			assert_int_equal(totals->end, END_DURATION);
			assert_in_range(totals->window_ns, 9990000, 10100000);
			assert_in_range(totals->interval_count, 5, 6);
			assert_true(totals->operations > 100);
			assert_true(totals->traffic_operations > totals->operations);
			rig_check_sums(totals);
		}
		/* A port carries as much each way: neither end waits for the other's share. */
		assert_true(rig.totals[0].bytes * 10 > rig.totals[1].bytes * 9);
		assert_true(rig.totals[1].bytes * 10 > rig.totals[0].bytes * 9);
		rig_done(&rig);
	}
}

static void run_for(struct rig *rig, uint64_t ns)
{
	uint64_t until_ns = fake_clock_now_ns() + ns;

	while (fake_clock_now_ns() < until_ns && rig_step(rig)) {
	}
}

static void run_to_end_of(struct rig *rig, int end)
{
	while (!rig->has_ended[end] && rig_step(rig)) {
	}
	assert_true(rig->has_ended[end]);
	assert_false(rig->is_over[end]);
}

/* Who answers must be there before anybody sends; and a message that never comes is not waited for
 * without end. */
static void the_responder_begins_with_the_first_message_or_after_a_second(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.run.iterations = 20;
	rig_open(&rig);
	rig_start(&rig, 1);
	run_for(&rig, 900000000);
	assert_true(traffic_has_posted(rig.traffic[1]));
	assert_false(rig.has_ended[1]);
	assert_int_equal(fabric_next_ns(rig.fabric), UINT64_MAX); /* nothing under way */
	run_to_end_of(&rig, 1);
	rig_start(&rig, 0);
	rig_finish(&rig);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig.totals[i].operations, 20);
		assert_int_equal(rig.totals[i].receives, 20);
	}
	assert_true(rig.totals[1].first_post_ns >= 1000000000);
	rig_done(&rig);
}

/* What needs no receive is missed by nobody. */
static void one_sided_operations_wait_for_nobody(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_WRITE, 64);
	rig_open(&rig);
	rig_start(&rig, 1);
	run_to_end_of(&rig, 1);
	rig_start(&rig, 0);
	rig_finish(&rig);
	expect_each(&rig, 0);
	rig_done(&rig);
}

/* The one that is done first still takes all that the other one sends. */
static void an_end_that_is_done_answers_on(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.qp.max_recv_wr = 16;
	rig.assignment->workload.workload.load.outstanding = 16;
	/* From one side three times as many: that side alone is not done for long. */
	rig.assignment->workload.run.iterations = OPERATIONS;
	rig_connect(&rig);
	rig.other->workload.run.iterations = 3 * OPERATIONS;
	for (int i = 0; i < 2; i++) {
		struct error err = ERROR_INIT;

		rig_need(rig_try_traffic(&rig, i, &err), &err);
	}
	rig_run(&rig);
	assert_int_equal(rig.totals[0].operations, OPERATIONS);
	assert_int_equal(rig.totals[0].receives, 3 * OPERATIONS);
	assert_int_equal(rig.totals[1].receives, OPERATIONS);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	assert_int_equal(rig.totals[1].end, END_ITERATIONS);
	assert_int_equal(rig.totals[0].errors + rig.totals[1].errors, 0);
	rig_done(&rig);
}

static void one_that_nobody_stops_ends_by_itself(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.run.timeout_ns = 1000000000;
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	while (!rig.is_over[0] && rig_step(&rig)) {
	}
	assert_true(rig.is_over[0] && rig.has_ended[0]);
	traffic_totals(rig.traffic[0], &rig.totals[0]);
	rig.has_totals[0] = true;
	assert_int_equal(rig.totals[0].end, END_DEADLINE);
	assert_int_equal(rig.totals[0].operations, OPERATIONS);
	assert_int_equal(rig.totals[0].failure.error.class, ERROR_PEER);
	assert_non_null(strstr(rig.totals[0].failure.error.text, "nobody ended the run"));
	rig_done(&rig);
}

static void a_stop_in_mid_run_ends_both(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.run.iterations = 0;
	rig.assignment->workload.run.duration_ns = 1000000000;
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	run_for(&rig, 5000000);
	rig_stop_both(&rig);
	for (int i = 0; i < 2; i++) {
		assert_true(rig.is_over[i]);
		traffic_totals(rig.traffic[i], &rig.totals[i]);
		rig.has_totals[i] = true;
		assert_int_equal(rig.totals[i].end, END_STOPPED);
		assert_true(rig.totals[i].operations > 0);
		rig_check_sums(&rig.totals[i]);
	}
	rig_done(&rig);
}

static void a_path_that_breaks_is_a_stall_at_either_end(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.qp.local_ack_timeout = 0; /* never retried */
	rig.assignment->workload.run.iterations = 0;
	rig.assignment->workload.run.duration_ns = 2000000000;
	rig.assignment->workload.run.stall_timeout_ns = 20000000;
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	run_for(&rig, 5000000);
	fabric_next_packets(rig.fabric, "right", "left", FABRIC_DROP, 1000000000);
	while ((!rig.is_over[0] || !rig.is_over[1]) && rig_step(&rig)) {
	}
	for (int i = 0; i < 2; i++) {
		assert_true(rig.is_over[i]);
		traffic_totals(rig.traffic[i], &rig.totals[i]);
		rig.has_totals[i] = true;
		assert_int_equal(rig.totals[i].end, END_STALLED);
	}
	rig_done(&rig);
}

static void messages_are_lost_each_way_where_nothing_is_sent_again(void **state)
{
	(void)state;
	for (int type = QP_TYPE_UC; type <= QP_TYPE_UD; type++) {
		struct rig rig;

		init(&rig, OPERATION_SEND, 64);
		rig.assignment->workload.qp.qp_type = type;
		rig.assignment->workload.qp.max_recv_wr = 1024;
		rig_open(&rig);
		rig_start(&rig, 1);
		rig_start(&rig, 0);
		fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 7);
		fabric_next_packets(rig.fabric, "right", "left", FABRIC_DROP, 3);
		rig_finish(&rig);
		assert_int_equal(rig.totals[1].receives, OPERATIONS - 7);
		assert_int_equal(rig.totals[0].receives, OPERATIONS - 3);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(rig.totals[i].end, END_ITERATIONS);
			assert_int_equal(rig.totals[i].traffic_operations, OPERATIONS);
		}
		rig_done(&rig);
	}
}

static void open_loads_go_both_ways_at_their_own_times(void **state)
{
	(void)state;
	for (int kind = OPERATION_SEND; kind <= OPERATION_WRITE; kind++) {
		for (int mode = CQ_MODE_POLL; mode <= CQ_MODE_EVENT; mode++) {
			struct load_settings *load;
			struct rig rig;

			init(&rig, kind, 64);
			load = &rig.assignment->workload.workload.load;
			load->model = LOAD_OPEN;
			load->ops_rate = 100000;
			load->max_outstanding = 64;
			rig.assignment->workload.cq.mode = mode;
			rig_open(&rig);
			rig_run(&rig);
			for (int end = 0; end < 2; end++) {
				const struct totals *totals = &rig.totals[end];

				assert_int_equal(totals->operations, OPERATIONS);
				assert_non_null(totals->classes[0].service);
				/* 10 us apart. */
				assert_in_range(totals->window_ns, 2900000, 3200000);
				rig_check_sums(totals);
			}
			rig_done(&rig);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_streams_both_ways),
		cmocka_unit_test(shapes_of_posting_hold_both_ways),
		cmocka_unit_test(each_end_has_a_warm_up_and_a_window_of_its_own),
		cmocka_unit_test(the_responder_begins_with_the_first_message_or_after_a_second),
		cmocka_unit_test(one_sided_operations_wait_for_nobody),
		cmocka_unit_test(an_end_that_is_done_answers_on),
		cmocka_unit_test(one_that_nobody_stops_ends_by_itself),
		cmocka_unit_test(a_stop_in_mid_run_ends_both),
		cmocka_unit_test(a_path_that_breaks_is_a_stall_at_either_end),
		cmocka_unit_test(messages_are_lost_each_way_where_nothing_is_sent_again),
		cmocka_unit_test(open_loads_go_both_ways_at_their_own_times),
	};

	return cmocka_run_group_tests_name("stream-mutual", tests, NULL, NULL);
}
