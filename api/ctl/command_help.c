// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "ctl/command.h"
#include "ctl/usage.h"

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	const struct command *command = NULL;
	struct error err = ERROR_INIT;

	if (values->positional_count == 0) {
		usage_of_program(NULL, &paper);
		return command_print(&paper);
	}
	command = command_find(values->positionals[0], &err);
	if (command == NULL) {
		return command_usage(NULL, &err);
	}
	usage_of_command(command, &paper);
	return command_print(&paper);
}

const struct command command_help = {
	.name = "help",
	.arguments = "[COMMAND]",
	.summary = "what a command does and takes; without COMMAND: all of them",
	.max_arguments = 1,
	.run = run,
};
