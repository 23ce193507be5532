// SPDX-License-Identifier: MIT
#pragma once

/*
 * TLS 1.3 with one pre-shared key per fleet, over a non-blocking descriptor: the only user of
 * GnuTLS. Loop thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

#define TLS_KEY_MIN 16
#define TLS_KEY_MAX 64

struct tls_key {
	uint8_t bytes[TLS_KEY_MAX];
	size_t count;
};

/*
 * Reads a key file: one line of 32 to 128 hexadecimal digits. Refuses a file that others than owner
 * and group can read. The error never quotes the key; its cure is the command that makes one.
 */
int tls_key_read(const char *path, struct tls_key *ret, struct error *err);

struct tls;
/* Takes fd, also on failure. Copies the key. */
int tls_new(struct tls **ret, int fd, bool is_server, const struct tls_key *key, struct error *err);
/* Closes the descriptor. */
void tls_free(struct tls *tls);
int tls_fd(const struct tls *tls);
/* From the network, record framing included: a sign of life before a whole record is there. */
uint64_t tls_received_bytes(const struct tls *tls);
/* Received and decrypted, not yet read: the descriptor does not tell of these, nor of an end or a
 * failure that came behind what was read (1). */
size_t tls_pending_bytes(const struct tls *tls);

/* 0 done; -EAGAIN (see tls_wants_write); else failed: err says in class PEER what a person should
 * check (-EKEYREJECTED: other key; -EMSGSIZE: too much, or in too many pieces, for a handshake). */
int tls_handshake(struct tls *tls, struct error *err);
/* Bytes, 0 at the end of the stream, -EAGAIN, or -errno with err. Loops over pending records
 * itself: -EAGAIN means that the descriptor tells when there is more. */
ssize_t tls_read(struct tls *tls, void *bytes, size_t count, struct error *err);
/* As tls_read. After -EAGAIN call again with at least the same bytes: their head may already be on
 * the way. */
ssize_t tls_write(struct tls *tls, const void *bytes, size_t count, struct error *err);
bool tls_wants_write(const struct tls *tls);
/* close_notify, as far as it goes without waiting. */
void tls_bye(struct tls *tls);
