// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/connections.h"
#include "model/expectation.h"
#include "util/text.h"

static struct expectation accept(const char *text)
{
	struct expectation expectation = { 0 };
	const char *reason = expectation_parse(text, &expectation);

	if (reason) {
		fail_msg("\"%s\" %s", text, reason);
	}
	return expectation;
}

static void a_latency_percentile_is_read(void **state)
{
	struct expectation e = accept("write.latency.p99.9 <= 400us");

	assert_int_equal(e.kind, OPERATION_WRITE);
	assert_int_equal(e.metric, METRIC_LATENCY);
	assert_int_equal(e.statistic, STATISTIC_PERCENTILE);
	assert_int_equal(e.percentile_ppm, 999000);
	assert_int_equal(e.compare, COMPARE_LE);
	assert_true(e.limit == 400000.0);
	assert_false(e.is_of_link_rate);
	assert_string_equal(e.text, "write.latency.p99.9 <= 400us");
	assert_int_equal(accept("latency.p50 < 1ms").percentile_ppm, 500000);
	assert_int_equal(accept("latency.p99.9999 < 1ms").percentile_ppm, 999999);
	assert_int_equal(accept("latency.p0.1 < 1ms").percentile_ppm, 1000);
}

static void every_metric_has_its_unit(void **state)
{
	assert_true(accept("bandwidth.mean >= 90Gbps").limit == 90e9);
	assert_true(accept("ops_rate.min > 200k/s").limit == 200e3);
	assert_true(accept("errors == 0").limit == 0);
	assert_true(accept("errors != 3").limit == 3);
	assert_int_equal(accept("errors == 0").kind, -1);
	assert_int_equal(accept("errors == 0").phase, -1);
	assert_int_equal(accept("resolve_addr.latency.p99 <= 1ms").phase, CONNECTION_RESOLVE_ADDR);
	assert_int_equal(accept("latency.p99 <= 1ms").phase, -1);
	assert_int_equal(accept("send.bandwidth.mean > 1Mbps").kind, OPERATION_SEND);
	assert_int_equal(accept("read.latency.max < 2s").statistic, STATISTIC_MAX);
	assert_int_equal(accept("latency.mean < 2s").statistic, STATISTIC_MEAN);
	assert_int_equal(accept("bandwidth.max < 2Gbps").statistic, STATISTIC_MAX);
	assert_int_equal(accept("write.service_latency.p99 <= 2us").metric, METRIC_SERVICE_LATENCY);
	assert_true(accept("service_latency.p99 <= 2us").limit == 2000);
	assert_true(accept("lost_ops.ratio <= 0.1%").limit == 0.001);
	assert_int_equal(accept("lost_ops.ratio <= 0.1%").statistic, STATISTIC_RATIO);
	assert_true(accept("lost_ops == 0").limit == 0);
	assert_int_equal(accept("verify_errors == 0").metric, METRIC_VERIFY_ERRORS);
	assert_int_equal(accept("verify_errors.reordered <= 5").statistic, STATISTIC_REORDERED);
	assert_true(accept("late_ops.ratio <= 0.1%").limit == 0.001);
	assert_int_equal(accept("late_ops.ratio <= 0.1%").statistic, STATISTIC_RATIO);
	assert_true(accept("dropped_ops == 0").limit == 0);
}

static void a_share_of_the_link_rate_is_a_fraction(void **state)
{
	struct expectation e = accept("bandwidth.mean >= 90% of link_rate");

	assert_true(e.is_of_link_rate);
	assert_true(e.limit > 0.8999 && e.limit < 0.9001);
	assert_true(accept("bandwidth.min>=0.5 of link_rate").limit == 0.5);
}

static void white_space_is_collapsed(void **state)
{
	assert_string_equal(accept("  errors\t ==   0 ").text, "errors == 0");
	assert_string_equal(accept("errors==0").text, "errors==0");
	assert_true(accept("latency.p99<=5ms").limit == 5e6);
}

static void wrong_expressions_are_refused_with_what_to_write(void **state)
{
	static const struct {
		const char *text;
		const char *part;
	} wrong[] = {
		{ "", "no comparison" },
		{ "latency.p99", "no comparison" },
		{ "latency.p99 = 5ms", "unknown comparison" },
		{ "latency.p99 => 5ms", "unknown comparison" },
		{ "latency.p99 !5ms", "unknown comparison" },
		{ "<= 5ms", "nothing before" },
		{ "latency.p99 <=", "no value" },
		{ "latency.p99 <= 5", "unit" },
		{ "latency.p99 <= 5 apples", "unit" },
		{ "latency.p99 <= 5 of link_rate", "something else than bandwidth" },
		{ "latency <= 5ms", "no such statistic" },
		{ "latency.p <= 5ms", "no such statistic" },
		{ "latency.p99x <= 5ms", "no such statistic" },
		{ "latency.stddev <= 5ms", "no such statistic" },
		{ "latency.p0 <= 5ms", "latency.min" },
		{ "latency.p100 <= 5ms", "latency.max" },
		{ "latency.p99999999999999999999 <= 5ms", "no such statistic" },
		{ "latency.p99.99999 <= 5ms", "4 decimals" },
		{ "latency.p99 == 5ms", "equality" },
		{ "bandwidth.mean != 5Gbps", "equality" },
		{ "bandwidth >= 5Gbps", "no such statistic" },
		{ "bandwidth.p99 >= 5Gbps", "no such statistic" },
		{ "bandwidth.mean >= 5GB", "bit rate" },
		{ "bandwidth.mean >= 90% of baseline", "baseline" },
		{ "bandwidth.mean >= 90% of line", "of link_rate" },
		{ "bandwidth.mean >= ninety of link_rate", "share" },
		{ "write.bandwidth.min >= 5Gbps", "all operations together" },
		{ "write.ops_rate.max >= 5/s", "all operations together" },
		{ "write.errors == 0", "all operations together" },
		{ "errors.mean == 0", "has none" },
		{ "errors == 0.5", "whole number" },
		{ "errors == -1", "whole number" },
		{ "write <= 5ms", "no metric" },
		{ "atomic_fetch_and_sub.latency.p99 <= 5ms", "unknown metric" },
		{ "loss.ratio <= 1%", "not in this version" },
		{ "write.response_latency.p99 <= 1ms", "called latency here" },
		{ "lost_ops.mean <= 1%", "lost_ops.ratio" },
		{ "lost_ops <= 1%", "needs a whole number" },
		{ "send.lost_ops == 0", "leave it out" },
		{ "verify_errors.late == 0", "verify_errors.corrupted" },
		{ "send.verify_errors == 0", "leave it out" },
		{ "verify_errors <= 1%", "needs a whole number" },
		{ "late_ops <= 1%", "late_ops.ratio" },
		{ "late_ops.mean <= 1%", "late_ops.ratio" },
		{ "late_ops.ratio <= 5ms", "needs a share" },
		{ "write.late_ops.ratio <= 1%", "leave it out" },
		{ "dropped_ops.max == 0", "has none" },
		{ "read.dropped_ops == 0", "leave it out" },
		{ "dropped_ops == 1%", "whole number" },
		{ "service_latency.p99 <= 5", "needs a duration" },
		{ "counter.symbol_error.delta == 0", "not in this version" },
		{ "speed.mean >= 1Gbps", "unknown metric" },
		{ "write.read.latency.p99 <= 5ms", "unknown metric" },
	};
	char huge[400];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct expectation expectation = { .limit = 77 };
		const char *reason = expectation_parse(wrong[i].text, &expectation);

		if (!reason || !strstr(reason, wrong[i].part)) {
			fail_msg("\"%s\" %s (expected \"%s\")", wrong[i].text,
				 reason ? reason : "was accepted", wrong[i].part);
		}
		assert_true(expectation.limit == 77);
	}
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_non_null(expectation_parse(huge, &(struct expectation){ 0 }));
}

static void comparisons_are_written_as_they_are_read(void **state)
{
	assert_string_equal(expectation_compare_name(COMPARE_LE), "<=");
	assert_string_equal(expectation_compare_name(COMPARE_NE), "!=");
	assert_string_equal(expectation_compare_name(99), "?");
	assert_string_equal(expectation_compare_name(-1), "?");
}

/* --- the list --- */

static const struct schema_field fields[] = {
	{ .key = "expect",
	  .type = SCHEMA_CUSTOM,
	  .size = sizeof(struct expectations),
	  .parse = expectation_parse_list,
	  .write = expectation_write_list,
	  .read = expectation_read_list,
	  .doc = "Expectations." },
	{ 0 },
};

static unsigned parse(const char *yaml, struct expectations *list, struct text *out)
{
	struct problems problems;
	struct schema_context context = { "dir/e.yaml", &problems };
	struct document *document;
	unsigned errors;

	problems_init(&problems);
	document = document_read("dir/e.yaml", yaml, strlen(yaml), &problems);
	if (document) {
		schema_parse(fields, document->root, "", list, fields, &context);
	}
	document_free(document);
	text_reset(out);
	problems_print(&problems, 50, out);
	errors = problems.errors;
	problems_done(&problems);
	return errors;
}

static void items_are_strings_or_maps_and_know_their_line(void **state)
{
	struct expectations list;
	struct text out = TEXT_INIT;

	assert_int_equal(
		parse("expect:\n  - errors == 0\n  - {expr: \"latency.p99 <= 5ms\", severity: warn}\n",
		      &list, &out),
		0);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].severity, SEVERITY_FAIL);
	assert_int_equal(list.items[1].severity, SEVERITY_WARN);
	assert_string_equal(list.items[1].source, "dir/e.yaml:3");
	text_done(&out);
}

static void all_wrong_items_are_told_with_their_place(void **state)
{
	struct expectations list;
	struct text out = TEXT_INIT;

	assert_int_equal(
		parse("expect:\n  - errors = 0\n  - latency.p99 <= 5\n  - {expr: errors == 0, window: 5m}\n"
		      "  - {severity: warn}\n  - [a]\n  - {expr: errors == 0, severity: bad}\n",
		      &list, &out),
		6);
	assert_non_null(strstr(out.data, "dir/e.yaml:2:5: error: expect[0]: \"errors = 0\""));
	assert_non_null(strstr(out.data, "expect[1]"));
	assert_non_null(strstr(out.data, "expect[2].window"));
	assert_non_null(strstr(out.data, "expect[4]"));
	assert_true(parse("expect: errors == 0\n", &list, &out) == 1);
	assert_non_null(strstr(out.data, "must be a list"));
	text_done(&out);
}

static void more_than_the_limit_are_refused(void **state)
{
	struct expectations list;
	struct text yaml = TEXT_INIT, out = TEXT_INIT;

	text_add(&yaml, "expect:\n");
	for (int i = 0; i <= LIMIT_EXPECTATIONS; i++) {
		text_add(&yaml, "  - errors == 0\n");
	}
	assert_int_equal(parse(yaml.data, &list, &out), 1);
	assert_non_null(strstr(out.data, "33 items"));
	text_done(&yaml);
	text_done(&out);
}

static void a_list_comes_back_from_json_and_a_hostile_one_does_not(void **state)
{
	struct expectations list, read;
	struct text out = TEXT_INIT;
	struct error err = ERROR_INIT;
	json_t *json;

	parse("expect: [errors == 0, {expr: bandwidth.mean >= 90% of link_rate, severity: warn}]\n",
	      &list, &out);
	json = schema_write(fields, &list);
	assert_int_equal(schema_read(fields, json, &read, &err), 0);
	assert_int_equal(read.count, 2);
	assert_true(read.items[1].is_of_link_rate);
	assert_int_equal(read.items[1].severity, SEVERITY_WARN);
	json_object_set_new(json_array_get(json_object_get(json, "expect"), 0), "expr",
			    json_string("errors = 0"));
	assert_true(schema_read(fields, json, &read, &err) < 0);
	assert_non_null(strstr(err.text, "errors = 0"));
	err = ERROR_INIT;
	json_object_set_new(json, "expect", json_string("errors == 0"));
	assert_true(schema_read(fields, json, &read, &err) < 0);
	json_decref(json);
	text_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_latency_percentile_is_read),
		cmocka_unit_test(every_metric_has_its_unit),
		cmocka_unit_test(a_share_of_the_link_rate_is_a_fraction),
		cmocka_unit_test(white_space_is_collapsed),
		cmocka_unit_test(wrong_expressions_are_refused_with_what_to_write),
		cmocka_unit_test(comparisons_are_written_as_they_are_read),
		cmocka_unit_test(items_are_strings_or_maps_and_know_their_line),
		cmocka_unit_test(all_wrong_items_are_told_with_their_place),
		cmocka_unit_test(more_than_the_limit_are_refused),
		cmocka_unit_test(a_list_comes_back_from_json_and_a_hostile_one_does_not),
	};

	return cmocka_run_group_tests_name("expectation", tests, NULL, NULL);
}
