// SPDX-License-Identifier: MIT
#include "http/routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "http/asset.h"
#include "http/page.h"
#include "util/text.h"
#include "util/units.h"

#define ID_MIN 6
#define ID_MAX 26

/* --- reading --- */

static bool get_page(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret)
{
	const struct view *view = routes->view;
	struct view_query query = { .verdict = VERDICT_NONE, .limit = 20 };
	bool is_more;
	_cleanup_json_ json_t *status = view->status(view->arg);
	_cleanup_json_ json_t *devices = view->devices(view->arg);
	_cleanup_json_ json_t *peers = view->peers(view->arg);
	_cleanup_json_ json_t *scenarios = view->scenarios(view->arg);
	_cleanup_json_ json_t *runs = view->runs(view->arg, &query, &is_more);
	_cleanup_json_ json_t *last = metrics_last(routes->metrics);
	struct page_content content = { .status = status,
					.devices = devices,
					.peers = peers,
					.scenarios = scenarios,
					.runs = runs,
					.last = last };

	response_text(ret, 200, "text/html; charset=utf-8", "");
	page_write(&content, &ret->body);
	return true;
}

static bool get_health(const struct routes *routes, const struct request *request,
		       const char *segment, struct response *ret)
{
	bool is_alive = routes->view->is_alive(routes->view->arg);

	response_text(ret, is_alive ? 200 : 503, "text/plain; charset=utf-8",
		      is_alive ? "ok\n" : "a worker or setup thread makes no progress\n");
	return true;
}

static bool get_readiness(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret)
{
	json_t *checks = NULL;
	bool is_ready = routes->view->is_ready(routes->view->arg, &checks);
	json_t *object = json_object();

	json_set_bool(object, "is_ready", is_ready);
	json_set_take(object, "checks", checks);
	response_json(ret, is_ready ? 200 : 503, object);
	return true;
}

static bool get_metrics(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	struct metrics_gauges gauges = { 0 };

	routes->view->gauges(routes->view->arg, &gauges);
	response_text(ret, 200, "text/plain; version=0.0.4; charset=utf-8", "");
	metrics_write(routes->metrics, &gauges, &ret->body);
	return true;
}

static bool get_openapi(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	response_text(ret, 200, "application/yaml", asset_find("openapi.yaml")->bytes);
	return true;
}

static bool get_metrics_guide(const struct routes *routes, const struct request *request,
			      const char *segment, struct response *ret)
{
	response_text(ret, 200, "text/markdown; charset=utf-8", asset_find("metrics.md")->bytes);
	return true;
}

static bool get_status(const struct routes *routes, const struct request *request,
		       const char *segment, struct response *ret)
{
	response_json(ret, 200, routes->view->status(routes->view->arg));
	return true;
}

/* {key: list} */
static bool answer_list(struct response *ret, const char *key, json_t *list)
{
	json_t *object = json_object();

	json_set_take(object, key, list);
	response_json(ret, 200, object);
	return true;
}

static bool get_devices(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	return answer_list(ret, "ports", routes->view->devices(routes->view->arg));
}

static bool get_peers(const struct routes *routes, const struct request *request,
		      const char *segment, struct response *ret)
{
	return answer_list(ret, "peers", routes->view->peers(routes->view->arg));
}

static bool get_scenarios(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret)
{
	return answer_list(ret, "scenarios", routes->view->scenarios(routes->view->arg));
}

static bool is_id(const char *id)
{
	size_t length = strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ");

	return id[length] == '\0' && length >= ID_MIN && length <= ID_MAX;
}

static bool refuse_id(struct response *ret, const char *id)
{
	response_problem(
		ret, 400, "run-id", NULL,
		"\"%s\" is not the id of a run: %d to %d of 0-9 and A-Z without I, L, O and U, as GET /v1/runs lists them",
		id, ID_MIN, ID_MAX);
	return true;
}

static bool answer_unknown_run(struct response *ret, const char *id)
{
	response_problem(
		ret, 404, "no-such-run", NULL,
		"there is no run \"%s\": it may be older than what daemon.results.keep_runs keeps; GET /v1/runs lists them",
		id);
	return true;
}

static bool read_verdict(const char *word, int *ret, struct response *response)
{
	_cleanup_text_ struct text known = TEXT_INIT;

	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		if (strcmp(word, verdict_names[verdict]) == 0) {
			*ret = verdict;
			return true;
		}
		text_format(&known, "%s%s", verdict > VERDICT_PASS ? ", " : "",
			    verdict_names[verdict]);
	}
	response_problem(response, 400, "argument", NULL, "verdict: \"%s\" is not one of %s", word,
			 known.data);
	return false;
}

static bool read_query(const struct request *request, struct view_query *query,
		       struct response *response)
{
	const char *scenario = request_argument(request, "scenario");
	const char *verdict = request_argument(request, "verdict");
	const char *limit = request_argument(request, "limit");
	const char *cursor = request_argument(request, "cursor");
	uint64_t count = VIEW_RUNS_DEFAULT;

	*query = (struct view_query){ .verdict = VERDICT_NONE };
	if (scenario && !text_is_name(scenario)) {
		response_problem(response, 400, "argument", NULL, "scenario: \"%s\" is not a name",
				 scenario);
		return false;
	}
	if (verdict && !read_verdict(verdict, &query->verdict, response)) {
		return false;
	}
	if (limit && (units_parse_integer(limit, &count) || count < 1 || count > VIEW_RUNS_MAX)) {
		response_problem(response, 400, "argument", NULL,
				 "limit: \"%s\" is not a number from 1 to %d", limit,
				 VIEW_RUNS_MAX);
		return false;
	}
	if (cursor && !is_id(cursor)) {
		response_problem(response, 400, "argument", NULL,
				 "cursor: \"%s\" is not one that an answer gave as `next`", cursor);
		return false;
	}
	text_copy(query->scenario, sizeof(query->scenario), scenario ? scenario : "");
	text_copy(query->before, sizeof(query->before), cursor ? cursor : "");
	query->limit = count;
	return true;
}

/* The same question for what comes after the last of these runs. */
static void write_next(const struct view_query *query, const json_t *runs, json_t *object)
{
	const json_t *last = json_array_get(runs, json_array_size(runs) - 1);
	_cleanup_text_ struct text next = TEXT_INIT;

	text_format(&next, "/v1/runs?limit=%zu&cursor=%s", query->limit,
		    json_string_value(json_object_get(last, "id")));
	if (query->scenario[0]) {
		text_format(&next, "&scenario=%s", query->scenario);
	}
	if (query->verdict != VERDICT_NONE) {
		text_format(&next, "&verdict=%s", verdict_names[query->verdict]);
	}
	json_set_string(object, "next", next.data);
}

static bool get_runs(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret)
{
	struct view_query query;
	bool is_more = false;
	json_t *object;
	json_t *runs;

	if (!read_query(request, &query, ret)) {
		return true;
	}
	runs = routes->view->runs(routes->view->arg, &query, &is_more);
	if (!runs) {
		return answer_unknown_run(ret, query.before);
	}
	object = json_object();
	json_set_string(object, "next", NULL);
	if (is_more && json_array_size(runs) > 0) {
		write_next(&query, runs, object);
	}
	json_set_take(object, "runs", runs);
	response_json(ret, 200, object);
	return true;
}

static bool get_run(const struct routes *routes, const struct request *request, const char *segment,
		    struct response *ret)
{
	const char *histograms = request_argument(request, "histograms");
	bool with_histograms = histograms && strcmp(histograms, "true") == 0;
	json_t *run;

	if (!is_id(segment)) {
		return refuse_id(ret, segment);
	}
	if (histograms && !with_histograms && strcmp(histograms, "false") != 0) {
		response_problem(ret, 400, "argument", NULL,
				 "histograms: \"%s\" is not true or false", histograms);
		return true;
	}
	run = routes->view->run(routes->view->arg, segment, with_histograms);
	if (!run) {
		return answer_unknown_run(ret, segment);
	}
	response_json(ret, 200, run);
	return true;
}

static bool get_progress(const struct routes *routes, const struct request *request,
			 const char *segment, struct response *ret)
{
	json_t *progress;

	if (!is_id(segment)) {
		return refuse_id(ret, segment);
	}
	progress = routes->view->progress(routes->view->arg, segment);
	if (!progress) {
		return answer_unknown_run(ret, segment);
	}
	response_json(ret, 200, progress);
	return true;
}

/* --- acting --- */

static bool post_run(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret)
{
	struct error err = ERROR_INIT;
	char id[32] = "";
	json_t *object;
	int r = routes->view->start(routes->view->arg, segment, id, &err);

	switch (r) {
	case 0:
		object = json_object();
		json_set_string(object, "id", id);
		response_json(ret, 202, object);
		snprintf(ret->location, sizeof(ret->location), "/v1/runs/%s", id);
		break;
	case -ENOENT:
		response_problem(ret, 404, "no-such-scenario", NULL, "%s", err.text);
		break;
	case -EBUSY:
		response_problem(ret, 429, "queue-full", NULL, "%s", err.text);
		ret->retry_after_s = 10;
		break;
	default:
		response_problem(ret, 409, r == -ESHUTDOWN ? "stopping" : "refused", NULL, "%s",
				 err.text);
		break;
	}
	return true;
}

static bool post_cancel(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	struct error err = ERROR_INIT;
	json_t *object;
	int r;

	if (!is_id(segment)) {
		return refuse_id(ret, segment);
	}
	r = routes->view->cancel(routes->view->arg, segment, &err);
	if (r == 0) {
		object = json_object();
		json_set_string(object, "id", segment);
		response_json(ret, 202, object);
	} else {
		response_problem(ret, r == -ENOENT ? 404 : 409,
				 r == -ENOENT ? "no-such-run" : "run-is-over", NULL, "%s",
				 err.text);
	}
	return true;
}

static bool post_reload(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	return false; /* the server joins those who wait, and begins it */
}

/* --- the table --- */

static const char *const run_arguments[] = { "histograms", NULL };
static const char *const runs_arguments[] = { "scenario", "verdict", "limit", "cursor", NULL };

const struct route routes_table[] = {
	{ "GET", "/", ROUTE_LOCAL, NULL, get_page },
	{ "GET", "/healthz", ROUTE_OPEN, NULL, get_health },
	{ "GET", "/readyz", ROUTE_OPEN, NULL, get_readiness },
	{ "GET", "/metrics", ROUTE_OPEN, NULL, get_metrics },
	{ "GET", "/openapi.yaml", ROUTE_LOCAL, NULL, get_openapi },
	{ "GET", "/metrics.md", ROUTE_LOCAL, NULL, get_metrics_guide },
	{ "GET", "/v1/status", ROUTE_LOCAL, NULL, get_status },
	{ "GET", "/v1/devices", ROUTE_LOCAL, NULL, get_devices },
	{ "GET", "/v1/peers", ROUTE_LOCAL, NULL, get_peers },
	{ "GET", "/v1/scenarios", ROUTE_LOCAL, NULL, get_scenarios },
	{ "POST", "/v1/scenarios/{name}/runs", ROUTE_ADMIN, NULL, post_run },
	{ "GET", "/v1/runs", ROUTE_LOCAL, runs_arguments, get_runs },
	{ "GET", "/v1/runs/{id}", ROUTE_LOCAL, run_arguments, get_run },
	{ "GET", "/v1/runs/{id}/progress", ROUTE_LOCAL, NULL, get_progress },
	{ "POST", "/v1/runs/{id}/cancel", ROUTE_ADMIN, NULL, post_cancel },
	{ "POST", "/v1/reload", ROUTE_ADMIN, NULL, post_reload },
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

bool routes_handle(const struct routes *routes, const struct request *request, struct response *ret,
		   const char **ret_route)
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
	return route->handle(routes, request, segment, ret);
}
