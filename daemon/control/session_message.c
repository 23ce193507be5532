// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "control/session_internal.h"
#include "util/clock.h"
#include "util/memory.h"

#define KIND_SIZE 32

static json_t *new_message(const char *kind)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	return message;
}

void session_message_hello(struct session *session)
{
	const struct session_identity *identity = session->identity;
	json_t *message = new_message("hello");

	json_set_u64(message, "protocol", identity->protocol);
	json_set_string(message, "node", identity->node_name);
	json_set_string(message, "version", identity->version);
	json_set_string(message, "boot_id", identity->inventory->boot_id);
	json_set_take(message, "inventory", schema_write(inventory_fields, identity->inventory));
	session->told_changes = identity->inventory_changes;
	session_queue(session, message);
}

void session_message_inventory(struct session *session)
{
	json_t *message = new_message("inventory");

	json_set_take(message, "inventory",
		      schema_write(inventory_fields, session->identity->inventory));
	session->told_changes = session->identity->inventory_changes;
	session_queue(session, message);
}

void session_message_ping(struct session *session)
{
	int64_t real_ns = clock_real_ns();
	int64_t mono_ns = (int64_t)clock_mono_ns();
	json_t *message = new_message("ping");

	json_set_i64(message, "t1_real_ns", real_ns);
	json_set_i64(message, "t1_mono_ns", mono_ns);
	offset_sent(&session->offset, real_ns, mono_ns);
	session_queue(session, message);
}

/* reason: of reading the message `kind`. */
static void blame_invalid(struct session *session, const char *kind, const struct error *reason)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EPROTO, ERROR_PEER, "sent an invalid %s: %s", kind, reason->text);
	session_blame(session, EBADMSG, &err);
}

/* 0, or -errno with err when there is none that can be used. */
static int read_inventory(struct session *session, const json_t *message, const char *node,
			  struct error *err)
{
	_cleanup_free_ struct inventory *inventory = memory_new(sizeof(*inventory));
	json_t *json;
	int ret = json_get_object(message, "inventory", &json, err);

	if (ret < 0) {
		return ret;
	}
	ret = schema_read(inventory_fields, json, inventory, err);
	if (ret < 0) {
		error_prefix(err, "inventory");
		return ret;
	}
	text_copy(inventory->node, sizeof(inventory->node), node);
	free(session->inventory);
	session->inventory = take(inventory);
	return 0;
}

/* Of any version of the protocol. */
static bool is_protocol_ours(struct session *session, const json_t *message)
{
	struct error reason = ERROR_INIT;
	struct error err = ERROR_INIT;
	char version[sizeof(session->peer_version)] = "?";
	uint64_t protocol;

	if (json_get_u64(message, "protocol", 0, INT64_MAX, &protocol, &reason) < 0 ||
	    json_get_string_or(message, "version", version, sizeof(version), &reason) < 0) {
		blame_invalid(session, "hello", &reason);
		return false;
	}
	text_copy(session->peer_version, sizeof(session->peer_version), version);
	if (protocol == session->identity->protocol) {
		return true;
	}
	error_set(&err, -EPROTO, ERROR_PEER,
		  "speaks control protocol %" PRIu64
		  " (rdmatestd %s), this daemon %u (rdmatestd %s); "
		  "install the same release on both nodes",
		  protocol, version, session->identity->protocol, session->identity->version);
	session_blame(session, EPROTONOSUPPORT, &err);
	return false;
}

static bool is_name_good(struct session *session, const char *node)
{
	struct error err = ERROR_INIT;
	char quoted[TEXT_QUOTED_SIZE];
	int number = EINVAL;

	if (!text_is_name(node)) {
		error_set(
			&err, -EPROTO, ERROR_PEER,
			"calls its node \"%s\"; a name has 1 to 63 of a-z 0-9 . _ - and begins with a "
			"letter or digit",
			text_quote(quoted, node));
	} else if (strcmp(node, session->identity->node_name) == 0) {
		error_set(
			&err, -EEXIST, ERROR_INPUT,
			"calls its node \"%s\" as this daemon does; set daemon.node_name on one of "
			"them, or correct the address in peers if it leads to this daemon itself",
			node);
		number = EEXIST;
	} else {
		return true;
	}
	session_blame(session, number, &err);
	return false;
}

/* Both sides have taken the other's hello. */
static void open_session(struct session *session)
{
	session->state = SESSION_OPEN;
	if (session->told_changes != session->identity->inventory_changes) {
		session_message_inventory(session); /* it changed behind our hello */
	}
	if (session->listener) {
		session_listener_opened(session);
	} else if (session->events) {
		session->events->opened(session->arg, session);
	}
}

/* The first ping says that we took the hello. Who was connected to may begin at once, since the
 * other side listens; who connected is not in before the other side took its hello too. */
static void greeted(struct session *session)
{
	session->heard_mono_ns = clock_mono_ns();
	session->ping_mono_ns = session->heard_mono_ns + SESSION_PING_NS;
	if (session->is_server && !session_listener_has_place(session)) {
		return;
	}
	session->state = SESSION_GREETED;
	session_message_ping(session);
	if (session->is_server) {
		open_session(session);
	}
}

static void take_hello(struct session *session, const json_t *message)
{
	struct error err = ERROR_INIT;
	char node[LIMIT_NAME];
	char boot_id[sizeof(session->inventory->boot_id)];

	if (!is_protocol_ours(session, message)) {
		return;
	}
	if (json_get_string(message, "node", node, sizeof(node), &err) < 0 ||
	    json_get_string(message, "boot_id", boot_id, sizeof(boot_id), &err) < 0) {
		blame_invalid(session, "hello", &err);
		return;
	}
	if (!is_name_good(session, node)) {
		return;
	}
	if (read_inventory(session, message, node, &err) < 0) {
		blame_invalid(session, "hello", &err);
		return;
	}
	text_copy(session->peer_name, sizeof(session->peer_name), node);
	text_copy(session->inventory->boot_id, sizeof(session->inventory->boot_id), boot_id);
	greeted(session);
}

static void take_hello_again(struct session *session, const json_t *message)
{
	struct error err = ERROR_INIT;

	error_set(&err, -EPROTO, ERROR_PEER, "sent a second hello");
	session_blame(session, EPROTO, &err);
}

static void take_inventory(struct session *session, const json_t *message)
{
	struct error err = ERROR_INIT;
	char boot_id[sizeof(session->inventory->boot_id)] = "";

	if (session->inventory) {
		text_copy(boot_id, sizeof(boot_id), session->inventory->boot_id);
	}
	if (read_inventory(session, message, session->peer_name, &err) < 0) {
		blame_invalid(session, "inventory", &err);
		return;
	}
	text_copy(session->inventory->boot_id, sizeof(session->inventory->boot_id), boot_id);
	if (session->events) {
		session->events->inventory(session->arg, session);
	}
}

static void take_ping(struct session *session, const json_t *message)
{
	int64_t received_mono_ns = (int64_t)clock_mono_ns();
	int64_t received_real_ns = clock_real_ns();
	struct error err = ERROR_INIT;
	int64_t t1_real_ns;
	int64_t t1_mono_ns;
	json_t *pong;

	if (json_get_i64(message, "t1_real_ns", &t1_real_ns, &err) < 0 ||
	    json_get_i64(message, "t1_mono_ns", &t1_mono_ns, &err) < 0) {
		blame_invalid(session, "ping", &err);
		return;
	}
	pong = new_message("pong");
	json_set_i64(pong, "t1_real_ns", t1_real_ns);
	json_set_i64(pong, "t1_mono_ns", t1_mono_ns);
	json_set_i64(pong, "t2_real_ns", received_real_ns);
	json_set_i64(pong, "t2_mono_ns", received_mono_ns);
	json_set_i64(pong, "t3_real_ns", clock_real_ns());
	json_set_i64(pong, "t3_mono_ns", (int64_t)clock_mono_ns());
	session_queue(session, pong);
}

static void take_pong(struct session *session, const json_t *message)
{
	int64_t received_mono_ns = (int64_t)clock_mono_ns();
	struct error err = ERROR_INIT;
	struct offset_pong pong;

	if (json_get_i64(message, "t1_mono_ns", &pong.t1_mono_ns, &err) < 0 ||
	    json_get_i64(message, "t2_real_ns", &pong.t2_real_ns, &err) < 0 ||
	    json_get_i64(message, "t2_mono_ns", &pong.t2_mono_ns, &err) < 0 ||
	    json_get_i64(message, "t3_real_ns", &pong.t3_real_ns, &err) < 0 ||
	    json_get_i64(message, "t3_mono_ns", &pong.t3_mono_ns, &err) < 0) {
		blame_invalid(session, "pong", &err);
		return;
	}
	offset_received(&session->offset, &pong, received_mono_ns);
}

static void take_bye(struct session *session, const json_t *message)
{
	char reason[LIMIT_TEXT] = "";
	struct error err = ERROR_INIT;
	bool is_refusal = false;

	/* A reason that cannot be read does not keep the peer from leaving. */
	json_get_string(message, "reason", reason, sizeof(reason), NULL);
	json_get_bool(message, "refused", &is_refusal, NULL);
	session->has_heard_bye = true;
	session->is_turned_away = session->state == SESSION_GREETED && !is_refusal;
	error_set(&err, -ECONNRESET, ERROR_PEER, "%s: %s",
		  is_refusal ? "refuses this daemon" : "closed the session",
		  reason[0] ? reason : "no reason given");
	error_number(&err, is_refusal ? ECONNREFUSED : ECONNRESET);
	session_end(session, &err, NULL);
}

static const struct handler {
	const char *kind;
	bool is_before_hello;
	bool is_after_hello;
	void (*handle)(struct session *session, const json_t *message);
} handlers[] = {
	{ "hello", true, false, take_hello },	      { "hello", false, true, take_hello_again },
	{ "inventory", false, true, take_inventory }, { "ping", false, true, take_ping },
	{ "pong", false, true, take_pong },	      { "bye", true, true, take_bye },
};

static const struct handler *find_handler(const char *kind, bool is_open)
{
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		if ((is_open ? handlers[i].is_after_hello : handlers[i].is_before_hello) &&
		    strcmp(kind, handlers[i].kind) == 0) {
			return &handlers[i];
		}
	}
	return NULL;
}

void session_message_received(struct session *session, const json_t *message)
{
	bool is_open = session->state >= SESSION_GREETED;
	struct error reason = ERROR_INIT;
	const struct handler *handler;
	char kind[KIND_SIZE];

	if (json_get_string(message, "kind", kind, sizeof(kind), &reason) < 0) {
		blame_invalid(session, "message", &reason);
		return;
	}
	if (session->state == SESSION_GREETED && strcmp(kind, "bye") != 0) {
		open_session(session); /* it would not go on, had it not taken our hello */
		if (session->state != SESSION_OPEN || session->is_doomed) {
			return;
		}
	}
	handler = find_handler(kind, is_open);
	if (handler) {
		handler->handle(session, message);
	} else if (!is_open) {
		error_set(&reason, -EPROTO, ERROR_PEER, "sent \"%s\" before its hello", kind);
		session_blame(session, EBADMSG, &reason);
	} else if (session->events) {
		session->events->message(session->arg, session, kind, message);
	}
}
