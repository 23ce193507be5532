// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/backoff.h"
#include "util/memory.h"

#define S 1000000000ull

static struct totals *new_totals(uint64_t pauses, uint64_t notifications)
{
	struct totals *totals = memory_new(sizeof(*totals));

	totals->has_counters = true;
	totals->counters.values[COUNTER_PAUSES_RECEIVED] =
		(struct counter_value){ .state = COUNTER_READ, .value = pauses };
	totals->counters.values[COUNTER_CNPS_HANDLED] =
		(struct counter_value){ .state = COUNTER_READ, .value = notifications };
	return totals;
}

static void expect(uint64_t pauses, uint64_t notifications, uint64_t traffic_ns, uint64_t weight)
{
	struct totals *totals = new_totals(pauses, notifications);

	assert_int_equal(backoff_weight(totals, traffic_ns), weight);
	free(totals);
}

static void traffic_that_met_congestion_counts_more(void **state)
{
	expect(0, 0, 10 * S, 1);
	expect(999, 0, 10 * S, 1);
	expect(1000, 0, 10 * S, BACKOFF_WEIGHT);
	expect(0, 1000, 10 * S, BACKOFF_WEIGHT);
	expect(500, 500, 10 * S, BACKOFF_WEIGHT);
	expect(UINT64_MAX, UINT64_MAX, 3600 * S, BACKOFF_WEIGHT);
}

static void what_is_not_known_counts_as_it_lasted(void **state)
{
	struct totals *totals = new_totals(1000000, 0);

	assert_int_equal(backoff_weight(NULL, S), 1);
	assert_int_equal(backoff_weight(totals, 0), 1);
	totals->counters.values[COUNTER_PAUSES_RECEIVED].state = COUNTER_RESET;
	assert_int_equal(backoff_weight(totals, S), 1);
	totals->counters.values[COUNTER_PAUSES_RECEIVED].state = COUNTER_READ;
	totals->has_counters = false;
	assert_int_equal(backoff_weight(totals, S), 1);
	free(totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traffic_that_met_congestion_counts_more),
		cmocka_unit_test(what_is_not_known_counts_as_it_lasted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
