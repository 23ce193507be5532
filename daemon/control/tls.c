// SPDX-License-Identifier: MIT
#include "control/tls.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <string.h>
#include <sys/socket.h>

#include "model/limits.h"
#include "util/memory.h"

#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:-GROUP-ALL:+GROUP-X25519"
#define IDENTITY "rdmatestd-fleet"
/* All that a side may send before it has shown the key; an honest handshake takes under 400 bytes.
 */
#define HANDSHAKE_BYTES LIMIT_FRAME_UNAUTHENTICATED_BYTES
/* In how many pieces: each costs a wake-up, and an honest one takes a handful. */
#define HANDSHAKE_STEPS 64

struct tls {
	int fd;
	bool is_server;
	bool is_done; /* the handshake */
	bool is_flooded; /* HANDSHAKE_BYTES were not enough */
	unsigned steps; /* of the handshake */
	struct tls_key key;
	uint64_t received_bytes;
	int read_code; /* GnuTLS's failure that came behind bytes: told by the next read */
	bool is_ended; /* the end came behind bytes: likewise */
	bool has_unsent; /* a record that would have blocked, held by GnuTLS */
	gnutls_session_t session;
	gnutls_psk_server_credentials_t server_credentials;
	gnutls_psk_client_credentials_t client_credentials;
};

/* Counts and bounds; GnuTLS's own has no limit for what comes before the handshake is over. */
static ssize_t pull(gnutls_transport_ptr_t pointer, void *bytes, size_t count)
{
	struct tls *tls = pointer;
	ssize_t got;

	if (!tls->is_done && tls->received_bytes + count > HANDSHAKE_BYTES) {
		tls->is_flooded = true;
		gnutls_transport_set_errno(tls->session, EMSGSIZE);
		return -1;
	}
	got = recv(tls->fd, bytes, count, MSG_DONTWAIT);
	if (got < 0) {
		gnutls_transport_set_errno(tls->session, errno);
		return -1;
	}
	tls->received_bytes += (uint64_t)got;
	return got;
}

static int pull_timeout(gnutls_transport_ptr_t pointer, unsigned timeout_ms)
{
	const struct tls *tls = pointer;

	return gnutls_system_recv_timeout((gnutls_transport_ptr_t)(intptr_t)tls->fd, 0);
}

static int find_key(gnutls_session_t session, const char *identity, gnutls_datum_t *ret)
{
	const struct tls *tls = gnutls_session_get_ptr(session);

	if (strcmp(identity, IDENTITY) != 0) {
		return -1;
	}
	ret->data = gnutls_malloc(tls->key.count);
	if (!ret->data) {
		return -1;
	}
	memcpy(ret->data, tls->key.bytes, tls->key.count);
	ret->size = (unsigned)tls->key.count;
	return 0;
}

static int set_credentials(struct tls *tls)
{
	gnutls_datum_t key = { tls->key.bytes, (unsigned)tls->key.count };
	int code;

	if (tls->is_server) {
		code = gnutls_psk_allocate_server_credentials(&tls->server_credentials);
		if (code < 0) {
			return code;
		}
		gnutls_psk_set_server_credentials_function(tls->server_credentials, find_key);
		return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK,
					      tls->server_credentials);
	}
	code = gnutls_psk_allocate_client_credentials(&tls->client_credentials);
	if (code < 0) {
		return code;
	}
	code = gnutls_psk_set_client_credentials(tls->client_credentials, IDENTITY, &key,
						 GNUTLS_PSK_KEY_RAW);
	if (code < 0) {
		return code;
	}
	return gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->client_credentials);
}

static int set_up(struct tls *tls)
{
	unsigned flags = (tls->is_server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NONBLOCK |
			 GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS;
	int code = gnutls_init(&tls->session, flags);

	if (code < 0) {
		tls->session = NULL;
		return code;
	}
	code = gnutls_priority_set_direct(tls->session, PRIORITY, NULL);
	if (code < 0) {
		return code;
	}
	code = set_credentials(tls);
	if (code < 0) {
		return code;
	}
	gnutls_session_set_ptr(tls->session, tls);
	gnutls_transport_set_ptr2(tls->session, tls, (gnutls_transport_ptr_t)(intptr_t)tls->fd);
	gnutls_transport_set_pull_function(tls->session, pull);
	gnutls_transport_set_pull_timeout_function(tls->session, pull_timeout);
	gnutls_handshake_set_timeout(tls->session, 0); /* the session has a deadline */
	return 0;
}

int tls_new(struct tls **ret_tls, int fd, bool is_server, const struct tls_key *key,
	    struct error *err)
{
	struct tls *tls = memory_new(sizeof(*tls));
	int code;

	assert(key->count >= TLS_KEY_MIN && key->count <= TLS_KEY_MAX);
	tls->fd = fd;
	tls->is_server = is_server;
	tls->key = *key;
	code = set_up(tls);
	if (code < 0) {
		tls_free(tls);
		return error_set(err, code == GNUTLS_E_MEMORY_ERROR ? -ENOMEM : -ENOTSUP,
				 ERROR_RESOURCE, "this host's GnuTLS cannot do TLS 1.3 with %s: %s",
				 "a pre-shared key and X25519", gnutls_strerror(code));
	}
	*ret_tls = tls;
	return 0;
}

void tls_free(struct tls *tls)
{
	if (!tls) {
		return;
	}
	if (tls->session) {
		gnutls_deinit(tls->session);
	}
	if (tls->server_credentials) {
		gnutls_psk_free_server_credentials(tls->server_credentials);
	}
	if (tls->client_credentials) {
		gnutls_psk_free_client_credentials(tls->client_credentials);
	}
	memory_close_fd(&tls->fd);
	explicit_bzero(&tls->key, sizeof(tls->key));
	free(tls);
}

int tls_fd(const struct tls *tls)
{
	return tls->fd;
}

uint64_t tls_received_bytes(const struct tls *tls)
{
	return tls->received_bytes;
}

size_t tls_pending_bytes(const struct tls *tls)
{
	size_t held_bytes = gnutls_record_check_pending(tls->session);

	return held_bytes == 0 && (tls->is_ended || tls->read_code < 0) ? 1 : held_bytes;
}

static bool is_cut(int code)
{
	return code == GNUTLS_E_PREMATURE_TERMINATION || code == GNUTLS_E_PULL_ERROR ||
	       code == GNUTLS_E_PUSH_ERROR;
}

/* The one who verifies finds that the binder does not fit; the other is told so by an alert
 * [GnuTLS 3.7]. */
static bool is_other_key(const struct tls *tls, int code)
{
	if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
		gnutls_alert_description_t alert = gnutls_alert_get(tls->session);

		return alert == GNUTLS_A_ILLEGAL_PARAMETER || alert == GNUTLS_A_DECRYPT_ERROR ||
		       alert == GNUTLS_A_UNKNOWN_PSK_IDENTITY;
	}
	return code == GNUTLS_E_RECEIVED_ILLEGAL_PARAMETER || code == GNUTLS_E_DECRYPTION_FAILED;
}

static int handshake_failed(const struct tls *tls, int code, struct error *err)
{
	const char *alert = NULL;

	if (tls->is_flooded) {
		return error_set(
			err, -EMSGSIZE, ERROR_PEER,
			"sent over %u bytes without completing the TLS handshake; is it rdmatestd?",
			HANDSHAKE_BYTES);
	}
	if (is_other_key(tls, code)) {
		return error_set(
			err, -EKEYREJECTED, ERROR_PEER,
			"holds another fleet key; copy the same daemon.key_file to both nodes "
			"and restart rdmatestd where it changed");
	}
	if (is_cut(code)) {
		return error_set(
			err, -ECONNRESET, ERROR_PEER,
			"closed the connection during the TLS handshake; is it rdmatestd, and "
			"not full, stopping or connected to too often?");
	}
	if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
		alert = gnutls_alert_get_name(gnutls_alert_get(tls->session));
	}
	return error_set(err, -EPROTO, ERROR_PEER, "no TLS handshake: %s%s%s; is it rdmatestd?",
			 gnutls_strerror(code), alert ? ": " : "", alert ? alert : "");
}

int tls_handshake(struct tls *tls, struct error *err)
{
	int code;

	if (++tls->steps > HANDSHAKE_STEPS) {
		return error_set(err, -EMSGSIZE, ERROR_PEER,
				 "sent its TLS handshake in over %u pieces; is it rdmatestd?",
				 HANDSHAKE_STEPS);
	}
	do {
		code = gnutls_handshake(tls->session);
		if (code == GNUTLS_E_AGAIN) {
			return -EAGAIN;
		}
	} while (code < 0 && !gnutls_error_is_fatal(code));
	if (code < 0) {
		int ret = handshake_failed(tls, code, err);

		gnutls_alert_send_appropriate(tls->session, code);
		return ret;
	}
	if (gnutls_group_get(tls->session) != GNUTLS_GROUP_X25519) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "negotiated no X25519 key exchange; is it rdmatestd?");
	}
	tls->is_done = true;
	return 0;
}

static int transfer_failed(int code, const char *what, struct error *err)
{
	if (is_cut(code)) {
		return error_set(
			err, -ECONNRESET, ERROR_PEER,
			"the connection broke without a goodbye; the daemon there died, its "
			"host went away, or the network cut it");
	}
	return error_set(err, -EPROTO, ERROR_PEER, "%s: %s", what, gnutls_strerror(code));
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t count, struct error *err)
{
	size_t done = 0;

	if (tls->read_code < 0) {
		return transfer_failed(tls->read_code, "TLS receive failed", err);
	}
	while (done < count) {
		ssize_t got = gnutls_record_recv(tls->session, (char *)bytes + done, count - done);

		if (got > 0) {
			done += (size_t)got;
		} else if (got == 0) {
			tls->is_ended = true; /* it comes again, as 0, with the next call */
			return (ssize_t)done;
		} else if (!gnutls_error_is_fatal((int)got)) {
			/* Not only when it is dry: who sends warnings would hold us here. The
			 * descriptor tells of what is behind them. */
			return done > 0 ? (ssize_t)done : -EAGAIN;
		} else {
			tls->read_code = (int)got;
			return done > 0 ? (ssize_t)done
					: transfer_failed((int)got, "TLS receive failed", err);
		}
	}
	return (ssize_t)done;
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t count, struct error *err)
{
	ssize_t sent;

	do {
		/* A record that GnuTLS holds goes first; it counts as the head of `bytes`, as the
		 * header demands. */
		sent = tls->has_unsent ? gnutls_record_send(tls->session, NULL, 0)
				       : gnutls_record_send(tls->session, bytes, count);
	} while (sent < 0 && sent != GNUTLS_E_AGAIN && !gnutls_error_is_fatal((int)sent));
	if (sent == GNUTLS_E_AGAIN) {
		tls->has_unsent = true;
		return -EAGAIN;
	}
	if (sent < 0) {
		return transfer_failed((int)sent, "TLS send failed", err);
	}
	tls->has_unsent = false;
	return sent;
}

bool tls_wants_write(const struct tls *tls)
{
	return gnutls_record_get_direction(tls->session) == 1;
}

void tls_bye(struct tls *tls)
{
	if (tls->is_done) {
		gnutls_bye(tls->session, GNUTLS_SHUT_WR);
	}
}
