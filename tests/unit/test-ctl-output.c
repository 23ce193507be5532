// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <string.h>

#include "canned-daemon.h"

/* Every subcommand, the answers that it asks for, and what must be in them. */
static const struct subject {
	const char *arguments[4];
	struct canned canned[5];
	bool is_local; /* asks no daemon */
} subjects[] = {
	{ .arguments = { "run", "smoke" },
	  .canned = { ACCEPTED,
		      { PROGRESS("done"), TRICK_NONE, false },
		      { "GET /v1/runs/" ID, 200, NULL, RECORD("pass"), TRICK_NONE, false } } },
	{ .arguments = { "run", "smoke", "--no-wait" }, .canned = { ACCEPTED } },
	{ .arguments = { "results" },
	  .canned = { { "GET /v1/runs", 200, NULL, "{\"runs\": []}", TRICK_NONE, false } } },
	{ .arguments = { "results", "01K3V9Q7W0" },
	  .canned = { { "GET /v1/runs/01K3V9Q7W0", 200, NULL, RECORD("fail"), TRICK_NONE,
			false } } },
	{ .arguments = { "status" },
	  .canned = { { "GET /v1/status", 200, NULL,
			"{\"node\": \"a\", \"state\": \"running\", \"config\": {}, \"runs\": {}}",
			TRICK_NONE, false },
		      { "GET /v1/scenarios", 200, NULL, "{\"scenarios\": []}", TRICK_NONE, false },
		      { "GET /readyz", 200, NULL, "{\"is_ready\": true, \"checks\": []}",
			TRICK_NONE, false } } },
	{ .arguments = { "peers" },
	  .canned = { { "GET /v1/peers", 200, NULL, "{\"peers\": []}", TRICK_NONE, false } } },
	{ .arguments = { "devices" },
	  .canned = { { "GET /v1/devices", 200, NULL, "{\"ports\": []}", TRICK_NONE, false } } },
	{ .arguments = { "scenarios" },
	  .canned = { { "GET /v1/scenarios", 200, NULL, "{\"scenarios\": []}", TRICK_NONE,
			false } } },
	{ .arguments = { "cancel", "01K3V9Q7W0" },
	  .canned = { { "POST /v1/runs/01K3V9Q7W0/cancel", 202, NULL, "{\"id\": \"" ID "\"}",
			TRICK_NONE, false } } },
	{ .arguments = { "reload" },
	  .canned = { { "POST /v1/reload", 200, NULL,
			"{\"generation\": 2, \"pending_restart\": []}", TRICK_NONE, false } } },
	{ .arguments = { "compare", "01K3V9Q7W0", "01K3V9Q7W0" },
	  .canned = { { "GET /v1/runs/01K3V9Q7W0", 200, NULL, RECORD("pass"), TRICK_NONE,
			false } } },
	{ .arguments = { "check" }, .is_local = true },
	{ .arguments = { "explain" }, .is_local = true },
	{ .arguments = { "explain", "RDT-0107" }, .is_local = true },
	{ .arguments = { "help", "run" }, .is_local = true },
	{ .arguments = { "--help" }, .is_local = true },
	{ .arguments = { "--version" }, .is_local = true },
};
#define SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static void every_command_is_a_subject(void **state)
{
	for (size_t i = 0; command_table[i] != NULL; i++) {
		bool is_there = false;

		for (size_t k = 0; k < SUBJECTS; k++) {
			is_there |= strcmp(subjects[k].arguments[0], command_table[i]->name) == 0;
		}
		assert_true(is_there);
	}
}

/* A configuration that is good, for `check`. */
static void write_config(const struct fixture *fixture, char *ret_path, size_t size)
{
	static const char config[] = "version: 1\ndaemon: { node_name: a }\n";
	int fd;

	snprintf(ret_path, size, "%s/a.yaml", fixture->directory);
	fd = open(ret_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, config, sizeof(config) - 1), sizeof(config) - 1);
	close(fd);
}

/* The exit status of one subject with stdout on this descriptor (taken; -1: closed). */
static int run_subject(struct fixture *fixture, const struct subject *subject, bool is_json,
		       int out)
{
	const char *arguments[8] = { 0 };
	char path[96];
	char option[128];
	size_t count = 0;
	int status;

	while (count < 4 && subject->arguments[count] != NULL) {
		arguments[count] = subject->arguments[count];
		count++;
	}
	write_config(fixture, path, sizeof(path));
	snprintf(option, sizeof(option), "--config=%s", path);
	if (strcmp(arguments[0], "check") == 0) {
		arguments[count++] = option;
	}
	if (is_json && strcmp(arguments[0], "help") != 0) {
		arguments[count++] = "--json";
	}
	fixture->has_socket = !subject->is_local;
	if (!subject->is_local) {
		start_daemon(fixture, subject->canned);
	}
	status = run_program_on(fixture, arguments, out);
	clearerr(stdout);
	unlink(path);
	return status;
}

/* /dev/full, a pipe that nobody reads, or no stdout at all. */
static int open_bad(unsigned kind)
{
	int ends[2];

	if (kind == 0) {
		return open("/dev/full", O_WRONLY | O_CLOEXEC);
	}
	if (kind == 1) {
		assert_int_equal(pipe(ends), 0);
		close(ends[0]);
		return ends[1];
	}
	return -1;
}

static void what_cannot_be_printed_is_no_success(void **state)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before;

	sigaction(SIGPIPE, &ignore, &before);
	for (size_t i = 0; i < SUBJECTS; i++) {
		for (unsigned kind = 0; kind < 3; kind++) {
			for (unsigned is_json = 0; is_json < 2; is_json++) {
				struct fixture *fixture;
				int status;

				setup((void **)&fixture);
				status =
					run_subject(fixture, &subjects[i], is_json, open_bad(kind));
				if (status != 3 ||
				    strstr(fixture->err, "cannot be written") == NULL ||
				    strstr(strstr(fixture->err, "cannot be written") + 1,
					   "cannot be written") != NULL) {
					fail_msg("%s, stdout %u: %d, %s", subjects[i].arguments[0],
						 kind, status, fixture->err);
				}
				teardown((void **)&fixture);
			}
		}
	}
	sigaction(SIGPIPE, &before, NULL);
}

static void what_can_be_printed_is_one(void **state)
{
	for (size_t i = 0; i < SUBJECTS; i++) {
		for (unsigned is_json = 0; is_json < 2; is_json++) {
			struct fixture *fixture;
			int status;

			setup((void **)&fixture);
			status = run_subject(fixture, &subjects[i], is_json,
					     open_output(fixture->out_path));
			read_file(fixture->out_path, fixture->out, sizeof(fixture->out));
			if (status != 0 || fixture->out[0] == '\0') {
				fail_msg("%s: %d, %s", subjects[i].arguments[0], status,
					 fixture->err);
			}
			teardown((void **)&fixture);
		}
	}
}

/* The same answers, of which one is something else. */
static void answers_of_something_else_are_refused(void **state)
{
	static const char *const others[] = { "{}", "{\"ok\": true}", "{\"node\": 5, \"id\": []}" };

	for (size_t i = 0; i < SUBJECTS; i++) {
		for (size_t k = 0; subjects[i].canned[k].request != NULL; k++) {
			for (size_t n = 0; n < sizeof(others) / sizeof(others[0]); n++) {
				struct subject subject = subjects[i];
				struct fixture *fixture;
				int status;

				subject.canned[k].body = others[n];
				setup((void **)&fixture);
				status = run_subject(fixture, &subject, n == 1,
						     open_output(fixture->out_path));
				read_file(fixture->out_path, fixture->out, sizeof(fixture->out));
				/* For programs status is one answer. */
				if (n == 1 && k > 0 &&
				    strcmp(subject.arguments[0], "status") == 0) {
					assert_int_equal(status, 0);
				} else if (status != 3 || fixture->out[0] != '\0' ||
					   strstr(fixture->err, "is this its socket") == NULL) {
					fail_msg("%s, answer %zu: %d, %s", subject.arguments[0], k,
						 status, fixture->err);
				}
				teardown((void **)&fixture);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_command_is_a_subject),
		cmocka_unit_test(what_cannot_be_printed_is_no_success),
		cmocka_unit_test(what_can_be_printed_is_one),
		cmocka_unit_test(answers_of_something_else_are_refused),
	};
	int failed;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return failed;
}
