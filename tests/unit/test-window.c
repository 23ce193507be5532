// SPDX-License-Identifier: MIT
#include "traffic-rig.h"

/*
 * What belongs to the window, as engine/window.h has it, on a fabric whose latencies differ, with a
 * clock that moves on between two lines of the program.
 */

#define SEEDS 12
#define READ_COST_NS 37

struct shape {
	int pattern;
	int kind;
	uint64_t num_qps;
	uint64_t outstanding;
	uint64_t post_list;
	uint64_t signal_interval;
};

static const struct shape all_signalled[] = {
	{ PATTERN_PINGPONG, OPERATION_WRITE, 1, 1, 1, 1 },
	{ PATTERN_PINGPONG, OPERATION_SEND, 1, 1, 1, 1 },
	{ PATTERN_PINGPONG, OPERATION_READ, 1, 1, 1, 1 },
	{ PATTERN_STREAM, OPERATION_WRITE, 1, 1, 1, 1 },
	{ PATTERN_STREAM, OPERATION_WRITE, 1, 16, 1, 1 },
	{ PATTERN_STREAM, OPERATION_SEND, 1, 16, 4, 1 },
	{ PATTERN_STREAM, OPERATION_READ, 3, 16, 1, 1 },
	{ PATTERN_STREAM, OPERATION_WRITE, 4, 26, 3, 1 },
};

static const struct shape some_signalled[] = {
	{ PATTERN_STREAM, OPERATION_WRITE, 1, 16, 1, 5 },
	{ PATTERN_STREAM, OPERATION_SEND, 1, 32, 4, 8 },
	{ PATTERN_STREAM, OPERATION_WRITE, 3, 48, 3, 7 },
};

static void shape_init(struct rig *rig, const struct shape *shape, uint64_t seed)
{
	struct workload *workload;

	rig_init(rig, shape->pattern, shape->kind, 64);
	fabric_use(NULL);
	fabric_free(rig->fabric);
	rig->fabric = fabric_new(seed);
	fabric_use(rig->fabric);
	fabric_add_device(rig->fabric,
			  &(struct fabric_device_config){ .name = "left", .address = "10.0.0.1" });
	fabric_add_device(rig->fabric,
			  &(struct fabric_device_config){ .name = "right", .address = "10.0.0.2" });
	fabric_set_link(rig->fabric, NULL, NULL,
			&(struct fabric_link){ .latency_ns = 1000, .jitter_ns = 4000 });
	rig->assignment->seed = seed;
	workload = &rig->assignment->workload;
	workload->qp.num_qps = shape->num_qps;
	workload->qp.max_recv_wr = 64;
	workload->workload.load.outstanding = shape->outstanding;
	workload->workload.post_list = shape->post_list;
	workload->workload.signal_interval = shape->signal_interval;
	workload->run.interval_ns = 30000;
	/* Classes of their own. */
	rig_set_op(rig, 1, shape->kind, 1, 300);
}

/* Warm-ups of no round length end at any point of an operation. */
static void set_length(struct rig *rig, bool is_timed, bool has_warmup, uint64_t seed)
{
	struct run_settings *run = &rig->assignment->workload.run;

	run->warmup_ns = has_warmup ? 40000 + seed * 613 : 0;
	run->duration_ns = is_timed ? 100000 + seed * 331 : 0;
	run->iterations = is_timed ? 0 : 100 + seed;
}

static void run_shape(struct rig *rig)
{
	rig_open(rig);
	fake_clock_set_read_cost(READ_COST_NS);
	rig_run(rig);
	fake_clock_set_read_cost(0);
	rig_check_sums(&rig->totals[0]);
}

static uint64_t latencies(const struct totals *totals)
{
	uint64_t count = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		count += totals->classes[i].latency.count;
	}
	return count;
}

typedef void (*check_fn)(const struct rig *rig, const struct shape *shape, uint64_t seed);

static void each_run(const struct shape *shapes, size_t count, check_fn check)
{
	for (size_t i = 0; i < count; i++) {
		for (unsigned mode = 0; mode < 4; mode++) {
			for (uint64_t seed = 1; seed <= SEEDS; seed++) {
				struct rig rig;

				shape_init(&rig, &shapes[i], seed);
				set_length(&rig, mode & 1, mode & 2, seed);
				run_shape(&rig);
				check(&rig, &shapes[i], seed);
				rig_done(&rig);
			}
		}
	}
}

static void check_one_each(const struct rig *rig, const struct shape *shape, uint64_t seed)
{
	const struct totals *totals = &rig->totals[0];
	const struct run_settings *run = &rig->assignment->workload.run;

	(void)shape;
	assert_int_equal(totals->end, run->iterations ? END_ITERATIONS : END_DURATION);
	assert_true(totals->operations > 0);
	assert_true(!run->iterations || totals->operations == run->iterations);
	/* One thread has no more than all the time there is. */
	assert_true(totals->worker_cpu_ns <= totals->window_ns);
	assert_int_equal(latencies(totals), totals->operations);
	for (size_t i = 0; i < totals->class_count; i++) {
		if (totals->classes[i].latency.count != totals->classes[i].completed) {
			fail_msg("seed %llu, class %zu: %llu latencies of %llu operations",
				 (unsigned long long)seed, i,
				 (unsigned long long)totals->classes[i].latency.count,
				 (unsigned long long)totals->classes[i].completed);
		}
	}
	for (size_t i = 0; i < totals->interval_count; i++) {
		assert_int_equal(totals->intervals[i].latency_count,
				 totals->intervals[i].operations);
	}
}

static void where_every_operation_is_signalled_each_one_counted_has_its_latency(void **state)
{
	(void)state;
	each_run(all_signalled, sizeof(all_signalled) / sizeof(all_signalled[0]), check_one_each);
}

static void check_one_a_signal(const struct rig *rig, const struct shape *shape, uint64_t seed)
{
	const struct totals *totals = &rig->totals[0];
	uint64_t count = latencies(totals);

	(void)seed;
	/* One for each interval, and one for each queue pair's last request. */
	assert_in_range(count, totals->operations / shape->signal_interval - shape->num_qps,
			totals->operations / shape->signal_interval + shape->num_qps);
	for (size_t i = 0; i < totals->interval_count; i++) {
		assert_true(totals->intervals[i].latency_count <= totals->intervals[i].operations);
	}
}

static void where_some_are_signalled_each_signal_has_its_latency(void **state)
{
	(void)state;
	each_run(some_signalled, sizeof(some_signalled) / sizeof(some_signalled[0]),
		 check_one_a_signal);
}

/* Latencies are the fabric's, and the window has room for all of them: opening and cutting are in
 * none. */
static void check_length_of_a_ping_pong(const struct rig *rig, const struct shape *shape,
					uint64_t seed)
{
	const struct totals *totals = &rig->totals[0];
	uint64_t halves = shape->kind == OPERATION_READ ? 1 : 2;
	uint64_t sum_ns = 0;
	uint64_t max_ns = 0;

	(void)seed;
	for (size_t i = 0; i < totals->class_count; i++) {
		const struct histogram *latency = &totals->classes[i].latency;

		sum_ns += latency->sum_ns;
		max_ns = latency->max_ns > max_ns ? latency->max_ns : max_ns;
	}
	/* One may have begun before the window opened. */
	assert_true(halves * sum_ns <=
		    totals->window_ns + (rig->assignment->workload.run.warmup_ns &&
							 rig->assignment->workload.run.duration_ns
						 ? halves * max_ns
						 : 0));
	assert_true(max_ns < 12000);
}

static void latencies_of_a_ping_pong_fit_into_its_window(void **state)
{
	(void)state;
	each_run(all_signalled, 3, check_length_of_a_ping_pong);
}

/* What is under way when the window closes is in none of the numbers, however long it takes; what
 * was under way when it opened is in all of them. */
static void an_operation_belongs_to_the_window_that_sees_it_complete(void **state)
{
	static const struct shape one = { PATTERN_STREAM, OPERATION_WRITE, 1, 1, 1, 1 };
	struct rig rig;
	const struct totals *totals = &rig.totals[0];

	(void)state;
	shape_init(&rig, &one, 1);
	fabric_set_link(rig.fabric, NULL, NULL, &(struct fabric_link){ .latency_ns = 20000 });
	rig.assignment->workload.run.warmup_ns = 50000;
	rig.assignment->workload.run.duration_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	/* 40.1 us each: completes at 40, 80, 120 and 160 us; the window is 50 to 150 us. */
	assert_int_equal(totals->operations, 2);
	assert_int_equal(totals->window_ns, 100000);
	assert_int_equal(latencies(totals), 2);
	assert_true(totals->classes[0].latency.min_ns + totals->classes[1].latency.min_ns > 40000);
	assert_int_equal(totals->classes[0].posted + totals->classes[1].posted, 2);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			where_every_operation_is_signalled_each_one_counted_has_its_latency),
		cmocka_unit_test(where_some_are_signalled_each_signal_has_its_latency),
		cmocka_unit_test(latencies_of_a_ping_pong_fit_into_its_window),
		cmocka_unit_test(an_operation_belongs_to_the_window_that_sees_it_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
