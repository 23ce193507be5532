// SPDX-License-Identifier: MIT
#include "control/session.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "control/session_internal.h"
#include "util/clock.h"
#include "util/memory.h"

#define TIMER_ACCURACY_US 1 /* 0 would mean 250 ms */

static void destroy(struct session *session)
{
	session_listener_forget(session);
	sd_event_source_disable_unref(session->io);
	sd_event_source_disable_unref(session->timer);
	sd_event_source_disable_unref(session->soon);
	net_resolve_free(session->resolve);
	memory_close_fd(&session->fd);
	tls_free(session->tls);
	frame_reader_done(&session->reader);
	text_done(&session->output);
	free(session->inventory);
	sd_event_unref(session->event);
	free(session);
}

static uint32_t wanted_events(const struct session *session)
{
	switch (session->state) {
	case SESSION_RESOLVING:
		return EPOLLIN;
	case SESSION_CONNECTING:
		return EPOLLOUT;
	case SESSION_HANDSHAKING:
		return tls_wants_write(session->tls) ? EPOLLOUT : EPOLLIN;
	default:
		return (session_budget_is_spent(session) ? 0 : EPOLLIN) |
		       (session_io_queued(session) > 0 ? EPOLLOUT : 0);
	}
}

/* Tells the loop what this session waits for; inside of a handler only when that is over. */
static void arrange(struct session *session)
{
	bool is_soon = session->state == SESSION_CLOSED || session->is_sending ||
		       (session->has_more && !session_budget_is_spent(session));
	uint32_t events;

	if (session->is_dispatching) {
		return;
	}
	sd_event_source_set_enabled(session->soon, is_soon ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
	if (session->state == SESSION_CLOSED) {
		session->io = sd_event_source_disable_unref(session->io);
		sd_event_source_set_enabled(session->timer, SD_EVENT_OFF);
		return;
	}
	/* Off, not only without events: an error or hang-up would wake us all the time. */
	events = wanted_events(session);
	sd_event_source_set_io_events(session->io, events);
	sd_event_source_set_enabled(session->io, events ? SD_EVENT_ON : SD_EVENT_OFF);
	sd_event_source_set_time(session->timer, session_time_next_mono_ns(session) / 1000 + 1);
	sd_event_source_set_enabled(session->timer, SD_EVENT_ONESHOT);
}

/*
 * Writing comes after reading, always: a write to a peer that is gone makes GnuTLS forget what the
 * peer said last, which explains more than the failed write does.
 */
static void push(struct session *session)
{
	struct error err = ERROR_INIT;

	if (session->is_doomed || session->state < SESSION_GREETING ||
	    session->state == SESSION_CLOSED) {
		return;
	}
	if (session_io_flush(session, &err) < 0) {
		session_end(session, &err, NULL);
	} else if (session->state == SESSION_LEAVING && session_io_queued(session) == 0 &&
		   !session->has_said_end) {
		session->has_said_end = true;
		tls_bye(session->tls);
	}
}

/* The one way out of every handler. */
static int leave(struct session *session)
{
	push(session);
	if (session->state == SESSION_CLOSED && !session->is_doomed) {
		const struct session_events *events = session->events;

		session_listener_closed(session);
		if (events) {
			events->closed(session->arg, session, &session->why);
		}
		session->is_doomed = true;
	}
	session->is_dispatching = false;
	session->is_sending = false;
	if (session->is_doomed) {
		destroy(session);
	} else {
		arrange(session);
	}
	return 0;
}

static void say_bye(struct session *session, const char *reason)
{
	_cleanup_json_ json_t *message = json_object();
	struct error err = ERROR_INIT;

	json_set_string(message, "kind", "bye");
	json_set_string(message, "reason", reason);
	if (session->is_refused) {
		json_set_bool(message, "refused", true);
	}
	session->state = SESSION_LEAVING;
	session->has_more = true; /* bytes may wait inside TLS */
	session->deadline_mono_ns = clock_mono_ns() + SESSION_LEAVE_NS;
	if (session_io_append(session, message, &err) < 0 || session_io_flush(session, &err) < 0) {
		session->state = SESSION_CLOSED;
	}
}

/* Who hangs, is full, stops or limits us is as good as not there, however far we came. */
static bool is_not_there(const struct session *session, const struct error *why)
{
	return session->is_turned_away ||
	       (session->state < SESSION_OPEN &&
		(why->number == ETIMEDOUT || why->number == ECONNRESET || why->number == ESTALE));
}

static const char *call_of(const struct session *session, const struct error *why)
{
	if (is_not_there(session, why)) {
		return "connect";
	}
	switch (session->state) {
	case SESSION_RESOLVING:
	case SESSION_CONNECTING:
		return "connect";
	case SESSION_HANDSHAKING:
		return "tls";
	case SESSION_GREETING:
	case SESSION_GREETED:
		return "hello";
	default:
		return "session";
	}
}

static void keep_why(struct session *session, const struct error *why)
{
	session->why = *why;
	/* Who said goodbye did not give us up. */
	if (why->class == ERROR_PEER && !session->has_heard_bye &&
	    session_time_stood_still(session)) {
		error_prefix(
			&session->why,
			"this daemon stood still for up to %llu s (it was stopped, or its host gave it no CPU), "
			"and was given up",
			(unsigned long long)(session->still_ns / SESSION_SECOND_NS));
		error_number(&session->why, ESTALE);
	}
	if (why->class == ERROR_PEER || why->class == ERROR_INPUT) {
		text_copy(session->why.call, sizeof(session->why.call), call_of(session, why));
	}
	session->why.stage = session->state < SESSION_OPEN ? STAGE_DISCOVER : STAGE_NONE;
	if (session->peer_name[0]) {
		error_prefix(&session->why, "%s (%s)", session->peer_name, session->address);
	} else {
		error_prefix(&session->why, "%s", session->address);
	}
}

void session_end(struct session *session, const struct error *why, const char *bye)
{
	if (session->state >= SESSION_LEAVING) {
		/* Who says bye twice still waits; who has nobody to tell any more does not. */
		session->state = bye ? session->state : SESSION_CLOSED;
		arrange(session);
		return;
	}
	if (why) {
		keep_why(session, why);
	}
	if (bye && session->state >= SESSION_GREETING) {
		say_bye(session, bye);
	} else {
		session->state = SESSION_CLOSED;
	}
	arrange(session);
}

void session_blame(struct session *session, int number, struct error *why)
{
	char bye[sizeof(why->text) + LIMIT_NAME];

	snprintf(bye, sizeof(bye), "%s %s",
		 session->peer_name[0] ? session->peer_name : "the other side", why->text);
	error_number(why, number);
	session->is_refused = session->state < SESSION_OPEN;
	session_end(session, why, bye);
}

/* What there is to do, whatever woke us. */
static void step(struct session *session)
{
	session_time_woken(session);
	if (session->state < SESSION_GREETING) {
		session_open_step(session);
	}
	if (session->state >= SESSION_GREETING && session->state < SESSION_CLOSED &&
	    !session_budget_is_spent(session)) {
		session_io_receive(session);
	}
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct session *session = arg;

	session->is_dispatching = true;
	step(session);
	return leave(session);
}

static int on_soon(sd_event_source *source, void *arg)
{
	struct session *session = arg;

	session->is_dispatching = true;
	step(session);
	return leave(session);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct session *session = arg;

	session->is_dispatching = true;
	if (session->state >= SESSION_GREETING) {
		/* After a pause of this process, or one that the peer has to pay, bytes may wait
		 * unread: they count, and come before a ping. */
		step(session);
	}
	session_time_passed(session);
	return leave(session);
}

void session_watch(struct session *session, int fd)
{
	struct error err = ERROR_INIT;
	int ret;

	session->io = sd_event_source_disable_unref(session->io);
	ret = sd_event_add_io(session->event, &session->io, fd, wanted_events(session), on_io,
			      session);
	if (ret < 0) {
		error_set_call(&err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_io",
			       "the connection cannot be watched");
		session_end(session, &err, NULL);
	}
}

static struct session *session_new(sd_event *event, bool is_server,
				   const struct session_identity *identity)
{
	struct session *session = memory_new(sizeof(*session));
	int ret;

	session->event = sd_event_ref(event);
	session->is_server = is_server;
	session->identity = identity;
	session->fd = -1;
	list_init(&session->link);
	frame_reader_init(&session->reader, LIMIT_FRAME_USUAL_BYTES);
	ret = sd_event_add_time(event, &session->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
				on_timer, session);
	assert(ret >= 0); /* neither needs a descriptor of its own but the loop's first timer */
	ret = sd_event_add_defer(event, &session->soon, on_soon, session);
	assert(ret >= 0);
	sd_event_source_set_enabled(session->timer, SD_EVENT_OFF);
	sd_event_source_set_enabled(session->soon, SD_EVENT_OFF);
	return session;
}

struct session *session_connect(sd_event *event, struct net_resolve_pool *pool, const char *host,
				uint16_t port, const struct session_identity *identity,
				const struct session_events *events, void *arg)
{
	struct session *session = session_new(event, false, identity);

	session_set_events(session, events, arg);
	session->port = port;
	snprintf(session->address, sizeof(session->address),
		 strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	session->connect_deadline_mono_ns = clock_mono_ns() + SESSION_CONNECT_NS;
	session->deadline_mono_ns = session->connect_deadline_mono_ns;
	session_open_start(session, pool, host);
	arrange(session);
	return session;
}

struct session *session_accept(sd_event *event, int fd, const char *address,
			       const struct session_identity *identity,
			       struct session_listener *listener)
{
	struct session *session = session_new(event, true, identity);

	session->fd = fd;
	session->listener = listener;
	text_copy(session->address, sizeof(session->address), address);
	session_open_tls(session);
	arrange(session);
	return session;
}

int session_listen(struct session_listener **ret_listener, sd_event *event, const char *address,
		   uint16_t port, unsigned max, const struct session_identity *identity,
		   session_accepted_fn accepted, void *arg, struct error *err)
{
	return session_listener_new(ret_listener, event, address, port, max, identity, accepted,
				    arg, err);
}

void session_set_events(struct session *session, const struct session_events *events, void *arg)
{
	session->has_owner |= events != NULL;
	session->events = events;
	session->arg = arg;
}

bool session_queue(struct session *session, json_t *message)
{
	struct error err = ERROR_INIT;

	if (session_io_append(session, message, &err) < 0) {
		session_end(session, &err, NULL);
	}
	json_decref(message);
	session->is_sending = true;
	arrange(session);
	return session->state < SESSION_LEAVING;
}

bool session_send(struct session *session, json_t *message)
{
	if (session->state != SESSION_OPEN || session->is_doomed) {
		json_decref(message);
		return false;
	}
	return session_queue(session, message);
}

void session_close(struct session *session, const char *reason)
{
	session_end(session, NULL, reason);
}

void session_free(struct session *session)
{
	if (!session) {
		return;
	}
	session->events = NULL;
	if (session->is_dispatching) {
		session->is_doomed = true;
	} else {
		destroy(session);
	}
}

void session_expect_totals(struct session *session, bool is_expected)
{
	session->reader.limit_bytes = is_expected ? LIMIT_FRAME_BYTES : LIMIT_FRAME_USUAL_BYTES;
}

void session_send_inventory(struct session *session)
{
	if (session->state == SESSION_OPEN) {
		session_message_inventory(session);
	}
}

bool session_is_open(const struct session *session)
{
	return session->state == SESSION_OPEN;
}

const char *session_peer_name(const struct session *session)
{
	return session->peer_name;
}

const char *session_peer_address(const struct session *session)
{
	return session->address;
}

const char *session_peer_host(const struct session *session)
{
	return session->host;
}

const struct inventory *session_peer_inventory(const struct session *session)
{
	return session->inventory;
}

struct inventory *session_take_inventory(struct session *session)
{
	return take(session->inventory);
}

bool session_clock_offset(const struct session *session, int64_t *ret_offset_ns,
			  int64_t *ret_error_ns)
{
	return offset_best(&session->offset, ret_offset_ns, ret_error_ns);
}

uint64_t session_round_trip_ns(const struct session *session)
{
	return offset_round_trip_ns(&session->offset);
}
