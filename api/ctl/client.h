// SPDX-License-Identifier: MIT
#pragma once

/*
 * Requests to the daemon: HTTP over its unix socket, each with a deadline, answers bounded.
 * Whatever goes wrong on the way becomes one sentence with its cure. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ctl/field.h"
#include "util/error.h"
#include "util/json.h"
#include "util/memory.h"
#include "util/text.h"

#define CLIENT_MAX_ANSWER_BYTES (64u << 20)
/* Of one record: thousands of pairs with all their intervals. */
#define CLIENT_MAX_RECORD_BYTES (1u << 30)

struct client;

/* An answer; client_reply_done frees it. */
struct client_reply {
	long status; /* of HTTP */
	struct text body;
	json_t *json; /* the body; NULL when it has none or is no JSON object */
};
#define CLIENT_REPLY_INIT ((struct client_reply){ 0 })
void client_reply_done(struct client_reply *reply);
#define _cleanup_reply_ _cleanup_(client_reply_done)

/* -EINVAL and err when the path cannot be a socket's. */
int client_check_socket(const char *path, struct error *err);
/* The path is borrowed. timeout_ns: of each request. NULL with err when it cannot be a socket's
 * path. */
struct client *client_new(const char *socket_path, uint64_t timeout_ns, struct error *err);
void client_free(struct client *client);
MEMORY_CLEANUP(struct client, client_free)
#define _cleanup_client_ _cleanup_(client_free_pointer)

/* When this descriptor gets readable a request is given up with -EINTR; -1: none. */
void client_set_interrupt(struct client *client, int fd);

/* How long an answer may be from now on, instead of CLIENT_MAX_ANSWER_BYTES. */
void client_set_limit(struct client *client, size_t bytes);

/* The daemon was asked to hold its next answers back for so long (?wait=): they get that much more
 * time. */
void client_set_held(struct client *client, uint64_t ns);

/*
 * method: "GET" or "POST" (with an empty body). 0 when the daemon answered, whatever the status;
 * -EINTR; or -errno with err. *ret_reply must be CLIENT_REPLY_INIT.
 */
int client_request(struct client *client, const char *method, const char *path,
		   struct client_reply *ret_reply, struct error *err);

/* 0 for a status below 300 with what is wanted in it (a table that ends with a NULL place); else
 * -EREMOTEIO with what the daemon says is wrong (its problem+json), or that this is none of its
 * answers. */
int client_reply_check(const struct client_reply *reply, const struct field_wanted *wanted,
		       struct error *err);

/* Of an answer to a question about one run; says where the others are when there is none of this
 * id. */
int client_reply_check_run(const struct client_reply *reply, const char *id,
			   const struct field_wanted *wanted, struct error *err);

/* Both in one: the answer must be good. */
int client_get(struct client *client, const char *path, const struct field_wanted *wanted,
	       struct client_reply *ret_reply, struct error *err);

/* Adds a path segment or query value, percent-encoded. */
void client_add_escaped(struct text *path, const char *string);
