// SPDX-License-Identifier: MIT
#pragma once

/*
 * One request and its answer between libmicrohttpd and us: what came in is vetted here, what goes
 * out is dressed here. Private to http/listener, which owns connections, time and the loop.
 */

#include <microhttpd.h>
#include <stdbool.h>

#include "http/request.h"
#include "http/response.h"

struct client;

enum exchange_state {
	EXCHANGE_READING,
	EXCHANGE_HANDLING, /* inside the handler */
	EXCHANGE_WAITING, /* suspended */
	EXCHANGE_ANSWERED, /* the response is there, not yet queued */
	EXCHANGE_SENDING,
};

struct exchange {
	struct client *client; /* the connection; NULL: refused at once */
	struct MHD_Connection *connection;
	enum exchange_state state;
	bool is_begun;
	unsigned target_status;
	const char *target_problem; /* static; NULL: the target is fine */
	const char *target_end; /* of the raw target, as far as it is a string; to compare with */
	struct request request;
	struct response response;
};

/* From the raw target, before anything in it is decoded or cut at a NUL. */
struct exchange *exchange_new(struct MHD_Connection *connection, struct client *client,
			      bool is_admin, const char *target);
void exchange_free(struct exchange *exchange);
/* Before any body is read. False: the refusal is in the response. */
bool exchange_check_head(struct exchange *exchange, const char *method, const char *version);
/* Queues the response, whose body it takes. streams: how many bodies of the listener are made while
 * they are sent; outlives the connection. */
enum MHD_Result exchange_send(struct exchange *exchange, unsigned *streams);
