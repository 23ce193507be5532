// SPDX-License-Identifier: MIT
#pragma once

/*
 * One daemon that we know: its session, and when to try again. Part of fleet/peers, used by nobody
 * else. Loop thread.
 */

#include "fleet/peers.h"

struct peer;

/* What all peers of one table share; borrowed. */
struct peer_context {
	sd_event *event;
	struct net_resolve_pool *pool;
	const struct session_identity *identity;
	const struct peers_events *events;
	void *arg;
};

/* Copies settings. The first attempt comes after `delay_ns`, from the loop. */
struct peer *peer_new(const struct peer_context *context, const struct peer_settings *settings,
		      uint64_t delay_ns);
/* Says goodbye as far as it goes now. No events. */
void peer_free(struct peer *peer, const char *reason);
const struct peer_settings *peer_settings(const struct peer *peer);
/* Name and address unchanged. */
void peer_set_settings(struct peer *peer, const struct peer_settings *settings);
void peer_status(const struct peer *peer, struct peer_status *ret);
/* Takes the message. */
bool peer_send(struct peer *peer, json_t *message);
void peer_send_inventory(struct peer *peer);
/* As peers_hurry, not before delay_ns. */
void peer_hurry(struct peer *peer, uint64_t delay_ns);
