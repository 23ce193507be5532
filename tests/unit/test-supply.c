// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "host/cgroup.h"
#include "host/supply.h"
#include "unit/tree.h"

static void what_is_not_there_is_unknown_and_not_zero(void **state)
{
	struct tree *tree = *state;
	struct supply supply;
	struct supply_cpu cpu;

	supply_read(tree->root, NULL, 0, &supply);
	assert_true(supply.mono_ns > 0);
	assert_true(supply.throttled_periods == UINT64_MAX);
	assert_true(supply.throttled_ns == UINT64_MAX);
	assert_true(supply.stolen_ns == UINT64_MAX);
	assert_true(supply.cpu_pressure_ns == UINT64_MAX);
	assert_true(supply.memory_pressure_ns == UINT64_MAX);
	supply_cpu(tree->root, 0, &cpu);
	assert_true(cpu.frequency_hz == UINT64_MAX);
	assert_true(cpu.max_frequency_hz == UINT64_MAX);
	assert_true(cpu.numa_node == UINT64_MAX);
}

static void all_groups_around_us_may_throttle(void **state)
{
	struct tree *tree = *state;
	struct supply supply;

	tree_write(tree, "/proc/self/cgroup", "0::/system.slice/rdmatestd.service\n");
	tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	tree_write(tree, "/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/cpu.stat",
		   "usage_usec 9\nnr_periods 9\nnr_throttled 2\nthrottled_usec 500\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/rdmatestd.service/cpu.stat",
		   "usage_usec 9\nnr_periods 30\nnr_throttled 20\nthrottled_usec 1500000\n");
	supply_read(tree->root, NULL, 0, &supply);
	assert_int_equal(supply.throttled_periods, 22);
	assert_int_equal(supply.throttled_ns, 1500500000);
}

static void a_group_that_cannot_be_throttled_was_not(void **state)
{
	struct tree *tree = *state;
	struct cgroup_throttling throttling = { 7, 7 };

	tree_write(tree, "/proc/self/cgroup", "0::/\n");
	tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "cpu\n");
	assert_int_equal(cgroup_throttled(tree->root, &throttling), 0);
	assert_int_equal(throttling.periods, 0);
	assert_int_equal(throttling.duration_ns, 0);
}

static void stolen_time_is_that_of_the_cpus_that_were_asked_for(void **state)
{
	struct tree *tree = *state;
	const int cpus[] = { 1, 12 };
	struct supply supply;

	tree_write(tree, "/proc/stat",
		   "cpu  1 2 3 4 5 6 7 999 0 0\ncpu0 1 2 3 4 5 6 7 100 0 0\n"
		   "cpu1 1 2 3 4 5 6 7 8 0 0\ncpu12 1 2 3 4 5 6 7 30 0 0\nintr 5\n");
	supply_read(tree->root, cpus, 2, &supply);
	assert_int_equal(supply.stolen_ns, 38 * (1000000000 / sysconf(_SC_CLK_TCK)));
	/* A kernel that does not tell it. */
	tree_write(tree, "/proc/stat", "cpu  1 2 3 4\ncpu1 1 2 3 4\ncpu12 1 2 3 4\n");
	supply_read(tree->root, cpus, 2, &supply);
	assert_true(supply.stolen_ns == UINT64_MAX);
	tree_write(tree, "/proc/stat", "cpu3 1 2 3 4 5 6 7 8 0 0\n");
	supply_read(tree->root, cpus, 2, &supply);
	assert_true(supply.stolen_ns == UINT64_MAX);
}

static void pressure_is_some_of_cpu_and_full_of_memory(void **state)
{
	struct tree *tree = *state;
	struct supply supply;

	tree_write(tree, "/proc/pressure/cpu",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	tree_write(tree, "/proc/pressure/memory",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"
		   "full avg10=0.00 avg60=0.00 avg300=0.00 total=56\n");
	supply_read(tree->root, NULL, 0, &supply);
	assert_int_equal(supply.cpu_pressure_ns, 1234000);
	assert_int_equal(supply.memory_pressure_ns, 56000);
	/* One line has it, the one that counts has not. */
	tree_write(tree, "/proc/pressure/memory", "full avg10=0.00\nsome total=77\n");
	supply_read(tree->root, NULL, 0, &supply);
	assert_true(supply.memory_pressure_ns == UINT64_MAX);
}

static void a_cpu_tells_its_frequency_and_its_node(void **state)
{
	struct tree *tree = *state;
	struct supply_cpu cpu;

	tree_write(tree, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1200000\n");
	tree_write(tree, "/sys/devices/system/cpu/cpu3/cpufreq/cpuinfo_max_freq", "3600000\n");
	tree_write(tree, "/sys/devices/system/cpu/cpu3/node1/meminfo", "x\n");
	tree_write(tree, "/sys/devices/system/cpu/cpu3/topology/core_id", "0\n");
	supply_cpu(tree->root, 3, &cpu);
	assert_int_equal(cpu.frequency_hz, 1200000000);
	assert_int_equal(cpu.max_frequency_hz, 3600000000);
	assert_int_equal(cpu.numa_node, 1);
	tree_write(tree, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "<unknown>\n");
	supply_cpu(tree->root, 3, &cpu);
	assert_true(cpu.frequency_hz == UINT64_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(what_is_not_there_is_unknown_and_not_zero),
		TEST(all_groups_around_us_may_throttle),
		TEST(a_group_that_cannot_be_throttled_was_not),
		TEST(stolen_time_is_that_of_the_cpus_that_were_asked_for),
		TEST(pressure_is_some_of_cpu_and_full_of_memory),
		TEST(a_cpu_tells_its_frequency_and_its_node),
	};

	return cmocka_run_group_tests_name("supply", tests, NULL, NULL);
}
