// SPDX-License-Identifier: MIT

/*
 * An open load for long, against queueing theory: one operation at a time, each of the same length,
 * arrivals that know nothing of each other (M/D/1). Two virtual seconds; STREAM_SECONDS=3600 makes
 * them an hour.
 */

#include <math.h>

#include "resident.h"
#include "traffic-rig.h"

#define S 1000000000ull
#define RATE 100000
#define MIB (1 << 20)

static uint64_t seconds(void)
{
	const char *text = getenv("STREAM_SECONDS");

	return text ? strtoull(text, NULL, 10) : 2;
}

/* Of an M/D/1 queue with service time 1 and this load: whether a wait is at most t (Erlang 1909).
 */
static double wait_at_most(double load, double t)
{
	double sum = 0;

	for (int k = 0; k <= (int)t; k++) {
		double x = load * (k - t);
		double term = exp(-x);

		for (int i = 1; i <= k; i++) {
			term *= x / i;
		}
		sum += term;
	}
	return (1 - load) * sum;
}

static double response_at(double load, double service_ns, double share)
{
	double low = 0, high = 20;

	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (wait_at_most(load, middle) < share) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return service_ns * (1 + low);
}

static void expect_near(const char *what, double is, double should, double within)
{
	print_message("%s: %.1f, by theory %.1f (%+.3f %%)\n", what, is, should,
		      100 * (is / should - 1));
	if (fabs(is / should - 1) > within) {
		fail_msg("%s is more than %.2g %% off", what, 100 * within);
	}
}

static void run_for(struct rig *rig, uint64_t duration_ns)
{
	struct workload *workload = &rig->assignment->workload;
	struct load_settings *load = &workload->workload.load;
	uint64_t look_ns = RIG_START_NS + duration_ns / 10;
	long before_bytes = 0;

	load->model = LOAD_OPEN;
	load->arrival = ARRIVAL_POISSON;
	load->ops_rate = RATE;
	load->max_outstanding = 1;
	load->outstanding = 1;
	workload->run.warmup_ns = 0;
	workload->run.duration_ns = duration_ns;
	workload->run.iterations = 0;
	workload->run.interval_ns = duration_ns / 100;
	rig_open(rig);
	rig_start(rig, 0);
	while (!rig->is_over[0] && rig_step(rig)) {
		if (before_bytes == 0 && fake_clock_now_ns() > look_ns) {
			before_bytes = resident_bytes();
		}
	}
	assert_true(before_bytes > 0);
	assert_true(resident_bytes() - before_bytes < MIB);
	rig_finish(rig);
}

static void an_hour_of_arrivals_is_what_theory_says(void **state)
{
	const struct class_totals *class;
	const struct totals *totals;
	double service_ns, load;
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 4096);
	run_for(&rig, seconds() * S);
	totals = &rig.totals[0];
	class = &totals->classes[0];
	assert_int_equal(totals->end, END_DURATION);
	assert_int_equal(totals->errors, 0);
	assert_int_equal(totals->dropped_operations, 0);
	assert_int_equal(class->latency.count, class->completed);
	service_ns = histogram_mean_ns(class->service);
	load = service_ns * RATE / 1e9;
	expect_near("operations/s", (double)totals->operations * 1e9 / (double)totals->window_ns,
		    RATE, 0.001);
	expect_near("mean response, ns", histogram_mean_ns(&class->latency),
		    service_ns * (1 + load / (2 * (1 - load))), 0.004);
	expect_near("p50 response, ns", (double)histogram_percentile_ns(&class->latency, 500000),
		    response_at(load, service_ns, 0.5), 0.004);
	expect_near("p90 response, ns", (double)histogram_percentile_ns(&class->latency, 900000),
		    response_at(load, service_ns, 0.9), 0.008);
	expect_near("p99 response, ns", (double)histogram_percentile_ns(&class->latency, 990000),
		    response_at(load, service_ns, 0.99), 0.008);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_of_arrivals_is_what_theory_says),
	};

	return cmocka_run_group_tests_name("stream-long", tests, NULL, NULL);
}
