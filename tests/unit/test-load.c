// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/load.h"

static struct workload workload_of(uint64_t small_weight, uint64_t large_weight)
{
	return (struct workload){
		.workload = { .load = { .model = LOAD_OPEN },
			      .op_count = 2,
			      .ops = { { .kind = OPERATION_WRITE,
					 .weight = small_weight,
					 .size_count = 1,
					 .sizes = { { .size_bytes = 1000, .weight = 1 } } },
				       { .kind = OPERATION_READ,
					 .weight = large_weight,
					 .size_count = 2,
					 .sizes = { { .size_bytes = 2000, .weight = 1 },
						    { .size_bytes = 6000, .weight = 1 } } } } },
	};
}

static void a_closed_load_has_no_rate(void **state)
{
	struct workload workload = workload_of(1, 1);

	(void)state;
	workload.workload.load.model = LOAD_CLOSED;
	workload.workload.load.ops_rate = 5;
	assert_false(load_is_open(&workload));
	assert_true(load_ops_per_s(&workload) == 0);
	assert_true(load_payload_bps(&workload) == 0);
}

static void operations_and_payload_follow_from_each_other(void **state)
{
	struct workload workload = workload_of(3, 1);

	(void)state;
	/* 3 x 1000 and 1 x 4000 on average: 1750 bytes. */
	workload.workload.load.ops_rate = 1000;
	assert_true(load_ops_per_s(&workload) == 1000);
	assert_true(load_payload_bps(&workload) == 14e6);
	workload.workload.load.ops_rate = 0;
	workload.workload.load.rate_bps = 28000000;
	assert_true(load_ops_per_s(&workload) == 2000);
	assert_true(load_payload_bps(&workload) == 28e6);
}

static void no_payload_has_no_bit_rate(void **state)
{
	struct workload workload = workload_of(1, 1);

	(void)state;
	workload.workload.op_count = 1;
	workload.workload.ops[0].sizes[0].size_bytes = 0;
	workload.workload.load.rate_bps = 1000;
	assert_true(load_ops_per_s(&workload) == 0);
	workload.workload.load.ops_rate = 7;
	assert_true(load_ops_per_s(&workload) == 7);
	assert_true(load_payload_bps(&workload) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_closed_load_has_no_rate),
		cmocka_unit_test(operations_and_payload_follow_from_each_other),
		cmocka_unit_test(no_payload_has_no_bit_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
