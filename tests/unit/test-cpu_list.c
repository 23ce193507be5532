// SPDX-License-Identifier: MIT
#include "util/cpu_list.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"

static void sum_up(void *arg, unsigned number)
{
	unsigned *sum = arg;

	*sum = *sum * 100 + number;
}

static unsigned sum_of(const char *list)
{
	unsigned sum = 0;

	cpu_list_each(list, sum_up, &sum);
	return sum;
}

static void a_list_of_the_kernel_is_read_as_far_as_it_goes(void **state)
{
	(void)state;
	assert_int_equal(sum_of(""), 0);
	assert_int_equal(sum_of("1-3,8"), 1020308);
	assert_int_equal(sum_of("7,"), 7);
	assert_int_equal(sum_of("7-,9"), 0);
	assert_int_equal(sum_of("5-4,6"), 6);
	assert_int_equal(sum_of("3,4096,70000-80000"), 3);
	assert_int_equal(sum_of("2\n"), 2);
}

static void what_somebody_wrote_is_read_and_written_the_same(void **state)
{
	static const char *const lists[] = { "0", "0-3,8", "1,3,5-7", "4090-4095" };
	int cpus[CPU_LIST_MAX];
	struct error err = ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		_cleanup_text_ struct text text = TEXT_INIT;
		int count = cpu_list_read(lists[i], cpus, &err);

		assert_true(count > 0);
		cpu_list_write(cpus, (unsigned)count, &text);
		assert_string_equal(text.data, lists[i]);
	}
	assert_int_equal(cpu_list_read("0-4095", cpus, &err), CPU_LIST_MAX);
	assert_int_equal(cpus[CPU_LIST_MAX - 1], CPU_LIST_MAX - 1);
}

static void what_is_no_list_gets_a_sentence(void **state)
{
	static const struct {
		const char *list;
		const char *part;
	} wrong[] = {
		{ "", "not a list" },
		{ " 1", "not a list" },
		{ "1,", "not a list" },
		{ "1 ,2", "not a list" },
		{ "-1", "not a list" },
		{ "1-", "not a list" },
		{ "0x1", "not a list" },
		{ "1,,2", "not a list" },
		{ "4096", "4095" },
		{ "0-99999999999999999999", "4095" },
		{ "3-1", "does not ascend" },
		{ "1,1", "does not ascend" },
		{ "0-3,2", "does not ascend" },
	};
	int cpus[CPU_LIST_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(cpu_list_read(wrong[i].list, cpus, &err), -EINVAL);
		assert_int_equal(err.class, ERROR_INPUT);
		assert_non_null(strstr(err.text, wrong[i].part));
		assert_non_null(strstr(err.text, wrong[i].list));
	}
}

static void many_ranges_are_cut(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int cpus[40];

	(void)state;
	for (int i = 0; i < 40; i++) {
		cpus[i] = 2 * i;
	}
	cpu_list_write(cpus, 40, &text);
	assert_string_equal(text.data, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_of_the_kernel_is_read_as_far_as_it_goes),
		cmocka_unit_test(what_somebody_wrote_is_read_and_written_the_same),
		cmocka_unit_test(what_is_no_list_gets_a_sentence),
		cmocka_unit_test(many_ranges_are_cut),
	};

	return cmocka_run_group_tests_name("cpu_list", tests, NULL, NULL);
}
