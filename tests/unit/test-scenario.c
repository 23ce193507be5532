// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/scenario.h"
#include "util/memory.h"
#include "util/text.h"

static void collect(void *arg, const char *field, const char *other, const char *sentence)
{
	text_format(arg, "%s|%s\n", field, sentence);
}

/* Tables and combinations together; what was wrong is in *out. */
static unsigned read_scenario(const char *yaml, struct scenario *scenario, struct text *out)
{
	struct problems problems;
	struct schema_context context = { "s.yaml", &problems };
	struct document *document;
	unsigned errors;

	problems_init(&problems);
	document = document_read("s.yaml", yaml, strlen(yaml), &problems);
	memset(scenario, 0, sizeof(*scenario));
	text_reset(out);
	text_add(out, "");
	if (document) {
		schema_parse(scenario_fields, document->root, "", scenario, scenario_fields,
			     &context);
	}
	problems_print(&problems, 50, out);
	errors = problems.errors;
	if (errors == 0) {
		errors = scenario_check(scenario, collect, out);
	}
	document_free(document);
	problems_done(&problems);
	return errors;
}

static void expect_problem(const char *yaml, const char *part)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct text out = TEXT_INIT;
	unsigned errors = read_scenario(yaml, scenario, &out);

	if (errors != 1 || !strstr(out.data, part)) {
		fail_msg("%u problems instead of one with \"%s\": %s", errors, part, out.data);
	}
	text_done(&out);
	free(scenario);
}

static void expect_fine(const char *yaml)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct text out = TEXT_INIT;

	if (read_scenario(yaml, scenario, &out) != 0) {
		fail_msg("%s", out.data);
	}
	text_done(&out);
	free(scenario);
}

#define HEAD \
	"name: a\ndisruptive: true\nworkload: {pattern: stream, ops: [{op: write, size: 64KiB}]}\n"

static void the_least_scenario_gets_all_defaults(void **state)
{
	struct scenario *s = memory_new(sizeof(*s));
	struct text out = TEXT_INIT;

	if (read_scenario(HEAD, s, &out)) {
		fail_msg("%s", out.data);
	}
	assert_true(s->is_enabled);
	assert_int_equal(s->topology.type, TOPOLOGY_PAIRS);
	assert_false(s->topology.is_directed);
	assert_int_equal(s->topology.max_pairs, 4096);
	assert_int_equal(s->schedule.on, SCHEDULE_MANUAL);
	assert_int_equal(s->schedule.every_ns, 0);
	assert_true(labels_selector_matches(&s->peers.from, "x", NULL));
	assert_true(labels_selector_matches(&s->peers.to, "x", NULL));
	assert_true(s->workload.run.duration_ns == 10000000000);
	assert_int_equal(s->workload.qp.num_qps, 1);
	assert_int_equal(s->expect.count, 0);
	text_done(&out);
	free(s);
}

static void a_whole_scenario_is_read(void **state)
{
	struct scenario *s = memory_new(sizeof(*s));
	struct text out = TEXT_INIT;

	if (read_scenario(
		    "name: rc-mixed.70-20\ndescription: Mixed, for people\nlabels: {tier: gold}\nenabled: false\ndisruptive: true\n"
		    "peers: {from: \"role=a\", to: [\"role=b\", \"name=c\"]}\n"
		    "topology: {type: pairs, directed: true, max_pairs: 12}\n"
		    "schedule: {on: [startup, manual], every: 15m, jitter: 2m, start_delay: 5s}\n"
		    "qp: {num_qps: 2}\ncq: {size: 4096}\ncpu: {affinity: 3}\n"
		    "workload: {pattern: stream, ops: [{op: write, size: 4KiB}], load: {outstanding: 8}}\n"
		    "run: {iterations: 1000}\nexpect: [write.latency.p99 <= 1ms, errors == 0]\n",
		    s, &out)) {
		fail_msg("%s", out.data);
	}
	assert_string_equal(s->name, "rc-mixed.70-20");
	assert_string_equal(labels_get(&s->labels, "tier"), "gold");
	assert_false(s->is_enabled);
	assert_true(s->is_disruptive);
	assert_int_equal(s->peers.to.count, 2);
	assert_int_equal(s->schedule.on, SCHEDULE_MANUAL | SCHEDULE_STARTUP);
	assert_true(s->schedule.every_ns == 900000000000);
	assert_int_equal(s->workload.cq.size, 4096);
	assert_int_equal(s->workload.cpu.affinity, 3);
	assert_int_equal(s->workload.run.duration_ns, 0);
	assert_int_equal(s->expect.count, 2);
	text_done(&out);
	free(s);
}

static void what_is_required_is_missed(void **state)
{
	expect_problem("name: a\n", "missing required key \"workload\"");
	expect_problem("workload: {pattern: stream, ops: [{op: write, size: 1B}]}\n",
		       "missing required key \"name\"");
	expect_problem("name: a\nworkload: {ops: [{op: write, size: 1B}]}\n",
		       "missing required key \"pattern\"");
	expect_problem("name: a\nworkload: {pattern: stream}\n", "is missing or empty");
	expect_problem("name: a\nworkload: {pattern: stream, ops: []}\n", "is missing or empty");
	expect_problem("name: A b\nworkload: {pattern: stream, ops: [{op: write, size: 1B}]}\n",
		       "is not a name");
}

static void keys_of_later_versions_say_what_to_do_instead(void **state)
{
	static const char *const keys[] = { "extends: [x]",
					    "exclusive: [nic]",
					    "priority: low",
					    "sweep: {}",
					    "baseline: {}",
					    "path_variation: {}",
					    "reports: []",
					    "topology: {count: 4}",
					    "schedule: {continuous: true}",
					    "schedule: {once: true}",
					    "schedule: {missed: skip}" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct text yaml = TEXT_INIT;

		text_format(&yaml, HEAD "%s\n", keys[i]);
		expect_problem(yaml.data, "is not in this version; ");
		text_done(&yaml);
	}
}

static void a_load_that_others_feel_says_so(void **state)
{
	expect_problem(
		"name: a\nworkload: {pattern: stream, ops: [{op: write, size: 8B}], load: {outstanding: 2}}\n",
		"disruptive|must be true: 2 operations under way");
	expect_problem(
		"name: a\ndisruptive: false\nworkload: {pattern: pingpong, ops: [{op: send, size: 64KiB}]}\n",
		"takes 36 % of a port of 100 Gbit/s, above 5 %; write disruptive: true");
	expect_fine("name: a\nworkload: {pattern: pingpong, ops: [{op: send, size: 2KiB}]}\n");
	expect_fine(
		"name: a\ndisruptive: true\nworkload: {pattern: pingpong, ops: [{op: send, size: 8B}]}\n");
}

static void a_misplaced_or_misspelt_key_gets_a_hint(void **state)
{
	expect_problem(HEAD "num_qps: 3\n", "belongs under \"qp\"");
	expect_problem(HEAD "qp: {qp_typ: RC}\n", "did you mean \"qp_type\"?");
}

static void only_pairs_can_be_asked_for(void **state)
{
	expect_problem(HEAD "topology: {type: full_mesh}\n",
		       "topology.type|\"full_mesh\" is not in this version");
	expect_problem(HEAD "topology: {type: meshes}\n", "not one of");
	expect_problem(HEAD "topology: {max_pairs: 4097}\n", "above 4096");
}

static void a_schedule_holds_together(void **state)
{
	expect_problem(HEAD "schedule: {every: 999ms}\nrun: {duration: 100ms, warmup: 0}\n",
		       "below 1s");
	expect_problem(HEAD "schedule: {jitter: 2s}\n", "schedule.every is not given");
	expect_problem(HEAD "schedule: {every: 20s, jitter: 20s}\n",
		       "not below schedule.every 20s");
	expect_problem(HEAD "schedule: {every: 11s}\n", "not above warm-up and duration");
	expect_problem(HEAD "schedule: {start_delay: 1s}\n", "schedule.start_delay");
	expect_problem(HEAD "schedule: {on: []}\n", "nothing would ever start it");
	expect_problem(HEAD "schedule: {on: [manual, reload]}\n", "not one of manual, startup");
}

static void an_expectation_about_an_absent_operation_is_refused(void **state)
{
	expect_problem(HEAD "expect: [errors == 0, read.latency.p99 <= 1ms]\n", "expect[1]|");
}

static void problems_of_the_workload_are_among_them(void **state)
{
	expect_problem(HEAD "qp: {path_mtu: 1500B}\n", "qp.path_mtu|");
}

static void a_scenario_comes_back_from_json(void **state)
{
	struct scenario *s = memory_new(2 * sizeof(*s)), *read = s + 1;
	struct text out = TEXT_INIT;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	read_scenario(
		HEAD
		"schedule: {on: [startup]}\npeers: {from: \"a=1,b!=2\"}\nexpect: [errors == 0]\nlabels: {x: y}\n",
		s, &out);
	json = schema_write(scenario_fields, s);
	assert_int_equal(schema_read(scenario_fields, json, read, &err), 0);
	again = schema_write(scenario_fields, read);
	assert_true(json_equal(json, again));
	json_decref(json);
	json_decref(again);
	text_done(&out);
	free(s);
}

/* The page of the reference cannot lack a word about a key. */
static void expect_documented(const struct schema_field *fields, const char *place)
{
	for (; fields->key; fields++) {
		char here[256];

		snprintf(here, sizeof(here), "%s.%s", place, fields->key);
		if (!fields->doc || strlen(fields->doc) < 8 || strchr(fields->doc, '\n')) {
			fail_msg("%s has no line of documentation", here);
		}
		if (fields->fields) {
			expect_documented(fields->fields, here);
		}
	}
}

static void every_key_is_documented(void **state)
{
	expect_documented(scenario_fields, "scenario");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_scenario_gets_all_defaults),
		cmocka_unit_test(a_whole_scenario_is_read),
		cmocka_unit_test(what_is_required_is_missed),
		cmocka_unit_test(keys_of_later_versions_say_what_to_do_instead),
		cmocka_unit_test(a_load_that_others_feel_says_so),
		cmocka_unit_test(a_misplaced_or_misspelt_key_gets_a_hint),
		cmocka_unit_test(only_pairs_can_be_asked_for),
		cmocka_unit_test(a_schedule_holds_together),
		cmocka_unit_test(an_expectation_about_an_absent_operation_is_refused),
		cmocka_unit_test(problems_of_the_workload_are_among_them),
		cmocka_unit_test(a_scenario_comes_back_from_json),
		cmocka_unit_test(every_key_is_documented),
	};

	return cmocka_run_group_tests_name("scenario", tests, NULL, NULL);
}
