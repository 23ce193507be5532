// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/table.h"
#include "ctl/verdict_word.h"

static void add_word(struct text *when, const char *word)
{
	text_format(when, "%s%s", when->length > 0 ? ", " : "", word);
}

static void add_when(struct table *table, const json_t *scenario)
{
	_cleanup_text_ struct text when = TEXT_INIT;
	char duration[UNITS_SIZE];
	uint64_t every_ns;

	if (field_is_false(scenario, "is_enabled")) {
		table_cell(table, PAPER_DIM, "disabled");
		return;
	}
	if (field_u64(scenario, "schedule.every_ns", &every_ns) && every_ns > 0) {
		text_format(&when, "every %s", units_write_duration(every_ns, duration));
	}
	if (field_is_true(scenario, "schedule.is_at_startup")) {
		add_word(&when, "at startup");
	}
	if (field_is_true(scenario, "schedule.is_manual")) {
		add_word(&when, "by hand");
	}
	table_cell(table, PAPER_PLAIN, when.data);
}

static void add_next(struct table *table, const json_t *scenario)
{
	char next[UNITS_SIZE];
	char cell[UNITS_SIZE + 4] = "-";

	if (field_find(scenario, "schedule.next_in_ns") != NULL) {
		snprintf(cell, sizeof(cell), "in %s",
			 field_show_duration(scenario, "schedule.next_in_ns", next));
	}
	table_cell(table, PAPER_PLAIN, cell);
}

void command_scenarios_render(const json_t *record, struct paper *paper)
{
	const json_t *scenarios = field_array(record, "scenarios");
	_cleanup_table_ struct table *table = table_new();

	if (json_array_size(scenarios) == 0) {
		paper_wrap(
			paper, PAPER_PLAIN, 0,
			"no scenarios: the configuration has none, nor has a file that it includes");
		paper_newline(paper);
		return;
	}
	table_column(table, TABLE_LEFT, "scenario");
	table_column(table, TABLE_LEFT, "last");
	table_column(table, TABLE_LEFT, "ended");
	table_column(table, TABLE_LEFT, "runs");
	table_column(table, TABLE_LEFT, "next");
	table_column(table, TABLE_LEFT, "description");
	for (size_t i = 0; i < json_array_size(scenarios); i++) {
		const json_t *scenario = json_array_get(scenarios, i);
		const char *verdict = field_string(scenario, "last.verdict", NULL);
		char word[VERDICT_WORD_SIZE];
		char time[UNITS_SIZE];

		table_cell(table, PAPER_PLAIN, field_string(scenario, "name", NULL));
		table_cell(table, paper_tone_of(verdict ? verdict : ""),
			   verdict ? verdict_word(verdict, word) : NULL);
		table_cell(table, PAPER_PLAIN, field_show_time(scenario, "last.ended_at", time));
		add_when(table, scenario);
		add_next(table, scenario);
		table_cell(table, PAPER_PLAIN, field_string(scenario, "description", NULL));
	}
	table_print(table, paper, 0);
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	(void)values;
	return command_show(caller, "/v1/scenarios", command_wants_scenarios,
			    command_scenarios_render);
}

const struct command command_scenarios = {
	.name = "scenarios",
	.summary = "the scenarios of this daemon: when they run, how they ended last",
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
