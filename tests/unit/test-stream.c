// SPDX-License-Identifier: MIT
#include "traffic-rig.h"

/* --- exact counts --- */

static void run_iterations(uint64_t num_qps, uint64_t post_list, uint64_t signal_interval,
			   uint64_t outstanding, uint64_t iterations, int kind)
{
	bool is_atomic = operation_traits(kind) & OPERATION_IS_ATOMIC;
	uint64_t size_bytes = is_atomic ? OPERATION_ATOMIC_BYTES : 64;
	struct rig rig;
	struct workload *workload;
	const struct totals *totals = &rig.totals[0];

	rig_init(&rig, PATTERN_STREAM, kind, size_bytes);
	workload = &rig.assignment->workload;
	workload->qp.num_qps = num_qps;
	workload->qp.max_recv_wr = 64;
	workload->workload.post_list = post_list;
	workload->workload.signal_interval = signal_interval;
	workload->workload.load.outstanding = outstanding * num_qps;
	workload->run.duration_ns = 0;
	workload->run.iterations = iterations;
	rig_open(&rig);
	rig_run(&rig);

	assert_int_equal(totals->end, END_ITERATIONS);
	assert_int_equal(totals->operations, iterations);
	assert_int_equal(totals->bytes, iterations * size_bytes);
	assert_int_equal(totals->errors, 0);
	assert_int_equal(totals->class_count, 1);
	assert_int_equal(totals->classes[0].posted, iterations);
	assert_int_equal(totals->classes[0].completed, iterations);
	assert_true(totals->classes[0].latency.count >= iterations / signal_interval);
	assert_true(totals->classes[0].latency.count > 0);
	assert_false(totals->is_half_round_trip[kind]);
	rig_check_sums(totals);
	assert_true(traffic_is_passive(rig.traffic[1]) !=
		    (bool)(operation_traits(kind) & OPERATION_TAKES_RECEIVE));
	if (operation_traits(kind) & OPERATION_TAKES_RECEIVE) {
		assert_int_equal(rig.totals[1].receives, iterations);
		assert_int_equal(rig.totals[1].bytes, iterations * size_bytes);
		assert_int_equal(rig.totals[1].end, END_STOPPED);
		rig_check_sums(&rig.totals[1]);
	}
	rig_done(&rig);
}

static void iterations_are_exact_for_every_shape_of_posting(void **state)
{
	static const uint64_t shapes[][2] = { { 1, 1 },	  { 1, 7 },  { 4, 1 },	{ 4, 4 },
					      { 16, 16 }, { 3, 7 },  { 7, 3 },	{ 8, 32 },
					      { 32, 8 },  { 5, 20 }, { 16, 24 } };
	static const uint64_t iterations[] = { 1, 2, 5, 16, 63, 64, 65, 500, 1001 };
	static const uint64_t qps[] = { 1, 2, 3, 8 };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (size_t j = 0; j < sizeof(iterations) / sizeof(iterations[0]); j++) {
			for (size_t k = 0; k < sizeof(qps) / sizeof(qps[0]); k++) {
				run_iterations(qps[k], shapes[i][0], shapes[i][1], 40,
					       iterations[j], OPERATION_WRITE);
			}
		}
	}
}

static void each_operation_is_counted_at_both_ends(void **state)
{
	(void)state;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		run_iterations(1, 1, 1, 1, 777, kind);
		run_iterations(1, 1, 1, 4, 777, kind);
		run_iterations(3, 4, 8, 16, 777, kind);
	}
}

static void the_least_load_that_can_make_progress_makes_it(void **state)
{
	(void)state;
	/* signal_interval + post_list - gcd */
	run_iterations(1, 1, 10, 10, 1000, OPERATION_WRITE);
	run_iterations(1, 3, 7, 9, 1000, OPERATION_WRITE);
	run_iterations(2, 6, 9, 12, 1000, OPERATION_WRITE);
	run_iterations(1, 16, 16, 16, 1000, OPERATION_WRITE);
}

static void a_mix_has_its_exact_proportions(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 4096);
	rig_set_op(&rig, 0, OPERATION_WRITE, 70, 4096);
	rig_set_op(&rig, 1, OPERATION_READ, 20, 16384);
	rig_set_op(&rig, 2, OPERATION_SEND, 10, 256);
	rig.assignment->workload.qp.num_qps = 2;
	rig.assignment->workload.workload.load.outstanding = 64;
	rig.assignment->workload.workload.signal_interval = 8;
	rig.assignment->workload.workload.post_list = 4;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 20000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->operations, 20000);
	assert_int_equal(totals->class_count, 3);
	assert_in_range(totals->classes[0].completed, 13900, 14100);
	assert_in_range(totals->classes[1].completed, 3900, 4100);
	assert_in_range(totals->classes[2].completed, 1900, 2100);
	for (size_t i = 0; i < 3; i++) {
		/* signalling is independent of the mix */
		uint64_t expected = totals->classes[i].completed / 8;

		assert_in_range(totals->classes[i].latency.count, expected * 9 / 10,
				expected * 11 / 10);
	}
	assert_int_equal(rig.totals[1].receives, totals->classes[2].completed);
	assert_int_equal(rig.totals[1].bytes, totals->classes[2].completed * 256);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void queue_pairs_share_a_deck_when_there_are_many(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig_set_op(&rig, 0, OPERATION_WRITE, 997, 64);
	rig_set_op(&rig, 1, OPERATION_READ, 3, 64);
	rig.assignment->workload.qp.num_qps = 128;
	rig.assignment->workload.qp.max_send_wr = 16;
	rig.assignment->workload.workload.load.outstanding = 128 * 4;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 128000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->operations, 128000);
	assert_in_range(totals->classes[1].completed, 340, 430);
	rig_check_sums(totals);
	rig_done(&rig);
}

/* --- time --- */

static void the_window_is_first_post_to_last_completion(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	uint64_t one_ns;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.workload.load.outstanding = 1;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1;
	rig_open(&rig);
	rig_run(&rig);
	one_ns = totals->window_ns;
	/* 100 ns at the port, 1 us there, a small answer, 1 us back */
	assert_in_range(one_ns, 2100, 2200);
	assert_int_equal(totals->classes[0].latency.count, 1);
	assert_int_equal(totals->classes[0].latency.max_ns, one_ns);
	assert_string_equal(totals->clock, "virtual");
	rig_done(&rig);

	/* One after the other: every latency is the same, and the window is their sum. */
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.workload.load.outstanding = 1;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->classes[0].latency.count, 1000);
	assert_int_equal(totals->classes[0].latency.min_ns, one_ns);
	assert_int_equal(totals->classes[0].latency.max_ns, one_ns);
	assert_int_equal(totals->window_ns, 1000 * one_ns);
	rig_done(&rig);
}

static void bandwidth_is_the_ports(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	double rate_bps;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 65536);
	rig.assignment->workload.run.duration_ns = 10000000;
	rig.assignment->workload.run.warmup_ns = 1000000;
	rig.assignment->workload.run.interval_ns = 1000000;
	rig.assignment->workload.qp.path_mtu = 4096;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->end, END_DURATION);
	assert_int_equal(totals->window_ns, 10000000);
	rate_bps = (double)totals->bytes * 8e9 / (double)totals->window_ns;
	/* 100 Gbit/s less headers: 82 of 4178 bytes of each packet */
	assert_true(rate_bps > 97.0e9 && rate_bps < 98.5e9);
	assert_int_equal(totals->interval_count, 10);
	rig_check_sums(totals);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(totals->intervals[i].end_ns, (i + 1) * 1000000);
		assert_true(totals->intervals[i].operations > 0);
	}
	assert_true(rig.progress_count >= 10);
	assert_int_equal(rig.progress.operations, totals->operations);
	rig_done(&rig);
}

/* One packet is lost, when the run is half over: who waited for it is named. */
static void the_slowest_are_told_with_their_time_and_queue_pair(void **state)
{
	struct rig rig;
	const struct slowest *slowest = &rig.totals[0].slowest;
	unsigned steps = 0;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.qp.num_qps = 4;
	rig.assignment->workload.run.duration_ns = 20000000;
	rig.assignment->workload.run.interval_ns = 1000000;
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	while (fake_clock_now_ns() < RIG_START_NS + 10000000) {
		assert_true(rig_step(&rig) && ++steps < RIG_STEPS_MOST);
	}
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 1);
	rig_finish(&rig);
	rig_check_sums(&rig.totals[0]);
	assert_int_equal(slowest->count, SLOWEST_MAX);
	/* What stood behind it on its queue pair, and nothing of the others. */
	assert_true(slowest->items[SLOWEST_MAX - 1].latency_ns >
		    histogram_percentile_ns(&rig.totals[0].classes[0].latency, 500000));
	assert_in_range(slowest->items[0].end_ns, 10000000, 10100000);
	for (size_t i = 1; i < SLOWEST_MAX; i++) {
		assert_int_equal(slowest->items[i].qp_num, slowest->items[0].qp_num);
		assert_int_equal(slowest->items[i].qp_index, slowest->items[0].qp_index);
	}
	assert_int_equal(rig.infos[0]->qps[slowest->items[0].qp_index].qp_num,
			 slowest->items[0].qp_num);
	rig_done(&rig);
}

static void the_warm_up_is_subtracted(void **state)
{
	struct rig rig;
	const struct totals *totals = &rig.totals[0];
	uint64_t cold_operations;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.run.duration_ns = 1000000;
	rig.assignment->workload.run.warmup_ns = 0;
	rig.assignment->workload.run.interval_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	cold_operations = totals->operations;
	assert_int_equal(totals->window_ns, 1000000);
	rig_done(&rig);

	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.run.duration_ns = 1000000;
	rig.assignment->workload.run.warmup_ns = 5000000;
	rig.assignment->workload.run.interval_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(totals->window_ns, 1000000);
	assert_int_equal(totals->first_post_ns, 0);
	assert_in_range(totals->operations, cold_operations, cold_operations * 11 / 10);
	assert_int_equal(totals->interval_count, 10);
	rig_check_sums(totals);
	rig_done(&rig);
}

static void iterations_after_a_warm_up_begin_from_rest(void **state)
{
	static const uint64_t shapes[][2] = { { 1, 1 }, { 1, 7 }, { 4, 4 }, { 3, 7 }, { 8, 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		for (uint64_t num_qps = 1; num_qps <= 3; num_qps++) {
			struct rig rig;
			const struct totals *totals = &rig.totals[0];

			rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, 64);
			rig.assignment->workload.qp.num_qps = num_qps;
			rig.assignment->workload.workload.load.outstanding = 32 * num_qps;
			rig.assignment->workload.workload.post_list = shapes[i][0];
			rig.assignment->workload.workload.signal_interval = shapes[i][1];
			rig.assignment->workload.run.duration_ns = 0;
			rig.assignment->workload.run.iterations = 100;
			rig.assignment->workload.run.warmup_ns = 100000;
			rig_open(&rig);
			rig_run(&rig);
			assert_int_equal(totals->end, END_ITERATIONS);
			assert_int_equal(totals->operations, 100);
			assert_int_equal(totals->classes[0].posted, 100);
			assert_true(totals->classes[0].latency.count >= 100 / shapes[i][1]);
			assert_true(rig.totals[1].receives > 100);
			rig_check_sums(totals);
			rig_done(&rig);
		}
	}
}

static void run_timed(uint64_t num_qps, uint64_t post_list, uint64_t signal_interval)
{
	struct rig rig;
	struct fabric_counters counters;
	uint64_t drained;

	rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, 64);
	rig.assignment->workload.qp.num_qps = num_qps;
	rig.assignment->workload.workload.load.outstanding = 40 * num_qps;
	rig.assignment->workload.workload.post_list = post_list;
	rig.assignment->workload.workload.signal_interval = signal_interval;
	rig.assignment->workload.run.duration_ns = 50000;
	rig_open(&rig);
	rig_run(&rig);
	fabric_counters(rig.fabric, "left", &counters);
	assert_int_equal(rig.totals[0].end, END_DURATION);
	assert_int_equal(rig.totals[1].receives, counters.tx_packets);
	drained = rig.totals[1].receives - rig.totals[0].operations;
	/* What was under way, and one more for each queue pair. */
	assert_in_range(drained, 0, 41 * num_qps);
	assert_in_range(rig.totals[1].receives - rig.totals[0].classes[0].posted, 0, num_qps);
	rig_check_sums(&rig.totals[0]);
	rig_done(&rig);
}

/* Unsignalled requests at the end are drained: the other end gets exactly what was posted, whatever
 * the interval. */
static void every_request_of_a_timed_run_is_seen_to_complete(void **state)
{
	(void)state;
	for (uint64_t signal_interval = 1; signal_interval <= 16; signal_interval++) {
		run_timed(2, 1, signal_interval);
		run_timed(1, 3, signal_interval);
		run_timed(3, 8, signal_interval);
	}
}

static void packets_are_one_for_each_small_operation(void **state)
{
	struct rig rig;
	struct fabric_counters counters;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 1024);
	rig.assignment->workload.qp.path_mtu = 1024;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1000;
	rig_open(&rig);
	rig_run(&rig);
	fabric_counters(rig.fabric, "left", &counters);
	assert_int_equal(counters.tx_packets, 1000);
	rig_done(&rig);
}

/* Ten over four queue pairs: three, three, two and two. */
static void all_that_is_asked_for_is_outstanding_though_it_does_not_divide(void **state)
{
	static const uint64_t shapes[][3] = {
		{ 4, 10, 1 }, { 3, 8, 1 }, { 4, 11, 2 }, { 7, 64, 9 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct rig rig;
		struct error err = ERROR_INIT;

		rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
		rig.assignment->workload.qp.num_qps = shapes[i][0];
		rig.assignment->workload.workload.load.outstanding = shapes[i][1];
		rig.assignment->workload.workload.signal_interval = shapes[i][2];
		rig.assignment->workload.qp.local_ack_timeout = 0; /* waits for ever */
		rig_connect(&rig);
		fabric_set_black_hole(rig.fabric, "left", "right", true);
		rig_need(rig_try_traffic(&rig, 0, &err), &err);
		rig_need(rig_try_traffic(&rig, 1, &err), &err);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_STALLED);
		assert_int_equal(rig.totals[0].classes[0].posted, shapes[i][1]);
		assert_int_equal(rig.totals[0].failure.flushed, shapes[i][1]);
		rig_done(&rig);
	}
	run_iterations(1, 1, 1, 7, 777, OPERATION_SEND);
}

/* --- a post that fails --- */

/* Once a post failed every queue pair is in ERR: what is flushed is what was under way then. */
static void run_refused_post(uint64_t num_qps, uint64_t post_list, uint64_t iterations,
			     uint32_t under_way)
{
	struct rig rig;
	/* Of the work requests, not of the calls. */
	struct fabric_verb_fault fault = { .error = ENOMEM, .skip = under_way, .count = 1 };

	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.qp.num_qps = num_qps;
	rig.assignment->workload.workload.load.outstanding = 40 * num_qps;
	rig.assignment->workload.workload.post_list = post_list;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = iterations;
	rig_open(&rig);
	fabric_set_verb(rig.fabric, "left", FABRIC_POST_SEND, &fault);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ERROR);
	assert_string_equal(rig.totals[0].failure.error.call, "ibv_post_send");
	assert_int_equal(rig.totals[0].failure.flushed, under_way);
	assert_int_equal(rig.totals[0].classes[0].posted, under_way);
	rig_done(&rig);
}

static void a_refused_post_is_the_last_one_on_any_queue_pair(void **state)
{
	(void)state;
	/* A batch of the second queue pair. */
	run_refused_post(3, 4, 300, 4);
	/* The tail of the first one, behind its batch of four; the second one has not posted yet.
	 */
	run_refused_post(2, 4, 12, 4);
	/* A share of less than a batch, before anything else. */
	run_refused_post(2, 3, 5, 0);
	/* One queue pair: a batch, and the tail behind two batches. */
	run_refused_post(1, 4, 100, 12);
	run_refused_post(1, 4, 10, 8);
}

/* The first look fails, when only a part of what may be outstanding has been posted. */
static void nothing_is_posted_once_completions_cannot_be_read(void **state)
{
	(void)state;
	for (uint64_t num_qps = 1; num_qps <= 2; num_qps++) {
		struct rig rig;
		struct fabric_verb_fault fault = { .error = EINVAL, .count = 1 };

		rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
		rig.assignment->workload.qp.num_qps = num_qps;
		rig.assignment->workload.qp.max_send_wr = 1000;
		rig.assignment->workload.workload.load.outstanding = 1000;
		rig_open(&rig);
		fabric_set_verb(rig.fabric, "left", FABRIC_POLL_CQ, &fault);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ERROR);
		assert_in_range(rig.totals[0].classes[0].posted, 1, 999);
		assert_int_equal(rig.totals[0].failure.flushed, rig.totals[0].classes[0].posted);
		rig_done(&rig);
	}
}

/* The kind of the only operation, which goes out as a tail; with a fault, of the one refused. */
static int only_operation(uint64_t seed, bool is_refused)
{
	struct rig rig;
	struct fabric_verb_fault fault = { .error = ENOMEM, .count = 1 };
	int kind;

	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig_set_op(&rig, 1, OPERATION_READ, 1, 64);
	rig.assignment->seed = seed;
	rig.assignment->workload.workload.post_list = 2;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 1;
	rig_open(&rig);
	if (is_refused) {
		fabric_set_verb(rig.fabric, "left", FABRIC_POST_SEND, &fault);
	}
	rig_run(&rig);
	kind = is_refused			    ? rig.totals[0].failure.operation
	       : rig.totals[0].classes[0].completed ? OPERATION_WRITE
						    : OPERATION_READ;
	rig_done(&rig);
	return kind;
}

static void a_refused_tail_is_told_with_its_own_operation(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 16; seed++) {
		assert_int_equal(only_operation(seed, true), only_operation(seed, false));
	}
}

/* --- what cannot be --- */

static void refuses_with(int expected, const char *words, void (*change)(struct rig *rig))
{
	struct rig rig;
	struct error err = ERROR_INIT;

	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig_connect(&rig);
	change(&rig);
	assert_int_equal(rig_try_traffic(&rig, 0, &err), expected);
	if (!strstr(err.text, words)) {
		print_error("\"%s\" lacks \"%s\"\n", err.text, words);
	}
	assert_non_null(strstr(err.text, words));
	assert_null(rig.traffic[0]);
	rig_done(&rig);
}

static void load_too_low(struct rig *rig)
{
	rig->assignment->workload.workload.load.outstanding = 10;
	rig->assignment->workload.workload.signal_interval = 7;
	rig->assignment->workload.workload.post_list = 5;
}

static void load_too_high(struct rig *rig)
{
	rig->assignment->workload.workload.load.outstanding = 65;
}

static void no_interval(struct rig *rig)
{
	rig->assignment->workload.workload.signal_interval = 0;
}

static void fewer_peers(struct rig *rig)
{
	rig->infos[1]->qp_count = 0;
}

static void small_peer_buffer(struct rig *rig)
{
	rig->infos[1]->buffer_bytes = 64;
}

static void huge_inline(struct rig *rig)
{
	rig->assignment->workload.workload.ops[0].inline_mode = INLINE_YES;
	rig->assignment->workload.qp.max_inline_data = 32;
}

static void unknown_pattern(struct rig *rig)
{
	rig->assignment->workload.workload.pattern = 9;
}

static void what_cannot_run_is_refused_in_words(void **state)
{
	(void)state;
	refuses_with(-EINVAL, "post_list 5 with signal_interval 7 needs 11", load_too_low);
	refuses_with(-EINVAL, "above qp.max_send_wr 64", load_too_high);
	refuses_with(-EINVAL, "must be 1 to 32768", no_interval);
	refuses_with(-EPROTO, "\"right\" prepared 0 queue pairs for our 1", fewer_peers);
	refuses_with(-EPROTO, "a buffer of 64 bytes", small_peer_buffer);
	refuses_with(-EINVAL, "inline write of 64 bytes is above the 32 bytes", huge_inline);
	refuses_with(-EOPNOTSUPP, "workload.pattern 9 is not known", unknown_pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(iterations_are_exact_for_every_shape_of_posting),
		cmocka_unit_test(each_operation_is_counted_at_both_ends),
		cmocka_unit_test(the_least_load_that_can_make_progress_makes_it),
		cmocka_unit_test(a_mix_has_its_exact_proportions),
		cmocka_unit_test(queue_pairs_share_a_deck_when_there_are_many),
		cmocka_unit_test(the_window_is_first_post_to_last_completion),
		cmocka_unit_test(bandwidth_is_the_ports),
		cmocka_unit_test(the_slowest_are_told_with_their_time_and_queue_pair),
		cmocka_unit_test(the_warm_up_is_subtracted),
		cmocka_unit_test(iterations_after_a_warm_up_begin_from_rest),
		cmocka_unit_test(every_request_of_a_timed_run_is_seen_to_complete),
		cmocka_unit_test(packets_are_one_for_each_small_operation),
		cmocka_unit_test(all_that_is_asked_for_is_outstanding_though_it_does_not_divide),
		cmocka_unit_test(a_refused_post_is_the_last_one_on_any_queue_pair),
		cmocka_unit_test(nothing_is_posted_once_completions_cannot_be_read),
		cmocka_unit_test(a_refused_tail_is_told_with_its_own_operation),
		cmocka_unit_test(what_cannot_run_is_refused_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
