// SPDX-License-Identifier: MIT
#include "traffic-rig.h"

static void pingpong_init(struct rig *rig, int kind, uint64_t size_bytes, uint64_t iterations)
{
	rig_init(rig, PATTERN_PINGPONG, kind, size_bytes);
	rig->assignment->workload.workload.load.outstanding = 1;
	rig->assignment->workload.workload.signal_interval = 1;
	rig->assignment->workload.workload.post_list = 1;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = iterations;
}

static void run_one(int kind, uint64_t size_bytes, uint64_t least_ns, uint64_t most_ns)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	const struct histogram *latency;
	struct fabric_counters counters;
	bool takes_receive;

	/* A write of several packets carries immediate data. */
	takes_receive = (operation_traits(kind) & OPERATION_TAKES_RECEIVE) ||
			(kind == OPERATION_WRITE && size_bytes > 1024);
	pingpong_init(&rig, kind, size_bytes, 1000);
	rig_open(&rig);
	rig_run(&rig);
	latency = &totals->classes[0].latency;
	assert_int_equal(totals->end, END_ITERATIONS);
	assert_int_equal(totals->operations, 1000);
	assert_int_equal(totals->bytes, 1000 * size_bytes);
	assert_int_equal(latency->count, 1000);
	/* Nothing else is on the fabric: all are alike, and they fill the window without a gap. */
	assert_int_equal(latency->min_ns, latency->max_ns);
	assert_in_range(latency->max_ns, least_ns, most_ns);
	if (operation_traits(kind) & OPERATION_FETCHES) {
		assert_int_equal(totals->window_ns, latency->sum_ns);
		assert_false(totals->is_half_round_trip[kind]);
		assert_true(traffic_is_passive(rig.traffic[1]));
	} else {
		assert_in_range(totals->window_ns, 2 * latency->sum_ns, 2 * latency->sum_ns + 1000);
		assert_true(totals->is_half_round_trip[kind]);
		assert_false(traffic_is_passive(rig.traffic[1]));
		assert_int_equal(rig.totals[1].operations, 1000);
		assert_int_equal(rig.totals[1].receives, takes_receive ? 1000 : 0);
	}
	fabric_counters(rig.fabric, "left", &counters);
	/* a packet of request (small ones), and an answer's acknowledgement */
	if (size_bytes <= 1024) {
		assert_int_equal(counters.tx_packets,
				 operation_traits(kind) & OPERATION_FETCHES ? 1000 : 2000);
	}
	assert_int_equal(counters.retransmits, 0);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void latency_is_what_the_fabric_takes(void **state)
{
	(void)state;
	/* One way: 100 ns at the port, or as long as the bytes take, and 1 us. Only a read is told
	 * whole. */
	run_one(OPERATION_WRITE, 2, 1100, 1110);
	run_one(OPERATION_SEND, 2, 1100, 1110);
	run_one(OPERATION_READ, 2, 2100, 2220);
	run_one(OPERATION_WRITE, 1, 1100, 1110);
	run_one(OPERATION_SEND, 0, 1100, 1110);
	run_one(OPERATION_SEND_WITH_IMM, 0, 1100, 1110);
	run_one(OPERATION_WRITE_WITH_IMM, 0, 1100, 1110);
	run_one(OPERATION_WRITE_WITH_IMM, 2, 1100, 1110);
	run_one(OPERATION_ATOMIC_CMP_AND_SWP, 8, 2100, 2220);
	run_one(OPERATION_ATOMIC_FETCH_AND_ADD, 8, 2100, 2220);
	/* 64 KiB in 64 packets at 100 Gbit/s: 5.7 us */
	run_one(OPERATION_WRITE, 65536, 6500, 6900);
	run_one(OPERATION_SEND, 65536, 6500, 6900);
	run_one(OPERATION_WRITE_WITH_IMM, 65536, 6500, 6900);
	run_one(OPERATION_READ, 65536, 7500, 8000);
}

/* Sizes below, at and above the path MTU in one deck: seen in memory, and by a receive. */
static void writes_of_several_packets_carry_immediate_data(void **state)
{
	for (int type = QP_TYPE_RC; type <= QP_TYPE_UC; type++) {
		struct rig rig;

		(void)state;
		pingpong_init(&rig, OPERATION_WRITE, 8, 3000);
		rig_set_op(&rig, 0, OPERATION_WRITE, 1, 8);
		rig_set_op(&rig, 1, OPERATION_WRITE, 1, 1024);
		rig_set_op(&rig, 2, OPERATION_WRITE, 1, 1025);
		rig.assignment->workload.qp.qp_type = type;
		rig_open(&rig);
		rig_run(&rig);
		for (int end = 0; end < 2; end++) {
			const struct totals *totals = &rig.totals[end];

			assert_int_equal(totals->operations, 3000);
			assert_int_equal(totals->receives, totals->classes[2].completed);
			assert_in_range(totals->receives, 990, 1010);
			/* They are writes all the same. */
			assert_int_equal(totals->classes[2].class.kind, OPERATION_WRITE);
			assert_int_equal(totals->classes[2].bytes,
					 totals->classes[2].completed * 1025);
		}
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

/* One way: 100 ns at the port, or as long as the bytes take, and 1 us. */
static void requests_are_answered_with_as_much_as_they_ask_for(void **state)
{
	static const struct {
		int kind;
		int type;
		uint64_t request_bytes, response_bytes, least_ns, most_ns;
	} cases[] = {
		{ OPERATION_SEND, QP_TYPE_RC, 64, 64, 2200, 2240 },
		{ OPERATION_SEND, QP_TYPE_RC, 64, 0, 2200, 2240 }, /* as much as was asked with */
		{ OPERATION_SEND, QP_TYPE_RC, 0, 64, 2200, 2240 },
		{ OPERATION_SEND, QP_TYPE_RC, 64, 65536, 7500, 8100 },
		{ OPERATION_SEND, QP_TYPE_RC, 65536, 64, 7500, 8100 },
		{ OPERATION_SEND_WITH_IMM, QP_TYPE_UC, 64, 65536, 7500, 8100 },
		{ OPERATION_SEND, QP_TYPE_UD, 64, 1024, 2200, 2400 },
		{ OPERATION_WRITE, QP_TYPE_RC, 8, 1024, 2200, 2400 },
		{ OPERATION_WRITE, QP_TYPE_RC, 8, 65536, 7500, 8100 },
		{ OPERATION_WRITE_WITH_IMM, QP_TYPE_UC, 65536, 8, 7500, 8100 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig rig;
		const struct totals *totals = &rig.totals[0];
		struct fabric_counters counters;
		uint64_t back = cases[i].response_bytes ? cases[i].response_bytes
							: cases[i].request_bytes;

		pingpong_init(&rig, cases[i].kind, cases[i].request_bytes, 500);
		rig.assignment->workload.workload.pattern = PATTERN_REQUEST_RESPONSE;
		rig.assignment->workload.qp.qp_type = cases[i].type;
		rig.assignment->workload.workload.ops[0].response_bytes = cases[i].response_bytes;
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(totals->end, END_ITERATIONS);
		assert_int_equal(totals->operations, 500);
		assert_int_equal(totals->bytes, 500 * cases[i].request_bytes);
		assert_int_equal(rig.totals[1].operations, 500);
		assert_true(totals->is_round_trip && rig.totals[1].is_round_trip);
		for (int kind = 0; kind < OPERATION_KINDS; kind++) {
			assert_false(totals->is_half_round_trip[kind]);
		}
		assert_in_range(totals->classes[0].latency.min_ns, cases[i].least_ns,
				cases[i].most_ns);
		assert_in_range(totals->window_ns, totals->classes[0].latency.sum_ns,
				totals->classes[0].latency.sum_ns + 1000);
		fabric_counters(rig.fabric, "right", &counters);
		assert_true(counters.tx_packets >= 500 * (back > 1024 ? back / 1024 : 1));
		rig_check_sums(totals);
		rig_done(&rig);
	}
}

static void a_mix_keeps_both_ends_together(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	uint64_t answered;

	(void)state;
	pingpong_init(&rig, OPERATION_WRITE, 2, 10000);
	rig_set_op(&rig, 0, OPERATION_WRITE, 3, 2);
	rig_set_op(&rig, 1, OPERATION_WRITE, 2, 300);
	rig_set_op(&rig, 2, OPERATION_SEND, 2, 17);
	rig_set_op(&rig, 3, OPERATION_READ, 2, 4096);
	rig_set_op(&rig, 4, OPERATION_SEND, 1, 0);
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->operations, 10000);
	assert_int_equal(totals->classes[0].completed, 3000);
	assert_int_equal(totals->classes[1].completed, 2000);
	assert_int_equal(totals->classes[2].completed, 2000);
	assert_int_equal(totals->classes[3].completed, 2000);
	assert_int_equal(totals->classes[4].completed, 1000);
	for (size_t i = 0; i < 5; i++) {
		/* A sample belongs to what was posted, whatever comes next. */
		assert_int_equal(totals->classes[i].latency.count, totals->classes[i].completed);
		assert_int_equal(totals->classes[i].latency.min_ns,
				 totals->classes[i].latency.max_ns);
	}
	answered = rig.totals[1].operations;
	assert_int_equal(answered, 8000);
	assert_int_equal(rig.totals[1].receives, 3000);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void markers_wrap_and_other_sizes_leave_theirs_behind(void **state)
{
	/* Sizes whose last bytes lie inside each other's payload, over many turns of the marker. */
	for (uint64_t seed = 1; seed < 20; seed++) {
		struct rig rig;

		(void)state;
		pingpong_init(&rig, OPERATION_WRITE, 1, 3000);
		rig_set_op(&rig, 0, OPERATION_WRITE, 1, 1);
		rig_set_op(&rig, 1, OPERATION_WRITE, 1, 2);
		rig_set_op(&rig, 2, OPERATION_WRITE, 1, 3);
		rig_set_op(&rig, 3, OPERATION_WRITE, 1, 64);
		/* These change bytes of the other end while it waits for the next write. */
		rig_set_op(&rig, 4, OPERATION_ATOMIC_FETCH_AND_ADD, 2, OPERATION_ATOMIC_BYTES);
		rig.assignment->seed = seed;
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].operations, 3000);
		assert_int_equal(rig.totals[1].operations,
				 3000 - rig.totals[0].classes[4].completed);
		/* An answer taken for the next one would be faster than the fabric. */
		assert_true(rig.totals[0].classes[0].latency.min_ns >= 1100);
		rig_done(&rig);
	}
}

static void a_timed_run_ends_between_two_iterations(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	pingpong_init(&rig, OPERATION_SEND, 64, 0);
	rig.assignment->workload.run.duration_ns = 1000000;
	rig.assignment->workload.run.warmup_ns = 100000;
	rig.assignment->workload.run.interval_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->end, END_DURATION);
	/* Noticed when the iteration under way came back. */
	assert_in_range(totals->window_ns, 1000000, 1002500);
	assert_in_range(totals->operations, 440, 460);
	assert_in_range(totals->interval_count, 9, 11);
	assert_true(rig.totals[1].operations >= totals->operations);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void iterations_count_after_the_warm_up(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	pingpong_init(&rig, OPERATION_WRITE, 64, 100);
	rig.assignment->workload.run.warmup_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->end, END_ITERATIONS);
	assert_int_equal(totals->operations, 100);
	assert_int_equal(totals->classes[0].latency.count, 100);
	assert_true(rig.totals[1].operations > 100);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void a_silent_peer_is_a_stall(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	pingpong_init(&rig, OPERATION_WRITE, 64, 100);
	rig_open(&rig);
	rig_start(&rig, 0);
	for (unsigned i = 0; i < 10000 && !rig.is_over[0]; i++) {
		assert_true(rig_step(&rig));
	}
	assert_true(rig.is_over[0]);
	traffic_totals(rig.traffic[0], &rig.totals[0]);
	rig.has_totals[0] = true;
	assert_int_equal(totals->end, END_STALLED);
	assert_int_equal(totals->operations, 0);
	assert_string_equal(totals->failure.error.call, "stall");
	assert_int_equal(totals->failure.error.class, ERROR_DEVICE);
	assert_int_equal(totals->failure.error.stage, STAGE_RUN);
	assert_non_null(strstr(totals->failure.error.text, "lacks the answer of the other end"));
	assert_non_null(strstr(totals->failure.error.text, "a write of 64 B"));
	/* 3 s after its post, told within the drain's second */
	assert_in_range(fake_clock_now_ns() - RIG_START_NS, 3000000000, 4000000001);
	rig_done(&rig);
}

static void refuses_with(const char *words, void (*change)(struct rig *rig))
{
	struct rig rig;
	struct error err = ERROR_INIT;

	pingpong_init(&rig, OPERATION_WRITE, 64, 100);
	rig_connect(&rig);
	change(&rig);
	assert_int_equal(rig_try_traffic(&rig, 0, &err), -EINVAL);
	assert_non_null(strstr(err.text, words));
	rig_done(&rig);
}

static void empty_write(struct rig *rig)
{
	rig->assignment->workload.workload.ops[0].sizes[0].size_bytes = 0;
}

static void two_outstanding(struct rig *rig)
{
	rig->assignment->workload.workload.load.outstanding = 2;
}

static void what_cannot_run_is_refused_in_words(void **state)
{
	(void)state;
	refuses_with("size must be at least 1B", empty_write);
	refuses_with("load.outstanding, post_list and signal_interval must be 1", two_outstanding);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_is_what_the_fabric_takes),
		cmocka_unit_test(writes_of_several_packets_carry_immediate_data),
		cmocka_unit_test(requests_are_answered_with_as_much_as_they_ask_for),
		cmocka_unit_test(a_mix_keeps_both_ends_together),
		cmocka_unit_test(markers_wrap_and_other_sizes_leave_theirs_behind),
		cmocka_unit_test(a_timed_run_ends_between_two_iterations),
		cmocka_unit_test(iterations_count_after_the_warm_up),
		cmocka_unit_test(a_silent_peer_is_a_stall),
		cmocka_unit_test(what_cannot_run_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
