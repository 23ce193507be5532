// SPDX-License-Identifier: MIT
#include "util/net.h"

#include <errno.h>
#include <string.h>

#include "util/text.h"
#include "util/units.h"

#define HOST_SIZE 256

static int parse_port(const char *address, const char *token, uint16_t *ret_port, struct error *err)
{
	char quoted[TEXT_QUOTED_SIZE];
	uint64_t port;

	if (units_parse_integer(token, &port) || port < 1 || port > 65535) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"\"%s\" has a bad port; write host:port with a port from 1 to 65535",
			text_quote(quoted, address));
	}
	*ret_port = (uint16_t)port;
	return 0;
}

static bool is_host_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr(".-_:%", c);
}

int net_split(const char *address, uint16_t default_port, char *ret_host, uint16_t *ret_port,
	      struct error *err)
{
	bool is_bracketed = address[0] == '[';
	const char *host = is_bracketed ? address + 1 : address;
	const char *end = is_bracketed ? strchr(host, ']') : strchr(host, ':');
	const char *behind;
	char quoted[TEXT_QUOTED_SIZE];
	uint16_t port = default_port;
	char host_copy[HOST_SIZE];
	size_t length;

	text_quote(quoted, address);
	if (is_bracketed && !end) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\" has no \"]\"; write [address]:port", quoted);
	}
	/* More than one colon without brackets: an IPv6 address alone. */
	if (!is_bracketed && end && strchr(end + 1, ':')) {
		end = NULL;
	}
	length = end ? (size_t)(end - host) : strlen(host);
	behind = host + length + is_bracketed;
	if (length == 0 || length >= HOST_SIZE) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\" has %s; write host:port",
				 quoted, length ? "a host of more than 255 bytes" : "no host");
	}
	for (size_t i = 0; i < length; i++) {
		if (!is_host_character(host[i])) {
			return error_set(
				err, -EINVAL, ERROR_INPUT,
				"\"%s\" is not an address; write host:port or [IPv6 address]:port",
				quoted);
		}
	}
	memcpy(host_copy, host, length);
	host_copy[length] = '\0';
	if ((is_bracketed || strchr(host_copy, ':')) &&
	    (!strchr(host_copy, ':') || !net_is_numeric(host_copy))) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"\"%s\" is not an IPv6 address; write host:port or [IPv6 address]:port",
			quoted);
	}
	if (*behind == ':') {
		int ret = parse_port(address, behind + 1, &port, err);

		if (ret < 0) {
			return ret;
		}
	} else if (*behind != '\0') {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\" has text behind the \"]\"; write [address]:port", quoted);
	}
	memcpy(ret_host, host_copy, length + 1);
	*ret_port = port;
	return 0;
}
