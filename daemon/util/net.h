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

/* One datagram to the Unix socket at `path`, without waiting: 0, or -errno when nobody took it. */
int net_send_datagram(const char *path, const void *data, size_t size_bytes);

/*
 * Names become addresses by blocking getaddrinfo on helper threads, at most NET_RESOLVE_THREADS of
 * them: a thousand names of a server that does not answer wait for their turn.
 */
#define NET_RESOLVE_THREADS 16
#define NET_NUMERIC_SIZE 64
struct net_resolve_pool;
struct net_resolve_pool *net_resolve_pool_new(void);
/* Its requests are freed before. Threads inside of getaddrinfo end by themselves later. */
void net_resolve_pool_free(struct net_resolve_pool *pool);

/* Poll net_resolve_fd, then call net_resolve_finish. One owner, one thread. */
struct net_resolve;
struct net_resolve *net_resolve_start(struct net_resolve_pool *pool, const char *host);
/* -1 when no descriptor was to be had: net_resolve_finish says so at once. */
int net_resolve_fd(struct net_resolve *resolve);
/* -EAGAIN while it works; 0 and the first address (NET_NUMERIC_SIZE); or -errno with err. */
int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err);
/* Once it finished: the next address of the name, to be tried after those before; or -ENOENT. */
int net_resolve_next(struct net_resolve *resolve, char *ret_host, size_t size);
/* Also while it waits or still works. */
void net_resolve_free(struct net_resolve *resolve);
bool net_is_numeric(const char *host);
/* "1.2.3.4:5" and "[fe80::1%eth0]:5"; "unix" for anything else. */
struct sockaddr_storage;
void net_address_write(const struct sockaddr_storage *address, char *ret, size_t size);
/* The 16 bytes of a numeric address, with or without port, as net_accept and net_split have it
 * (IPv4 as
 * ::ffff:a.b.c.d, without the zone of IPv6); false for anything else. */
bool net_address_bytes(const char *address, uint8_t ret_bytes[16]);
