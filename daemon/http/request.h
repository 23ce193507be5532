// SPDX-License-Identifier: MIT
#pragma once

/*
 * A request as far as we trust it: the target taken apart strictly from its raw bytes, and the few
 * headers that decide anything. No sockets here, so that every hostile case is a plain test. Pure;
 * any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/response.h"

#define REQUEST_TARGET_MAX 2048
#define REQUEST_ARGUMENTS 8

enum request_origin {
	REQUEST_REMOTE, /* another host */
	REQUEST_LOCAL, /* a loopback address */
	REQUEST_ADMIN, /* the admin socket */
};

struct request_argument {
	char name[32];
	char value[96];
};

struct request {
	enum request_origin origin;
	char method[16];
	char path[256]; /* begins with "/", decoded; no empty, "." or ".." segment, no other
			   characters than those of RFC 3986's unreserved */
	size_t argument_count;
	struct request_argument arguments[REQUEST_ARGUMENTS];
	bool is_http_1_0;
	/* Headers. */
	unsigned host_count;
	char host[256];
	unsigned length_count; /* Content-Length headers */
	bool has_body; /* one of them is not "0" */
	bool has_transfer_encoding;
};

/* From the target as it was sent. NULL, or what is wrong with it, and *ret_status 400 or 414. */
const char *request_read_target(struct request *request, const char *raw, unsigned *ret_status);

/* Counts what matters among the headers; call for each. */
void request_add_header(struct request *request, const char *name, const char *value);

/* False and a problem in *ret when the headers alone forbid an answer. node_name: is a name of this
 * host. */
bool request_check_headers(const struct request *request, struct response *ret);

/* Whether Host names this host so that a foreign page cannot have a browser ask us (DNS rebinding):
 * a number, localhost or node_name. */
bool request_is_host_ours(const struct request *request, const char *node_name);

/* The value of an argument or NULL. */
const char *request_argument(const struct request *request, const char *name);
