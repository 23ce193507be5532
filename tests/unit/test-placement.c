// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "engine/placement.h"
#include "unit/assignments.h"
#include "unit/tree.h"
#include "util/thread.h"

struct fixture {
	struct tree tree;
	struct assignment *assignment;
	int cpus[256];
	unsigned count;
	struct placement placement;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	tree_init(&fixture->tree);
	tree_add_roce(&fixture->tree, "left", "eth0", "fe80:0000:0000:0000:0000:0000:0000:0001");
	fixture->assignment = assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 64);
	fixture->count = thread_cpus(fixture->cpus, 256);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	placement_done(&fixture->placement);
	tree_done(&fixture->tree);
	free(fixture->assignment);
	free(fixture);
	return 0;
}

static void choose(struct fixture *fixture)
{
	placement_done(&fixture->placement);
	assert_int_equal(placement_choose(fixture->assignment, fixture->tree.root,
					  &fixture->placement, NULL),
			 0);
}

/* Those of `indexes` (of the CPUs we have), in order; none: any CPU. */
static void assert_chosen(struct fixture *fixture, const unsigned *indexes, unsigned count)
{
	choose(fixture);
	assert_int_equal(fixture->placement.count, count);
	assert_int_equal(fixture->placement.cpus == NULL, count == 0);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(fixture->placement.cpus[i], fixture->cpus[indexes[i]]);
	}
}

static void write_list(struct fixture *fixture, const char *path, const char *format, ...)
{
	char text[64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	tree_write(&fixture->tree, path, text);
}

static void a_given_cpu_is_taken_alone_if_it_is_ours(void **state)
{
	struct fixture *fixture = *state;
	struct error err = ERROR_INIT;
	unsigned last = fixture->count - 1;

	fixture->assignment->workload.cpu.affinity = (uint64_t)fixture->cpus[last];
	assert_chosen(fixture, &last, 1);
	placement_done(&fixture->placement);
	fixture->assignment->workload.cpu.affinity = 4095;
	assert_int_equal(placement_choose(fixture->assignment, fixture->tree.root,
					  &fixture->placement, &err),
			 -EINVAL);
	assert_null(fixture->placement.cpus);
	assert_int_equal(err.class, ERROR_INPUT);
	assert_non_null(strstr(err.text, "cpu.affinity 4095"));
	/* 2^32 + a CPU that there is. */
	fixture->assignment->workload.cpu.affinity = (1ull << 32) + (uint64_t)fixture->cpus[0];
	assert_int_equal(placement_choose(fixture->assignment, fixture->tree.root,
					  &fixture->placement, NULL),
			 -EINVAL);
}

static void on_one_node_any_cpu_will_do(void **state)
{
	struct fixture *fixture = *state;

	assert_chosen(fixture, NULL, 0);
	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "0\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/online", "0\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/node0/cpulist", "0-63\n");
	tree_write(&fixture->tree, "/sys/devices/system/cpu/isolated", "\n");
	assert_chosen(fixture, NULL, 0);
}

static void on_several_nodes_all_cpus_of_the_device_are_chosen(void **state)
{
	struct fixture *fixture = *state;
	unsigned first = 0;

	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "1\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/online", "0-1\n");
	write_list(fixture, "/sys/devices/system/node/node1/cpulist", "%d\n", fixture->cpus[0]);
	if (fixture->count > 1) {
		assert_chosen(fixture, &first, 1);
	}
	/* A node that has all of ours: nothing is left out. */
	tree_write(&fixture->tree, "/sys/devices/system/node/node1/cpulist", "0-4000\n");
	assert_chosen(fixture, NULL, 0);
	/* A node whose CPUs are all forbidden to us. */
	tree_write(&fixture->tree, "/sys/devices/system/node/node1/cpulist", "4000\n");
	assert_chosen(fixture, NULL, 0);
}

static void isolated_cpus_are_left_alone_unless_we_have_no_other(void **state)
{
	struct fixture *fixture = *state;
	unsigned others[256];

	for (unsigned i = 1; i < fixture->count; i++) {
		others[i - 1] = i;
	}
	write_list(fixture, "/sys/devices/system/cpu/isolated", "%d\n", fixture->cpus[0]);
	if (fixture->count > 1) {
		assert_chosen(fixture, others, fixture->count - 1);
	}
	/* Of the device's node only isolated ones are ours. */
	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "1\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/online", "0-1\n");
	write_list(fixture, "/sys/devices/system/node/node1/cpulist", "%d,4000\n",
		   fixture->cpus[0]);
	if (fixture->count > 1) {
		assert_chosen(fixture, (unsigned[]){ 0 }, 1);
	}
	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "-1\n");
	tree_write(&fixture->tree, "/sys/devices/system/cpu/isolated", "0-4000\n");
	assert_chosen(fixture, NULL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_given_cpu_is_taken_alone_if_it_is_ours),
		TEST(on_one_node_any_cpu_will_do),
		TEST(on_several_nodes_all_cpus_of_the_device_are_chosen),
		TEST(isolated_cpus_are_left_alone_unless_we_have_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
