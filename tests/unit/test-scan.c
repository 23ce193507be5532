// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "fake/fabric.h"
#include "fake/fake-clock.h"
#include "unit/tree.h"
#include "verbs/scan.h"

#define SECOND 1000000000ull

struct fixture {
	struct fabric *fabric;
	struct tree tree;
	struct scan *scan;
	struct daemon_settings settings;
	struct inventory inventory;
	struct error err;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_clock_start(SECOND);
	fixture->fabric = fabric_new(1);
	fabric_use(fixture->fabric);
	/* Not in the order of names. */
	fabric_add_device(fixture->fabric, &(struct fabric_device_config){ .name = "right",
									   .address = "10.0.0.2",
									   .mtu = IBV_MTU_1024 });
	fabric_add_device(fixture->fabric, &(struct fabric_device_config){ .name = "left",
									   .address = "10.0.0.1",
									   .max_qp_wr = 99 });
	tree_init(&fixture->tree);
	fixture->scan = scan_new(fixture->tree.root);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	scan_free(fixture->scan);
	assert_int_equal(fabric_objects(fixture->fabric), 0);
	fabric_use(NULL);
	fabric_free(fixture->fabric);
	tree_done(&fixture->tree);
	free(fixture);
	fake_clock_stop();
	return 0;
}

static void run(struct fixture *fixture, bool is_fresh)
{
	fixture->err = ERROR_INIT;
	assert_int_equal(scan_run(fixture->scan, &fixture->settings, is_fresh, &fixture->inventory,
				  &fixture->err),
			 0);
}

static void every_active_port_is_told_in_name_order_when_none_is_listed(void **state)
{
	struct fixture *fixture = *state;
	const struct port *left = &fixture->inventory.ports[0];
	const struct port *right = &fixture->inventory.ports[1];

	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
	assert_int_equal(fixture->inventory.port_count, 2);
	assert_string_equal(left->device, "left");
	assert_string_equal(right->device, "right");
	assert_int_equal(left->rail, 0);
	assert_int_equal(right->rail, 1);
	assert_int_equal(left->port_num, 1);
	assert_int_equal(left->state, PORT_STATE_ACTIVE);
	assert_int_equal(left->link_layer, LINK_LAYER_ETHERNET);
	assert_int_equal(left->active_mtu_bytes, 4096);
	assert_int_equal(right->active_mtu_bytes, 1024);
	assert_int_equal(left->link_rate_bps, 100000000000);
	assert_int_equal(left->link_width, 4);
	assert_int_equal(left->limits.max_qp_wr, 99);
	assert_int_equal(left->limits.max_msg_bytes, 1 << 30);
	assert_int_equal(left->configured_gid_index, SCHEMA_AUTO);
	assert_int_equal(left->numa_node, SCHEMA_AUTO);
	assert_string_equal(left->firmware, "1.0.fake");
	assert_int_equal(left->gid_count, 2);
	assert_int_equal(left->gids[1].index, 1);
	assert_int_equal(left->gids[1].type, GID_TYPE_ROCE_V2);
	assert_string_equal(left->gids[1].gid, "::ffff:10.0.0.1");
	assert_int_equal(strlen(left->node_guid), 19);
}

static void listed_ports_come_in_their_order_with_what_was_configured(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.device_count = 4;
	fixture->settings.devices[0] = (struct device_settings){
		.name = "right", .port_num = 1, .gid_index = 1, .rail = 7
	};
	fixture->settings.devices[1] =
		(struct device_settings){ .name = "absent", .port_num = 1, .rail = SCHEMA_AUTO };
	fixture->settings.devices[2] =
		(struct device_settings){ .name = "left", .port_num = 2, .rail = SCHEMA_AUTO };
	fixture->settings.devices[3] = (struct device_settings){
		.name = "left", .port_num = 1, .gid_index = SCHEMA_AUTO, .rail = SCHEMA_AUTO
	};
	fabric_set_port(fixture->fabric, "left", false);
	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
	assert_int_equal(fixture->inventory.port_count, 2);
	assert_string_equal(fixture->inventory.ports[0].device, "right");
	assert_int_equal(fixture->inventory.ports[0].rail, 7);
	assert_int_equal(fixture->inventory.ports[0].configured_gid_index, 1);
	assert_string_equal(fixture->inventory.ports[1].device, "left");
	assert_int_equal(fixture->inventory.ports[1].rail, 3);
	assert_int_equal(fixture->inventory.ports[1].state, PORT_STATE_DOWN);
	assert_int_equal(fixture->inventory.ports[1].configured_gid_index, SCHEMA_AUTO);
	assert_true(scan_is_present(fixture->scan, "left"));
	assert_false(scan_is_present(fixture->scan, "absent"));
}

static void
C12_a_device_that_is_configured_and_absent_is_told_with_those_that_are_there(void **state)
{
	struct fixture *fixture = *state;

	fixture->settings.device_count = 2;
	fixture->settings.devices[0] = (struct device_settings){
		.name = "right", .port_num = 1, .gid_index = SCHEMA_AUTO, .rail = SCHEMA_AUTO
	};
	fixture->settings.devices[1] =
		(struct device_settings){ .name = "mlx5_0", .port_num = 1, .rail = SCHEMA_AUTO };
	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
	assert_non_null(strstr(fixture->inventory.problem, "daemon.devices names \"mlx5_0\""));
	assert_non_null(strstr(fixture->inventory.problem, "left"));
	assert_non_null(strstr(fixture->inventory.problem, "right"));
	fixture->settings.device_count = 1;
	run(fixture, false);
	assert_string_equal(fixture->inventory.problem, "");
}

static void a_port_that_never_was_active_is_left_out_when_none_is_listed(void **state)
{
	struct fixture *fixture = *state;

	fabric_set_port(fixture->fabric, "left", false);
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 1);
	assert_string_equal(fixture->inventory.ports[0].device, "right");
	assert_int_equal(fixture->inventory.ports[0].rail, 0);
	assert_true(scan_is_present(fixture->scan, "left"));
}

static void a_port_that_goes_down_is_told_and_keeps_its_place(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, false);
	fabric_set_port(fixture->fabric, "left", false);
	run(fixture, true);
	assert_int_equal(fixture->inventory.port_count, 2);
	assert_string_equal(fixture->inventory.ports[0].device, "left");
	assert_int_equal(fixture->inventory.ports[0].state, PORT_STATE_DOWN);
	/* Its rail is that of the other nodes' first port. */
	assert_int_equal(fixture->inventory.ports[1].rail, 1);
}

static void a_device_that_does_not_open_is_named_and_the_others_are_told(void **state)
{
	struct fixture *fixture = *state;

	fabric_set_verb(fixture->fabric, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .error = EIO });
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 1);
	assert_string_equal(fixture->inventory.ports[0].device, "right");
	assert_non_null(strstr(fixture->err.text, "\"left\""));
	fabric_set_verb(fixture->fabric, "left", FABRIC_OPEN_DEVICE, NULL);
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 2);
}

static void devices_that_come_and_go_are_noticed(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, false);
	fabric_lose_device(fixture->fabric, "right");
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 1);
	assert_false(scan_is_present(fixture->scan, "right"));
	fabric_add_device(fixture->fabric,
			  &(struct fabric_device_config){ .name = "new", .address = "10.0.0.3" });
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 2);
	assert_string_equal(fixture->inventory.ports[1].device, "new");
	assert_int_equal(fixture->inventory.ports[1].rail, 1);
}

/* How many times "left" was opened is how often an injected failure shows. */
static bool opens_left(struct fixture *fixture, bool is_fresh)
{
	bool is_asked;

	fabric_set_verb(fixture->fabric, "left", FABRIC_QUERY_PORT,
			&(struct fabric_verb_fault){ .error = EIO });
	run(fixture, is_fresh);
	is_asked = error_is_set(&fixture->err);
	fabric_set_verb(fixture->fabric, "left", FABRIC_QUERY_PORT, NULL);
	/* So that the failure leaves nothing behind. */
	if (is_asked) {
		run(fixture, false);
	}
	return is_asked;
}

static void a_device_whose_facts_stay_the_same_is_not_opened_again(void **state)
{
	struct fixture *fixture = *state;

	tree_add_roce(&fixture->tree, "left", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 2);
	fake_clock_advance(2 * SECOND);
	assert_false(opens_left(fixture, false));
	assert_int_equal(fixture->inventory.port_count, 2);
	assert_true(opens_left(fixture, true));
	assert_false(opens_left(fixture, false));
	tree_write(&fixture->tree, "/sys/class/infiniband/left/ports/1/state", "1: DOWN\n");
	assert_true(opens_left(fixture, false));
	assert_false(opens_left(fixture, false));
	fake_clock_advance(61 * SECOND);
	assert_true(opens_left(fixture, false));
}

static void a_device_whose_node_changes_is_asked_again(void **state)
{
	struct fixture *fixture = *state;
	char node[128];

	tree_add_roce(&fixture->tree, "left", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	tree_write(&fixture->tree, "/dev/infiniband/uverbs1", "");
	snprintf(node, sizeof(node), "%s/dev/infiniband/uverbs1", fixture->tree.root);
	run(fixture, false);
	assert_false(opens_left(fixture, false));
	assert_int_equal(chmod(node, 0), 0);
	assert_true(opens_left(fixture, false));
	assert_false(opens_left(fixture, false));
}

static void a_node_that_was_removed_is_told_without_waiting_for_it(void **state)
{
	struct fixture *fixture = *state;

	tree_add_roce(&fixture->tree, "left", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	tree_write(&fixture->tree, "/dev/infiniband/uverbs1", "");
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 2);
	tree_remove(&fixture->tree, "/dev/infiniband/uverbs1");
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 1);
	assert_non_null(strstr(fixture->err.text, "/dev/infiniband/uverbs1 was removed"));
	assert_true(scan_is_present(fixture->scan, "left"));
	tree_write(&fixture->tree, "/dev/infiniband/uverbs1", "");
	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
	assert_int_equal(fixture->inventory.port_count, 2);
}

static void a_device_that_the_library_leaves_out_is_told(void **state)
{
	struct fixture *fixture = *state;

	tree_add_roce(&fixture->tree, "left", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
	fabric_lose_device(fixture->fabric, "left");
	for (int i = 0; i < 2; i++) {
		run(fixture, false);
		assert_int_equal(fixture->inventory.port_count, 1);
		assert_non_null(strstr(fixture->err.text, "\"left\" is in the kernel, but"));
	}
	/* Not wanted, not missed. */
	fixture->settings.device_count = 1;
	fixture->settings.devices[0] =
		(struct device_settings){ .name = "right", .port_num = 1, .rail = SCHEMA_AUTO };
	run(fixture, false);
	assert_false(error_is_set(&fixture->err));
}

static void without_descriptors_nothing_is_told_to_be_gone(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit old;
	struct rlimit none;

	run(fixture, false);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(scan_run(fixture->scan, &fixture->settings, true, &fixture->inventory,
				  &fixture->err),
			 -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_non_null(strstr(fixture->err.text, "LimitNOFILE="));
	assert_true(scan_is_present(fixture->scan, "left"));
}

static void a_device_without_sysfs_is_always_asked(void **state)
{
	struct fixture *fixture = *state;

	run(fixture, false);
	assert_true(opens_left(fixture, false));
}

static void facts_of_sysfs_complete_those_of_verbs(void **state)
{
	struct fixture *fixture = *state;

	tree_add_roce(&fixture->tree, "left", "eth0", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	tree_write(&fixture->tree, "/sys/class/net/eth0/speed", "25000\n");
	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "1\n");
	tree_link(&fixture->tree, "/sys/class/infiniband/left/device/driver",
		  "../drivers/mlx5_core");
	run(fixture, false);
	assert_int_equal(fixture->inventory.ports[0].link_rate_bps, 25000000000);
	assert_int_equal(fixture->inventory.ports[0].numa_node, 1);
	assert_string_equal(fixture->inventory.ports[0].driver, "mlx5_core");
}

static void two_scans_of_the_same_tell_the_same_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct inventory *first = malloc(sizeof(*first));

	memset(&fixture->inventory, 0xa5, sizeof(fixture->inventory));
	run(fixture, true);
	memcpy(first, &fixture->inventory, sizeof(*first));
	memset(&fixture->inventory, 0x5a, sizeof(fixture->inventory));
	run(fixture, true);
	assert_int_equal(first->port_count, 2);
	assert_memory_equal(first->ports, fixture->inventory.ports, 2 * sizeof(first->ports[0]));
	free(first);
}

static void no_devices_at_all_is_an_empty_inventory(void **state)
{
	struct fixture *fixture = *state;

	fabric_use(NULL);
	run(fixture, false);
	assert_int_equal(fixture->inventory.port_count, 0);
	assert_null(scan_asks_about(fixture->scan));
	fabric_use(fixture->fabric);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_active_port_is_told_in_name_order_when_none_is_listed),
		TEST(listed_ports_come_in_their_order_with_what_was_configured),
		TEST(C12_a_device_that_is_configured_and_absent_is_told_with_those_that_are_there),
		TEST(a_port_that_never_was_active_is_left_out_when_none_is_listed),
		TEST(a_port_that_goes_down_is_told_and_keeps_its_place),
		TEST(a_device_that_does_not_open_is_named_and_the_others_are_told),
		TEST(devices_that_come_and_go_are_noticed),
		TEST(a_device_whose_facts_stay_the_same_is_not_opened_again),
		TEST(a_device_whose_node_changes_is_asked_again),
		TEST(a_node_that_was_removed_is_told_without_waiting_for_it),
		TEST(a_device_that_the_library_leaves_out_is_told),
		TEST(without_descriptors_nothing_is_told_to_be_gone),
		TEST(a_device_without_sysfs_is_always_asked),
		TEST(facts_of_sysfs_complete_those_of_verbs),
		TEST(two_scans_of_the_same_tell_the_same_bytes),
		TEST(no_devices_at_all_is_an_empty_inventory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
