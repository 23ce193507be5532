// SPDX-License-Identifier: MIT
#include "unit/http-fixture.h"

#include "util/random.h"

static void what_is_no_request_of_ours_is_refused(void **state)
{
	static const struct {
		const char *request;
		unsigned status; /* 0: no answer is also fine */
	} cases[] = {
		{ "GET /v1/status HTTP/1.1\r\n\r\n", 400 },
		{ "GET /v1/status HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
		{ "GET /v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403 },
		{ "GET /v1/status%00x HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /v1/../v1/status HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /v1/%2e%2e/v1/status HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET //v1/status HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET http://localhost/v1/status HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /v1/status?x=1 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /nothing HTTP/1.1\r\n" HOST "\r\n", 404 },
		{ "BREW /v1/status HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "AVERYLONGMETHODTHATISNONE /v1/status HTTP/1.1\r\n" HOST "\r\n", 405 },
		{ "POST /v1/scenarios/a/runs HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 403 },
		{ "POST /v1/reload HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 413 },
		{ "POST /v1/reload HTTP/1.1\r\n" HOST
		  "Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n",
		  413 },
		{ "POST /v1/reload HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		  411 },
		{ "GET /healthz HTTP/1.1\r\n" HOST
		  "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		  411 },
		{ "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
		  400 },
		{ "GET /healthz HTTP/1.1\r\n" HOST
		  "Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello",
		  400 },
		{ "\x16\x03\x01\x02\x01\x01\xfc\x03\x03", 0 },
		{ "GET\r\n\r\n", 0 },
		{ "GET /healthz SMTP/1.1\r\n" HOST "\r\n", 0 },
	};
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned status = ask(fixture, cases[i].request, &answer);

		if (cases[i].status ? status != cases[i].status : status != 0 && status < 400) {
			fail_msg("%s: %u: %s", cases[i].request, status, answer.data);
		}
		if (status >= 400 && cases[i].status &&
		    !strstr(answer.data, "Connection: close\r\n")) {
			fail_msg("%s: the connection stays open", cases[i].request);
		}
	}
	assert_int_equal(fixture->starts, 0);
	assert_int_equal(fixture->reloads, 0);
	assert_alive(fixture);
}

static void a_target_with_a_nul_is_not_cut_there_but_refused(void **state)
{
	/* The sign stands for it. */
	static const char *const targets[] = { "/healthz@",	    "/healthz@evil",
					       "/healthz@/../x",    "/v1/runs?@limit=1",
					       "/v1/runs?limit=1@", "@" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		_cleanup_text_ struct text request = TEXT_INIT;
		_cleanup_text_ struct text answer = TEXT_INIT;

		text_format(&request, "GET %s HTTP/1.1\r\n" HOST "\r\n", targets[i]);
		*strchr(request.data, '@') = '\0';
		assert_int_equal(ask_bytes(fixture, connect_tcp(fixture), request.data,
					   request.length, &answer),
				 400);
	}
	assert_alive(fixture);
}

static void a_request_smuggled_behind_another_is_never_carried_out(void **state)
{
	static const char inner[] = "POST /v1/scenarios/a/runs HTTP/1.1\r\n" HOST
				    "Content-Length: 0\r\n\r\n";
	static const char *const outer[] = {
		"GET /healthz HTTP/1.1\r\n" HOST
		"Content-Length: 200\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 0\r\nContent-Length: 100\r\n\r\n",
		"POST /v1/reload HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
		"GET /healthz HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n",
		"GET /nothing HTTP/1.1\r\n" HOST "\r\n",
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
		_cleanup_text_ struct text request = TEXT_INIT;
		_cleanup_text_ struct text answer = TEXT_INIT;
		const char *second;

		text_format(&request, "%s%s", outer[i], inner);
		ask_admin(fixture, request.data, &answer);
		assert_int_equal(fixture->starts, 0);
		second = answer.length > 20 ? strstr(answer.data + 10, "HTTP/1.1 ") : NULL;
		if (second) {
			fail_msg("%s: a second answer: %s", outer[i], second);
		}
	}
	assert_alive(fixture);
}

static void too_much_of_anything_is_refused_and_closed(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text request = TEXT_INIT;
	_cleanup_text_ struct text answer = TEXT_INIT;

	text_add(&request, "GET /");
	for (unsigned i = 0; i < 3000; i++) {
		text_add(&request, "a");
	}
	text_add(&request, " HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(ask(fixture, request.data, &answer), 414);
	text_reset(&request);
	text_add(&request, "GET /healthz HTTP/1.1\r\n" HOST);
	for (unsigned i = 0; i < 20000; i++) {
		text_format(&request, "X-%u: y\r\n", i);
	}
	text_add(&request, "\r\n");
	assert_true(ask(fixture, request.data, &answer) != 200);
	text_reset(&request);
	for (unsigned i = 0; i < 100000; i++) {
		text_add(&request, "a");
	}
	assert_true(ask(fixture, request.data, &answer) != 200);
	assert_alive(fixture);
}

static void a_client_that_sends_slowly_for_ever_is_cut_off(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);
	uint64_t start = clock_mono_ns();
	bool is_closed = false;

	send_bytes(fixture, fd, "GET /healthz HTTP/1.1\r\n", strlen("GET /healthz HTTP/1.1\r\n"));
	while (!is_closed && clock_mono_ns() - start < 3000 * MS) {
		send(fd, "X: y\r\n", 6, MSG_NOSIGNAL);
		is_closed = is_closed_within(fixture, fd, 50 * MS, &answer);
	}
	assert_true(is_closed);
	assert_in_range(clock_mono_ns() - start, 350 * MS, 1500 * MS);
	assert_int_equal(answer.length, 0);
	close(fd);
}

static void a_client_that_says_nothing_is_cut_off_also_between_requests(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int silent = connect_tcp(fixture);
	int idle = connect_tcp(fixture);

	send_bytes(fixture, idle, request, sizeof(request) - 1);
	assert_true(read_answer(fixture, idle, &answer, true));
	assert_true(is_closed_within(fixture, silent, 1500 * MS, &answer));
	assert_true(is_closed_within(fixture, idle, 1500 * MS, &answer));
	close(silent);
	close(idle);
}

static void a_client_that_does_not_read_its_answer_is_cut_off(void **state)
{
	static const char request[] = "GET /v1/runs/" ID " HTTP/1.1\r\n" HOST "\r\n";
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);
	int small = 4096;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	make_run(fixture, 2 * BIG_PAIRS);
	send_bytes(fixture, fd, request, sizeof(request) - 1);
	turn(fixture, 1500 * MS);
	assert_true(is_closed_within(fixture, fd, 500 * MS, &answer));
	assert_false(is_whole(&answer, 0, true));
	close(fd);
}

static void connections_are_bounded_by_address_and_in_all(void **state)
{
	struct fixture *fixture = *state;
	int fds[SERVER_MAX_CONNECTIONS_PER_ADDRESS + 8];
	_cleanup_text_ struct text answer = TEXT_INIT;
	unsigned served = 0;
	unsigned closed = 0;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		fds[i] = connect_tcp(fixture);
	}
	turn(fixture, 50 * MS);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		closed += receive(fds[i], &answer) == 0;
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		send(fds[i], "GET /healthz HTTP/1.1\r\n" HOST "\r\n",
		     strlen("GET /healthz HTTP/1.1\r\n" HOST "\r\n"), MSG_NOSIGNAL);
	}
	turn(fixture, 50 * MS);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		served += receive(fds[i], &answer) > 0;
		close(fds[i]);
	}
	assert_int_equal(closed, 8);
	assert_int_equal(served, SERVER_MAX_CONNECTIONS_PER_ADDRESS);
	turn(fixture, 20 * MS);
	assert_alive(fixture);
}

static int connect_from(struct fixture *fixture, const char *address)
{
	struct sockaddr_in source = { .sin_family = AF_INET };
	struct sockaddr_in target = { .sin_family = AF_INET, .sin_port = htons(fixture->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, address, &source.sin_addr);
	target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_return_code(bind(fd, (struct sockaddr *)&source, sizeof(source)), errno);
	assert_true(connect(fd, (struct sockaddr *)&target, sizeof(target)) == 0 ||
		    errno == EINPROGRESS);
	return fd;
}

static void who_comes_when_all_places_are_taken_is_served_when_one_is_free(void **state)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";
	struct fixture *fixture = *state;
	int fds[SERVER_MAX_CONNECTIONS];
	_cleanup_text_ struct text answer = TEXT_INIT;
	int last;

	for (size_t i = 0; i < SERVER_MAX_CONNECTIONS; i++) {
		fds[i] = connect_from(fixture, i % 2 ? "127.0.0.2" : "127.0.0.3");
	}
	turn(fixture, 50 * MS);
	last = connect_from(fixture, "127.0.0.4");
	send_bytes(fixture, last, request, sizeof(request) - 1);
	turn(fixture, 50 * MS);
	assert_int_equal(receive(last, &answer), -1);
	close(fds[0]);
	assert_true(read_answer(fixture, last, &answer, true));
	assert_int_equal(status_of(&answer), 200);
	for (size_t i = 1; i < SERVER_MAX_CONNECTIONS; i++) {
		close(fds[i]);
	}
	close(last);
}

static void random_bytes_leave_the_server_standing(void **state)
{
	static const char *const words[] = { "GET ",
					     "POST ",
					     "/healthz",
					     "/v1/reload",
					     " HTTP/1.1",
					     "\r\n",
					     "\n",
					     "Host: localhost",
					     ": ",
					     "Content-Length: ",
					     "0",
					     "99",
					     "Transfer-Encoding: chunked",
					     "%00",
					     "\t",
					     "Connection: close" };
	struct fixture *fixture = *state;
	struct prng prng;

	prng_init(&prng, 11);
	for (unsigned round = 0; round < 300; round++) {
		_cleanup_text_ struct text request = TEXT_INIT;
		_cleanup_text_ struct text answer = TEXT_INIT;
		int fd = round % 2 ? connect_tcp(fixture) : connect_admin(fixture->path);

		for (uint64_t i = prng_below(&prng, 24); i > 0; i--) {
			char byte = (char)prng_next(&prng);

			if (prng_below(&prng, 4)) {
				text_add(
					&request,
					words[prng_below(&prng, sizeof(words) / sizeof(words[0]))]);
			} else {
				text_add_bytes(&request, &byte, 1);
			}
		}
		send_bytes(fixture, fd, request.data ? request.data : "", request.length);
		shutdown(fd, SHUT_WR);
		is_closed_within(fixture, fd, 20 * MS, &answer);
		close(fd);
		if (fixture->reloads > 0) {
			server_reload_done(fixture->server,
					   &(struct server_reload){ .generation = 1,
								    .needs_restart = "" });
			fixture->reloads = 0;
		}
	}
	assert_alive(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_request_of_ours_is_refused),
		TEST(a_target_with_a_nul_is_not_cut_there_but_refused),
		TEST(a_request_smuggled_behind_another_is_never_carried_out),
		TEST(too_much_of_anything_is_refused_and_closed),
		TEST_IMPATIENT(a_client_that_sends_slowly_for_ever_is_cut_off),
		TEST_IMPATIENT(a_client_that_says_nothing_is_cut_off_also_between_requests),
		TEST_IMPATIENT(a_client_that_does_not_read_its_answer_is_cut_off),
		TEST(connections_are_bounded_by_address_and_in_all),
		TEST(who_comes_when_all_places_are_taken_is_served_when_one_is_free),
		TEST(random_bytes_leave_the_server_standing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
