// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "ctl/command.h"
#include "util/json.h"

#define DEFAULT_CONFIG "/etc/rdmatestd/rdmatestd.yaml"
#define MAX_LINES 50

/* The daemon falls back to this for its node name: only so is the verdict the same. */
static void host_name(char *name, size_t size)
{
	if (gethostname(name, size) < 0) {
		text_copy(name, size, "localhost");
	}
	name[size - 1] = '\0';
}

static int print_json(const struct problems *problems)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_json_ json_t *record = json_object();
	json_t *list = json_array();
	struct problem *problem;

	list_each(problem, &problems->list, link) {
		json_t *item = json_object();

		json_set_string(item, "path", problem->path);
		json_set_u64(item, "line", problem->line);
		json_set_u64(item, "column", problem->column);
		json_set_string(item, "severity", problem->is_warning ? "warning" : "error");
		json_set_string(item, "text", problem->text);
		json_array_append_new(list, item);
	}
	json_set_u64(record, "errors", problems->errors);
	json_set_u64(record, "warnings", problems->warnings);
	json_set_take(record, "problems", list);
	json_write(record, &reply.body);
	return command_print_reply(&reply);
}

static void plural(struct text *out, size_t count, const char *noun)
{
	text_format(out, "%zu %s%s", count, noun, count == 1 ? "" : "s");
}

static int print_text(const char *path, const struct config *config, struct problems *problems)
{
	_cleanup_text_ struct text lines = TEXT_INIT;
	_cleanup_text_ struct text sum = TEXT_INIT;
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	problems_print(problems, MAX_LINES, &lines);
	if (lines.length > 0) {
		fputs(lines.data, stderr);
	}
	if (config == NULL) {
		plural(&sum, problems->errors, "error");
		fprintf(stderr, "%s; the daemon would refuse this configuration\n", sum.data);
		return COMMAND_BAD_CONFIG;
	}
	text_format(&sum, "%s: good: ", path);
	plural(&sum, config->scenario_count, "scenario");
	text_add(&sum, ", ");
	plural(&sum, config->peer_count, "peer");
	text_add(&sum, ", ");
	plural(&sum, config->file_count, "file");
	paper_add(&paper, PAPER_PLAIN, sum.data);
	paper_newline(&paper);
	return command_print(&paper);
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	const char *path = option_get(values, "config");
	struct problems problems;
	struct config *config;
	char name[256];
	int status;

	path = path != NULL ? path : DEFAULT_CONFIG;
	host_name(name, sizeof(name));
	problems_init(&problems);
	config = config_load(path, name, &problems);
	if (caller->is_json) {
		status = print_json(&problems);
		if (status == COMMAND_OK && config == NULL) {
			status = COMMAND_BAD_CONFIG;
		}
	} else {
		status = print_text(path, config, &problems);
	}
	config_unref(config);
	problems_done(&problems);
	return status;
}

static const struct option_row options[] = {
	{ "config", "FILE", "the main configuration file (default: " DEFAULT_CONFIG ")" },
	{ 0 },
};

const struct command command_check = {
	.name = "check",
	.summary = "read the configuration as the daemon would, and say every error in it",
	.help = "No daemon is asked, no device is opened, root is not needed. Exit status 0, or 78 when the "
		"daemon would refuse it.\n",
	.uses = COMMAND_HAS_JSON,
	.options = options,
	.run = run,
};
