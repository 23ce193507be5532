// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/histogram.h"
#include "util/memory.h"
#include "util/random.h"

static struct histogram *new_histogram(void)
{
	struct histogram *histogram = memory_new(sizeof(*histogram));

	histogram_reset(histogram);
	return histogram;
}

static void every_edge_falls_into_its_bucket(void **state)
{
	/* Around every power of two and every bucket edge: index and floor belong together. */
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t floor_ns = histogram_floor_ns(i);
		uint64_t next_ns = histogram_floor_ns(i + 1);

		assert_true(next_ns > floor_ns);
		assert_int_equal(histogram_index(floor_ns), i);
		assert_int_equal(histogram_index(next_ns - 1), i);
		assert_int_equal(histogram_index(floor_ns + (next_ns - floor_ns) / 2), i);
		/* at most 1/128 of its value wide */
		assert_true((next_ns - floor_ns) * 128 <= floor_ns || next_ns - floor_ns == 1);
	}
	assert_int_equal(histogram_floor_ns(HISTOGRAM_BUCKETS), 1ull << HISTOGRAM_MAX_BITS);
	assert_int_equal(histogram_index(1ull << HISTOGRAM_MAX_BITS), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void small_values_are_exact(void **state)
{
	for (uint64_t ns = 0; ns < 256; ns++) {
		assert_int_equal(histogram_index(ns), ns);
		assert_int_equal(histogram_floor_ns((unsigned)ns), ns);
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Log-uniform over the whole range, so that every power of two is met. */
static uint64_t draw_ns(struct prng *prng)
{
	unsigned bits = (unsigned)prng_below(prng, HISTOGRAM_MAX_BITS);

	return (1ull << bits) + prng_below(prng, 1ull << bits) - (bits == 0 ? 1 : 0);
}

static void percentiles_are_within_0_4_percent_of_exact_sorting(void **state)
{
	static const uint64_t ppms[] = { 1,	 1000,	 10000,	 250000, 500000, 900000,
					 990000, 999000, 999900, 999990, 999999 };
	_cleanup_free_ struct histogram *histogram = new_histogram();
	enum { COUNT = 100003 };
	_cleanup_free_ uint64_t *values = memory_new_array(COUNT, sizeof(*values));
	struct prng prng;

	prng_init(&prng, 7);
	for (size_t i = 0; i < COUNT; i++) {
		values[i] = draw_ns(&prng);
		histogram_add(histogram, values[i]);
	}
	qsort(values, COUNT, sizeof(*values), compare_u64);
	for (size_t i = 0; i < sizeof(ppms) / sizeof(ppms[0]); i++) {
		uint64_t rank = (COUNT * ppms[i] + 999999) / 1000000;
		double exact = (double)values[rank - 1];
		double found = (double)histogram_percentile_ns(histogram, ppms[i]);

		assert_true(fabs(found - exact) <= 0.004 * exact);
	}
	assert_int_equal(histogram_percentile_ns(histogram, 1000000), values[COUNT - 1]);
	assert_int_equal(histogram->min_ns, values[0]);
	assert_int_equal(histogram->max_ns, values[COUNT - 1]);
}

static void every_single_value_comes_back_within_0_4_percent(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t edges[3] = { histogram_floor_ns(i), histogram_floor_ns(i + 1) - 1, 0 };

		edges[2] = (edges[0] + edges[1]) / 2;
		for (size_t j = 0; j < 3; j++) {
			double found;

			histogram_reset(histogram);
			/* Neighbours keep minimum and maximum from telling. */
			histogram_add(histogram, 0);
			histogram_add(histogram, edges[j]);
			histogram_add(histogram, (1ull << HISTOGRAM_MAX_BITS) - 1);
			found = (double)histogram_percentile_ns(histogram, 500000);
			assert_true(fabs(found - (double)edges[j]) <= 0.004 * (double)edges[j]);
		}
	}
}

static void percentiles_stay_within_minimum_and_maximum(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();

	assert_int_equal(histogram_percentile_ns(histogram, 500000), 0);
	for (int i = 0; i < 100; i++) {
		histogram_add(histogram, 1000003);
	}
	assert_int_equal(histogram_percentile_ns(histogram, 1), 1000003);
	assert_int_equal(histogram_percentile_ns(histogram, 500000), 1000003);
	assert_int_equal(histogram_percentile_ns(histogram, 999999), 1000003);
}

static void a_percentile_needs_ten_values_on_either_side(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();

	histogram->count = 19;
	assert_false(histogram_has_percentile(histogram, 500000));
	histogram->count = 20;
	assert_true(histogram_has_percentile(histogram, 500000));
	assert_false(histogram_has_percentile(histogram, 10000)); /* p1 */
	histogram->count = 9999;
	assert_false(histogram_has_percentile(histogram, 999000));
	histogram->count = 10000;
	assert_true(histogram_has_percentile(histogram, 999000));
	assert_int_equal(histogram_needed_count(999990), 1000000);
	assert_int_equal(histogram_needed_count(990000), 1000);
	histogram->count = UINT64_MAX - 1;
	assert_false(histogram_has_percentile(histogram, 0));
	assert_false(histogram_has_percentile(histogram, 1000000));
}

static void what_is_beyond_the_range_is_told_by_the_maximum(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();
	uint64_t minute_ns = 120ull * 1000000000;

	for (int i = 0; i < 40; i++) {
		histogram_add(histogram, minute_ns + (uint64_t)i);
	}
	assert_int_equal(histogram->max_ns, minute_ns + 39);
	assert_int_equal(histogram->buckets[HISTOGRAM_BUCKETS - 1], 40);
	assert_int_equal(histogram_percentile_ns(histogram, 500000), minute_ns + 39);
	assert_int_equal(histogram_count_below(histogram, minute_ns + 39), 40);
	assert_int_equal(histogram_count_below(histogram, 1000), 0);
}

static void mean_and_deviation_are_those_of_the_values(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();

	assert_true(histogram_mean_ns(histogram) == 0.0);
	assert_true(histogram_stddev_ns(histogram) == 0.0);
	histogram_add(histogram, 100);
	assert_true(histogram_stddev_ns(histogram) == 0.0);
	histogram_add(histogram, 200);
	assert_true(fabs(histogram_mean_ns(histogram) - 150.0) < 1e-9);
	assert_true(fabs(histogram_stddev_ns(histogram) - 50.0) < 1e-9);
}

static void merging_is_adding_all_values_to_one(void **state)
{
	_cleanup_free_ struct histogram *a = new_histogram(), *b = new_histogram(),
					*both = new_histogram();
	struct prng prng;

	prng_init(&prng, 3);
	for (int i = 0; i < 5000; i++) {
		uint64_t ns = draw_ns(&prng);

		histogram_add(i % 3 ? a : b, ns);
		histogram_add(both, ns);
	}
	histogram_merge(a, b);
	assert_memory_equal(a, both, sizeof(*a));
	histogram_reset(b);
	histogram_merge(a, b);
	assert_memory_equal(a, both, sizeof(*a));
}

static void moving_leaves_nothing_behind(void **state)
{
	_cleanup_free_ struct histogram *a = new_histogram(), *b = new_histogram(),
					*empty = new_histogram(), *copy = new_histogram();
	struct prng prng;

	prng_init(&prng, 4);
	for (int i = 0; i < 1000; i++) {
		histogram_add(b, draw_ns(&prng));
	}
	histogram_add(b, UINT64_MAX >> 8);
	memcpy(copy, b, sizeof(*b));
	histogram_move(a, b);
	assert_memory_equal(a, copy, sizeof(*a));
	assert_memory_equal(b, empty, sizeof(*b));
	histogram_move(a, b);
	assert_memory_equal(a, copy, sizeof(*a));
}

static void counts_below_a_bound_take_whole_buckets(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();

	for (uint64_t ns = 1; ns <= 100; ns++) {
		histogram_add(histogram, ns * 10);
	}
	assert_int_equal(histogram_count_below(histogram, 9), 0);
	assert_int_equal(histogram_count_below(histogram, 10), 1);
	assert_int_equal(histogram_count_below(histogram, 250), 25);
	assert_int_equal(histogram_count_below(histogram, 1000), 100);
	assert_int_equal(histogram_count_below(histogram, UINT64_MAX), 100);
}

static void the_exchange_form_comes_back_whole(void **state)
{
	_cleanup_free_ struct histogram *from = new_histogram(), *to = new_histogram();
	struct prng prng;

	prng_init(&prng, 5);
	for (int round = 0; round < 60; round++) {
		json_t *json = histogram_write(from);
		struct error err = ERROR_INIT;

		assert_int_equal(histogram_read(json, to, &err), 0);
		assert_memory_equal(from, to, sizeof(*to));
		json_decref(json);
		for (int i = 0; i < round * 7 + 1; i++) {
			histogram_add(from, draw_ns(&prng));
		}
	}
}

static json_t *with_buckets(uint64_t count, uint64_t sum, uint64_t min, uint64_t max,
			    const char *buckets)
{
	json_t *json = json_object();

	json_set_u64(json, "count", count);
	json_set_u64(json, "sum_ns", sum);
	json_set_u64(json, "min_ns", min);
	json_set_u64(json, "max_ns", max);
	json_set_string(json, "buckets", buckets);
	return json;
}

static void refuse(json_t *json)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();
	struct error err = ERROR_INIT;

	assert_true(histogram_read(json, histogram, &err) < 0);
	assert_true(error_is_set(&err));
	assert_int_equal(err.class, ERROR_INPUT);
	json_decref(json);
}

static void a_histogram_from_a_hostile_peer_is_refused(void **state)
{
	struct error err = ERROR_INIT;
	_cleanup_free_ struct histogram *histogram = new_histogram();
	/* one value of 5: gap 5, count 1 = bytes 05 01 = "BQE=" */
	json_t *good = with_buckets(1, 5, 5, 5, "BQE=");

	assert_int_equal(histogram_read(good, histogram, &err), 0);
	json_decref(good);

	refuse(json_array());
	refuse(json_object());
	refuse(with_buckets(1, 5, 5, 5, "BQE")); /* no whole group */
	refuse(with_buckets(1, 5, 5, 5, "BQ==")); /* gap without count */
	refuse(with_buckets(1, 5, 5, 5, "B===")); /* not base64 */
	refuse(with_buckets(1, 5, 5, 5, "=QE="));
	refuse(with_buckets(1, 5, 5, 5, "BQ*="));
	refuse(with_buckets(1, 5, 5, 5, "BQE=BQE=")); /* padding in the middle */
	refuse(with_buckets(1, 5, 5, 5, "")); /* nothing, though one is counted */
	refuse(with_buckets(2, 10, 5, 5, "BQE=")); /* total differs */
	refuse(with_buckets(1, 5, 5, 5, "BgE=")); /* bucket 6 holds no 5 */
	refuse(with_buckets(1, 5, 5, 5, "BQA=")); /* count 0 */
	refuse(with_buckets(1, 5, 5, 5, "////////////////")); /* varint without end */
	refuse(with_buckets(1, 5, 5, 5, "gICAgICAgICAAQE=")); /* gap beyond 63 bits */
	refuse(with_buckets(1, 5, 5, 5, "gIABAQ==")); /* gap beyond the last bucket */
	refuse(with_buckets(1, 6, 5, 5, "BQE=")); /* sum above count x maximum */
	refuse(with_buckets(1, 4, 5, 5, "BQE=")); /* sum below count x minimum */
	refuse(with_buckets(1, 5, 6, 5, "BQE=")); /* minimum above maximum */
	refuse(with_buckets(0, 5, 0, 0, "")); /* a sum of nothing */
	refuse(with_buckets(1, 5, 5, 5, NULL));
}

static void random_bytes_never_pass_for_a_histogram_that_contradicts_itself(void **state)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
	_cleanup_free_ struct histogram *histogram = new_histogram();
	struct prng prng;

	prng_init(&prng, 6);
	for (int round = 0; round < 20000; round++) {
		char string[25] = { 0 };
		struct error err = ERROR_INIT;
		json_t *json;

		for (size_t i = 0; i < prng_below(&prng, sizeof(string)); i++) {
			string[i] = letters[prng_below(&prng, sizeof(letters) - 1)];
		}
		json = with_buckets(prng_below(&prng, 4), prng_below(&prng, 20),
				    prng_below(&prng, 6), prng_below(&prng, 6), string);
		if (histogram_read(json, histogram, &err) == 0) {
			uint64_t total = 0;

			for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
				total += histogram->buckets[i];
			}
			assert_int_equal(total, histogram->count);
		}
		json_decref(json);
	}
}

static void buckets_for_the_record_are_pairs_of_lowest_value_and_count(void **state)
{
	_cleanup_free_ struct histogram *histogram = new_histogram();
	struct text out = TEXT_INIT;
	json_t *json;

	histogram_add(histogram, 3);
	histogram_add(histogram, 3);
	histogram_add(histogram, 257);
	json = histogram_write_buckets(histogram);
	json_write(json, &out);
	assert_string_equal(out.data, "[[3,2],[256,1]]");
	json_decref(json);
	text_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_edge_falls_into_its_bucket),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(percentiles_are_within_0_4_percent_of_exact_sorting),
		cmocka_unit_test(every_single_value_comes_back_within_0_4_percent),
		cmocka_unit_test(percentiles_stay_within_minimum_and_maximum),
		cmocka_unit_test(a_percentile_needs_ten_values_on_either_side),
		cmocka_unit_test(what_is_beyond_the_range_is_told_by_the_maximum),
		cmocka_unit_test(mean_and_deviation_are_those_of_the_values),
		cmocka_unit_test(merging_is_adding_all_values_to_one),
		cmocka_unit_test(moving_leaves_nothing_behind),
		cmocka_unit_test(counts_below_a_bound_take_whole_buckets),
		cmocka_unit_test(the_exchange_form_comes_back_whole),
		cmocka_unit_test(a_histogram_from_a_hostile_peer_is_refused),
		cmocka_unit_test(random_bytes_never_pass_for_a_histogram_that_contradicts_itself),
		cmocka_unit_test(buckets_for_the_record_are_pairs_of_lowest_value_and_count),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
