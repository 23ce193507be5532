// SPDX-License-Identifier: MIT
/*
 * A whole session against a peer that holds the key and keeps no rules: control/session*,
 * control/frame, control/offset. TLS (control/tls) is replaced by a pipe in memory, sd-event by
 * fuzz/loop.
 *
 * The input is lines. One that begins with "!" does something else than to send a frame:
 *
 *   !r BYTES  sends them as they are        !t MS  time passes        !p N  reads get N bytes at
 * most !w        writes block, or go again     !e     the stream ends    !x    reads fail !y writes
 * fail                   !z     the handshake waits, or goes on !i        our inventory changed !s
 * our owner sends    !b    it sends 100 KiB !c        our owner closes              !f     it frees
 * !o CF it does so inside events
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "control/session_internal.h"
#include "fuzz/fuzz.h"
#include "fuzz/loop.h"
#include "util/memory.h"

#define BIG_BYTES (100u << 10)
#define BIG_MAX 3
#define MAX_TURNS 20000

/* Both directions of the connection, and how it behaves. */
static struct pipe {
	struct text in; /* to the session */
	size_t taken;
	size_t most_bytes; /* of one read; 0: as many as wanted */
	uint64_t received_bytes;
	struct text out; /* from the session */
	bool is_shaking;
	bool is_blocked;
	bool is_ended;
	bool has_read_error;
	bool has_write_error;
	bool is_bye_said;
} line;

/* The owner of the session. */
static struct owner {
	sd_event *event;
	struct session *session; /* NULL: closed or freed */
	struct inventory *inventory;
	struct session_identity identity;
	unsigned opened;
	unsigned closed;
	unsigned bigs;
	bool is_closing_inside;
	bool is_freeing_inside;
} owner;

/* --- control/tls --- */

struct tls {
	char unused;
};

int tls_new(struct tls **ret, int fd, bool is_server, const struct tls_key *key, struct error *err)
{
	assert(key->count >= TLS_KEY_MIN);
	*ret = memory_new(sizeof(**ret));
	return 0;
}

void tls_free(struct tls *tls)
{
	free(tls);
}

int tls_fd(const struct tls *tls)
{
	return -1;
}

uint64_t tls_received_bytes(const struct tls *tls)
{
	return line.received_bytes;
}

size_t tls_pending_bytes(const struct tls *tls)
{
	/* As if each read had decrypted a little more than was asked for. */
	return line.in.length - line.taken < 16 ? line.in.length - line.taken : 16;
}

int tls_handshake(struct tls *tls, struct error *err)
{
	return line.is_shaking ? -EAGAIN : 0;
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t count, struct error *err)
{
	size_t left = line.in.length - line.taken;

	if (line.has_read_error) {
		return error_set(err, -ECONNRESET, ERROR_PEER, "the connection broke");
	}
	if (left == 0) {
		return line.is_ended ? 0 : -EAGAIN;
	}
	count = count < left ? count : left;
	count = line.most_bytes && line.most_bytes < count ? line.most_bytes : count;
	memcpy(bytes, line.in.data + line.taken, count);
	line.taken += count;
	line.received_bytes += count;
	return (ssize_t)count;
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t count, struct error *err)
{
	if (line.has_write_error) {
		return error_set(err, -EPIPE, ERROR_PEER, "the connection broke");
	}
	if (line.is_blocked) {
		return -EAGAIN;
	}
	assert(!line.is_bye_said);
	count = count < 4096 ? count : 4096;
	text_add_bytes(&line.out, bytes, count);
	return (ssize_t)count;
}

bool tls_wants_write(const struct tls *tls)
{
	return false;
}

void tls_bye(struct tls *tls)
{
	line.is_bye_said = true;
}

static uint32_t ready(void *arg)
{
	bool has_input = line.in.length > line.taken || line.is_ended || line.has_read_error;

	/* A handshake that waits has taken what was there. */
	return (has_input && !line.is_shaking ? EPOLLIN : 0) | (line.is_blocked ? 0 : EPOLLOUT);
}

/* --- the owner --- */

static void act_inside(struct session *session)
{
	if (owner.is_closing_inside) {
		session_close(session, "closed inside an event");
		assert(!session_is_open(session));
	}
	if (owner.is_freeing_inside) {
		session_free(session);
		owner.session = NULL;
	}
}

static void on_opened(void *arg, struct session *session)
{
	assert(owner.session == session && owner.opened++ == 0 && owner.closed == 0);
	assert(session_is_open(session));
	assert(text_is_name(session_peer_name(session)));
	assert(session_peer_inventory(session));
	fuzz_accept();
	act_inside(session);
}

static void on_message(void *arg, struct session *session, const char *kind, const json_t *message)
{
	assert(owner.session == session && owner.opened == 1 && owner.closed == 0);
	assert(strcmp(json_string_value(json_object_get(message, "kind")), kind) == 0);
	act_inside(session);
}

static void on_inventory(void *arg, struct session *session)
{
	assert(owner.session == session && owner.opened == 1 && owner.closed == 0);
	assert(strcmp(session_peer_inventory(session)->node, session_peer_name(session)) == 0);
	act_inside(session);
}

static void on_closed(void *arg, struct session *session, const struct error *why)
{
	assert(owner.session == session && owner.closed++ == 0);
	assert(!session_is_open(session));
	if (error_is_set(why)) {
		fuzz_expect_error(why);
		assert(why->call[0] && strstr(why->text, "192.0.2.7:4711"));
	}
	owner.session = NULL;
}

static const struct session_events events = {
	.opened = on_opened,
	.message = on_message,
	.inventory = on_inventory,
	.closed = on_closed,
};

static void begin(void)
{
	owner = (struct owner){ .event = loop_new(ready, NULL) };
	line = (struct pipe){ 0 };
	owner.inventory = memory_new(sizeof(*owner.inventory));
	text_copy(owner.inventory->node, sizeof(owner.inventory->node), "us");
	owner.identity = (struct session_identity){
		.node_name = "us",
		.version = "1",
		.key = { .count = TLS_KEY_MIN },
		.inventory = owner.inventory,
		.protocol = SESSION_PROTOCOL,
	};
	owner.session = session_accept(owner.event, -1, "192.0.2.7:4711", &owner.identity, NULL);
	session_set_events(owner.session, &events, NULL);
}

/* Whatever came, what we say are frames of known kinds, and each message is whole. */
static void check_output(void)
{
	static const char *const kinds[] = { "hello", "ping", "pong", "inventory", "bye", "big" };
	struct frame_reader reader;
	size_t at = 0;

	frame_reader_init(&reader, LIMIT_FRAME_BYTES);
	while (at < line.out.length) {
		struct error err = ERROR_INIT;
		json_t *message = NULL;
		const char *kind;
		size_t used = 0;
		bool is_known = false;

		assert(frame_read(&reader, line.out.data + at, line.out.length - at, &used,
				  &message, &err) == 0);
		at += used;
		if (!message) {
			break; /* cut: the connection broke, or the session was freed */
		}
		kind = json_string_value(json_object_get(message, "kind"));
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			is_known = is_known || strcmp(kind, kinds[i]) == 0;
		}
		assert(is_known);
		json_decref(message);
	}
	frame_reader_done(&reader);
}

static void check_clock(void)
{
	int64_t offset_ns;
	int64_t error_ns;

	if (owner.session && session_clock_offset(owner.session, &offset_ns, &error_ns)) {
		assert(error_ns >= 0 && session_round_trip_ns(owner.session) > 0);
	} else if (owner.session) {
		assert(session_round_trip_ns(owner.session) == 0);
	}
}

static void end(void)
{
	check_clock();
	/* Left alone it ends by itself: each of its states has a deadline. */
	line.is_blocked = false;
	loop_settle(owner.event, MAX_TURNS);
	loop_pass(owner.event, 2 * SESSION_HELLO_NS);
	assert(!owner.session);
	if (!line.has_write_error) {
		check_output();
	}
	loop_free(owner.event);
	free(owner.inventory);
	text_done(&line.in);
	text_done(&line.out);
}

static void send_frame(const char *body, size_t length)
{
	uint8_t header[4] = { (uint8_t)(length >> 24), (uint8_t)(length >> 16),
			      (uint8_t)(length >> 8), (uint8_t)length };

	text_add_bytes(&line.in, header, sizeof(header));
	text_add_bytes(&line.in, body, length);
}

static void send_big(struct session *session)
{
	_cleanup_free_ char *filler = NULL;
	json_t *message;

	/* They take time, and fill nothing but a queue that stands still. */
	if (!line.is_blocked || owner.bigs++ >= BIG_MAX) {
		return;
	}
	filler = memory_new(BIG_BYTES + 1);
	message = json_object();
	memset(filler, 'x', BIG_BYTES);
	json_set_string(message, "kind", "big");
	json_set_string(message, "filler", filler);
	session_send(session, message);
}

static void set_owner(const char *how)
{
	owner.is_closing_inside = strchr(how, 'C') != NULL;
	owner.is_freeing_inside = strchr(how, 'F') != NULL;
}

/* What needs a session is left out when there is none any more. */
static void act_as_owner(struct session *session, char what)
{
	if (!session) {
		return;
	}
	switch (what) {
	case 'i':
		owner.identity.inventory_changes++;
		session_send_inventory(session);
		break;
	case 's':
		session_send(session, json_pack("{s:s}", "kind", "big"));
		break;
	case 'b':
		send_big(session);
		break;
	case 'c':
		session_close(session, "closed by its owner");
		break;
	case 'f':
		session_free(session);
		owner.session = NULL;
		break;
	default:
		break;
	}
}

static void act(const char *what, size_t length)
{
	switch (what[0]) {
	case 'r':
		text_add_bytes(&line.in, what + 1, length - 1);
		break;
	case 't':
		loop_pass(owner.event, fuzz_number(what + 1, 20000) * 1000000);
		break;
	case 'p':
		line.most_bytes = fuzz_number(what + 1, 4096);
		break;
	case 'w':
		line.is_blocked = !line.is_blocked;
		break;
	case 'e':
		line.is_ended = true;
		break;
	case 'x':
		line.has_read_error = true;
		break;
	case 'y':
		line.has_write_error = true;
		break;
	case 'z':
		line.is_shaking = !line.is_shaking;
		break;
	case 'o':
		set_owner(what + 1);
		break;
	default:
		act_as_owner(owner.session, what[0]);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines lines = fuzz_lines(data, size);
	size_t length;
	char *each;

	begin();
	while ((each = fuzz_lines_next(&lines, &length))) {
		if (each[0] == '!' && length > 1) {
			act(each + 1, length - 1);
		} else {
			send_frame(each, length);
		}
		free(each);
		loop_settle(owner.event, MAX_TURNS);
	}
	end();
	return 0;
}
