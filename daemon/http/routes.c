// SPDX-License-Identifier: MIT
#include "http/routes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "http/asset.h"
#include "http/lists.h"
#include "http/page_pieces.h"
#include "http/routes_runs.h"
#include "util/text.h"

/* --- reading --- */

static void get_page(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret)
{
	response_pieces(ret, 200, "text/html; charset=utf-8",
			page_pieces_new(routes->view, routes->metrics));
}

static void get_health(const struct routes *routes, const struct request *request,
		       const char *segment, struct response *ret)
{
	bool is_alive = routes->view->is_alive(routes->view->arg);

	response_text(ret, is_alive ? 200 : 503, "text/plain; charset=utf-8",
		      is_alive ? "ok\n" : "a worker or setup thread makes no progress\n");
}

static void get_readiness(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret)
{
	json_t *checks = NULL;
	bool is_ready = routes->view->is_ready(routes->view->arg, &checks);
	json_t *object = json_object();

	json_set_bool(object, "is_ready", is_ready);
	json_set_take(object, "checks", checks);
	response_json(ret, is_ready ? 200 : 503, object);
}

static void get_metrics(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	struct metrics_gauges gauges = { 0 };

	routes->view->gauges(routes->view->arg, &gauges);
	response_pieces(ret, 200, "text/plain; version=0.0.4; charset=utf-8",
			metrics_write_pieces(routes->metrics, &gauges));
}

static void get_openapi(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	response_text(ret, 200, "application/yaml", asset_find("openapi.yaml")->bytes);
}

static void get_metrics_guide(const struct routes *routes, const struct request *request,
			      const char *segment, struct response *ret)
{
	response_text(ret, 200, "text/markdown; charset=utf-8", asset_find("metrics.md")->bytes);
}

static void get_status(const struct routes *routes, const struct request *request,
		       const char *segment, struct response *ret)
{
	response_json(ret, 200, routes->view->status(routes->view->arg));
}

static void get_devices(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	response_pieces(ret, 200, "application/json", lists_devices(routes->view));
}

static void get_peers(const struct routes *routes, const struct request *request,
		      const char *segment, struct response *ret)
{
	response_pieces(ret, 200, "application/json", lists_peers(routes->view));
}

static void get_scenarios(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret)
{
	response_pieces(ret, 200, "application/json", lists_scenarios(routes->view));
}

/* --- acting --- */

/* All who ask wait for the end of the reload: the server joins them, and begins it. */
static bool reload_waits(const struct routes *routes, const struct request *request,
			 const char *segment, struct routes_wait *ret)
{
	ret->kind = ROUTES_WAIT_RELOAD;
	return true;
}

/* --- the table --- */

static const char *const run_arguments[] = { "histograms", "intervals", NULL };
static const char *const progress_arguments[] = { "wait", NULL };
static const char *const runs_arguments[] = { "scenario", "verdict", "limit", "cursor", NULL };

const struct route routes_table[] = {
	{ "GET", "/", ROUTE_LOCAL, NULL, get_page, NULL },
	{ "GET", "/healthz", ROUTE_OPEN, NULL, get_health, NULL },
	{ "GET", "/readyz", ROUTE_OPEN, NULL, get_readiness, NULL },
	{ "GET", "/metrics", ROUTE_OPEN, NULL, get_metrics, NULL },
	{ "GET", "/openapi.yaml", ROUTE_LOCAL, NULL, get_openapi, NULL },
	{ "GET", "/metrics.md", ROUTE_LOCAL, NULL, get_metrics_guide, NULL },
	{ "GET", "/v1/status", ROUTE_LOCAL, NULL, get_status, NULL },
	{ "GET", "/v1/devices", ROUTE_LOCAL, NULL, get_devices, NULL },
	{ "GET", "/v1/peers", ROUTE_LOCAL, NULL, get_peers, NULL },
	{ "GET", "/v1/scenarios", ROUTE_LOCAL, NULL, get_scenarios, NULL },
	{ "POST", "/v1/scenarios/{name}/runs", ROUTE_ADMIN, NULL, routes_runs_start, NULL },
	{ "GET", "/v1/runs", ROUTE_LOCAL, runs_arguments, routes_runs_list, NULL },
	{ "GET", "/v1/runs/{id}", ROUTE_LOCAL, run_arguments, routes_runs_get, NULL },
	{ "GET", "/v1/runs/{id}/progress", ROUTE_LOCAL, progress_arguments, routes_runs_progress,
	  routes_runs_waits },
	{ "POST", "/v1/runs/{id}/cancel", ROUTE_ADMIN, NULL, routes_runs_cancel, NULL },
	{ "POST", "/v1/reload", ROUTE_ADMIN, NULL, NULL, reload_waits },
	{ 0 },
};

/* Whether a path is that of the table; the {variable} segment goes to `segment`. */
static bool is_match(const char *pattern, const char *path, char *segment, size_t size)
{
	segment[0] = '\0';
	while (*pattern && *path) {
		if (*pattern == '{') {
			size_t length = strcspn(path, "/");

			if (length == 0 || length >= size) {
				return false;
			}
			memcpy(segment, path, length);
			segment[length] = '\0';
			path += length;
			pattern += strcspn(pattern, "}") + 1;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *pattern == '\0' && *path == '\0';
}

/* A HEAD is a GET whose body is not sent. */
static bool is_method(const struct route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static const struct route *find_route(const struct request *request, char *segment, size_t size,
				      struct response *ret)
{
	for (const struct route *route = routes_table; route->method; route++) {
		if (!is_match(route->path, request->path, segment, size)) {
			continue;
		}
		if (is_method(route, request->method)) {
			return route;
		}
		/* No path has two methods but HEAD beside GET. */
		response_problem(ret, 405, "method", NULL, "%s takes %s", route->path,
				 route->method);
		snprintf(ret->allow, sizeof(ret->allow), "%s%s", route->method,
			 strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
		return NULL;
	}
	response_problem(ret, 404, "no-such-path", NULL,
			 "there is nothing at \"%s\"; /openapi.yaml lists what there is",
			 request->path);
	return NULL;
}

static bool check_access(const struct routes *routes, const struct route *route,
			 const struct request *request, struct response *ret)
{
	if (route->access == ROUTE_OPEN || request->origin == REQUEST_ADMIN) {
		return true;
	}
	if (route->access == ROUTE_ADMIN) {
		response_problem(
			ret, 403, "admin-socket-only", NULL,
			"what starts, stops or changes something goes through the admin socket (daemon.admin_socket): use "
			"rdmatestctl on this host, or curl --unix-socket; the user must be in its group");
		return false;
	}
	if (request->origin == REQUEST_REMOTE) {
		response_problem(
			ret, 403, "this-host-only", NULL,
			"other hosts get /metrics, /healthz and /readyz; for %s ask on the host itself, for instance through "
			"ssh -L 9879:127.0.0.1:9879",
			request->path);
		return false;
	}
	if (!request_is_host_ours(request, routes->node_name)) {
		response_problem(
			ret, 403, "foreign-host-name", NULL,
			"the Host header names another host; use localhost, a numeric address or the node's name");
		return false;
	}
	return true;
}

static bool check_arguments(const struct route *route, const struct request *request,
			    struct response *ret)
{
	for (size_t i = 0; i < request->argument_count; i++) {
		const char *const *known = route->arguments;
		_cleanup_text_ struct text list = TEXT_INIT;

		while (known && *known && strcmp(*known, request->arguments[i].name) != 0) {
			text_format(&list, "%s%s", list.length ? ", " : "", *known);
			known++;
		}
		if (!known || !*known) {
			response_problem(ret, 400, "argument", NULL,
					 "unknown argument \"%s\"; %s takes %s",
					 request->arguments[i].name, route->path,
					 list.length ? list.data : "none");
			return false;
		}
	}
	return true;
}

bool routes_handle(const struct routes *routes, const struct request *request,
		   struct routes_wait *ret_wait, struct response *ret, const char **ret_route)
{
	char segment[64];
	const struct route *route = find_route(request, segment, sizeof(segment), ret);

	*ret_route = route ? route->path : "other";
	if (!route || !check_access(routes, route, request, ret) ||
	    !check_arguments(route, request, ret)) {
		return true;
	}
	if (route->access == ROUTE_ADMIN && routes->is_stopping) {
		response_problem(ret, 503, "stopping", NULL,
				 "the daemon is stopping and begins nothing new");
		return true;
	}
	if (ret_wait && route->waits && route->waits(routes, request, segment, ret_wait)) {
		return false;
	}
	assert(route->handle);
	route->handle(routes, request, segment, ret);
	return true;
}
