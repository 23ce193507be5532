// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "util/net.h"
#include "util/text.h"

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

/* "%eth0" where an address means nothing without it; the interface may be gone by now. */
static void write_zone(uint32_t index, char ret[IF_NAMESIZE + 1])
{
	char name[IF_NAMESIZE];

	if (index == 0) {
		ret[0] = '\0';
	} else if (if_indextoname(index, name)) {
		snprintf(ret, IF_NAMESIZE + 1, "%%%s", name);
	} else {
		snprintf(ret, IF_NAMESIZE + 1, "%%%u", index);
	}
}

void net_address_write(const struct sockaddr_storage *address, char *ret_text, size_t size)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	char host[INET6_ADDRSTRLEN] = "";
	char zone[IF_NAMESIZE + 1];
	char buf[NET_ADDRESS_SIZE];

	if (address->ss_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(buf, sizeof(buf), "%s:%u", host, ntohs(v4->sin_port));
	} else if (address->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], host, sizeof(host));
		snprintf(buf, sizeof(buf), "%s:%u", host, ntohs(v6->sin6_port));
	} else if (address->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		write_zone(v6->sin6_scope_id, zone);
		snprintf(buf, sizeof(buf), "[%s%s]:%u", host, zone, ntohs(v6->sin6_port));
	} else {
		snprintf(buf, sizeof(buf), "unix");
	}
	text_copy(ret_text, size, buf);
}

bool net_address_bytes(const char *address, uint8_t ret_bytes[16])
{
	char host[NET_ADDRESS_SIZE];
	uint8_t bytes[16];
	uint16_t port;

	if (net_split(address, 1, host, &port, NULL) < 0 || !net_is_numeric(host)) {
		return false;
	}
	host[strcspn(host, "%")] = '\0';
	if (inet_pton(AF_INET6, host, bytes) != 1) {
		memcpy(bytes, v4_prefix, sizeof(v4_prefix));
		if (inet_pton(AF_INET, host, bytes + sizeof(v4_prefix)) != 1) {
			return false;
		}
	}
	memcpy(ret_bytes, bytes, sizeof(bytes));
	return true;
}
