// SPDX-License-Identifier: MIT
#pragma once

/*
 * The daemons that we know: a session to each, kept open, with bounded jittered backoff (1 s
 * doubling to 30 s) when it is not. Loop thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "control/session.h"
#include "model/topology.h"

enum peer_state { PEER_CONNECTING, PEER_UP, PEER_DOWN };
extern const char *const peer_state_names[];

struct peer_status {
	const struct peer_settings *settings;
	const char *host; /* its numeric address: as configured, or where its name led when it was
			     last up;
			     "" when not known */
	enum peer_state state;
	bool is_met; /* an attempt to reach it has ended, well or not */
	const struct inventory *inventory; /* last known, NULL if never; valid until the loop's next
					      turn */
	struct error last_error; /* why down */
	int64_t since_real_ns; /* of the state */
	uint64_t round_trip_ns;
	bool has_offset;
	int64_t clock_offset_ns;
	int64_t clock_error_ns;
};

struct peers;

struct peers_events { /* all of them are set; peers_send and peers_hurry may be called from inside
		       */
	void (*changed)(void *arg, const char *name); /* state or inventory */
	/* The session to a peer broke or was refused while someone held it. */
	void (*lost)(void *arg, const char *name, const struct error *why);
	void (*message)(void *arg, const char *name, const char *kind, const json_t *message);
};

struct peers *peers_new(sd_event *event, const struct session_identity *identity,
			const struct peers_events *events, void *arg);
void peers_free(struct peers *peers);
/* Keeps sessions to peers whose address did not change. Copies. Entries with our own name or
 * disabled are left out. An open session that ends by it is told as `lost` from inside this call,
 * once the new table stands. Not from inside an event. */
void peers_configure(struct peers *peers, const struct peer_settings *settings, size_t count);
/* After our inventory changed. */
void peers_send_inventory(struct peers *peers);
size_t peers_count(const struct peers *peers);
void peers_status(const struct peers *peers, size_t index, struct peer_status *ret);
/* -ENOENT when it is not configured. */
int peers_find(const struct peers *peers, const char *name, struct peer_status *ret);
/* Takes the message. False when there is no open session. */
bool peers_send(struct peers *peers, const char *name, json_t *message);
/* Tries soon instead of waiting for the backoff's end: at once, in a large fleet within seconds,
 * and 5 s after the last attempt at the earliest, so that who asks for each of a thousand dead
 * peers again and again makes no storm. */
void peers_hurry(struct peers *peers, const char *name);
