// SPDX-License-Identifier: MIT
#include "ctl/repeats.h"

#include <stdio.h>
#include <string.h>

#include "ctl/field.h"
#include "ctl/table.h"

static const char *show(const json_t *metric, const char *key, char *buf)
{
	const char *unit = field_string(metric, "unit", "");

	if (strcmp(unit, "bps") == 0) {
		return field_show_rate(metric, key, buf);
	}
	if (strcmp(unit, "ops_per_s") == 0) {
		return field_show_ops_rate(metric, key, buf);
	}
	return field_show_duration(metric, key, buf);
}

static void add_metric(struct table *table, const json_t *metric)
{
	static const char *const values[] = { "median", "min", "max" };
	char cell[2 * UNITS_SIZE + 8], low[UNITS_SIZE], high[UNITS_SIZE];

	table_cell(table, PAPER_PLAIN, field_string(metric, "metric", NULL));
	table_cell(table, PAPER_PLAIN, field_show_count(metric, "count", cell));
	table_cell(table, PAPER_PLAIN, show(metric, "mean", cell));
	if (field_find(metric, "ci95_low") != NULL) {
		snprintf(cell, sizeof(cell), "%s to %s", show(metric, "ci95_low", low),
			 show(metric, "ci95_high", high));
		table_cell(table, PAPER_PLAIN, cell);
	} else {
		table_cell(table, PAPER_PLAIN, NULL);
	}
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		table_cell(table, PAPER_PLAIN, show(metric, values[i], cell));
	}
}

static void print_pair(const json_t *pair, struct paper *paper, unsigned indent)
{
	static const char *const titles[] = { "times",	"mean", "95 % interval",
					      "median", "min",	"max" };
	const json_t *metrics = field_array(pair, "metrics");
	_cleanup_table_ struct table *table = table_new();

	paper_fill(paper, indent, 0);
	paper_format(paper, PAPER_STRONG, "%s/%s -> %s/%s", field_string(pair, "initiator", "-"),
		     field_string(pair, "initiator_device", "-"),
		     field_string(pair, "responder", "-"),
		     field_string(pair, "responder_device", "-"));
	paper_newline(paper);
	table_column(table, TABLE_LEFT, "over all times");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		table_column(table, TABLE_RIGHT, titles[i]);
	}
	for (size_t i = 0; i < json_array_size(metrics); i++) {
		add_metric(table, json_array_get(metrics, i));
	}
	if (table_rows(table) > 0) {
		table_print(table, paper, indent + 2);
	} else {
		paper_paragraph(paper, PAPER_PLAIN, indent + 2,
				"none of its measurements ended without an error");
	}
}

void repeats_print(const json_t *repeats, struct paper *paper, unsigned indent)
{
	for (size_t i = 0; i < json_array_size(repeats); i++) {
		print_pair(json_array_get(repeats, i), paper, indent);
	}
}
