// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ctl/command.h"
#include "ctl/table.h"
#include "model/finding.h"
#include "util/units.h"

static void show_code(const struct finding_info *info, char *buf, size_t size)
{
	snprintf(buf, size, "RDT-%04u", info->number);
}

/* "RDT-0107", "rdt-107", "107" or "path-lost". */
static const struct finding_info *find(const char *given)
{
	const char *digits = strncasecmp(given, "RDT-", 4) == 0 ? given + 4 : given;
	uint64_t number;

	digits += strspn(digits, "0");
	if (units_parse_integer(digits, &number) != NULL) {
		number = 0;
	}
	for (int i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info((enum finding_code)i);

		if (info->number == number || strcasecmp(info->slug, given) == 0) {
			return info;
		}
	}
	return NULL;
}

static int refuse(const char *given)
{
	const char *names[2 * FINDING_COUNT];
	char codes[FINDING_COUNT][16];
	struct error err = ERROR_INIT;
	char quoted[TEXT_QUOTED_SIZE];
	const char *closest;

	for (int i = 0; i < FINDING_COUNT; i++) {
		show_code(finding_info((enum finding_code)i), codes[i], sizeof(codes[i]));
		names[2 * i] = finding_info((enum finding_code)i)->slug;
		names[2 * i + 1] = codes[i];
	}
	closest = text_closest(given, names, 2 * FINDING_COUNT);
	error_set(&err, -EINVAL, ERROR_INPUT,
		  "\"%s\" is no code of a finding%s%s%s rdmatestctl explain lists them all",
		  text_quote(quoted, given), closest ? "; did you mean " : ";",
		  closest ? closest : "", closest ? "?" : "");
	return command_fail(&err, COMMAND_USAGE);
}

static json_t *write_info(const struct finding_info *info)
{
	json_t *object = json_object();
	char code[16];

	show_code(info, code, sizeof(code));
	json_set_string(object, "code", code);
	json_set_string(object, "name", info->slug);
	json_set_string(object, "title", info->title);
	json_set_string(object, "explanation", info->explanation);
	json_set_string(object, "cure", info->cure);
	return object;
}

static int print_json(json_t *value)
{
	_cleanup_json_ json_t *taken = value;
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;

	json_write(taken, &reply.body);
	return command_print_reply(&reply);
}

static int print_list(const struct command_caller *caller)
{
	_cleanup_table_ struct table *table = table_new();
	_cleanup_paper_ struct paper paper = command_paper(caller);
	json_t *list = json_array();

	table_column(table, TABLE_LEFT, "code");
	table_column(table, TABLE_LEFT, "name");
	table_column(table, TABLE_LEFT, "means");
	for (int i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info((enum finding_code)i);
		char code[16];

		show_code(info, code, sizeof(code));
		table_cell(table, PAPER_STRONG, code);
		table_cell(table, PAPER_PLAIN, info->slug);
		table_cell(table, PAPER_PLAIN, info->title);
		json_array_append_new(list, write_info(info));
	}
	if (caller->is_json) {
		json_t *object = json_object();

		json_set_take(object, "findings", list);
		return print_json(object);
	}
	json_decref(list);
	table_print(table, &paper, 0);
	return command_print(&paper);
}

static int print_one(const struct command_caller *caller, const struct finding_info *info)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	char code[16];

	if (caller->is_json) {
		return print_json(write_info(info));
	}
	show_code(info, code, sizeof(code));
	paper_add(&paper, PAPER_STRONG, code);
	paper_format(&paper, PAPER_PLAIN, " %s: %s", info->slug, info->title);
	paper_newline(&paper);
	paper_newline(&paper);
	paper_fill(&paper, 2, 0);
	paper_wrap(&paper, PAPER_PLAIN, 2, info->explanation);
	paper_newline(&paper);
	paper_newline(&paper);
	paper_add(&paper, PAPER_DIM, "  What to do: ");
	paper_wrap(&paper, PAPER_PLAIN, 2, info->cure);
	paper_newline(&paper);
	return command_print(&paper);
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	const struct finding_info *info;

	if (values->positional_count == 0) {
		return print_list(caller);
	}
	info = find(values->positionals[0]);
	return info != NULL ? print_one(caller, info) : refuse(values->positionals[0]);
}

const struct command command_explain = {
	.name = "explain",
	.arguments = "[CODE]",
	.summary = "what a finding means and what to do about it; without CODE: all of them",
	.help = "CODE is RDT-0107, 107 or path-lost. No daemon is asked.\n",
	.max_arguments = 1,
	.uses = COMMAND_HAS_JSON,
	.run = run,
};
