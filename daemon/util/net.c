// SPDX-License-Identifier: MIT
#include "util/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/text.h"

#define ACCEPT_TRIES 16

bool net_is_numeric(const char *host)
{
	const char *scope = strchr(host, '%');
	char bare[INET6_ADDRSTRLEN];
	struct in6_addr address;
	size_t length = scope ? (size_t)(scope - host) : strlen(host);

	if (length >= sizeof(bare) || (scope && scope[1] == '\0')) {
		return false;
	}
	memcpy(bare, host, length);
	bare[length] = '\0';
	return (!scope && inet_pton(AF_INET, bare, &address) == 1) ||
	       inet_pton(AF_INET6, bare, &address) == 1;
}

/* Without any look-up; a scope ("%eth0") must be an interface of this host. */
static int numeric_address(const char *host, uint16_t port, struct sockaddr_storage *ret_address,
			   socklen_t *ret_length, struct error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char quoted[TEXT_QUOTED_SIZE];
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	text_quote(quoted, host);
	if (!net_is_numeric(host) || getaddrinfo(host, service, &hints, &found) != 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\" is not an IPv4 or IPv6 address of use here", quoted);
	}
	memcpy(ret_address, found->ai_addr, found->ai_addrlen);
	*ret_length = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static int new_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static void enable(int fd, int level, int option)
{
	int one = 1;

	setsockopt(fd, level, option, &one, sizeof(one));
}

/* 0 or -errno, with the call that failed. */
static int bind_and_listen(int fd, const struct sockaddr_storage *address, socklen_t length,
			   const char **ret_call)
{
	int zero = 0;

	enable(fd, SOL_SOCKET, SO_REUSEADDR);
	if (address->ss_family == AF_INET6) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	}
	*ret_call = "bind";
	if (bind(fd, (const struct sockaddr *)address, length) < 0) {
		return -errno;
	}
	*ret_call = "listen";
	return listen(fd, SOMAXCONN) < 0 ? -errno : 0;
}

int net_listen(const char *host, uint16_t port, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_storage address;
	const char *call = "socket";
	socklen_t length;
	int ret = numeric_address(host, port, &address, &length, err);

	if (ret < 0) {
		return ret;
	}
	ret = new_socket(address.ss_family);
	/* A kernel without IPv6 still has all of what "::" stands for there. */
	if (ret == -EAFNOSUPPORT && strcmp(host, "::") == 0) {
		return net_listen("0.0.0.0", port, err);
	}
	if (ret >= 0) {
		fd = ret;
		ret = bind_and_listen(fd, &address, length, &call);
	}
	if (ret < 0) {
		return error_set_call(err, -ret, ERROR_RESOURCE, STAGE_CONFIG, call,
				      "cannot listen on %s port %u", host, port);
	}
	return take_fd(fd);
}

int net_connect(const char *host, uint16_t port, struct error *err)
{
	_cleanup_close_ int fd = -1;
	struct sockaddr_storage address;
	socklen_t length;
	int ret = numeric_address(host, port, &address, &length, err);

	if (ret < 0) {
		return ret;
	}
	ret = new_socket(address.ss_family);
	if (ret < 0) {
		return error_set_call(err, -ret, ERROR_RESOURCE, STAGE_CONNECT, "socket",
				      "cannot connect to %s port %u", host, port);
	}
	fd = ret;
	enable(fd, IPPROTO_TCP, TCP_NODELAY);
	if (connect(fd, (const struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS &&
	    errno != EINTR) {
		return error_set_call(err, errno, ERROR_PEER, STAGE_CONNECT, "connect",
				      "cannot connect to %s port %u", host, port);
	}
	return take_fd(fd);
}

int net_connect_result(int fd)
{
	struct pollfd poller = { .fd = fd, .events = POLLOUT };
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	socklen_t size = sizeof(int);
	int failure = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0) {
		return -errno;
	}
	if (failure) {
		return -failure;
	}
	if (poll(&poller, 1, 0) <= 0) {
		return -EINPROGRESS;
	}
	if (getpeername(fd, (struct sockaddr *)&peer, &length) < 0) {
		return errno == ENOTCONN ? -ECONNABORTED : -errno;
	}
	return 0;
}

/*
 * Failures of the connection that was to be accepted, not of the listener (accept(2)): the next one
 * may be fine.
 */
static bool is_of_connection(int number)
{
	switch (number) {
	case ECONNABORTED:
	case EINTR:
	case EPROTO:
	case ENOPROTOOPT:
	case ENETDOWN:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case EOPNOTSUPP:
	case ENETUNREACH:
		return true;
	default:
		return false;
	}
}

int net_accept(int listen_fd, char *ret_peer, size_t peer_size)
{
	for (unsigned i = 0; i < ACCEPT_TRIES; i++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t length = sizeof(peer);
		int fd = accept4(listen_fd, (struct sockaddr *)&peer, &length,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			if (peer.ss_family != AF_UNIX) {
				enable(fd, IPPROTO_TCP, TCP_NODELAY);
			}
			net_address_write(&peer, ret_peer, peer_size);
			return fd;
		}
		if (!is_of_connection(errno)) {
			return errno == EWOULDBLOCK ? -EAGAIN : -errno;
		}
	}
	return -EAGAIN;
}

int net_send_datagram(const char *path, const void *data, size_t size_bytes)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;
	ssize_t sent;

	if (!text_copy(address.sun_path, sizeof(address.sun_path), path)) {
		return -ENAMETOOLONG;
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return -errno;
	}
	do {
		sent = sendto(fd, data, size_bytes, MSG_NOSIGNAL, (struct sockaddr *)&address,
			      sizeof(address));
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}
