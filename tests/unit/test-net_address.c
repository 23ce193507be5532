// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "util/net.h"

static void numeric_addresses_have_their_bytes(void **state)
{
	static const struct {
		const char *address;
		const char *bytes;
	} cases[] = {
		{ "10.0.0.1:4711", "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01" },
		{ "10.0.0.1", "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01" },
		{ "[::ffff:10.0.0.1]:5", "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01" },
		{ "::1", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01" },
		{ "[fe80::2%eth0]:7", "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x02" },
	};
	static const char *const none[] = { "", "unix", "node1", "node1:5", "10.0.0", "1:2" };
	uint8_t bytes[16];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(net_address_bytes(cases[i].address, bytes));
		assert_memory_equal(bytes, cases[i].bytes, 16);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		memset(bytes, 7, sizeof(bytes));
		assert_false(net_address_bytes(none[i], bytes));
		assert_int_equal(bytes[0], 7);
	}
}

static void expect_v6(const char *host, uint32_t zone, const char *text)
{
	struct sockaddr_storage storage = { 0 };
	struct sockaddr_in6 *address = (struct sockaddr_in6 *)&storage;
	char written[NET_ADDRESS_SIZE];

	address->sin6_family = AF_INET6;
	address->sin6_port = htons(18620);
	address->sin6_scope_id = zone;
	assert_int_equal(inet_pton(AF_INET6, host, &address->sin6_addr), 1);
	net_address_write(&storage, written, sizeof(written));
	assert_string_equal(written, text);
}

static void an_address_is_written_so_that_it_can_be_connected_to(void **state)
{
	struct sockaddr_storage storage = { .ss_family = AF_UNIX };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(7) };
	char written[NET_ADDRESS_SIZE];
	uint32_t lo = if_nametoindex("lo");

	net_address_write(&storage, written, sizeof(written));
	assert_string_equal(written, "unix");
	v4.sin_addr.s_addr = htonl(0x0a000001);
	memcpy(&storage, &v4, sizeof(v4));
	net_address_write(&storage, written, sizeof(written));
	assert_string_equal(written, "10.0.0.1:7");
	expect_v6("2001:db8::1", 0, "[2001:db8::1]:18620");
	expect_v6("::ffff:10.0.0.1", 0, "10.0.0.1:18620");
	/* a link-local address leads nowhere without its interface */
	assert_true(lo > 0);
	expect_v6("fe80::1", lo, "[fe80::1%lo]:18620");
	expect_v6("fe80::1", 4000000000, "[fe80::1%4000000000]:18620");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numeric_addresses_have_their_bytes),
		cmocka_unit_test(an_address_is_written_so_that_it_can_be_connected_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
