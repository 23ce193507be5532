// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/run_name.h"
#include "ctl/table.h"
#include "ctl/verdict_word.h"

#define LABEL_COLUMN 12u
#define HTTP_OK 200
#define HTTP_UNAVAILABLE 503

static void start_line(struct paper *paper, const char *label)
{
	paper_fill(paper, 2, 0);
	paper_add(paper, PAPER_DIM, label);
	paper_fill(paper, LABEL_COLUMN, 1);
}

static uint64_t number_of(const json_t *record, const char *place)
{
	uint64_t number;

	return field_u64(record, place, &number) ? number : 0;
}

static void write_first_line(const json_t *record, struct paper *paper)
{
	const json_t *status = field_find(record, "status");
	bool is_ready = field_is_true(record, "readiness.is_ready");
	char since[UNITS_SIZE];

	paper_add(paper, PAPER_STRONG, field_string(status, "node", "-"));
	paper_add(paper, PAPER_PLAIN, "  ");
	paper_add(paper, is_ready ? PAPER_GOOD : PAPER_BAD, is_ready ? "ready" : "NOT READY");
	paper_format(paper, PAPER_PLAIN, "  %s since %s, version %s",
		     field_string(status, "state", "-"),
		     field_show_time(status, "started_at", since),
		     field_string(status, "version", "-"));
	paper_newline(paper);
}

/* Why it is not ready, as /readyz says it. */
static void write_checks(const json_t *record, struct paper *paper)
{
	const json_t *checks = field_array(record, "readiness.checks");

	for (size_t i = 0; i < json_array_size(checks); i++) {
		const json_t *check = json_array_get(checks, i);

		if (field_is_false(check, "is_ok")) {
			start_line(paper, "not ready");
			paper_add(paper, PAPER_BAD, field_string(check, "name", "-"));
			paper_add(paper, PAPER_PLAIN, ": ");
			paper_wrap(paper, PAPER_PLAIN, LABEL_COLUMN,
				   field_string(check, "detail", "-"));
			paper_newline(paper);
		}
	}
}

static void write_hang(const json_t *hang, struct paper *paper)
{
	uint64_t age_ns = 0;
	char age[UNITS_SIZE];

	(void)field_u64(hang, "for_ns", &age_ns);
	paper_fill(paper, LABEL_COLUMN, 0);
	paper_format(paper, PAPER_BAD, "%s is sick: %s has not returned for %s",
		     field_string(hang, "device", "-"), field_string(hang, "call", "-"),
		     units_format_duration(age_ns / 1000000000 * 1000000000, age));
	paper_newline(paper);
}

static void write_ports(const json_t *status, struct paper *paper)
{
	uint64_t active = number_of(status, "ports.active");
	uint64_t total = active + number_of(status, "ports.other");
	const char *error = field_string(status, "ports.error", NULL);
	const json_t *sick = field_array(status, "sick");

	start_line(paper, "devices");
	paper_format(paper, active < total || total == 0 ? PAPER_WARN : PAPER_PLAIN,
		     "%" PRIu64 " of %" PRIu64 " port%s active", active, total,
		     total == 1 ? "" : "s");
	paper_newline(paper);
	if (error != NULL) {
		paper_fill(paper, LABEL_COLUMN, 0);
		paper_wrap(paper, PAPER_BAD, LABEL_COLUMN, error);
		paper_newline(paper);
	}
	for (size_t i = 0; i < json_array_size(sick); i++) {
		write_hang(json_array_get(sick, i), paper);
	}
}

static void write_peers(const json_t *status, struct paper *paper)
{
	uint64_t down = number_of(status, "peers.down");
	uint64_t connecting = number_of(status, "peers.connecting");

	start_line(paper, "peers");
	paper_format(paper, PAPER_PLAIN, "%" PRIu64 " up", number_of(status, "peers.up"));
	if (connecting > 0) {
		paper_format(paper, PAPER_WARN, ", %" PRIu64 " connecting", connecting);
	}
	if (down > 0) {
		paper_format(paper, PAPER_BAD, ", %" PRIu64 " down", down);
	}
	if (down + connecting > 0) {
		paper_add(paper, PAPER_PLAIN, " (rdmatestctl peers tells why)");
	}
	paper_newline(paper);
}

/* What goes on now. */
static void write_current(const json_t *status, struct paper *paper)
{
	const char *scenario = field_string(status, "runs.current.scenario", NULL);
	char name[RUN_NAME_SIZE];

	if (scenario == NULL) {
		paper_add(paper, PAPER_PLAIN,
			  number_of(status, "runs.active") > 0 ? "one goes on" : "none goes on");
		return;
	}
	paper_format(paper, PAPER_PLAIN, "%s goes on (%s)", scenario,
		     run_name_short(field_string(status, "runs.current.id", "-"), name));
}

static void write_runs(const json_t *status, struct paper *paper)
{
	uint64_t queued = number_of(status, "runs.queued");
	uint64_t kept = number_of(status, "runs.kept");
	bool is_first = true;

	start_line(paper, "runs");
	write_current(status, paper);
	if (queued > 0) {
		paper_format(paper, PAPER_PLAIN, ", %" PRIu64 " wait%s", queued,
			     queued == 1 ? "s" : "");
	}
	paper_format(paper, PAPER_PLAIN, "; %" PRIu64 " kept", kept);
	for (int verdict = VERDICT_COUNT - 1; verdict > VERDICT_NONE; verdict--) {
		char place[64];
		uint64_t count;

		snprintf(place, sizeof(place), "runs.verdicts.%s", verdict_names[verdict]);
		count = number_of(status, place);
		if (count > 0) {
			paper_add(paper, PAPER_PLAIN, is_first ? ": " : ", ");
			paper_format(paper, paper_tone_of(verdict_names[verdict]), "%" PRIu64 " %s",
				     count, verdict_names[verdict]);
			is_first = false;
		}
	}
	paper_newline(paper);
}

static void write_waiting(const json_t *status, struct paper *paper)
{
	const json_t *waiting = field_array(status, "runs.waiting_for_ports");

	for (size_t i = 0; i < json_array_size(waiting); i++) {
		const json_t *run = json_array_get(waiting, i);

		start_line(paper, "waiting");
		paper_format(paper, PAPER_PLAIN, "%s: %s", field_string(run, "scenario", "-"),
			     field_string(run, "in_use", "for its turn"));
		paper_newline(paper);
	}
}

static void write_next(const json_t *status, struct paper *paper)
{
	const char *scenario = field_string(status, "next.scenario", NULL);
	char in[UNITS_SIZE];

	if (scenario != NULL) {
		start_line(paper, "next");
		paper_format(paper, PAPER_PLAIN, "%s in %s", scenario,
			     field_show_duration(status, "next.in_ns", in));
		paper_newline(paper);
	}
}

void command_status_add_pending(const json_t *keys, struct paper *paper)
{
	paper_add(paper, PAPER_WARN, "changed, but needs a restart:");
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));

		paper_format(paper, PAPER_WARN, "%s%s", i > 0 ? ", " : " ", key ? key : "-");
	}
}

static void write_config(const json_t *status, struct paper *paper)
{
	const json_t *pending = field_array(status, "config.pending_restart");
	char loaded[UNITS_SIZE];

	start_line(paper, "config");
	paper_format(paper, PAPER_PLAIN, "%s, generation %" PRIu64 ", loaded %s",
		     field_string(status, "config.path", "-"),
		     number_of(status, "config.generation"),
		     field_show_time(status, "config.loaded_at", loaded));
	paper_newline(paper);
	if (field_is_false(status, "config.is_last_reload_ok")) {
		paper_fill(paper, LABEL_COLUMN, 0);
		paper_add(paper, PAPER_BAD, "the last reload was refused");
		paper_format(paper, PAPER_PLAIN, ": rdmatestctl check --config=%s tells why",
			     field_string(status, "config.path", "-"));
		paper_newline(paper);
	}
	if (json_array_size(pending) > 0) {
		paper_fill(paper, LABEL_COLUMN, 0);
		command_status_add_pending(pending, paper);
		paper_newline(paper);
	}
}

static void add_last(struct table *table, const json_t *scenario)
{
	const char *verdict = field_string(scenario, "last.verdict", "none");
	const char *code = field_string(scenario, "last.first_finding.code", NULL);
	_cleanup_text_ struct text found = TEXT_INIT;
	char word[VERDICT_WORD_SIZE];
	char name[RUN_NAME_SIZE];
	char time[UNITS_SIZE];

	table_cell(table, paper_tone_of(verdict), verdict_word(verdict, word));
	table_cell(table, PAPER_PLAIN, field_string(scenario, "name", NULL));
	table_cell(table, PAPER_PLAIN, field_show_time(scenario, "last.ended_at", time));
	table_cell(table, PAPER_PLAIN,
		   run_name_short(field_string(scenario, "last.id", "-"), name));
	if (code != NULL) {
		text_format(&found, "%s %s", code,
			    field_string(scenario, "last.first_finding.text", ""));
	}
	table_cell(table, PAPER_PLAIN, found.data);
}

/* The newest result of each scenario that has one, bad ones first. */
static void write_last(const json_t *scenarios, struct paper *paper)
{
	_cleanup_table_ struct table *table = table_new();

	table_column(table, TABLE_LEFT, "last");
	table_column(table, TABLE_LEFT, "scenario");
	table_column(table, TABLE_LEFT, "ended");
	table_column(table, TABLE_LEFT, "run");
	table_column(table, TABLE_LEFT, "found");
	for (int badness = VERDICT_COUNT; badness >= 0; badness--) {
		for (size_t i = 0; i < json_array_size(scenarios); i++) {
			const json_t *scenario = json_array_get(scenarios, i);
			const char *verdict = field_string(scenario, "last.verdict", "");

			if (field_find(scenario, "last") != NULL &&
			    verdict_word_badness(verdict) == badness) {
				add_last(table, scenario);
			}
		}
	}
	if (table_rows(table) > 0) {
		paper_newline(paper);
		table_print(table, paper, 2);
	}
}

void command_status_render(const json_t *record, struct paper *paper)
{
	const json_t *status = field_find(record, "status");

	write_first_line(record, paper);
	write_checks(record, paper);
	write_ports(status, paper);
	write_peers(status, paper);
	write_runs(status, paper);
	write_waiting(status, paper);
	write_next(status, paper);
	write_config(status, paper);
	write_last(field_array(record, "scenarios"), paper);
}

static const struct field_wanted wants_status[] = {
	{ "node", FIELD_STRING },
	{ "state", FIELD_STRING },
	{ "config", FIELD_OBJECT },
	{ "runs", FIELD_OBJECT },
	{ 0 },
};
static const struct field_wanted wants_readiness[] = {
	{ "is_ready", FIELD_BOOL },
	{ "checks", FIELD_ARRAY },
	{ 0 },
};

/* What a person wants to know stands in three answers. */
static int collect(struct client *client, json_t **ret_record, struct error *err)
{
	_cleanup_reply_ struct client_reply status = CLIENT_REPLY_INIT;
	_cleanup_reply_ struct client_reply scenarios = CLIENT_REPLY_INIT;
	_cleanup_reply_ struct client_reply readiness = CLIENT_REPLY_INIT;
	const json_t *list;
	json_t *record;
	int ret;

	ret = client_get(client, "/v1/status", wants_status, &status, err);
	ret = ret < 0 ? ret
		      : client_get(client, "/v1/scenarios", command_wants_scenarios, &scenarios,
				   err);
	ret = ret < 0 ? ret : client_request(client, "GET", "/readyz", &readiness, err);
	if (ret < 0) {
		return ret;
	}
	if (readiness.status == HTTP_UNAVAILABLE) {
		readiness.status = HTTP_OK; /* it is not ready: that is an answer */
	}
	ret = client_reply_check(&readiness, wants_readiness, err);
	if (ret < 0) {
		return ret;
	}
	list = field_array(scenarios.json, "scenarios");
	record = json_object();
	json_set_take(record, "status", json_incref(status.json));
	json_set_take(record, "readiness", json_incref(readiness.json));
	json_set_take(record, "scenarios", json_incref((json_t *)list));
	*ret_record = record;
	return 0;
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_client_ struct client *client = NULL;
	_cleanup_json_ json_t *record = NULL;
	struct error err = ERROR_INIT;

	(void)values;
	if (caller->is_json) {
		return command_show(caller, "/v1/status", wants_status, command_status_render);
	}
	client = client_new(caller->socket_path, caller->timeout_ns, &err);
	if (client == NULL || collect(client, &record, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	command_status_render(record, &paper);
	return command_print(&paper);
}

const struct command command_status = {
	.name = "status",
	.summary = "how the daemon is: ready or not, devices, peers, what runs, the last verdicts",
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
