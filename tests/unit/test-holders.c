// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "host/clocksource.h"
#include "host/holders.h"
#include "host/hugepages.h"
#include "unit/tree.h"
#include "util/clock.h"

static void who_holds_a_node_is_found_once_for_each_node(void **state)
{
	struct tree *tree = *state;
	struct holders holders;

	tree_write(tree, "/proc/812/comm", "ib_write_bw\n");
	tree_link(tree, "/proc/812/fd/3", "/dev/infiniband/uverbs0");
	tree_link(tree, "/proc/812/fd/4", "/dev/infiniband/uverbs0");
	tree_link(tree, "/proc/812/fd/5", "/dev/infiniband/rdma_cm");
	tree_link(tree, "/proc/812/fd/6", "socket:[7]");
	tree_write(tree, "/proc/99/comm", "rdmatestd\n");
	tree_link(tree, "/proc/99/fd/3", "/dev/infiniband/uverbs1");
	tree_write(tree, "/proc/100/comm", "rdmatestd\n");
	tree_write(tree, "/proc/cpuinfo", "");
	assert_int_equal(holders_read(tree->root, "5", "rdmatestd", CLOCK_NEVER, &holders), 0);
	assert_int_equal(holders.processes, 3);
	assert_int_equal(holders.refused, 0);
	assert_false(holders.is_cut);
	assert_string_equal(holders.daemon, "99");
	assert_int_equal(holders.count, 3);
	assert_string_equal(holders.items[0].process, "99");
	assert_string_equal(holders.items[0].node, "uverbs1");
	assert_string_equal(holders.items[1].program, "ib_write_bw");
	assert_string_equal(holders.items[1].node, "uverbs0");
	assert_string_equal(holders.items[2].node, "rdma_cm");
}

static void this_process_does_not_see_itself(void **state)
{
	struct tree *tree = *state;
	struct holders holders;

	tree_write(tree, "/proc/99/comm", "rdmatestd\n");
	tree_link(tree, "/proc/99/fd/3", "/dev/infiniband/uverbs1");
	assert_int_equal(holders_read(tree->root, "99", "rdmatestd", CLOCK_NEVER, &holders), 0);
	assert_int_equal(holders.count, 0);
	assert_string_equal(holders.daemon, "");
}

static void no_time_and_too_many_are_said(void **state)
{
	struct tree *tree = *state;
	struct holders holders;
	char path[64];
	char target[64];

	assert_int_equal(holders_read(tree->root, "1", "x", CLOCK_NEVER, &holders), -ENOENT);
	for (unsigned i = 0; i < HOLDERS_MAX + 3; i++) {
		snprintf(path, sizeof(path), "/proc/7/fd/%u", i);
		snprintf(target, sizeof(target), "/dev/infiniband/uverbs%u", i);
		tree_link(tree, path, target);
	}
	assert_int_equal(holders_read(tree->root, "1", "x", CLOCK_NEVER, &holders), 0);
	assert_int_equal(holders.count, HOLDERS_MAX);
	assert_true(holders.is_cut);
	assert_int_equal(holders_read(tree->root, "1", "x", 0, &holders), 0);
	assert_int_equal(holders.count, 0);
	assert_true(holders.is_cut);
}

static void huge_pages_are_counted(void **state)
{
	struct tree *tree = *state;
	struct hugepages pages;

	assert_int_equal(hugepages_read(tree->root, &pages), -ENOENT);
	tree_write(tree, "/proc/meminfo", "MemTotal: 1 kB\nHugePages_Total:      10\n");
	assert_int_equal(hugepages_read(tree->root, &pages), -EINVAL);
	tree_write(
		tree, "/proc/meminfo",
		"HugePages_Total:      10\nHugePages_Free:        4\nHugepagesize:       2048 kB\n");
	assert_int_equal(hugepages_read(tree->root, &pages), 0);
	assert_int_equal(pages.total, 10);
	assert_int_equal(pages.free, 4);
	assert_int_equal(pages.size_bytes, 2 << 20);
}

static void huge_pages_of_a_size_are_counted_and_the_sizes_named(void **state)
{
	struct tree *tree = *state;
	_cleanup_text_ struct text sizes = TEXT_INIT;
	struct hugepages pages;

	hugepages_sizes(tree->root, &sizes);
	assert_string_equal(sizes.data, "none");
	text_reset(&sizes);
	assert_int_equal(hugepages_read_size(tree->root, 2 << 20, &pages), -ENOENT);
	tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "8\n");
	tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "3\n");
	tree_write(tree, "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "x\n");
	assert_int_equal(hugepages_read_size(tree->root, 2 << 20, &pages), 0);
	assert_int_equal(pages.total, 8);
	assert_int_equal(pages.free, 3);
	assert_int_equal(pages.size_bytes, 2 << 20);
	assert_int_equal(hugepages_read_size(tree->root, 1 << 30, &pages), -EINVAL);
	hugepages_sizes(tree->root, &sizes);
	assert_non_null(strstr(sizes.data, "2MiB"));
	assert_non_null(strstr(sizes.data, "1GiB"));
}

static void the_clock_source_is_told_with_what_could_be_chosen(void **state)
{
	struct tree *tree = *state;
	struct clocksource clock;

	assert_int_equal(clocksource_read(tree->root, &clock), -ENOENT);
	tree_write(tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   "hpet\n");
	assert_int_equal(clocksource_read(tree->root, &clock), 0);
	assert_string_equal(clock.current, "hpet");
	assert_false(clock.is_tsc_available);
	tree_write(tree, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
		   "tsc-early hpet acpi_pm \n");
	assert_int_equal(clocksource_read(tree->root, &clock), 0);
	assert_false(clock.is_tsc_available);
	tree_write(tree, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
		   "hpet tsc acpi_pm \n");
	assert_int_equal(clocksource_read(tree->root, &clock), 0);
	assert_true(clock.is_tsc_available);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_holds_a_node_is_found_once_for_each_node),
		TEST(this_process_does_not_see_itself),
		TEST(no_time_and_too_many_are_said),
		TEST(huge_pages_are_counted),
		TEST(huge_pages_of_a_size_are_counted_and_the_sizes_named),
		TEST(the_clock_source_is_told_with_what_could_be_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
