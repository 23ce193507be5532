// SPDX-License-Identifier: MIT
#pragma once

/*
 * libmicrohttpd on one listening socket, nested into the event loop, with the guards that it lacks:
 * total deadlines, strict targets and headers, one answer for every request that is not
 * well-formed. What a request means is its owner's matter. Loop thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "http/request.h"
#include "http/response.h"
#include "util/error.h"

struct listener;
struct exchange; /* one request and its answer */

/* Fills *ret and returns true, or false: listener_answer will come, also from within; until then,
 * or until gone, the request stays as it is. */
typedef bool (*listener_handle_fn)(void *arg, struct exchange *exchange,
				   const struct request *request, struct response *ret);

struct listener_options {
	int fd; /* listening; taken in any case */
	bool is_admin;
	unsigned max_connections;
	unsigned max_connections_per_address; /* 0: no limit (local sockets) */
	uint64_t request_timeout_ns;
	uint64_t answer_timeout_ns;
	listener_handle_fn handle;
	/* A request that was to be answered later is gone: its client was answered for us, its time
	 * was over. */
	void (*gone)(void *arg, struct exchange *exchange);
	/* The client of a request that is to be answered later has ended the connection, or at
	 * least its own direction of it: it may be answered now, which tells the difference. */
	void (*leaving)(void *arg, struct exchange *exchange);
	void *arg;
};

int listener_new(struct listener **ret, sd_event *event, const struct listener_options *options,
		 struct error *err);
/* Whoever waits gets 503. NULL too. */
void listener_free(struct listener *listener);
/* Once for an exchange whose handler returned false; takes what is in *response. */
void listener_answer(struct exchange *exchange, struct response *response);
