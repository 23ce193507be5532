// SPDX-License-Identifier: MIT
#pragma once

/*
 * A TCP port of the loopback for a daemon that listens by itself: below those that the kernel gives
 * to whoever connects, of which one could be taken between looking and listening.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define FREE_PORT_FIRST 10240
#define FREE_PORT_COUNT 20000

/* A different one at each call. */
static inline uint16_t free_port(void)
{
	static unsigned asked;

	for (unsigned tries = 0; tries < FREE_PORT_COUNT; tries++) {
		/* Programs that run beside each other begin apart. */
		unsigned at = ((unsigned)getpid() * 16 + asked++) % FREE_PORT_COUNT;
		struct sockaddr_in address = { .sin_family = AF_INET,
					       .sin_port = htons((uint16_t)(FREE_PORT_FIRST + at)),
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		bool is_free;

		assert_true(fd >= 0);
		is_free = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
		close(fd);
		if (is_free) {
			return (uint16_t)(FREE_PORT_FIRST + at);
		}
	}
	fail_msg("no port is free");
	return 0;
}

/* A socket that listens already, on any port: for a daemon that inherits it. */
static inline int free_port_socket(uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}
