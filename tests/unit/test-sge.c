// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "verbs/sge.h"

static void pieces_are_of_one_length_and_the_last_has_what_is_left(void **state)
{
	struct ibv_sge sges[4] = { 0 };

	(void)state;
	assert_int_equal(sge_split(sges, 3, 1000, 100, 7), 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(sges[i].addr, 1000 + i * 33);
		assert_int_equal(sges[i].length, i < 2 ? 33 : 34);
		assert_int_equal(sges[i].lkey, 7);
	}
	assert_int_equal(sges[3].addr, 0);
	assert_int_equal(sge_split(sges, 1, 1000, UINT32_MAX, 7), 1);
	assert_int_equal(sges[0].length, UINT32_MAX);
	assert_int_equal(sge_split(sges, 4, 0, UINT32_MAX, 7), 4);
	assert_int_equal((uint64_t)sges[3].addr + sges[3].length, UINT32_MAX);
}

static void no_piece_is_empty(void **state)
{
	struct ibv_sge sges[32] = { 0 };

	(void)state;
	assert_int_equal(sge_split(sges, 32, 50, 2, 7), 2);
	assert_int_equal(sges[1].addr, 51);
	assert_int_equal(sges[1].length, 1);
	assert_int_equal(sge_split(sges, 32, 60, 0, 7), 0);
	assert_int_equal(sges[0].addr, 60);
	assert_int_equal(sges[0].length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_of_one_length_and_the_last_has_what_is_left),
		cmocka_unit_test(no_piece_is_empty),
	};

	return cmocka_run_group_tests_name("sge", tests, NULL, NULL);
}
