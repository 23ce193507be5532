// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "host/sandbox.h"
#include "unit/tree.h"

#define STATUS                                  \
	"Name:\tx\nUid:\t1000\t998\t998\t998\n" \
	"CapEff:\t0000000000004000\nNoNewPrivs:\t1\nSeccomp:\t2\n"

static void user_capabilities_and_filters_are_read(void **state)
{
	struct tree *tree = *state;
	struct sandbox sandbox;
	bool has = false;

	tree_write(tree, "/proc/self/status", STATUS);
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_int_equal(sandbox.user_id, 998);
	assert_int_equal(sandbox.capabilities, 1 << CAP_IPC_LOCK);
	assert_int_equal(sandbox.seccomp, 2);
	assert_false(sandbox.is_in_user_namespace);
	assert_false(sandbox.is_in_pid_namespace);
	assert_false(sandbox.is_dev_private);
	assert_string_equal(sandbox.container, "");
	tree_write(tree, "/proc/7/status", STATUS);
	assert_int_equal(sandbox_has_capability(tree->root, "7", CAP_IPC_LOCK, &has), 0);
	assert_true(has);
	assert_int_equal(sandbox_has_capability(tree->root, "7", CAP_NET_ADMIN, &has), 0);
	assert_false(has);
}

static void without_a_status_nothing_is_said(void **state)
{
	struct tree *tree = *state;
	struct sandbox sandbox;
	bool has;

	assert_int_equal(sandbox_read(tree->root, &sandbox), -ENOENT);
	assert_int_equal(sandbox_has_capability(tree->root, "7", 1, &has), -ENOENT);
	tree_write(tree, "/proc/7/status", "Name:\tx\n");
	assert_int_equal(sandbox_has_capability(tree->root, "7", 1, &has), -EINVAL);
	tree_write(tree, "/proc/self/status", "Name:\tx\n");
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_int_equal(sandbox.user_id, UINT32_MAX);
	assert_int_equal(sandbox.seccomp, -1);
}

static void namespaces_other_than_the_first_are_told(void **state)
{
	struct tree *tree = *state;
	struct sandbox sandbox;

	tree_write(tree, "/proc/self/status", STATUS);
	tree_link(tree, "/proc/self/ns/user", "user:[4026531837]");
	tree_link(tree, "/proc/self/ns/pid", "pid:[4026532178]");
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_false(sandbox.is_in_user_namespace);
	assert_true(sandbox.is_in_pid_namespace);
}

static void the_last_mount_on_dev_decides_whose_it_is(void **state)
{
	static const struct {
		const char *mounts;
		bool is_private;
	} rows[] = {
		{ "24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw\n", false },
		{ "24 27 0:6 / /dev rw - devtmpfs udev rw\n30 24 0:9 / /dev rw,nosuid master:1 - tmpfs tmpfs rw\n",
		  true },
		{ "24 27 0:6 / /dev/shm rw - tmpfs tmpfs rw\n", false },
		{ "24 27 0:6 / / rw - ext4 /dev rw\n", false },
		{ "24 27 0:6 / /dev rw", false },
		{ "", false },
	};
	struct tree *tree = *state;
	struct sandbox sandbox;

	tree_write(tree, "/proc/self/status", STATUS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_write(tree, "/proc/self/mountinfo", rows[i].mounts);
		assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
		assert_int_equal(sandbox.is_dev_private, rows[i].is_private);
	}
}

static void the_maker_of_a_container_is_named(void **state)
{
	struct tree *tree = *state;
	struct sandbox sandbox;

	tree_write(tree, "/proc/self/status", STATUS);
	tree_write(tree, "/run/.containerenv", "");
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_string_equal(sandbox.container, "podman");
	tree_write(tree, "/.dockerenv", "");
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_string_equal(sandbox.container, "docker");
	tree_write(tree, "/run/systemd/container", "systemd-nspawn\n");
	assert_int_equal(sandbox_read(tree->root, &sandbox), 0);
	assert_string_equal(sandbox.container, "systemd-nspawn");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(user_capabilities_and_filters_are_read),
		TEST(without_a_status_nothing_is_said),
		TEST(namespaces_other_than_the_first_are_told),
		TEST(the_last_mount_on_dev_decides_whose_it_is),
		TEST(the_maker_of_a_container_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
