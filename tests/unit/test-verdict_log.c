// SPDX-License-Identifier: MIT
#include "verdict_log.h"

#include <stdlib.h>

#include "unit/log-capture.h"

#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS (3600 * SECOND_NS)

static struct run *new_run(const char *scenario_name)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	text_copy(scenario->name, sizeof(scenario->name), scenario_name);
	run = run_new(scenario);
	free(scenario);
	text_copy(run->id, sizeof(run->id), "01J8Z3R6AAAAAAAAAAAAAAAAAA");
	run->state = RUN_DONE;
	return run;
}

static void tell(struct verdict_log *log, enum verdict verdict, uint64_t now_mono_ns)
{
	struct run *run = new_run("beat");

	run->verdict = verdict;
	if (verdict == VERDICT_FAIL) {
		struct measurement *measurement = run_add_measurement(run);

		measurement->verdict = verdict;
		finding_add(&measurement->findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN, NULL,
			    "packets do not get through from a to b");
	}
	verdict_log_tell(log, run, now_mono_ns);
	run_free(run);
}

static void expect_line(const struct log_capture *capture, const char *text)
{
	if (strstr(capture->lines, text) == NULL) {
		fail_msg("no \"%s\" in:\n%s", text, capture->lines);
	}
}

static void a_change_is_told_with_how_often_the_old_verdict_came(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	tell(log, VERDICT_PASS, 10 * SECOND_NS);
	tell(log, VERDICT_PASS, 20 * SECOND_NS);
	tell(log, VERDICT_FAIL, 30 * SECOND_NS);
	tell(log, VERDICT_PASS, 40 * SECOND_NS);
	assert_int_equal(log_capture_end(&capture), 3);
	expect_line(&capture, "info: scenario \"beat\": pass; run 01J8Z3R6AAAAAAAAAAAAAAAAAA\n");
	expect_line(
		&capture,
		"warning: scenario \"beat\": fail after 2 runs of pass: RDT-0107 certain: packets do "
		"not get through from a to b; see `rdmatestctl results 01J8Z3R6AAAAAAAAAAAAAAAAAA`\n");
	expect_line(&capture, "info: scenario \"beat\": pass after 1 run of fail; run ");
	verdict_log_free(log);
}

static void C60_a_day_of_failing_heartbeats_is_a_line_an_hour(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;
	uint64_t now_mono_ns = 7 * SECOND_NS;

	log_capture_begin(&capture);
	for (unsigned i = 0; i < 8640; i++) {
		tell(log, VERDICT_FAIL, now_mono_ns);
		now_mono_ns += 10 * SECOND_NS;
	}
	assert_int_equal(log_capture_end(&capture), 24);
	expect_line(&capture, "still fail, 361 runs by now: RDT-0107");
	expect_line(&capture, "still fail, 8281 runs by now: RDT-0107");
	verdict_log_free(log);
}

static void a_day_of_passing_heartbeats_is_one_line(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	for (uint64_t i = 0; i < 8640; i++) {
		tell(log, VERDICT_PASS, (i + 1) * 10 * SECOND_NS);
	}
	assert_int_equal(log_capture_end(&capture), 1);
	verdict_log_free(log);
}

static void to_and_fro_is_told_so_often_an_hour_and_then_counted(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	for (uint64_t i = 0; i < 101; i++) {
		tell(log, i % 2 == 0 ? VERDICT_FAIL : VERDICT_PASS, (i + 1) * 10 * SECOND_NS);
	}
	assert_int_equal(log_capture_end(&capture), VERDICT_LOG_CHANGES);
	/* What it came to in the end is told, also when that is good. */
	log_capture_begin(&capture);
	tell(log, VERDICT_PASS, HOUR_NS + 20 * SECOND_NS);
	assert_int_equal(log_capture_end(&capture), 1);
	expect_line(&capture, "pass, after 91 changes that are not logged; run ");
	verdict_log_free(log);
}

static void the_last_of_many_changes_is_told_when_it_stays(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	for (uint64_t i = 0; i < VERDICT_LOG_CHANGES + 2; i++) {
		tell(log, i % 2 == 0 ? VERDICT_FAIL : VERDICT_PASS, (i + 1) * SECOND_NS);
	}
	assert_int_equal(log_capture_end(&capture), VERDICT_LOG_CHANGES);
	log_capture_begin(&capture);
	tell(log, VERDICT_PASS, 2 * HOUR_NS);
	assert_int_equal(log_capture_end(&capture), 1);
	expect_line(&capture, "still pass, 2 runs by now, after 2 changes that are not logged");
	verdict_log_free(log);
}

static void one_that_cannot_begin_is_told_once_an_hour(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	for (uint64_t i = 0; i < 720; i++) {
		verdict_log_refused(log, "beat", "64 runs wait already", i * 10 * SECOND_NS);
	}
	assert_int_equal(log_capture_end(&capture), 2);
	expect_line(&capture,
		    "scenario \"beat\" was due and could not begin: 64 runs wait already");
	verdict_log_free(log);
}

static void a_scenario_that_is_gone_is_forgotten(void **state)
{
	struct verdict_log *log = verdict_log_new();
	struct config config = { 0 };
	struct log_capture capture;

	log_capture_begin(&capture);
	tell(log, VERDICT_PASS, SECOND_NS);
	verdict_log_configure(log, &config);
	tell(log, VERDICT_PASS, 2 * SECOND_NS);
	assert_int_equal(log_capture_end(&capture), 2);
	verdict_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_told_with_how_often_the_old_verdict_came),
		cmocka_unit_test(C60_a_day_of_failing_heartbeats_is_a_line_an_hour),
		cmocka_unit_test(a_day_of_passing_heartbeats_is_one_line),
		cmocka_unit_test(to_and_fro_is_told_so_often_an_hour_and_then_counted),
		cmocka_unit_test(the_last_of_many_changes_is_told_when_it_stays),
		cmocka_unit_test(one_that_cannot_begin_is_told_once_an_hour),
		cmocka_unit_test(a_scenario_that_is_gone_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
