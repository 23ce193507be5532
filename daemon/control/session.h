// SPDX-License-Identifier: MIT
#pragma once

/*
 * An authenticated connection between two daemons: TLS, frames (4-byte big-endian length, JSON
 * object), hello with inventory, PING with clock offset, deadlines. api/control-protocol.md is the
 * wire's page. Loop thread; nothing blocks; every wait has a deadline: connect 5 s, handshake and
 * hello 5 s, silence 6 s (a PING every 2 s), output queue 8 MiB.
 *
 * Events never come from inside a call. A session may be closed inside its own event: it is freed
 * at the end of the loop's turn.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "control/tls.h"
#include "model/inventory.h"
#include "util/error.h"
#include "util/json.h"

#define SESSION_PROTOCOL 1
#define SESSION_PORT 18620

struct session;

/* What this daemon says of itself; borrowed while sessions live. The inventory may change between
 * calls: then count it, and session_send_inventory to those that are open. */
struct session_identity {
	const char *node_name;
	const char *version;
	struct tls_key key;
	const struct inventory *inventory;
	uint64_t inventory_changes;
	unsigned protocol; /* SESSION_PROTOCOL; tests say another */
};

struct session_events { /* all of them are set */
	/* hello was exchanged: session_peer_* are valid. Only for session_connect: an accepted
	 * session is handed over opened. */
	void (*opened)(void *arg, struct session *session);
	/* A message of a kind the session does not handle itself; borrowed. "kind" is a string. */
	void (*message)(void *arg, struct session *session, const char *kind,
			const json_t *message);
	/* The peer's inventory changed. */
	void (*inventory)(void *arg, struct session *session);
	/* Once, last: the session is gone after this call. why: class PEER; call "connect", "tls",
	 * "hello" or "session" (RESOURCE when this host lacks something, INPUT when
	 * node names or the key are configured wrongly); stage DISCOVER before
	 * opened, none after; not set when we closed it. After session_close it comes within 0.5 s.
	 */
	void (*closed)(void *arg, struct session *session, const struct error *why);
};

/* Connects to "host" (name or number); failure too comes as `closed`. Copies nothing of identity
 * and events: borrowed. */
struct session *session_connect(sd_event *event, const char *host, uint16_t port,
				const struct session_identity *identity,
				const struct session_events *events, void *arg);
/* Gives the events of an accepted session an owner of their own. */
void session_set_events(struct session *session, const struct session_events *events, void *arg);
/* Takes the message (an object with "kind"). False when the session is closed or its queue is full
 * (then it closes: a peer that does not read). */
bool session_send(struct session *session, json_t *message);
/* Tells the peer why (a "bye" message) as far as it goes, then `closed` comes with no error set. */
void session_close(struct session *session, const char *reason);
void session_send_inventory(struct session *session);
/* At once, without bye and without events: for owners that end. Also inside an event (then freed
 * when that is over). NULL too. */
void session_free(struct session *session);

bool session_is_open(const struct session *session);
const char *session_peer_name(const struct session *session); /* "" before opened; only claimed,
								 with a fleet key */
const char *session_peer_address(const struct session *session);
const struct inventory *session_peer_inventory(const struct session *session); /* NULL before opened
										*/
/* Moves it to the caller (free); for owners that keep what a lost peer told last. */
struct inventory *session_take_inventory(struct session *session);
/* Their real clock minus ours, from the PING with the shortest round trip of the last 16; false
 * before the first. */
bool session_clock_offset(const struct session *session, int64_t *ret_offset_ns,
			  int64_t *ret_error_ns);
uint64_t session_round_trip_ns(const struct session *session); /* 0 = unknown */

struct session_listener;
/* accepted: an authenticated, opened session; set its events before returning. At most `max`
 * sessions at once, 64 of them not yet authenticated. */
typedef void (*session_accepted_fn)(void *arg, struct session *session);
int session_listen(struct session_listener **ret, sd_event *event, const char *address,
		   uint16_t port, unsigned max, const struct session_identity *identity,
		   session_accepted_fn accepted, void *arg, struct error *err);
void session_listener_free(struct session_listener *listener); /* accepted sessions live on */

/* What came of those that connected, for a person who looks why a peer does not get in. */
struct session_listener_status {
	unsigned pending; /* now, not yet authenticated */
	unsigned open; /* now */
	uint64_t accepted; /* ever */
	uint64_t refused; /* closed unheard: too many pending, in all or of one host */
	uint64_t failed; /* no TLS, other key, bad hello, too many open */
	uint64_t pauses; /* 1 s each, without descriptors */
	struct error last_failure;
	int64_t last_failure_real_ns;
};
void session_listener_status(const struct session_listener *listener,
			     struct session_listener_status *ret);
