// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "host/modules.h"
#include "unit/tree.h"

static void a_module_at_work_is_loaded_or_built_in(void **state)
{
	struct tree *tree = *state;

	tree_write(tree, "/sys/module/ib_core/initstate", "live\n");
	tree_write(tree, "/sys/module/ib_uverbs/parameters/x", "1\n");
	assert_int_equal(modules_state(tree->root, "ib_core"), MODULES_LOADED);
	assert_int_equal(modules_state(tree->root, "ib_uverbs"), MODULES_BUILTIN);
}

static void the_lists_of_the_running_kernel_tell_what_could_be_loaded(void **state)
{
	struct tree *tree = *state;

	tree_write(tree, "/proc/sys/kernel/osrelease", "6.1.0\n");
	assert_int_equal(modules_state(tree->root, "ib_core"), MODULES_UNKNOWN);
	tree_write(tree, "/lib/modules/6.1.0/modules.dep",
		   "kernel/a/ib_core.ko.xz:\nkernel/b/ib_uverbs.ko: kernel/a/ib_core.ko.xz\n"
		   "kernel/c/hns-roce-hw-v2.ko.zst:\nkernel/d/my_rdma_ucm.ko: x/rdma_ucm.ko\n");
	assert_int_equal(modules_state(tree->root, "ib_core"), MODULES_AVAILABLE);
	assert_int_equal(modules_state(tree->root, "ib_uverbs"), MODULES_AVAILABLE);
	assert_int_equal(modules_state(tree->root, "hns_roce_hw_v2"), MODULES_AVAILABLE);
	/* Neither a longer name nor what another depends on. */
	assert_int_equal(modules_state(tree->root, "rdma_ucm"), MODULES_ABSENT);
	assert_int_equal(modules_state(tree->root, "ib"), MODULES_ABSENT);
	tree_write(tree, "/lib/modules/6.1.0/modules.builtin", "kernel/d/rdma_ucm.ko\nrdma_cm.ko");
	assert_int_equal(modules_state(tree->root, "rdma_ucm"), MODULES_BUILTIN);
	assert_int_equal(modules_state(tree->root, "rdma_cm"), MODULES_BUILTIN);
}

static void a_release_that_is_a_path_is_not_followed(void **state)
{
	struct tree *tree = *state;

	tree_write(tree, "/proc/sys/kernel/osrelease", "../../evil\n");
	tree_write(tree, "/evil/modules.dep", "kernel/a/ib_core.ko:\n");
	assert_int_equal(modules_state(tree->root, "ib_core"), MODULES_UNKNOWN);
}

static void what_is_no_list_has_no_module(void **state)
{
	static const char *const lists[] = { "",	  "\n\n\n", ":",	 "ib_core",
					     "ib_core.k", "/",	    "ib_core.ko" };
	struct tree *tree = *state;

	tree_write(tree, "/proc/sys/kernel/osrelease", "6\n");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		tree_write(tree, "/lib/modules/6/modules.dep", lists[i]);
		assert_int_equal(modules_state(tree->root, "ib_core"),
				 strcmp(lists[i], "ib_core.ko") == 0 ? MODULES_AVAILABLE
								     : MODULES_ABSENT);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_module_at_work_is_loaded_or_built_in),
		TEST(the_lists_of_the_running_kernel_tell_what_could_be_loaded),
		TEST(a_release_that_is_a_path_is_not_followed),
		TEST(what_is_no_list_has_no_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
