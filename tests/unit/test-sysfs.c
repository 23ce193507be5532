// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "host/sysfs.h"
#include "unit/tree.h"
#include "util/thread.h"

#define GID "fe80:0000:0000:0000:0000:00ff:fe00:0001"

static void a_roce_port_has_the_speed_of_its_network_device(void **state)
{
	struct tree *tree = *state;
	struct sysfs_port port;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	tree_write(tree, "/sys/class/net/eth2/speed", "400000\n");
	tree_link(tree, "/sys/class/infiniband/mlx5_0/device/driver",
		  "../../../../bus/pci/drivers/mlx5_core");
	assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
	assert_int_equal(port.link_rate_bps, 400000000000);
	assert_string_equal(port.driver, "mlx5_core");
	assert_string_equal(port.netdev, "eth2");
}

static void an_unknown_speed_falls_back_to_the_rate_of_the_port(void **state)
{
	static const char *const speeds[] = { "-1\n", "4294967295\n", "", "fast\n", "0\n", "10x\n" };
	struct tree *tree = *state;
	struct sysfs_port port;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		tree_write(tree, "/sys/class/net/eth2/speed", speeds[i]);
		assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
		assert_int_equal(port.link_rate_bps, 100000000000);
	}
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
	assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
	assert_int_equal(port.link_rate_bps, 2500000000);
}

static void a_rate_that_is_none_is_unknown(void **state)
{
	static const char *const rates[] = {
		"", "fast", "-4 Gb/sec", "1e300 Gb/sec (x)", "100 MB/s", "nan Gb/sec", "inf Gb/sec"
	};
	struct tree *tree = *state;
	struct sysfs_port port;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	tree_remove(tree, "/sys/class/net");
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/rate", rates[i]);
		assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
		assert_int_equal(port.link_rate_bps, 0);
	}
}

static void a_soft_device_names_its_network_device_as_parent(void **state)
{
	struct tree *tree = *state;
	struct sysfs_port port;

	tree_write(tree, "/sys/class/infiniband/rxe0/parent", "veth0\n");
	tree_write(tree, "/sys/class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
	tree_write(tree, "/sys/class/net/veth0/speed", "10000\n");
	assert_true(sysfs_port(tree->root, "rxe0", 1, &port));
	assert_string_equal(port.driver, "rdma_rxe");
	assert_string_equal(port.netdev, "veth0");
	assert_int_equal(port.link_rate_bps, 10000000000);
}

static void an_absent_device_is_told_apart_from_one_without_facts(void **state)
{
	struct tree *tree = *state;
	struct sysfs_port port;

	assert_false(sysfs_port(tree->root, "mlx5_0", 1, &port));
	assert_int_equal(sysfs_signature(tree->root, "mlx5_0"), 0);
	tree_write(tree, "/sys/class/infiniband/mlx5_0/fw_ver", "1\n");
	assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
	assert_int_equal(port.link_rate_bps, 0);
	assert_string_equal(port.driver, "");
	assert_string_equal(port.netdev, "");
	assert_int_not_equal(sysfs_signature(tree->root, "mlx5_0"), 0);
}

static void a_name_cannot_lead_out_of_its_directory(void **state)
{
	static const char *const names[] = { "", ".", "..", "../net", "a/b", "/etc" };
	struct tree *tree = *state;
	struct sysfs_port port;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_false(sysfs_port(tree->root, names[i], 1, &port));
		assert_int_equal(sysfs_signature(tree->root, names[i]), 0);
		assert_int_equal(sysfs_numa_node(tree->root, names[i]), -1);
		assert_int_equal(sysfs_vlan(names[i]), 0);
	}
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0",
		   "../../../etc\n");
	assert_true(sysfs_port(tree->root, "mlx5_0", 1, &port));
	assert_int_equal(port.link_rate_bps, 100000000000);
}

static void the_numa_node_is_known_or_minus_one(void **state)
{
	static const struct {
		const char *content;
		int node;
	} rows[] = { { "0\n", 0 }, { "7\n", 7 },  { "-1\n", -1 },
		     { "", -1 },   { "x\n", -1 }, { "99999999999\n", -1 } };
	struct tree *tree = *state;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	assert_int_equal(sysfs_numa_node(tree->root, "mlx5_0"), -1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree, "/sys/class/infiniband/mlx5_0/device/numa_node", rows[i].content);
		assert_int_equal(sysfs_numa_node(tree->root, "mlx5_0"), rows[i].node);
	}
}

static void online_nodes_are_counted(void **state)
{
	struct tree *tree = *state;

	assert_int_equal(sysfs_node_count(tree->root), 0);
	tree_write(tree, "/sys/devices/system/node/online", "0\n");
	assert_int_equal(sysfs_node_count(tree->root), 1);
	tree_write(tree, "/sys/devices/system/node/online", "0-1,4,6-7\n");
	assert_int_equal(sysfs_node_count(tree->root), 5);
}

static void cpus_of_a_node_are_those_this_process_may_use(void **state)
{
	struct tree *tree = *state;
	int usable[256];
	int cpus[4] = { -7, -7, -7, -7 };
	char text[64];
	unsigned count = thread_cpus(usable, 256);

	assert_in_range(count, 1, 256);
	/* 4000 exists nowhere; the rest of the line is no list. */
	snprintf(text, sizeof(text), "%d,4000,;99\n", usable[0]);
	tree_write(tree, "/sys/devices/system/node/node1/cpulist", text);
	assert_int_equal(sysfs_node_cpus(tree->root, 1, cpus, 4), 1);
	assert_int_equal(cpus[0], usable[0]);
	assert_int_equal(cpus[1], -7);
	tree_write(tree, "/sys/devices/system/node/node1/cpulist", "0-4000000000\n");
	assert_int_equal(sysfs_node_cpus(tree->root, 1, cpus, 1), count);
	assert_int_equal(cpus[1], -7);
	tree_write(tree, "/sys/devices/system/node/node1/cpulist", "9-2\n");
	assert_int_equal(sysfs_node_cpus(tree->root, 1, cpus, 4), 0);
	assert_int_equal(sysfs_node_cpus(tree->root, 2, cpus, 4), 0);
	assert_int_equal(sysfs_node_cpus(tree->root, -1, cpus, 4), 0);
}

static void a_boot_id_is_a_uuid_or_nothing(void **state)
{
	struct tree *tree = *state;
	char id[40] = "before";

	sysfs_boot_id(tree->root, id);
	assert_string_equal(id, "");
	tree_write(tree, "/proc/sys/kernel/random/boot_id",
		   "11111111-2222-3333-4444-555555555555\n");
	sysfs_boot_id(tree->root, id);
	assert_string_equal(id, "11111111-2222-3333-4444-555555555555");
	tree_write(tree, "/proc/sys/kernel/random/boot_id",
		   "11111111-2222-3333-4444-5555555555556666666666666666666\n");
	sysfs_boot_id(tree->root, id);
	assert_string_equal(id, "");
	sysfs_boot_id("", id);
	assert_int_equal(strlen(id), 36);
}

static void the_signature_changes_with_every_fact_that_a_scan_would_tell(void **state)
{
	static const struct {
		const char *path;
		const char *content;
	} rows[] = {
		{ "/sys/class/infiniband/mlx5_0/fw_ver", "2.0.0\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/lid", "0x1\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/rate", "25 Gb/sec (1X EDR)\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/gids/0",
		  "0000:0000:0000:0000:0000:ffff:0a00:0001\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/gids/1",
		  "0000:0000:0000:0000:0000:ffff:0a00:0001\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/0", "IB/RoCE v1\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth3\n" },
		{ "/sys/class/net/eth3/mtu", "9000\n" },
		{ "/sys/class/net/eth3/operstate", "down\n" },
		{ "/sys/class/infiniband/mlx5_0/ports/2/state", "4: ACTIVE\n" },
	};
	struct tree *tree = *state;
	uint64_t seen[16];
	size_t count = 0;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	seen[count++] = sysfs_signature(tree->root, "mlx5_0");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree, rows[i].path, rows[i].content);
		seen[count] = sysfs_signature(tree->root, "mlx5_0");
		assert_int_equal(seen[count], sysfs_signature(tree->root, "mlx5_0"));
		for (size_t j = 0; j < count; j++) {
			assert_int_not_equal(seen[count], seen[j]);
		}
		count++;
	}
}

static void a_gid_that_moves_to_another_index_changes_the_signature(void **state)
{
	struct tree *tree = *state;
	uint64_t before;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	before = sysfs_signature(tree->root, "mlx5_0");
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gids/0",
		   "0000:0000:0000:0000:0000:0000:0000:0000\n");
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gids/1", GID "\n");
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/1", "RoCE v2\n");
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "eth2\n");
	assert_int_not_equal(sysfs_signature(tree->root, "mlx5_0"), before);
}

static void gids_behind_a_gap_count_but_not_without_end(void **state)
{
	struct tree *tree = *state;
	char path[128];
	uint64_t before;

	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	for (unsigned i = 1; i < 60; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/mlx5_0/ports/1/gids/%u", i);
		tree_write(tree, path, "0000:0000:0000:0000:0000:0000:0000:0000\n");
	}
	before = sysfs_signature(tree->root, "mlx5_0");
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gids/59", GID "\n");
	assert_int_equal(sysfs_signature(tree->root, "mlx5_0"), before);
	tree_write(tree, "/sys/class/infiniband/mlx5_0/ports/1/gids/16", GID "\n");
	assert_int_not_equal(sysfs_signature(tree->root, "mlx5_0"), before);
}

static void a_network_device_without_vlan_has_none(void **state)
{
	assert_int_equal(sysfs_vlan("lo"), 0);
	assert_int_equal(sysfs_vlan("no-such-device-with-a-very-long-name"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_roce_port_has_the_speed_of_its_network_device),
		TEST(an_unknown_speed_falls_back_to_the_rate_of_the_port),
		TEST(a_rate_that_is_none_is_unknown),
		TEST(a_soft_device_names_its_network_device_as_parent),
		TEST(an_absent_device_is_told_apart_from_one_without_facts),
		TEST(a_name_cannot_lead_out_of_its_directory),
		TEST(the_numa_node_is_known_or_minus_one),
		TEST(online_nodes_are_counted),
		TEST(cpus_of_a_node_are_those_this_process_may_use),
		TEST(a_boot_id_is_a_uuid_or_nothing),
		TEST(the_signature_changes_with_every_fact_that_a_scan_would_tell),
		TEST(a_gid_that_moves_to_another_index_changes_the_signature),
		TEST(gids_behind_a_gap_count_but_not_without_end),
		TEST(a_network_device_without_vlan_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
