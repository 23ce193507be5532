// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "ctl/command.h"
#include "ctl/run_name.h"

static const struct field_wanted wanted[] = { { "id", FIELD_STRING }, { 0 } };

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_client_ struct client *client = NULL;
	_cleanup_text_ struct text path = TEXT_INIT;
	const char *id = values->positionals[0];
	struct error err = ERROR_INIT;

	if (run_name_check(id, &err) < 0) {
		return command_usage("cancel", &err);
	}
	client = command_client(caller, &err);
	run_name_add_path(&path, id, "/cancel");
	if (client == NULL || client_request(client, "POST", path.data, &reply, &err) < 0 ||
	    client_reply_check_run(&reply, id, wanted, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	if (caller->is_json) {
		return command_print_reply(&reply);
	}
	paper_format(&paper, PAPER_PLAIN,
		     "run %s is being cancelled; rdmatestctl results %s shows what it measured", id,
		     id);
	paper_newline(&paper);
	return command_print(&paper);
}

const struct command command_cancel = {
	.name = "cancel",
	.arguments = "ID",
	.arguments_hint = "rdmatestctl results lists them",
	.summary = "end a run that goes on or waits",
	.min_arguments = 1,
	.max_arguments = 1,
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
