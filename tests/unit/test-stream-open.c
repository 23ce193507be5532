// SPDX-License-Identifier: MIT
/* Open loads: when operations are posted, what their latency counts from, what finds no room. */
#include <math.h>

#include "traffic-rig.h"

#define MS 1000000ull

static void open_init(struct rig *rig, int kind, uint64_t ops_rate, uint64_t max_outstanding)
{
	struct load_settings *load;

	rig_init(rig, PATTERN_STREAM, kind, 64);
	load = &rig->assignment->workload.workload.load;
	load->model = LOAD_OPEN;
	load->ops_rate = ops_rate;
	load->max_outstanding = max_outstanding;
	load->outstanding = max_outstanding;
	rig->assignment->workload.qp.max_send_wr = 64;
	rig->assignment->workload.run.warmup_ns = 0;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = 0;
	rig->assignment->workload.run.interval_ns = 10 * MS;
}

static const struct class_totals *only_class(const struct rig *rig)
{
	assert_int_equal(rig->totals[0].class_count, 1);
	assert_non_null(rig->totals[0].classes[0].service);
	return &rig->totals[0].classes[0];
}

static void operations_come_at_their_rate(void **state)
{
	static const int kinds[] = { OPERATION_WRITE, OPERATION_SEND, OPERATION_READ };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (int mode = CQ_MODE_POLL; mode <= CQ_MODE_EVENT; mode++) {
			const struct class_totals *class;
			struct rig rig;

			open_init(&rig, kinds[i], 10000, 16);
			rig.assignment->workload.cq.mode = mode;
			rig.assignment->workload.run.duration_ns = 100 * MS;
			rig_open(&rig);
			rig_run(&rig);
			class = only_class(&rig);
			assert_int_equal(rig.totals[0].end, END_DURATION);
			assert_in_range(rig.totals[0].operations, 999, 1001);
			assert_int_equal(rig.totals[0].late_operations, 0);
			assert_int_equal(rig.totals[0].dropped_operations, 0);
			/* Nothing waits: both latencies are the fabric's. */
			assert_int_equal(class->latency.count, class->completed);
			assert_int_equal(class->service->count, class->completed);
			assert_in_range(class->service->max_ns, 2000, 2300);
			assert_in_range(class->latency.max_ns, 2000, 2400);
			rig_check_sums(&rig.totals[0]);
			rig_done(&rig);
		}
	}
}

static void iterations_are_exact_over_queue_pairs(void **state)
{
	(void)state;
	for (uint64_t num_qps = 1; num_qps <= 3; num_qps++) {
		for (uint64_t iterations = 1; iterations <= 1000; iterations = iterations * 7 + 3) {
			struct rig rig;

			open_init(&rig, OPERATION_SEND, 500000, 4 * num_qps);
			rig.assignment->workload.qp.num_qps = num_qps;
			rig.assignment->workload.workload.load.arrival = ARRIVAL_POISSON;
			rig.assignment->workload.run.iterations = iterations;
			rig_open(&rig);
			rig_run(&rig);
			assert_int_equal(rig.totals[0].end, END_ITERATIONS);
			assert_int_equal(rig.totals[0].operations, iterations);
			assert_int_equal(only_class(&rig)->latency.count, iterations);
			rig_check_sums(&rig.totals[0]);
			rig_done(&rig);
		}
	}
}

static void what_finds_no_room_is_late_and_its_latency_counts_the_wait(void **state)
{
	const struct class_totals *class;
	struct rig rig;

	(void)state;
	/* One at a time takes 2.1 us, one is due each microsecond: the queue grows without end. */
	open_init(&rig, OPERATION_WRITE, 1000000, 1);
	rig.assignment->workload.run.duration_ns = 10 * MS;
	rig_open(&rig);
	rig_run(&rig);
	class = only_class(&rig);
	assert_in_range(rig.totals[0].operations, 4300, 5000);
	assert_true(rig.totals[0].late_operations > rig.totals[0].operations * 99 / 100);
	assert_in_range(class->service->max_ns, 2000, 2300);
	/* The last one was meant for half of the time. */
	assert_in_range(class->latency.max_ns, 4 * MS, 6 * MS);
	rig_done(&rig);
}

static void what_finds_no_room_may_be_dropped(void **state)
{
	const struct class_totals *class;
	struct rig rig;
	uint64_t meant;

	(void)state;
	open_init(&rig, OPERATION_WRITE, 1000000, 1);
	rig.assignment->workload.workload.load.on_full = ON_FULL_DROP;
	rig.assignment->workload.run.duration_ns = 10 * MS;
	rig_open(&rig);
	rig_run(&rig);
	class = only_class(&rig);
	meant = rig.totals[0].operations + rig.totals[0].dropped_operations;
	assert_in_range(meant, 9990, 10010);
	/* Of three microseconds one finds it free. */
	assert_in_range(rig.totals[0].operations, 3300, 3400);
	assert_int_equal(rig.totals[0].late_operations, 0);
	assert_in_range(class->latency.max_ns, 2000, 2400);
	rig_done(&rig);
}

/* One at a time, each of the same length, arrivals that know nothing of each other: M/D/1. */
static void waiting_is_what_queueing_theory_says(void **state)
{
	const struct class_totals *class;
	struct rig rig;
	double service_ns;
	double load;
	double expected_ns;
	double mean_ns;

	(void)state;
	open_init(&rig, OPERATION_WRITE, 300000, 1);
	rig.assignment->workload.workload.load.arrival = ARRIVAL_POISSON;
	/* Twice through the ring of gaps. */
	rig.assignment->workload.run.iterations = 1 << 18;
	rig_open(&rig);
	rig_run(&rig);
	class = only_class(&rig);
	service_ns = histogram_mean_ns(class->service);
	load = service_ns * 300000 / 1e9;
	expected_ns = service_ns + load * service_ns / (2 * (1 - load));
	mean_ns = histogram_mean_ns(&class->latency);
	assert_true(load > 0.5 && load < 0.7);
	if (fabs(mean_ns / expected_ns - 1) > 0.03) {
		fail_msg("mean %.1f ns, expected %.1f ns", mean_ns, expected_ns);
	}
	/* The rate is that which was asked for. */
	assert_true(fabs((double)rig.totals[0].operations * 1e9 / (double)rig.totals[0].window_ns /
				 300000 -
			 1) < 0.001);
	rig_done(&rig);
}

static void a_load_that_its_path_cannot_carry_ends_and_says_so(void **state)
{
	struct fabric_link far = { .latency_ns = 10 * MS };
	struct rig rig;

	(void)state;
	/* One at a time takes 20 ms, one is due each millisecond. */
	open_init(&rig, OPERATION_WRITE, 1000, 1);
	fabric_set_link(rig.fabric, NULL, NULL, &far);
	rig.assignment->workload.qp.local_ack_timeout = 20;
	rig.assignment->workload.run.duration_ns = 60000 * MS;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_DEADLINE);
	assert_int_equal(rig.totals[0].failure.error.class, ERROR_INPUT);
	assert_non_null(strstr(rig.totals[0].failure.error.text, "10.0 s behind"));
	assert_non_null(strstr(rig.totals[0].failure.error.text, "on_full: drop"));
	assert_in_range(rig.totals[0].operations, 500, 550);
	rig_done(&rig);
}

/* Queue pairs that were not used yet must not hide that those in use stand still. */
static void a_path_that_is_silent_is_a_stall_on_many_queue_pairs(void **state)
{
	struct fabric_link silent = { .loss_ppm = 1000000 };
	struct rig rig;

	(void)state;
	open_init(&rig, OPERATION_WRITE, 10, 64);
	rig.assignment->workload.qp.num_qps = 64;
	rig.assignment->workload.qp.local_ack_timeout = 0;
	rig.assignment->workload.run.stall_timeout_ns = 1000 * MS;
	rig.assignment->workload.run.duration_ns = 60000 * MS;
	rig_open(&rig);
	fabric_set_link(rig.fabric, NULL, NULL, &silent);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_STALLED);
	assert_true(fake_clock_now_ns() - RIG_START_NS < 3000 * MS);
	rig_done(&rig);
}

static void a_slow_load_is_no_stall(void **state)
{
	struct rig rig;

	(void)state;
	open_init(&rig, OPERATION_WRITE, 1, 4);
	rig.assignment->workload.run.stall_timeout_ns = 300 * MS;
	rig.assignment->workload.run.iterations = 4;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	assert_int_equal(rig.totals[0].operations, 4);
	assert_in_range(rig.totals[0].window_ns, 3000 * MS, 3001 * MS);
	rig_done(&rig);
}

static void a_peer_that_is_gone_is_an_error_of_an_open_load_too(void **state)
{
	struct rig rig;

	(void)state;
	open_init(&rig, OPERATION_WRITE, 100000, 8);
	rig.assignment->workload.qp.local_ack_timeout = 8;
	rig.assignment->workload.qp.retry_cnt = 1;
	rig.assignment->workload.run.duration_ns = 1000 * MS;
	rig_open(&rig);
	fabric_remove_device(rig.fabric, "right");
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ERROR);
	assert_int_equal(rig.totals[0].failure.error.number, IBV_WC_RETRY_EXC_ERR);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_come_at_their_rate),
		cmocka_unit_test(iterations_are_exact_over_queue_pairs),
		cmocka_unit_test(what_finds_no_room_is_late_and_its_latency_counts_the_wait),
		cmocka_unit_test(what_finds_no_room_may_be_dropped),
		cmocka_unit_test(waiting_is_what_queueing_theory_says),
		cmocka_unit_test(a_load_that_its_path_cannot_carry_ends_and_says_so),
		cmocka_unit_test(a_path_that_is_silent_is_a_stall_on_many_queue_pairs),
		cmocka_unit_test(a_slow_load_is_no_stall),
		cmocka_unit_test(a_peer_that_is_gone_is_an_error_of_an_open_load_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
