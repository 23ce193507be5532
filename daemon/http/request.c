// SPDX-License-Identifier: MIT
#include "http/request.h"

#include <string.h>
#include <strings.h>

#include "util/net.h"
#include "util/text.h"

static bool is_unreserved(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character from the raw target, a %XX taken together; *at moves behind it. -1: not a
 * well-formed one. */
static int decode(const char **at)
{
	const char *raw = *at;
	int high;
	int low;

	if (*raw != '%') {
		*at = raw + 1;
		return (unsigned char)*raw;
	}
	high = hex_digit((unsigned char)raw[1]);
	low = high < 0 ? -1 : hex_digit((unsigned char)raw[2]);
	*at = raw + 3;
	return low < 0 ? -1 : high << 4 | low;
}

static const char *read_path(struct request *request, const char **at)
{
	size_t length = 0;
	size_t segment = 0; /* where the last one begins, slash included */

	while (**at && **at != '?') {
		bool is_slash = **at == '/';
		int c = decode(at);

		/* An encoded slash is no separator, and none of our paths needs it. */
		if (!is_slash && !is_unreserved(c)) {
			return "the path holds a character that no path here has";
		}
		if (length + 1 >= sizeof(request->path)) {
			return "the path is longer than any here";
		}
		if (is_slash) {
			segment = length;
		}
		request->path[length++] = (char)c;
		request->path[length] = '\0';
		if (is_slash && length > 1 && request->path[length - 2] == '/') {
			return "the path has an empty segment";
		}
		if ((**at == '\0' || **at == '?' || **at == '/') &&
		    (strcmp(request->path + segment, "/.") == 0 ||
		     strcmp(request->path + segment, "/..") == 0)) {
			return "the path has a \".\" or \"..\" segment";
		}
	}
	return NULL;
}

static const char *read_word(const char **at, char *ret, size_t size)
{
	size_t length = 0;

	while (**at && **at != '&' && **at != '=') {
		int c = decode(at);

		if (c < 0x20 || c >= 0x7f) {
			return "the query holds a character that is not printable ASCII";
		}
		if (length + 1 >= size) {
			return "a word of the query is longer than any here";
		}
		ret[length++] = (char)c;
	}
	ret[length] = '\0';
	return NULL;
}

static const char *read_query(struct request *request, const char *at)
{
	while (*at) {
		struct request_argument *argument = &request->arguments[request->argument_count];
		const char *wrong;

		if (request->argument_count == REQUEST_ARGUMENTS) {
			return "the query has more arguments than any here";
		}
		wrong = read_word(&at, argument->name, sizeof(argument->name));
		if (wrong) {
			return wrong;
		}
		if (argument->name[0] == '\0' || *at != '=') {
			return "the query must be name=value, several joined by &";
		}
		at++;
		wrong = read_word(&at, argument->value, sizeof(argument->value));
		if (wrong) {
			return wrong;
		}
		if (*at == '=') {
			return "the query must be name=value, several joined by &";
		}
		if (request_argument(request, argument->name)) {
			return "the query has an argument twice";
		}
		request->argument_count++;
		if (*at == '&' && *++at == '\0') {
			return "the query ends with &";
		}
	}
	return NULL;
}

const char *request_read_target(struct request *request, const char *raw, unsigned *ret_status)
{
	const char *wrong;

	*ret_status = 400;
	request->argument_count = 0;
	if (strnlen(raw, REQUEST_TARGET_MAX + 1) > REQUEST_TARGET_MAX) {
		*ret_status = 414;
		return "the target is longer than 2048 bytes";
	}
	if (*raw != '/') {
		return "the target must begin with \"/\"";
	}
	wrong = read_path(request, &raw);
	if (!wrong && *raw == '?') {
		wrong = read_query(request, raw + 1);
	}
	return wrong;
}

void request_add_header(struct request *request, const char *name, const char *value)
{
	value = value ? value : "";
	if (strcasecmp(name, "Host") == 0) {
		request->host_count++;
		/* What does not fit is a name of no host of ours. */
		if (!text_copy(request->host, sizeof(request->host), value)) {
			request->host[0] = '\0';
		}
	} else if (strcasecmp(name, "Content-Length") == 0) {
		request->length_count++;
		request->has_body |= strcmp(value, "0") != 0;
	} else if (strcasecmp(name, "Transfer-Encoding") == 0) {
		request->has_transfer_encoding = true;
	}
}

bool request_check_headers(const struct request *request, struct response *ret)
{
	if (request->has_transfer_encoding) {
		response_problem(ret, 411, "transfer-encoding", NULL,
				 "Transfer-Encoding is not taken; no request here needs a body");
	} else if (request->length_count > 1) {
		response_problem(ret, 400, "content-length", NULL,
				 "there is more than one Content-Length");
	} else if (request->has_body) {
		response_problem(
			ret, 413, "body", NULL,
			"no request here has a body; what to run is a scenario of the configuration, named in the path");
	} else if (request->host_count > 1 || (request->host_count == 0 && !request->is_http_1_0)) {
		response_problem(ret, 400, "host", NULL, "there must be exactly one Host header");
	} else {
		return true;
	}
	return false;
}

/* The host of "host", "host:port", "[v6]:port", "v6"; false when it is none of these. */
static bool split_host(const char *value, char *ret, size_t size)
{
	const char *end = *value == '[' ? strchr(value, ']') : strchr(value, ':');
	const char *rest;
	size_t length;

	if (*value == '[') {
		if (!end) {
			return false;
		}
		value++;
		rest = end + 1;
	} else {
		end = end ? end : value + strlen(value);
		rest = end;
	}
	length = (size_t)(end - value);
	if (length == 0 || length >= size || (*rest != '\0' && *rest != ':') ||
	    (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] != '\0')) {
		return false;
	}
	memcpy(ret, value, length);
	ret[length] = '\0';
	return true;
}

bool request_is_host_ours(const struct request *request, const char *node_name)
{
	char host[256];

	if (request->host_count == 0) {
		return request->is_http_1_0; /* no browser */
	}
	if (!split_host(request->host, host, sizeof(host))) {
		return false;
	}
	return strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0 ||
	       net_is_numeric(host) || (node_name && strcasecmp(host, node_name) == 0);
}

const char *request_argument(const struct request *request, const char *name)
{
	for (size_t i = 0; i < request->argument_count; i++) {
		if (strcmp(request->arguments[i].name, name) == 0) {
			return request->arguments[i].value;
		}
	}
	return NULL;
}
