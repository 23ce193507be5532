// SPDX-License-Identifier: MIT
#include "device_log.h"

#include <errno.h>

#include "unit/log-capture.h"

static void a_failing_scan_is_told_once_for_every_reason(void **state)
{
	struct device_log *log = device_log_new();
	struct log_capture capture;
	struct error well = ERROR_INIT;
	struct error listing = ERROR_INIT;
	struct error opening = ERROR_INIT;

	error_set(&listing, -EACCES, ERROR_DEVICE, "the RDMA devices cannot be listed");
	error_set(&opening, -EBUSY, ERROR_DEVICE, "mlx5_0 cannot be opened");
	log_capture_begin(&capture);
	for (int i = 0; i < 5; i++) {
		device_log_tell(log, &well);
	}
	for (int i = 0; i < 5; i++) {
		device_log_tell(log, &listing);
	}
	for (int i = 0; i < 5; i++) {
		device_log_tell(log, &opening);
	}
	for (int i = 0; i < 5; i++) {
		device_log_tell(log, &well);
	}
	assert_int_equal(log_capture_end(&capture), 3);
	assert_string_equal(capture.lines,
			    "warning: looking for RDMA devices: the RDMA devices cannot be listed\n"
			    "warning: looking for RDMA devices: mlx5_0 cannot be opened\n"
			    "info: all RDMA devices are there and can be asked again\n");
	device_log_free(log);
}

static void a_device_that_hangs_is_told_when_it_does_and_when_it_is_back(void **state)
{
	struct log_capture capture;
	struct hang hang = { .device = "mlx5_0",
			     .call = "ibv_destroy_qp",
			     .since_mono_ns = 1000000000 };

	log_capture_begin(&capture);
	device_log_health(&hang, true, 12000000000);
	device_log_health(&hang, false, 62000000000);
	assert_int_equal(log_capture_end(&capture), 2);
	assert_string_equal(
		capture.lines,
		"error: RDMA device \"mlx5_0\" is sick: ibv_destroy_qp has not returned for 11 s; it gets no job until that "
		"does; see the kernel's log\n"
		"info: RDMA device \"mlx5_0\" is well again: ibv_destroy_qp returned after 61.0 s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failing_scan_is_told_once_for_every_reason),
		cmocka_unit_test(a_device_that_hangs_is_told_when_it_does_and_when_it_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
