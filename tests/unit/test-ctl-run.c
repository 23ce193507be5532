// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "canned-daemon.h"

static void each_verdict_has_its_exit_status(void **state)
{
	static const struct {
		const char *record;
		int status;
	} cases[] = {
		{ RECORD("pass"), 0 },	   { RECORD("fail"), 1 },
		{ RECORD("error"), 3 },	   { RECORD("inconclusive"), 4 },
		{ RECORD("degraded"), 5 }, { RECORD("unsupported"), 6 },
		{ RECORD("odd"), 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct canned canned[] = {
			ACCEPTED,
			{ PROGRESS("done"), TRICK_NONE, false },
			{ "GET /v1/runs/" ID, 200, NULL, cases[i].record, TRICK_NONE, false },
			{ 0 },
		};
		struct fixture *fixture;

		setup((void **)&fixture);
		start_daemon(fixture, canned);
		assert_int_equal(RUN(fixture, "run", "smoke"), cases[i].status);
		assert_contains(fixture->out, "smoke");
		assert_string_equal(fixture->requests.data,
				    "POST /v1/scenarios/smoke/runs\n"
				    "GET /v1/runs/" ID "/progress?wait=200ms\n"
				    "GET /v1/runs/" ID "?intervals=false\n");
		teardown((void **)&fixture);
	}
}

static void a_degraded_run_can_be_accepted(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("degraded"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke", "--accept", "degraded"), 0);
	assert_contains(fixture->out, "DEGRADED  smoke");
}

static void without_a_terminal_phases_are_lines_and_nothing_is_coloured(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_NONE, true },
		{ MEASURING, TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 0);
	assert_contains(fixture->out, "smoke  node1/rxe0 -> node2/rxe1  measuring\nPASS  smoke");
	assert_null(strchr(fixture->out, '\033'));
	assert_string_equal(fixture->err, "");
}

static void waiting_for_other_runs_is_said_once_and_only_if_it_lasts(void **state)
{
	static const struct canned brief[] = {
		ACCEPTED,
		{ PROGRESS("queued"), TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	static const struct canned lasting[] = {
		ACCEPTED,
		{ PROGRESS("queued"), TRICK_NONE, true },
		{ PROGRESS("queued"), TRICK_NONE, true },
		{ PROGRESS("queued"), TRICK_NONE, true },
		{ MEASURING, TRICK_NONE, true },
		{ MEASURING, TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, brief);
	assert_int_equal(RUN(fixture, "run", "smoke"), 0);
	assert_true(text_starts_with(fixture->out, "PASS  smoke"));
	unlink(fixture->socket_path);
	memset(fixture->is_used, 0, sizeof(fixture->is_used));
	start_daemon(fixture, lasting);
	assert_int_equal(RUN(fixture, "run", "smoke"), 0);
	assert_true(text_starts_with(
		fixture->out,
		"smoke  waits for other runs\nsmoke  node1/rxe0 -> node2/rxe1  measuring\nPASS"));
}

static void a_terminal_gets_one_line_redrawn_and_colours(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("fail"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(run_on_terminal(fixture, (const char *const[]){ "run", "smoke", NULL }),
			 1);
	assert_contains(fixture->out, "\r\033[Ksmoke  node1/rxe0 -> node2/rxe1  measuring\r\033[K");
	assert_contains(fixture->out, "\r\033[K\033[31mFAIL\033[0m  \033[1msmoke");
}

static void a_terminal_can_do_without_colours(void **state)
{
	static const struct canned canned[] = {
		{ "GET /v1/runs/01K3V9Q7W0", 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(run_on_terminal(fixture, (const char *const[]){ "results", "01K3V9Q7W0",
									 "--no-color", NULL }),
			 0);
	assert_contains(fixture->out, "PASS  smoke");
	assert_null(strchr(fixture->out, 27));
}

static void for_programs_stdout_holds_the_record_alone(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("fail"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke", "--json"), 1);
	assert_string_equal(fixture->out, RECORD("fail") "\n");
	assert_string_equal(fixture->err, "");
}

static void for_programs_one_question_waits_for_the_end(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ PROGRESS("done"), TRICK_HOLD, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	/* The time that the daemon was asked to hold the answer back is none in which it is late.
	 */
	assert_int_equal(RUN(fixture, "run", "smoke", "--json", "--timeout=3s"), 0);
	assert_string_equal(fixture->requests.data, "POST /v1/scenarios/smoke/runs\n"
						    "GET /v1/runs/" ID "/progress?wait=50000ms\n"
						    "GET /v1/runs/" ID "\n");
}

static void lines_need_no_question_while_a_pair_measures(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ "GET /v1/runs/" ID "/progress", 200, NULL,
		  "{\"state\": \"running\", \"progress\": {\"active\": [{\"initiator\": \"a\", \"phase\":"
		  " \"measuring\", \"progress\": {\"elapsed_ns\": 2000000000, \"total_ns\":"
		  " 9000000000}}]}}",
		  TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 0);
	assert_string_equal(fixture->requests.data, "POST /v1/scenarios/smoke/runs\n"
						    "GET /v1/runs/" ID "/progress?wait=200ms\n"
						    "GET /v1/runs/" ID "/progress?wait=7000ms\n"
						    "GET /v1/runs/" ID "?intervals=false\n");
}

static void a_terminal_is_redrawn_twice_a_second(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_NONE, true },
		{ MEASURING, TRICK_NONE, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(run_on_terminal(fixture, (const char *const[]){ "run", "smoke", NULL }),
			 0);
	assert_string_equal(fixture->requests.data, "POST /v1/scenarios/smoke/runs\n"
						    "GET /v1/runs/" ID "/progress?wait=200ms\n"
						    "GET /v1/runs/" ID "/progress?wait=500ms\n"
						    "GET /v1/runs/" ID "/progress?wait=500ms\n"
						    "GET /v1/runs/" ID "?intervals=false\n");
}

static void a_run_can_be_left_alone_at_once(void **state)
{
	static const struct canned canned[] = { ACCEPTED, { 0 } };
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke", "--no-wait"), 0);
	assert_contains(fixture->out, "rdmatestctl results 01K3V9Q7W0");
	assert_string_equal(fixture->requests.data, "POST /v1/scenarios/smoke/runs\n");
}

static void waiting_ends_after_the_time_given(void **state)
{
	static const struct canned canned[] = { ACCEPTED, { MEASURING, TRICK_NONE, false }, { 0 } };
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke", "--wait=300ms"), 4);
	/* No longer than that is asked for, and the last question comes when it is over. */
	assert_contains(fixture->requests.data, "/progress?wait=200ms\n");
	assert_contains(fixture->requests.data, "/progress\n");
	assert_null(strstr(fixture->requests.data, "000ms"));
	assert_contains(fixture->err, "still goes on");
	assert_contains(fixture->err, "rdmatestctl results 01K3V9Q7W0");
}

static void an_unknown_scenario_is_met_with_those_that_there_are(void **state)
{
	static const struct canned canned[] = {
		{ "POST /v1/scenarios/smkoe/runs", 404, NULL, "{\"title\": \"Not Found\"}",
		  TRICK_NONE, false },
		{ "GET /v1/scenarios", 200, NULL,
		  "{\"scenarios\": [{\"name\": \"mixed\"}, {\"name\": \"smoke\"}, {}]}", TRICK_NONE,
		  false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smkoe"), 2);
	assert_string_equal(
		fixture->err,
		"rdmatestctl: unknown scenario \"smkoe\"; did you mean smoke? This daemon has "
		"mixed, smoke\n");
	assert_string_equal(fixture->out, "");
}

static void a_name_that_is_none_is_not_sent(void **state)
{
	static const struct canned canned[] = {
		{ "GET /v1/scenarios", 200, NULL, "{\"scenarios\": []}", TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "../../v1/reload"), 2);
	assert_contains(fixture->err, "its configuration names no scenario");
	assert_string_equal(fixture->requests.data, "GET /v1/scenarios\n");
}

static void what_the_daemon_refuses_is_said_in_its_words(void **state)
{
	static const struct canned canned[] = {
		{ "POST /v1/scenarios/smoke/runs", 429, NULL,
		  "{\"title\": \"Too Many Requests\", \"detail\": \"64 runs wait already\"}",
		  TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 3);
	assert_string_equal(fixture->err, "rdmatestctl: 64 runs wait already\n");
}

/* --- Ctrl-C --- */

static void the_first_interrupt_cancels_and_still_shows_the_record(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_INTERRUPT, true },
		{ PROGRESS("done"), TRICK_NONE, false },
		{ "POST /v1/runs/" ID "/cancel", 202, NULL, "{\"id\": \"" ID "\"}", TRICK_NONE,
		  false },
		{ "GET /v1/runs/" ID, 200, NULL, RECORD("inconclusive"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 130);
	assert_contains(fixture->err, "cancelling run 01K3V9Q7W0");
	assert_contains(fixture->requests.data, "POST /v1/runs/" ID "/cancel\n");
	assert_contains(fixture->out, "INCONCLUSIVE  smoke");
}

static void the_second_interrupt_leaves_at_once(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED,
		{ MEASURING, TRICK_INTERRUPT, true },
		{ MEASURING, TRICK_INTERRUPT, true },
		{ MEASURING, TRICK_HANG, false },
		{ "POST /v1/runs/" ID "/cancel", 202, NULL, "{\"id\": \"" ID "\"}", TRICK_NONE,
		  false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 130);
	assert_null(strstr(fixture->requests.data, "GET /v1/runs/" ID "?intervals"));
}

/* --- a daemon that goes away --- */

static void a_daemon_that_dies_during_a_run_is_missed_once(void **state)
{
	static const struct canned canned[] = {
		ACCEPTED, { MEASURING, TRICK_NONE, true }, { MEASURING, TRICK_CLOSE, false }, { 0 }
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 3);
	assert_string_equal(fixture->err,
			    "rdmatestctl: run " ID ": rdmatestd went away before it had "
			    "answered; `systemctl status rdmatestd` tells how it is\n");
}

static void a_daemon_that_was_restarted_has_lost_the_run(void **state)
{
	static const struct canned canned[] = { ACCEPTED, { MEASURING, TRICK_NONE, true }, { 0 } };
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "run", "smoke"), 3);
	assert_contains(fixture->err, "does not know run " ID " any more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_verdict_has_its_exit_status),
		TEST(a_degraded_run_can_be_accepted),
		TEST(without_a_terminal_phases_are_lines_and_nothing_is_coloured),
		TEST(waiting_for_other_runs_is_said_once_and_only_if_it_lasts),
		TEST(a_terminal_gets_one_line_redrawn_and_colours),
		TEST(a_terminal_can_do_without_colours),
		TEST(for_programs_stdout_holds_the_record_alone),
		TEST(for_programs_one_question_waits_for_the_end),
		TEST(lines_need_no_question_while_a_pair_measures),
		TEST(a_terminal_is_redrawn_twice_a_second),
		TEST(a_run_can_be_left_alone_at_once),
		TEST(waiting_ends_after_the_time_given),
		TEST(an_unknown_scenario_is_met_with_those_that_there_are),
		TEST(a_name_that_is_none_is_not_sent),
		TEST(what_the_daemon_refuses_is_said_in_its_words),
		TEST(the_first_interrupt_cancels_and_still_shows_the_record),
		TEST(the_second_interrupt_leaves_at_once),
		TEST(a_daemon_that_dies_during_a_run_is_missed_once),
		TEST(a_daemon_that_was_restarted_has_lost_the_run),
	};
	int failed;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return failed;
}
