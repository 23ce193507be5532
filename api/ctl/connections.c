// SPDX-License-Identifier: MIT
#include "ctl/connections.h"

#include <inttypes.h>
#include <string.h>

#include "ctl/field.h"
#include "ctl/table.h"

static const json_t *find_percentile(const json_t *phase, const char *name)
{
	const json_t *percentiles = field_array(phase, "latency.percentiles");

	for (size_t i = 0; i < json_array_size(percentiles); i++) {
		const json_t *item = json_array_get(percentiles, i);

		if (strcmp(field_string(item, "p", ""), name) == 0) {
			return item;
		}
	}
	return NULL;
}

static const json_t *find_phase(const json_t *phases, const char *name)
{
	for (size_t i = 0; i < json_array_size(phases); i++) {
		const json_t *phase = json_array_get(phases, i);

		if (strcmp(field_string(phase, "op", ""), name) == 0) {
			return phase;
		}
	}
	return NULL;
}

static void add_phases(struct table *table, const char *end, const json_t *phases)
{
	static const char *const shown[] = { "50", "99", "99.9" };
	char cell[UNITS_SIZE];

	for (size_t i = 0; i < json_array_size(phases); i++) {
		const json_t *phase = json_array_get(phases, i);
		uint64_t failed = 0;

		(void)field_u64(phase, "failed", &failed);
		table_cell(table, PAPER_PLAIN, field_string(phase, "op", "-"));
		table_cell(table, PAPER_PLAIN, end);
		table_cell(table, PAPER_PLAIN, field_show_count(phase, "completed", cell));
		table_cell(table, failed > 0 ? PAPER_BAD : PAPER_PLAIN,
			   field_show_count(phase, "failed", cell));
		for (size_t k = 0; k < sizeof(shown) / sizeof(shown[0]); k++) {
			table_cell(table, PAPER_PLAIN,
				   field_show_duration(find_percentile(phase, shown[k]), "value_ns",
						       cell));
		}
		table_cell(table, PAPER_PLAIN, field_show_duration(phase, "latency.max_ns", cell));
	}
}

bool connections_has(const json_t *measurement)
{
	return field_find(measurement, "connections") != NULL;
}

void connections_print(const json_t *measurement, struct paper *paper, unsigned indent)
{
	static const char *const right[] = { "count", "failed", "p50", "p99", "p99.9", "max" };
	_cleanup_table_ struct table *table = table_new();
	_cleanup_text_ struct text line = TEXT_INIT;
	char rate[UNITS_SIZE], count[UNITS_SIZE];
	uint64_t retried = 0, refused = 0;

	table_column(table, TABLE_LEFT, "phase");
	table_column(table, TABLE_LEFT, "of");
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		table_column(table, TABLE_RIGHT, right[i]);
	}
	add_phases(table, "initiator", field_array(measurement, "operations"));
	add_phases(table, "responder", field_array(measurement, "connections.accepted"));
	table_print(table, paper, indent);
	text_format(&line, "%s connections set up and taken down, %s",
		    field_show_count(measurement, "completed", count),
		    field_show_ops_rate(measurement, "ops_per_s", rate));
	if (field_u64(measurement, "connections.retried", &retried) && retried > 0) {
		text_format(&line, "; %" PRIu64 " requests were made again", retried);
	}
	if (field_u64(measurement, "connections.refused", &refused) && refused > 0) {
		text_format(&line, "; the responder rejected %" PRIu64, refused);
	}
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
	paper_paragraph(
		paper, PAPER_DIM, indent,
		"setup: from creating the queue pair to established (of the responder: from the request); a connection "
		"counts once it was taken down; \"-\": too few samples");
}

void connections_sum_up(const json_t *measurement, struct text *out)
{
	const json_t *setup = find_phase(field_array(measurement, "operations"), "setup");
	char rate[UNITS_SIZE], p50[UNITS_SIZE], max[UNITS_SIZE];

	text_format(out, "connections %s", field_show_ops_rate(measurement, "ops_per_s", rate));
	if (setup != NULL) {
		text_format(out, ", set-up p50 %s, max %s",
			    field_show_duration(find_percentile(setup, "50"), "value_ns", p50),
			    field_show_duration(setup, "latency.max_ns", max));
	}
}
