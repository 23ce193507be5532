// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "util/text.h"
#include "verbs/cm_internal.h"

#define MAPPED_BYTES 12 /* before an IPv4 address in its GID */

int cm_address_of(const union ibv_gid *gid, uint32_t scope_id, struct sockaddr_storage *ret)
{
	struct in6_addr address;

	memcpy(&address, gid->raw, sizeof(address));
	memset(ret, 0, sizeof(*ret));
	if (IN6_IS_ADDR_V4MAPPED(&address)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid->raw + MAPPED_BYTES, sizeof(in->sin_addr));
		return 0;
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = address;
	if (IN6_IS_ADDR_LINKLOCAL(&address)) {
		in6->sin6_scope_id = scope_id;
		return scope_id != 0 ? 0 : -EAFNOSUPPORT;
	}
	return 0;
}

void cm_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET) {
		((struct sockaddr_in *)address)->sin_port = htons(port);
	} else {
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	}
}

const char *cm_address_write(const struct sockaddr_storage *address, char *buf, size_t size)
{
	const void *bytes =
		address->ss_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)address)->sin_addr
			: (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;

	return inet_ntop(address->ss_family, bytes, buf, (socklen_t)size) ? buf : "?";
}
