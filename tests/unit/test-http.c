// SPDX-License-Identifier: MIT
#include "unit/http-fixture.h"

#include <sys/stat.h>

/* --- well-behaved clients --- */

static void answers_carry_their_headers(void **state)
{
	static const char *const headers[] = { "Content-Type: application/json\r\n",
					       "Cache-Control: no-store\r\n",
					       "X-Content-Type-Options: nosniff\r\n",
					       "Content-Security-Policy: default-src 'none';",
					       "Referrer-Policy: no-referrer\r\n",
					       "Content-Length: 14\r\n" };
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	assert_int_equal(ask(fixture, "GET /v1/status HTTP/1.1\r\n" HOST "\r\n", &answer), 200);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		if (!strstr(answer.data, headers[i])) {
			fail_msg("%s is not in %s", headers[i], answer.data);
		}
	}
	assert_non_null(strstr(answer.data, "\r\n\r\n{\"node\":\"n1\"}\n"));
	assert_null(strstr(answer.data, "Server:"));
}

static void a_connection_is_kept_for_more_requests(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);

	for (unsigned i = 0; i < 50; i++) {
		text_reset(&answer);
		send_bytes(fixture, fd, "GET /healthz HTTP/1.1\r\n" HOST "\r\n",
			   strlen("GET /healthz HTTP/1.1\r\n" HOST "\r\n"));
		assert_true(read_answer(fixture, fd, &answer, true));
		assert_int_equal(status_of(&answer), 200);
	}
	close(fd);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	static const char both[] = "GET /healthz HTTP/1.1\r\n" HOST
				   "\r\nGET /v1/status HTTP/1.1\r\n" HOST "\r\n";
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	ask(fixture, both, &answer);
	assert_non_null(strstr(strstr(answer.data, "ok\n"), "{\"node\":\"n1\"}"));
}

static void a_head_has_no_body(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	assert_int_equal(ask(fixture, "HEAD /v1/status HTTP/1.1\r\n" HOST "\r\n", &answer), 200);
	assert_non_null(strstr(answer.data, "Content-Length: 14\r\n"));
	assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
}

static void a_request_in_single_bytes_is_a_request(void **state)
{
	static const char request[] =
		"GET /v1/runs?limit=5 HTTP/1.1\r\nHost: 127.0.0.1:9879\r\nAccept: */*\r\n\r\n";
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);

	for (size_t i = 0; i < sizeof(request) - 1; i++) {
		send_bytes(fixture, fd, request + i, 1);
		turn(fixture, MS / 2);
	}
	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 200);
	close(fd);
}

static void an_old_client_without_host_is_served(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	assert_int_equal(ask(fixture, "GET /v1/status HTTP/1.0\r\n\r\n", &answer), 200);
}

/* --- the admin socket --- */

static void the_admin_socket_acts_and_closes_after_it(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	assert_int_equal(
		ask_admin(
			fixture,
			"POST /v1/scenarios/smoke/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
			&answer),
		202);
	assert_non_null(strstr(answer.data, "Location: /v1/runs/" ID "\r\n"));
	assert_non_null(strstr(answer.data, "Connection: close\r\n"));
	assert_int_equal(fixture->starts, 1);
	assert_int_equal(ask_admin(fixture, "GET /v1/status HTTP/1.1\r\nHost: whatever\r\n\r\n",
				   &answer),
			 200);
	server_stop_actions(fixture->server);
	assert_int_equal(ask_admin(fixture,
				   "POST /v1/scenarios/smoke/runs HTTP/1.1\r\nHost: x\r\n\r\n",
				   &answer),
			 503);
	assert_int_equal(fixture->starts, 1);
}

static void the_admin_socket_is_for_owner_and_group_and_goes_at_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;

	assert_int_equal(stat(fixture->path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0660);
	server_free(take(fixture->server));
	assert_int_equal(stat(fixture->path, &status), -1);
}

static int new_admin(struct fixture *fixture, struct server **ret, const char *path,
		     struct error *err)
{
	struct server_options options = {
		.listen_fd = -1, .admin_fd = -1, .admin_path = path, .view = &fixture->view
	};

	*err = ERROR_INIT;
	options.metrics = fixture->metrics;
	return server_new(ret, fixture->event, &options, err);
}

static void a_dead_socket_is_replaced_a_live_one_or_a_file_is_not(void **state)
{
	struct fixture *fixture = *state;
	struct server *second = NULL;
	struct error err;
	char path[108];
	int fd;

	assert_int_equal(new_admin(fixture, &second, fixture->path, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "in use"));
	snprintf(path, sizeof(path), "%.90s.2", fixture->path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(new_admin(fixture, &second, path, &err), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	/* Bound and forgotten, as after SIGKILL. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	text_copy(address.sun_path, sizeof(address.sun_path), path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_return_code(new_admin(fixture, &second, path, &err), 0);
	server_free(second);
	assert_int_equal(access(path, F_OK), -1);
}

static void listeners_that_cannot_be_had_are_explained(void **state)
{
	struct fixture *fixture = *state;
	struct server *second = NULL;
	struct error err;
	struct server_options options = { .listen_fd = -1, .admin_fd = -1, .view = &fixture->view };
	char listen[64];
	char path[200];

	snprintf(listen, sizeof(listen), "127.0.0.1:%u", fixture->port);
	options.listen = listen;
	options.metrics = fixture->metrics;
	err = ERROR_INIT;
	assert_int_equal(server_new(&second, fixture->event, &options, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "daemon.http.listen"));
	assert_non_null(strstr(err.text, listen + 10));
	assert_int_equal(new_admin(fixture, &second, "/nowhere-at-all/admin.sock", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere-at-all/admin.sock"));
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	path[0] = '/';
	assert_int_equal(new_admin(fixture, &second, path, &err), -ENAMETOOLONG);
	assert_null(second);
}

/* --- answers that come later --- */

static void all_who_wait_for_a_reload_are_told_its_end(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text first = TEXT_INIT;
	_cleanup_text_ struct text second = TEXT_INIT;
	int a = begin_reload(fixture);
	int b = begin_reload(fixture);

	assert_int_equal(fixture->reloads, 1);
	assert_int_equal(receive(a, &first), -1);
	assert_alive(fixture);
	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3,
						    .needs_restart = "listen, http.listen" });
	assert_true(read_answer(fixture, a, &first, true));
	assert_true(read_answer(fixture, b, &second, true));
	assert_int_equal(status_of(&first), 200);
	assert_non_null(strstr(
		first.data,
		"{\"generation\":3,\"pending_restart\":[\"listen\",\"http.listen\"],\"warnings\":[]}"));
	assert_int_equal(status_of(&second), 200);
	assert_true(is_closed_within(fixture, a, 500 * MS, &first));
	close(a);
	close(b);
	close(begin_reload(fixture));
	assert_int_equal(fixture->reloads, 2);
	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3, .needs_restart = "" });
}

static void a_refused_reload_lists_every_error(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_json_ json_t *errors =
		json_pack("[s,s]", "a.yaml:1:2: error: x", "b.yaml:3:4: error: \"y\"");
	_cleanup_json_ json_t *warnings = json_pack("[s]", "a.yaml:9:1: warning: z");
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_reload(fixture);

	server_reload_done(fixture->server, &(struct server_reload){ .generation = 3,
								     .needs_restart = "",
								     .is_refused = true,
								     .errors = errors,
								     .warnings = warnings });
	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 422);
	assert_non_null(
		strstr(answer.data,
		       "\"errors\":[\"a.yaml:1:2: error: x\",\"b.yaml:3:4: error: \\\"y\\\"\"]"));
	assert_non_null(strstr(answer.data, "\"warnings\":[\"a.yaml:9:1: warning: z\"]"));
	assert_non_null(strstr(answer.data, "application/problem+json"));
	close(fd);
}

static void a_configuration_that_cannot_be_read_is_no_error_of_it(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_reload(fixture);

	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3,
						    .needs_restart = "",
						    .is_refused = true,
						    .unread = "a.yaml: not read within 10 s" });
	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 503);
	assert_non_null(strstr(answer.data, "a.yaml: not read within 10 s; generation 3 stays"));
	close(fd);
}

static void a_reload_that_ends_at_once_is_answered_at_once(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	fixture->is_reload_at_once = true;
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(ask_admin(fixture, reload_request, &answer), 200);
		assert_int_equal(fixture->reloads, i);
	}
	/* One that nobody asked for over HTTP. */
	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 8, .needs_restart = "" });
}

static void a_client_that_leaves_while_it_waits_is_forgotten(void **state)
{
	struct fixture *fixture = *state;
	int fd = begin_reload(fixture);

	close(fd);
	turn(fixture, 20 * MS);
	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3, .needs_restart = "" });
	turn(fixture, 20 * MS);
	assert_alive(fixture);
}

static void a_reload_that_does_not_end_is_answered_with_a_timeout(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_reload(fixture);

	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 504);
	close(fd);
	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3, .needs_restart = "" });
	assert_alive(fixture);
}

static void the_server_ends_while_a_client_waits(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_reload(fixture);
	int idle = connect_tcp(fixture);

	turn(fixture, 5 * MS);
	server_free(take(fixture->server));
	while (receive(fd, &answer) > 0) {
	}
	assert_int_equal(status_of(&answer), 503);
	close(fd);
	close(idle);
}

static void answers_are_counted_by_route_and_status(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;

	make_run(fixture, 1);
	ask(fixture, "GET /v1/runs/" ID " HTTP/1.1\r\n" HOST "\r\n", &answer);
	ask(fixture, "GET /v1/runs/ABCDEFGH HTTP/1.1\r\n" HOST "\r\n", &answer);
	ask(fixture, "GET /secret/" ID " HTTP/1.1\r\n" HOST "\r\n", &answer);
	fixture->is_reload_at_once = true;
	ask_admin(fixture, reload_request, &answer);
	assert_int_equal(ask(fixture, "GET /metrics HTTP/1.1\r\n" HOST "\r\n", &answer), 200);
	assert_non_null(
		strstr(answer.data, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	assert_non_null(
		strstr(answer.data,
		       "rdmatestd_http_requests_total{route=\"/v1/runs/{id}\",code=\"200\"} 2\n"));
	assert_non_null(strstr(answer.data,
			       "rdmatestd_http_requests_total{route=\"other\",code=\"404\"} 1\n"));
	assert_non_null(
		strstr(answer.data,
		       "rdmatestd_http_requests_total{route=\"/v1/reload\",code=\"200\"} 1\n"));
	assert_null(strstr(answer.data, "secret"));
}

static void an_inherited_descriptor_that_blocks_is_taken(void **state)
{
	struct fixture *fixture = *state;
	struct error err = ERROR_INIT;
	struct server *second = NULL;
	struct server_options options = { .listen_fd = net_listen("127.0.0.1", 0, &err),
					  .admin_fd = -1,
					  .view = &fixture->view };
	_cleanup_text_ struct text answer = TEXT_INIT;

	fcntl(options.listen_fd, F_SETFL, 0);
	options.metrics = fixture->metrics;
	assert_return_code(server_new(&second, fixture->event, &options, &err), 0);
	fixture->port = server_port(second);
	assert_alive(fixture);
	turn(fixture, 5 * MS);
	server_free(second);
}

static void a_listener_of_both_families_knows_local_clients_by_either(void **state)
{
	static const char request[] = "GET /v1/status HTTP/1.1\r\n" HOST "\r\n";
	struct fixture *fixture = *state;
	struct error err = ERROR_INIT;
	struct server *second = NULL;
	struct server_options options = { .listen_fd = net_listen("::", 0, &err),
					  .admin_fd = -1,
					  .view = &fixture->view };
	_cleanup_text_ struct text answer = TEXT_INIT;

	options.metrics = fixture->metrics;
	assert_return_code(server_new(&second, fixture->event, &options, &err), 0);
	fixture->port = server_port(second);
	assert_int_equal(ask(fixture, request, &answer), 200); /* ::ffff:127.0.0.1 there */
	server_free(second);
}

static void without_descriptors_a_client_is_told_so_and_the_next_one_is_served(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int clients[3] = { connect_tcp(fixture), connect_tcp(fixture),
			   connect_admin(fixture->path) };
	struct rlimit old;
	struct rlimit tight;
	int next = fcntl(0, F_DUPFD_CLOEXEC, 0);

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = (struct rlimit){ .rlim_cur = (rlim_t)next, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	for (int i = 0; i < 3; i++) {
		static const char request[] = "GET /healthz HTTP/1.1\r\n" HOST "\r\n";

		assert_int_equal(ask_bytes(fixture, clients[i], request, strlen(request), &answer),
				 503);
		assert_non_null(strstr(answer.data, "no file descriptor left"));
		assert_non_null(strstr(answer.data, "Content-Type: application/problem+json"));
		clients[i] = fcntl(0, F_DUPFD_CLOEXEC, 0); /* that the client had */
		assert_true(clients[i] >= 0);
	}
	for (int i = 0; i < 3; i++) {
		close(clients[i]);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_alive(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_carry_their_headers),
		TEST(a_connection_is_kept_for_more_requests),
		TEST(pipelined_requests_are_answered_in_order),
		TEST(a_head_has_no_body),
		TEST(a_request_in_single_bytes_is_a_request),
		TEST(an_old_client_without_host_is_served),
		TEST(the_admin_socket_acts_and_closes_after_it),
		TEST(the_admin_socket_is_for_owner_and_group_and_goes_at_the_end),
		TEST(a_dead_socket_is_replaced_a_live_one_or_a_file_is_not),
		TEST(listeners_that_cannot_be_had_are_explained),
		TEST(all_who_wait_for_a_reload_are_told_its_end),
		TEST(a_refused_reload_lists_every_error),
		TEST(a_configuration_that_cannot_be_read_is_no_error_of_it),
		TEST(a_reload_that_ends_at_once_is_answered_at_once),
		TEST(a_client_that_leaves_while_it_waits_is_forgotten),
		TEST_IMPATIENT(a_reload_that_does_not_end_is_answered_with_a_timeout),
		TEST(the_server_ends_while_a_client_waits),
		TEST(answers_are_counted_by_route_and_status),
		TEST(an_inherited_descriptor_that_blocks_is_taken),
		TEST(a_listener_of_both_families_knows_local_clients_by_either),
		TEST(without_descriptors_a_client_is_told_so_and_the_next_one_is_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
