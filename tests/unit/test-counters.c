// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/counters.h"
#include "unit/tree.h"

#define HW "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/"
#define PORT "/sys/class/infiniband/mlx5_0/ports/1/counters/"
#define NET "/sys/class/net/eth2/statistics/"

static struct counter_value read_one(const struct tree *tree, enum counter counter)
{
	struct counters counters;

	counters_read(tree->root, "mlx5_0", 1, "eth2", &counters);
	return counters.values[counter];
}

static void expect(const struct tree *tree, enum counter counter, int state, uint64_t value)
{
	struct counter_value is = read_one(tree, counter);

	assert_string_equal(counter_state_names[is.state], counter_state_names[state]);
	assert_int_equal(is.value, value);
}

static void data_counters_are_in_units_of_four_bytes(void **state)
{
	tree_write(*state, PORT "port_xmit_data", "1000\n");
	tree_write(*state, PORT "port_rcv_data", "18446744073709551614\n");
	expect(*state, COUNTER_SENT_BYTES, COUNTER_READ, 4000);
	expect(*state, COUNTER_RECEIVED_BYTES, COUNTER_UNREADABLE, 0);
}

static void soft_roce_has_the_bytes_of_its_network_device(void **state)
{
	tree_write(*state, NET "tx_bytes", "123\n");
	expect(*state, COUNTER_SENT_BYTES, COUNTER_READ, 123);
	/* A port that counts itself is believed before its network device. */
	tree_write(*state, PORT "port_xmit_data", "5\n");
	expect(*state, COUNTER_SENT_BYTES, COUNTER_READ, 20);
}

static void causes_of_retransmission_are_summed_where_they_are_counted_apart(void **state)
{
	tree_write(*state, HW "packet_seq_err", "3\n");
	expect(*state, COUNTER_RETRANSMISSIONS, COUNTER_READ, 3);
	tree_write(*state, HW "local_ack_timeout_err", "4\n");
	tree_write(*state, HW "roce_adp_retrans", "5\n");
	expect(*state, COUNTER_RETRANSMISSIONS, COUNTER_READ, 12);
	expect(*state, COUNTER_ACK_TIMEOUTS, COUNTER_READ, 4);
	expect(*state, COUNTER_SEQUENCE_NAKS, COUNTER_READ, 3);
}

static void each_driver_is_known_by_its_names(void **state)
{
	tree_write(*state, HW "completer_retry_err", "7\n");
	tree_write(*state, HW "out_of_seq_request", "8\n");
	tree_write(*state, HW "cnpHandled", "9\n");
	expect(*state, COUNTER_RETRANSMISSIONS, COUNTER_READ, 7);
	expect(*state, COUNTER_OUT_OF_SEQUENCE, COUNTER_READ, 8);
	expect(*state, COUNTER_CNPS_HANDLED, COUNTER_READ, 9);
}

static void a_missing_counter_is_absent_and_not_zero(void **state)
{
	struct counters counters;

	expect(*state, COUNTER_ICRC_ERRORS, COUNTER_ABSENT, 0);
	counters_read("/nowhere", "mlx5_0", 1, "", &counters);
	expect(*state, COUNTER_SENT_BYTES, COUNTER_ABSENT, 0);
	/* Names that would lead elsewhere lead nowhere. */
	tree_write(*state, "/sys/class/infiniband/hw_counters/sent_pkts", "1\n");
	counters_read(((struct tree *)*state)->root, "..", 1, "../eth2", &counters);
	assert_int_equal(counters.values[COUNTER_SENT_PACKETS].state, COUNTER_ABSENT);
}

static void what_is_no_number_is_unreadable_and_spoils_no_other(void **state)
{
	static const char *const bad[] = { "",
					   "\n",
					   "N/A (no PMA)\n",
					   "-1\n",
					   "0x10\n",
					   "12 \n",
					   "99999999999999999999999\n",
					   " 5\n",
					   "5 6\n" };

	tree_write(*state, HW "rx_icrc_encapsulated", "2\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree_write(*state, HW "out_of_sequence", bad[i]);
		expect(*state, COUNTER_OUT_OF_SEQUENCE, COUNTER_UNREADABLE, 0);
		expect(*state, COUNTER_ICRC_ERRORS, COUNTER_READ, 2);
	}
}

/* irdma: of each address family, where the port counters of the specification are not there. */
static void packets_and_bytes_of_irdma_are_the_sum_of_both_families(void **state)
{
	tree_write(*state, HW "ip4OutPkts", "100\n");
	tree_write(*state, HW "ip6OutPkts", "11\n");
	tree_write(*state, HW "ip4InPkts", "200\n");
	tree_write(*state, HW "ip6InPkts", "22\n");
	tree_write(*state, HW "ip4OutOctets", "1000\n");
	tree_write(*state, HW "ip6OutOctets", "111\n");
	tree_write(*state, HW "ip4InOctets", "2000\n");
	tree_write(*state, HW "ip6InOctets", "222\n");
	expect(*state, COUNTER_SENT_PACKETS, COUNTER_READ, 111);
	expect(*state, COUNTER_RECEIVED_PACKETS, COUNTER_READ, 222);
	expect(*state, COUNTER_SENT_BYTES, COUNTER_READ, 1111);
	expect(*state, COUNTER_RECEIVED_BYTES, COUNTER_READ, 2222);
	tree_write(*state, PORT "port_xmit_packets", "5\n");
	expect(*state, COUNTER_SENT_PACKETS, COUNTER_READ, 5);
	tree_write(*state, PORT "link_error_recovery", "255\n");
	expect(*state, COUNTER_LINK_RECOVERIES, COUNTER_SATURATED, 0);
}

static void a_directory_in_the_place_of_a_counter_is_unreadable(void **state)
{
	tree_write(*state, HW "np_cnp_sent/x", "");
	expect(*state, COUNTER_CNPS_SENT, COUNTER_UNREADABLE, 0);
}

static void narrow_counters_are_saturated_at_their_largest_value(void **state)
{
	tree_write(*state, PORT "symbol_error", "65535\n");
	tree_write(*state, PORT "link_downed", "255\n");
	tree_write(*state, PORT "port_xmit_discards", "65534\n");
	tree_write(*state, PORT "port_rcv_packets", "4294967295\n");
	tree_write(*state, HW "out_of_sequence", "4294967295\n");
	expect(*state, COUNTER_LINK_ERRORS, COUNTER_SATURATED, 0);
	expect(*state, COUNTER_LINK_DOWNED, COUNTER_SATURATED, 0);
	expect(*state, COUNTER_SEND_DISCARDS, COUNTER_READ, 65534);
	expect(*state, COUNTER_RECEIVED_PACKETS, COUNTER_SATURATED, 0);
	expect(*state, COUNTER_OUT_OF_SEQUENCE, COUNTER_READ, 4294967295u);
}

static void traffic_is_told_by_the_port_and_by_its_network_device(void **state)
{
	const struct tree *tree = *state;
	struct counters_traffic traffic;

	counters_traffic(tree->root, "mlx5_0", 1, "eth2", &traffic);
	assert_int_equal(traffic.sent[0].state, COUNTER_ABSENT);
	assert_int_equal(traffic.received[1].state, COUNTER_ABSENT);
	tree_write(tree, PORT "port_xmit_data", "1000\n");
	tree_write(tree, NET "tx_bytes", "123\n");
	tree_write(tree, NET "rx_bytes", "124\n");
	counters_traffic(tree->root, "mlx5_0", 1, "eth2", &traffic);
	assert_int_equal(traffic.sent[0].state, COUNTER_READ);
	assert_int_equal(traffic.sent[0].value, 4000);
	assert_int_equal(traffic.sent[1].state, COUNTER_ABSENT);
	assert_int_equal(traffic.sent[2].value, 123);
	assert_int_equal(traffic.received[0].state, COUNTER_ABSENT);
	assert_int_equal(traffic.received[2].state, COUNTER_READ);
	assert_int_equal(traffic.received[2].value, 124);
}

static void the_lifespan_is_what_the_driver_says_and_bounded(void **state)
{
	const struct tree *tree = *state;

	assert_int_equal(counters_lifespan_ns(tree->root, "mlx5_0", 1), 0);
	tree_write(tree, HW "lifespan", "10\n");
	assert_int_equal(counters_lifespan_ns(tree->root, "mlx5_0", 1), 10000000);
	tree_write(tree, HW "lifespan", "99999999\n");
	assert_int_equal(counters_lifespan_ns(tree->root, "mlx5_0", 1), 60000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)
		TEST(data_counters_are_in_units_of_four_bytes),
		TEST(soft_roce_has_the_bytes_of_its_network_device),
		TEST(causes_of_retransmission_are_summed_where_they_are_counted_apart),
		TEST(each_driver_is_known_by_its_names),
		TEST(a_missing_counter_is_absent_and_not_zero),
		TEST(what_is_no_number_is_unreadable_and_spoils_no_other),
		TEST(packets_and_bytes_of_irdma_are_the_sum_of_both_families),
		TEST(a_directory_in_the_place_of_a_counter_is_unreadable),
		TEST(narrow_counters_are_saturated_at_their_largest_value),
		TEST(traffic_is_told_by_the_port_and_by_its_network_device),
		TEST(the_lifespan_is_what_the_driver_says_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
