// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/net.h"
#include "util/text.h"

static void expect_split(const char *address, const char *host, uint16_t port)
{
	struct error err = ERROR_INIT;
	char split_host[256];
	uint16_t split_port = 0;

	if (net_split(address, 18620, split_host, &split_port, &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_string_equal(split_host, host);
	assert_int_equal(split_port, port);
}

static void addresses_are_split(void **state)
{
	expect_split("node1", "node1", 18620);
	expect_split("node1:7", "node1", 7);
	expect_split("node-1.example.org:65535", "node-1.example.org", 65535);
	expect_split("10.0.0.1", "10.0.0.1", 18620);
	expect_split("10.0.0.1:1", "10.0.0.1", 1);
	expect_split("::", "::", 18620);
	expect_split("fe80::1%eth0", "fe80::1%eth0", 18620);
	expect_split("[::1]", "::1", 18620);
	expect_split("[::]:9879", "::", 9879);
	expect_split("[fe80::1%eth0]:5", "fe80::1%eth0", 5);
}

static void bad_addresses_are_refused_with_the_cure(void **state)
{
	static const char *const bad[] = {
		"",	      ":5",	   "[]",       "[]:5",	     "[::1",
		"[::1]x",     "[::1]5",	   "host:",    "host:0",     "host:65536",
		"host:-1",    "host:+1",   "host:1x",  "host: 1",    "host:01",
		"ho st",      "host/path", "a:b:c",    "[node]:5",   "[10.0.0.1]",
		"[node]",     "1:2:3:4:5", "host\n:5", "a\x1b[2J",   "host:99999999999999999999",
		"http://x:5", "[::1]:",	   "[:::1]:5", "\xc3\xa4:5",
	};
	char longest[300];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = ERROR_INIT;
		char host[256] = "old";
		uint16_t port = 7;

		if (net_split(bad[i], 18620, host, &port, &err) != -EINVAL) {
			fail_msg("\"%s\" was accepted", bad[i]);
		}
		assert_int_equal(err.class, ERROR_INPUT);
		assert_non_null(strstr(err.text, "write "));
		assert_string_equal(host, "old");
		assert_int_equal(port, 7);
	}
	memset(longest, 'a', sizeof(longest));
	longest[256] = '\0';
	assert_int_equal(net_split(longest, 1, (char[256]){ 0 }, &(uint16_t){ 0 }, NULL), -EINVAL);
	longest[255] = '\0';
	assert_int_equal(net_split(longest, 1, (char[256]){ 0 }, &(uint16_t){ 0 }, NULL), 0);
}

static void numeric_is_what_needs_no_lookup(void **state)
{
	assert_true(net_is_numeric("10.0.0.1"));
	assert_true(net_is_numeric("::"));
	assert_true(net_is_numeric("::ffff:10.0.0.1"));
	assert_true(net_is_numeric("fe80::1%eth0"));
	assert_false(net_is_numeric(""));
	assert_false(net_is_numeric("localhost"));
	/* what inet_aton would take */
	assert_false(net_is_numeric("10.1"));
	assert_false(net_is_numeric("1"));
	assert_false(net_is_numeric("0x7f.0.0.1"));
	assert_false(net_is_numeric("010.0.0.1"));
	assert_false(net_is_numeric("10.0.0.1%eth0"));
	assert_false(net_is_numeric("fe80::1%"));
	assert_false(net_is_numeric("1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc"));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
						   : ((struct sockaddr_in *)&address)->sin_port);
}

static bool wait_for(int fd, short events)
{
	struct pollfd poller = { .fd = fd, .events = events };

	return poll(&poller, 1, 10000) == 1;
}

static int listen_on(const char *host)
{
	struct error err = ERROR_INIT;
	int fd = net_listen(host, 0, &err);

	if (fd < 0) {
		fail_msg("%s", err.text);
	}
	return fd;
}

static void assert_born_right(int fd)
{
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void two_ends_meet(void **state)
{
	_cleanup_close_ int listener = listen_on("127.0.0.1");
	_cleanup_close_ int client = net_connect("127.0.0.1", port_of(listener), NULL);
	_cleanup_close_ int server = -1;
	char peer[NET_ADDRESS_SIZE];
	char expected[NET_ADDRESS_SIZE];
	char byte = 0;

	assert_true(client >= 0);
	assert_true(wait_for(client, POLLOUT));
	assert_int_equal(net_connect_result(client), 0);
	assert_true(wait_for(listener, POLLIN));
	server = net_accept(listener, peer, sizeof(peer));
	assert_true(server >= 0);
	snprintf(expected, sizeof(expected), "127.0.0.1:%u", port_of(client));
	assert_string_equal(peer, expected);
	assert_born_right(listener);
	assert_born_right(client);
	assert_born_right(server);
	assert_int_equal(net_accept(listener, peer, sizeof(peer)), -EAGAIN);
	assert_int_equal(write(client, "x", 1), 1);
	assert_true(wait_for(server, POLLIN));
	assert_int_equal(read(server, &byte, 1), 1);
	assert_int_equal(byte, 'x');
}

static void any_address_takes_both_families(void **state)
{
	_cleanup_close_ int listener = listen_on("::");
	_cleanup_close_ int client = net_connect("127.0.0.1", port_of(listener), NULL);
	_cleanup_close_ int server = -1;
	char peer[8];

	assert_true(client >= 0);
	assert_true(wait_for(listener, POLLIN));
	server = net_accept(listener, peer, sizeof(peer));
	assert_true(server >= 0);
	/* not "::ffff:127...": and cut to what fits */
	assert_string_equal(peer, "127.0.0");
}

static void nobody_there_is_told_by_the_result(void **state)
{
	int listener = listen_on("127.0.0.1");
	uint16_t port = port_of(listener);
	_cleanup_close_ int client = -1;
	struct error err = ERROR_INIT;

	close(listener);
	client = net_connect("127.0.0.1", port, &err);
	if (client < 0) { /* some kernels say so at once */
		assert_int_equal(client, -ECONNREFUSED);
		assert_int_equal(err.class, ERROR_PEER);
		return;
	}
	assert_true(wait_for(client, POLLOUT));
	assert_int_equal(net_connect_result(client), -ECONNREFUSED);
}

static void a_connection_under_way_is_not_yet_connected(void **state)
{
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int clients[8];
	unsigned under_way = 0;

	/* a backlog of none: later connections wait for their handshake */
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	for (unsigned i = 0; i < 8; i++) {
		int ret;

		clients[i] = net_connect("127.0.0.1", port_of(listener), NULL);
		assert_true(clients[i] >= 0);
		ret = net_connect_result(clients[i]);
		assert_true(ret == 0 || ret == -EINPROGRESS);
		under_way += ret == -EINPROGRESS;
	}
	assert_true(under_way > 0);
	for (unsigned i = 0; i < 8; i++) {
		close(clients[i]);
	}
}

static void names_are_not_looked_up_here(void **state)
{
	static const char *const hosts[] = { "localhost", "", "10.1", "fe80::1%nosuchif", "*" };

	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct error err = ERROR_INIT;

		assert_int_equal(net_listen(hosts[i], 0, &err), -EINVAL);
		assert_int_equal(err.class, ERROR_INPUT);
		assert_int_equal(net_connect(hosts[i], 1, NULL), -EINVAL);
	}
}

static void a_taken_port_is_named(void **state)
{
	_cleanup_close_ int listener = listen_on("127.0.0.1");
	struct error err = ERROR_INIT;
	char part[64];

	assert_int_equal(net_listen("127.0.0.1", port_of(listener), &err), -EADDRINUSE);
	assert_int_equal(err.class, ERROR_RESOURCE);
	assert_string_equal(err.call, "bind");
	snprintf(part, sizeof(part), "127.0.0.1 port %u: Address already in use",
		 port_of(listener));
	assert_non_null(strstr(err.text, part));
}

static void an_address_of_another_host_is_refused(void **state)
{
	struct error err = ERROR_INIT;

	assert_int_equal(net_listen("192.0.2.1", 0, &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.text, "192.0.2.1"));
}

static void a_unix_listener_is_served_as_well(void **state)
{
	_cleanup_close_ int listener =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	_cleanup_close_ int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_close_ int server = -1;
	/* abstract, and named by the kernel */
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(address);
	char peer[NET_ADDRESS_SIZE];

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, length), 0);
	server = net_accept(listener, peer, sizeof(peer));
	assert_true(server >= 0);
	assert_string_equal(peer, "unix");
	assert_int_equal(net_accept(listener, peer, sizeof(peer)), -EAGAIN);
}

static void a_broken_listener_is_an_error(void **state)
{
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char peer[NET_ADDRESS_SIZE];

	assert_int_equal(net_accept(-1, peer, sizeof(peer)), -EBADF);
	assert_int_equal(net_accept(null, peer, sizeof(peer)), -ENOTSOCK);
	assert_int_equal(net_connect_result(-1), -EBADF);
}

static unsigned entries_of(const char *path)
{
	DIR *directory = opendir(path);
	unsigned count = 0;

	while (readdir(directory)) {
		count++;
	}
	closedir(directory);
	return count;
}

static unsigned open_descriptors(void)
{
	return entries_of("/proc/self/fd");
}

static unsigned running_threads(void)
{
	return entries_of("/proc/self/task") - 2; /* . and .. */
}

static int finish(struct net_resolve *resolve, char *host, size_t size, struct error *err)
{
	assert_true(wait_for(net_resolve_fd(resolve), POLLIN));
	return net_resolve_finish(resolve, host, size, err);
}

static void a_name_becomes_a_numeric_address(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *resolve = net_resolve_start(pool, "localhost");
	char host[64] = "";

	assert_int_equal(finish(resolve, host, sizeof(host), NULL), 0);
	assert_true(net_is_numeric(host));
	net_resolve_free(resolve);
	net_resolve_pool_free(pool);
}

static void a_numeric_host_stays_and_is_there_at_once(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *resolve = net_resolve_start(pool, "10.1.2.3");
	char host[64] = "";

	assert_int_equal(net_resolve_finish(resolve, host, sizeof(host), NULL), 0);
	assert_string_equal(host, "10.1.2.3");
	/* asked again it says the same */
	assert_int_equal(finish(resolve, host, sizeof(host), NULL), 0);
	net_resolve_free(resolve);
	net_resolve_pool_free(pool);
}

static void a_name_that_is_none_is_an_error_with_a_sentence(void **state)
{
	/* never a name: RFC 6761; and a label of 70 letters */
	static const char *const names[] = {
		"rdmatestd.invalid",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"",
		"..",
	};

	struct net_resolve_pool *pool = net_resolve_pool_new();

	for (unsigned i = 0; i < 4; i++) {
		struct net_resolve *resolve = net_resolve_start(pool, names[i]);
		struct error err = ERROR_INIT;
		char host[64] = "old";
		int ret = finish(resolve, host, sizeof(host), &err);

		assert_true(ret < 0 && ret != -EAGAIN);
		assert_true(error_is_set(&err));
		assert_int_equal(err.stage, STAGE_RESOLVE);
		assert_string_equal(host, "old");
		net_resolve_free(resolve);
	}
	net_resolve_pool_free(pool);
}

static void freed_while_it_works_nothing_is_left(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	unsigned before = open_descriptors();

	for (unsigned i = 0; i < 20; i++) {
		net_resolve_free(net_resolve_start(pool, "rdmatestd.invalid"));
		net_resolve_free(net_resolve_start(pool, "localhost"));
	}
	net_resolve_free(NULL);
	net_resolve_pool_free(pool);
	net_resolve_pool_free(NULL);
	/* the threads end by themselves; their descriptors go last */
	for (unsigned i = 0; i < 1000 && open_descriptors() > before; i++) {
		poll(NULL, 0, 10);
	}
	assert_int_equal(open_descriptors(), before);
	/* And what the C library has of a thread is given back by that thread, at its very end. */
	for (unsigned i = 0; i < 1000 && running_threads() > 1; i++) {
		poll(NULL, 0, 10);
	}
	assert_int_equal(running_threads(), 1);
}

static void without_descriptors_the_reason_is_given_at_once(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	const struct rlimit none = { 0, 4096 };
	struct error err = ERROR_INIT;
	struct net_resolve *resolve;
	struct rlimit old;
	char host[64];

	getrlimit(RLIMIT_NOFILE, &old);
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ none.rlim_cur, old.rlim_max });
	resolve = net_resolve_start(pool, "localhost");
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(net_resolve_fd(resolve), -1);
	assert_int_equal(net_resolve_finish(resolve, host, sizeof(host), &err), -EMFILE);
	assert_int_equal(err.class, ERROR_RESOURCE);
	net_resolve_free(resolve);
	net_resolve_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_split),
		cmocka_unit_test(bad_addresses_are_refused_with_the_cure),
		cmocka_unit_test(numeric_is_what_needs_no_lookup),
		cmocka_unit_test(two_ends_meet),
		cmocka_unit_test(any_address_takes_both_families),
		cmocka_unit_test(nobody_there_is_told_by_the_result),
		cmocka_unit_test(a_connection_under_way_is_not_yet_connected),
		cmocka_unit_test(names_are_not_looked_up_here),
		cmocka_unit_test(a_taken_port_is_named),
		cmocka_unit_test(an_address_of_another_host_is_refused),
		cmocka_unit_test(a_unix_listener_is_served_as_well),
		cmocka_unit_test(a_broken_listener_is_an_error),
		cmocka_unit_test(a_name_becomes_a_numeric_address),
		cmocka_unit_test(a_numeric_host_stays_and_is_there_at_once),
		cmocka_unit_test(a_name_that_is_none_is_an_error_with_a_sentence),
		cmocka_unit_test(freed_while_it_works_nothing_is_left),
		cmocka_unit_test(without_descriptors_the_reason_is_given_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
