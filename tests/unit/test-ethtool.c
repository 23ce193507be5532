// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "host/ethtool.h"

static void expect(const struct counters *counters, enum counter counter, int state, uint64_t value)
{
	assert_string_equal(counter_state_names[counters->values[counter].state],
			    counter_state_names[state]);
	assert_int_equal(counters->values[counter].value, value);
}

static void mlx5_has_one_number_of_each(void **state)
{
	static const char names[][ETHTOOL_NAME] = { "rx_packets", "rx_pause_ctrl_phy",
						    "tx_pause_ctrl_phy", "rx_prio3_pause",
						    "rx_discards_phy" };
	static const uint64_t values[] = { 1, 20, 300, 20, 5 };
	struct counters counters = { 0 };

	ethtool_pick(names, values, 5, &counters);
	expect(&counters, COUNTER_PAUSES_RECEIVED, COUNTER_READ, 20);
	expect(&counters, COUNTER_PAUSES_SENT, COUNTER_READ, 300);
	expect(&counters, COUNTER_RECEIVE_DISCARDS, COUNTER_READ, 5);
	expect(&counters, COUNTER_SEND_DISCARDS, COUNTER_ABSENT, 0);
}

static void ice_has_one_for_each_priority_and_they_are_summed(void **state)
{
	static const char names[][ETHTOOL_NAME] = { "link_xoff_rx.nic", "rx_priority_0_xoff.nic",
						    "rx_priority_7_xoff.nic",
						    "rx_priority_7_xon.nic",
						    "rx_priority_77_xoff.nic" };
	static const uint64_t values[] = { 1, 20, 300, 4000, 50000 };
	struct counters counters = { 0 };

	ethtool_pick(names, values, 5, &counters);
	expect(&counters, COUNTER_PAUSES_RECEIVED, COUNTER_READ, 321);
}

static void what_the_port_counts_itself_is_believed_first(void **state)
{
	static const char names[][ETHTOOL_NAME] = { "tx_discards_phy" };
	static const uint64_t values[] = { 9 };
	struct counters counters = { 0 };

	counters.values[COUNTER_SEND_DISCARDS] =
		(struct counter_value){ .state = COUNTER_READ, .value = 4 };
	ethtool_pick(names, values, 1, &counters);
	expect(&counters, COUNTER_SEND_DISCARDS, COUNTER_READ, 4);
}

static void a_name_without_an_end_is_no_other_name(void **state)
{
	char names[1][ETHTOOL_NAME];
	const uint64_t value = 9;
	struct counters counters = { 0 };

	memset(names[0], 'x', ETHTOOL_NAME);
	memcpy(names[0], "rx_pause_frames", strlen("rx_pause_frames"));
	ethtool_pick((const char(*)[ETHTOOL_NAME])names, &value, 1, &counters);
	expect(&counters, COUNTER_PAUSES_RECEIVED, COUNTER_ABSENT, 0);
}

static void an_interface_without_such_statistics_or_none_at_all_tells_nothing(void **state)
{
	struct counters counters = { 0 };

	ethtool_counters("lo", &counters);
	ethtool_counters("no-such-netdev", &counters);
	ethtool_counters("", &counters);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		expect(&counters, (enum counter)i, COUNTER_ABSENT, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mlx5_has_one_number_of_each),
		cmocka_unit_test(ice_has_one_for_each_priority_and_they_are_summed),
		cmocka_unit_test(what_the_port_counts_itself_is_believed_first),
		cmocka_unit_test(a_name_without_an_end_is_no_other_name),
		cmocka_unit_test(an_interface_without_such_statistics_or_none_at_all_tells_nothing),
	};

	return cmocka_run_group_tests_name("ethtool", tests, NULL, NULL);
}
