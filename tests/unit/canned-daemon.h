// SPDX-License-Identifier: MIT
#pragma once

/*
 * rdmatestctl as a whole against a daemon whose answers are canned: for tests of what goes to
 * stdout and stderr, which requests are made, and with which status it ends.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ctl/command.h"
#include "util/memory.h"

#define HOLD_MS 3500

enum trick {
	TRICK_NONE,
	TRICK_CLOSE, /* closes instead of answering */
	TRICK_CUT, /* promises more than it sends */
	TRICK_HANG, /* never answers */
	TRICK_HOLD, /* answers after HOLD_MS */
	TRICK_INTERRUPT, /* somebody presses Ctrl-C now */
	TRICK_GARBAGE, /* not HTTP */
	TRICK_FLOOD, /* more than anybody may send */
};

struct canned {
	const char *request; /* "GET /v1/status" */
	int status;
	const char *header; /* "Location: ...\r\n" or NULL */
	const char *body;
	enum trick trick;
	bool once; /* later rows for the same request come after it */
};

struct fixture {
	char directory[64];
	char socket_path[96];
	char out_path[96];
	char err_path[96];
	int listen_fd;
	int stop_pipe[2];
	pthread_t thread;
	bool is_up;
	bool has_socket; /* the command takes --socket */
	const struct canned *canned;
	bool is_used[32];
	struct text requests; /* in order, a line each */
	char out[16384];
	char err[4096];
};

/* A row without a query is for any. */
static bool is_asked(const char *canned, const char *request)
{
	size_t length = strcspn(request, "?");

	return strcmp(canned, request) == 0 ||
	       (strncmp(canned, request, length) == 0 && canned[length] == 0);
}

static const struct canned *find_canned(struct fixture *fixture, const char *request)
{
	for (size_t i = 0; fixture->canned[i].request != NULL; i++) {
		if (is_asked(fixture->canned[i].request, request) && !fixture->is_used[i]) {
			fixture->is_used[i] = fixture->canned[i].once;
			return &fixture->canned[i];
		}
	}
	return NULL;
}

static void send_all(int fd, const char *bytes, size_t count)
{
	while (count > 0) {
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

		if (sent <= 0) {
			return;
		}
		bytes += sent;
		count -= (size_t)sent;
	}
}

static void send_flood(int fd)
{
	static char block[1 << 16];
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";

	memset(block, '1', sizeof(block));
	send_all(fd, head, sizeof(head) - 1);
	for (size_t i = 0; i < CLIENT_MAX_ANSWER_BYTES / sizeof(block) + 2; i++) {
		if (send(fd, block, sizeof(block), MSG_NOSIGNAL) <= 0) {
			return;
		}
	}
}

static void send_answer(struct fixture *fixture, int fd, const struct canned *canned)
{
	_cleanup_text_ struct text answer = TEXT_INIT;
	struct pollfd stop = { .fd = fixture->stop_pipe[0], .events = POLLIN };

	switch (canned->trick) {
	case TRICK_CLOSE:
		return;
	case TRICK_HANG:
		poll(&stop, 1, 20000);
		return;
	case TRICK_GARBAGE:
		send_all(fd, "SSH-2.0-OpenSSH\r\n", 17);
		return;
	case TRICK_FLOOD:
		send_flood(fd);
		return;
	case TRICK_INTERRUPT:
		kill(getpid(), SIGINT);
		break;
	case TRICK_HOLD:
		poll(&stop, 1, HOLD_MS);
		break;
	case TRICK_NONE:
	case TRICK_CUT:
		break;
	}
	text_format(
		&answer,
		"HTTP/1.1 %d Canned\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n%s"
		"Connection: close\r\n\r\n%s",
		canned->status, strlen(canned->body) + (canned->trick == TRICK_CUT ? 10 : 0),
		canned->header ? canned->header : "", canned->body);
	send_all(fd, answer.data, answer.length);
}

static void serve_one(struct fixture *fixture, int fd)
{
	static const struct canned unknown = {
		"", 404, NULL, "{\"title\": \"Not Found\"}", 0, false
	};
	char request[4096];
	size_t length = 0;
	const struct canned *canned;
	char *end;

	while (length + 1 < sizeof(request)) {
		ssize_t got = recv(fd, request + length, sizeof(request) - 1 - length, 0);

		if (got <= 0) {
			return;
		}
		length += (size_t)got;
		request[length] = '\0';
		if (strstr(request, "\r\n\r\n") != NULL) {
			break;
		}
	}
	end = strstr(request, " HTTP/1.1");
	if (end == NULL) {
		return;
	}
	*end = '\0';
	text_format(&fixture->requests, "%s\n", request);
	canned = find_canned(fixture, request);
	send_answer(fixture, fd, canned ? canned : &unknown);
}

static void *serve(void *arg)
{
	struct fixture *fixture = arg;

	for (;;) {
		struct pollfd items[2] = { { .fd = fixture->listen_fd, .events = POLLIN },
					   { .fd = fixture->stop_pipe[0], .events = POLLIN } };
		int fd;

		if (poll(items, 2, 30000) <= 0 || items[1].revents != 0) {
			return NULL;
		}
		fd = accept(fixture->listen_fd, NULL, NULL);
		if (fd >= 0) {
			serve_one(fixture, fd);
			close(fd);
		}
	}
}

static void listen_at(struct fixture *fixture)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", fixture->socket_path);
	fixture->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fixture->listen_fd >= 0);
	assert_int_equal(bind(fixture->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fixture->listen_fd, 16), 0);
}

static int setup(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	snprintf(fixture->directory, sizeof(fixture->directory), "/tmp/ctl-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->socket_path, sizeof(fixture->socket_path), "%s/admin.sock",
		 fixture->directory);
	snprintf(fixture->out_path, sizeof(fixture->out_path), "%s/out", fixture->directory);
	snprintf(fixture->err_path, sizeof(fixture->err_path), "%s/err", fixture->directory);
	fixture->listen_fd = -1;
	fixture->has_socket = true;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->socket_path);
	unlink(fixture->out_path);
	unlink(fixture->err_path);
	rmdir(fixture->directory);
	text_done(&fixture->requests);
	free(fixture);
	return 0;
}

static void start_daemon(struct fixture *fixture, const struct canned *canned)
{
	fixture->canned = canned;
	listen_at(fixture);
	assert_int_equal(pipe(fixture->stop_pipe), 0);
	fixture->is_up = true;
}

static void stop_daemon(struct fixture *fixture)
{
	if (fixture->is_up) {
		close(fixture->stop_pipe[1]);
		pthread_join(fixture->thread, NULL);
		close(fixture->stop_pipe[0]);
		close(fixture->listen_fd);
		fixture->is_up = false;
	}
}

static void read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, buf, size - 1);

	assert_true(length >= 0);
	buf[length] = '\0';
	close(fd);
}

/* file: taken; -1: the stream is closed. */
static int redirect(int fd, int file)
{
	int saved = fcntl(fd, F_DUPFD_CLOEXEC, 10);

	assert_true(saved >= 0);
	if (file < 0) {
		close(fd);
		return saved;
	}
	assert_true(dup2(file, fd) >= 0);
	close(file);
	return saved;
}

static int open_output(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0600);

	assert_true(file >= 0);
	return file;
}

static void restore(int fd, int saved)
{
	assert_true(dup2(saved, fd) >= 0);
	close(saved);
}

/* Runs it with --socket of the canned daemon behind the given arguments, if it asks one, and stdout
 * on a descriptor (taken; -1: closed); the exit status. */
static int run_program_on(struct fixture *fixture, const char *const *arguments, int out_file)
{
	const char *argv[16];
	char option[128];
	sigset_t interrupt;
	sigset_t before;
	int out;
	int err;
	int argc = 0;
	int status;

	for (; arguments[argc] != NULL; argc++) {
		argv[argc] = arguments[argc];
	}
	snprintf(option, sizeof(option), "--socket=%s", fixture->socket_path);
	if (fixture->has_socket) {
		argv[argc++] = option;
	}
	/* Ctrl-C is for the thread that runs the program. */
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	pthread_sigmask(SIG_BLOCK, &interrupt, &before);
	if (fixture->is_up) {
		assert_int_equal(pthread_create(&fixture->thread, NULL, serve, fixture), 0);
	}
	fflush(stdout);
	fflush(stderr);
	out = redirect(STDOUT_FILENO, out_file);
	err = redirect(STDERR_FILENO, open_output(fixture->err_path));
	status = command_main(argc, argv);
	restore(STDOUT_FILENO, out);
	restore(STDERR_FILENO, err);
	stop_daemon(fixture);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	read_file(fixture->err_path, fixture->err, sizeof(fixture->err));
	return status;
}

__attribute__((unused)) static int run_program(struct fixture *fixture,
					       const char *const *arguments)
{
	int status = run_program_on(fixture, arguments, open_output(fixture->out_path));

	read_file(fixture->out_path, fixture->out, sizeof(fixture->out));
	return status;
}

/* The same with a terminal as stdout. */
__attribute__((unused)) static int run_on_terminal(struct fixture *fixture,
						   const char *const *arguments)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	struct pollfd item = { .fd = master, .events = POLLIN };
	size_t length = 0;
	ssize_t got;
	int status;

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	status = run_program_on(fixture, arguments, open_output(ptsname(master)));
	fixture->out[0] = 0;
	/* Ends with an error once everything is read, since nobody has the terminal open any more.
	 */
	while (poll(&item, 1, 5000) > 0 &&
	       (got = read(master, fixture->out + length, sizeof(fixture->out) - 1 - length)) > 0) {
		length += (size_t)got;
		fixture->out[length] = 0;
	}
	close(master);
	return status;
}

#define RUN(fixture, ...) run_program(fixture, (const char *const[]){ __VA_ARGS__, NULL })

__attribute__((unused)) static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL) {
		fprintf(stderr, "\"%s\" is not in: %s\n", part, text);
	}
	assert_non_null(strstr(text, part));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#define ID "01K3V9Q7W0E5R2T8Y4U6J1M3N5"
#define ACCEPTED                                                                       \
	{                                                                              \
		"POST /v1/scenarios/smoke/runs", 202, "Location: /v1/runs/" ID "\r\n", \
			"{\"id\": \"" ID "\"}\n", TRICK_NONE, false                    \
	}
#define PROGRESS(state) \
	"GET /v1/runs/" ID "/progress", 200, NULL, "{\"state\": \"" state "\", \"progress\": null}"
#define MEASURING                                                                                  \
	"GET /v1/runs/" ID "/progress", 200, NULL,                                                 \
		"{\"state\": \"running\", \"progress\": {\"active\": [{\"initiator\": \"node1\","  \
		" \"initiator_device\": \"rxe0\", \"responder\": \"node2\", \"responder_device\":" \
		" \"rxe1\", \"phase\": \"measuring\"}]}}"
#define RECORD(verdict)                                                             \
	"{\"id\": \"" ID                                                            \
	"\", \"scenario\": \"smoke\", \"state\": \"done\", \"verdict\": \"" verdict \
	"\", \"measurements\": []}"
