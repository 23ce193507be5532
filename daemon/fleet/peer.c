// SPDX-License-Identifier: MIT
#include "fleet/peer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/net.h"
#include "util/random.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define BACKOFF_FIRST_NS SECOND_NS
#define BACKOFF_MAX_NS (30 * SECOND_NS)
#define BACKOFF_DOUBLINGS 5 /* by then it is above the maximum */
#define STARTED_MAX 64 /* a peer that never releases fills no memory */
#define HURRY_APART_NS (5 * SECOND_NS) /* attempts that somebody asked for */
#define STEADY_NS (10 * SECOND_NS) /* a session that lived so long makes the backoff start anew */

const char *const peer_state_names[] = { "connecting", "up", "down", NULL };

struct peer {
	const struct peer_context *context;
	struct peer_settings settings;
	enum peer_state state;
	struct session *session; /* NULL while down */
	sd_event_source *timer; /* the next attempt */
	unsigned attempt; /* since it was steady */
	bool is_met; /* an attempt has ended, well or not */
	uint64_t tried_mono_ns; /* the last attempt began; 0: none did */
	char host[NET_NUMERIC_SIZE]; /* as peer_status.host */
	struct error last_error;
	struct error refusal; /* why we close the session ourselves */
	int64_t since_real_ns;
	uint64_t up_mono_ns;
	struct inventory *inventory; /* told by a session that is gone */
	json_t *started; /* jobs there that were not yet released, each by its key */
};

/* Full jitter would let a fleet's retries bunch by chance; a hash of who to whom spreads them,
 * always in the same way. */
static uint64_t backoff_ns(const struct peer *peer)
{
	unsigned doublings = peer->attempt < BACKOFF_DOUBLINGS ? peer->attempt : BACKOFF_DOUBLINGS;
	uint64_t whole_ns = BACKOFF_FIRST_NS << doublings;
	uint64_t hash = prng_hash(peer->settings.name,
				  prng_hash(peer->context->identity->node_name, peer->attempt));

	if (whole_ns > BACKOFF_MAX_NS) {
		whole_ns = BACKOFF_MAX_NS;
	}
	return whole_ns - hash % (whole_ns / 4);
}

static void try_after(struct peer *peer, uint64_t delay_ns)
{
	sd_event_source_set_time(peer->timer, (clock_mono_ns() + delay_ns + 999) / 1000);
	sd_event_source_set_enabled(peer->timer, SD_EVENT_ONESHOT);
}

static void set_state(struct peer *peer, enum peer_state state)
{
	peer->state = state;
	peer->since_real_ns = clock_real_ns();
}

static void tell_changed(struct peer *peer)
{
	peer->context->events->changed(peer->context->arg, peer->settings.name);
}

static void on_opened(void *arg, struct session *session)
{
	struct peer *peer = arg;
	const char *name = session_peer_name(session);

	if (strcmp(name, peer->settings.name) != 0) {
		error_set(&peer->refusal, -EINVAL, ERROR_INPUT,
			  "%s (%s): the daemon there calls its node \"%s\"; make peers[].name and "
			  "daemon.node_name agree, or correct the address",
			  peer->settings.name, peer->settings.address, name);
		error_number(&peer->refusal, EINVAL);
		text_copy(peer->refusal.call, sizeof(peer->refusal.call), "hello");
		peer->refusal.stage = STAGE_DISCOVER;
		session_close(session, "the address is configured for a node of another name");
		return;
	}
	free(take(peer->inventory));
	peer->is_met = true;
	peer->up_mono_ns = clock_mono_ns();
	text_copy(peer->host, sizeof(peer->host), session_peer_host(session));
	peer->last_error = ERROR_INIT;
	set_state(peer, PEER_UP);
	tell_changed(peer);
}

/* What names a job in each of its messages (api/control-protocol.md). */
static void job_key(const json_t *message, char *ret_key, size_t size)
{
	const char *run = json_string_value(json_object_get(message, "run"));
	const char *role = json_string_value(json_object_get(message, "role"));

	snprintf(ret_key, size, "%.40s %lld %.20s", run ? run : "",
		 json_integer_value(json_object_get(message, "pair")), role ? role : "");
}

/* Only a peer that runs a job of ours may send frames as large as totals can be. */
static void note_started(struct peer *peer, const json_t *message)
{
	char key[96];

	job_key(message, key, sizeof(key));
	if (json_object_size(peer->started) < STARTED_MAX) {
		json_set_bool(peer->started, key, true);
	}
	session_expect_totals(peer->session, true);
}

static void note_released(struct peer *peer, const json_t *message)
{
	char key[96];

	job_key(message, key, sizeof(key));
	json_object_del(peer->started, key);
	session_expect_totals(peer->session, json_object_size(peer->started) > 0);
}

static void on_message(void *arg, struct session *session, const char *kind, const json_t *message)
{
	struct peer *peer = arg;

	if (peer->state == PEER_UP) {
		if (strcmp(kind, "released") == 0) {
			note_released(peer, message);
		}
		peer->context->events->message(peer->context->arg, peer->settings.name, kind,
					       message);
	}
}

static void on_inventory(void *arg, struct session *session)
{
	struct peer *peer = arg;

	if (peer->state == PEER_UP) {
		tell_changed(peer);
	}
}

static void on_closed(void *arg, struct session *session, const struct error *why)
{
	struct peer *peer = arg;
	bool was_up = peer->state == PEER_UP;

	peer->last_error = error_is_set(&peer->refusal) ? peer->refusal : *why;
	peer->refusal = ERROR_INIT;
	if (was_up) {
		peer->inventory = session_take_inventory(session);
		if (clock_mono_ns() - peer->up_mono_ns >= STEADY_NS) {
			peer->attempt = 0;
		}
	}
	peer->session = NULL;
	peer->is_met = true;
	json_object_clear(peer->started);
	set_state(peer, PEER_DOWN);
	try_after(peer, backoff_ns(peer));
	peer->attempt++;
	if (was_up) {
		peer->context->events->lost(peer->context->arg, peer->settings.name,
					    &peer->last_error);
	}
	tell_changed(peer);
}

static const struct session_events session_events = {
	.opened = on_opened,
	.message = on_message,
	.inventory = on_inventory,
	.closed = on_closed,
};

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct peer *peer = arg;
	struct error err = ERROR_INIT;
	char host[NET_ADDRESS_SIZE];
	uint16_t port;

	if (net_split(peer->settings.address, SESSION_PORT, host, &port, &err) < 0) {
		error_prefix(&err, "peers: \"%s\"", peer->settings.name);
		peer->last_error = err; /* only another configuration helps */
		peer->is_met = true;
		tell_changed(peer);
		return 0;
	}
	peer->tried_mono_ns = clock_mono_ns();
	peer->session = session_connect(peer->context->event, peer->context->pool, host, port,
					peer->context->identity, &session_events, peer);
	set_state(peer, PEER_CONNECTING);
	tell_changed(peer);
	return 0;
}

/* Where the configuration already says it. */
static void note_number(struct peer *peer)
{
	char host[NET_ADDRESS_SIZE];
	uint16_t port;

	if (net_split(peer->settings.address, SESSION_PORT, host, &port, NULL) == 0 &&
	    net_is_numeric(host)) {
		text_copy(peer->host, sizeof(peer->host), host);
	}
}

struct peer *peer_new(const struct peer_context *context, const struct peer_settings *settings,
		      uint64_t delay_ns)
{
	struct peer *peer = memory_new(sizeof(*peer));
	int ret = sd_event_add_time(context->event, &peer->timer, CLOCK_MONOTONIC, 0, 1, on_timer,
				    peer);

	assert(ret >= 0);
	(void)ret;
	sd_event_source_set_enabled(peer->timer, SD_EVENT_OFF);
	peer->context = context;
	peer->started = json_object();
	peer->settings = *settings;
	note_number(peer);
	set_state(peer, PEER_DOWN);
	error_set(&peer->last_error, -ENOTCONN, ERROR_PEER, "%s: not tried yet", settings->name);
	try_after(peer, delay_ns);
	return peer;
}

void peer_free(struct peer *peer, const char *reason)
{
	if (!peer) {
		return;
	}
	if (peer->session) {
		session_close(peer->session, reason);
		session_free(peer->session);
	}
	sd_event_source_disable_unref(peer->timer);
	json_decref(peer->started);
	free(peer->inventory);
	free(peer);
}

const struct peer_settings *peer_settings(const struct peer *peer)
{
	return &peer->settings;
}

void peer_set_settings(struct peer *peer, const struct peer_settings *settings)
{
	peer->settings = *settings;
}

void peer_status(const struct peer *peer, struct peer_status *ret)
{
	const struct session *session = peer->state == PEER_UP ? peer->session : NULL;

	*ret = (struct peer_status){
		.settings = &peer->settings,
		.host = peer->host,
		.state = peer->state,
		.is_met = peer->is_met,
		.inventory = session ? session_peer_inventory(session) : peer->inventory,
		.last_error = peer->last_error,
		.since_real_ns = peer->since_real_ns,
	};
	if (session) {
		ret->round_trip_ns = session_round_trip_ns(session);
		ret->has_offset =
			session_clock_offset(session, &ret->clock_offset_ns, &ret->clock_error_ns);
	}
}

bool peer_send(struct peer *peer, json_t *message)
{
	const char *kind = json_string_value(json_object_get(message, "kind"));

	if (peer->state != PEER_UP) {
		json_decref(message);
		return false;
	}
	if (strcmp(kind ? kind : "", "start") == 0) {
		note_started(peer, message);
	}
	return session_send(peer->session, message);
}

void peer_send_inventory(struct peer *peer)
{
	if (peer->state == PEER_UP) {
		session_send_inventory(peer->session);
	}
}

void peer_hurry(struct peer *peer, uint64_t delay_ns)
{
	uint64_t now_mono_ns = clock_mono_ns();
	uint64_t when_mono_ns = now_mono_ns + delay_ns;
	uint64_t planned_us = 0;

	if (peer->state != PEER_DOWN) {
		return;
	}
	if (peer->tried_mono_ns && when_mono_ns < peer->tried_mono_ns + HURRY_APART_NS) {
		when_mono_ns = peer->tried_mono_ns + HURRY_APART_NS;
	}
	sd_event_source_get_time(peer->timer, &planned_us);
	if (when_mono_ns / 1000 < planned_us) {
		try_after(peer, when_mono_ns - now_mono_ns);
	}
}
