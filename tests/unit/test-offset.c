// SPDX-License-Identifier: MIT
#include "control/offset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define REAL 1767225600000000000 /* some moment of 2026 */
#define MS 1000000

/* Their monotonic clock is unrelated to ours. */
#define THEIR_MONO 77

/* A ping whose way there, processing and way back take so long, to a clock that is `ahead`. */
static bool exchange(struct offset *offset, int64_t start_mono_ns, int64_t there, int64_t busy,
		     int64_t back, int64_t ahead)
{
	int64_t real_ns = REAL + start_mono_ns;
	struct offset_pong pong = {
		.t1_mono_ns = start_mono_ns,
		.t2_real_ns = real_ns + there + ahead,
		.t2_mono_ns = THEIR_MONO + there,
		.t3_real_ns = real_ns + there + busy + ahead,
		.t3_mono_ns = THEIR_MONO + there + busy,
	};

	offset_sent(offset, real_ns, start_mono_ns);
	return offset_received(offset, &pong, start_mono_ns + there + busy + back);
}

static void assert_best(const struct offset *offset, int64_t offset_ns, int64_t error_ns)
{
	int64_t is;
	int64_t bound;

	assert_true(offset_best(offset, &is, &bound));
	assert_int_equal(is, offset_ns);
	assert_int_equal(bound, error_ns);
}

static void nothing_is_known_before_the_first_pong(void **state)
{
	struct offset offset = { 0 };
	int64_t a;
	int64_t b;

	offset_sent(&offset, REAL, 1);
	assert_false(offset_best(&offset, &a, &b));
	assert_int_equal(offset_round_trip_ns(&offset), 0);
}

static void a_symmetric_way_gives_the_offset_itself(void **state)
{
	struct offset offset = { 0 };

	assert_true(exchange(&offset, 1000, 3 * MS, 5 * MS, 3 * MS, -250 * MS));
	assert_best(&offset, -250 * MS, 3 * MS);
	assert_int_equal(offset_round_trip_ns(&offset), 6 * MS);
}

static void an_asymmetric_way_stays_within_the_bound(void **state)
{
	struct offset offset = { 0 };
	int64_t is;
	int64_t bound;

	assert_true(exchange(&offset, 1000, 9 * MS, 1 * MS, 1 * MS, 40 * MS));
	assert_true(offset_best(&offset, &is, &bound));
	assert_int_equal(bound, 5 * MS);
	assert_true(llabs(is - 40 * MS) <= bound);
	assert_int_not_equal(is, 40 * MS);
}

static void the_shortest_round_trip_of_the_last_sixteen_counts(void **state)
{
	struct offset offset = { 0 };

	assert_true(exchange(&offset, 1, MS, 0, MS, 5 * MS));
	for (int i = 0; i < OFFSET_SAMPLES - 1; i++) {
		assert_true(exchange(&offset, 100 + i, 2 * MS, 0, 2 * MS, 7 * MS));
		assert_best(&offset, 5 * MS, MS);
	}
	/* The seventeenth pushes the first one out. */
	assert_true(exchange(&offset, 1000, 3 * MS, 0, 3 * MS, 9 * MS));
	assert_best(&offset, 7 * MS, 2 * MS);
}

static void a_pong_counts_once_and_only_for_a_ping_of_the_last_four(void **state)
{
	struct offset offset = { 0 };
	struct offset_pong pong = { .t1_mono_ns = 10, .t2_real_ns = REAL, .t3_real_ns = REAL };

	assert_false(offset_received(&offset, &pong, 20));
	offset_sent(&offset, REAL, 10);
	for (int i = 0; i < OFFSET_PINGS - 1; i++) {
		offset_sent(&offset, REAL, 11 + i);
	}
	assert_true(offset_received(&offset, &pong, 20));
	assert_false(offset_received(&offset, &pong, 20));
	pong.t1_mono_ns = 11;
	offset_sent(&offset, REAL, 30);
	assert_true(offset_received(&offset, &pong, 40));
	pong.t1_mono_ns = 12;
	offset_sent(&offset, REAL, 31);
	offset_sent(&offset, REAL, 32);
	assert_false(offset_received(&offset, &pong, 40));
}

static void a_ping_sent_at_time_zero_is_a_ping(void **state)
{
	struct offset offset = { 0 };

	assert_true(exchange(&offset, 0, 0, 0, 0, 3));
	assert_best(&offset, 3, 0);
	assert_int_equal(offset_round_trip_ns(&offset), 1); /* 0 means unknown */
}

static void what_cannot_be_true_is_ignored(void **state)
{
	static const struct offset_pong liars[] = {
		{ 10, REAL, 100, REAL, 99 }, /* answered before it was asked */
		{ 10, REAL, 0, REAL, 1000 }, /* worked longer than the whole took */
		{ 10, REAL, INT64_MIN, REAL, INT64_MAX },
		{ 10, INT64_MAX, 0, INT64_MAX, 0 },
		{ 10, INT64_MIN, 0, INT64_MIN, 0 },
	};

	for (size_t i = 0; i < sizeof(liars) / sizeof(liars[0]); i++) {
		struct offset offset = { 0 };
		int64_t a;
		int64_t b;

		/* Our own real clock before 1970 makes the difference larger than 64 bits. */
		offset_sent(&offset, liars[i].t2_real_ns > 0 ? -REAL * 2 : REAL * 2, 10);
		assert_int_equal(offset_received(&offset, &liars[i], 20), false);
		assert_false(offset_best(&offset, &a, &b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_known_before_the_first_pong),
		cmocka_unit_test(a_symmetric_way_gives_the_offset_itself),
		cmocka_unit_test(an_asymmetric_way_stays_within_the_bound),
		cmocka_unit_test(the_shortest_round_trip_of_the_last_sixteen_counts),
		cmocka_unit_test(a_pong_counts_once_and_only_for_a_ping_of_the_last_four),
		cmocka_unit_test(a_ping_sent_at_time_zero_is_a_ping),
		cmocka_unit_test(what_cannot_be_true_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
