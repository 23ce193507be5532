// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "host/process.h"
#include "unit/tree.h"

static void the_soft_limit_is_told(void **state)
{
	struct process_memlock memlock;
	struct rlimit old;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	struct rlimit lower = { .rlim_cur = 65536, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &lower), 0);
	process_memlock("", &memlock);
	assert_int_equal(memlock.limit_bytes, 65536);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
}

static void pinned_memory_and_the_capability_are_read_from_the_status(void **state)
{
	struct process_memlock memlock;
	struct tree tree;

	tree_init(&tree);
	tree_write(
		&tree, "/proc/self/status",
		"Name:\tx\nVmLck:\t 7 kB\nVmPin:\t     128 kB\nCapInh:\t0000000000000000\nCapEff:\t0000000000004000\n");
	process_memlock(tree.root, &memlock);
	assert_int_equal(memlock.pinned_bytes, 128 * 1024);
	assert_true(memlock.is_exempt);
	tree_link(&tree, "/proc/self/ns/user", "user:[4026532178]");
	process_memlock(tree.root, &memlock);
	assert_false(memlock.is_exempt);
	tree_remove(&tree, "/proc/self/ns/user");
	tree_write(&tree, "/proc/self/status", "Name:\tVmPin: 3\nCapEff:\tffffffffffffbfff\n");
	process_memlock(tree.root, &memlock);
	assert_int_equal(memlock.pinned_bytes, 0);
	assert_false(memlock.is_exempt);
	tree_remove(&tree, "/proc/self/status");
	process_memlock(tree.root, &memlock);
	assert_int_equal(memlock.pinned_bytes, 0);
	assert_false(memlock.is_exempt);
	tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_soft_limit_is_told),
		cmocka_unit_test(pinned_memory_and_the_capability_are_read_from_the_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
