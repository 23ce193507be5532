// SPDX-License-Identifier: MIT
#include <errno.h>

#include "control/session_internal.h"
#include "util/clock.h"

#define STILL_NS (2 * SESSION_SECOND_NS)

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t session_time_next_mono_ns(const struct session *session)
{
	bool is_deaf = session_budget_is_spent(session);

	/* Who does not listen hears no silence. */
	if (session->state == SESSION_OPEN) {
		return earlier(session->ping_mono_ns,
			       is_deaf ? session->deaf_until_mono_ns
				       : session->heard_mono_ns + SESSION_SILENCE_NS);
	}
	return is_deaf ? earlier(session->deadline_mono_ns, session->deaf_until_mono_ns)
		       : session->deadline_mono_ns;
}

/* A deadline is looked at when it is due: what is late by this much was stopped, and blames nobody.
 */
static bool is_late(const struct session *session)
{
	return clock_mono_ns() - session->deadline_mono_ns >= STILL_NS;
}

static void deadline_passed(struct session *session)
{
	struct error err = ERROR_INIT;

	if (is_late(session)) {
		error_set(
			&err, -ESTALE, ERROR_PEER,
			"this daemon stood still for %llu s or more (it was stopped, or its host gave it no CPU), "
			"and the connection was not made meanwhile",
			STILL_NS / SESSION_SECOND_NS);
		error_number(&err, ESTALE);
		if (session->state == SESSION_CONNECTING) {
			session_open_failed(session, &err); /* there may be another address */
		} else {
			session_end(session, &err, NULL);
		}
		return;
	}
	if (session->state == SESSION_RESOLVING) {
		error_set(&err, -ETIMEDOUT, ERROR_PEER,
			  "the name was not resolved within %llu s; check this host's DNS",
			  SESSION_CONNECT_NS / SESSION_SECOND_NS);
	} else if (session->state == SESSION_CONNECTING) {
		error_set(&err, -ETIMEDOUT, ERROR_PEER,
			  "no connection within %llu s; is the host up, and TCP port %u open?",
			  SESSION_CONNECT_NS / SESSION_SECOND_NS, session->port);
	} else {
		error_set(&err, -ETIMEDOUT, ERROR_PEER, "%s within %llu s; is it rdmatestd?",
			  session->state == SESSION_HANDSHAKING ? "no TLS handshake"
			  : session->state == SESSION_GREETED	? "no answer to our hello"
								: "no hello",
			  SESSION_HELLO_NS / SESSION_SECOND_NS);
	}
	error_number(&err, ETIMEDOUT);
	if (session->state == SESSION_CONNECTING) {
		session_open_failed(session, &err);
	} else {
		session_end(session, &err, NULL);
	}
}

static void check_silence(struct session *session, uint64_t now_mono_ns)
{
	struct error err = ERROR_INIT;

	if (now_mono_ns - session->heard_mono_ns >= SESSION_SILENCE_NS &&
	    !session_budget_is_spent(session)) {
		error_set(&err, -ETIMEDOUT, ERROR_PEER,
			  "nothing received for %llu s; the daemon or its host hangs, or the "
			  "network is cut",
			  SESSION_SILENCE_NS / SESSION_SECOND_NS);
		error_number(&err, ETIMEDOUT);
		session_end(session, &err, NULL);
	}
}

void session_time_woken(struct session *session)
{
	uint64_t now_mono_ns = clock_mono_ns();

	/* A ping is due every SESSION_PING_NS: what is late by this much was not even looked at. */
	if (session->state == SESSION_OPEN && now_mono_ns >= session->ping_mono_ns + STILL_NS) {
		session->still_mono_ns = now_mono_ns;
		session->still_ns = now_mono_ns - session->ping_mono_ns + SESSION_PING_NS;
	}
}

bool session_time_stood_still(struct session *session)
{
	/* It may have been since: between a look at the time and what it then read. */
	session_time_woken(session);
	return session->still_ns >= SESSION_SILENCE_NS &&
	       clock_mono_ns() - session->still_mono_ns < SESSION_SILENCE_NS;
}

void session_time_passed(struct session *session)
{
	uint64_t now_mono_ns;

	session_time_woken(session);
	now_mono_ns = clock_mono_ns();
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
