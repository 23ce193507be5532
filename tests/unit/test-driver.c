// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judge/driver.h"

enum { LOC_QP_OP = 2, LOC_PROT = 4, FLUSH = 5, REM_ACCESS = 10, RETRY_EXC = 12, FATAL = 19 };

static const char *const drivers[] = { "rdma_rxe", "mlx5_core", "ice", "", "of tomorrow" };
#define EACH_DRIVER(i) for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)

static void retries_that_are_used_up_are_silence_for_every_driver(void **state)
{
	EACH_DRIVER(i)
	{
		assert_true(driver_may_mean(drivers[i], RETRY_EXC, DRIVER_SILENCE));
		assert_true(driver_may_mean(drivers[i], RETRY_EXC, DRIVER_PORT_DOWN));
		assert_false(driver_may_mean(drivers[i], RETRY_EXC, DRIVER_DEVICE_GONE));
		assert_false(driver_may_mean(drivers[i], RETRY_EXC, DRIVER_FLUSH));
	}
}

static void a_refusal_of_the_other_end_is_none_of_it(void **state)
{
	static const enum driver_meaning meanings[] = { DRIVER_SILENCE, DRIVER_PORT_DOWN,
							DRIVER_NO_WAY, DRIVER_DEVICE_GONE,
							DRIVER_FLUSH };

	EACH_DRIVER(i)
	{
		for (size_t j = 0; j < sizeof(meanings) / sizeof(meanings[0]); j++) {
			assert_false(driver_may_mean(drivers[i], REM_ACCESS, meanings[j]));
			assert_false(driver_may_mean(drivers[i], LOC_PROT, meanings[j]));
			assert_false(driver_may_mean(drivers[i], 0, meanings[j]));
			assert_false(driver_may_mean(drivers[i], -1, meanings[j]));
			assert_false(driver_may_mean(drivers[i], 1000, meanings[j]));
		}
	}
}

static void a_local_operation_error_is_a_port_that_is_down_on_soft_roce_only(void **state)
{
	assert_true(driver_may_mean("rdma_rxe", LOC_QP_OP, DRIVER_PORT_DOWN));
	assert_true(driver_may_mean("rdma_rxe", LOC_QP_OP, DRIVER_NO_WAY));
	assert_true(driver_may_mean("rdma_rxe", LOC_QP_OP, DRIVER_DEVICE_GONE));
	assert_false(driver_may_mean("mlx5_core", LOC_QP_OP, DRIVER_DEVICE_GONE));
	assert_false(driver_may_mean("rdma_rxe", LOC_QP_OP, DRIVER_SILENCE));
	assert_false(driver_may_mean("mlx5_core", LOC_QP_OP, DRIVER_PORT_DOWN));
	assert_false(driver_may_mean("", LOC_QP_OP, DRIVER_PORT_DOWN));
}

static void a_flush_may_be_a_removed_device_where_drivers_flush_then(void **state)
{
	EACH_DRIVER(i)
	{
		assert_true(driver_may_mean(drivers[i], FLUSH, DRIVER_FLUSH));
		assert_int_equal(driver_may_mean(drivers[i], FLUSH, DRIVER_DEVICE_GONE), i > 0);
		assert_int_equal(driver_may_mean(drivers[i], FATAL, DRIVER_DEVICE_GONE), i > 0);
	}
}

/* Its table of flush codes does not know each that the device has. */
static void irdma_tells_as_fatal_what_it_has_no_status_for(void **state)
{
	static const char *const irdma[] = { "ice", "i40e" };

	for (size_t i = 0; i < 2; i++) {
		assert_true(driver_may_mean(irdma[i], FATAL, DRIVER_SILENCE));
		assert_true(driver_may_mean(irdma[i], FATAL, DRIVER_UNTOLD));
		assert_true(driver_may_mean(irdma[i], FATAL, DRIVER_DEVICE_GONE));
		assert_false(driver_may_mean(irdma[i], RETRY_EXC, DRIVER_UNTOLD));
	}
	assert_false(driver_may_mean("mlx5_core", FATAL, DRIVER_SILENCE));
	assert_false(driver_may_mean("", FATAL, DRIVER_SILENCE));
}

static void only_soft_roce_is_known_to_resend_without_loss(void **state)
{
	EACH_DRIVER(i)
	{
		assert_int_equal(driver_resends_without_loss(drivers[i]), i == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retries_that_are_used_up_are_silence_for_every_driver),
		cmocka_unit_test(a_refusal_of_the_other_end_is_none_of_it),
		cmocka_unit_test(a_local_operation_error_is_a_port_that_is_down_on_soft_roce_only),
		cmocka_unit_test(a_flush_may_be_a_removed_device_where_drivers_flush_then),
		cmocka_unit_test(irdma_tells_as_fatal_what_it_has_no_status_for),
		cmocka_unit_test(only_soft_roce_is_known_to_resend_without_loss),
	};

	return cmocka_run_group_tests_name("driver", tests, NULL, NULL);
}
