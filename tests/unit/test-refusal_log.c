// SPDX-License-Identifier: MIT
#include "refusal_log.h"

#include <errno.h>

#include "unit/log-capture.h"

#define SECOND_NS 1000000000ull
#define START_NS (500 * SECOND_NS)

static void wrong_key(struct session_listener_status *status, unsigned count)
{
	status->refused[SESSION_REFUSED_KEY] += count;
	status->last_failure = ERROR_INIT;
	error_set(&status->last_failure, -EKEYREJECTED, ERROR_PEER,
		  "10.0.0.9:4711: holds another fleet key; copy the same daemon.key_file");
}

static void too_often(struct session_listener_status *status, unsigned count)
{
	status->refused[SESSION_REFUSED_RATE] += count;
	status->last_unheard = ERROR_INIT;
	error_set(&status->last_unheard, -EAGAIN, ERROR_PEER, "10.0.0.8:5: connects too often");
}

static void a_refusal_is_told_with_its_address_and_cure(void **state)
{
	struct session_listener_status status = { 0 };
	struct refusal_log *log = refusal_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	refusal_log_tell(log, &status, START_NS);
	wrong_key(&status, 1);
	refusal_log_tell(log, &status, START_NS);
	refusal_log_tell(log, &status, START_NS + 100 * SECOND_NS);
	assert_int_equal(log_capture_end(&capture), 1);
	assert_string_equal(
		capture.lines,
		"warning: 1 connection to the control port did not get in; the last: "
		"10.0.0.9:4711: holds another fleet key; copy the same daemon.key_file\n");
	refusal_log_free(log);
}

static void a_flood_is_one_line_a_minute_with_its_count(void **state)
{
	struct session_listener_status status = { 0 };
	struct refusal_log *log = refusal_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	for (unsigned i = 0; i < 181; i++) {
		too_often(&status, 1000);
		refusal_log_tell(log, &status, START_NS + i * SECOND_NS);
	}
	assert_int_equal(log_capture_end(&capture), 4);
	assert_non_null(strstr(capture.lines, "warning: 1000 connections to the control port"));
	assert_non_null(strstr(capture.lines, "warning: 60000 connections to the control port"));
	assert_non_null(strstr(capture.lines, "10.0.0.8:5: connects too often"));
	refusal_log_free(log);
}

static void a_wrong_key_is_not_hidden_by_a_flood(void **state)
{
	struct session_listener_status status = { 0 };
	struct refusal_log *log = refusal_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	too_often(&status, 1000);
	refusal_log_tell(log, &status, START_NS);
	wrong_key(&status, 1);
	too_often(&status, 1000);
	refusal_log_tell(log, &status, START_NS + 60 * SECOND_NS);
	assert_int_equal(log_capture_end(&capture), 2);
	assert_non_null(strstr(capture.lines, "1001 connections"));
	assert_non_null(strstr(capture.lines, "holds another fleet key"));
	refusal_log_free(log);
}

static void who_only_looks_whether_the_port_is_open_is_no_line(void **state)
{
	struct session_listener_status status = { 0 };
	struct refusal_log *log = refusal_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	status.refused[SESSION_REFUSED_CLOSED] = 500;
	refusal_log_tell(log, &status, START_NS);
	assert_int_equal(log_capture_end(&capture), 0);
	refusal_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_is_told_with_its_address_and_cure),
		cmocka_unit_test(a_flood_is_one_line_a_minute_with_its_count),
		cmocka_unit_test(a_wrong_key_is_not_hidden_by_a_flood),
		cmocka_unit_test(who_only_looks_whether_the_port_is_open_is_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
