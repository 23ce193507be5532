// SPDX-License-Identifier: MIT
#include "http/server.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "http/listener.h"
#include "http/records.h"
#include "http/routes.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"
#include "util/net.h"

#define SECOND_NS 1000000000ull
#define BACKLOG 64
#define ADMIN_MODE 0660

struct server {
	struct routes routes;
	struct listener *tcp;
	struct listener *admin;
	uint16_t port;
	char *admin_path; /* to remove at the end; NULL when inherited */
	bool is_reloading;
	struct list waiters;
	unsigned run_waiters; /* those for the end of a run */
	sd_event_source *wait_timer; /* the earliest deadline of these */
};

/* A request that is answered later. */
struct waiter {
	struct list link;
	struct exchange *exchange;
	const struct request *request; /* the exchange's */
	struct routes_wait wait;
	uint64_t deadline_mono_ns; /* of one for a run; 0: the run is over */
};

static void arm_wait_timer(struct server *server)
{
	uint64_t next = CLOCK_NEVER;
	struct waiter *waiter;

	list_each(waiter, &server->waiters, link) {
		if (waiter->wait.kind == ROUTES_WAIT_RUN && waiter->deadline_mono_ns < next) {
			next = waiter->deadline_mono_ns;
		}
	}
	if (next == CLOCK_NEVER) {
		sd_event_source_set_enabled(server->wait_timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(server->wait_timer, (next + 999) / 1000);
	sd_event_source_set_enabled(server->wait_timer, SD_EVENT_ONESHOT);
}

static void add_waiter(struct server *server, struct exchange *exchange,
		       const struct request *request, const struct routes_wait *wait)
{
	struct waiter *waiter = memory_new(sizeof(*waiter));

	*waiter = (struct waiter){ .exchange = exchange, .request = request, .wait = *wait };
	list_append(&server->waiters, &waiter->link);
	if (wait->kind == ROUTES_WAIT_RUN) {
		waiter->deadline_mono_ns = clock_mono_ns() + wait->wait_ns;
		server->run_waiters++;
		arm_wait_timer(server);
	} else if (!server->is_reloading) {
		server->is_reloading = true;
		server->routes.view->reload(server->routes.view->arg);
	}
}

static void remove_waiter(struct server *server, struct waiter *waiter)
{
	server->run_waiters -= waiter->wait.kind == ROUTES_WAIT_RUN;
	list_remove(&waiter->link);
	free(waiter);
}

/* Takes what is in *response. */
static void answer_waiter(struct server *server, struct waiter *waiter, const char *route,
			  struct response *response)
{
	metrics_count_request(server->routes.metrics, route, response->status);
	listener_answer(waiter->exchange, response);
	response_done(response);
	remove_waiter(server, waiter);
}

static int on_wait_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct server *server = arg;
	uint64_t now = clock_mono_ns();
	struct waiter *waiter;

	list_each(waiter, &server->waiters, link) {
		struct response response = { 0 };
		const char *route;

		if (waiter->wait.kind != ROUTES_WAIT_RUN || waiter->deadline_mono_ns > now) {
			continue;
		}
		routes_handle(&server->routes, waiter->request, NULL, &response, &route);
		answer_waiter(server, waiter, route, &response);
	}
	arm_wait_timer(server);
	return 0;
}

static bool on_request(void *arg, struct exchange *exchange, const struct request *request,
		       struct response *ret)
{
	struct server *server = arg;
	struct routes_wait wait = { 0 };
	const char *route;
	bool is_answered = routes_handle(&server->routes, request, &wait, ret, &route);

	/* Who would be one too many is answered at once, and may ask again. */
	if (!is_answered && wait.kind == ROUTES_WAIT_RUN &&
	    server->run_waiters >= SERVER_MAX_RUN_WAITERS) {
		is_answered = routes_handle(&server->routes, request, NULL, ret, &route);
	}
	if (is_answered) {
		metrics_count_request(server->routes.metrics, route, ret->status);
	} else {
		add_waiter(server, exchange, request, &wait);
	}
	return is_answered;
}

static void on_gone(void *arg, struct exchange *exchange)
{
	struct server *server = arg;
	struct waiter *waiter;

	list_each(waiter, &server->waiters, link) {
		if (waiter->exchange == exchange) {
			remove_waiter(server, waiter);
		}
	}
}

/* Who waits for a run is told how it is now, and may ask again: a place is for who is there. */
static void on_leaving(void *arg, struct exchange *exchange)
{
	struct server *server = arg;
	struct waiter *waiter;

	list_each(waiter, &server->waiters, link) {
		if (waiter->exchange == exchange && waiter->wait.kind == ROUTES_WAIT_RUN) {
			waiter->deadline_mono_ns = 0;
			arm_wait_timer(server);
			return;
		}
	}
}

void server_run_done(struct server *server, const char *id)
{
	struct waiter *waiter;

	list_each(waiter, &server->waiters, link) {
		if (waiter->wait.kind == ROUTES_WAIT_RUN && strcmp(waiter->wait.run_id, id) == 0) {
			waiter->deadline_mono_ns = 0;
		}
	}
	arm_wait_timer(server);
}

static void write_reload(const struct server_reload *reload, struct response *ret)
{
	json_t *warnings = reload->warnings ? json_deep_copy(reload->warnings) : json_array();
	json_t *object;

	if (reload->unread) {
		response_problem(ret, 503, "configuration-unread", NULL,
				 "%s; generation %" PRIu64 " stays in force", reload->unread,
				 reload->generation);
		json_decref(warnings);
	} else if (reload->is_refused) {
		response_problem_apart(
			ret, 422, "configuration",
			reload->errors ? json_deep_copy(reload->errors) : json_array(), warnings,
			"the configuration has errors; generation %" PRIu64 " stays in force",
			reload->generation);
	} else {
		object = json_object();
		json_set_u64(object, "generation", reload->generation);
		json_set_take(object, "pending_restart", records_words(reload->needs_restart));
		json_set_take(object, "warnings", warnings);
		response_json(ret, 200, object);
	}
}

void server_reload_done(struct server *server, const struct server_reload *reload)
{
	struct waiter *waiter;

	server->is_reloading = false;
	list_each(waiter, &server->waiters, link) {
		struct response response = { 0 };

		if (waiter->wait.kind == ROUTES_WAIT_RELOAD) {
			write_reload(reload, &response);
			answer_waiter(server, waiter, "/v1/reload", &response);
		}
	}
}

/* A socket that nobody listens on is left over from a process that was killed. */
static bool is_dead_socket(const struct sockaddr_un *address)
{
	struct stat status;
	int fd;
	bool is_dead;

	if (lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode)) {
		return false;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return false;
	}
	is_dead = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
		  errno == ECONNREFUSED;
	close(fd);
	return is_dead;
}

/* A listening descriptor or -errno. */
static int listen_admin(const char *path, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int r;

	if (fd < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_CONFIG, "socket",
				      "daemon.admin_socket \"%s\"", path);
	}
	if (!text_copy(address.sun_path, sizeof(address.sun_path), path)) {
		return error_set(
			err, -ENAMETOOLONG, ERROR_INPUT,
			"daemon.admin_socket: \"%s\" is longer than %zu bytes; use a shorter path",
			path, sizeof(address.sun_path) - 1);
	}
	if (is_dead_socket(&address)) {
		unlink(path);
	}
	/* The mode is right from the moment that the socket exists; no other thread makes files at
	 * this time. */
	mask = umask(~(mode_t)ADMIN_MODE & 0777);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
	umask(mask);
	if (r == 0 && listen(fd, BACKLOG) < 0) {
		r = errno;
	}
	if (r == EADDRINUSE) {
		return error_set(
			err, -r, ERROR_RESOURCE,
			"daemon.admin_socket: \"%s\" is in use by another process, or is not a socket; stop that, or name another path",
			path);
	}
	if (r != 0) {
		return error_set_call(
			err, r, ERROR_RESOURCE, STAGE_CONFIG, "bind",
			"daemon.admin_socket: cannot listen on \"%s\"; does its folder exist, and may this user write there?",
			path);
	}
	r = fd;
	fd = -1;
	return r;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) {
		return 0;
	}
	if (address.ss_family == AF_INET) {
		return ntohs(((struct sockaddr_in *)&address)->sin_port);
	}
	return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&address)->sin6_port)
					     : 0;
}

/* A listening descriptor or -errno. */
static int listen_tcp(const char *listen, struct error *err)
{
	char host[256];
	uint16_t port;
	int r = net_split(listen, SERVER_PORT, host, &port, err);

	if (r >= 0) {
		r = net_listen(host, port, err);
	}
	if (r < 0) {
		error_prefix(err, "daemon.http.listen");
	}
	return r;
}

static int start_listener(struct server *server, sd_event *event,
			  const struct server_options *options, int fd, bool is_admin,
			  struct error *err)
{
	struct listener_options listener = {
		.fd = fd,
		.is_admin = is_admin,
		.max_connections = SERVER_MAX_CONNECTIONS,
		.max_connections_per_address = is_admin ? 0 : SERVER_MAX_CONNECTIONS_PER_ADDRESS,
		.request_timeout_ns = options->request_timeout_ns ? options->request_timeout_ns
								  : 10 * SECOND_NS,
		.answer_timeout_ns = options->answer_timeout_ns ? options->answer_timeout_ns
								: 60 * SECOND_NS,
		.handle = on_request,
		.gone = on_gone,
		.leaving = on_leaving,
		.arg = server,
	};

	return listener_new(is_admin ? &server->admin : &server->tcp, event, &listener, err);
}

static int start_tcp(struct server *server, sd_event *event, const struct server_options *options,
		     int fd, struct error *err)
{
	if (fd < 0 && options->listen) {
		fd = listen_tcp(options->listen, err);
		if (fd < 0) {
			return fd;
		}
	}
	if (fd < 0) {
		return 0;
	}
	server->port = port_of(fd);
	return start_listener(server, event, options, fd, false, err);
}

static int start_admin(struct server *server, sd_event *event, const struct server_options *options,
		       int fd, struct error *err)
{
	if (fd < 0 && options->admin_path && options->admin_path[0]) {
		fd = listen_admin(options->admin_path, err);
		if (fd < 0) {
			return fd;
		}
		server->admin_path = memory_copy_string(options->admin_path);
	}
	return fd < 0 ? 0 : start_listener(server, event, options, fd, true, err);
}

static int add_wait_timer(struct server *server, sd_event *event, struct error *err)
{
	int r = sd_event_add_time(event, &server->wait_timer, CLOCK_MONOTONIC, 0, 1000,
				  on_wait_timer, server);

	if (r < 0) {
		return error_set_call(err, -r, ERROR_RESOURCE, STAGE_CONFIG, "sd_event_add_time",
				      "cannot time the answers of the HTTP server");
	}
	sd_event_source_set_enabled(server->wait_timer, SD_EVENT_OFF);
	return 0;
}

int server_new(struct server **ret, sd_event *event, const struct server_options *options,
	       struct error *err)
{
	struct server *server = memory_new(sizeof(*server));
	int r;

	list_init(&server->waiters);
	server->routes = (struct routes){ .view = options->view,
					  .metrics = options->metrics,
					  .node_name = options->node_name };
	r = start_tcp(server, event, options, options->listen_fd, err);
	if (r < 0) {
		if (options->admin_fd >= 0) {
			close(options->admin_fd);
		}
	} else {
		r = start_admin(server, event, options, options->admin_fd, err);
	}
	if (r >= 0) {
		r = add_wait_timer(server, event, err);
	}
	if (r < 0) {
		server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

void server_free(struct server *server)
{
	if (!server) {
		return;
	}
	listener_free(server->tcp);
	listener_free(server->admin);
	sd_event_source_disable_unref(server->wait_timer);
	if (server->admin_path) {
		unlink(server->admin_path);
		free(server->admin_path);
	}
	free(server);
}

void server_stop_actions(struct server *server)
{
	server->routes.is_stopping = true;
}

uint16_t server_port(const struct server *server)
{
	return server->port;
}
