// SPDX-License-Identifier: MIT
#include "run/occupancy.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/occupancy_read.h"
#include "unit/tree.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define PATIENCE_NS (20 * SECOND_NS)
#define DEVICE "mlx5_9" /* one that the machine of the test has not */

struct scene {
	struct tree tree;
	sd_event *event;
	struct occupancy *occupancy;
	struct inventory *inventory;
	uint64_t sent_bytes;
	uint64_t step_bytes; /* that the port sends in each turn of the loop */
	unsigned told;
	struct port_use use;
};

static const struct inventory *find_inventory(void *arg)
{
	return ((struct scene *)arg)->inventory;
}

static void write_counters(struct scene *scene)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", scene->sent_bytes / 4);
	tree_replace(&scene->tree,
		     "/sys/class/infiniband/" DEVICE "/ports/1/counters/port_xmit_data", text);
	tree_replace(&scene->tree,
		     "/sys/class/infiniband/" DEVICE "/ports/1/counters/port_rcv_data", "7\n");
}

static int set_up(void **state)
{
	struct scene *scene = memory_new(sizeof(*scene));
	struct occupancy_options options = { .inventory = find_inventory, .arg = scene };
	struct error err = ERROR_INIT;

	tree_init(&scene->tree);
	tree_add_roce(&scene->tree, DEVICE, "eth9", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	scene->inventory = memory_new(sizeof(*scene->inventory));
	scene->inventory->port_count = 1;
	text_copy(scene->inventory->ports[0].device, sizeof(scene->inventory->ports[0].device),
		  DEVICE);
	scene->inventory->ports[0].port_num = 1;
	assert_true(sd_event_new(&scene->event) >= 0);
	options.event = scene->event;
	options.sys_root = scene->tree.root;
	assert_int_equal(occupancy_new(&scene->occupancy, &options, &err), 0);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(occupancy_free(scene->occupancy, clock_mono_ns() + PATIENCE_NS), 0);
	sd_event_unref(scene->event);
	tree_done(&scene->tree);
	free(scene->inventory);
	free(scene);
	return 0;
}

static void on_done(void *arg, const struct port_use *use)
{
	struct scene *scene = arg;

	scene->told++;
	scene->use = *use;
}

static void turn(struct scene *scene)
{
	if (scene->step_bytes > 0) {
		scene->sent_bytes += scene->step_bytes;
		write_counters(scene);
	}
	assert_true(sd_event_run(scene->event, 5000) >= 0);
}

static void look(struct scene *scene)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + PATIENCE_NS;
	unsigned told = scene->told;

	assert_non_null(occupancy_look(scene->occupancy, DEVICE, 1, on_done, scene));
	assert_int_equal(scene->told, told);
	while (scene->told == told) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		turn(scene);
	}
	assert_int_equal(scene->told, told + 1);
}

static void a_port_where_nothing_moves_has_no_traffic(void **state)
{
	struct scene *scene = *state;

	write_counters(scene);
	look(scene);
	assert_true(scene->use.has_traffic);
	assert_int_equal(scene->use.traffic_bps, 0);
	assert_int_equal(scene->use.rate_bps, 100000000000);
	assert_true(scene->use.window_ns >= OCCUPANCY_WINDOW_NS);
	assert_int_not_equal(port_use_state(&scene->use), PORT_USE_BUSY);
}

static void traffic_of_others_is_seen(void **state)
{
	struct scene *scene = *state;

	write_counters(scene);
	scene->step_bytes = 1ull << 40;
	look(scene);
	assert_true(scene->use.has_traffic);
	assert_int_equal(port_use_state(&scene->use), PORT_USE_BUSY);
}

static void what_jobs_of_ours_moved_is_not_traffic_of_others(void **state)
{
	struct scene *scene = *state;

	write_counters(scene);
	look(scene);
	occupancy_begin_own(scene->occupancy, DEVICE, 1);
	occupancy_begin_own(scene->occupancy, DEVICE, 1);
	scene->sent_bytes += 1ull << 50;
	write_counters(scene);
	occupancy_end_own(scene->occupancy, DEVICE, 1);
	occupancy_end_own(scene->occupancy, DEVICE, 1);
	look(scene);
	assert_true(scene->use.has_traffic);
	assert_int_equal(scene->use.traffic_bps, 0);
}

static void a_port_that_cannot_be_read_is_said_to_be_unseen(void **state)
{
	struct scene *scene = *state;

	look(scene);
	assert_false(scene->use.has_traffic);
	assert_non_null(strstr(scene->use.unseen, "byte counters"));
	assert_int_not_equal(port_use_state(&scene->use), PORT_USE_BUSY);
}

static void a_look_that_is_cancelled_tells_nothing(void **state)
{
	struct scene *scene = *state;
	struct occupancy_look *first;

	write_counters(scene);
	first = occupancy_look(scene->occupancy, DEVICE, 1, on_done, scene);
	occupancy_cancel(first);
	look(scene);
	assert_int_equal(scene->told, 1);
	first = occupancy_look(scene->occupancy, DEVICE, 1, on_done, scene);
	turn(scene);
	if (scene->told == 1) {
		occupancy_cancel(first);
		turn(scene);
		assert_int_equal(scene->told, 1);
	}
}

static void growth_is_that_of_the_source_that_saw_most(void **state)
{
	static const struct counter_value absent = { .state = COUNTER_ABSENT };
	struct occupancy_reading from = {
		.mono_ns = SECOND_NS,
		.bytes = { .sent = { { COUNTER_READ, 1000 }, { COUNTER_READ, 5000 } },
			   .received = { { COUNTER_READ, 0 }, absent } },
	};
	struct occupancy_reading to = from;
	struct port_use use = { 0 };

	to.mono_ns = 3 * SECOND_NS;
	to.rate_bps = 10000000000;
	to.bytes.sent[0].value += 100;
	to.bytes.sent[1].value += 500;
	to.bytes.received[0].value += 300;
	occupancy_read_growth(&from, &to, &use);
	assert_true(use.has_traffic);
	assert_int_equal(use.traffic_bps, 2000);
	assert_int_equal(use.window_ns, 2 * SECOND_NS);

	/* One that was set back tells nothing, the other one still does. */
	to.bytes.sent[1].value = 0;
	use = (struct port_use){ 0 };
	occupancy_read_growth(&from, &to, &use);
	assert_int_equal(use.traffic_bps, 1200);
	to.bytes.received[0].state = COUNTER_UNREADABLE;
	use = (struct port_use){ 0 };
	occupancy_read_growth(&from, &to, &use);
	assert_false(use.has_traffic);
	assert_true(use.unseen[0] != '\0');
	to.bytes.received[0].state = COUNTER_READ;
	to.rate_bps = 0;
	use = (struct port_use){ 0 };
	occupancy_read_growth(&from, &to, &use);
	assert_false(use.has_traffic);
	assert_non_null(strstr(use.unseen, "rate is not known"));
}

static void add_user(struct rdma_netlink *netlink, const char *device, uint32_t process,
		     const char *part, uint64_t connected_count)
{
	struct rdma_netlink_user *user = &netlink->users[netlink->user_count++];

	*user = (struct rdma_netlink_user){ .process = process,
					    .qp_count = connected_count + 1,
					    .connected_count = connected_count };
	text_copy(user->device, sizeof(user->device), device);
	text_copy(user->part, sizeof(user->part), part);
}

static void queue_pairs_of_others_are_counted_and_named(void **state)
{
	struct scene *scene = *state;
	struct rdma_netlink *netlink = memory_new(sizeof(*netlink));
	struct port_use use = { 0 };

	netlink->device_count = 1;
	text_copy(netlink->devices[0].name, sizeof(netlink->devices[0].name), DEVICE);
	tree_write(&scene->tree, "/proc/self/status", "CapEff:\t0\n");
	tree_link(&scene->tree, "/proc/self/ns/pid", "pid:[4026531836]");
	tree_link(&scene->tree, "/proc/self/ns/user", "user:[4026531837]");
	tree_write(&scene->tree, "/proc/4711/comm", "ib_write_bw\n");
	/* Ours, one that lies still, management, and one on another device. */
	add_user(netlink, DEVICE, (uint32_t)getpid(), "", 5);
	add_user(netlink, DEVICE, 4712, "", 0);
	add_user(netlink, DEVICE, 0, "ib_ipoib", 1);
	add_user(netlink, "mlx5_8", 4711, "", 7);
	occupancy_read_told(scene->tree.root, DEVICE, netlink, &use);
	assert_true(use.has_users);
	assert_int_equal(use.qp_count, 0);
	assert_string_equal(use.unseen, "");

	add_user(netlink, DEVICE, 4711, "", 3);
	add_user(netlink, DEVICE, 0, "nvme_rdma", 2);
	use = (struct port_use){ 0 };
	occupancy_read_told(scene->tree.root, DEVICE, netlink, &use);
	assert_true(use.has_users);
	assert_int_equal(use.qp_count, 5);
	assert_string_equal(use.user, "ib_write_bw (process 4711) and 1 more");
	free(netlink);
}

static void a_container_does_not_take_silence_for_idleness(void **state)
{
	struct scene *scene = *state;
	struct rdma_netlink *netlink = memory_new(sizeof(*netlink));
	struct port_use use = { 0 };

	tree_write(&scene->tree, "/proc/self/status", "CapEff:\t0\n");
	tree_link(&scene->tree, "/proc/self/ns/user", "user:[4026531837]");
	tree_link(&scene->tree, "/proc/self/ns/pid", "pid:[4026532001]");
	occupancy_read_told(scene->tree.root, DEVICE, netlink, &use);
	assert_false(use.has_users);
	assert_non_null(strstr(use.unseen, "tells nothing of it"));
	netlink->device_count = 1;
	text_copy(netlink->devices[0].name, sizeof(netlink->devices[0].name), DEVICE);
	use = (struct port_use){ 0 };
	occupancy_read_told(scene->tree.root, DEVICE, netlink, &use);
	assert_false(use.has_users);
	assert_non_null(strstr(use.unseen, "outside of this container"));
	/* What it does see counts all the same. */
	add_user(netlink, DEVICE, 4711, "", 1);
	use = (struct port_use){ 0 };
	occupancy_read_told(scene->tree.root, DEVICE, netlink, &use);
	assert_int_equal(port_use_state(&use), PORT_USE_BUSY);
	free(netlink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_port_where_nothing_moves_has_no_traffic),
		TEST(traffic_of_others_is_seen),
		TEST(what_jobs_of_ours_moved_is_not_traffic_of_others),
		TEST(a_port_that_cannot_be_read_is_said_to_be_unseen),
		TEST(a_look_that_is_cancelled_tells_nothing),
		TEST(queue_pairs_of_others_are_counted_and_named),
		TEST(a_container_does_not_take_silence_for_idleness),
		cmocka_unit_test(growth_is_that_of_the_source_that_saw_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
