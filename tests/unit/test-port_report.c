// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/inventory.h"
#include "model/port_report.h"
#include "util/text.h"

static void fill(struct port_report *report)
{
	*report = (struct port_report){ 0 };
	port_report_add(report, &(struct port_event){
					.kind = PORT_EVENT_GID_CHANGE, .port_num = 1, .at_ns = 7 });
	port_report_add(report, &(struct port_event){ .kind = PORT_EVENT_PORT_ERR,
						      .port_num = 1,
						      .at_ns = 1200000000 });
	port_report_add(report, &(struct port_event){ .kind = PORT_EVENT_QP_FATAL,
						      .qp_num = 0xabc,
						      .at_ns = 1200000001 });
	report->after = (struct port_after){ .is_known = true,
					     .is_present = true,
					     .state = PORT_STATE_DOWN,
					     .active_mtu_bytes = 1024,
					     .link_rate_bps = 25000000000,
					     .link_width = 1 };
	text_copy(report->after.gid, sizeof(report->after.gid), "::ffff:10.0.0.1");
}

/* Padding is nobody's word: what is written is compared. */
static void assert_same(const struct port_report *a, const struct port_report *b)
{
	json_t *first = port_report_write(a);
	json_t *second = port_report_write(b);

	assert_true(json_equal(first, second));
	json_decref(first);
	json_decref(second);
}

static void a_report_comes_back_from_json(void **state)
{
	struct port_report report, read;
	struct error err = ERROR_INIT;
	json_t *json;

	fill(&report);
	json = port_report_write(&report);
	if (port_report_read(json, &read, &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(read.event_count, 3);
	assert_int_equal(read.events[1].at_ns, 1200000000);
	assert_int_equal(read.events[2].qp_num, 0xabc);
	assert_int_equal(read.after.state, PORT_STATE_DOWN);
	assert_int_equal(read.after.link_rate_bps, 25000000000);
	assert_int_equal(read.after.link_width, 1);
	assert_same(&read, &report);
	json_decref(json);
}

static void a_report_of_nothing_is_empty_and_says_so(void **state)
{
	struct port_report report = { 0 }, read;
	json_t *json = port_report_write(&report);

	assert_int_equal(json_array_size(json_object_get(json, "events")), 0);
	/* Not "down": it was not asked. */
	assert_true(json_is_null(json_object_get(json, "after")));
	fill(&read);
	assert_int_equal(port_report_read(json, &read, NULL), 0);
	assert_same(&read, &report);
	/* A daemon that does not tell any. */
	fill(&read);
	assert_int_equal(port_report_read(NULL, &read, NULL), 0);
	assert_same(&read, &report);
	json_decref(json);
}

static void a_gid_that_is_not_known_is_not_one_that_is_gone(void **state)
{
	struct port_report report, read;
	json_t *json;

	fill(&report);
	report.after.gid[0] = '\0';
	json = port_report_write(&report);
	assert_true(json_is_null(json_object_get(json_object_get(json, "after"), "gid")));
	assert_int_equal(port_report_read(json, &read, NULL), 0);
	assert_string_equal(read.after.gid, "");
	json_decref(json);
	text_copy(report.after.gid, sizeof(report.after.gid), "::");
	json = port_report_write(&report);
	assert_int_equal(port_report_read(json, &read, NULL), 0);
	assert_string_equal(read.after.gid, "::");
	json_decref(json);
}

static void the_first_events_are_kept_and_the_others_counted(void **state)
{
	struct port_report report = { 0 }, read;
	json_t *json;

	for (uint64_t i = 0; i < LIMIT_EVENTS + 5; i++) {
		port_report_add(&report, &(struct port_event){ .kind = PORT_EVENT_PORT_ERR,
							       .port_num = 1,
							       .at_ns = i });
	}
	assert_int_equal(report.event_count, LIMIT_EVENTS);
	assert_int_equal(report.more_events, 5);
	assert_int_equal(report.events[LIMIT_EVENTS - 1].at_ns, LIMIT_EVENTS - 1);
	json = port_report_write(&report);
	assert_int_equal(port_report_read(json, &read, NULL), 0);
	assert_int_equal(read.more_events, 5);
	json_decref(json);
}

static void the_first_of_a_kind_is_found(void **state)
{
	struct port_report report;

	fill(&report);
	assert_int_equal(port_report_find(&report, PORT_EVENT_PORT_ERR)->at_ns, 1200000000);
	assert_null(port_report_find(&report, PORT_EVENT_PORT_ACTIVE));
}

static void every_kind_has_a_word(void **state)
{
	for (int kind = 0; kind < PORT_EVENT_KINDS; kind++) {
		struct port_report report = { 0 }, read;
		json_t *json;

		assert_non_null(port_event_names[kind]);
		port_report_add(&report, &(struct port_event){ .kind = kind });
		json = port_report_write(&report);
		assert_int_equal(port_report_read(json, &read, NULL), 0);
		assert_int_equal(read.events[0].kind, kind);
		json_decref(json);
	}
	assert_null(port_event_names[PORT_EVENT_KINDS]);
}

/* One member of the first event, or else of `after`, is changed: refused, and nothing is set. */
static void refuse_with(const char *where, const char *key, json_t *value, const char *words)
{
	struct port_report report, read = { .more_events = 77 };
	struct error err = ERROR_INIT;
	json_t *json, *object;

	fill(&report);
	json = port_report_write(&report);
	object = strcmp(where, "event") == 0   ? json_array_get(json_object_get(json, "events"), 0)
		 : strcmp(where, "after") == 0 ? json_object_get(json, "after")
					       : json;
	if (value) {
		json_object_set_new(object, key, value);
	} else {
		json_object_del(object, key);
	}
	if (port_report_read(json, &read, &err) == 0) {
		fail_msg("a wrong \"%s\" was accepted", key);
	}
	if (!strstr(err.text, words)) {
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	}
	assert_int_equal(read.more_events, 77);
	json_decref(json);
}

static void hostile_reports_are_refused_with_the_place(void **state)
{
	json_t *many = json_array();
	struct error err = ERROR_INIT;
	struct port_report read;

	for (int i = 0; i <= LIMIT_EVENTS; i++) {
		json_array_append_new(many, json_object());
	}
	refuse_with("whole", "events", many, "at most 16");
	refuse_with("whole", "events", NULL, "events");
	refuse_with("whole", "events", json_pack("[i]", 1), "events[0]");
	refuse_with("whole", "more_events", json_integer(-1), "more_events");
	refuse_with("whole", "after", json_integer(1), "after");
	refuse_with("event", "kind", json_string("port_up"), "port_up");
	refuse_with("event", "kind", NULL, "events[0]");
	refuse_with("event", "port_num", json_integer(256), "port_num");
	refuse_with("event", "qp_num", json_integer(1ll << 32), "qp_num");
	refuse_with("event", "at_ns", json_integer(-1), "at_ns");
	refuse_with("event", "at_ns", json_string("1"), "at_ns");
	refuse_with("after", "is_present", json_integer(1), "is_present");
	refuse_with("after", "state", json_string("up"), "up");
	refuse_with("after", "active_mtu_bytes", json_integer(-1), "active_mtu_bytes");
	refuse_with("after", "link_rate_bps", json_integer(-1), "link_rate_bps");
	refuse_with("after", "link_width", json_integer(256), "link_width");
	refuse_with("after", "gid", json_string("10.0.0.1; rm"), "not an IPv6 address");
	refuse_with("after", "gid",
		    json_string("0123456789012345678901234567890123456789012345678"), "gid");
	json_t *number = json_integer(1);
	assert_true(port_report_read(number, &read, &err) < 0);
	json_decref(number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_comes_back_from_json),
		cmocka_unit_test(a_report_of_nothing_is_empty_and_says_so),
		cmocka_unit_test(a_gid_that_is_not_known_is_not_one_that_is_gone),
		cmocka_unit_test(the_first_events_are_kept_and_the_others_counted),
		cmocka_unit_test(the_first_of_a_kind_is_found),
		cmocka_unit_test(every_kind_has_a_word),
		cmocka_unit_test(hostile_reports_are_refused_with_the_place),
	};

	return cmocka_run_group_tests_name("port_report", tests, NULL, NULL);
}
