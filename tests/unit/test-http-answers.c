// SPDX-License-Identifier: MIT
/* Answers that take their time: what is large, and what is waited for. */
#include "unit/http-fixture.h"

/* --- large ones --- */

static void expect_record(struct fixture *fixture, const struct text *answer)
{
	_cleanup_json_ json_t *record = run_write(fixture->run, false);
	_cleanup_text_ struct text expected = TEXT_INIT;
	_cleanup_text_ struct text body = TEXT_INIT;

	json_write(record, &expected);
	text_add(&expected, "\n");
	read_body(answer, &body);
	assert_int_equal(body.length, expected.length);
	assert_memory_equal(body.data, expected.data, expected.length);
}

static const char big_request[] = "GET /v1/runs/" ID " HTTP/1.1\r\n" HOST "\r\n";

static void an_answer_of_megabytes_arrives_whole_at_a_slow_reader(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);

	make_run(fixture, BIG_PAIRS);
	send_bytes(fixture, fd, big_request, sizeof(big_request) - 1);
	for (unsigned i = 0; i < 20; i++) {
		turn(fixture, 5 * MS);
		receive(fd, &answer);
	}
	assert_false(is_whole(&answer, 0, true));
	assert_alive(fixture);
	while (!is_whole(&answer, 0, true)) {
		ssize_t r = receive(fd, &answer);

		assert_int_not_equal(r, 0);
		if (r < 0) {
			sd_event_run(fixture->event, 1000);
		}
	}
	expect_record(fixture, &answer);
	/* The connection serves on. */
	text_reset(&answer);
	make_run(fixture, 0);
	send_bytes(fixture, fd, big_request, sizeof(big_request) - 1);
	assert_true(read_answer(fixture, fd, &answer, true));
	assert_non_null(strstr(answer.data, "Content-Length: "));
	expect_record(fixture, &answer);
	close(fd);
}

static void a_large_answer_leaves_others_their_turn(void **state)
{
	struct fixture *fixture = *state;
	struct text answers[3] = { TEXT_INIT, TEXT_INIT, TEXT_INIT };
	size_t before = 0;
	int fds[3];

	make_run(fixture, BIG_PAIRS);
	for (size_t i = 0; i < 3; i++) {
		fds[i] = connect_tcp(fixture);
		send_bytes(fixture, fds[i], big_request, sizeof(big_request) - 1);
		text_add(&answers[i], "");
	}
	while (!is_whole(&answers[0], 0, true) || !is_whole(&answers[1], 0, true) ||
	       !is_whole(&answers[2], 0, true)) {
		size_t after = 0;

		sd_event_run(fixture->event, 1000);
		for (size_t i = 0; i < 3; i++) {
			while (receive(fds[i], &answers[i]) > 0) {
			}
			after += answers[i].length;
		}
		/* A turn of the loop makes a few pieces of each. */
		assert_true(after - before <= 3 * (64u << 10));
		before = after;
	}
	for (size_t i = 0; i < 3; i++) {
		expect_record(fixture, &answers[i]);
		text_done(&answers[i]);
		close(fds[i]);
	}
}

static void a_reader_of_a_large_answer_may_leave(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);

	make_run(fixture, BIG_PAIRS);
	send_bytes(fixture, fd, big_request, sizeof(big_request) - 1);
	turn(fixture, 20 * MS);
	make_run(fixture, 0); /* the history lets go of it */
	assert_true(receive(fd, &answer) > 0);
	close(fd);
	turn(fixture, 20 * MS);
	assert_alive(fixture);
	assert_int_equal(fixture->run->extra_references, 0);
	/* And the server may end before it is through. */
	fd = connect_tcp(fixture);
	make_run(fixture, BIG_PAIRS);
	send_bytes(fixture, fd, big_request, sizeof(big_request) - 1);
	turn(fixture, 20 * MS);
	server_free(take(fixture->server));
	assert_int_equal(fixture->run->extra_references, 0);
	close(fd);
}

static void a_large_answer_has_no_chunks_for_an_old_client_and_no_body_for_head(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = connect_tcp(fixture);

	make_run(fixture, BIG_PAIRS);
	send_bytes(fixture, fd, "GET /v1/runs/" ID " HTTP/1.0\r\n\r\n",
		   strlen("GET /v1/runs/" ID " HTTP/1.0\r\n\r\n"));
	while (receive(fd, &answer) != 0) {
		sd_event_run(fixture->event, 1000);
	}
	close(fd);
	assert_false(is_chunked(answer.data));
	expect_record(fixture, &answer);
	assert_int_equal(ask(fixture, "HEAD /v1/runs/" ID " HTTP/1.1\r\n" HOST "\r\n", &answer),
			 200);
	assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n");
}

/* --- the end of a run --- */

#define WAIT(time) "GET /v1/runs/" ID "/progress?wait=" time " HTTP/1.1\r\n" HOST "\r\n"

static int begin_wait(struct fixture *fixture, const char *request)
{
	int fd = connect_tcp(fixture);

	send_bytes(fixture, fd, request, strlen(request));
	turn(fixture, 20 * MS);
	return fd;
}

static void all_who_wait_for_a_run_are_told_its_end(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text first = TEXT_INIT;
	_cleanup_text_ struct text second = TEXT_INIT;
	int a = begin_wait(fixture, WAIT("50s"));
	int b = begin_wait(fixture, WAIT("49s"));

	server_run_done(fixture->server, "01J8Z3R6Q0W4T5Y6A7S8D9F0GG");
	turn(fixture, 20 * MS);
	assert_int_equal(receive(a, &first), -1);
	assert_int_equal(receive(b, &second), -1);
	assert_alive(fixture);
	fixture->run_state = "done";
	server_run_done(fixture->server, ID);
	assert_true(read_answer(fixture, a, &first, true));
	assert_true(read_answer(fixture, b, &second, true));
	assert_int_equal(status_of(&first), 200);
	assert_non_null(strstr(first.data, "\"state\":\"done\""));
	assert_non_null(strstr(second.data, "\"state\":\"done\""));
	/* The connection serves on. */
	text_reset(&first);
	send_bytes(fixture, a, WAIT("50s"), strlen(WAIT("50s")));
	assert_true(read_answer(fixture, a, &first, true));
	close(a);
	close(b);
	server_run_done(fixture->server, ID);
	turn(fixture, 5 * MS);
	assert_alive(fixture);
}

static void a_wait_for_a_run_ends_with_its_time_and_the_progress_then(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int longer = begin_wait(fixture, WAIT("50s"));
	int fd = begin_wait(fixture, WAIT("1ms"));

	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 200);
	assert_non_null(strstr(answer.data, "\"state\":\"running\""));
	text_reset(&answer);
	assert_int_equal(receive(longer, &answer), -1);
	close(fd);
	close(longer);
}

static void one_too_many_who_wait_for_a_run_is_answered_at_once(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fds[SERVER_MAX_RUN_WAITERS + 1];

	for (size_t i = 0; i <= SERVER_MAX_RUN_WAITERS; i++) {
		fds[i] = begin_wait(fixture, WAIT("50s"));
	}
	assert_true(read_answer(fixture, fds[SERVER_MAX_RUN_WAITERS], &answer, true));
	assert_int_equal(status_of(&answer), 200);
	for (size_t i = 0; i < SERVER_MAX_RUN_WAITERS; i++) {
		text_reset(&answer);
		assert_int_equal(receive(fds[i], &answer), -1);
	}
	server_run_done(fixture->server, ID);
	for (size_t i = 0; i < SERVER_MAX_RUN_WAITERS; i++) {
		text_reset(&answer);
		assert_true(read_answer(fixture, fds[i], &answer, true));
	}
	/* Their places are free again. */
	text_reset(&answer);
	send_bytes(fixture, fds[0], WAIT("50s"), strlen(WAIT("50s")));
	turn(fixture, 20 * MS);
	assert_int_equal(receive(fds[0], &answer), -1);
	for (size_t i = 0; i <= SERVER_MAX_RUN_WAITERS; i++) {
		close(fds[i]);
	}
}

static void who_leaves_while_it_waits_for_a_run_gives_its_place_back(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fds[SERVER_MAX_RUN_WAITERS];
	int last;

	for (size_t i = 0; i < SERVER_MAX_RUN_WAITERS; i++) {
		fds[i] = begin_wait(fixture, WAIT("50s"));
	}
	for (size_t i = 0; i < SERVER_MAX_RUN_WAITERS; i++) {
		close(fds[i]);
	}
	turn(fixture, 20 * MS);
	last = begin_wait(fixture, WAIT("50s"));
	assert_int_equal(receive(last, &answer), -1); /* it waits: the places are free */
	server_run_done(fixture->server, ID);
	assert_true(read_answer(fixture, last, &answer, true));
	close(last);
	assert_alive(fixture);
}

static void who_has_said_all_and_waits_for_a_run_is_answered_at_once(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_wait(fixture, WAIT("50s"));

	assert_int_equal(receive(fd, &answer), -1);
	shutdown(fd, SHUT_WR);
	assert_true(read_answer(fixture, fd, &answer, true));
	assert_int_equal(status_of(&answer), 200);
	assert_non_null(strstr(answer.data, "\"state\":\"running\""));
	close(fd);
}

static void a_reload_and_a_run_are_waited_for_side_by_side(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text run = TEXT_INIT;
	_cleanup_text_ struct text reload = TEXT_INIT;
	int waiting = begin_wait(fixture, WAIT("50s"));
	int reloading = begin_reload(fixture);

	server_reload_done(fixture->server,
			   &(struct server_reload){ .generation = 3, .needs_restart = "" });
	assert_true(read_answer(fixture, reloading, &reload, true));
	assert_non_null(strstr(reload.data, "generation"));
	assert_int_equal(receive(waiting, &run), -1);
	close(reloading);
	reloading = begin_reload(fixture);
	text_reset(&reload);
	server_run_done(fixture->server, ID);
	assert_true(read_answer(fixture, waiting, &run, true));
	assert_int_equal(receive(reloading, &reload), -1);
	close(reloading);
	close(waiting);
}

static void the_server_ends_while_a_client_waits_for_a_run(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text answer = TEXT_INIT;
	int fd = begin_wait(fixture, WAIT("50s"));

	server_free(take(fixture->server));
	while (receive(fd, &answer) > 0) {
	}
	assert_int_equal(status_of(&answer), 503);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_answer_of_megabytes_arrives_whole_at_a_slow_reader),
		TEST(a_large_answer_leaves_others_their_turn),
		TEST(a_reader_of_a_large_answer_may_leave),
		TEST(a_large_answer_has_no_chunks_for_an_old_client_and_no_body_for_head),
		TEST(all_who_wait_for_a_run_are_told_its_end),
		TEST(a_wait_for_a_run_ends_with_its_time_and_the_progress_then),
		TEST(one_too_many_who_wait_for_a_run_is_answered_at_once),
		TEST(who_leaves_while_it_waits_for_a_run_gives_its_place_back),
		TEST(who_has_said_all_and_waits_for_a_run_is_answered_at_once),
		TEST(a_reload_and_a_run_are_waited_for_side_by_side),
		TEST(the_server_ends_while_a_client_waits_for_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
