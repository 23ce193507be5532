// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the sources of a session share and nobody else sees: session.c (life, the way out),
 * session_io.c (bytes), session_time.c, session_budget.c (what messages
 * may cost), session_open.c (until TLS stands), session_message.c (what
 * the session handles itself), session_listener.c (accepting). Loop thread.
 */

#include "control/frame.h"
#include "control/gate.h"
#include "control/offset.h"
#include "control/session.h"
#include "control/tls.h"
#include "util/bucket.h"
#include "util/list.h"
#include "util/net.h"
#include "util/text.h"

#define SESSION_SECOND_NS 1000000000ull
#define SESSION_CONNECT_NS (5 * SESSION_SECOND_NS)
#define SESSION_ADDRESS_NS SESSION_SECOND_NS /* for an address when there are others */
#define SESSION_HELLO_NS (5 * SESSION_SECOND_NS) /* TLS handshake and hello together */
#define SESSION_SILENCE_NS (6 * SESSION_SECOND_NS)
#define SESSION_PING_NS (2 * SESSION_SECOND_NS)
#define SESSION_LEAVE_NS (SESSION_SECOND_NS / 2)
#define SESSION_QUEUE_BYTES (8u << 20)

/* In this order only. */
enum session_state {
	SESSION_RESOLVING,
	SESSION_CONNECTING,
	SESSION_HANDSHAKING,
	SESSION_GREETING, /* TLS stands: the peer holds the key; its hello is missing */
	SESSION_GREETED, /* who connected waits until the other side takes its hello too */
	SESSION_OPEN,
	SESSION_LEAVING, /* bye was said; what comes is thrown away until the other side closes */
	SESSION_CLOSED, /* the next turn of the loop tells and frees */
};

struct session {
	sd_event *event;
	enum session_state state;
	bool is_server;
	bool is_dispatching; /* inside one of our handlers, perhaps inside an event of the owner */
	bool is_doomed; /* session_free was called in there */
	bool has_more; /* to read, perhaps: look once without waiting for the descriptor */
	bool is_sending; /* something was queued: the next turn writes it */
	bool has_said_end; /* close_notify */
	bool is_refused; /* what we blame keeps the peer out: said in our bye */
	bool has_heard_bye;
	bool is_turned_away; /* the peer said bye before it took our hello, for a reason that passes
			      */
	bool has_owner; /* somebody was, at some time, to be told of events */
	bool is_last; /* accepted with the last descriptor: it is told so, and leaves */
	unsigned *listener_count; /* where its listener counts it; NULL: nowhere */
	const struct session_identity *identity;
	const struct session_events *events; /* NULL: nobody is told */
	void *arg;
	char address[NET_ADDRESS_SIZE]; /* of the other side */
	char peer_name[LIMIT_NAME];
	char peer_version[32];
	uint64_t told_changes; /* identity->inventory_changes when the peer was told */
	struct inventory *inventory; /* of the peer; NULL before its hello */
	struct error why;

	struct net_resolve *resolve; /* until TLS begins: has the addresses that were not tried */
	char host[NET_NUMERIC_SIZE]; /* that is or was tried */
	char next_host[NET_NUMERIC_SIZE]; /* "" for none */
	uint16_t port;
	uint64_t connect_deadline_mono_ns; /* for all addresses together */
	int fd; /* until tls takes it, else -1 */
	struct tls *tls;
	sd_event_source *io;
	sd_event_source *timer;
	sd_event_source *soon; /* runs in the next turn when enabled */

	uint64_t deadline_mono_ns; /* of the state, where it has one */
	uint64_t ping_mono_ns; /* next */
	uint64_t still_mono_ns; /* when we came back from standing still, and after how long */
	uint64_t still_ns;
	uint64_t heard_mono_ns; /* last sign of life */
	uint64_t heard_bytes;
	struct bucket budget; /* of our time, for what the peer sends */
	uint64_t deaf_until_mono_ns; /* it is used up until then; 0: it is not */
	struct offset offset;
	struct frame_reader reader;
	struct text output; /* sent up to output_start */
	size_t output_start;

	struct session_listener *listener; /* that accepted it and still counts it */
	struct gate_source source; /* where the listener accepted it from */
	struct list link; /* in one of the listener's lists */
};

/*
 * The end, once; later calls are ignored. why: what `closed` will say (address, call and stage are
 * added), or NULL when it was our wish. bye: told to the peer if TLS stands, or NULL when there is
 * nobody to tell.
 */
void session_end(struct session *session, const struct error *why, const char *bye);
/* The peer's fault, in a sentence without its subject ("sent ..."), with its errno
 * (session_events.closed): ends, tells both sides. */
void session_blame(struct session *session, int number, struct error *why);
/* The descriptor to wait for, from now on. */
void session_watch(struct session *session, int fd);
/* An accepted connection, on its way; takes fd. */
struct session *session_accept(sd_event *event, int fd, const char *address,
			       const struct session_identity *identity,
			       struct session_listener *listener);
/* Sends in any state in which TLS stands. Takes the message. False when the session ended by it. */
bool session_queue(struct session *session, json_t *message);

size_t session_io_queued(const struct session *session);
/* Into the queue, borrowed. -errno with err when it is full or the message too large. */
int session_io_append(struct session *session, const json_t *message, struct error *err);
/* As far as it goes now. 0, or -errno with err. */
int session_io_flush(struct session *session, struct error *err);
/* Until the descriptor is dry or the turn is used up. May end the session. */
void session_io_receive(struct session *session);

/* The peer's bytes took so much of this thread. */
void session_budget_charge(struct session *session, uint64_t spent_ns);
/* Nothing is read from it now. */
bool session_budget_is_spent(const struct session *session);

/* When something is due by time alone; and doing it: deadlines, silence, pings. */
uint64_t session_time_next_mono_ns(const struct session *session);
void session_time_passed(struct session *session);
/* Before anything is read or a ping made due: notes that this process was not there for a while
 * (stopped, or without a CPU). */
void session_time_woken(struct session *session);
/* Whether that was just now, and for so long that the peer has given the session up. */
bool session_time_stood_still(struct session *session);

/* One step of resolving, connecting or the handshake. */
void session_open_start(struct session *session, struct net_resolve_pool *pool, const char *host);
/* This address did not answer: tries the next, if there is one, and time. */
void session_open_failed(struct session *session, const struct error *why);
void session_open_tls(struct session *session);
void session_open_step(struct session *session);

void session_message_hello(struct session *session);
void session_message_inventory(struct session *session);
void session_message_ping(struct session *session);
/* Handles one message or passes it to the owner. Borrows it. */
void session_message_received(struct session *session, const json_t *message);

int session_listener_new(struct session_listener **ret, sd_event *event, const char *address,
			 uint16_t port, unsigned max, const struct session_identity *identity,
			 session_accepted_fn accepted, void *arg, struct error *err);
/* False, and it ends, when the maximum is reached. */
bool session_listener_has_place(struct session *session);
/* Its hello was accepted; it is closed; it is being freed. Nothing where no listener counts it. */
void session_listener_opened(struct session *session);
void session_listener_closed(struct session *session);
void session_listener_forget(struct session *session);
/* What all that it accepted may cost together. */
struct bucket *session_listener_budget(struct session_listener *listener);
/* How many sessions it accepted are open. */
unsigned session_listener_open(const struct session_listener *listener);
