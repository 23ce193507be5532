// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "control/session_internal.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/spare.h"

/* Not yet authenticated: in all, of strangers (the rest is kept for known nodes), of one source. */
#define PENDING_MAX 256
#define PENDING_STRANGERS_MAX 64
#define PENDING_PER_SOURCE_MAX 8
#define ACCEPTS_PER_TURN 16
#define PAUSE_NS SESSION_SECOND_NS /* after running out of descriptors */

const char *const session_listener_reasons[] = {
	"rate_limited", "full",		 "wrong_key", "no_tls", "closed",
	"timed_out",	"other_version", "bad_hello", "other",	NULL,
};

struct session_listener {
	sd_event *event;
	int fd;
	unsigned max;
	struct gate *gate;
	struct bucket budget; /* of our time, for all that were accepted */
	struct spare spare; /* the descriptor of whom can only be told that there is none */
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

/* Of the same source; and of all strangers. */
static void count_pending(const struct session_listener *listener, const struct gate_source *source,
			  unsigned *ret_same, unsigned *ret_strangers)
{
	struct session *session;

	*ret_same = 0;
	*ret_strangers = 0;
	list_each(session, &listener->pending, link) {
		*ret_same += gate_is_same(&session->source, source);
		*ret_strangers += !session->source.is_known;
	}
}

static bool has_place(const struct session_listener *listener, const struct gate_source *source)
{
	unsigned same;
	unsigned strangers;

	count_pending(listener, source, &same, &strangers);
	return listener->status.pending < PENDING_MAX && same < PENDING_PER_SOURCE_MAX &&
	       (source->is_known || strangers < PENDING_STRANGERS_MAX);
}

static void refuse_unheard(struct session_listener *listener, enum session_refusal refusal,
			   const char *address)
{
	struct error *why = &listener->status.last_unheard;

	listener->status.refused[refusal]++;
	*why = ERROR_INIT;
	if (refusal == SESSION_REFUSED_RATE) {
		error_set(
			why, -EAGAIN, ERROR_PEER,
			"%s: connects too often; more than %u a second of one source, or %u of all "
			"that are not in peers, are closed unheard",
			address, GATE_PER_SECOND, GATE_STRANGERS_PER_SECOND);
	} else {
		error_set(
			why, -EBUSY, ERROR_PEER,
			"%s: too many connections do not show the fleet key; over %u of one source, "
			"or %u of all that are not in peers, are closed unheard",
			address, PENDING_PER_SOURCE_MAX, PENDING_STRANGERS_MAX);
	}
}

/* True when it may begin; what may not is counted. */
static bool is_admitted(struct session_listener *listener, const struct gate_source *source,
			const char *address)
{
	if (!has_place(listener, source)) {
		refuse_unheard(listener, SESSION_REFUSED_FULL, address);
		return false;
	}
	if (!gate_admit(listener->gate, source, clock_mono_ns())) {
		refuse_unheard(listener, SESSION_REFUSED_RATE, address);
		return false;
	}
	return true;
}

/* With the spare descriptor when there is no other: *ret_is_last. */
static int accept_next(struct session_listener *listener, char *ret_address, bool *ret_is_last)
{
	bool has_spare = spare_hold(&listener->spare);
	int fd = net_accept(listener->fd, ret_address, NET_ADDRESS_SIZE);

	*ret_is_last = (fd == -EMFILE || fd == -ENFILE) && has_spare;
	if (*ret_is_last) {
		spare_drop(&listener->spare);
		fd = net_accept(listener->fd, ret_address, NET_ADDRESS_SIZE);
	}
	return fd;
}

/* False when there is nothing more to accept now. */
static bool accept_one(struct session_listener *listener)
{
	char address[NET_ADDRESS_SIZE];
	struct gate_source source;
	struct session *session;
	bool is_last;
	int fd = accept_next(listener, address, &is_last);

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
	gate_look(listener->gate, address, &source);
	if (!is_admitted(listener, &source, address)) {
		memory_close_fd(&fd);
		return true;
	}
	session = session_accept(listener->event, fd, address, listener->identity, listener);
	session->source = source;
	session->is_last = is_last;
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
	listener->gate = gate_new();
	listener->identity = identity;
	listener->accepted = accepted;
	listener->arg = arg;
	list_init(&listener->pending);
	list_init(&listener->opened);
	list_init(&listener->refused);
	listener->spare = SPARE_INIT;
	(void)spare_hold(&listener->spare);
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
	gate_free(listener->gate);
	memory_close_fd(&listener->fd);
	spare_drop(&listener->spare);
	sd_event_unref(listener->event);
	free(listener);
}

void session_listener_status(const struct session_listener *listener,
			     struct session_listener_status *ret)
{
	*ret = listener ? listener->status : (struct session_listener_status){ 0 };
}

void session_listener_know(struct session_listener *listener, const char *address)
{
	if (listener) {
		gate_know(listener->gate, address, clock_mono_ns());
	}
}

/* By what the session said of its end (session.h). */
static enum session_refusal refusal_of(const struct error *why)
{
	bool is_hello = strcmp(why->call, "hello") == 0;

	if (why->class == ERROR_RESOURCE) {
		return why->number == EBUSY ? SESSION_REFUSED_FULL : SESSION_REFUSED_OTHER;
	}
	switch (why->number) {
	case EKEYREJECTED:
		return SESSION_REFUSED_KEY;
	case ETIMEDOUT:
	case ESTALE: /* ours to blame */
		return SESSION_REFUSED_TIMEOUT;
	case ECONNRESET:
		return SESSION_REFUSED_CLOSED;
	case EPROTONOSUPPORT:
		return SESSION_REFUSED_VERSION;
	default:
		return is_hello ? SESSION_REFUSED_HELLO : SESSION_REFUSED_TLS;
	}
}

static void note_failure(struct session_listener *listener, const struct error *why)
{
	enum session_refusal refusal = refusal_of(why);

	listener->status.refused[refusal]++;
	if (refusal == SESSION_REFUSED_FULL) {
		listener->status.last_unheard = *why;
	} else if (refusal != SESSION_REFUSED_CLOSED) {
		listener->status.last_failure = *why;
	}
}

bool session_listener_has_place(struct session *session)
{
	struct session_listener *listener = session->listener;
	struct error err = ERROR_INIT;

	if (!listener || (listener->status.open < listener->max && !session->is_last)) {
		return true;
	}
	if (session->is_last) {
		error_set(&err, -EBUSY, ERROR_RESOURCE,
			  "refused: %s has no file descriptor left for one more session; raise "
			  "LimitNOFILE= of its unit there (ulimit -n)",
			  session->identity->node_name);
	} else {
		error_set(&err, -EBUSY, ERROR_RESOURCE,
			  "refused: %s serves %u sessions already, its limit",
			  session->identity->node_name, listener->max);
	}
	error_number(&err, EBUSY);
	session_end(session, &err, err.text);
	count_in(session, &listener->refused, NULL);
	return false;
}

void session_listener_opened(struct session *session)
{
	struct session_listener *listener = session->listener;

	count_in(session, &listener->opened, &listener->status.open);
	listener->status.accepted++;
	gate_know(listener->gate, session->address, clock_mono_ns());
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

unsigned session_listener_open(const struct session_listener *listener)
{
	return listener->status.open;
}

struct bucket *session_listener_budget(struct session_listener *listener)
{
	return &listener->budget;
}
