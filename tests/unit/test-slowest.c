// SPDX-License-Identifier: MIT
#include "model/slowest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/random.h"

static void note(struct slowest *slowest, uint64_t latency_ns, uint64_t end_ns)
{
	if (latency_ns > slowest->floor_ns) {
		slowest_add(slowest, &(struct slow_operation){ .latency_ns = latency_ns,
							       .end_ns = end_ns,
							       .qp_index = end_ns % 3,
							       .qp_num = 17 + end_ns % 3,
							       .class_index = 1 });
	}
}

static void the_slowest_of_many_are_kept_in_order(void **state)
{
	struct slowest slowest = { 0 };
	struct prng prng;
	uint64_t above = 0;
	uint64_t seen[20000];

	(void)state;
	prng_init(&prng, 5);
	for (uint64_t i = 0; i < 20000; i++) {
		seen[i] = 1 + prng_below(&prng, 1000000);
		note(&slowest, seen[i], i);
	}
	slowest_sort(&slowest);
	assert_int_equal(slowest.count, SLOWEST_MAX);
	for (size_t i = 0; i < SLOWEST_MAX; i++) {
		assert_int_equal(seen[slowest.items[i].end_ns], slowest.items[i].latency_ns);
		assert_true(i == 0 ||
			    slowest.items[i].latency_ns <= slowest.items[i - 1].latency_ns);
	}
	for (size_t i = 0; i < 20000; i++) {
		above += seen[i] > slowest.items[SLOWEST_MAX - 1].latency_ns;
	}
	assert_true(above < SLOWEST_MAX);
}

static void of_equals_the_first_stay(void **state)
{
	struct slowest slowest = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 40; i++) {
		note(&slowest, 100, i);
	}
	note(&slowest, 200, 40);
	slowest_sort(&slowest);
	assert_int_equal(slowest.items[0].latency_ns, 200);
	for (uint64_t i = 1; i < SLOWEST_MAX; i++) {
		assert_int_equal(slowest.items[i].end_ns, i - 1);
	}
}

static void few_are_all_there(void **state)
{
	struct slowest slowest = { 0 };

	(void)state;
	note(&slowest, 5, 1);
	note(&slowest, 7, 2);
	assert_int_equal(slowest.floor_ns, 0);
	slowest_sort(&slowest);
	assert_int_equal(slowest.count, 2);
	assert_int_equal(slowest.items[0].end_ns, 2);
}

static void what_is_written_is_read_the_same(void **state)
{
	struct slowest slowest = { 0 };
	struct slowest back;
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *json = NULL;

	(void)state;
	for (uint64_t i = 0; i < SLOWEST_MAX; i++) {
		note(&slowest, 100 + i, i);
	}
	json = slowest_write(&slowest);
	assert_int_equal(slowest_read(json, &back, &err), 0);
	assert_int_equal(back.count, SLOWEST_MAX);
	assert_memory_equal(back.items, slowest.items, sizeof(back.items));
	assert_int_equal(slowest_read(NULL, &back, &err), 0);
	assert_int_equal(back.count, 0);
}

static void what_is_none_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{}",
		"[1]",
		"[[1,2,3,4]]",
		"[[1,2,3,4,5,6]]",
		"[[1,2,-3,4,5]]",
		"[[1,2,3,4,\"5\"]]",
		"[[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],"
		"[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],"
		"[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1]]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = ERROR_INIT;
		struct slowest back;
		_cleanup_json_ json_t *json = json_loads(wrong[i], 0, NULL);

		assert_non_null(json);
		assert_int_equal(slowest_read(json, &back, &err), -EINVAL);
		assert_non_null(strstr(err.text, "slowest"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowest_of_many_are_kept_in_order),
		cmocka_unit_test(of_equals_the_first_stay),
		cmocka_unit_test(few_are_all_there),
		cmocka_unit_test(what_is_written_is_read_the_same),
		cmocka_unit_test(what_is_none_is_refused),
	};

	return cmocka_run_group_tests_name("slowest", tests, NULL, NULL);
}
