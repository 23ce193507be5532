// SPDX-License-Identifier: MIT
#pragma once

/*
 * Daemons for the tests of control/ and fleet/: each listens and records what its sessions tell;
 * and a stranger, who speaks TLS and frames by hand and keeps no rules. One sd-event loop for all.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/frame.h"
#include "control/session.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/net.h"
#include "util/text.h"

#define HOST "127.0.0.1"
#define MS 1000000ull

static const struct tls_key fleet_key = { .bytes = { 9, 8, 7 }, .count = 32 };
static const struct tls_key other_key = { .bytes = { 9, 8, 6 }, .count = 32 };

/* What one session told its owner. */
struct record {
	struct session *session; /* NULL once closed */
	unsigned opened;
	unsigned inventories;
	unsigned closed;
	unsigned messages;
	char kinds[256]; /* of the messages, each followed by a blank */
	json_t *last;
	struct error why;
	char close_on[32]; /* kind of a message on which the session is closed from inside the event
			    */
	char free_on[32]; /* likewise freed */
	bool close_on_open;
};

struct member {
	struct session_identity identity;
	struct inventory *inventory;
	struct net_resolve_pool *pool;
	struct session_listener *listener;
	uint16_t port;
	unsigned accepted;
	struct record records[80]; /* of accepted sessions */
};

static inline void record_act(struct record *record, const char *kind)
{
	if (strcmp(record->close_on, kind) == 0) {
		session_close(record->session, "closed in the test");
	}
	if (strcmp(record->free_on, kind) == 0) {
		session_free(record->session);
		record->session = NULL;
	}
}

static inline void record_opened(void *arg, struct session *session)
{
	struct record *record = arg;

	record->opened++;
	assert_true(session_is_open(session));
	if (record->close_on_open) {
		session_close(session, "closed in the test");
		assert_false(session_is_open(session));
	}
}

static inline void record_message(void *arg, struct session *session, const char *kind,
				  const json_t *message)
{
	struct record *record = arg;
	size_t length = strlen(record->kinds);

	assert_ptr_equal(session, record->session);
	record->messages++;
	snprintf(record->kinds + length, sizeof(record->kinds) - length, "%s ", kind);
	json_decref(record->last);
	record->last = json_incref((json_t *)message);
	record_act(record, kind);
}

static inline void record_inventory(void *arg, struct session *session)
{
	struct record *record = arg;

	record->inventories++;
}

static inline void record_closed(void *arg, struct session *session, const struct error *why)
{
	struct record *record = arg;

	assert_false(session_is_open(session));
	record->closed++;
	record->session = NULL;
	record->why = *why;
}

static const struct session_events record_events = {
	.opened = record_opened,
	.message = record_message,
	.inventory = record_inventory,
	.closed = record_closed,
};

static inline void record_done(struct record *record)
{
	session_free(record->session);
	json_decref(record->last);
	*record = (struct record){ 0 };
}

static inline void member_accepted(void *arg, struct session *session)
{
	struct member *node = arg;
	struct record *record = &node->records[node->accepted++];

	assert_true(node->accepted <= sizeof(node->records) / sizeof(node->records[0]));
	assert_true(session_is_open(session));
	record->session = session;
	record->opened = 1;
	session_set_events(session, &record_events, record);
}

static inline void member_init(struct member *node, const char *name)
{
	memset(node, 0, sizeof(*node));
	node->pool = net_resolve_pool_new();
	node->inventory = memory_new(sizeof(*node->inventory));
	text_copy(node->inventory->node, sizeof(node->inventory->node), name);
	text_copy(node->inventory->boot_id, sizeof(node->inventory->boot_id), "boot");
	node->identity = (struct session_identity){
		.node_name = name,
		.version = "0.1.0",
		.key = fleet_key,
		.inventory = node->inventory,
		.protocol = SESSION_PROTOCOL,
	};
}

/* On a port that is free: several tests may run at once. */
static inline void member_listen(struct member *node, sd_event *event, unsigned max)
{
	static unsigned next;

	for (unsigned i = 0; i < 200; i++) {
		struct error err = ERROR_INIT;

		node->port = (uint16_t)(20000 + ((unsigned)getpid() * 37 + next++) % 10000);
		if (session_listen(&node->listener, event, HOST, node->port, max, &node->identity,
				   member_accepted, node, &err) == 0) {
			return;
		}
	}
	fail_msg("no free port");
}

static inline void member_done(struct member *node)
{
	session_listener_free(node->listener);
	for (unsigned i = 0; i < node->accepted; i++) {
		record_done(&node->records[i]);
	}
	free(node->inventory);
	net_resolve_pool_free(node->pool);
}

static inline void member_connect(struct member *node, sd_event *event, uint16_t port,
				  struct record *record)
{
	record->session = session_connect(event, node->pool, HOST, port, &node->identity,
					  &record_events, record);
}

/* Runs the loop until *count reaches `target`; fails after so many ms. */
static inline void run_until(sd_event *event, const unsigned *count, unsigned target,
			     unsigned timeout_ms)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + timeout_ms * MS;

	while (*count < target && clock_mono_ns() < deadline_mono_ns) {
		assert_true(sd_event_run(event, 10000) >= 0);
	}
	assert_int_equal(*count, target);
}

/* Where time is virtual: how it passes. */
static void (*pass_time)(unsigned ms);

static inline void run_for(sd_event *event, unsigned ms)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ms * MS;

	if (pass_time) {
		pass_time(ms);
		return;
	}
	while (clock_mono_ns() < deadline_mono_ns) {
		assert_true(sd_event_run(event, 1000) >= 0);
	}
	/* What is ready by then is done, however slow the host is. */
	for (int i = 0; i < 10000 && sd_event_run(event, 0) > 0; i++) {
	}
}

/* --- the stranger --- */

struct stranger {
	int fd; /* until tls takes it */
	struct tls *tls;
	struct frame_reader reader;
	char kinds[256];
	json_t *last;
	struct error err;
};

static inline void stranger_connect_to(struct stranger *stranger, const char *host, uint16_t port)
{
	*stranger = (struct stranger){ 0 };
	frame_reader_init(&stranger->reader, LIMIT_FRAME_BYTES);
	stranger->fd = net_connect(host, port, &stranger->err);
	assert_true(stranger->fd >= 0);
}

static inline void stranger_connect(struct stranger *stranger, uint16_t port)
{
	stranger_connect_to(stranger, HOST, port);
}

/* With the fleet's key. */
static inline void stranger_shake(struct stranger *stranger, sd_event *event)
{
	int ret = -EAGAIN;

	run_for(event, 5);
	assert_int_equal(tls_new(&stranger->tls, stranger->fd, false, &fleet_key, &stranger->err),
			 0);
	stranger->fd = -1;
	for (int i = 0; i < 5000 && ret == -EAGAIN; i++) {
		ret = tls_handshake(stranger->tls, &stranger->err);
		run_for(event, 2);
	}
	assert_int_equal(ret, 0);
}

static inline void stranger_send_bytes(struct stranger *stranger, const void *bytes, size_t count)
{
	assert_int_equal(tls_write(stranger->tls, bytes, count, &stranger->err), count);
}

static inline void stranger_send_text(struct stranger *stranger, const char *body)
{
	_cleanup_text_ struct text frame = TEXT_INIT;
	size_t length = strlen(body);

	text_add_bytes(&frame,
		       (uint8_t[]){ (uint8_t)(length >> 24), (uint8_t)(length >> 16),
				    (uint8_t)(length >> 8), (uint8_t)length },
		       4);
	text_add(&frame, body);
	stranger_send_bytes(stranger, frame.data, frame.length);
}

#define STRANGER_HELLO                                                                \
	"{\"kind\":\"hello\",\"protocol\":1,\"node\":\"stranger\",\"version\":\"9\"," \
	"\"boot_id\":\"b\",\"inventory\":{\"node\":\"stranger\",\"ports\":[]}}"

/* Takes what is there; 0, the end of the stream (1) or its failure. */
static inline int stranger_receive(struct stranger *stranger)
{
	uint8_t bytes[4096];

	for (;;) {
		ssize_t got = tls_read(stranger->tls, bytes, sizeof(bytes), &stranger->err);
		size_t at = 0;

		if (got == -EAGAIN) {
			return 0;
		}
		if (got <= 0) {
			return got == 0 ? 1 : (int)got;
		}
		while (at < (size_t)got) {
			size_t length = strlen(stranger->kinds);
			json_t *message = NULL;
			size_t used = 0;

			assert_int_equal(frame_read(&stranger->reader, bytes + at, (size_t)got - at,
						    &used, &message, &stranger->err),
					 0);
			at += used;
			if (message) {
				snprintf(stranger->kinds + length, sizeof(stranger->kinds) - length,
					 "%s ",
					 json_string_value(json_object_get(message, "kind")));
				json_decref(stranger->last);
				stranger->last = message;
			}
		}
	}
}

/* What the daemon said before it closed: the reason of its bye must hold `part`. */
static inline void stranger_expect_bye(struct stranger *stranger, sd_event *event, const char *part)
{
	const char *reason;
	int ret = 0;

	for (int i = 0; i < 500 && ret == 0; i++) {
		run_for(event, 2);
		ret = stranger_receive(stranger);
	}
	assert_int_equal(ret, 1);
	assert_non_null(stranger->last);
	assert_string_equal(json_string_value(json_object_get(stranger->last, "kind")), "bye");
	reason = json_string_value(json_object_get(stranger->last, "reason"));
	if (!strstr(reason, part)) {
		fail_msg("\"%s\" does not hold \"%s\"", reason, part);
	}
}

static inline void stranger_done(struct stranger *stranger)
{
	tls_free(stranger->tls);
	if (!stranger->tls) {
		memory_close_fd(&stranger->fd);
	}
	frame_reader_done(&stranger->reader);
	json_decref(stranger->last);
}
