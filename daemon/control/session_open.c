// SPDX-License-Identifier: MIT
#include <errno.h>

#include "control/session_internal.h"
#include "util/clock.h"

static void start_connect(struct session *session, const char *host)
{
	struct error err = ERROR_INIT;
	int fd = net_connect(host, session->port, &err);

	if (fd < 0) {
		if (err.class == ERROR_INPUT) { /* an address of no use here */
			err.class = ERROR_PEER;
		}
		session_end(session, &err, NULL);
		return;
	}
	session->fd = fd;
	session->state = SESSION_CONNECTING;
	session_watch(session, fd);
}

static bool has_key(struct session *session)
{
	struct error err = ERROR_INIT;

	if (session->identity->key.count >= TLS_KEY_MIN) {
		return true;
	}
	error_set(&err, -ENOKEY, ERROR_INPUT,
		  "this daemon has no fleet key; set daemon.key_file, the same on every node");
	session_end(session, &err, NULL);
	return false;
}

void session_open_start(struct session *session, const char *host)
{
	if (!has_key(session)) {
		return;
	}
	if (net_is_numeric(host)) {
		start_connect(session, host);
		return;
	}
	session->resolve = net_resolve_start(host);
	session_watch(session, net_resolve_fd(session->resolve));
}

static void resolve(struct session *session)
{
	char host[NET_ADDRESS_SIZE];
	struct error err = ERROR_INIT;
	int ret = net_resolve_finish(session->resolve, host, sizeof(host), &err);

	if (ret == -EAGAIN) {
		return;
	}
	session->io = sd_event_source_disable_unref(session->io);
	net_resolve_free(take(session->resolve));
	if (ret < 0) {
		err.class = ERROR_PEER; /* a name server is part of the way there */
		session_end(session, &err, NULL);
	} else {
		start_connect(session, host);
	}
}

void session_open_tls(struct session *session)
{
	struct error err = ERROR_INIT;
	int fd;

	if (!has_key(session)) {
		return;
	}
	fd = session->fd;
	session->fd = -1;
	if (tls_new(&session->tls, fd, session->is_server, &session->identity->key, &err) < 0) {
		session_end(session, &err, NULL);
		return;
	}
	session->state = SESSION_HANDSHAKING;
	session->deadline_mono_ns = clock_mono_ns() + SESSION_HELLO_NS;
	session_watch(session, fd);
}

static void connect_step(struct session *session)
{
	int ret = net_connect_result(session->fd);
	struct error err = ERROR_INIT;

	if (ret == -EINPROGRESS) {
		return;
	}
	if (ret < 0) {
		error_set_call(&err, -ret, ERROR_PEER, STAGE_DISCOVER, "connect",
			       "cannot connect; is rdmatestd running there, and TCP port %u open?",
			       session->port);
		session_end(session, &err, NULL);
		return;
	}
	session_open_tls(session);
}

static void handshake(struct session *session)
{
	struct error err = ERROR_INIT;
	int ret = tls_handshake(session->tls, &err);

	if (ret == -EAGAIN) {
		return;
	}
	if (ret < 0) {
		session_end(session, &err, NULL);
		return;
	}
	session->state = SESSION_GREETING;
	session_message_hello(session);
}

void session_open_step(struct session *session)
{
	if (session->state == SESSION_RESOLVING && session->resolve) {
		resolve(session);
	}
	if (session->state == SESSION_CONNECTING) {
		connect_step(session);
	}
	if (session->state == SESSION_HANDSHAKING) {
		handshake(session);
	}
}
