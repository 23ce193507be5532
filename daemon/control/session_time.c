// SPDX-License-Identifier: MIT
#include <errno.h>

#include "control/session_internal.h"
#include "util/clock.h"

uint64_t session_time_next_mono_ns(const struct session *session)
{
	uint64_t silent_mono_ns = session->heard_mono_ns + SESSION_SILENCE_NS;

	if (session->state != SESSION_OPEN) {
		return session->deadline_mono_ns;
	}
	return silent_mono_ns < session->ping_mono_ns ? silent_mono_ns : session->ping_mono_ns;
}

static void deadline_passed(struct session *session)
{
	struct error err = ERROR_INIT;

	if (session->state <= SESSION_CONNECTING) {
		error_set(&err, -ETIMEDOUT, ERROR_PEER,
			  "no connection within %llu s; is the host up, and TCP port %u open?",
			  SESSION_CONNECT_NS / SESSION_SECOND_NS, session->port);
	} else {
		error_set(&err, -ETIMEDOUT, ERROR_PEER, "no %s within %llu s; is it rdmatestd?",
			  session->state == SESSION_HANDSHAKING ? "TLS handshake" : "hello",
			  SESSION_HELLO_NS / SESSION_SECOND_NS);
	}
	session_end(session, &err, NULL);
}

static void check_silence(struct session *session, uint64_t now_mono_ns)
{
	struct error err = ERROR_INIT;

	if (now_mono_ns - session->heard_mono_ns >= SESSION_SILENCE_NS) {
		error_set(&err, -ETIMEDOUT, ERROR_PEER,
			  "nothing received for %llu s; the daemon or its host hangs, or the "
			  "network is cut",
			  SESSION_SILENCE_NS / SESSION_SECOND_NS);
		session_end(session, &err, NULL);
	}
}

void session_time_passed(struct session *session)
{
	uint64_t now_mono_ns = clock_mono_ns();

	if (session->state < SESSION_OPEN || session->state == SESSION_LEAVING) {
		if (now_mono_ns >= session->deadline_mono_ns) {
			deadline_passed(session);
		}
	} else if (session->state == SESSION_OPEN) {
		check_silence(session, now_mono_ns);
	}
	if (session->state == SESSION_OPEN && now_mono_ns >= session->ping_mono_ns) {
		session->ping_mono_ns = now_mono_ns + SESSION_PING_NS;
		session_message_ping(session);
	}
}
