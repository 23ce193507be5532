// SPDX-License-Identifier: MIT
#include "ctl/remarks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ctl/field.h"
#include "ctl/table.h"

#define FURTHER 4u /* indent of what belongs to the line above */

/* What the sentence itself does not hold yet. */
static void add_detail(struct text *out, const char *sentence, const char *detail)
{
	if (detail[0] != '\0' && strstr(sentence, detail) == NULL) {
		text_format(out, "%s%s", out->length > 0 ? ", " : "", detail);
	}
}

static void list_details(const json_t *failure, const char *sentence, struct text *out)
{
	const char *node = field_string(failure, "node", "");
	const char *device = field_string(failure, "device", "");
	const char *status = field_string(failure, "status_name", "");
	char detail[192];
	char duration[UNITS_SIZE];
	uint64_t number;

	snprintf(detail, sizeof(detail), "%s%s%s", node, device[0] != '\0' ? "/" : "", device);
	add_detail(out, sentence, detail);
	add_detail(out, sentence, field_string(failure, "op", ""));
	if (field_u64(failure, "qp_num", &number) && number > 0) {
		snprintf(detail, sizeof(detail), "queue pair 0x%" PRIx64, number);
		if (strstr(sentence, detail + strlen("queue pair ")) == NULL) {
			add_detail(out, sentence, detail);
		}
	}
	if (status[0] != '\0' && strstr(sentence, status) == NULL) {
		if (field_u64(failure, "number", &number)) {
			snprintf(detail, sizeof(detail), "%s %" PRIu64, status, number);
			status = detail;
		}
		add_detail(out, sentence, status);
	}
	if (field_u64(failure, "at_ns", &number) && number > 0) {
		snprintf(detail, sizeof(detail), "at +%s", units_format_duration(number, duration));
		add_detail(out, sentence, detail);
	}
}

void remarks_print_error(const json_t *failure, const char *label, struct paper *paper,
			 unsigned indent)
{
	const char *sentence = field_string(failure, "text", NULL);
	_cleanup_text_ struct text details = TEXT_INIT;
	_cleanup_text_ struct text line = TEXT_INIT;
	char count[UNITS_SIZE];
	uint64_t flushed;

	if (sentence == NULL) {
		return;
	}
	list_details(failure, sentence, &details);
	text_add(&line, sentence);
	if (details.length > 0) {
		text_format(&line, " (%s)", details.data);
	}
	if (field_u64(failure, "flushed", &flushed) && flushed > 0) {
		text_format(&line, "; %s flushed behind it", units_format_count(flushed, count));
	}
	paper_fill(paper, indent, 0);
	paper_add(paper, PAPER_BAD, label);
	paper_add(paper, PAPER_PLAIN, "   ");
	paper_wrap(paper, PAPER_PLAIN, indent + FURTHER, line.data);
	paper_newline(paper);
}

static void print_part(const json_t *finding, const char *key, const char *label,
		       struct paper *paper, unsigned indent)
{
	const char *sentence = field_string(finding, key, NULL);

	if (sentence == NULL || sentence[0] == '\0') {
		return;
	}
	paper_fill(paper, indent, 0);
	paper_add(paper, PAPER_DIM, label);
	paper_wrap(paper, PAPER_PLAIN, paper->column, sentence);
	paper_newline(paper);
}

static void print_finding(const json_t *finding, struct paper *paper, unsigned indent)
{
	paper_fill(paper, indent, 0);
	paper_add(paper, PAPER_STRONG, field_string(finding, "code", "-"));
	paper_add(paper, PAPER_PLAIN, " ");
	paper_add(paper, PAPER_STRONG,
		  field_string(finding, "title", field_string(finding, "name", "-")));
	paper_format(paper, PAPER_PLAIN, " (%s)", field_string(finding, "confidence", "-"));
	paper_newline(paper);
	print_part(finding, "text", "", paper, indent + FURTHER);
	print_part(finding, "evidence", "seen: ", paper, indent + FURTHER);
	print_part(finding, "against", "but: ", paper, indent + FURTHER);
	print_part(finding, "cure", "do: ", paper, indent + FURTHER);
}

void remarks_print_findings(const json_t *findings, struct paper *paper, unsigned indent)
{
	for (size_t i = 0; i < json_array_size(findings); i++) {
		print_finding(json_array_get(findings, i), paper, indent);
	}
}

static const char *show_value(const json_t *expectation, const char *key, char *buf)
{
	const char *unit = field_string(expectation, "unit", "");
	double value;

	if (strcmp(unit, "ns") == 0) {
		return field_show_duration(expectation, key, buf);
	}
	if (strcmp(unit, "bps") == 0) {
		return field_show_rate(expectation, key, buf);
	}
	if (strcmp(unit, "ops_per_s") == 0) {
		return field_show_ops_rate(expectation, key, buf);
	}
	if (strcmp(unit, "ratio") == 0 && field_real(expectation, key, &value)) {
		snprintf(buf, UNITS_SIZE, "%.3g %%", value * 100);
		return buf;
	}
	if (field_real(expectation, key, &value) && value >= 0 && value < 1e18) {
		return units_format_count((uint64_t)value, buf);
	}
	snprintf(buf, UNITS_SIZE, "-");
	return buf;
}

/* How far the actual value is from the limit: ", 95 % below"; a limit that depends on the link is
 * named. */
static void add_distance(const json_t *expectation, struct text *out)
{
	char limit_text[UNITS_SIZE];
	double actual;
	double limit;
	double percent;

	if (!field_real(expectation, "actual", &actual) ||
	    !field_real(expectation, "limit", &limit) || limit <= 0) {
		return;
	}
	percent = fabs(actual - limit) / limit * 100;
	if (percent >= 0.05) {
		if (percent >= 1000) {
			text_format(out, ", %.0f times the limit", actual / limit);
		} else {
			text_format(out, ", %.*f %% %s", percent < 10 ? 1 : 0, percent,
				    actual < limit ? "below" : "above");
		}
		if (strstr(field_string(expectation, "expr", ""), "of link_rate") != NULL) {
			text_format(out, " %s", show_value(expectation, "limit", limit_text));
		}
	}
}

static void add_outcome(struct table *table, const json_t *expectation)
{
	const char *outcome = field_string(expectation, "outcome", "-");
	const char *reason = field_string(expectation, "reason", NULL);
	bool is_warning = strcmp(field_string(expectation, "severity", ""), "warn") == 0;
	bool is_missed = strcmp(outcome, "missed") == 0;
	enum paper_tone tone = paper_tone_of(outcome);
	_cleanup_text_ struct text text = TEXT_INIT;

	if (is_missed && is_warning) {
		tone = PAPER_WARN;
	}
	text_add(&text, is_missed ? "MISSED" : outcome);
	if (is_missed && is_warning) {
		text_add(&text, " (a warning)");
	}
	add_distance(expectation, &text);
	if (reason != NULL) {
		text_format(&text, ": %s", reason);
	}
	table_cell(table, tone, text.data);
}

void remarks_print_expectations(const json_t *expect, struct paper *paper, unsigned indent)
{
	_cleanup_table_ struct table *table = table_new();
	char actual[UNITS_SIZE];

	if (json_array_size(expect) == 0) {
		return;
	}
	table_column(table, TABLE_LEFT, "expect");
	table_column(table, TABLE_RIGHT, "actual");
	table_column(table, TABLE_LEFT, "outcome");
	for (size_t i = 0; i < json_array_size(expect); i++) {
		const json_t *expectation = json_array_get(expect, i);

		table_cell(table, PAPER_PLAIN, field_string(expectation, "expr", NULL));
		table_cell(table, PAPER_PLAIN, show_value(expectation, "actual", actual));
		add_outcome(table, expectation);
	}
	table_print(table, paper, indent);
}
