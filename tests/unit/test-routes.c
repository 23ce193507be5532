// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/records.h"
#include "http/routes.h"
#include "util/memory.h"

#define ID "01J8Z3R6Q0W4T5Y6A7S8D9F0GH"

/* A daemon that answers with little, and remembers what it was asked. */
struct fake {
	struct view view;
	struct view_query query;
	bool is_more;
	bool is_alive;
	bool is_ready;
	int start_result;
	int cancel_result;
	unsigned actions;
	char acted_on[64];
	const char *run_state;
};

static json_t *give_object(void *arg)
{
	return json_pack("{s:s}", "node", "n1");
}

static json_t *give_item(void *arg, size_t index)
{
	return index < 2 ? json_pack("{s:s,s:[]}", "name", "x", "ports") : NULL;
}

static json_t *give_port(void *arg, size_t peer, size_t index)
{
	return index < peer * 2 ? json_pack("{s:i}", "port", (int)index) : NULL;
}

static struct run *new_run(void)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	schema_defaults(scenario_fields, scenario);
	text_copy(scenario->name, sizeof(scenario->name), "smoke");
	run = run_new(scenario);
	text_copy(run->id, sizeof(run->id), ID);
	run_add_measurement(run);
	return run;
}

static int give_runs(void *arg, const struct view_query *query, struct run **ret_runs,
		     size_t *ret_count, bool *ret_more)
{
	struct fake *fake = arg;

	fake->query = *query;
	*ret_more = fake->is_more;
	*ret_count = 0;
	if (strcmp(query->before, "ABCDEF") == 0) {
		return -ENOENT;
	}
	ret_runs[(*ret_count)++] = new_run();
	return 0;
}

static struct run *give_run(void *arg, const char *id)
{
	return strcmp(id, ID) == 0 ? new_run() : NULL;
}

static json_t *give_progress(void *arg, const char *id)
{
	struct fake *fake = arg;

	return text_starts_with(ID, id) ? json_pack("{s:s,s:s}", "id", ID, "state", fake->run_state)
					: NULL;
}

static bool give_readiness(void *arg, json_t **ret_checks)
{
	*ret_checks = json_array();
	json_array_append_new(*ret_checks, records_check("devices", false, "none"));
	return ((struct fake *)arg)->is_ready;
}

static bool give_life(void *arg)
{
	return ((struct fake *)arg)->is_alive;
}

static void give_gauges(void *arg, struct metrics_gauges *ret)
{
	ret->version = "0";
}

static int do_start(void *arg, const char *scenario, char *ret_id, struct error *err)
{
	struct fake *fake = arg;

	fake->actions++;
	text_copy(fake->acted_on, sizeof(fake->acted_on), scenario);
	if (fake->start_result < 0) {
		return error_set(err, fake->start_result, ERROR_INPUT, "no such thing as \"%s\"",
				 scenario);
	}
	text_copy(ret_id, 32, ID);
	return 0;
}

static int do_cancel(void *arg, const char *id, struct error *err)
{
	struct fake *fake = arg;

	fake->actions++;
	text_copy(fake->acted_on, sizeof(fake->acted_on), id);
	return fake->cancel_result < 0
		       ? error_set(err, fake->cancel_result, ERROR_INPUT, "this cannot be done now")
		       : 0;
}

static void do_reload(void *arg)
{
	((struct fake *)arg)->actions++;
}

struct fixture {
	struct fake fake;
	struct metrics *metrics;
	struct routes routes;
	struct response response;
	struct routes_wait wait;
	const char *route;
	bool is_answered;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	fixture->fake.is_alive = true;
	fixture->fake.is_ready = true;
	fixture->fake.run_state = "running";
	fixture->fake.view = (struct view){
		.arg = &fixture->fake,
		.status = give_object,
		.device = give_item,
		.peer = give_item,
		.peer_port = give_port,
		.scenario = give_item,
		.runs = give_runs,
		.run = give_run,
		.progress = give_progress,
		.is_ready = give_readiness,
		.is_alive = give_life,
		.gauges = give_gauges,
		.start = do_start,
		.cancel = do_cancel,
		.reload = do_reload,
	};
	fixture->metrics = metrics_new("n1");
	fixture->routes = (struct routes){ .view = &fixture->fake.view,
					   .metrics = fixture->metrics,
					   .node_name = "n1" };
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	response_done(&fixture->response);
	metrics_free(fixture->metrics);
	free(fixture);
	return 0;
}

static struct request request_of(const char *method, const char *target, enum request_origin origin)
{
	struct request request = { .origin = origin };
	unsigned status;

	text_copy(request.method, sizeof(request.method), method);
	assert_null(request_read_target(&request, target, &status));
	request_add_header(&request, "Host", "localhost:9879");
	return request;
}

/* The status of the answer, 0 when it comes later. */
static unsigned ask(struct fixture *fixture, const char *method, const char *target,
		    enum request_origin origin)
{
	struct request request = request_of(method, target, origin);

	response_done(&fixture->response);
	fixture->response = (struct response){ 0 };
	fixture->is_answered = routes_handle(&fixture->routes, &request, &fixture->wait,
					     &fixture->response, &fixture->route);
	response_complete(&fixture->response);
	return fixture->is_answered ? fixture->response.status : 0;
}

static void assert_body(const struct fixture *fixture, const char *part)
{
	if (!strstr(fixture->response.body.data, part)) {
		fail_msg("\"%s\" is not in: %s", part, fixture->response.body.data);
	}
}

static void assert_problem(struct fixture *fixture, const char *slug)
{
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *problem =
		json_read(fixture->response.body.data, fixture->response.body.length, &err);
	_cleanup_text_ struct text type = TEXT_INIT;

	assert_non_null(problem);
	assert_string_equal(fixture->response.content_type, "application/problem+json");
	text_format(&type, "urn:rdmatestd:problem:%s", slug);
	assert_string_equal(json_string_value(json_object_get(problem, "type")), type.data);
	assert_int_equal(json_integer_value(json_object_get(problem, "status")),
			 fixture->response.status);
	assert_true(strlen(json_string_value(json_object_get(problem, "detail"))) > 10);
	assert_true(strlen(json_string_value(json_object_get(problem, "title"))) > 3);
	assert_true(fixture->response.must_close);
}

static void every_reading_path_answers_a_local_client(void **state)
{
	static const char *const targets[] = { "/",
					       "/healthz",
					       "/readyz",
					       "/metrics",
					       "/openapi.yaml",
					       "/metrics.md",
					       "/v1/status",
					       "/v1/devices",
					       "/v1/peers",
					       "/v1/scenarios",
					       "/v1/runs",
					       "/v1/runs/" ID,
					       "/v1/runs/" ID "/progress" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (ask(fixture, "GET", targets[i], REQUEST_LOCAL) != 200 ||
		    fixture->response.body.length == 0 ||
		    ask(fixture, "HEAD", targets[i], REQUEST_ADMIN) != 200) {
			fail_msg("%s: %u", targets[i], fixture->response.status);
		}
	}
	assert_int_equal(fixture->fake.actions, 0);
}

static void another_host_gets_health_and_metrics_and_nothing_else(void **state)
{
	struct fixture *fixture = *state;

	for (const struct route *route = routes_table; route->method; route++) {
		_cleanup_text_ struct text target = TEXT_INIT;
		const char *variable = strchr(route->path, '{');
		unsigned status;

		text_add_bytes(&target, route->path,
			       variable ? (size_t)(variable - route->path) : strlen(route->path));
		if (variable) {
			text_format(&target, "%s%s", ID, strchr(variable, '}') + 1);
		}
		status = ask(fixture, route->method, target.data, REQUEST_REMOTE);
		if (status != (route->access == ROUTE_OPEN ? 200 : 403)) {
			fail_msg("%s %s: %u", route->method, target.data, status);
		}
	}
	ask(fixture, "GET", "/v1/runs", REQUEST_REMOTE);
	assert_problem(fixture, "this-host-only");
	assert_body(fixture, "ssh -L");
	assert_int_equal(fixture->fake.actions, 0);
}

static void acting_over_tcp_is_refused_with_the_way_to_go(void **state)
{
	static const char *const targets[] = { "/v1/scenarios/smoke/runs", "/v1/runs/" ID "/cancel",
					       "/v1/reload" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		assert_int_equal(ask(fixture, "POST", targets[i], REQUEST_LOCAL), 403);
		assert_problem(fixture, "admin-socket-only");
		assert_body(fixture, "rdmatestctl");
		assert_int_equal(ask(fixture, "POST", targets[i], REQUEST_REMOTE), 403);
	}
	assert_int_equal(fixture->fake.actions, 0);
}

static void the_admin_socket_starts_and_cancels_runs(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, "POST", "/v1/scenarios/smoke/runs", REQUEST_ADMIN), 202);
	assert_string_equal(fixture->response.location, "/v1/runs/" ID);
	assert_string_equal(fixture->fake.acted_on, "smoke");
	assert_body(fixture, "\"id\":\"" ID "\"");
	assert_int_equal(ask(fixture, "POST", "/v1/runs/" ID "/cancel", REQUEST_ADMIN), 202);
	assert_string_equal(fixture->fake.acted_on, ID);
	assert_int_equal(ask(fixture, "POST", "/v1/reload", REQUEST_ADMIN), 0);
	assert_int_equal(fixture->wait.kind, ROUTES_WAIT_RELOAD);
	assert_int_equal(fixture->fake.actions, 2); /* the reload is begun by the server */
}

static void refusals_of_the_daemon_have_their_status(void **state)
{
	static const struct {
		int result;
		unsigned status;
		const char *slug;
	} cases[] = {
		{ -ENOENT, 404, "no-such-scenario" },
		{ -ESHUTDOWN, 409, "stopping" },
		{ -EBUSY, 429, "queue-full" },
		{ -EINVAL, 409, "refused" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture->fake.start_result = cases[i].result;
		assert_int_equal(ask(fixture, "POST", "/v1/scenarios/a/runs", REQUEST_ADMIN),
				 cases[i].status);
		assert_problem(fixture, cases[i].slug);
		assert_int_equal(fixture->response.retry_after_s > 0, cases[i].status == 429);
		assert_string_equal(fixture->response.location, "");
	}
	fixture->fake.cancel_result = -ENOENT;
	assert_int_equal(ask(fixture, "POST", "/v1/runs/" ID "/cancel", REQUEST_ADMIN), 404);
	fixture->fake.cancel_result = -EALREADY;
	assert_int_equal(ask(fixture, "POST", "/v1/runs/" ID "/cancel", REQUEST_ADMIN), 409);
	assert_problem(fixture, "run-is-over");
}

static void a_stopping_daemon_reads_on_and_begins_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture->routes.is_stopping = true;
	assert_int_equal(ask(fixture, "GET", "/v1/status", REQUEST_LOCAL), 200);
	assert_int_equal(ask(fixture, "POST", "/v1/scenarios/a/runs", REQUEST_ADMIN), 503);
	assert_problem(fixture, "stopping");
	assert_int_equal(ask(fixture, "POST", "/v1/reload", REQUEST_ADMIN), 503);
	assert_int_equal(fixture->fake.actions, 0);
}

static void health_and_readiness_tell_trouble_by_status(void **state)
{
	struct fixture *fixture = *state;

	fixture->fake.is_alive = false;
	assert_int_equal(ask(fixture, "GET", "/healthz", REQUEST_REMOTE), 503);
	fixture->fake.is_ready = false;
	assert_int_equal(ask(fixture, "GET", "/readyz", REQUEST_REMOTE), 503);
	assert_body(
		fixture,
		"{\"is_ready\":false,\"checks\":[{\"name\":\"devices\",\"is_ok\":false,\"detail\":\"none\"}]}");
}

static void the_list_of_runs_is_filtered_and_paged(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ask(fixture, "GET", "/v1/runs", REQUEST_LOCAL), 200);
	assert_int_equal(fixture->fake.query.limit, VIEW_RUNS_DEFAULT);
	assert_int_equal(fixture->fake.query.verdict, VERDICT_NONE);
	assert_string_equal(fixture->fake.query.scenario, "");
	assert_body(fixture, "\"next\":null");
	fixture->fake.is_more = true;
	assert_int_equal(ask(fixture, "GET",
			     "/v1/runs?scenario=smoke&verdict=fail&limit=500&cursor=" ID,
			     REQUEST_LOCAL),
			 200);
	assert_int_equal(fixture->fake.query.limit, 500);
	assert_int_equal(fixture->fake.query.verdict, VERDICT_FAIL);
	assert_string_equal(fixture->fake.query.scenario, "smoke");
	assert_string_equal(fixture->fake.query.before, ID);
	assert_body(fixture,
		    "\"next\":\"/v1/runs?limit=500&cursor=" ID "&scenario=smoke&verdict=fail\"");
	assert_int_equal(ask(fixture, "GET", "/v1/runs?cursor=ABCDEF", REQUEST_LOCAL), 404);
}

static void arguments_that_are_wrong_are_named(void **state)
{
	static const struct {
		const char *target;
		const char *part;
	} cases[] = {
		{ "/v1/runs?limit=0", "limit" },
		{ "/v1/runs?limit=501", "1 to 500" },
		{ "/v1/runs?limit=99999999999999999999", "limit" },
		{ "/v1/runs?limit=-1", "limit" },
		{ "/v1/runs?limit=", "limit" },
		{ "/v1/runs?verdict=none",
		  "pass, degraded, unsupported, inconclusive, error, fail" },
		{ "/v1/runs?verdict=%22", "verdict" },
		{ "/v1/runs?scenario=../x", "scenario" },
		{ "/v1/runs?cursor=short", "cursor" },
		{ "/v1/runs?colour=blue",
		  "unknown argument \\\"colour\\\"; /v1/runs takes scenario, verdict, limit, cursor" },
		{ "/v1/status?x=1", "/v1/status takes none" },
		{ "/v1/runs/" ID "?histograms=1", "histograms" },
		{ "/v1/runs/" ID "?intervals=no", "intervals: \\\"no\\\" is not true or false" },
		{ "/v1/runs/abc", "6 to 26" },
		{ "/v1/runs/" ID "0", "6 to 26" },
		{ "/v1/runs/01J8Z3R6U", "6 to 26" },
		{ "/v1/runs/xyz/progress", "6 to 26" },
		{ "/v1/runs/xyz/progress?wait=1s", "6 to 26" },
		{ "/v1/runs/" ID "/progress?wait=51s",
		  "wait: \\\"51s\\\" is above the limit of 50s" },
		{ "/v1/runs/" ID "/progress?wait=50001ms", "50s" },
		{ "/v1/runs/" ID "/progress?wait=5", "0s to 50s" },
		{ "/v1/runs/" ID "/progress?wait=-1s", "0s to 50s" },
		{ "/v1/runs/" ID "/progress?wait=", "0s to 50s" },
		{ "/v1/runs/" ID "?wait=1s", "takes histograms, intervals" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (ask(fixture, "GET", cases[i].target, REQUEST_LOCAL) != 400) {
			fail_msg("%s: %u", cases[i].target, fixture->response.status);
		}
		assert_body(fixture, cases[i].part);
	}
	assert_int_equal(ask(fixture, "GET", "/v1/runs/01J8Z3", REQUEST_LOCAL), 404);
	assert_problem(fixture, "no-such-run");
	assert_int_equal(ask(fixture, "GET", "/v1/runs/" ID "?histograms=true", REQUEST_LOCAL),
			 200);
	assert_int_equal(ask(fixture, "GET", "/v1/runs/" ID, REQUEST_LOCAL), 200);
}

static void lists_are_put_together_of_their_items(void **state)
{
	static const struct {
		const char *target;
		const char *body;
	} cases[] = {
		{ "/v1/devices",
		  "{\"ports\":[{\"name\":\"x\",\"ports\":[]},{\"name\":\"x\",\"ports\":[]}]}\n" },
		{ "/v1/scenarios",
		  "{\"scenarios\":[{\"name\":\"x\",\"ports\":[]},{\"name\":\"x\",\"ports\":[]}]}\n" },
		{ "/v1/peers",
		  "{\"peers\":[{\"name\":\"x\",\"ports\":[]},{\"name\":\"x\",\"ports\":[{\"port\":0},{\"port\":1}]}]}\n" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ask(fixture, "GET", cases[i].target, REQUEST_LOCAL), 200);
		assert_string_equal(fixture->response.body.data, cases[i].body);
	}
	assert_int_equal(ask(fixture, "GET", "/v1/runs", REQUEST_LOCAL), 200);
	assert_body(fixture, "{\"next\":null,\"runs\":[{\"id\":\"" ID "\"");
	assert_int_equal(ask(fixture, "GET", "/v1/runs/" ID, REQUEST_LOCAL), 200);
	assert_body(fixture, "\"measurements\":[{\"pair\":0,");
}

static void other_paths_and_methods_are_refused(void **state)
{
	static const char *const absent[] = { "/v1",
					      "/v1/",
					      "/v1/run",
					      "/v1/runs/",
					      "/v1/runs/" ID "/",
					      "/v1/runs/" ID "/x",
					      "/metrics/",
					      "/V1/status",
					      "/v1/scenarios/smoke",
					      "/healthz.txt" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		if (ask(fixture, "GET", absent[i], REQUEST_LOCAL) != 404) {
			fail_msg("%s: %u", absent[i], fixture->response.status);
		}
		assert_string_equal(fixture->route, "other");
	}
	assert_int_equal(ask(fixture, "POST", "/v1/status", REQUEST_ADMIN), 405);
	assert_string_equal(fixture->response.allow, "GET, HEAD");
	assert_int_equal(ask(fixture, "GET", "/v1/reload", REQUEST_ADMIN), 405);
	assert_string_equal(fixture->response.allow, "POST");
	assert_int_equal(ask(fixture, "HEAD", "/v1/reload", REQUEST_ADMIN), 405);
	assert_int_equal(ask(fixture, "DELETE", "/v1/runs/" ID, REQUEST_ADMIN), 405);
	assert_int_equal(ask(fixture, "OPTIONS", "/", REQUEST_LOCAL), 405);
	assert_int_equal(ask(fixture, "get", "/", REQUEST_LOCAL), 405);
	assert_int_equal(fixture->fake.actions, 0);
}

static void a_host_header_of_another_name_is_refused_where_it_matters(void **state)
{
	static const struct {
		const char *host;
		bool is_ours;
	} cases[] = {
		{ "localhost", true },
		{ "LOCALHOST:9879", true },
		{ "127.0.0.1:9879", true },
		{ "[::1]:9879", true },
		{ "n1", true },
		{ "N1:1", true },
		{ "192.0.2.1", true },
		{ "evil.example", false },
		{ "localhost.evil.example", false },
		{ "127.0.0.1.evil.example", false },
		{ "", false },
		{ ":9879", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "localhost:80:80", false },
		{ "localhost:8x", false },
		{ "localhost@evil.example", false },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request request = request_of("GET", "/v1/status", REQUEST_LOCAL);

		request.host_count = 0;
		request_add_header(&request, "host", cases[i].host);
		response_done(&fixture->response);
		fixture->response = (struct response){ 0 };
		routes_handle(&fixture->routes, &request, NULL, &fixture->response,
			      &fixture->route);
		if (fixture->response.status != (cases[i].is_ours ? 200 : 403)) {
			fail_msg("Host: %s: %u", cases[i].host, fixture->response.status);
		}
		request.origin = REQUEST_ADMIN;
		assert_true(routes_handle(&fixture->routes, &request, NULL, &fixture->response,
					  &fixture->route));
		assert_int_equal(fixture->response.status, 200);
	}
}

static void progress_comes_later_only_when_it_is_asked_to_wait_and_the_run_goes_on(void **state)
{
	static const char target[] = "/v1/runs/01J8Z3/progress?wait=50s";
	struct fixture *fixture = *state;
	struct request request = request_of("GET", target, REQUEST_LOCAL);

	assert_int_equal(ask(fixture, "GET", target, REQUEST_LOCAL), 0);
	assert_int_equal(fixture->wait.kind, ROUTES_WAIT_RUN);
	assert_string_equal(fixture->wait.run_id, ID); /* whole, though it was asked in short */
	assert_true(fixture->wait.wait_ns == 50000000000ull);
	assert_string_equal(fixture->route, "/v1/runs/{id}/progress");
	fixture->fake.run_state = "queued";
	assert_int_equal(ask(fixture, "GET", "/v1/runs/" ID "/progress?wait=1ms", REQUEST_ADMIN),
			 0);
	assert_true(fixture->wait.wait_ns == 1000000);
	/* Asked again without waiting, the same request has an answer. */
	assert_true(routes_handle(&fixture->routes, &request, NULL, &fixture->response,
				  &fixture->route));
	assert_int_equal(fixture->response.status, 200);
	assert_body(fixture, "queued");
	assert_int_equal(ask(fixture, "GET", "/v1/runs/" ID "/progress?wait=0s", REQUEST_LOCAL),
			 200);
	assert_int_equal(ask(fixture, "GET", "/v1/runs/ABCDEF/progress?wait=1s", REQUEST_LOCAL),
			 404);
	fixture->fake.run_state = "done";
	assert_int_equal(ask(fixture, "GET", target, REQUEST_LOCAL), 200);
	assert_body(fixture, "done");
	assert_int_equal(ask(fixture, "GET", target, REQUEST_REMOTE), 403);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_reading_path_answers_a_local_client),
		TEST(another_host_gets_health_and_metrics_and_nothing_else),
		TEST(acting_over_tcp_is_refused_with_the_way_to_go),
		TEST(the_admin_socket_starts_and_cancels_runs),
		TEST(refusals_of_the_daemon_have_their_status),
		TEST(a_stopping_daemon_reads_on_and_begins_nothing),
		TEST(health_and_readiness_tell_trouble_by_status),
		TEST(the_list_of_runs_is_filtered_and_paged),
		TEST(arguments_that_are_wrong_are_named),
		TEST(lists_are_put_together_of_their_items),
		TEST(other_paths_and_methods_are_refused),
		TEST(progress_comes_later_only_when_it_is_asked_to_wait_and_the_run_goes_on),
		TEST(a_host_header_of_another_name_is_refused_where_it_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
