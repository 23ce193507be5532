// SPDX-License-Identifier: MIT
#include <errno.h>

#include "ctl/command.h"
#include "ctl/compare.h"
#include "ctl/field.h"
#include "ctl/run_name.h"

/* Ids are ULIDs, which begin with their time: 0 until the year 3084. */
static bool is_id(const char *name)
{
	return name[0] == '0' && run_name_check(name, NULL) == 0;
}

static const struct field_wanted wants_runs[] = { { "runs", FIELD_ARRAY }, { 0 } };

/* The latest run of a scenario: its id into `ret`. */
static int find_latest(struct client *client, const char *scenario, struct text *ret,
		       struct error *err)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_text_ struct text path = TEXT_INIT;
	const char *id;

	text_add(&path, "/v1/runs?limit=1&scenario=");
	client_add_escaped(&path, scenario);
	if (client_get(client, path.data, wants_runs, &reply, err) < 0) {
		return -EIO;
	}
	id = field_string(json_array_get(field_array(reply.json, "runs"), 0), "id", NULL);
	if (id == NULL) {
		return error_set(
			err, -ENOENT, ERROR_INPUT,
			"no run of a scenario \"%s\" is kept; rdmatestctl run %s makes one",
			scenario, scenario);
	}
	text_add(ret, id);
	return 0;
}

static int add_run(struct client *client, const char *name, struct compare *compare,
		   struct error *err)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_text_ struct text id = TEXT_INIT;

	if (is_id(name)) {
		text_add(&id, name);
	} else if (find_latest(client, name, &id, err) < 0) {
		return -ENOENT;
	}
	run_name_add_path(&path, id.data, "?intervals=false");
	if (client_request(client, "GET", path.data, &reply, err) < 0 ||
	    client_reply_check_run(&reply, id.data, command_wants_run, err) < 0) {
		return -EIO;
	}
	compare_add(compare, reply.json);
	return 0;
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_client_ struct client *client = NULL;
	struct compare compare = { 0 };
	struct error err = ERROR_INIT;

	client = command_client(caller, &err);
	if (client == NULL) {
		return command_fail(&err, COMMAND_ERROR);
	}
	for (size_t i = 0; i < values->positional_count; i++) {
		if (add_run(client, values->positionals[i], &compare, &err) < 0) {
			return command_fail(&err, COMMAND_ERROR);
		}
	}
	if (caller->is_json) {
		_cleanup_json_ json_t *record = compare_write(&compare);
		_cleanup_text_ struct text text = TEXT_INIT;

		json_write(record, &text);
		paper_add(&paper, PAPER_PLAIN, text.data);
		paper_newline(&paper);
	} else {
		compare_print(&compare, &paper);
	}
	return command_print(&paper);
}

const struct command command_compare = {
	.name = "compare",
	.arguments = "RUN RUN..",
	.arguments_hint = "rdmatestctl results lists them",
	.summary = "what each of several runs gained on the one before it",
	.help = "RUN is the ID of a run, or the name of a scenario: its latest run.\n",
	.min_arguments = 2,
	.max_arguments = COMPARE_MAX,
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
