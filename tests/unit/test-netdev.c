// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>

#include "host/netdev.h"
#include "unit/tree.h"

static struct netdev_address address_of(const char *text, unsigned prefix_bits)
{
	struct netdev_address address = { .prefix_bits = prefix_bits };

	assert_int_equal(inet_pton(AF_INET6, text, address.address), 1);
	return address;
}

static void state_mtu_and_arp_settings_are_read(void **state)
{
	struct tree *tree = *state;
	struct netdev netdev;

	tree_write(tree, "/sys/class/net/eth2/flags", "0x1003\n");
	tree_write(tree, "/sys/class/net/eth2/carrier", "1\n");
	tree_write(tree, "/sys/class/net/eth2/mtu", "9000\n");
	tree_write(tree, "/sys/class/net/eth2/ifindex", "7\n");
	tree_write(tree, "/proc/sys/net/ipv4/conf/all/arp_ignore", "1\n");
	tree_write(tree, "/proc/sys/net/ipv4/conf/eth2/arp_ignore", "0\n");
	tree_write(tree, "/proc/sys/net/ipv4/conf/all/arp_announce", "0\n");
	tree_write(tree, "/proc/sys/net/ipv4/conf/eth2/arp_announce", "2\n");
	netdev_read(tree->root, "eth2", &netdev);
	assert_string_equal(netdev.name, "eth2");
	assert_true(netdev.is_there);
	assert_true(netdev.is_enabled);
	assert_true(netdev.has_carrier);
	assert_int_equal(netdev.mtu_bytes, 9000);
	assert_int_equal(netdev.index, 7);
	assert_true(netdev.is_arp_known);
	assert_int_equal(netdev.arp_ignore, 1);
	assert_int_equal(netdev.arp_announce, 2);
}

static void one_that_is_off_or_gone_is_told_apart(void **state)
{
	struct tree *tree = *state;
	struct netdev netdev;

	tree_write(tree, "/sys/class/net/eth2/flags", "0x1002\n");
	netdev_read(tree->root, "eth2", &netdev);
	assert_true(netdev.is_there);
	assert_false(netdev.is_enabled);
	assert_false(netdev.has_carrier);
	assert_false(netdev.is_arp_known);
	netdev_read(tree->root, "eth3", &netdev);
	assert_false(netdev.is_there);
	assert_string_equal(netdev.name, "eth3");
	netdev_read(tree->root, "../net/eth2", &netdev);
	assert_false(netdev.is_there);
}

static void kinds_of_addresses_are_known(void **state)
{
	(void)state;
	assert_true(netdev_is_ipv4(address_of("::ffff:10.0.0.1", 0).address));
	assert_false(netdev_is_ipv4(address_of("fd00::1", 0).address));
	assert_true(netdev_is_link_local(address_of("fe80::1", 0).address));
	assert_true(netdev_is_link_local(address_of("febf::1", 0).address));
	assert_false(netdev_is_link_local(address_of("fec0::1", 0).address));
	assert_true(netdev_is_link_local(address_of("::ffff:169.254.3.4", 0).address));
	assert_false(netdev_is_link_local(address_of("::ffff:10.0.0.1", 0).address));
}

static void subnets_are_compared_bit_by_bit(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		unsigned bits;
		bool is_same;
	} rows[] = {
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.254", 96 + 24, true },
		{ "::ffff:10.0.0.1", "::ffff:10.0.1.1", 96 + 24, false },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.2", 96 + 31, false },
		{ "::ffff:10.0.0.2", "::ffff:10.0.0.3", 96 + 31, true },
		{ "fd00::1", "fd00::2", 128, false },
		{ "fd00::1", "fd00::1", 128, true },
		{ "fd00::1", "::1", 0, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct netdev_address a = address_of(rows[i].a, rows[i].bits);
		struct netdev_address b = address_of(rows[i].b, rows[i].bits);

		assert_int_equal(netdev_is_same_subnet(&a, &b), rows[i].is_same);
	}
	struct netdev_address a = address_of("fd00::1", 64);
	struct netdev_address b = address_of("fd00::2", 65);
	assert_false(netdev_is_same_subnet(&a, &b));
}

static void the_kernel_tells_the_addresses_of_this_namespace(void **state)
{
	struct netdev_address addresses[64];
	struct netdev loopback;
	int count = netdev_addresses(addresses, 64);

	(void)state;
	assert_true(count >= 0);
	for (int i = 0; i < count && i < 64; i++) {
		assert_true(addresses[i].netdev[0] != '\0');
		assert_in_range(addresses[i].prefix_bits, 0, 128);
	}
	netdev_read("", "lo", &loopback);
	if (loopback.is_there) {
		assert_int_equal(netdev_is_here(&loopback), if_nametoindex("lo") == loopback.index);
	}
	loopback.index = 4000000;
	assert_false(netdev_is_here(&loopback));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(state_mtu_and_arp_settings_are_read),
		TEST(one_that_is_off_or_gone_is_told_apart),
		TEST(kinds_of_addresses_are_known),
		TEST(subnets_are_compared_bit_by_bit),
		TEST(the_kernel_tells_the_addresses_of_this_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
