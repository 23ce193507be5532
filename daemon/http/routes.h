// SPDX-License-Identifier: MIT
#pragma once

/*
 * Every path that is served, who may ask for it, and what answers: a vetted request in, a response
 * out. No sockets. Loop thread.
 */

#include <stdbool.h>

#include "http/metrics.h"
#include "http/request.h"
#include "http/response.h"
#include "http/view.h"

enum route_access {
	ROUTE_OPEN, /* anyone: health and metrics */
	ROUTE_LOCAL, /* this host and the admin socket */
	ROUTE_ADMIN, /* the admin socket alone: whatever starts, stops or changes something */
};

struct routes {
	const struct view *view;
	struct metrics *metrics;
	const char *node_name; /* of this host, for the Host header */
	bool is_stopping; /* actions are refused */
};

/* What an answer that comes later waits for. */
enum routes_wait_kind {
	ROUTES_WAIT_RELOAD, /* the end of a reload, whose answer the server makes */
	ROUTES_WAIT_RUN, /* the end of a run; then, or when the time is over, the request is
			    handled again */
};

/* Longest ?wait=: well below the time that a client gets to read its answer (http/server). */
#define ROUTES_WAIT_MAX_S 50

struct routes_wait {
	enum routes_wait_kind kind;
	char run_id[32]; /* of a run: whole */
	uint64_t wait_ns; /* of a run: at most so long */
};

/* Fills *ret. segment: the {variable} part of the path, "" if it has none. */
typedef void (*route_fn)(const struct routes *routes, const struct request *request,
			 const char *segment, struct response *ret);
/* Whether the answer is to come later, and what for. */
typedef bool (*route_waits_fn)(const struct routes *routes, const struct request *request,
			       const char *segment, struct routes_wait *ret);

struct route {
	const char *method;
	const char *path; /* as in api/openapi.yaml: "/v1/runs/{id}" */
	enum route_access access;
	const char *const *arguments; /* of the query that it knows; NULL-terminated, or NULL */
	route_fn handle; /* NULL: always waits */
	route_waits_fn waits; /* NULL: never */
};

/* Ends with a NULL method. */
extern const struct route routes_table[];

/*
 * Answers a request whose target was read and whose headers were checked. *ret_route: the path of
 * the table, or "other". False: later, *ret_wait says when. NULL for ret_wait: now, in any case.
 */
bool routes_handle(const struct routes *routes, const struct request *request,
		   struct routes_wait *ret_wait, struct response *ret, const char **ret_route);
