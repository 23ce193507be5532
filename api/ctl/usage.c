// SPDX-License-Identifier: MIT
#include "ctl/usage.h"

#include <string.h>

#include "ctl/table.h"

#define INDENT 2u
#define OPTION_WIDTH 24u

static void write_line(struct paper *paper, const char *string)
{
	paper_add(paper, PAPER_PLAIN, string);
	paper_newline(paper);
}

static void write_option(const struct option_row *row, struct paper *paper)
{
	paper_fill(paper, INDENT, 0);
	paper_format(paper, PAPER_PLAIN, "--%s%s%s", row->name, row->value ? "=" : "",
		     row->value ? row->value : "");
	paper_fill(paper, INDENT + OPTION_WIDTH, 1);
	paper_wrap(paper, PAPER_PLAIN, INDENT + OPTION_WIDTH, row->help);
	paper_newline(paper);
}

void usage_of_program(const struct command *command, struct paper *paper)
{
	(void)command;
	write_line(paper, "usage: rdmatestctl [OPTION..] COMMAND [ARGUMENT..]");
	paper_newline(paper);
	write_line(paper,
		   "Asks the rdmatestd of this host: runs scenarios, shows results and state.");
	paper_newline(paper);
	for (size_t i = 0; command_table[i] != NULL; i++) {
		const struct command *row = command_table[i];

		paper_fill(paper, INDENT, 0);
		paper_format(paper, PAPER_PLAIN, "%s%s%s", row->name, row->arguments ? " " : "",
			     row->arguments ? row->arguments : "");
		paper_fill(paper, INDENT + OPTION_WIDTH, 1);
		paper_wrap(paper, PAPER_PLAIN, INDENT + OPTION_WIDTH, row->summary);
		paper_newline(paper);
	}
	paper_newline(paper);
	for (const struct option_row *row = command_general_options; row->name != NULL; row++) {
		write_option(row, paper);
	}
	paper_newline(paper);
	write_line(paper,
		   "rdmatestctl COMMAND --help tells more of a command; so does man rdmatestctl.");
}

static bool is_for_command(const struct command *command, const char *option)
{
	if (strcmp(option, "socket") == 0 || strcmp(option, "timeout") == 0) {
		return (command->uses & COMMAND_ASKS_DAEMON) != 0;
	}
	if (strcmp(option, "json") == 0) {
		return (command->uses & COMMAND_HAS_JSON) != 0;
	}
	return true;
}

/* Each line of the source is a paragraph. */
static void write_help(const char *help, struct paper *paper)
{
	while (*help != '\0') {
		size_t length = strcspn(help, "\n");
		_cleanup_text_ struct text line = TEXT_INIT;

		text_add_bytes(&line, help, length);
		/* Lists keep the form that they have. */
		if (line.length <= paper->columns) {
			paper_add(paper, PAPER_PLAIN, line.data);
		} else {
			paper_wrap(paper, PAPER_PLAIN, 0, line.data);
		}
		paper_newline(paper);
		help += length + (help[length] == '\n');
	}
}

void usage_of_command(const struct command *command, struct paper *paper)
{
	const struct option_row *row;

	paper_format(paper, PAPER_PLAIN, "usage: rdmatestctl %s [OPTION..]%s%s", command->name,
		     command->arguments ? " " : "", command->arguments ? command->arguments : "");
	paper_newline(paper);
	paper_newline(paper);
	paper_wrap(paper, PAPER_PLAIN, 0, command->summary);
	paper_newline(paper);
	if (command->help != NULL) {
		paper_newline(paper);
		write_help(command->help, paper);
	}
	paper_newline(paper);
	for (row = command->options; row != NULL && row->name != NULL; row++) {
		write_option(row, paper);
	}
	for (row = command_general_options; row->name != NULL; row++) {
		if (is_for_command(command, row->name)) {
			write_option(row, paper);
		}
	}
}
