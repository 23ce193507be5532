// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/result.h"
#include "ctl/run_name.h"
#include "ctl/table.h"
#include "ctl/verdict_word.h"

#define MAX_LIMIT 500

/* "2" or, when some did not pass, "1 of 2 pass". */
static void add_pairs(struct table *table, const json_t *run)
{
	uint64_t pairs;
	uint64_t passed;
	char cell[64] = "-";

	if (field_u64(run, "measurements", &pairs)) {
		snprintf(cell, sizeof(cell), "%" PRIu64, pairs);
		if (field_u64(run, "counts.pass", &passed) && passed < pairs && pairs > 1) {
			snprintf(cell, sizeof(cell), "%" PRIu64 " of %" PRIu64 " pass", passed,
				 pairs);
		}
	}
	table_cell(table, PAPER_PLAIN, cell);
}

static void add_run(struct table *table, const json_t *run)
{
	const char *word = field_string(run, "verdict", field_string(run, "state", "-"));
	const char *code = field_string(run, "first_finding.code", NULL);
	_cleanup_text_ struct text found = TEXT_INIT;
	char upper[VERDICT_WORD_SIZE];
	char name[RUN_NAME_SIZE];
	char time[UNITS_SIZE];

	table_cell(table, paper_tone_of(word), verdict_word(word, upper));
	table_cell(table, PAPER_PLAIN, field_string(run, "scenario", NULL));
	field_show_time(run, "started_at", time);
	table_cell(table, PAPER_PLAIN,
		   strcmp(time, "-") != 0 ? time : field_show_time(run, "queued_at", time));
	table_cell(table, PAPER_PLAIN, run_name_short(field_string(run, "id", "-"), name));
	add_pairs(table, run);
	if (code != NULL) {
		text_format(&found, "%s %s", code, field_string(run, "first_finding.text", ""));
	}
	table_cell(table, PAPER_PLAIN, found.data);
}

void command_results_render(const json_t *record, struct paper *paper)
{
	const json_t *runs = field_array(record, "runs");
	_cleanup_table_ struct table *table = table_new();

	if (json_array_size(runs) == 0) {
		paper_wrap(paper, PAPER_PLAIN, 0,
			   "no such results; rdmatestctl run SCENARIO makes one");
		paper_newline(paper);
		return;
	}
	table_column(table, TABLE_LEFT, "verdict");
	table_column(table, TABLE_LEFT, "scenario");
	table_column(table, TABLE_LEFT, "started");
	table_column(table, TABLE_LEFT, "run");
	table_column(table, TABLE_LEFT, "pairs");
	table_column(table, TABLE_LEFT, "found");
	for (size_t i = 0; i < json_array_size(runs); i++) {
		add_run(table, json_array_get(runs, i));
	}
	table_print(table, paper, 0);
	if (field_find(record, "next") != NULL) {
		paper_add(paper, PAPER_DIM, "there are older ones; --limit=N shows more");
		paper_newline(paper);
	}
}

static int check_verdict(const char *verdict, struct error *err)
{
	const char *closest;
	char quoted[TEXT_QUOTED_SIZE];

	if (verdict == NULL || verdict_word_parse(verdict) != VERDICT_NONE) {
		return 0;
	}
	closest = text_closest(verdict, verdict_names + VERDICT_PASS, VERDICT_COUNT - VERDICT_PASS);
	return error_set(
		err, -EINVAL, ERROR_INPUT,
		"--verdict \"%s\" is not one of pass, degraded, unsupported, inconclusive, "
		"error, fail%s%s%s",
		text_quote(quoted, verdict), closest ? "; did you mean " : "",
		closest ? closest : "", closest ? "?" : "");
}

static int check_limit(const char *limit, struct error *err)
{
	char quoted[TEXT_QUOTED_SIZE];
	uint64_t number;

	if (limit == NULL ||
	    (units_parse_integer(limit, &number) == NULL && number >= 1 && number <= MAX_LIMIT)) {
		return 0;
	}
	return error_set(err, -EINVAL, ERROR_INPUT, "--limit \"%s\" is no number within 1 and %d",
			 text_quote(quoted, limit), MAX_LIMIT);
}

static void add_query(struct text *path, const char *key, const char *value)
{
	if (value != NULL) {
		text_format(path, "%s%s=", strchr(path->data, '?') ? "&" : "?", key);
		client_add_escaped(path, value);
	}
}

static const struct field_wanted wanted[] = { { "runs", FIELD_ARRAY }, { 0 } };

static int list_results(const struct command_caller *caller, const struct option_values *values)
{
	const char *limit = option_get(values, "limit");
	const char *verdict = option_get(values, "verdict");
	_cleanup_text_ struct text path = TEXT_INIT;
	struct error err = ERROR_INIT;

	if (check_limit(limit, &err) < 0 || check_verdict(verdict, &err) < 0) {
		return command_usage("results", &err);
	}
	text_add(&path, "/v1/runs");
	add_query(&path, "limit", limit);
	add_query(&path, "scenario", option_get(values, "scenario"));
	add_query(&path, "verdict", verdict);
	return command_show(caller, path.data, wanted, command_results_render);
}

static int show_result(const struct command_caller *caller, const char *id, bool is_full)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_client_ struct client *client = NULL;
	_cleanup_text_ struct text path = TEXT_INIT;
	struct error err = ERROR_INIT;

	if (run_name_check(id, &err) < 0) {
		return command_usage("results", &err);
	}
	client = command_client(caller, &err);
	command_add_run_path(caller, id, &path);
	if (client == NULL || client_request(client, "GET", path.data, &reply, &err) < 0 ||
	    client_reply_check_run(&reply, id, command_wants_run, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	if (caller->is_json) {
		return command_print_reply(&reply);
	}
	result_print(reply.json, is_full, &paper);
	return command_print(&paper);
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	static const char *const filters[] = { "limit", "scenario", "verdict" };
	bool is_full = option_get(values, "full") != NULL;
	struct error err = ERROR_INIT;

	if (values->positional_count == 0) {
		if (is_full) {
			error_set(&err, -EINVAL, ERROR_INPUT, "--full needs the ID of a run");
			return command_usage("results", &err);
		}
		return list_results(caller, values);
	}
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		if (option_get(values, filters[i]) != NULL) {
			error_set(&err, -EINVAL, ERROR_INPUT,
				  "--%s has no meaning together with the ID of a run", filters[i]);
			return command_usage("results", &err);
		}
	}
	return show_result(caller, values->positionals[0], is_full);
}

static const struct option_row options[] = {
	{ "limit", "N", "at most this many, 1 to 500 (default: 50)" },
	{ "scenario", "NAME", "only results of this scenario" },
	{ "verdict", "WORD", "only results with this verdict" },
	{ "full", NULL, "with ID: all numbers of all pairs, also when many passed" },
	{ 0 },
};

const struct command command_results = {
	.name = "results",
	.arguments = "[ID]",
	.summary = "the results that the daemon keeps, newest first; with ID: that one, whole",
	.help = "The beginning of an ID is enough, at least six characters of it.\n",
	.max_arguments = 1,
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.options = options,
	.run = run,
};
