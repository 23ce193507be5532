// SPDX-License-Identifier: MIT
#include "http/listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/exchange.h"
#include "http/shortage.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"

#define CONNECTION_MEMORY_BYTES (24u * 1024)
#define SHORT_LOOK_MS 10 /* while no descriptor is left */

struct listener {
	struct listener_options options;
	sd_event *event;
	struct MHD_Daemon *daemon;
	sd_event_source *io;
	sd_event_source *turn; /* libmicrohttpd wants to run again */
	sd_event_source *deadline;
	struct list clients;
	bool has_closed; /* a connection, in this run */
	unsigned streams; /* bodies that are made while they are sent */
	struct shortage shortage; /* of descriptors */
};

/* One connection. */
struct client {
	struct list link;
	struct listener *listener;
	int fd;
	uint64_t deadline_mono_ns;
	struct exchange *exchange; /* the request under way, or NULL */
	sd_event_source *leaving; /* while that waits */
};

static struct client *client_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* --- time --- */

static void arm(sd_event_source *timer, uint64_t at_mono_ns)
{
	if (at_mono_ns == CLOCK_NEVER) {
		sd_event_source_set_enabled(timer, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(timer, at_mono_ns / 1000 + 1);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static void arm_deadline(struct listener *listener)
{
	uint64_t next = CLOCK_NEVER;
	struct client *client;

	list_each(client, &listener->clients, link) {
		next = client->deadline_mono_ns < next ? client->deadline_mono_ns : next;
	}
	arm(listener->deadline, next);
}

static void set_deadline(struct client *client, uint64_t timeout_ns)
{
	client->deadline_mono_ns = clock_mono_ns() + timeout_ns;
	arm_deadline(client->listener);
}

/* What it did not read yet is thrown away, or the kernel would go on sending it. libmicrohttpd
 * finds the end and closes. */
static void cut_off(struct client *client)
{
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	shutdown(client->fd, SHUT_RDWR);
}

/*
 * An end that came together with the last bytes is one edge, and libmicrohttpd forgets it: the
 * connection would hold its place up to the deadline. Who still waits for an answer may have closed
 * the other direction.
 */
static void end_gone(struct listener *listener)
{
	struct client *client;

	list_each(client, &listener->clients, link) {
		struct pollfd poll_fd = { .fd = client->fd, .events = POLLRDHUP };
		int unread_bytes = 0;

		if (client->exchange && client->exchange->state != EXCHANGE_READING) {
			continue;
		}
		if (poll(&poll_fd, 1, 0) == 1 && ioctl(client->fd, FIONREAD, &unread_bytes) == 0 &&
		    unread_bytes == 0) {
			shutdown(client->fd, SHUT_RDWR); /* what is on its way still arrives */
		}
	}
}

/* Its epoll is edge-triggered: what a run leaves undone is known by MHD_get_timeout alone. */
static void run(struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
	bool has_timeout;
	bool is_short = !shortage_look(&listener->shortage, listener->options.fd);

	listener->has_closed = false;
	MHD_run(listener->daemon);
	has_timeout = MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES;
	if (!has_timeout || timeout_ms > 0) {
		end_gone(listener);
	}
	/* With all places taken it stops listening, and begins again not when one is free but when
	 * it is run the next time. */
	if (listener->has_closed) {
		has_timeout = true;
		timeout_ms = 0;
	}
	/* Its epoll stays ready while somebody waits whom nobody can accept. */
	sd_event_source_set_enabled(listener->io, is_short ? SD_EVENT_OFF : SD_EVENT_ON);
	if (is_short && (!has_timeout || timeout_ms > SHORT_LOOK_MS)) {
		has_timeout = true;
		timeout_ms = SHORT_LOOK_MS;
	}
	arm(listener->turn, has_timeout ? clock_mono_ns() + timeout_ms * 1000000 : CLOCK_NEVER);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	run(arg);
	return 0;
}

static int on_turn(sd_event_source *source, uint64_t usec, void *arg)
{
	run(arg);
	return 0;
}

/* Its own timeout is of inactivity only: a byte a second would keep a connection for ever. */
static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
	struct listener *listener = arg;
	uint64_t now = clock_mono_ns();
	struct client *client;

	list_each(client, &listener->clients, link) {
		if (client->deadline_mono_ns > now) {
			continue;
		}
		client->deadline_mono_ns = CLOCK_NEVER;
		if (client->exchange && client->exchange->state == EXCHANGE_WAITING) {
			struct exchange *exchange = client->exchange;
			struct response response = { 0 };

			listener->options.gone(listener->options.arg, exchange);
			response_problem(
				&response, 504, "too-slow", NULL,
				"this takes too long; it may still come to its end, GET /v1/status tells");
			listener_answer(exchange, &response);
		} else {
			cut_off(client);
		}
	}
	arm_deadline(listener);
	arm(listener->turn, now);
	return 0;
}

/* --- requests --- */

/* libmicrohttpd does not look at a connection whose request waits. */
static int on_leaving(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct client *client = arg;
	struct listener *listener = client->listener;

	client->leaving = sd_event_source_disable_unref(client->leaving);
	if (client->exchange && client->exchange->state == EXCHANGE_WAITING) {
		listener->options.leaving(listener->options.arg, client->exchange);
	}
	return 0;
}

/* The first that is told of a request. */
static void *begin_exchange(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct listener *listener = arg;
	struct client *client = client_of(connection);
	struct exchange *exchange =
		exchange_new(connection, client, listener->options.is_admin, target);

	if (client) {
		client->exchange = exchange;
	}
	return exchange;
}

static enum MHD_Result answer(struct listener *listener, struct exchange *exchange)
{
	set_deadline(exchange->client, listener->options.answer_timeout_ns);
	return exchange_send(exchange, &listener->streams);
}

static enum MHD_Result handle(struct listener *listener, struct exchange *exchange)
{
	const struct listener_options *options = &listener->options;

	exchange->state = EXCHANGE_HANDLING;
	set_deadline(exchange->client, options->answer_timeout_ns);
	if (options->handle(options->arg, exchange, &exchange->request, &exchange->response)) {
		exchange->state = EXCHANGE_ANSWERED;
	}
	/* Answers to what changes something end their connection: nothing can be smuggled in
	 * behind. */
	if (strcmp(exchange->request.method, "GET") != 0 &&
	    strcmp(exchange->request.method, "HEAD") != 0) {
		exchange->response.must_close = true;
	}
	if (exchange->state == EXCHANGE_ANSWERED) {
		return answer(listener, exchange);
	}
	exchange->state = EXCHANGE_WAITING;
	/* Without it a client that left keeps its place until its time is over. */
	(void)sd_event_add_io(listener->event, &exchange->client->leaving, exchange->client->fd,
			      EPOLLRDHUP, on_leaving, exchange->client);
	MHD_suspend_connection(exchange->connection);
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **context)
{
	struct listener *listener = arg;
	struct exchange *exchange = *context;

	if (!exchange || !exchange->client) {
		return MHD_NO;
	}
	if (!exchange->is_begun) {
		exchange->is_begun = true;
		return exchange_check_head(exchange, method, version) ? MHD_YES
								      : answer(listener, exchange);
	}
	if (*upload_bytes > 0) {
		return MHD_NO; /* a body that was not announced */
	}
	return exchange->state == EXCHANGE_ANSWERED ? answer(listener, exchange)
						    : handle(listener, exchange);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct listener *listener = arg;
	struct exchange *exchange = *context;

	if (!exchange) {
		return;
	}
	if (exchange->state == EXCHANGE_WAITING) {
		listener->options.gone(listener->options.arg, exchange);
	}
	if (exchange->client) {
		exchange->client->exchange = NULL;
		set_deadline(exchange->client, listener->options.request_timeout_ns);
	}
	exchange_free(exchange);
	*context = NULL;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct listener *listener = arg;
	struct client *client = *context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		client = memory_new(sizeof(*client));
		client->listener = listener;
		client->fd = info->connect_fd;
		list_append(&listener->clients, &client->link);
		*context = client;
		set_deadline(client, listener->options.request_timeout_ns);
	} else if (client) {
		list_remove(&client->link);
		sd_event_source_disable_unref(client->leaving);
		listener->has_closed = true;
		free(client);
		*context = NULL;
	}
}

void listener_answer(struct exchange *exchange, struct response *response)
{
	struct listener *listener = exchange->client->listener;
	bool must_close = exchange->response.must_close || response->must_close;

	assert(exchange->state == EXCHANGE_HANDLING || exchange->state == EXCHANGE_WAITING);
	exchange->client->leaving = sd_event_source_disable_unref(exchange->client->leaving);
	response_done(&exchange->response);
	exchange->response = *response;
	exchange->response.must_close = must_close;
	response->body = TEXT_INIT;
	response->pieces = NULL;
	if (exchange->state == EXCHANGE_WAITING) {
		MHD_resume_connection(exchange->connection);
		arm(listener->turn, clock_mono_ns());
	}
	exchange->state = EXCHANGE_ANSWERED;
}

/* --- life --- */

static void on_log(void *arg, const char *format, va_list arguments)
{
	char line[256];

	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	log_debug("http: %s", line);
}

static struct MHD_Daemon *start(struct listener *listener)
{
	const struct listener_options *options = &listener->options;
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	/* The logger is first, so that it hears of trouble with the others. */
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, listener,
				MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET,
				options->fd, MHD_OPTION_CONNECTION_LIMIT, options->max_connections,
				MHD_OPTION_PER_IP_CONNECTION_LIMIT,
				options->max_connections_per_address,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
				MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
				begin_exchange, listener, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
				listener, MHD_OPTION_NOTIFY_CONNECTION, on_connection, listener,
				MHD_OPTION_END);
}

int listener_new(struct listener **ret, sd_event *event, const struct listener_options *options,
		 struct error *err)
{
	struct listener *listener = memory_new(sizeof(*listener));
	const union MHD_DaemonInfo *info;
	int r;

	listener->options = *options;
	listener->event = event;
	list_init(&listener->clients);
	shortage_init(&listener->shortage);
	/* An inherited descriptor may still block. */
	fcntl(options->fd, F_SETFL, fcntl(options->fd, F_GETFL) | O_NONBLOCK);
	fcntl(options->fd, F_SETFD, FD_CLOEXEC);
	listener->daemon = start(listener);
	if (!listener->daemon) {
		r = error_set_call(err, errno ? errno : ENOMEM, ERROR_RESOURCE, STAGE_CONFIG,
				   "MHD_start_daemon", "cannot start the HTTP server");
		close(options->fd);
		listener_free(listener);
		return r;
	}
	info = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	r = sd_event_add_io(event, &listener->io, info->epoll_fd, EPOLLIN, on_readable, listener);
	if (r >= 0) {
		r = sd_event_add_time(event, &listener->turn, CLOCK_MONOTONIC, 0, 1, on_turn,
				      listener);
	}
	if (r >= 0) {
		r = sd_event_add_time(event, &listener->deadline, CLOCK_MONOTONIC, 0, 1000,
				      on_deadline, listener);
	}
	if (r < 0) {
		error_set_call(err, -r, ERROR_RESOURCE, STAGE_CONFIG, "sd_event_add_io",
			       "cannot watch the HTTP server");
		listener_free(listener);
		return r;
	}
	arm(listener->deadline, CLOCK_NEVER);
	arm(listener->turn, clock_mono_ns());
	*ret = listener;
	return 0;
}

/* A suspended connection when the daemon stops is an abort() there: all are answered and resumed
 * before. */
static void resume_all(struct listener *listener)
{
	struct client *client;

	list_each(client, &listener->clients, link) {
		struct exchange *exchange = client->exchange;
		struct response response = { 0 };

		if (exchange && exchange->state == EXCHANGE_WAITING) {
			listener->options.gone(listener->options.arg, exchange);
			response_problem(&response, 503, "stopping", NULL,
					 "the daemon ended before this could be answered");
			listener_answer(exchange, &response);
		}
	}
}

void listener_free(struct listener *listener)
{
	if (!listener) {
		return;
	}
	/* Its descriptor is closed by MHD_stop_daemon: the loop lets go of it before. */
	sd_event_source_disable_unref(listener->io);
	if (listener->daemon) {
		resume_all(listener);
		/* One run takes them up again, the next sends. */
		MHD_run(listener->daemon);
		MHD_run(listener->daemon);
		MHD_stop_daemon(listener->daemon);
	}
	sd_event_source_disable_unref(listener->turn);
	sd_event_source_disable_unref(listener->deadline);
	shortage_done(&listener->shortage);
	free(listener);
}
