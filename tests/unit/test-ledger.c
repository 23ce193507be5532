// SPDX-License-Identifier: MIT
#include "run/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/limits.h"

#define SECOND_NS 1000000000ull
#define MINUTE_NS (60 * SECOND_NS)
#define BEGIN_NS (1000 * MINUTE_NS)

static void an_hour_is_summed_for_each_port(void **state)
{
	struct ledger *ledger = ledger_new(LIMIT_PORTS);

	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS), 0);
	ledger_add(ledger, "a", 1, BEGIN_NS, SECOND_NS);
	ledger_add(ledger, "a", 1, BEGIN_NS + SECOND_NS, SECOND_NS);
	ledger_add(ledger, "a", 1, BEGIN_NS + 30 * MINUTE_NS, 5 * SECOND_NS);
	ledger_add(ledger, "a", 2, BEGIN_NS, 7 * SECOND_NS);
	ledger_add(ledger, "b", 1, BEGIN_NS, 8 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS + 59 * MINUTE_NS), 7 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 2, BEGIN_NS), 7 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "b", 1, BEGIN_NS), 8 * SECOND_NS);
	ledger_free(ledger);
}

static void what_is_older_is_forgotten(void **state)
{
	struct ledger *ledger = ledger_new(LIMIT_PORTS);

	ledger_add(ledger, "a", 1, BEGIN_NS, SECOND_NS);
	ledger_add(ledger, "a", 1, BEGIN_NS + 30 * MINUTE_NS, 5 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS + 60 * MINUTE_NS), 6 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS + 61 * MINUTE_NS), 5 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS + 91 * MINUTE_NS), 0);
	/* The same place in the ring, an hour later. */
	ledger_add(ledger, "a", 1, BEGIN_NS + 61 * MINUTE_NS, 2 * SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "a", 1, BEGIN_NS + 61 * MINUTE_NS), 7 * SECOND_NS);
	ledger_free(ledger);
}

static void a_port_too_many_takes_the_place_of_the_quietest(void **state)
{
	struct ledger *ledger = ledger_new(LIMIT_PORTS);
	char device[32];

	for (uint64_t i = 0; i < LIMIT_PORTS; i++) {
		snprintf(device, sizeof(device), "d%u", (unsigned)i);
		ledger_add(ledger, device, 1, BEGIN_NS, (i == 3 ? 1 : 10 + i) * SECOND_NS);
	}
	ledger_add(ledger, "new", 1, BEGIN_NS, SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "new", 1, BEGIN_NS), SECOND_NS);
	assert_int_equal(ledger_used_ns(ledger, "d3", 1, BEGIN_NS), 0);
	assert_int_equal(ledger_used_ns(ledger, "d4", 1, BEGIN_NS), 14 * SECOND_NS);
	ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_hour_is_summed_for_each_port),
		cmocka_unit_test(what_is_older_is_forgotten),
		cmocka_unit_test(a_port_too_many_takes_the_place_of_the_quietest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
