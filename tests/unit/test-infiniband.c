// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "host/device_node.h"
#include "host/infiniband.h"
#include "unit/tree.h"

#define DEVICE "/sys/class/infiniband/mlx5_0"
#define NODE "/sys/class/infiniband_verbs/uverbs3"
#define GID "0000:0000:0000:0000:0000:ffff:0a00:0001"

static void add_device(struct tree *tree)
{
	tree_add_roce(tree, "mlx5_0", "eth2", GID);
	tree_write(tree, DEVICE "/node_type", "1: CA\n");
	tree_write(tree, DEVICE "/ports/1/phys_state", "5: LinkUp\n");
	tree_write(tree, NODE "/ibdev", "mlx5_0\n");
	tree_write(tree, NODE "/dev", "231:195\n");
	tree_write(tree, NODE "/abi_version", "1\n");
}

static void a_device_is_told_with_its_node_and_port(void **state)
{
	struct tree *tree = *state;
	struct infiniband_device device;

	add_device(tree);
	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
	assert_string_equal(device.node, "uverbs3");
	assert_int_equal(device.node_major, 231);
	assert_int_equal(device.node_minor, 195);
	assert_int_equal(device.abi_version, 1);
	assert_false(device.is_iwarp);
	assert_string_equal(device.node_guid, "0200:0000:fe00:0000");
	assert_int_equal(device.numa_node, -1);
	assert_int_equal(device.port_count, 1);
	assert_int_equal(device.ports[0].port_num, 1);
	assert_int_equal(device.ports[0].state, PORT_STATE_ACTIVE);
	assert_string_equal(device.ports[0].physical_state, "LinkUp");
	assert_int_equal(device.ports[0].link_layer, LINK_LAYER_ETHERNET);
	assert_int_equal(device.ports[0].link_rate_bps, 100000000000);
	assert_string_equal(device.ports[0].netdev, "eth2");
	assert_int_equal(device.ports[0].gid_count, 1);
	assert_false(device.ports[0].has_more_gids);
	assert_int_equal(device.ports[0].gids[0].type, GID_TYPE_ROCE_V2);
	assert_int_equal(device.ports[0].gids[0].raw[15], 1);
	assert_string_equal(device.ports[0].gids[0].netdev, "eth2");
}

static void an_absent_device_is_none(void **state)
{
	struct tree *tree = *state;
	struct infiniband_device device;

	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), -ENOENT);
	assert_int_equal(infiniband_device(tree->root, "..", &device), -EINVAL);
}

static void a_device_without_a_node_has_none(void **state)
{
	struct tree *tree = *state;
	struct infiniband_device device;

	add_device(tree);
	tree_write(tree, NODE "/ibdev", "mlx5_1\n");
	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
	assert_string_equal(device.node, "");
	assert_int_equal(device.abi_version, -1);
}

static void states_and_kinds_are_known_or_said_to_be_unknown(void **state)
{
	static const struct {
		const char *content;
		int state;
	} rows[] = { { "1: DOWN\n", PORT_STATE_DOWN },	 { "2: INIT\n", PORT_STATE_INIT },
		     { "3: ARMED\n", PORT_STATE_ARMED }, { "4: ACTIVE\n", PORT_STATE_ACTIVE },
		     { "", PORT_STATE_UNKNOWN },	 { "0: NOP\n", PORT_STATE_UNKNOWN },
		     { "99: X\n", PORT_STATE_UNKNOWN } };
	struct tree *tree = *state;
	struct infiniband_device device;

	add_device(tree);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree, DEVICE "/ports/1/state", rows[i].content);
		assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
		assert_int_equal(device.ports[0].state, rows[i].state);
	}
	tree_write(tree, DEVICE "/node_type", "4: RNIC\n");
	tree_write(tree, DEVICE "/ports/1/link_layer", "InfiniBand\n");
	tree_write(tree, DEVICE "/ports/1/lid", "0x1f\n");
	tree_write(tree, DEVICE "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
	assert_true(device.is_iwarp);
	assert_int_equal(device.ports[0].link_layer, LINK_LAYER_INFINIBAND);
	assert_int_equal(device.ports[0].lid, 0x1f);
	assert_int_equal(device.ports[0].gids[0].type, GID_TYPE_IB);
}

static void on_ethernet_what_is_not_version_2_is_version_1(void **state)
{
	struct tree *tree = *state;
	struct infiniband_device device;

	add_device(tree);
	tree_write(tree, DEVICE "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
	assert_int_equal(device.ports[0].gids[0].type, GID_TYPE_ROCE_V1);
}

static void tables_and_ports_beyond_the_limits_are_cut(void **state)
{
	struct tree *tree = *state;
	struct infiniband_device device;
	char path[128];

	add_device(tree);
	for (unsigned i = 0; i < LIMIT_GIDS + 5; i++) {
		snprintf(path, sizeof(path), DEVICE "/ports/1/gids/%u", i);
		tree_write(tree, path, GID "\n");
	}
	for (unsigned i = 2; i <= INFINIBAND_PORTS + 2; i++) {
		snprintf(path, sizeof(path), DEVICE "/ports/%u/state", i);
		tree_write(tree, path, "1: DOWN\n");
	}
	assert_int_equal(infiniband_device(tree->root, "mlx5_0", &device), 0);
	assert_int_equal(device.ports[0].gid_count, LIMIT_GIDS);
	assert_true(device.ports[0].has_more_gids);
	assert_int_equal(device.port_count, INFINIBAND_PORTS + 2);
	assert_int_equal(device.ports[INFINIBAND_PORTS - 1].port_num, INFINIBAND_PORTS);
}

static void a_node_tells_who_may_open_it(void **state)
{
	struct tree *tree = *state;
	struct device_node node;
	char path[128];

	device_node_look(tree->root, "uverbs0", &node);
	assert_int_equal(node.error, -ENOENT);
	device_node_look(tree->root, "../uverbs0", &node);
	assert_int_equal(node.error, -ENOENT);
	tree_write(tree, "/dev/infiniband/uverbs0", "");
	snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs0", tree->root);
	assert_int_equal(chmod(path, 0660), 0);
	device_node_look(tree->root, "uverbs0", &node);
	assert_int_equal(node.error, 0);
	assert_int_equal(node.mode & 07777, 0660);
	assert_int_equal(node.user_id, getuid());
	assert_false(node.was_tried);
	assert_false(device_node_is_open_to_all(&node));
	device_node_try(tree->root, "uverbs0", &node);
	assert_true(node.was_tried);
	assert_int_equal(node.open_error, 0);
	assert_int_equal(chmod(path, 0666), 0);
	device_node_look(tree->root, "uverbs0", &node);
	assert_true(device_node_is_open_to_all(&node));
	tree_remove(tree, "/dev/infiniband/uverbs0");
	device_node_try(tree->root, "uverbs0", &node);
	assert_int_equal(node.open_error, -ENOENT);
}

static void the_numbers_of_a_device_file_are_read(void **state)
{
	struct tree *tree = *state;
	struct device_node node;

	/* A link stands for what it leads to: the numbers of /dev/null are 1:3. */
	tree_link(tree, "/dev/infiniband/uverbs0", "/dev/null");
	device_node_look(tree->root, "uverbs0", &node);
	assert_int_equal(node.error, 0);
	assert_int_equal(node.major, 1);
	assert_int_equal(node.minor, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_is_told_with_its_node_and_port),
		TEST(an_absent_device_is_none),
		TEST(a_device_without_a_node_has_none),
		TEST(states_and_kinds_are_known_or_said_to_be_unknown),
		TEST(on_ethernet_what_is_not_version_2_is_version_1),
		TEST(tables_and_ports_beyond_the_limits_are_cut),
		TEST(a_node_tells_who_may_open_it),
		TEST(the_numbers_of_a_device_file_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
