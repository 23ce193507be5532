// SPDX-License-Identifier: MIT
#include "http/routes_runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "http/lists.h"
#include "model/run.h"
#include "util/text.h"
#include "util/units.h"

#define SECOND_NS 1000000000ull
#define ID_MIN 6
#define ID_MAX 26

static bool is_id(const char *id)
{
	size_t length = strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ");

	return id[length] == '\0' && length >= ID_MIN && length <= ID_MAX;
}

static void refuse_id(struct response *ret, const char *id)
{
	response_problem(
		ret, 400, "run-id", NULL,
		"\"%s\" is not the id of a run: %d to %d of 0-9 and A-Z without I, L, O and U, as GET /v1/runs lists them",
		id, ID_MIN, ID_MAX);
}

static void answer_unknown_run(struct response *ret, const char *id)
{
	response_problem(
		ret, 404, "no-such-run", NULL,
		"there is no run \"%s\", or several begin so; it may be older than what daemon.results.keep_runs keeps: GET /v1/runs lists them",
		id);
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

/* The same question for what comes after this run. */
static void write_next(const struct view_query *query, const struct run *last, struct text *next)
{
	text_format(next, "/v1/runs?limit=%zu&cursor=%s", query->limit, last->id);
	if (query->scenario[0]) {
		text_format(next, "&scenario=%s", query->scenario);
	}
	if (query->verdict != VERDICT_NONE) {
		text_format(next, "&verdict=%s", verdict_names[query->verdict]);
	}
}

void routes_runs_list(const struct routes *routes, const struct request *request,
		      const char *segment, struct response *ret)
{
	struct view_query query;
	struct run *runs[VIEW_RUNS_MAX];
	_cleanup_text_ struct text next = TEXT_INIT;
	bool is_more = false;
	size_t count = 0;

	if (!read_query(request, &query, ret)) {
		return;
	}
	if (routes->view->runs(routes->view->arg, &query, runs, &count, &is_more) < 0) {
		answer_unknown_run(ret, query.before);
		return;
	}
	if (is_more && count > 0) {
		write_next(&query, runs[count - 1], &next);
	}
	response_pieces(ret, 200, "application/json",
			lists_runs(runs, count, next.length ? next.data : NULL));
}

/* Sets or clears a bit; false: the argument is wrong, and the answer says so. */
static bool read_flag(const struct request *request, const char *name, unsigned bit,
		      unsigned *flags, struct response *response)
{
	const char *word = request_argument(request, name);

	if (!word) {
		return true;
	}
	if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0) {
		response_problem(response, 400, "argument", NULL, "%s: \"%s\" is not true or false",
				 name, word);
		return false;
	}
	*flags = word[0] == 't' ? *flags | bit : *flags & ~bit;
	return true;
}

void routes_runs_get(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret)
{
	unsigned with = RUN_PIECES_INTERVALS;
	struct run *run;

	if (!is_id(segment)) {
		refuse_id(ret, segment);
		return;
	}
	if (!read_flag(request, "histograms", RUN_PIECES_HISTOGRAMS, &with, ret) ||
	    !read_flag(request, "intervals", RUN_PIECES_INTERVALS, &with, ret)) {
		return;
	}
	run = routes->view->run(routes->view->arg, segment);
	if (!run) {
		answer_unknown_run(ret, segment);
		return;
	}
	response_pieces(ret, 200, "application/json", lists_run(run, with));
}

/* False: the argument is wrong, and the answer says so. Without one *ret_ns is 0. */
static bool read_wait(const struct request *request, uint64_t *ret_ns, struct response *response)
{
	const char *wait = request_argument(request, "wait");
	const char *wrong;

	*ret_ns = 0;
	if (!wait) {
		return true;
	}
	wrong = units_parse_duration(wait, ret_ns);
	if (wrong) {
		response_problem(response, 400, "argument", NULL,
				 "wait: \"%s\" %s; it is a time from 0s to %ds", wait, wrong,
				 ROUTES_WAIT_MAX_S);
		return false;
	}
	if (*ret_ns > ROUTES_WAIT_MAX_S * SECOND_NS) {
		response_problem(
			response, 400, "argument", NULL,
			"wait: \"%s\" is above the limit of %ds; ask again when that has passed",
			wait, ROUTES_WAIT_MAX_S);
		return false;
	}
	return true;
}

/* The record of a run that can be asked for with these arguments, or NULL and the refusal. */
static json_t *find_progress(const struct routes *routes, const struct request *request,
			     const char *segment, uint64_t *ret_wait_ns, struct response *response)
{
	json_t *progress;

	if (!is_id(segment)) {
		refuse_id(response, segment);
		return NULL;
	}
	if (!read_wait(request, ret_wait_ns, response)) {
		return NULL;
	}
	progress = routes->view->progress(routes->view->arg, segment);
	if (!progress) {
		answer_unknown_run(response, segment);
	}
	return progress;
}

void routes_runs_progress(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret)
{
	uint64_t wait_ns;
	json_t *progress = find_progress(routes, request, segment, &wait_ns, ret);

	if (progress) {
		response_json(ret, 200, progress);
	}
}

bool routes_runs_waits(const struct routes *routes, const struct request *request,
		       const char *segment, struct routes_wait *ret)
{
	struct response refusal = { 0 };
	uint64_t wait_ns = 0;
	_cleanup_json_ json_t *progress =
		find_progress(routes, request, segment, &wait_ns, &refusal);
	const char *state = json_string_value(json_object_get(progress, "state"));
	const char *id = json_string_value(json_object_get(progress, "id"));

	response_done(&refusal);
	if (wait_ns == 0 || !state || !id || strcmp(state, run_state_names[RUN_DONE]) == 0) {
		return false;
	}
	*ret = (struct routes_wait){ .kind = ROUTES_WAIT_RUN, .wait_ns = wait_ns };
	return text_copy(ret->run_id, sizeof(ret->run_id), id);
}

void routes_runs_start(const struct routes *routes, const struct request *request,
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
}

void routes_runs_cancel(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret)
{
	struct error err = ERROR_INIT;
	json_t *object;
	int r;

	if (!is_id(segment)) {
		refuse_id(ret, segment);
		return;
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
}
