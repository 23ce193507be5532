// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/bucket.h"

#define COST 50u /* of one */
#define BURST (40 * COST)

static unsigned take_all(struct bucket *bucket, uint64_t now_mono_ns)
{
	unsigned count = 0;

	while (bucket_take(bucket, COST, BURST, now_mono_ns)) {
		count++;
	}
	return count;
}

static void a_new_one_is_full_whatever_the_time(void **state)
{
	static const uint64_t times[] = { 0, 1, 5000, UINT64_MAX / 2 };

	for (unsigned i = 0; i < 4; i++) {
		struct bucket bucket = { 0 };

		assert_int_equal(take_all(&bucket, times[i]), 40);
	}
}

static void it_fills_with_time_and_never_beyond_its_burst(void **state)
{
	struct bucket bucket = { 0 };

	take_all(&bucket, 1000);
	assert_false(bucket_take(&bucket, COST, BURST, 1000 + COST - 1));
	assert_true(bucket_take(&bucket, COST, BURST, 1000 + COST));
	assert_int_equal(take_all(&bucket, 1000 + 11 * COST), 10);
	assert_int_equal(take_all(&bucket, 1000 + 100000 * COST), 40);
}

static void a_refusal_costs_nothing(void **state)
{
	struct bucket bucket = { 0 };

	take_all(&bucket, 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_false(bucket_take(&bucket, COST, BURST, 0));
	}
	assert_true(bucket_take(&bucket, COST, BURST, COST));
}

static void what_was_spent_is_owed_until_it_is_refilled(void **state)
{
	struct bucket bucket = { 0 };

	assert_int_equal(bucket_ready_mono_ns(&bucket, BURST), 0);
	bucket_charge(&bucket, BURST, 7000);
	assert_true(bucket_ready_mono_ns(&bucket, BURST) <= 7000);
	bucket_charge(&bucket, 300, 7000);
	assert_int_equal(bucket_ready_mono_ns(&bucket, BURST), 7300);
	bucket_charge(&bucket, 10, 90000);
	assert_int_equal(bucket_ready_mono_ns(&bucket, 0), 90010);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_one_is_full_whatever_the_time),
		cmocka_unit_test(it_fills_with_time_and_never_beyond_its_burst),
		cmocka_unit_test(a_refusal_costs_nothing),
		cmocka_unit_test(what_was_spent_is_owed_until_it_is_refilled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
