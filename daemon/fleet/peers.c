// SPDX-License-Identifier: MIT
#include "fleet/peers.h"

#include <errno.h>
#include <string.h>

#include "fleet/peer.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

/* A large fleet's first connections are spread, so that a reload everywhere is no storm. */
#define SPREAD_FROM 16
#define SPREAD_PER_PEER_NS 2000000ull

struct peers {
	struct peer_context context;
	size_t count;
	struct peer **items;
};

struct peers *peers_new(sd_event *event, const struct session_identity *identity,
			const struct peers_events *events, void *arg)
{
	struct peers *peers = memory_new(sizeof(*peers));

	peers->context = (struct peer_context){
		.event = sd_event_ref(event),
		.pool = net_resolve_pool_new(),
		.identity = identity,
		.events = events,
		.arg = arg,
	};
	return peers;
}

void peers_free(struct peers *peers)
{
	if (!peers) {
		return;
	}
	for (size_t i = 0; i < peers->count; i++) {
		peer_free(peers->items[i], "this daemon is stopping");
	}
	free(peers->items);
	net_resolve_pool_free(peers->context.pool);
	sd_event_unref(peers->context.event);
	free(peers);
}

static struct peer *find(const struct peers *peers, const char *name)
{
	for (size_t i = 0; i < peers->count; i++) {
		if (strcmp(peer_settings(peers->items[i])->name, name) == 0) {
			return peers->items[i];
		}
	}
	return NULL;
}

/* The old one of that name, if its session may go on; taken out of the old table. */
static struct peer *keep(struct peers *old, const struct peer_settings *settings)
{
	for (size_t i = 0; i < old->count; i++) {
		const struct peer_settings *was = old->items[i] ? peer_settings(old->items[i])
								: NULL;

		if (was && strcmp(was->name, settings->name) == 0 &&
		    strcmp(was->address, settings->address) == 0) {
			return take(old->items[i]);
		}
	}
	return NULL;
}

static uint64_t first_delay_ns(const struct peers *peers, const char *name, size_t count)
{
	uint64_t hash = prng_hash(name, prng_hash(peers->context.identity->node_name, 0));

	return count > SPREAD_FROM ? hash % (count * SPREAD_PER_PEER_NS) : 0;
}

static void let_go(struct peers *peers, struct peer *peer)
{
	struct peer_status status;
	struct error why = ERROR_INIT;

	peer_status(peer, &status);
	if (status.state == PEER_UP) {
		error_set(&why, -ENOTCONN, ERROR_PEER, "%s: no longer in peers at %s",
			  status.settings->name, status.settings->address);
		error_number(&why, ECANCELED);
		text_copy(why.call, sizeof(why.call), "session");
		peers->context.events->lost(peers->context.arg, status.settings->name, &why);
	}
	peer_free(peer, "no longer a peer in this daemon's configuration");
}

void peers_configure(struct peers *peers, const struct peer_settings *settings, size_t count)
{
	struct peers old = { .count = peers->count, .items = peers->items };

	peers->items = memory_new_array(count ? count : 1, sizeof(struct peer *));
	peers->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct peer *peer;

		if (!settings[i].is_enabled ||
		    strcmp(settings[i].name, peers->context.identity->node_name) == 0) {
			continue;
		}
		peer = keep(&old, &settings[i]);
		if (peer) {
			peer_set_settings(peer, &settings[i]);
		} else {
			peer = peer_new(&peers->context, &settings[i],
					first_delay_ns(peers, settings[i].name, count));
		}
		peers->items[peers->count++] = peer;
	}
	/* The new table stands before anybody hears of it. */
	for (size_t i = 0; i < old.count; i++) {
		if (old.items[i]) {
			let_go(peers, old.items[i]);
		}
	}
	free(old.items);
}

void peers_send_inventory(struct peers *peers)
{
	for (size_t i = 0; i < peers->count; i++) {
		peer_send_inventory(peers->items[i]);
	}
}

size_t peers_count(const struct peers *peers)
{
	return peers->count;
}

void peers_status(const struct peers *peers, size_t index, struct peer_status *ret)
{
	peer_status(peers->items[index], ret);
}

int peers_find(const struct peers *peers, const char *name, struct peer_status *ret)
{
	const struct peer *peer = find(peers, name);

	if (!peer) {
		return -ENOENT;
	}
	peer_status(peer, ret);
	return 0;
}

bool peers_send(struct peers *peers, const char *name, json_t *message)
{
	struct peer *peer = find(peers, name);

	if (!peer) {
		json_decref(message);
		return false;
	}
	return peer_send(peer, message);
}

void peers_hurry(struct peers *peers, const char *name)
{
	struct peer *peer = find(peers, name);

	if (peer) {
		peer_hurry(peer, first_delay_ns(peers, name, peers->count));
	}
}
