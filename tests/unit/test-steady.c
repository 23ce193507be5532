// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/steady.h"
#include "util/memory.h"

#define S 1000000000ull

/* Intervals of a second each, with so many operations. */
static void fill(struct totals *totals, const uint64_t *operations, size_t count)
{
	sample_totals_init(totals);
	totals->intervals = memory_new_array(count, sizeof(*totals->intervals));
	totals->interval_count = count;
	for (size_t i = 0; i < count; i++) {
		totals->intervals[i] = (struct sample){ .start_ns = i * S,
							.end_ns = (i + 1) * S,
							.operations = operations[i] };
	}
}

/* first: SIZE_MAX: it is never steady. */
static void expect(const uint64_t *operations, size_t count, size_t first, double ops_per_s)
{
	struct totals totals = { 0 };
	struct steady steady;

	fill(&totals, operations, count);
	assert_true(steady_find(&totals, &steady));
	assert_int_equal(steady.is_reached, first != SIZE_MAX);
	if (first != SIZE_MAX) {
		assert_int_equal(steady.first, first);
		assert_int_equal(steady.count, count - first);
		assert_true(steady.ops_per_s > 0.999 * ops_per_s &&
			    steady.ops_per_s < 1.001 * ops_per_s);
	}
	sample_totals_done(&totals);
}

static void the_earliest_interval_from_which_on_it_holds_is_found(void **state)
{
	static const uint64_t flat[] = { 1000, 1010, 990, 1000, 1000 };
	static const uint64_t late[] = { 200, 700, 930, 1000, 1010, 990, 1000, 1000 };
	static const uint64_t short_tail[] = { 500, 1000, 500, 1000, 1000, 1000, 1000 };
	static const uint64_t falling[] = { 1500, 1400, 1300, 1200, 1100, 1000, 900 };
	static const uint64_t edge[] = { 950, 1000, 1050, 1000, 1000 };

	(void)state;
	expect(flat, 5, 0, 1000);
	expect(late, 8, 3, 1000);
	expect(short_tail, 7, SIZE_MAX, 0);
	expect(falling, 7, SIZE_MAX, 0);
	expect(edge, 5, 0, 1000);
}

static void what_is_too_short_or_stood_still_says_nothing(void **state)
{
	static const uint64_t few[] = { 1000, 1000, 1000, 1000 };
	static const uint64_t none[] = { 0, 0, 0, 0, 0, 0 };
	struct totals totals = { 0 };
	struct steady steady;

	(void)state;
	fill(&totals, few, 4);
	assert_false(steady_find(&totals, &steady));
	sample_totals_done(&totals);
	fill(&totals, none, 6);
	assert_false(steady_find(&totals, &steady));
	assert_false(steady.is_reached);
	sample_totals_done(&totals);
	/* The rest behind the last whole interval does not count. */
	fill(&totals, none, 6);
	for (size_t i = 0; i < 5; i++) {
		totals.intervals[i].operations = 1000;
	}
	totals.intervals[5].end_ns = totals.intervals[5].start_ns + S / 10;
	assert_true(steady_find(&totals, &steady));
	assert_true(steady.is_reached);
	assert_int_equal(steady.count, 5);
	sample_totals_done(&totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_interval_from_which_on_it_holds_is_found),
		cmocka_unit_test(what_is_too_short_or_stood_still_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
