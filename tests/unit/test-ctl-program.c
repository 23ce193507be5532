// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "canned-daemon.h"
#include "model/finding.h"

/* --- a daemon in trouble --- */

static void a_daemon_that_is_not_there_is_said_not_to_run(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(RUN(fixture, "status"), 3);
	assert_contains(fixture->err, "rdmatestd is not running: there is no ");
	assert_contains(fixture->err, "systemctl status rdmatestd");
	assert_string_equal(fixture->out, "");
}

static void a_socket_that_nobody_serves_is_said_to_be_one(void **state)
{
	struct fixture *fixture = *state;

	listen_at(fixture);
	close(fixture->listen_fd);
	assert_int_equal(RUN(fixture, "status"), 3);
	assert_contains(fixture->err, "rdmatestd is not running: nobody listens at ");
}

/* Root may open any socket: asks as nobody, in a child. */
static void a_socket_without_permission_names_the_group(void **state)
{
	struct fixture *fixture = *state;
	int status;
	pid_t child;

	if (geteuid() != 0) {
		print_message(
			"skipped: only root can make a socket that another user may not open\n");
		skip();
	}
	listen_at(fixture);
	assert_int_equal(chmod(fixture->directory, 0755), 0);
	assert_int_equal(chmod(fixture->socket_path, 0660), 0);
	child = fork();
	if (child == 0) {
		struct error err = ERROR_INIT;
		struct client_reply reply = CLIENT_REPLY_INIT;
		struct client *client = client_new(fixture->socket_path, 1000000000, &err);

		if (setgid(65534) != 0 || setuid(65534) != 0) {
			_exit(2);
		}
		_exit(client_request(client, "GET", "/v1/status", &reply, &err) == -EACCES &&
				      strstr(err.text, "group rdmatest-admin") != NULL
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(fixture->listen_fd);
}

static void a_daemon_that_does_not_answer_is_given_up(void **state)
{
	static const struct canned canned[] = { { "GET /v1/peers", 0, NULL, "", TRICK_HANG, false },
						{ 0 } };
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "peers", "--timeout=200ms"), 3);
	assert_contains(fixture->err, "did not answer");
	assert_contains(fixture->err, "within 200 ms");
}

static void answers_that_are_none_are_refused(void **state)
{
	static const struct {
		struct canned canned[2];
		const char *sentence;
	} cases[] = {
		{ { { "GET /v1/peers", 200, NULL, "{\"peers\": [}", TRICK_NONE, false } },
		  "is this its socket?" },
		{ { { "GET /v1/peers", 200, NULL, "[]", TRICK_NONE, false } },
		  "is this its socket?" },
		{ { { "GET /v1/peers", 200, NULL, "", TRICK_NONE, false } },
		  "is this its socket?" },
		{ { { "GET /v1/peers", 200, NULL, "{}", TRICK_CUT, false } }, "went away" },
		{ { { "GET /v1/peers", 200, NULL, "{}", TRICK_GARBAGE, false } },
		  "no answer from" },
		{ { { "GET /v1/peers", 200, NULL, "{}", TRICK_FLOOD, false } },
		  "longer than 64 MiB" },
		{ { { "GET /v1/peers", 500, NULL, "{}", TRICK_NONE, false } }, "HTTP status 500" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *fixture;

		setup((void **)&fixture);
		start_daemon(fixture, cases[i].canned);
		assert_int_equal(RUN(fixture, "peers"), 3);
		assert_contains(fixture->err, cases[i].sentence);
		assert_string_equal(fixture->out, "");
		teardown((void **)&fixture);
	}
}

/* --- the other commands --- */

static void results_are_asked_for_with_their_filters(void **state)
{
	static const struct canned canned[] = {
		{ "GET /v1/runs?limit=5&scenario=a%20b&verdict=fail", 200, NULL, "{\"runs\": []}",
		  TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "results", "--verdict=fail", "--scenario=a b", "--limit=5"),
			 0);
	assert_contains(fixture->out, "no such results");
}

static void one_result_is_shown_by_the_beginning_of_its_id(void **state)
{
	static const struct canned canned[] = {
		{ "GET /v1/runs/01K3V9Q7W0", 200, NULL, RECORD("pass"), TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "results", "01k3v9q7w0"), 0);
	assert_contains(fixture->out, "PASS  smoke");
}

static void a_configuration_that_is_refused_is_told_whole(void **state)
{
	static const struct canned canned[] = {
		{ "POST /v1/reload", 422, NULL,
		  "{\"title\": \"Unprocessable Content\", \"errors\": [\"a.yaml:1:2: error: one\","
		  " \"a.yaml:3:4: error: two\"], \"warnings\": [\"a.yaml:9:1: warning: three\"]}",
		  TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "reload"), 78);
	assert_string_equal(
		fixture->err,
		"a.yaml:9:1: warning: three\na.yaml:1:2: error: one\na.yaml:3:4: error: two\nrdmatestctl: the "
		"new configuration is refused, the old one stays in force\n");
}

static void a_reload_says_what_needs_a_restart(void **state)
{
	static const struct canned canned[] = {
		{ "POST /v1/reload", 200, NULL,
		  "{\"generation\": 4, \"pending_restart\": [\"listen\", \"key_file\"], \"warnings\": [\"a.yaml: warning: x\"]}",
		  TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "reload", "--wait=5s"), 0);
	assert_string_equal(fixture->err, "a.yaml: warning: x\n");
	assert_string_equal(fixture->out, "the new configuration is in force (generation 4)\n"
					  "changed, but needs a restart: listen, key_file\n");
}

static void status_is_put_together_from_three_answers(void **state)
{
	static const struct canned canned[] = {
		{ "GET /v1/status", 200, NULL,
		  "{\"node\": \"node1\", \"state\": \"running\", \"config\": {}, \"runs\": {}}",
		  TRICK_NONE, false },
		{ "GET /v1/scenarios", 200, NULL, "{\"scenarios\": []}", TRICK_NONE, false },
		{ "GET /readyz", 503, NULL,
		  "{\"is_ready\": false, \"checks\": [{\"name\": \"devices\", \"is_ok\": false,"
		  " \"detail\": \"0 of 0 ports active\"}]}",
		  TRICK_NONE, false },
		{ 0 },
	};
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "status"), 0);
	assert_contains(fixture->out, "node1  NOT READY");
	assert_contains(fixture->out, "devices: 0 of 0 ports active");
}

static void findings_are_explained_without_a_daemon(void **state)
{
	static const char *const spellings[] = { "RDT-0107", "rdt-107", "107", "path-lost",
						 "PATH-LOST" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		fixture->has_socket = false;
		assert_int_equal(RUN(fixture, "explain", spellings[i]), 0);
		assert_contains(fixture->out, "RDT-0107 path-lost: ");
		assert_contains(fixture->out, "What to do: ");
	}
	assert_int_equal(RUN(fixture, "explain", "RDT-17"), 2);
	assert_contains(fixture->err, "did you mean RDT-0");
	assert_int_equal(RUN(fixture, "explain", "path-lots"), 2);
	assert_contains(fixture->err, "did you mean path-lost? rdmatestctl explain lists them all");
	assert_int_equal(RUN(fixture, "explain", "weather"), 2);
	assert_contains(fixture->err, "\"weather\" is no code of a finding; rdmatestctl explain");
	/* An option that asks a daemon has no meaning here. */
	fixture->has_socket = true;
	assert_int_equal(RUN(fixture, "explain", "107"), 2);
	assert_contains(fixture->err, "--socket has no meaning here");
}

static void all_findings_are_listed_with_how_to_ask_for_each(void **state)
{
	struct fixture *fixture = *state;

	fixture->has_socket = false;
	assert_int_equal(RUN(fixture, "explain"), 0);
	for (int i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info((enum finding_code)i);
		char code[16];

		assert_contains(fixture->out, info->slug);
		snprintf(code, sizeof(code), "RDT-%04u", info->number);
		assert_contains(fixture->out, code);
	}
	for (int i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info((enum finding_code)i);

		assert_int_equal(RUN(fixture, "explain", info->slug), 0);
		assert_contains(fixture->out, info->title);
	}
}

static void a_run_that_is_not_there_is_said_to_be_unknown(void **state)
{
	static const struct canned canned[] = { { 0 } };
	struct fixture *fixture = *state;

	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "results", "01K3V9Q7W0"), 3);
	assert_contains(fixture->err, "there is no run \"01K3V9Q7W0\", or several begin so; "
				      "rdmatestctl results lists");
	unlink(fixture->socket_path);
	start_daemon(fixture, canned);
	assert_int_equal(RUN(fixture, "cancel", "01K3V9Q7W0"), 3);
	assert_contains(fixture->err, "there is no run \"01K3V9Q7W0\"");
}

static void help_is_a_command_and_an_option(void **state)
{
	struct fixture *fixture = *state;
	char of_option[sizeof(fixture->out)];

	fixture->has_socket = false;
	assert_int_equal(RUN(fixture, "run", "--help"), 0);
	memcpy(of_option, fixture->out, sizeof(of_option));
	assert_int_equal(RUN(fixture, "help", "run"), 0);
	assert_string_equal(fixture->out, of_option);
	assert_int_equal(RUN(fixture, "-h"), 0);
	memcpy(of_option, fixture->out, sizeof(of_option));
	assert_int_equal(RUN(fixture, "help"), 0);
	assert_string_equal(fixture->out, of_option);
	assert_int_equal(RUN(fixture, "help", "runn"), 2);
	assert_contains(fixture->err, "did you mean run?");
}

static void wrong_arguments_are_refused_before_anything_is_asked(void **state)
{
	static const struct {
		const char *argv[5];
		const char *sentence;
	} cases[] = {
		{ { "statsu" }, "unknown command \"statsu\"; did you mean status?" },
		{ { "run" }, "run needs SCENARIO" },
		{ { "run", "a", "b" }, "unexpected argument \"b\"" },
		{ { "run", "a", "--accept=fail" }, "only \"degraded\" can be accepted" },
		{ { "run", "a", "--wait=3" }, "--wait \"3\"" },
		{ { "run", "a", "--wait=3s", "--no-wait" }, "cannot both" },
		{ { "results", "--limit=501" }, "--limit \"501\"" },
		{ { "results", "--verdict=fial" }, "did you mean fail?" },
		{ { "results", "01K3V9Q7W0", "--limit=3" }, "no meaning together" },
		{ { "results", "--full" }, "--full needs the ID" },
		{ { "peers", "--timeout=0" }, "--timeout \"0\" is not within" },
		{ { "peers", "--timeout=5" }, "--timeout \"5\"" },
		{ { "reload", "--wait=0" }, "--wait \"0\" is not within" },
		{ { "reload", "--wait=1s", "--timeout=1s" }, "give one" },
		{ { "check", "x" }, "unexpected argument \"x\"; usage: rdmatestctl check" },
		{ { "cancel" }, "cancel needs ID; rdmatestctl results lists them" },
		{ { "cancel", "x" }, "\"x\" is no ID of a run" },
		{ { "results", "01K3V9Q7WU" }, "\"01K3V9Q7WU\" is no ID of a run" },
		{ { "results", "01K3V" }, "at least 6 characters" },
		{ { NULL }, "which command? There are run, results, status," },
		{ { "peers", "--wiat=3s" }, "unknown option \"--wiat\"" },
		{ { "peers", "--socket=" }, "--socket \"\": a path of 1 to" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *fixture = *state;

		/* Those without a socket of their own get one. */
		fixture->has_socket = cases[i].argv[1] == NULL ||
				      strcmp(cases[i].argv[1], "--socket=") != 0;
		assert_int_equal(run_program(fixture, cases[i].argv), 2);
		assert_contains(fixture->err, cases[i].sentence);
		assert_contains(fixture->err, "--help tells more");
		assert_string_equal(fixture->out, "");
	}
}

static void a_socket_path_that_is_too_long_is_refused(void **state)
{
	struct error err = ERROR_INIT;
	char path[200];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_null(client_new(path, 1000000000, &err));
	assert_contains(err.text, "1 to 107 bytes");
	err = ERROR_INIT;
	assert_null(client_new("", 1000000000, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_daemon_that_is_not_there_is_said_not_to_run),
		TEST(a_socket_that_nobody_serves_is_said_to_be_one),
		TEST(a_socket_without_permission_names_the_group),
		TEST(a_daemon_that_does_not_answer_is_given_up),
		TEST(answers_that_are_none_are_refused),
		TEST(results_are_asked_for_with_their_filters),
		TEST(one_result_is_shown_by_the_beginning_of_its_id),
		TEST(a_configuration_that_is_refused_is_told_whole),
		TEST(a_reload_says_what_needs_a_restart),
		TEST(status_is_put_together_from_three_answers),
		TEST(findings_are_explained_without_a_daemon),
		TEST(all_findings_are_listed_with_how_to_ask_for_each),
		TEST(a_run_that_is_not_there_is_said_to_be_unknown),
		TEST(help_is_a_command_and_an_option),
		TEST(wrong_arguments_are_refused_before_anything_is_asked),
		TEST(a_socket_path_that_is_too_long_is_refused),
	};
	int failed;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return failed;
}
