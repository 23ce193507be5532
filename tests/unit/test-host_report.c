// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/host_report.h"

static void fill(struct host_report *report)
{
	host_report_init(report);
	report->is_read = true;
	report->voluntary_switches = 3;
	report->longest_gap_ns = 90000000;
	report->cpu = 7;
	report->span_ns = 2000000000;
	report->throttled_periods = 18;
	report->throttled_ns = 1700000000;
	report->stolen_ns = 0;
	report->pcie_width = 8;
	report->pcie_max_width = 16;
	report->memlock_bytes = HOST_UNLIMITED;
}

static void a_report_comes_back_from_json_and_what_is_unknown_stays_so(void **state)
{
	struct host_report report, read;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	fill(&report);
	json = host_report_write(&report);
	assert_true(json_is_null(json_object_get(json, "frequency_hz")));
	assert_int_equal(json_integer_value(json_object_get(json, "stolen_ns")), 0);
	if (host_report_read(json, &read, &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_true(read.is_read);
	assert_true(read.frequency_hz == HOST_UNKNOWN);
	assert_true(read.memlock_bytes == HOST_UNLIMITED);
	assert_int_equal(read.throttled_ns, 1700000000);
	again = host_report_write(&read);
	assert_true(json_equal(json, again));
	json_decref(json);
	json_decref(again);
}

static void where_nobody_looked_there_is_no_report(void **state)
{
	struct host_report report, read;
	json_t *json;

	host_report_init(&report);
	json = host_report_write(&report);
	assert_true(json_is_null(json));
	fill(&read);
	assert_int_equal(host_report_read(json, &read, NULL), 0);
	assert_false(read.is_read);
	assert_true(read.throttled_ns == HOST_UNKNOWN);
	json_decref(json);
	/* A daemon that does not tell any. */
	fill(&read);
	assert_int_equal(host_report_read(NULL, &read, NULL), 0);
	assert_false(read.is_read);
}

static void refuse_with(const char *key, json_t *value)
{
	struct host_report report, read = { .cpu = 77 };
	struct error err = ERROR_INIT;
	json_t *json;

	fill(&report);
	json = host_report_write(&report);
	assert_non_null(json_object_get(json, key));
	json_object_set_new(json, key, value);
	if (host_report_read(json, &read, &err) == 0) {
		fail_msg("a wrong \"%s\" was accepted", key);
	}
	assert_non_null(strstr(err.text, key));
	assert_int_equal(read.cpu, 77);
	json_decref(json);
}

static void hostile_reports_are_refused_with_the_key(void **state)
{
	struct host_report read;
	struct error err = ERROR_INIT;
	json_t *list = json_array();

	refuse_with("cpu", json_integer(65536));
	refuse_with("cpu", json_string("7"));
	refuse_with("throttled_ns", json_integer(-1));
	refuse_with("span_ns", json_integer(INT64_MAX));
	refuse_with("pcie_width", json_integer(65));
	refuse_with("frequency_hz", json_integer(200000000000));
	refuse_with("stolen_ns", json_real(0.5));
	assert_true(host_report_read(list, &read, &err) < 0);
	assert_non_null(strstr(err.text, "host"));
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_comes_back_from_json_and_what_is_unknown_stays_so),
		cmocka_unit_test(where_nobody_looked_there_is_no_report),
		cmocka_unit_test(hostile_reports_are_refused_with_the_key),
	};

	return cmocka_run_group_tests_name("host_report", tests, NULL, NULL);
}
