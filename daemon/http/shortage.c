// SPDX-License-Identifier: MIT
#include "http/shortage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/response.h"
#include "util/clock.h"
#include "util/net.h"

#define RETRY_AFTER_S 5
#define READ_BYTES 4096
#define PATIENCE_NS 1000000000ull

static void say(int fd)
{
	struct response response = { 0 };
	char head[256];
	ssize_t ignored;

	response_problem(&response, 503, "no-descriptors", NULL,
			 "the daemon has no file descriptor left for this connection; raise "
			 "LimitNOFILE= of its unit (ulimit -n), or ask again later");
	snprintf(head, sizeof(head),
		 "HTTP/1.1 503 Service Unavailable\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		 "Retry-After: %u\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
		 response.content_type, response.body.length, RETRY_AFTER_S);
	/* Both fit into the buffer of a new connection. */
	ignored = send(fd, head, strlen(head), MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE);
	ignored = send(fd, response.body.data, response.body.length, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)ignored;
	shutdown(fd, SHUT_WR);
	response_done(&response);
}

/* Closed before it sent all of its request, it might never read our answer. */
static void go_on(struct shortage *shortage)
{
	char unread[READ_BYTES];
	ssize_t count = recv(shortage->fd, unread, sizeof(unread), MSG_DONTWAIT);

	if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) ||
	    clock_mono_ns() >= shortage->until_mono_ns) {
		close(shortage->fd);
		shortage->fd = -1;
	}
}

bool shortage_look(struct shortage *shortage, int listen_fd)
{
	char address[NET_ADDRESS_SIZE];

	if (shortage->fd >= 0) {
		go_on(shortage);
	}
	if (shortage->fd >= 0 || !spare_hold(&shortage->spare)) {
		return false;
	}
	if (spare_check(1, "", NULL) == 0) {
		return true;
	}
	spare_drop(&shortage->spare);
	shortage->fd = net_accept(listen_fd, address, sizeof(address));
	if (shortage->fd < 0) {
		shortage->fd = -1;
		(void)spare_hold(&shortage->spare);
		return false;
	}
	shortage->until_mono_ns = clock_mono_ns() + PATIENCE_NS;
	say(shortage->fd);
	return false;
}

void shortage_init(struct shortage *shortage)
{
	*shortage = (struct shortage){ .spare = SPARE_INIT, .fd = -1 };
	(void)spare_hold(&shortage->spare);
}

void shortage_done(struct shortage *shortage)
{
	if (shortage->fd >= 0) {
		close(shortage->fd);
		shortage->fd = -1;
	}
	spare_drop(&shortage->spare);
}
