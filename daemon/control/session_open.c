// SPDX-License-Identifier: MIT
#include <errno.h>

#include "control/session_internal.h"
#include "util/clock.h"
#include "util/memory.h"

/* Does not wait as long for one of several addresses as for the last. */
static uint64_t address_deadline_mono_ns(const struct session *session)
{
	uint64_t soon_mono_ns = clock_mono_ns() + SESSION_ADDRESS_NS;

	return session->next_host[0] && soon_mono_ns < session->connect_deadline_mono_ns
		       ? soon_mono_ns
		       : session->connect_deadline_mono_ns;
}

static void start_connect(struct session *session)
{
	struct error err = ERROR_INIT;
	int fd = net_connect(session->host, session->port, &err);

	if (fd < 0) {
		if (err.class == ERROR_INPUT) { /* an address of no use here */
			err.class = ERROR_PEER;
		}
		session_open_failed(session, &err);
		return;
	}
	session->fd = fd;
	session->state = SESSION_CONNECTING;
	session->deadline_mono_ns = address_deadline_mono_ns(session);
	session_watch(session, fd);
}

static void prefetch(struct session *session)
{
	if (!session->resolve || net_resolve_next(session->resolve, session->next_host,
						  sizeof(session->next_host)) < 0) {
		session->next_host[0] = '\0';
	}
}

void session_open_failed(struct session *session, const struct error *why)
{
	if (why->class != ERROR_PEER || !session->next_host[0] ||
	    clock_mono_ns() >= session->connect_deadline_mono_ns) {
		session_end(session, why, NULL);
		return;
	}
	session->io = sd_event_source_disable_unref(session->io);
	memory_close_fd(&session->fd);
	text_copy(session->host, sizeof(session->host), session->next_host);
	prefetch(session);
	start_connect(session);
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

static void resolve(struct session *session)
{
	struct error err = ERROR_INIT;
	int ret = net_resolve_finish(session->resolve, session->host, sizeof(session->host), &err);

	if (ret == -EAGAIN) {
		return;
	}
	session->io = sd_event_source_disable_unref(session->io);
	if (ret < 0) {
		/* A name server is part of the way there; descriptors and threads are not. */
		err.class = err.kind == ERROR_KIND_NONE ? ERROR_PEER : ERROR_RESOURCE;
		session_end(session, &err, NULL);
		return;
	}
	prefetch(session);
	start_connect(session);
}

void session_open_start(struct session *session, struct net_resolve_pool *pool, const char *host)
{
	if (!has_key(session)) {
		return;
	}
	if (net_is_numeric(host)) {
		text_copy(session->host, sizeof(session->host), host);
		start_connect(session);
		return;
	}
	session->resolve = net_resolve_start(pool, host);
	if (net_resolve_fd(session->resolve) < 0) {
		resolve(session); /* it says at once why there is none */
	} else {
		session_watch(session, net_resolve_fd(session->resolve));
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
		session_open_failed(session, &err);
		return;
	}
	net_resolve_free(take(session->resolve));
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
		error_number(&err, ret);
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
