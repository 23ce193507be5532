// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "unit/doctor-tree.h"

/* ---- reaching a device */

static void C02_a_node_that_is_not_there_blocks_the_device(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/dev/infiniband");
	doctor_host_look(host);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "/dev/infiniband/uverbs0",
			   "udevadm trigger");
	doctor_host_expect_no(host, "device-library");
	doctor_host_expect_summary(
		host, "cannot run RDMA tests, because /dev/infiniband/uverbs0 of left is not here");
	/* In a /dev of its own the host's udev does not help. */
	tree_write(&host->tree, "/proc/self/mountinfo", "24 27 0:6 / /dev rw - tmpfs tmpfs rw\n");
	doctor_host_look(host);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "/dev of this container or unit",
			   "PrivateDevices=no and DeviceAllow=char-infiniband_verbs rw");
	assert_null(strstr(doctor_host_line(host, "device-node")->cure, "udevadm"));
	tree_remove(&host->tree, DOCTOR_NODE);
	doctor_host_look(host);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "no ib_uverbs node",
			   "modprobe ib_uverbs");
}

static void refuse(struct doctor_host *host, int error, mode_t mode)
{
	doctor_host_collect(host);
	host->facts->devices[0].verbs.node.open_error = error;
	host->facts->devices[0].verbs.node.mode = mode;
	host->facts->devices[0].verbs.was_asked = false;
	doctor_host_judge(host);
}

static void C02_a_refused_node_tells_mode_from_device_list(void **state)
{
	struct doctor_host *host = *state;

	refuse(host, -EACCES, 0100000);
	doctor_host_expect(host, "device-node", DOCTOR_BAD,
			   "this user (1000) may not open /dev/infiniband/uverbs0: mode 0000",
			   "chmod 0666 /dev/infiniband/uverbs0");
	doctor_host_expect_summary(host, "because left may not be opened");
	refuse(host, -EPERM, 0100666);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "device list", "DeviceAllow=");
	refuse(host, -EACCES, 0100666);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "device list", "DeviceAllow=");
	refuse(host, -EIO, 0100666);
	doctor_host_expect(host, "device-node", DOCTOR_BAD, "Input/output error", "dmesg");
}

static void a_node_that_opens_for_root_alone_is_a_warning(void **state)
{
	struct doctor_host *host = *state;
	struct device_node *node;

	tree_write(&host->tree, "/proc/self/status", DOCTOR_STATUS("0", "000001ffffffffff"));
	doctor_host_collect(host);
	node = &host->facts->devices[0].verbs.node;
	node->mode = 0100666;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-node", DOCTOR_OK, "opens", NULL);
	node->mode = 0100600;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-node", DOCTOR_WARN, "mode 0600", "MODE=\"0666\"");
	node->mode = 0100660;
	node->group_id = 118;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-node", DOCTOR_WARN, "group 118",
			   "SupplementaryGroups=118");
	doctor_host_expect_summary(host, "can run RDMA tests on left port 1");
}

static void a_node_of_another_device_is_told(void **state)
{
	struct doctor_host *host = *state;

	/* The numbers of /dev/null. */
	tree_remove(&host->tree, "/dev/infiniband/uverbs0");
	tree_link(&host->tree, "/dev/infiniband/uverbs0", "/dev/null");
	doctor_host_look(host);
	doctor_host_expect(host, "device-node", DOCTOR_BAD,
			   "leads to device 1:3, not to this one (231:192)", "make it anew");
}

static void C03_a_device_that_the_library_does_not_know_names_driver_and_abi(void **state)
{
	struct doctor_host *host = *state;

	fabric_use(NULL);
	doctor_host_look(host);
	doctor_host_expect(host, "device-library", DOCTOR_BAD,
			   "it has no part for driver mlx5_core, or not for ABI version 1",
			   "apt install ibverbs-providers");
	doctor_host_expect_summary(host, "because libibverbs does not know left");
	text_copy(host->facts->devices[0].verbs.said, 256, "libibverbs: Warning: ABI of 6");
	doctor_host_judge(host);
	doctor_host_expect(host, "device-library", DOCTOR_BAD,
			   "it says: libibverbs: Warning: ABI of 6", "apt install");
}

static void a_device_that_cannot_be_opened_says_why(void **state)
{
	struct doctor_host *host = *state;

	fabric_set_verb(host->fabric, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .error = EBUSY });
	doctor_host_look(host);
	doctor_host_expect(host, "device-library", DOCTOR_BAD, "Device or resource busy", "dmesg");
	doctor_host_expect_summary(host, "because left cannot be opened");
	fabric_set_verb(host->fabric, "left", FABRIC_OPEN_DEVICE, NULL);
	fabric_set_verb(host->fabric, "left", FABRIC_QUERY_PORT,
			&(struct fabric_verb_fault){ .error = EIO });
	doctor_host_look(host);
	doctor_host_expect(host, "device-library", DOCTOR_BAD, "Input/output error", "dmesg");
}

/* The one beside it is told all the same. */
static void a_device_that_hangs_is_left_alone(void **state)
{
	struct doctor_host *host = *state;

	tree_add_roce(&host->tree, "right", "eth3", DOCTOR_GID_IPV4);
	tree_write(&host->tree, "/sys/class/infiniband_verbs/uverbs1/ibdev", "right\n");
	tree_write(&host->tree, "/dev/infiniband/uverbs1", "");
	fabric_add_device(host->fabric,
			  &(struct fabric_device_config){ .name = "right", .address = "10.0.0.2" });
	fabric_set_threaded(host->fabric, true);
	fabric_set_verb(host->fabric, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .cost_ns = UINT64_MAX });
	doctor_host_look(host);
	assert_true(host->facts->devices[0].is_late);
	doctor_host_expect(host, "device-answer", DOCTOR_BAD, "does not answer", "dmesg");
	doctor_host_expect_summary(host,
				   "can run RDMA tests on right port 1, but left does not answer");
}

static void a_device_that_went_away_meanwhile_is_told(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	host->facts->devices[0].answer = DOCTOR_ANSWER_NONE;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-answer", DOCTOR_BAD, "ended without an answer", "dmesg");
	doctor_host_expect_summary(host, "because left does not answer");
}

static void C24_few_queue_pairs_left_are_told(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	host->facts->devices[0].verbs.max_qp = 262144;
	host->facts->netlink.device_count = 1;
	host->facts->netlink.devices[0] =
		(struct rdma_netlink_device){ .name = "left", .qp_count = 9 };
	doctor_host_judge(host);
	doctor_host_expect(host, "device-library", DOCTOR_OK, "9 of its 262 144 queue pairs", NULL);
	host->facts->netlink.devices[0].qp_count = 260000;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-library", DOCTOR_WARN, "260 000 of its 262 144",
			   "rdma resource show qp link left");
}

/* ---- what it is, where it sits */

static void iwarp_and_a_zero_guid_are_told(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_DEVICE "/node_type", "4: RNIC\n");
	tree_write(&host->tree, DOCTOR_DEVICE "/node_guid", "0000:0000:0000:0000\n");
	doctor_host_look(host);
	doctor_host_expect(host, "device-kind", DOCTOR_BAD, "iWARP", "RoCE");
	doctor_host_expect(host, "device-guid", DOCTOR_WARN, "zero", "node_guid");
	doctor_host_expect_no(host, "port-gid");
	doctor_host_expect_summary(host, "because left is an iWARP device");
}

static void a_narrow_or_slow_bus_is_told_against_the_port(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_CARD "/current_link_width", "4\n");
	doctor_host_look(host);
	doctor_host_expect(
		host, "pcie", DOCTOR_WARN,
		"runs at 16 GT/s x4, the adapter can 16 GT/s x16: 63 Gb/s for a port of 100 Gb/s",
		"lspci -vv -s 0000:3b:00.0");
	/* All that the card can, and too little. */
	tree_write(&host->tree, DOCTOR_CARD "/max_link_width", "4\n");
	doctor_host_look(host);
	doctor_host_expect(host, "pcie", DOCTOR_WARN, "16 GT/s x4, 63 Gb/s for a port of 100 Gb/s",
			   "lspci");
	tree_write(&host->tree, DOCTOR_CARD "/current_link_speed", "Unknown\n");
	doctor_host_look(host);
	doctor_host_expect(host, "pcie", DOCTOR_NOT_SEEN, "does not tell", NULL);
}

static void the_node_of_cpus_is_judged_where_there_are_several(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_CARD "/numa_node", "-1\n");
	doctor_host_look(host);
	doctor_host_expect(host, "device-numa", DOCTOR_WARN, "which of the 2 NUMA nodes",
			   "cpu.affinity");
	tree_write(&host->tree, DOCTOR_CARD "/numa_node", "0\n");
	doctor_host_look(host);
	doctor_host_expect(host, "device-numa", DOCTOR_WARN, "no CPU of NUMA node 0",
			   "AllowedCPUs=");
	tree_write(&host->tree, "/sys/devices/system/node/online", "0\n");
	doctor_host_look(host);
	doctor_host_expect_no(host, "device-numa");
	doctor_host_expect(host, "numa", DOCTOR_OK, "one node", NULL);
}

static void what_is_too_much_to_look_at_is_said(void **state)
{
	struct doctor_host *host = *state;
	char path[128];

	for (unsigned i = 2; i <= INFINIBAND_PORTS + 1; i++) {
		snprintf(path, sizeof(path), DOCTOR_DEVICE "/ports/%u/state", i);
		tree_write(&host->tree, path, "1: DOWN\n");
	}
	for (unsigned i = 0; i < LIMIT_GIDS + 1; i++) {
		snprintf(path, sizeof(path), DOCTOR_DEVICE "/ports/1/gids/%u", i);
		tree_write(&host->tree, path, DOCTOR_GID_IPV4 "\n");
		snprintf(path, sizeof(path), DOCTOR_DEVICE "/ports/1/gid_attrs/types/%u", i);
		tree_write(&host->tree, path, "RoCE v2\n");
	}
	doctor_host_look(host);
	doctor_host_expect(host, "device-ports", DOCTOR_NOT_SEEN,
			   "has 9 ports, of which only the first 8", NULL);
	doctor_host_expect(host, "port-gid", DOCTOR_OK, "more than 64 GIDs", NULL);
}

/* ---- ports */

static void C04_a_port_that_is_down_says_what_of_its_interface(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/state", "1: DOWN\n");
	tree_write(&host->tree, "/sys/class/net/eth2/flags", "0x1002\n");
	tree_write(&host->tree, "/sys/class/net/eth2/carrier", "0\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "eth2 is switched off",
			   "ip link set eth2 up");
	doctor_host_expect_summary(host, "because left port 1 is down");
	doctor_host_expect_no(host, "port-gid");
	doctor_host_expect_no(host, "port-mtu");
	tree_write(&host->tree, "/sys/class/net/eth2/flags", "0x1003\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "sees no link", "cable");
	tree_write(&host->tree, "/sys/class/net/eth2/carrier", "1\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "has a link (LinkUp)",
			   "ip link set eth2 down");
	tree_remove(&host->tree, "/sys/class/net/eth2");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "eth2 is not seen here", "ip link show");
}

static void C04_a_port_that_is_down_beside_one_that_is_not_is_a_warning(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_DEVICE "/ports/2/state", "1: DOWN\n");
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/2/link_layer", "InfiniBand\n");
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/2/phys_state", "2: Polling\n");
	doctor_host_collect(host);
	/* The fake NIC has one port. */
	host->facts->devices[0].verbs.error = 0;
	doctor_host_judge(host);
	assert_int_equal(host->summary.counts[DOCTOR_BAD], 0);
	assert_int_equal(host->summary.counts[DOCTOR_WARN], 1);
	assert_string_equal(host->report.lines[0].subject, "left port 2");
	assert_non_null(
		strstr(host->report.lines[0].finding, "no link to the other end (Polling)"));
	assert_int_equal(host->summary.port_count, 2);
	assert_int_equal(host->summary.usable_count, 1);
}

static void C05_only_infiniband_waits_for_a_subnet_manager(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/state", "2: INIT\n");
	doctor_host_look(host);
	assert_null(strstr(host->text.data, "subnet manager"));
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "down", "ip link set");
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/link_layer", "InfiniBand\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "waits for a subnet manager", "opensm");
	doctor_host_expect_summary(host, "because left port 1 is not active yet");
}

static void infiniband_needs_a_lid_and_no_ip_address(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/link_layer", "InfiniBand\n");
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/gids/1",
		   "0000:0000:0000:0000:0000:0000:0000:0000\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_WARN, "without a LID", "sminfo");
	doctor_host_expect_no(host, "port-gid");
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/lid", "0x7\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_OK, "InfiniBand", NULL);
	doctor_host_expect_summary(host, "can run RDMA tests on left port 1");
}

static void a_state_that_cannot_be_read_is_not_guessed(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, DOCTOR_DEVICE "/ports/1/state");
	doctor_host_look(host);
	doctor_host_expect(host, "port-state", DOCTOR_BAD, "cannot be read", "dmesg");
	doctor_host_expect_summary(host, "because left port 1 does not tell its state");
}

/* ---- addresses */

static void set_gid(struct doctor_host *host, const char *gid, const char *type)
{
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/gids/0", gid);
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/gid_attrs/types/0", type);
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/gids/1",
		   "0000:0000:0000:0000:0000:0000:0000:0000\n");
}

static void C07_C08_a_port_without_a_usable_gid_is_told_at_once(void **state)
{
	struct doctor_host *host = *state;

	set_gid(host, DOCTOR_GID_LOCAL, "RoCE v2\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-gid", DOCTOR_BAD, "only link-local GIDs",
			   "ip address add ADDRESS/PREFIX dev eth2");
	doctor_host_expect_summary(host, "because left port 1 has no usable address");
	set_gid(host, "0000:0000:0000:0000:0000:ffff:a9fe:0102\n", "RoCE v2\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-gid", DOCTOR_BAD, "such as 169.254.1.2", "ip address add");
	set_gid(host, "0000:0000:0000:0000:0000:0000:0000:0000\n", "RoCE v2\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-gid", DOCTOR_BAD, "no GID (a port's address",
			   "ip address add");
}

static void a_global_ipv6_address_is_as_good(void **state)
{
	struct doctor_host *host = *state;

	set_gid(host, "fd99:0000:0000:0000:0000:0000:0000:0001\n", "RoCE v2\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-gid", DOCTOR_OK,
			   "1 GID (its addresses); RoCE v2 as fd99::1, index 0", NULL);
}

static void C09_version_1_alone_is_no_address(void **state)
{
	struct doctor_host *host = *state;

	set_gid(host, DOCTOR_GID_IPV4, "IB/RoCE v1\n");
	doctor_host_look(host);
	doctor_host_expect(host, "port-gid", DOCTOR_BAD, "RoCE version 1", "RoCE v2");
	doctor_host_expect_summary(host, "because left port 1 has only RoCE v1 addresses");
}

static void set_address(struct doctor_host *host, size_t index, const char *netdev,
			const char *address)
{
	struct netdev_address *ret = &host->facts->addresses[index];

	*ret = (struct netdev_address){ .prefix_bits = 96 + 24 };
	text_copy(ret->netdev, sizeof(ret->netdev), netdev);
	assert_int_equal(inet_pton(AF_INET6, address, ret->address), 1);
	host->facts->addresses_error = 0;
	host->facts->address_count = index + 1;
}

static void C11_a_gid_of_an_address_that_is_gone_is_told(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	set_address(host, 0, "eth2", "::ffff:10.0.0.7");
	doctor_host_judge(host);
	doctor_host_expect(host, "port-gid", DOCTOR_BAD, "GID 10.0.0.1", "ip address add");
	set_address(host, 0, "eth2", "::ffff:10.0.0.1");
	doctor_host_judge(host);
	doctor_host_expect(host, "port-gid", DOCTOR_OK, "10.0.0.1", NULL);
	tree_write(&host->tree, DOCTOR_DEVICE "/ports/1/gids/0",
		   "fd99:0000:0000:0000:0000:0000:0000:0001\n");
	doctor_host_collect(host);
	set_address(host, 0, "eth2", "::ffff:10.0.0.1");
	doctor_host_judge(host);
	doctor_host_expect(host, "port-gid", DOCTOR_WARN,
			   "GID 0 (fd99::1) is of an address that eth2 no longer has",
			   "qp.gid_index: auto");
}

static void addresses_of_another_namespace_are_not_taken_for_its_own(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	set_address(host, 0, "eth2", "::ffff:10.0.0.7");
	host->facts->netdevs[0].is_elsewhere = true;
	doctor_host_judge(host);
	doctor_host_expect(host, "port-gid", DOCTOR_WARN, "not in this network namespace",
			   "--network=host");
	doctor_host_expect_summary(host, "can run RDMA tests on left port 1");
}

static void C17_two_interfaces_in_one_subnet_must_answer_for_themselves(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	host->facts->netdevs[0].is_arp_known = true;
	host->facts->netdevs[1] = host->facts->netdevs[0];
	text_copy(host->facts->netdevs[1].name, FACT_NAME, "eth3");
	host->facts->netdev_count = 2;
	set_address(host, 0, "eth2", "::ffff:10.0.0.1");
	set_address(host, 1, "eth3", "::ffff:10.0.1.2");
	doctor_host_judge(host);
	doctor_host_expect_no(host, "arp");
	set_address(host, 1, "eth3", "::ffff:10.0.0.2");
	doctor_host_judge(host);
	doctor_host_expect(host, "arp", DOCTOR_WARN, "one subnet", "arp_ignore=1");
	assert_string_equal(doctor_host_line(host, "arp")->subject, "eth2, eth3");
	for (size_t i = 0; i < 2; i++) {
		host->facts->netdevs[i].arp_ignore = 1;
		host->facts->netdevs[i].arp_announce = 2;
	}
	doctor_host_judge(host);
	doctor_host_expect(host, "arp", DOCTOR_OK, "its own address only", NULL);
	/* Interfaces without RDMA are none of our business. */
	set_address(host, 1, "eth9", "::ffff:10.0.0.2");
	doctor_host_judge(host);
	doctor_host_expect_no(host, "arp");
}

/* ---- MTU */

static void a_low_mtu_follows_the_interface(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/sys/class/net/eth2/mtu", "1500\n");
	doctor_host_collect(host);
	host->facts->devices[0].verbs.active_mtu_bytes[0] = 1024;
	doctor_host_judge(host);
	doctor_host_expect(host, "port-mtu", DOCTOR_WARN,
			   "1024 of 4096 bytes: RoCE follows the 1500 bytes of eth2",
			   "ip link set eth2 mtu 4200");
	doctor_host_expect_summary(host, "can run RDMA tests on left port 1");
	host->facts->devices[0].sysfs.ports[0].link_layer = LINK_LAYER_INFINIBAND;
	doctor_host_judge(host);
	doctor_host_expect(host, "port-mtu", DOCTOR_WARN, "1024 of 4096 bytes", "partitions.conf");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, doctor_host_set_up, doctor_host_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(C02_a_node_that_is_not_there_blocks_the_device),
		TEST(C02_a_refused_node_tells_mode_from_device_list),
		TEST(a_node_that_opens_for_root_alone_is_a_warning),
		TEST(a_node_of_another_device_is_told),
		TEST(C03_a_device_that_the_library_does_not_know_names_driver_and_abi),
		TEST(a_device_that_cannot_be_opened_says_why),
		TEST(a_device_that_hangs_is_left_alone),
		TEST(a_device_that_went_away_meanwhile_is_told),
		TEST(C24_few_queue_pairs_left_are_told),
		TEST(iwarp_and_a_zero_guid_are_told),
		TEST(a_narrow_or_slow_bus_is_told_against_the_port),
		TEST(the_node_of_cpus_is_judged_where_there_are_several),
		TEST(what_is_too_much_to_look_at_is_said),
		TEST(C04_a_port_that_is_down_says_what_of_its_interface),
		TEST(C04_a_port_that_is_down_beside_one_that_is_not_is_a_warning),
		TEST(C05_only_infiniband_waits_for_a_subnet_manager),
		TEST(infiniband_needs_a_lid_and_no_ip_address),
		TEST(a_state_that_cannot_be_read_is_not_guessed),
		TEST(C07_C08_a_port_without_a_usable_gid_is_told_at_once),
		TEST(a_global_ipv6_address_is_as_good),
		TEST(C09_version_1_alone_is_no_address),
		TEST(C11_a_gid_of_an_address_that_is_gone_is_told),
		TEST(addresses_of_another_namespace_are_not_taken_for_its_own),
		TEST(C17_two_interfaces_in_one_subnet_must_answer_for_themselves),
		TEST(a_low_mtu_follows_the_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
