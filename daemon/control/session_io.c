// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "control/session_internal.h"
#include "util/clock.h"

/* Fairness between sessions: a turn reads or writes so many times, then the loop serves others. */
#define READS_PER_TURN 16
#define WRITES_PER_TURN 64
#define READ_BYTES 4096
#define TURN_NS 1000000ull /* of reading: small messages cost more than their bytes */
#define KEPT_BYTES (64u << 10) /* of a drained queue */

size_t session_io_queued(const struct session *session)
{
	return session->output.length - session->output_start;
}

static void compact(struct session *session)
{
	if (session->output_start > KEPT_BYTES &&
	    session->output_start > session->output.length / 2) {
		memmove(session->output.data, session->output.data + session->output_start,
			session_io_queued(session) + 1);
		session->output.length -= session->output_start;
		session->output_start = 0;
	}
}

int session_io_append(struct session *session, const json_t *message, struct error *err)
{
	int ret;

	compact(session);
	ret = frame_write(message, LIMIT_FRAME_BYTES, &session->output, err);
	if (ret == 0 && session_io_queued(session) > SESSION_QUEUE_BYTES) {
		ret = error_set(err, -ENOBUFS, ERROR_PEER,
				"does not read: over %u MiB are queued for it",
				SESSION_QUEUE_BYTES >> 20);
		error_number(err, ENOBUFS);
	}
	return ret;
}

int session_io_flush(struct session *session, struct error *err)
{
	for (unsigned i = 0; i < WRITES_PER_TURN && session_io_queued(session) > 0; i++) {
		ssize_t sent = tls_write(session->tls, session->output.data + session->output_start,
					 session_io_queued(session), err);

		if (sent == -EAGAIN) {
			return 0;
		}
		if (sent < 0) {
			return (int)sent;
		}
		session->output_start += (size_t)sent;
	}
	if (session_io_queued(session) == 0) {
		session->output_start = 0;
		text_reset(&session->output);
		if (session->output.capacity > KEPT_BYTES) {
			text_done(&session->output);
		}
	}
	return 0;
}

static void feed(struct session *session, const uint8_t *bytes, size_t count)
{
	while (count > 0 && session->state < SESSION_LEAVING && !session->is_doomed) {
		_cleanup_json_ json_t *message = NULL;
		struct error err = ERROR_INIT;
		size_t used = 0;

		if (frame_read(&session->reader, bytes, count, &used, &message, &err) < 0) {
			session_blame(session, EBADMSG, &err);
			return;
		}
		bytes += used;
		count -= used;
		if (message) {
			session_message_received(session, message);
		}
	}
}

static void end_of_stream(struct session *session)
{
	struct error err = ERROR_INIT;

	error_set(&err, -ECONNRESET, ERROR_PEER, "ended the connection %s",
		  frame_is_partial(&session->reader) ? "in the middle of a frame"
						     : "without saying why");
	error_number(&err, ECONNRESET);
	session_end(session, &err, NULL);
}

/*
 * How much the next read takes; 0 ends the turn. What TLS holds decrypted is read to its end, since
 * the descriptor does not tell of it; it does tell of the rest, in turn with everybody else. A
 * deferred event would not be: sd-event puts it before all that became ready after it was made.
 */
static size_t next_read_bytes(const struct session *session, unsigned reads, uint64_t until_mono_ns)
{
	size_t held_bytes;

	if (reads == 0 || (reads < READS_PER_TURN && clock_mono_ns() < until_mono_ns)) {
		return READ_BYTES;
	}
	held_bytes = tls_pending_bytes(session->tls);
	return held_bytes < READ_BYTES ? held_bytes : READ_BYTES;
}

static void receive(struct session *session)
{
	uint64_t until_mono_ns = clock_mono_ns() + TURN_NS;
	unsigned reads = 0;
	size_t wanted_bytes;

	session->has_more = false;
	while ((wanted_bytes = next_read_bytes(session, reads++, until_mono_ns)) > 0) {
		uint8_t bytes[READ_BYTES];
		struct error err = ERROR_INIT;
		ssize_t got = tls_read(session->tls, bytes, wanted_bytes, &err);

		if (tls_received_bytes(session->tls) != session->heard_bytes) {
			session->heard_bytes = tls_received_bytes(session->tls);
			session->heard_mono_ns = clock_mono_ns();
		}
		if (got == -EAGAIN) {
			return;
		}
		if (got == 0) {
			end_of_stream(session);
		} else if (got < 0) {
			error_number(&err, (int)got);
			session_end(session, &err, NULL);
		} else {
			feed(session, bytes, (size_t)got);
		}
		if (session->state == SESSION_CLOSED || session->is_doomed) {
			return;
		}
	}
}

void session_io_receive(struct session *session)
{
	uint64_t start_ns = clock_thread_cpu_ns();

	receive(session);
	session_budget_charge(session, clock_thread_cpu_ns() - start_ns);
}
