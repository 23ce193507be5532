// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "control/session_internal.h"
#include "util/clock.h"
#include "util/memory.h"

#define PENDING_MAX 64 /* not yet authenticated */
#define PENDING_PER_HOST_MAX 8
#define ACCEPTS_PER_TURN 16
#define PAUSE_NS SESSION_SECOND_NS /* after running out of descriptors */

struct session_listener {
	sd_event *event;
	int fd;
	unsigned max;
	const struct session_identity *identity;
	session_accepted_fn accepted;
	void *arg;
	sd_event_source *io;
	sd_event_source *pause;
	struct list pending; /* of struct session */
	struct list opened;
	struct list refused; /* above max, for their last half second */
	struct session_listener_status status;
};

/* "10.0.0.1:4711" and "[fe80::1]:4711" without their ports. */
static size_t host_length(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? (size_t)(colon - address) : strlen(address);
}

static unsigned pending_of_host(const struct session_listener *listener, const char *address)
{
	size_t length = host_length(address);
	struct session *session;
	unsigned count = 0;

	list_each(session, &listener->pending, link) {
		count += host_length(session->address) == length &&
			 memcmp(session->address, address, length) == 0;
	}
	return count;
}

/* Moves it between the lists; count may be NULL. */
static void count_in(struct session *session, struct list *list, unsigned *count)
{
	if (session->listener_count) {
		(*session->listener_count)--;
	}
	if (count) {
		(*count)++;
	}
	session->listener_count = count;
	list_remove(&session->link);
	list_append(list, &session->link);
}

static bool has_place(const struct session_listener *listener, const char *address)
{
	return listener->status.pending < PENDING_MAX &&
	       pending_of_host(listener, address) < PENDING_PER_HOST_MAX;
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct session_listener *listener)
{
	char address[NET_ADDRESS_SIZE];
	struct session *session;
	int fd = net_accept(listener->fd, address, sizeof(address));

	if (fd == -EAGAIN) {
		return false;
	}
	if (fd < 0) {
		/* Out of descriptors or memory: the connection stays in the kernel's queue. */
		uint64_t until_us = (clock_mono_ns() + PAUSE_NS) / 1000;

		listener->status.pauses++;
		sd_event_source_set_enabled(listener->io, SD_EVENT_OFF);
		sd_event_source_set_time(listener->pause, until_us);
		sd_event_source_set_enabled(listener->pause, SD_EVENT_ONESHOT);
		return false;
	}
	if (!has_place(listener, address)) {
		listener->status.refused++;
		memory_close_fd(&fd);
		return true;
	}
	session = session_accept(listener->event, fd, address, listener->identity, listener);
	count_in(session, &listener->pending, &listener->status.pending);
	return true;
}

static int on_connection(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct session_listener *listener = arg;

	for (unsigned i = 0; i < ACCEPTS_PER_TURN && accept_one(listener); i++) {
	}
	return 0;
}

static int on_pause_over(sd_event_source *source, uint64_t usec, void *arg)
{
	struct session_listener *listener = arg;

	sd_event_source_set_enabled(listener->io, SD_EVENT_ON);
	return 0;
}

int session_listener_new(struct session_listener **ret_listener, sd_event *event,
			 const char *address, uint16_t port, unsigned max,
			 const struct session_identity *identity, session_accepted_fn accepted,
			 void *arg, struct error *err)
{
	struct session_listener *listener;
	int fd = net_listen(address, port, err);
	int ret;

	if (fd < 0) {
		return fd;
	}
	listener = memory_new(sizeof(*listener));
	listener->event = sd_event_ref(event);
	listener->fd = fd;
	listener->max = max;
	listener->identity = identity;
	listener->accepted = accepted;
	listener->arg = arg;
	list_init(&listener->pending);
	list_init(&listener->opened);
	list_init(&listener->refused);
	ret = sd_event_add_io(event, &listener->io, fd, EPOLLIN, on_connection, listener);
	if (ret >= 0) {
		ret = sd_event_add_time(event, &listener->pause, CLOCK_MONOTONIC, 0, 1,
					on_pause_over, listener);
	}
	if (ret < 0) {
		session_listener_free(listener);
		return error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add",
				      "the control listener cannot be watched");
	}
	sd_event_source_set_enabled(listener->pause, SD_EVENT_OFF);
	*ret_listener = listener;
	return 0;
}

/* Owners keep theirs; the others have nobody else to free them. */
static void empty(struct list *list)
{
	struct session *session;

	list_each(session, list, link) {
		session_listener_forget(session);
		if (!session->has_owner) {
			session_free(session);
		}
	}
}

void session_listener_free(struct session_listener *listener)
{
	if (!listener) {
		return;
	}
	empty(&listener->pending);
	empty(&listener->opened);
	empty(&listener->refused);
	sd_event_source_disable_unref(listener->io);
	sd_event_source_disable_unref(listener->pause);
	memory_close_fd(&listener->fd);
	sd_event_unref(listener->event);
	free(listener);
}

void session_listener_status(const struct session_listener *listener,
			     struct session_listener_status *ret)
{
	*ret = listener->status;
}

static void note_failure(struct session_listener *listener, const struct error *why)
{
	listener->status.failed++;
	listener->status.last_failure = *why;
	listener->status.last_failure_real_ns = clock_real_ns();
}

void session_listener_opened(struct session *session)
{
	struct session_listener *listener = session->listener;
	struct error err = ERROR_INIT;

	count_in(session, &listener->opened, &listener->status.open);
	if (listener->status.open > listener->max) {
		error_set(&err, -EBUSY, ERROR_RESOURCE,
			  "refused: %s serves %u sessions already, its limit",
			  session->identity->node_name, listener->max);
		session_end(session, &err, err.text);
		count_in(session, &listener->refused, NULL);
		return;
	}
	listener->status.accepted++;
	listener->accepted(listener->arg, session);
	if (!session->events && !session->is_doomed) {
		session_end(session, NULL, "nobody takes this session");
	}
}

void session_listener_closed(struct session *session)
{
	struct session_listener *listener = session->listener;

	if (listener && !session->has_owner && error_is_set(&session->why)) {
		note_failure(listener, &session->why);
	}
}

void session_listener_forget(struct session *session)
{
	struct session_listener *listener = session->listener;

	if (!listener) {
		return;
	}
	session->listener = NULL;
	list_remove(&session->link);
	if (session->listener_count) {
		(*session->listener_count)--;
		session->listener_count = NULL;
	}
}
