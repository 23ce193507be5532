// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "host/rlimits.h"
#include "unit/tree.h"

#define HEADING "Limit                     Soft Limit           Hard Limit           Units     \n"

static void soft_and_hard_limits_are_read_and_unlimited_is_none(void **state)
{
	struct tree *tree = *state;
	struct rlimits limits;

	tree_write(
		tree, "/proc/812/limits",
		HEADING
		"Max open files            1024                 524288               files     \n"
		"Max locked memory         8388608              unlimited            bytes     \n");
	assert_int_equal(rlimits_read(tree->root, "812", &limits), 0);
	assert_int_equal(limits.locked_bytes.soft, 8388608);
	assert_int_equal(limits.locked_bytes.hard, RLIMITS_NONE);
	assert_int_equal(limits.open_files.soft, 1024);
	assert_int_equal(limits.open_files.hard, 524288);
	assert_int_equal(rlimits_read(tree->root, "813", &limits), -ENOENT);
}

static void another_form_is_refused_whole(void **state)
{
	static const char *const rows[] = {
		"",
		HEADING,
		HEADING
		"Max locked memory         8388608              unlimited            bytes\n",
		HEADING "Max locked memory\nMax open files\n",
		HEADING "Max locked memory  -1 7 bytes\nMax open files  1 2\n",
		HEADING "Max locked memory  1\nMax open files  1 2\n",
	};
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rlimits limits = { .locked_bytes = { 1, 2 } };

		tree_write(tree, "/proc/self/limits", rows[i]);
		assert_int_equal(rlimits_read(tree->root, "self", &limits), -EINVAL);
		assert_int_equal(limits.locked_bytes.hard, 2);
	}
}

static void the_kernel_tells_what_getrlimit_tells(void **state)
{
	struct rlimits limits;
	struct rlimit expected;

	(void)state;
	assert_int_equal(rlimits_read("", "self", &limits), 0);
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &expected), 0);
	assert_int_equal(limits.locked_bytes.soft,
			 expected.rlim_cur == RLIM_INFINITY ? RLIMITS_NONE : expected.rlim_cur);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &expected), 0);
	assert_int_equal(limits.open_files.hard,
			 expected.rlim_max == RLIM_INFINITY ? RLIMITS_NONE : expected.rlim_max);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(soft_and_hard_limits_are_read_and_unlimited_is_none),
		TEST(another_form_is_refused_whole),
		TEST(the_kernel_tells_what_getrlimit_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
