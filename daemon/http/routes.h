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

/* Fills *ret. False: the answer comes later (a reload). segment: the {variable} part of the path,
 * "" if it has none. */
typedef bool (*route_fn)(const struct routes *routes, const struct request *request,
			 const char *segment, struct response *ret);

struct route {
	const char *method;
	const char *path; /* as in api/openapi.yaml: "/v1/runs/{id}" */
	enum route_access access;
	const char *const *arguments; /* of the query that it knows; NULL-terminated, or NULL */
	route_fn handle;
};

/* Ends with a NULL method. */
extern const struct route routes_table[];

/*
 * Answers a request whose target was read and whose headers were checked. *ret_route: the path of
 * the table, or "other". False: later; server_reload_done will know.
 */
bool routes_handle(const struct routes *routes, const struct request *request, struct response *ret,
		   const char **ret_route);
