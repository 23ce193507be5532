// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"

#define MS 1000000ull

static void pause_ms(long ms)
{
	const struct timespec span = { .tv_sec = 0, .tv_nsec = ms * 1000000 };

	nanosleep(&span, NULL);
}

static void before_init_ticks_are_nanoseconds(void **state)
{
	struct clock_scale scale;
	struct clock_stamp stamp;
	struct clock_info info;

	clock_info(&info);
	assert_string_equal(info.source, "monotonic");
	assert_true(info.ticks_per_s == 1e9);
	clock_scale_initial(&scale);
	assert_int_equal(clock_ticks_to_ns(&scale, 123456789), 123456789);
	clock_stamp(&stamp);
	assert_int_equal(stamp.ticks, stamp.raw_ns);
	assert_true(clock_ticks() >= stamp.ticks);
}

static void init_measures_the_counter_once(void **state)
{
	struct clock_info first;
	struct clock_info second;

	clock_init();
	clock_info(&first);
	clock_init();
	clock_info(&second);
	assert_true(strcmp(first.source, "tsc") == 0 || strcmp(first.source, "monotonic") == 0);
	assert_true(first.ticks_per_s == second.ticks_per_s);
	assert_true(first.ticks_per_s >= 1e8 && first.ticks_per_s <= 1e10);
	assert_true(first.read_cost_ns < 100000);
	print_message("clock: %s, %.0f ticks/s, %u ns a reading\n", first.source, first.ticks_per_s,
		      first.read_cost_ns);
}

static void clocks_do_not_go_back(void **state)
{
	uint64_t ticks = clock_ticks();
	uint64_t mono_ns = clock_mono_ns();

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t next_ticks = clock_ticks();
		uint64_t next_ns = clock_mono_ns();

		assert_true(next_ticks >= ticks);
		assert_true(next_ns >= mono_ns);
		ticks = next_ticks;
		mono_ns = next_ns;
	}
}

static void real_time_is_the_time_of_day(void **state)
{
	int64_t now_ns = clock_real_ns();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	assert_in_range(now_ns, (now.tv_sec - 10) * 1000000000, (now.tv_sec + 1) * 1000000000);
}

static void ticks_and_nanoseconds_agree_over_a_span(void **state)
{
	struct clock_scale initial;
	struct clock_scale scale;
	struct clock_stamp from;
	struct clock_stamp to;
	uint64_t ns;
	double drift_ppm = 1e9;

	clock_stamp(&from);
	pause_ms(50);
	clock_stamp(&to);
	clock_scale_initial(&initial);
	clock_scale_span(&from, &to, &scale, &drift_ppm);
	assert_true(to.raw_ns - from.raw_ns >= 50 * MS);
	ns = clock_ticks_to_ns(&scale, to.ticks - from.ticks);
	/* the span's own scale is exact, but for the rounding of one ns */
	assert_in_range(ns, to.raw_ns - from.raw_ns - 1, to.raw_ns - from.raw_ns + 1);
	assert_true(fabs(drift_ppm) < 1000);
	ns = clock_ticks_to_ns(&initial, to.ticks - from.ticks);
	assert_true(fabs((double)ns / (double)(to.raw_ns - from.raw_ns) - 1) < 1e-3);
	clock_scale_span(&from, &to, &scale, NULL);
}

static void a_span_that_is_too_short_or_runs_backwards_keeps_the_initial_scale(void **state)
{
	const struct clock_stamp start = { .ticks = 1000, .raw_ns = 1000 };
	const struct clock_stamp stops[] = {
		{ .ticks = 2000, .raw_ns = 1000 + 10 * MS - 1 }, /* short */
		{ .ticks = 1000, .raw_ns = 1000 + 20 * MS }, /* the counter stands still */
		{ .ticks = 500, .raw_ns = 1000 + 20 * MS }, /* the counter goes back */
		{ .ticks = 5000, .raw_ns = 10 }, /* time goes back */
		{ .ticks = 1000, .raw_ns = 1000 },
	};
	struct clock_scale initial;

	clock_scale_initial(&initial);
	for (unsigned i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct clock_scale scale = { 0 };
		double drift_ppm = 1;

		clock_scale_span(&start, &stops[i], &scale, &drift_ppm);
		assert_int_equal(scale.mult, initial.mult);
		assert_int_equal(scale.shift, initial.shift);
		assert_true(drift_ppm == 0);
	}
}

static void drift_is_reported_against_the_start(void **state)
{
	struct clock_info info;
	struct clock_scale scale;
	const struct clock_stamp from = { .ticks = 0, .raw_ns = 0 };
	struct clock_stamp to = { .raw_ns = 1000 * MS };
	double drift_ppm;

	clock_info(&info);
	to.ticks = (uint64_t)(info.ticks_per_s * 1.0005);
	clock_scale_span(&from, &to, &scale, &drift_ppm);
	assert_true(fabs(drift_ppm - 500) < 1);
}

static void scales_lose_nothing_over_a_day_at_any_rate(void **state)
{
	static const uint64_t rates_hz[] = { 1000,	 24000000,   999999999,
					     1000000000, 2400000000, 5123456789 };

	for (unsigned i = 0; i < sizeof(rates_hz) / sizeof(rates_hz[0]); i++) {
		const uint64_t day_s = 86400;
		const struct clock_stamp from = { 0 };
		const struct clock_stamp to = { .ticks = rates_hz[i] * day_s,
						.raw_ns = day_s * 1000000000 };
		struct clock_scale scale;
		uint64_t ns;

		clock_scale_span(&from, &to, &scale, NULL);
		ns = clock_ticks_to_ns(&scale, to.ticks);
		assert_in_range(ns, to.raw_ns - 1, to.raw_ns + 1);
		ns = clock_ticks_to_ns(&scale, clock_ns_to_ticks(&scale, 3600000000000));
		/* there and back: at most one tick less */
		assert_in_range(ns, 3600000000000 - 1000000000 / rates_hz[i] - 2, 3600000000001);
	}
}

static void C63_spans_up_to_three_centuries_do_not_overflow(void **state)
{
	const struct clock_scale identity = { .mult = 1ull << 62, .shift = 62 };

	assert_true(clock_ticks_to_ns(&identity, INT64_MAX) == INT64_MAX);
	assert_true(clock_ns_to_ticks(&identity, INT64_MAX) == INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_init_ticks_are_nanoseconds),
		cmocka_unit_test(init_measures_the_counter_once),
		cmocka_unit_test(clocks_do_not_go_back),
		cmocka_unit_test(real_time_is_the_time_of_day),
		cmocka_unit_test(ticks_and_nanoseconds_agree_over_a_span),
		cmocka_unit_test(
			a_span_that_is_too_short_or_runs_backwards_keeps_the_initial_scale),
		cmocka_unit_test(drift_is_reported_against_the_start),
		cmocka_unit_test(scales_lose_nothing_over_a_day_at_any_rate),
		cmocka_unit_test(C63_spans_up_to_three_centuries_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
