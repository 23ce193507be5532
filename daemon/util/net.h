// SPDX-License-Identifier: MIT
#pragma once

/*
 * Stream sockets by "host:port" (a link-time seam: in tests the same calls make AF_UNIX sockets).
 * Descriptors are CLOEXEC and non-blocking from birth. Never blocks: only numeric addresses are
 * looked up here; names go through net_resolve on a thread of their own.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define NET_ADDRESS_SIZE 280

/*
 * Splits "host", "host:port", "[v6]", "[v6]:port"; default_port when there is none. host gets at
 * least 256 bytes.
 */
int net_split(const char *address, uint16_t default_port, char *ret_host, uint16_t *ret_port,
	      struct error *err);

/* A listening descriptor, SO_REUSEADDR, both families for "::"; or -errno. */
int net_listen(const char *host, uint16_t port, struct error *err);

/*
 * Starts to connect to a numeric host; the descriptor becomes writable when it succeeded or failed;
 * or -errno.
 */
int net_connect(const char *host, uint16_t port, struct error *err);
/* After writability: 0 connected, -EINPROGRESS not yet, or the failure. */
int net_connect_result(int fd);

/*
 * A connected descriptor, -EAGAIN when there is none, or -errno. ret_peer: text of the other side's
 * address.
 */
int net_accept(int listen_fd, char *ret_peer, size_t peer_size);

/*
 * Resolves a name (blocking getaddrinfo on a helper thread) and posts the first numeric address.
 * `done` runs on the event loop of `fd` readiness: poll net_resolve_fd, then call
 * net_resolve_finish.
 */
struct net_resolve;
struct net_resolve *net_resolve_start(const char *host);
/* -1 when no descriptor was to be had: net_resolve_finish says so at once. */
int net_resolve_fd(struct net_resolve *resolve);
/* -EAGAIN while it works; 0 and ret_host (>= 64 bytes); or -errno with err. */
int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err);
/* Also while it still works: the thread frees it then. */
void net_resolve_free(struct net_resolve *resolve);
bool net_is_numeric(const char *host);
