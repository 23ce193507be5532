// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model/failure.h"
#include "model/operation.h"
#include "util/text.h"

static struct failure example(void)
{
	struct failure failure = FAILURE_INIT;

	error_set(&failure.error, -EIO, ERROR_DEVICE, "a write to node b failed");
	failure.error.stage = STAGE_RUN;
	failure.error.kind = ERROR_KIND_WC_STATUS;
	failure.error.number = 12;
	text_copy(failure.error.call, sizeof(failure.error.call), "ibv_poll_cq");
	text_copy(failure.node, sizeof(failure.node), "a");
	text_copy(failure.device, sizeof(failure.device), "rxe0");
	failure.qp_num = 0x12;
	failure.vendor_err = 129;
	failure.operation = OPERATION_WRITE;
	failure.size_bytes = 4096;
	failure.completed_bytes = 0;
	failure.at_ns = 3204000000;
	failure.flushed = 127;
	return failure;
}

static void a_failure_comes_back_from_json(void **state)
{
	struct failure failure = example(), read = FAILURE_INIT;
	struct error err = ERROR_INIT;
	json_t *json = failure_write(&failure);
	json_t *again;

	assert_string_equal(json_string_value(json_object_get(json, "status_name")),
			    "IBV_WC_RETRY_EXC_ERR");
	assert_string_equal(json_string_value(json_object_get(json, "class")), "device");
	assert_string_equal(json_string_value(json_object_get(json, "op")), "write");
	assert_int_equal(failure_read(json, &read, &err), 0);
	again = failure_write(&read);
	assert_true(json_equal(json, again));
	assert_int_equal(read.qp_num, 0x12);
	assert_int_equal(read.flushed, 127);
	assert_int_equal(read.size_bytes, 4096);
	assert_int_equal(read.completed_bytes, 0);
	json_decref(json);
	json_decref(again);
}

static void the_reason_of_a_rejection_has_its_name(void **state)
{
	struct failure failure = example(), read = FAILURE_INIT;
	json_t *json;

	failure.error.kind = ERROR_KIND_CM_REJECT;
	failure.error.number = 8;
	json = failure_write(&failure);
	assert_string_equal(json_string_value(json_object_get(json, "kind")), "cm_reject");
	assert_string_equal(json_string_value(json_object_get(json, "status_name")),
			    "IB_CM_REJ_INVALID_SERVICE_ID");
	assert_int_equal(failure_read(json, &read, NULL), 0);
	assert_int_equal(read.error.kind, ERROR_KIND_CM_REJECT);
	assert_int_equal(read.error.number, 8);
	json_decref(json);
}

static void no_failure_is_null_both_ways(void **state)
{
	struct failure failure = FAILURE_INIT, read = example();
	struct error err = ERROR_INIT;
	json_t *json = failure_write(&failure);

	assert_true(json_is_null(json));
	assert_int_equal(failure_read(json, &read, &err), 0);
	assert_false(error_is_set(&read.error));
	assert_int_equal(read.operation, -1);
	json_decref(json);
}

static void a_failure_without_operation_or_call_keeps_them_out(void **state)
{
	struct failure failure = FAILURE_INIT, read = example();
	struct error err = ERROR_INIT;
	json_t *json;

	error_set(&failure.error, -EINVAL, ERROR_PEER, "gone");
	json = failure_write(&failure);
	assert_true(json_is_null(json_object_get(json, "op")));
	assert_true(json_is_null(json_object_get(json, "call")));
	assert_true(json_is_null(json_object_get(json, "status_name")));
	assert_true(json_is_null(json_object_get(json, "size_bytes")));
	assert_int_equal(failure_read(json, &read, &err), 0);
	assert_int_equal(read.operation, -1);
	assert_true(read.size_bytes == FAILURE_UNKNOWN && read.completed_bytes == FAILURE_UNKNOWN);
	assert_string_equal(read.error.call, "");
	json_decref(json);
}

static void refuse_with(const char *key, json_t *value)
{
	struct failure failure = example(), read = FAILURE_INIT;
	struct error err = ERROR_INIT;
	json_t *json = failure_write(&failure);

	if (value) {
		json_object_set_new(json, key, value);
	} else {
		json_object_del(json, key);
	}
	assert_true(failure_read(json, &read, &err) < 0);
	assert_non_null(strstr(err.text, key));
	assert_false(error_is_set(&read.error));
	json_decref(json);
}

static void a_hostile_failure_is_refused_with_the_key(void **state)
{
	struct failure read = FAILURE_INIT;
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	refuse_with("class", json_string("fabric"));
	refuse_with("class", json_string("none"));
	refuse_with("class", json_null());
	refuse_with("stage", json_string("RUN"));
	refuse_with("kind", json_integer(1));
	refuse_with("number", json_integer(INT64_MAX));
	refuse_with("number", json_string("12"));
	refuse_with("text", NULL);
	refuse_with("qp_num", json_integer(-1));
	refuse_with("qp_num", json_integer(1ll << 40));
	refuse_with("op", json_string("writes"));
	refuse_with("at_ns", json_real(1.5));
	assert_true(failure_read(list, &read, &err) < 0);
	json_decref(list);
	err = ERROR_INIT;
	assert_true(failure_read(NULL, &read, &err) < 0);
}

static void statuses_have_the_names_of_the_specification(void **state)
{
	assert_string_equal(failure_wc_status_name(0), "IBV_WC_SUCCESS");
	assert_string_equal(failure_wc_status_name(5), "IBV_WC_WR_FLUSH_ERR");
	assert_string_equal(failure_wc_status_name(10), "IBV_WC_REM_ACCESS_ERR");
	assert_string_equal(failure_wc_status_name(12), "IBV_WC_RETRY_EXC_ERR");
	assert_string_equal(failure_wc_status_name(13), "IBV_WC_RNR_RETRY_EXC_ERR");
	assert_string_equal(failure_wc_status_name(23), "IBV_WC_TM_RNDV_INCOMPLETE");
	assert_string_equal(failure_wc_status_name(24), "unknown");
	assert_string_equal(failure_wc_status_name(-1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_comes_back_from_json),
		cmocka_unit_test(the_reason_of_a_rejection_has_its_name),
		cmocka_unit_test(no_failure_is_null_both_ways),
		cmocka_unit_test(a_failure_without_operation_or_call_keeps_them_out),
		cmocka_unit_test(a_hostile_failure_is_refused_with_the_key),
		cmocka_unit_test(statuses_have_the_names_of_the_specification),
	};

	return cmocka_run_group_tests_name("failure", tests, NULL, NULL);
}
