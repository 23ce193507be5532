// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "host/cgroup.h"
#include "unit/tree.h"

static void add_group(struct tree *tree, const char *path)
{
	tree_write(tree, "/proc/self/cgroup", path);
	tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "cpu memory pids rdma\n");
}

static void the_tightest_limit_of_all_groups_counts_and_its_group_is_named(void **state)
{
	struct tree *tree = *state;
	struct cgroup cgroup;

	add_group(tree, "0::/system.slice/rdmatestd.service\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/rdmatestd.service/memory.max",
		   "6442450944\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/memory.max", "209715200\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/rdmatestd.service/cpu.max", "10000 100000\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/cpu.max", "max 100000\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/rdmatestd.service/pids.max", "256\n");
	tree_write(tree, "/sys/fs/cgroup/system.slice/rdma.max",
		   "mlx5_0 hca_handle=max hca_object=max\nmlx5_1 hca_handle=2 hca_object=max\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), 0);
	assert_int_equal(cgroup.memory_bytes, 209715200);
	assert_string_equal(cgroup.memory_group, "/system.slice");
	assert_int_equal(cgroup.cpu_ppm, 100000);
	assert_string_equal(cgroup.cpu_group, "/system.slice/rdmatestd.service");
	assert_int_equal(cgroup.processes, 256);
	assert_string_equal(cgroup.rdma, "mlx5_1 hca_handle=2 hca_object=max");
}

static void the_root_of_a_container_counts_too(void **state)
{
	struct tree *tree = *state;
	struct cgroup cgroup;

	add_group(tree, "0::/\n");
	tree_write(tree, "/sys/fs/cgroup/memory.max", "1000\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), 0);
	assert_int_equal(cgroup.memory_bytes, 1000);
	assert_string_equal(cgroup.memory_group, "/");
	assert_int_equal(cgroup.cpu_ppm, CGROUP_NONE);
	assert_int_equal(cgroup.processes, CGROUP_NONE);
	assert_string_equal(cgroup.rdma, "");
}

static void version_1_and_what_is_absent_are_told_apart(void **state)
{
	struct tree *tree = *state;
	struct cgroup cgroup;

	assert_int_equal(cgroup_read(tree->root, &cgroup), -ENOENT);
	tree_write(tree, "/proc/self/cgroup", "0::/x\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), -ENOENT);
	tree_write(tree, "/proc/self/cgroup", "4:memory:/x\n0::/\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), -EOPNOTSUPP);
	tree_write(tree, "/proc/self/cgroup", "4:cpu,cpuacct:/x\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), -EOPNOTSUPP);
}

static void what_is_no_limit_limits_nothing(void **state)
{
	static const char *const rows[] = {
		"", "max", "max 100000", "-1 100000", "x", "5 0", "99999999999999999999 100000"
	};
	struct tree *tree = *state;
	struct cgroup cgroup;

	add_group(tree, "0::/a/../b\n");
	assert_int_equal(cgroup_read(tree->root, &cgroup), -ENAMETOOLONG);
	add_group(tree, "0::/a\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree, "/sys/fs/cgroup/a/cpu.max", rows[i]);
		tree_write(tree, "/sys/fs/cgroup/a/rdma.max", rows[i]);
		assert_int_equal(cgroup_read(tree->root, &cgroup), 0);
		assert_int_equal(cgroup.cpu_ppm, CGROUP_NONE);
		assert_string_equal(cgroup.rdma, "");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_tightest_limit_of_all_groups_counts_and_its_group_is_named),
		TEST(the_root_of_a_container_counts_too),
		TEST(version_1_and_what_is_absent_are_told_apart),
		TEST(what_is_no_limit_limits_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
