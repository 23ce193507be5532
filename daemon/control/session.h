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
#include "util/net.h"

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
	/* Both sides took the other's hello: session_peer_* are valid. Only for session_connect: an
	 * accepted session is handed over opened. */
	void (*opened)(void *arg, struct session *session);
	/* A message of a kind the session does not handle itself; borrowed. "kind" is a string. */
	void (*message)(void *arg, struct session *session, const char *kind,
			const json_t *message);
	/* The peer's inventory changed. */
	void (*inventory)(void *arg, struct session *session);
	/*
	 * Once, last: the session is gone after this call. Not set when we closed it (then it comes
	 * within 0.5 s); else class PEER (RESOURCE when this host lacks something, INPUT when node
	 * names or the key are configured wrongly), stage DISCOVER before opened, none after, and
	 * an errno as number, which tells apart what has one call:
	 * - "connect": of the call that failed; ETIMEDOUT and ECONNRESET also when the peer was
	 *   reached, and hung or went away before the session stood (stopped, full, limiting us)
	 * - "tls": EKEYREJECTED another fleet key; EPROTO, EMSGSIZE no TLS of ours
	 * - "hello": EPROTONOSUPPORT another version of the protocol; EBADMSG invalid, though the
	 *   version is ours; ECONNREFUSED the peer found ours to be so; EINVAL, EEXIST a name that
	 *   cannot be
	 * - "session": EBADMSG, EPROTO an invalid message; ETIMEDOUT silence; ENOBUFS it does not
	 *   read; ECONNRESET all else
	 */
	void (*closed)(void *arg, struct session *session, const struct error *why);
};

/* Connects to "host", a number or a name; of a name's addresses to the first that answers. Failure
 * too comes as `closed`. Borrows pool, identity and events. */
struct session *session_connect(sd_event *event, struct net_resolve_pool *pool, const char *host,
				uint16_t port, const struct session_identity *identity,
				const struct session_events *events, void *arg);
/* Gives the events of an accepted session an owner of their own. */
void session_set_events(struct session *session, const struct session_events *events, void *arg);
/* Takes the message (an object with "kind"). False when the session is closed or its queue is full
 * (then it closes: a peer that does not read). */
bool session_send(struct session *session, json_t *message);
/* Tells the peer why (a "bye" message) as far as it goes, then `closed` comes with no error set. */
void session_close(struct session *session, const char *reason);
/* A job of ours runs there: until this is taken back its frames may have LIMIT_FRAME_BYTES, to hold
 * totals, instead of LIMIT_FRAME_USUAL_BYTES. */
void session_expect_totals(struct session *session, bool is_expected);
void session_send_inventory(struct session *session);
/* At once, without bye and without events: for owners that end. Also inside an event (then freed
 * when that is over). NULL too. */
void session_free(struct session *session);

bool session_is_open(const struct session *session);
const char *session_peer_name(const struct session *session); /* "" before opened; only claimed,
								 with a fleet key */
const char *session_peer_address(const struct session *session);
/* The number behind it, without port; "" before a connection was tried. */
const char *session_peer_host(const struct session *session);
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
 * sessions at once, and 256 that are not yet authenticated, of strangers 64, of one source 8; how
 * many may begin is limited by control/gate.h. */
typedef void (*session_accepted_fn)(void *arg, struct session *session);
int session_listen(struct session_listener **ret, sd_event *event, const char *address,
		   uint16_t port, unsigned max, const struct session_identity *identity,
		   session_accepted_fn accepted, void *arg, struct error *err);
void session_listener_free(struct session_listener *listener); /* accepted sessions live on */

/* Why one that connected did not get in. */
enum session_refusal {
	SESSION_REFUSED_RATE, /* closed unheard: above the limits of control/gate.h */
	SESSION_REFUSED_FULL, /* too many that are not yet authenticated, or too many sessions */
	SESSION_REFUSED_KEY, /* another fleet key */
	SESSION_REFUSED_TLS, /* no TLS 1.3 as we speak it */
	SESSION_REFUSED_CLOSED, /* went away by itself, as who only looks whether the port is open
				 */
	SESSION_REFUSED_TIMEOUT, /* TLS and hello took over 5 s */
	SESSION_REFUSED_VERSION, /* another version of the protocol */
	SESSION_REFUSED_HELLO, /* a bad hello, or a name that cannot be */
	SESSION_REFUSED_OTHER, /* this host lacked something */
	SESSION_REFUSALS,
};
/* Stable words, for metrics. */
extern const char *const session_listener_reasons[];

/* What came of those that connected, for a person who looks why a peer does not get in. */
struct session_listener_status {
	unsigned pending; /* now, not yet authenticated */
	unsigned open; /* now */
	uint64_t accepted; /* ever */
	uint64_t refused[SESSION_REFUSALS]; /* ever */
	uint64_t pauses; /* 1 s each, without descriptors */
	/* The last one, but for those that only went away: with its address, and the cure where one
	 * is likely. Why it was heard and did not get in; and why it was not even heard (RATE,
	 * FULL). */
	struct error last_failure;
	struct error last_unheard;
};
/* All zeroes without a listener (NULL). */
void session_listener_status(const struct session_listener *listener,
			     struct session_listener_status *ret);
/* A node of ours lives at this numeric address: strangers cannot keep it out (control/gate.h). Who
 * got in is known from then on. NULL and text that is no such address are ignored. */
void session_listener_know(struct session_listener *listener, const char *address);
