// SPDX-License-Identifier: MIT
/*
 * HTTP requests once libmicrohttpd has split them: http/request, http/routes*, what they answer.
 *
 * The input is lines: "ORIGIN METHOD TARGET VERSION", ORIGIN being remote, local or admin, and then
 * headers, "Name: value". The daemon behind it is a stand-in.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "http/records.h"
#include "http/routes.h"
#include "model/run.h"
#include "util/memory.h"
#include "util/text.h"

#define ID "01J8Z3R6Q0W4T5Y6A7S8D9F0GH"

static unsigned actions;

/* --- the daemon --- */

static json_t *give_object(void *arg)
{
	return json_pack("{s:s, s:s}", "node", "n1", "state", "running");
}

static json_t *give_item(void *arg, size_t index)
{
	return index < 2 ? json_pack("{s:s, s:[]}", "name", "x", "ports") : NULL;
}

static json_t *give_port(void *arg, size_t peer, size_t index)
{
	return index < peer ? json_pack("{s:i}", "port_num", 1) : NULL;
}

static struct run *make_run(const char *id)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	schema_defaults(scenario_fields, scenario);
	text_copy(scenario->name, sizeof(scenario->name), "x");
	run = run_new(scenario);
	free(scenario);
	text_copy(run->id, sizeof(run->id), id);
	run_add_measurement(run);
	return run;
}

static int give_runs(void *arg, const struct view_query *query, struct run **ret_runs,
		     size_t *ret_count, bool *ret_more)
{
	assert(query->limit >= 1 && query->limit <= VIEW_RUNS_MAX);
	assert(query->verdict >= VERDICT_NONE && query->verdict < VERDICT_COUNT);
	assert(!query->scenario[0] || text_is_name(query->scenario));
	*ret_more = query->limit % 2;
	*ret_count = 0;
	if (query->before[0] == 'X') {
		return -ENOENT;
	}
	ret_runs[(*ret_count)++] = make_run(ID);
	return 0;
}

static struct run *give_run(void *arg, const char *id)
{
	assert(strlen(id) >= 6 && strlen(id) <= 26);
	return id[0] == 'X' ? NULL : make_run(id);
}

static json_t *give_progress(void *arg, const char *id)
{
	assert(strlen(id) >= 6 && strlen(id) <= 26);
	return id[0] == 'X' ? NULL
			    : json_pack("{s:s, s:s}", "id", id, "state",
					run_state_names[id[0] == 'D' ? RUN_DONE : RUN_RUNNING]);
}

static bool give_readiness(void *arg, json_t **ret_checks)
{
	*ret_checks = json_array();
	json_array_append_new(*ret_checks, records_check("devices", true, NULL));
	return true;
}

static bool give_life(void *arg)
{
	return true;
}

static void give_gauges(void *arg, struct metrics_gauges *ret)
{
	ret->version = "1";
}

/* What a name or id begins with decides what comes of it. */
static int outcome_of(const char *word, struct error *err)
{
	static const int outcomes[] = { -ENOENT, -EBUSY, -ESHUTDOWN, -EINVAL, -EALREADY };
	const char *letters = "XBSIA";
	const char *found = strchr(letters, word[0] ? word[0] & ~0x20 : '0');

	actions++;
	return found && *found ? error_set(err, outcomes[found - letters], ERROR_INPUT,
					   "\"%s\" cannot be", word)
			       : 0;
}

static int do_start(void *arg, const char *scenario, char *ret_id, struct error *err)
{
	text_copy(ret_id, 32, ID);
	return outcome_of(scenario, err);
}

static int do_cancel(void *arg, const char *id, struct error *err)
{
	return outcome_of(id, err);
}

static void do_reload(void *arg)
{
	assert(!"the server begins reloads, not the routes");
}

static const struct view view = {
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

/* --- what must hold --- */

static void check_target(const struct request *request)
{
	const char *path = request->path;

	assert(path[0] == '/' && !strstr(path, "//") && !strstr(path, "/../"));
	assert(path[strspn(path, "/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				 "-._~")] == '\0');
	for (size_t i = 0; i < request->argument_count; i++) {
		assert(strnlen(request->arguments[i].name, sizeof(request->arguments[i].name)) <
		       sizeof(request->arguments[i].name));
		assert(strnlen(request->arguments[i].value, sizeof(request->arguments[i].value)) <
		       sizeof(request->arguments[i].value));
		fuzz_expect_readable(request->arguments[i].name, false);
		fuzz_expect_readable(request->arguments[i].value, false);
		assert(request->arguments[i].name[0]);
		assert(request_argument(request, request->arguments[i].name) ==
		       request->arguments[i].value);
	}
}

static void check_response(const struct response *response)
{
	struct error err = ERROR_INIT;
	json_t *json;

	assert(response->status >= 200 && response->status < 600 && response->content_type);
	fuzz_expect_readable(response->location, false);
	fuzz_expect_readable(response->allow, false);
	fuzz_expect_readable(response->body.data, true);
	if (!strstr(response->content_type, "json")) {
		return;
	}
	json = json_read(response->body.data, response->body.length, &err);
	assert(json);
	if (response->status >= 400 && strstr(response->content_type, "problem")) {
		assert(json_integer_value(json_object_get(json, "status")) == response->status);
		assert(json_string_length(json_object_get(json, "title")) > 0);
		assert(json_string_length(json_object_get(json, "detail")) > 0);
		assert(response->must_close);
	}
	json_decref(json);
}

/* As the server answers when the configuration is refused. */
static void refuse_reload(struct response *response)
{
	json_t *errors = json_array();

	json_array_append_new(errors, json_string("rdmatestd.yaml:1:1: error: it is not"));
	response_problem_apart(response, 422, "configuration", errors, json_array(),
			       "generation %d stays in force", 1);
}

/* Nobody gets more than their way in is good for. */
static void check_access(const struct request *request, const struct response *response)
{
	bool is_open = strcmp(request->path, "/metrics") == 0 ||
		       strcmp(request->path, "/healthz") == 0 ||
		       strcmp(request->path, "/readyz") == 0;

	assert(actions == 0 || request->origin == REQUEST_ADMIN);
	assert(actions <= 1);
	if (request->origin == REQUEST_REMOTE) {
		assert(response->status >= 400 || is_open);
	}
	if (request->origin == REQUEST_LOCAL && !is_open && response->status < 400) {
		assert(request_is_host_ours(request, "n1"));
	}
}

static void handle(const struct request *request)
{
	struct metrics *metrics = metrics_new("n1");
	struct routes routes = { .view = &view, .metrics = metrics, .node_name = "n1" };
	struct response response = { 0 };
	struct routes_wait wait = { 0 };
	const char *route = NULL;

	actions = 0;
	if (!routes_handle(&routes, request, &wait, &response, &route)) {
		assert(actions == 0);
		if (wait.kind == ROUTES_WAIT_RUN) {
			assert(wait.wait_ns > 0 &&
			       wait.wait_ns <= ROUTES_WAIT_MAX_S * 1000000000ull);
			assert(wait.run_id[0]);
			assert(routes_handle(&routes, request, NULL, &response, &route));
		} else if (wait.kind == ROUTES_WAIT_RELOAD) {
			assert(request->origin == REQUEST_ADMIN);
			refuse_reload(&response);
		}
	}
	assert(route);
	if (response.status < 400) {
		fuzz_accept();
	}
	if (response.status) {
		response_complete(&response);
		check_response(&response);
		check_access(request, &response);
	}
	metrics_count_request(metrics, route, response.status);
	response_done(&response);
	/* A daemon that stops begins nothing. */
	response = (struct response){ 0 };
	actions = 0;
	routes.is_stopping = true;
	routes_handle(&routes, request, &wait, &response, &route);
	assert(actions == 0);
	response_done(&response);
	metrics_free(metrics);
}

/* The next word of the line, cut out of it. */
static const char *next_word(char **rest)
{
	char *word = strsep(rest, " ");

	return word ? word : "";
}

static const char *read_first_line(char *line, struct request *request, unsigned *ret_status)
{
	const char *origin = next_word(&line);
	const char *method = next_word(&line);
	const char *target = next_word(&line);
	const char *version = next_word(&line);

	request->origin = strcmp(origin, "admin") == 0	 ? REQUEST_ADMIN
			  : strcmp(origin, "local") == 0 ? REQUEST_LOCAL
							 : REQUEST_REMOTE;
	if (!text_copy(request->method, sizeof(request->method), method)) {
		text_copy(request->method, sizeof(request->method), "-");
	}
	request->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
	return request_read_target(request, target, ret_status);
}

static void read_header(char *line, struct request *request)
{
	char *colon = strchr(line, ':');

	if (colon) {
		*colon++ = '\0';
		request_add_header(request, line, colon + strspn(colon, " "));
	} else {
		request_add_header(request, line, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines lines = fuzz_lines(data, size);
	struct request request = { 0 };
	struct response refusal = { 0 };
	unsigned status = 0;
	size_t length;
	char *line = fuzz_lines_next(&lines, &length);
	const char *wrong = line ? read_first_line(line, &request, &status) : "no request";

	assert(!wrong || (wrong[0] && (status == 400 || status == 414 || !line)));
	free(line);
	while ((line = fuzz_lines_next(&lines, &length))) {
		read_header(line, &request);
		free(line);
	}
	if (!wrong) {
		check_target(&request);
	}
	if (!wrong && request_check_headers(&request, &refusal)) {
		handle(&request);
	} else if (!wrong) {
		check_response(&refusal);
	}
	response_done(&refusal);
	return 0;
}
