// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "engine/pacer.h"
#include "util/memory.h"

static struct workload *workload_new(uint64_t ops_rate, int arrival)
{
	struct workload *workload = memory_new(sizeof(*workload));

	workload->workload.load = (struct load_settings){ .model = LOAD_OPEN,
							  .ops_rate = ops_rate,
							  .arrival = arrival };
	return workload;
}

static void init(struct pacer *pacer, uint64_t ops_rate, int arrival, uint64_t seed)
{
	/* One tick is a nanosecond. */
	const struct clock_scale scale = { .mult = 1, .shift = 0 };
	_cleanup_free_ struct workload *workload = workload_new(ops_rate, arrival);

	assert_int_equal(pacer_init(pacer, workload, &scale, seed, NULL), 0);
}

static uint64_t sum_of_ring(const struct pacer *pacer)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i <= pacer->mask; i++) {
		sum += pacer->gaps[i];
	}
	return sum;
}

static void constant_gaps_differ_by_a_tick_and_their_sum_is_exact(void **state)
{
	struct pacer pacer;

	(void)state;
	init(&pacer, 300000, ARRIVAL_CONSTANT, 1);
	for (uint64_t i = 0; i <= pacer.mask; i++) {
		assert_in_range(pacer.gaps[i], 3333, 3334);
	}
	assert_int_equal(sum_of_ring(&pacer), llround((double)(pacer.mask + 1) * 1e9 / 300000));
	pacer_done(&pacer);
}

static void poisson_gaps_are_exponential_and_their_sum_is_exact(void **state)
{
	struct pacer pacer;
	double mean;
	double squares = 0;
	uint64_t above = 0;

	(void)state;
	init(&pacer, 100000, ARRIVAL_POISSON, 7);
	mean = (double)sum_of_ring(&pacer) / (double)(pacer.mask + 1);
	assert_true(fabs(mean - 10000) < 0.01);
	for (uint64_t i = 0; i <= pacer.mask; i++) {
		double gap = (double)pacer.gaps[i];

		squares += (gap - mean) * (gap - mean);
		above += gap > 3 * mean;
	}
	/* Their deviation is their mean, and e^-3 of them are above three times that. */
	assert_true(fabs(sqrt(squares / (double)(pacer.mask + 1)) / mean - 1) < 0.02);
	assert_true(fabs((double)above / (double)(pacer.mask + 1) - 0.0498) < 0.003);
	pacer_done(&pacer);
}

/* A host that was suspended for a day must not hold the thread up. */
static void what_is_dropped_takes_a_bounded_number_of_steps(void **state)
{
	const uint64_t day_ns = 86400000000000;
	struct pacer pacer;
	unsigned calls = 0;

	(void)state;
	init(&pacer, 100000000, ARRIVAL_POISSON, 5);
	pacer.is_dropping = true;
	pacer_begin(&pacer, 0);
	pacer_look(&pacer, 1);
	while (pacer.next_ticks <= day_ns) {
		assert_true(pacer_full(&pacer, day_ns));
		calls++;
	}
	assert_true(calls <= (pacer.mask + 1) / 4096 + 1);
	/* One for each ten nanoseconds. */
	assert_true(fabs((double)pacer.dropped / ((double)day_ns / 10) - 1) < 1e-6);
	assert_int_equal(pacer.late, 0);
	pacer_done(&pacer);
}

static void what_is_delayed_is_given_up_when_it_is_far_behind(void **state)
{
	struct pacer pacer;

	(void)state;
	init(&pacer, 1000, ARRIVAL_CONSTANT, 5);
	pacer_begin(&pacer, 0);
	pacer_look(&pacer, 1);
	assert_true(pacer_full(&pacer, PACER_BEHIND_MOST_NS));
	assert_int_equal(pacer.full_ticks, PACER_BEHIND_MOST_NS);
	assert_false(pacer_full(&pacer, PACER_BEHIND_MOST_NS + 2));
	assert_int_equal(pacer.next_ticks, 1);
	assert_int_equal(pacer.dropped, 0);
	pacer_done(&pacer);
}

static void the_same_seed_draws_the_same(void **state)
{
	struct pacer a;
	struct pacer b;
	struct pacer c;

	(void)state;
	init(&a, 1000, ARRIVAL_POISSON, 3);
	init(&b, 1000, ARRIVAL_POISSON, 3);
	init(&c, 1000, ARRIVAL_POISSON, 4);
	assert_memory_equal(a.gaps, b.gaps, 100 * sizeof(*a.gaps));
	assert_memory_not_equal(a.gaps, c.gaps, 100 * sizeof(*a.gaps));
	pacer_done(&a);
	pacer_done(&b);
	pacer_done(&c);
}

static void rates_from_one_an_hour_to_a_thousand_millions_have_gaps(void **state)
{
	struct pacer pacer;

	(void)state;
	init(&pacer, 100000000, ARRIVAL_POISSON, 1);
	assert_int_equal(sum_of_ring(&pacer), 10 * (pacer.mask + 1));
	pacer_done(&pacer);
	init(&pacer, 1, ARRIVAL_CONSTANT, 1);
	assert_int_equal(pacer.gaps[5], 1000000000);
	pacer_begin(&pacer, 10);
	pacer_look(&pacer, 77);
	pacer_look(&pacer, 78);
	assert_int_equal(pacer.next_ticks, 77);
	pacer_advance(&pacer);
	assert_int_equal(pacer.next_ticks, 1000000077);
	pacer_done(&pacer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant_gaps_differ_by_a_tick_and_their_sum_is_exact),
		cmocka_unit_test(poisson_gaps_are_exponential_and_their_sum_is_exact),
		cmocka_unit_test(what_is_dropped_takes_a_bounded_number_of_steps),
		cmocka_unit_test(what_is_delayed_is_given_up_when_it_is_far_behind),
		cmocka_unit_test(the_same_seed_draws_the_same),
		cmocka_unit_test(rates_from_one_an_hour_to_a_thousand_millions_have_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
