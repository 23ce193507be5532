// SPDX-License-Identifier: MIT
#include "model/port_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "util/text.h"

static const struct port_use idle = {
	.has_traffic = true,
	.traffic_bps = 999000000,
	.rate_bps = 100000000000,
	.window_ns = 2000000000,
	.has_users = true,
};

static void expect(const struct port_use *use, enum port_use_state state, const char *part)
{
	char said[LIMIT_TEXT];

	port_use_say(use, said, sizeof(said));
	assert_int_equal(port_use_state(use), state);
	if (!strstr(said, part)) {
		fail_msg("\"%s\" does not hold \"%s\"", said, part);
	}
}

static void a_port_is_idle_below_one_percent_and_without_queue_pairs_of_others(void **state)
{
	struct port_use use = idle;

	expect(&use, PORT_USE_IDLE, "nobody else has a connected queue pair");
	expect(&use, PORT_USE_IDLE, "0.999 % of its rate, moved in the last 2");
	use.traffic_bps = 1000000000;
	expect(&use, PORT_USE_BUSY, "1 % of its rate");
	use = idle;
	use.qp_count = 3;
	text_copy(use.user, sizeof(use.user), "ib_write_bw (process 4711)");
	expect(&use, PORT_USE_BUSY, "ib_write_bw (process 4711): 3 connected queue pairs");
	use.qp_count = 1;
	expect(&use, PORT_USE_BUSY, "1 connected queue pair");
}

static void what_was_not_seen_is_said_and_speaks_for_nothing(void **state)
{
	struct port_use use = idle;

	use.has_users = false;
	text_copy(use.unseen, sizeof(use.unseen), "the kernel does not tell");
	expect(&use, PORT_USE_UNSEEN, "not seen: the kernel does not tell");
	use.traffic_bps = use.rate_bps;
	expect(&use, PORT_USE_BUSY, "100 % of its rate");
	use = (struct port_use){ .has_users = true, .unseen = "no counters" };
	expect(&use, PORT_USE_UNSEEN, "nobody else");
	use.qp_count = 1;
	expect(&use, PORT_USE_BUSY, "no counters");
	use = (struct port_use){ .unseen = "no look" };
	expect(&use, PORT_USE_UNSEEN, "not seen: no look");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_port_is_idle_below_one_percent_and_without_queue_pairs_of_others),
		cmocka_unit_test(what_was_not_seen_is_said_and_speaks_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
