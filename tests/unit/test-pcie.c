// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "host/pcie.h"
#include "unit/tree.h"

#define CARD "/sys/devices/pci0000:3a/0000:3b:00.0"

static void add_card(struct tree *tree, const char *speed, const char *width)
{
	tree_link(tree, "/sys/class/infiniband/mlx5_0/device",
		  "../../../devices/pci0000:3a/0000:3b:00.0");
	tree_write(tree, CARD "/class", "0x020000\n");
	tree_link(tree, CARD "/subsystem", "../../../bus/pci");
	tree_write(tree, CARD "/current_link_speed", speed);
	tree_write(tree, CARD "/max_link_speed", "16.0 GT/s PCIe\n");
	tree_write(tree, CARD "/current_link_width", width);
	tree_write(tree, CARD "/max_link_width", "16\n");
}

static void the_link_is_told_against_what_the_card_can(void **state)
{
	struct tree *tree = *state;
	struct pcie_link link;

	add_card(tree, "8.0 GT/s PCIe\n", "8\n");
	pcie_link(tree->root, "mlx5_0", &link);
	assert_string_equal(link.address, "0000:3b:00.0");
	assert_false(link.is_virtual_function);
	assert_int_equal(link.speed_mtps, 8000);
	assert_int_equal(link.max_speed_mtps, 16000);
	assert_int_equal(link.width, 8);
	assert_int_equal(link.max_width, 16);
}

static void a_virtual_function_has_the_link_of_its_card(void **state)
{
	struct tree *tree = *state;
	struct pcie_link link;

	add_card(tree, "16.0 GT/s PCIe\n", "16\n");
	tree_link(tree, "/sys/class/infiniband/mlx5_1/device",
		  "../../../devices/pci0000:3a/0000:3b:00.1");
	tree_link(tree, "/sys/devices/pci0000:3a/0000:3b:00.1/subsystem", "../../../bus/pci");
	tree_link(tree, "/sys/devices/pci0000:3a/0000:3b:00.1/physfn", "../0000:3b:00.0");
	pcie_link(tree->root, "mlx5_1", &link);
	assert_string_equal(link.address, "0000:3b:00.1");
	assert_true(link.is_virtual_function);
	assert_int_equal(link.speed_mtps, 16000);
	assert_int_equal(link.width, 16);
}

static void what_is_not_on_the_bus_has_no_link(void **state)
{
	struct tree *tree = *state;
	struct pcie_link link;

	tree_write(tree, "/sys/class/infiniband/rxe0/parent", "eth0\n");
	pcie_link(tree->root, "rxe0", &link);
	assert_string_equal(link.address, "");
	pcie_link(tree->root, "../rxe0", &link);
	assert_string_equal(link.address, "");
}

static void what_the_kernel_does_not_know_is_zero(void **state)
{
	static const char *const speeds[] = { "Unknown\n", "",		 "-8 GT/s\n",
					      "8\n",	   "1e9 GT/s\n", "nan GT/s\n" };
	static const char *const widths[] = { "0\n", "255\n", "", "x\n", "-1\n" };
	struct tree *tree = *state;
	struct pcie_link link;

	add_card(tree, "8.0 GT/s PCIe\n", "8\n");
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		tree_write(tree, CARD "/current_link_speed", speeds[i]);
		pcie_link(tree->root, "mlx5_0", &link);
		assert_int_equal(link.speed_mtps, 0);
	}
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		tree_write(tree, CARD "/current_link_width", widths[i]);
		pcie_link(tree->root, "mlx5_0", &link);
		assert_int_equal(link.width, 0);
	}
}

static void a_rate_counts_the_line_code(void **state)
{
	(void)state;
	/* 2.5 GT/s x1: 8 of 10; 16 GT/s x16: 128 of 130. */
	assert_int_equal(pcie_rate_bps(2500, 1), 2000000000);
	assert_in_range(pcie_rate_bps(16000, 16), 252000000000, 252100000000);
	assert_int_equal(pcie_rate_bps(0, 16), 0);
	assert_int_equal(pcie_rate_bps(16000, 0), 0);
}

static void network_adapters_are_listed_with_driver_and_rdma(void **state)
{
	struct tree *tree = *state;
	struct pcie_adapter adapters[2];

	assert_int_equal(pcie_adapters(tree->root, adapters, 2), -ENOENT);
	tree_write(tree, "/sys/bus/pci/devices/0000:00:1f.0/class", "0x060100\n");
	tree_write(tree, "/sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
	tree_link(tree, "/sys/bus/pci/devices/0000:3b:00.0/driver", "../../../drivers/mlx5_core");
	tree_write(tree, "/sys/bus/pci/devices/0000:3c:00.0/class", "0x020700\n");
	tree_write(tree, "/sys/bus/pci/devices/0000:3c:00.0/infiniband/mlx5_0/x", "");
	tree_write(tree, "/sys/bus/pci/devices/0000:3d:00.0/class", "0x020000\n");
	assert_int_equal(pcie_adapters(tree->root, adapters, 2), 3);
	assert_string_equal(adapters[0].address, "0000:3b:00.0");
	assert_string_equal(adapters[0].driver, "mlx5_core");
	assert_false(adapters[0].has_rdma);
	assert_string_equal(adapters[1].address, "0000:3c:00.0");
	assert_string_equal(adapters[1].driver, "");
	assert_true(adapters[1].has_rdma);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_link_is_told_against_what_the_card_can),
		TEST(a_virtual_function_has_the_link_of_its_card),
		TEST(what_is_not_on_the_bus_has_no_link),
		TEST(what_the_kernel_does_not_know_is_zero),
		TEST(a_rate_counts_the_line_code),
		TEST(network_adapters_are_listed_with_driver_and_rdma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
