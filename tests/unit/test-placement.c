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

	tree_done(&fixture->tree);
	free(fixture->assignment);
	free(fixture);
	return 0;
}

static int choose(struct fixture *fixture, unsigned index)
{
	int cpu = -7;

	assert_int_equal(
		placement_choose(fixture->assignment, fixture->tree.root, index, &cpu, NULL), 0);
	return cpu;
}

static void a_given_cpu_is_taken_if_it_is_ours(void **state)
{
	struct fixture *fixture = *state;
	struct error err = ERROR_INIT;
	int cpu = -7;

	fixture->assignment->workload.cpu.affinity = (uint64_t)fixture->cpus[fixture->count - 1];
	assert_int_equal(choose(fixture, 5), fixture->cpus[fixture->count - 1]);
	fixture->assignment->workload.cpu.affinity = 4095;
	assert_int_equal(placement_choose(fixture->assignment, fixture->tree.root, 0, &cpu, &err),
			 -EINVAL);
	assert_int_equal(cpu, -7);
	assert_int_equal(err.class, ERROR_INPUT);
	assert_non_null(strstr(err.text, "cpu.affinity 4095"));
	/* 2^32 + a CPU that there is. */
	fixture->assignment->workload.cpu.affinity = (1ull << 32) + (uint64_t)fixture->cpus[0];
	assert_int_equal(placement_choose(fixture->assignment, fixture->tree.root, 0, &cpu, NULL),
			 -EINVAL);
}

static void without_numa_any_cpu_will_do(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(choose(fixture, 0), -1);
	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "0\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/online", "0\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/node0/cpulist", "0-63\n");
	assert_int_equal(choose(fixture, 0), -1);
}

static void on_several_nodes_jobs_take_turns_on_the_cpus_of_the_device(void **state)
{
	struct fixture *fixture = *state;
	char text[32];

	tree_write(&fixture->tree, "/sys/class/infiniband/left/device/numa_node", "1\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/online", "0-1\n");
	tree_write(&fixture->tree, "/sys/devices/system/node/node1/cpulist", "0-4000\n");
	for (unsigned i = 0; i < 2 * fixture->count; i++) {
		assert_int_equal(choose(fixture, i), fixture->cpus[i % fixture->count]);
	}
	snprintf(text, sizeof(text), "%d\n", fixture->cpus[0]);
	tree_write(&fixture->tree, "/sys/devices/system/node/node1/cpulist", text);
	assert_int_equal(choose(fixture, 3), fixture->cpus[0]);
	/* A node whose CPUs are all forbidden to us. */
	tree_write(&fixture->tree, "/sys/devices/system/node/node1/cpulist", "4000\n");
	assert_int_equal(choose(fixture, 3), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_given_cpu_is_taken_if_it_is_ours),
		TEST(without_numa_any_cpu_will_do),
		TEST(on_several_nodes_jobs_take_turns_on_the_cpus_of_the_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
