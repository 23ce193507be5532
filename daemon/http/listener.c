// SPDX-License-Identifier: MIT
#include "http/listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"

#define CONNECTION_MEMORY_BYTES (24u * 1024)

struct listener {
	struct listener_options options;
	struct MHD_Daemon *daemon;
	sd_event_source *io;
	sd_event_source *turn; /* libmicrohttpd wants to run again */
	sd_event_source *deadline;
	struct list clients;
};

/* One connection. */
struct client {
	struct list link;
	struct listener *listener;
	int fd;
	uint64_t deadline_mono_ns;
	struct exchange *exchange; /* the one that waits for its answer, or NULL */
};

enum exchange_state {
	EXCHANGE_READING,
	EXCHANGE_HANDLING, /* inside the handler */
	EXCHANGE_WAITING, /* suspended */
	EXCHANGE_ANSWERED, /* the response is there, not yet queued */
	EXCHANGE_SENDING,
};

struct exchange {
	struct listener *listener;
	struct client *client;
	struct MHD_Connection *connection;
	enum exchange_state state;
	bool is_begun;
	unsigned target_status;
	const char *target_problem; /* static; NULL: the target is fine */
	struct request request;
	struct response response;
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

/* Its epoll is edge-triggered: what a run leaves undone is known by MHD_get_timeout alone. */
static void run(struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;

	MHD_run(listener->daemon);
	if (MHD_get_timeout(listener->daemon, &timeout_ms) == MHD_YES) {
		arm(listener->turn, clock_mono_ns() + timeout_ms * 1000000);
	} else {
		arm(listener->turn, CLOCK_NEVER);
	}
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
			shutdown(client->fd, SHUT_RDWR);
		}
	}
	arm_deadline(listener);
	arm(listener->turn, now);
	return 0;
}

/* --- requests --- */

static enum request_origin origin_of(const struct listener *listener,
				     struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info ? info->client_addr : NULL;
	const struct in6_addr *v6;
	bool is_local = false;

	if (listener->options.is_admin) {
		return REQUEST_ADMIN;
	}
	if (!address) {
		return REQUEST_REMOTE;
	}
	switch (address->sa_family) {
	case AF_INET:
		is_local = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
			   127;
		break;
	case AF_INET6:
		v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
		is_local = IN6_IS_ADDR_LOOPBACK(v6) ||
			   (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
		break;
	case AF_UNIX:
		is_local = true;
		break;
	default:
		break;
	}
	return is_local ? REQUEST_LOCAL : REQUEST_REMOTE;
}

/* The first that is told of a request: its target before anything is decoded or cut at a NUL. */
static void *begin_exchange(void *arg, const char *target, struct MHD_Connection *connection)
{
	struct exchange *exchange = memory_new(sizeof(*exchange));

	exchange->listener = arg;
	exchange->client = client_of(connection);
	exchange->connection = connection;
	exchange->request.origin = origin_of(arg, connection);
	exchange->target_problem =
		request_read_target(&exchange->request, target, &exchange->target_status);
	return exchange;
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	request_add_header(arg, name, value);
	return MHD_YES;
}

static void add(struct MHD_Response *answer, const char *name, const char *value)
{
	if (value && value[0]) {
		MHD_add_response_header(answer, name, value);
	}
}

static enum MHD_Result send_answer(struct exchange *exchange)
{
	static const char policy[] =
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
		"frame-ancestors 'none'";
	struct response *response = &exchange->response;
	size_t length = response->body.length;
	struct MHD_Response *answer;
	enum MHD_Result result;
	char number[16];

	/* The buffer goes over to the answer. */
	answer =
		MHD_create_response_from_buffer(length, response->body.data, MHD_RESPMEM_MUST_FREE);
	if (!answer) {
		return MHD_NO;
	}
	response->body = TEXT_INIT;
	add(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
	add(answer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add(answer, "X-Content-Type-Options", "nosniff");
	add(answer, "Content-Security-Policy", policy);
	add(answer, "Referrer-Policy", "no-referrer");
	add(answer, MHD_HTTP_HEADER_LOCATION, response->location);
	add(answer, MHD_HTTP_HEADER_ALLOW, response->allow);
	if (response->retry_after_s > 0) {
		snprintf(number, sizeof(number), "%u", response->retry_after_s);
		add(answer, MHD_HTTP_HEADER_RETRY_AFTER, number);
	}
	if (response->must_close) {
		add(answer, MHD_HTTP_HEADER_CONNECTION, "close");
	}
	exchange->state = EXCHANGE_SENDING;
	set_deadline(exchange->client, exchange->listener->options.answer_timeout_ns);
	result = MHD_queue_response(exchange->connection, response->status, answer);
	MHD_destroy_response(answer);
	return result;
}

/* Before any body is read. False: the exchange has its answer already. */
static bool check_head(struct exchange *exchange, const char *method, const char *version)
{
	struct request *request = &exchange->request;

	/* A method that does not fit is none of ours. */
	if (!text_copy(request->method, sizeof(request->method), method)) {
		text_copy(request->method, sizeof(request->method), "-");
	}
	request->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
	MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, add_header, request);
	if (exchange->target_problem) {
		response_problem(&exchange->response, exchange->target_status, "target", NULL, "%s",
				 exchange->target_problem);
		return false;
	}
	return request_check_headers(request, &exchange->response);
}

static enum MHD_Result handle(struct exchange *exchange)
{
	const struct listener_options *options = &exchange->listener->options;

	exchange->state = EXCHANGE_HANDLING;
	exchange->client->exchange = exchange;
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
		return send_answer(exchange);
	}
	exchange->state = EXCHANGE_WAITING;
	MHD_suspend_connection(exchange->connection);
	return MHD_YES;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_bytes, void **context)
{
	struct exchange *exchange = *context;

	if (!exchange || !exchange->client) {
		return MHD_NO;
	}
	if (!exchange->is_begun) {
		exchange->is_begun = true;
		return check_head(exchange, method, version) ? MHD_YES : send_answer(exchange);
	}
	if (*upload_bytes > 0) {
		return MHD_NO; /* a body that was not announced */
	}
	return exchange->state == EXCHANGE_ANSWERED ? send_answer(exchange) : handle(exchange);
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
	response_done(&exchange->response);
	free(exchange);
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
		free(client);
		*context = NULL;
	}
}

void listener_answer(struct exchange *exchange, struct response *response)
{
	struct listener *listener = exchange->listener;
	bool must_close = exchange->response.must_close || response->must_close;

	assert(exchange->state == EXCHANGE_HANDLING || exchange->state == EXCHANGE_WAITING);
	response_done(&exchange->response);
	exchange->response = *response;
	exchange->response.must_close = must_close;
	response->body = TEXT_INIT;
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
	list_init(&listener->clients);
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
	if (listener->daemon) {
		resume_all(listener);
		/* One run takes them up again, the next sends. */
		MHD_run(listener->daemon);
		MHD_run(listener->daemon);
		MHD_stop_daemon(listener->daemon);
	}
	sd_event_source_disable_unref(listener->io);
	sd_event_source_disable_unref(listener->turn);
	sd_event_source_disable_unref(listener->deadline);
	free(listener);
}
