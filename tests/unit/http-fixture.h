// SPDX-License-Identifier: MIT
#pragma once

/*
 * A server over a daemon that answers little, and raw clients, all in one event loop: shared by
 * test-http*.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/records.h"
#include "http/server.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/net.h"

#define MS 1000000ull
#define ID "01J8Z3R6Q0W4T5Y6A7S8D9F0GH"
#define HOST "Host: localhost\r\n"
#define BIG_PAIRS 500 /* about 2 MB */

struct fixture {
	sd_event *event;
	struct server *server;
	struct metrics *metrics;
	struct view view;
	char path[108];
	uint16_t port;
	unsigned starts;
	unsigned reloads;
	bool is_reload_at_once;
	struct run *run; /* NULL: none is known */
	const char *run_state;
};

static inline json_t *give_object(void *arg)
{
	return json_pack("{s:s}", "node", "n1");
}

static inline json_t *give_item(void *arg, size_t index)
{
	return NULL;
}

static inline json_t *give_port(void *arg, size_t peer, size_t index)
{
	return NULL;
}

static inline int give_runs(void *arg, const struct view_query *query, struct run **ret_runs,
			    size_t *ret_count, bool *ret_more)
{
	*ret_count = 0;
	*ret_more = false;
	return 0;
}

static inline struct run *give_run(void *arg, const char *id)
{
	struct fixture *fixture = arg;

	return fixture->run ? run_ref(fixture->run) : NULL;
}

/* One with so many pairs, known to the daemon from now on. */
static inline void make_run(struct fixture *fixture, size_t pairs)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));

	schema_defaults(scenario_fields, scenario);
	text_copy(scenario->name, sizeof(scenario->name), "smoke");
	run_free(fixture->run);
	fixture->run = run_new(scenario);
	text_copy(fixture->run->id, sizeof(fixture->run->id), ID);
	for (size_t i = 0; i < pairs; i++) {
		run_add_measurement(fixture->run);
	}
}

static inline json_t *give_progress(void *arg, const char *id)
{
	return json_pack("{s:s,s:s}", "id", id, "state", ((struct fixture *)arg)->run_state);
}

static inline bool give_readiness(void *arg, json_t **ret_checks)
{
	*ret_checks = json_array();
	return true;
}

static inline bool give_life(void *arg)
{
	return true;
}

static inline void give_gauges(void *arg, struct metrics_gauges *ret)
{
	ret->version = "0";
}

static inline int do_start(void *arg, const char *scenario, char *ret_id, struct error *err)
{
	((struct fixture *)arg)->starts++;
	text_copy(ret_id, 32, ID);
	return 0;
}

static inline int do_cancel(void *arg, const char *id, struct error *err)
{
	return 0;
}

static inline void do_reload(void *arg)
{
	struct fixture *fixture = arg;

	fixture->reloads++;
	if (fixture->is_reload_at_once) {
		server_reload_done(fixture->server,
				   &(struct server_reload){ .generation = 7, .needs_restart = "" });
	}
}

/* Timeouts short enough to wait for, or those of the product, which a busy machine does not meet by
 * accident. */
static inline int set_up_with(void **state, bool is_patient)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));
	struct error err = ERROR_INIT;
	struct server_options options = {
		.listen_fd = net_listen("127.0.0.1", 0, &err),
		.admin_fd = -1,
		.admin_path = fixture->path,
		.node_name = "n1",
		.view = &fixture->view,
		.request_timeout_ns = is_patient ? 0 : 400 * MS,
		.answer_timeout_ns = is_patient ? 0 : 900 * MS,
	};

	snprintf(fixture->path, sizeof(fixture->path), "%.60s/http-test-%ld.sock",
		 getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir, (long)getpid());
	fixture->view = (struct view){
		.arg = fixture,
		.status = give_object,
		.device = give_item,
		.peer = give_item,
		.peer_port = give_port,
		.scenario = give_item,
		.runs = give_runs,
		.run = give_run,
		.progress = give_progress,
		.is_ready = give_readiness,
		.is_alive = give_life,
		.gauges = give_gauges,
		.start = do_start,
		.cancel = do_cancel,
		.reload = do_reload,
	};
	fixture->run_state = "running";
	fixture->metrics = metrics_new("n1");
	options.metrics = fixture->metrics;
	assert_return_code(sd_event_new(&fixture->event), 0);
	assert_return_code(server_new(&fixture->server, fixture->event, &options, &err), 0);
	fixture->port = server_port(fixture->server);
	assert_int_not_equal(fixture->port, 0);
	*state = fixture;
	return 0;
}

static inline int set_up(void **state)
{
	return set_up_with(state, true);
}

static inline int set_up_impatient(void **state)
{
	return set_up_with(state, false);
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	server_free(fixture->server);
	run_free(fixture->run);
	metrics_free(fixture->metrics);
	sd_event_unref(fixture->event);
	free(fixture);
	return 0;
}

/* --- clients --- */

static inline int connect_tcp(struct fixture *fixture)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(fixture->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
		    errno == EINPROGRESS);
	return fd;
}

static inline int connect_admin(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	text_copy(address.sun_path, sizeof(address.sun_path), path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Lets the server work for so long. */
static inline void turn(struct fixture *fixture, uint64_t for_ns)
{
	uint64_t end = clock_mono_ns() + for_ns;
	uint64_t now;

	while ((now = clock_mono_ns()) < end) {
		sd_event_run(fixture->event, (end - now) / 1000);
	}
}

/* A partial write is the server's choice (it may have closed): not an error here. */
static inline void send_bytes(struct fixture *fixture, int fd, const char *bytes, size_t count)
{
	uint64_t end = clock_mono_ns() + 2000 * MS;

	while (count > 0 && clock_mono_ns() < end) {
		ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) {
			return;
		}
		if (sent > 0) {
			bytes += sent;
			count -= (size_t)sent;
		} else {
			sd_event_run(fixture->event, 1000);
		}
	}
}

/* Reads what is there; 0: closed, -1: nothing now. */
static inline ssize_t receive(int fd, struct text *out)
{
	char buffer[16384];
	ssize_t count = recv(fd, buffer, sizeof(buffer), 0);

	if (count > 0) {
		text_add_bytes(out, buffer, (size_t)count);
		return count;
	}
	return count == 0 || (errno != EAGAIN && errno != ENOTCONN) ? 0 : -1;
}

static inline bool is_chunked(const char *head)
{
	const char *header = strstr(head, "Transfer-Encoding: chunked\r\n");

	return header && header < strstr(head, "\r\n\r\n");
}

/* The body of one answer, chunks put together. */
static inline void read_body(const struct text *answer, struct text *body)
{
	const char *at = strstr(answer->data, "\r\n\r\n") + 4;
	size_t count;
	char *end;

	if (!is_chunked(answer->data)) {
		text_add(body, at);
		return;
	}
	while ((count = strtoul(at, &end, 16)) > 0) {
		assert_true(text_starts_with(end, "\r\n"));
		text_add_bytes(body, end + 2, count);
		at = end + 2 + count;
		assert_true(text_starts_with(at, "\r\n"));
		at += 2;
	}
}

/* True when a whole answer, body by Content-Length or chunks, is in `out` from `from` on. */
static inline bool is_whole(const struct text *out, size_t from, bool has_body)
{
	const char *head = out->length > from ? out->data + from : "";
	const char *body = strstr(head, "\r\n\r\n");
	const char *length = strstr(head, "Content-Length: ");

	if (!body) {
		return false;
	}
	if (has_body && is_chunked(head)) {
		return text_starts_with(out->data + out->length - 5, "0\r\n\r\n");
	}
	if (!has_body || !length || length > body) {
		return true;
	}
	return out->length - (size_t)(body + 4 - out->data) >= strtoul(length + 16, NULL, 10);
}

/* Reads one answer; false: the connection was closed, or nothing came in time. */
static inline bool read_answer(struct fixture *fixture, int fd, struct text *out, bool has_body)
{
	uint64_t end = clock_mono_ns() + 3000 * MS;
	size_t from = out->length;

	text_add(out, "");
	while (clock_mono_ns() < end) {
		ssize_t r = receive(fd, out);

		if (is_whole(out, from, has_body)) {
			return true;
		}
		if (r == 0) {
			return false;
		}
		if (r < 0) {
			sd_event_run(fixture->event, 1000);
		}
	}
	return false;
}

/* Whether the server closes within that time; what comes until then goes to `out`. */
static inline bool is_closed_within(struct fixture *fixture, int fd, uint64_t for_ns,
				    struct text *out)
{
	uint64_t end = clock_mono_ns() + for_ns;

	text_add(out, "");
	while (clock_mono_ns() < end) {
		ssize_t r = receive(fd, out);

		if (r == 0) {
			return true;
		}
		if (r < 0) {
			sd_event_run(fixture->event, 1000);
		}
	}
	return false;
}

static inline unsigned status_of(const struct text *answer)
{
	return answer->length > 12 && text_starts_with(answer->data, "HTTP/1.")
		       ? (unsigned)strtoul(answer->data + 9, NULL, 10)
		       : 0;
}

/* One request on a connection of its own, up to the close; its status, 0: none. */
static inline unsigned ask_bytes(struct fixture *fixture, int fd, const char *bytes, size_t count,
				 struct text *answer)
{
	text_reset(answer);
	send_bytes(fixture, fd, bytes, count);
	shutdown(fd, SHUT_WR);
	is_closed_within(fixture, fd, 1500 * MS, answer);
	close(fd);
	return status_of(answer);
}

static inline unsigned ask(struct fixture *fixture, const char *request, struct text *answer)
{
	return ask_bytes(fixture, connect_tcp(fixture), request, strlen(request), answer);
}

static inline unsigned ask_admin(struct fixture *fixture, const char *request, struct text *answer)
{
	return ask_bytes(fixture, connect_admin(fixture->path), request, strlen(request), answer);
}

static inline void assert_alive(struct fixture *fixture)
{
	_cleanup_text_ struct text answer = TEXT_INIT;

	assert_int_equal(ask(fixture, "GET /healthz HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
			     &answer),
			 200);
	assert_non_null(strstr(answer.data, "\r\n\r\nok\n"));
}

static const char reload_request[] =
	"POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";

static inline int begin_reload(struct fixture *fixture)
{
	int fd = connect_admin(fixture->path);

	send_bytes(fixture, fd, reload_request, sizeof(reload_request) - 1);
	turn(fixture, 20 * MS);
	return fd;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
#define TEST_IMPATIENT(function) \
	cmocka_unit_test_setup_teardown(function, set_up_impatient, tear_down)
