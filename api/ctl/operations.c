// SPDX-License-Identifier: MIT
#include "ctl/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/connections.h"
#include "ctl/field.h"
#include "ctl/table.h"

/* Of the rate of an open load: arrivals that are drawn differ by that over a short window. */
#define LOAD_KEPT 0.95
#define SLOWEST_SHOWN 3 /* rdmatestctl results ID --json has more */

static bool is_scope(const json_t *group, const char *scope)
{
	return strcmp(field_string(group, "scope", ""), scope) == 0;
}

static bool is_op(const json_t *group, const json_t *other)
{
	return strcmp(field_string(group, "op", ""), field_string(other, "op", "")) == 0;
}

/* What is measured in two ways has no common latency. */
static bool has_latency(const json_t *group)
{
	return strcmp(field_string(group, "latency.definition", ""), "mixed") != 0;
}

static const json_t *find_percentile(const json_t *group, const char *latency, const char *name)
{
	const json_t *percentiles = field_array(field_find(group, latency), "percentiles");

	for (size_t i = 0; i < json_array_size(percentiles); i++) {
		const json_t *item = json_array_get(percentiles, i);

		if (strcmp(field_string(item, "p", ""), name) == 0) {
			return item;
		}
	}
	return NULL;
}

static void add_percentile(struct table *table, const json_t *group, const char *name)
{
	char cell[UNITS_SIZE];
	const json_t *item = has_latency(group) ? find_percentile(group, "latency", name) : NULL;

	table_cell(table, PAPER_PLAIN, field_show_duration(item, "value_ns", cell));
}

/* "4-64 KiB": from the smallest to the largest size of an operation. */
static void show_range(const json_t *groups, const json_t *sum, char *buf, size_t size)
{
	char low_text[UNITS_SIZE];
	char high_text[UNITS_SIZE];
	uint64_t low = UINT64_MAX;
	uint64_t high = 0;
	const char *unit;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		uint64_t bytes;

		if (is_scope(group, "size") && is_op(group, sum) &&
		    field_u64(group, "size_bytes", &bytes)) {
			low = bytes < low ? bytes : low;
			high = bytes > high ? bytes : high;
		}
	}
	if (low > high) {
		snprintf(buf, size, " ");
		return;
	}
	units_format_size(low, low_text);
	units_format_size(high, high_text);
	unit = strchr(low_text, ' ');
	if (unit != NULL && strchr(high_text, ' ') != NULL &&
	    strcmp(unit, strchr(high_text, ' ')) == 0) {
		low_text[unit - low_text] = '\0';
	}
	snprintf(buf, size, "%s-%s", low_text, high_text);
}

static void add_group(struct table *table, const char *op, const char *size, const json_t *group)
{
	char cell[UNITS_SIZE];

	table_cell(table, PAPER_PLAIN, op);
	table_cell(table, PAPER_PLAIN, size);
	table_cell(table, PAPER_PLAIN, field_show_count(group, "completed", cell));
	table_cell(table, PAPER_PLAIN, field_show_ops_rate(group, "ops_per_s", cell));
	table_cell(table, PAPER_PLAIN, field_show_rate(group, "bandwidth_bps", cell));
	add_percentile(table, group, "50");
	add_percentile(table, group, "99");
	add_percentile(table, group, "99.9");
	table_cell(table, PAPER_PLAIN,
		   has_latency(group) ? field_show_duration(group, "latency.max_ns", cell) : NULL);
}

/* The row of an operation that has several sizes; NULL when it has one. */
static const json_t *find_sum(const json_t *groups, const json_t *of)
{
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);

		if (is_scope(group, "operation") && is_op(group, of)) {
			return group;
		}
	}
	return NULL;
}

static bool is_first_of_op(const json_t *groups, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (is_scope(json_array_get(groups, i), "size") &&
		    is_op(json_array_get(groups, i), json_array_get(groups, index))) {
			return false;
		}
	}
	return true;
}

/* An operation with all its sizes, which may stand anywhere in the record. */
static void add_op(struct table *table, const json_t *groups, size_t first)
{
	const json_t *sum = find_sum(groups, json_array_get(groups, first));
	const char *op = field_string(json_array_get(groups, first), "op", NULL);
	char size[2 * UNITS_SIZE];

	if (sum != NULL) {
		show_range(groups, sum, size, sizeof(size));
		add_group(table, op, size, sum);
	}
	for (size_t i = first; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);

		if (is_scope(group, "size") && is_op(group, json_array_get(groups, first))) {
			add_group(table, sum != NULL || i > first ? " " : op,
				  field_show_size(group, "size_bytes", size), group);
		}
	}
}

static const json_t *find_all(const json_t *groups)
{
	for (size_t i = 0; i < json_array_size(groups); i++) {
		if (is_scope(json_array_get(groups, i), "all")) {
			return json_array_get(groups, i);
		}
	}
	return NULL;
}

static void add_columns(struct table *table)
{
	static const char *const right[] = { "count", "rate",  "bandwidth", "p50",
					     "p99",   "p99.9", "max" };

	table_column(table, TABLE_LEFT, "operation");
	table_column(table, TABLE_LEFT, "size");
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		table_column(table, TABLE_RIGHT, right[i]);
	}
}

/* The operations whose latency has this definition, comma separated. */
static void list_defined(const json_t *groups, const char *definition, struct text *out)
{
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		const char *given = field_string(group, "latency.definition", "");

		if (is_scope(group, "size") && is_first_of_op(groups, i) &&
		    strcmp(given, definition) == 0) {
			text_format(out, "%s%s", out->length > 0 ? ", " : "",
				    field_string(group, "op", "-"));
		}
	}
}

static bool lacks_samples(const json_t *groups)
{
	static const char *const shown[] = { "50", "99", "99.9" };

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);

		for (size_t k = 0; has_latency(group) && k < 3; k++) {
			if (field_string(find_percentile(group, "latency", shown[k]), "reason",
					 NULL) != NULL) {
				return true;
			}
		}
	}
	return false;
}

/* What the latency columns mean: never left to be guessed. */
static void print_definitions(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const json_t *groups = field_array(measurement, "operations");
	const char *seen_by = field_string(measurement, "writes_seen_by", "");
	_cleanup_text_ struct text half = TEXT_INIT;
	_cleanup_text_ struct text whole = TEXT_INIT;
	_cleanup_text_ struct text round = TEXT_INIT;
	_cleanup_text_ struct text intended = TEXT_INIT;
	_cleanup_text_ struct text line = TEXT_INIT;

	list_defined(groups, "half_round_trip", &half);
	list_defined(groups, "post_to_completion", &whole);
	list_defined(groups, "intended_to_completion", &intended);
	list_defined(groups, "round_trip", &round);
	if (round.length > 0) {
		text_add(
			&line,
			"latency: the whole round trip, from the post of the request to its response");
	}
	if (intended.length > 0) {
		text_add(
			&line,
			"latency: from the moment that an operation was meant to begin to its completion");
	}
	if (half.length > 0) {
		text_format(&line, "latency of %s: half of the round trip", half.data);
	}
	if (whole.length > 0 && half.length > 0) {
		text_format(&line, "; of %s: post to completion", whole.data);
		text_add(&line, "; of all together: none, since these are two things");
	} else if (whole.length > 0) {
		text_add(&line, "latency: post to completion");
	}
	if (strcmp(seen_by, "immediate") == 0 || strcmp(seen_by, "both") == 0) {
		text_add(
			&line,
			"; writes above the path MTU carried immediate data, and were seen by a receive");
	}
	if (lacks_samples(groups)) {
		text_format(&line, "%s\"-\": too few samples", line.length > 0 ? "; " : "");
	}
	if (line.length > 0) {
		paper_paragraph(paper, PAPER_DIM, indent, line.data);
	}
}

/* "only 260 Mb/s of the 10 Gb/s that were asked for; "; nothing where it was kept. */
static void add_shortfall(const json_t *measurement, const json_t *traffic, const json_t *all,
			  struct text *out)
{
	const json_t *load = field_find(measurement, "workload.workload.load");
	char reached_text[UNITS_SIZE];
	char asked_text[UNITS_SIZE];
	double reached = 0;
	uint64_t asked = 0;
	uint64_t late = 0;
	uint64_t dropped = 0;

	if (field_u64(load, "ops_rate", &asked) && asked > 0) {
		(void)field_real(all, "ops_per_s", &reached);
		units_format_ops_rate(reached, reached_text);
		units_format_ops_rate((double)asked, asked_text);
	} else if (field_u64(load, "rate_bps", &asked) && asked > 0) {
		(void)field_real(all, "bandwidth_bps", &reached);
		units_format_rate(reached, reached_text);
		units_format_rate((double)asked, asked_text);
	}
	(void)field_u64(traffic, "late_operations", &late);
	(void)field_u64(traffic, "dropped_operations", &dropped);
	if (late + dropped > 0 && reached < LOAD_KEPT * (double)asked) {
		text_format(out, "only %s of the %s that were asked for; ", reached_text,
			    asked_text);
	}
}

/* "12 operations late, 3 dropped ...; from the post alone: p50 ..., max ..." */
static void print_load(const json_t *measurement, const char *end, const json_t *all,
		       struct paper *paper, unsigned indent)
{
	const json_t *traffic = field_find(field_find(measurement, end), "traffic");
	static const char *const shown[] = { "50", "99", "99.9" };
	_cleanup_text_ struct text line = TEXT_INIT;
	char cell[UNITS_SIZE];

	if (all == NULL || field_find(all, "service_latency") == NULL) {
		return;
	}
	add_shortfall(measurement, traffic, all, &line);
	text_format(&line, "%s operations late, %s dropped for want of room",
		    field_show_count(traffic, "late_operations", cell),
		    field_show_count(traffic, "dropped_operations", (char[UNITS_SIZE]){ 0 }));
	text_add(&line, "; from the post alone:");
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const json_t *item = find_percentile(all, "service_latency", shown[i]);

		text_format(&line, " p%s %s,", shown[i],
			    field_show_duration(item, "value_ns", cell));
	}
	text_format(&line, " max %s", field_show_duration(all, "service_latency.max_ns", cell));
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

/* Where completions say only that a message left. */
static void print_delivery(const json_t *measurement, const json_t *all, struct paper *paper,
			   unsigned indent)
{
	const json_t *delivery = field_find(measurement, "delivery");
	_cleanup_text_ struct text line = TEXT_INIT;
	char sent[UNITS_SIZE];
	char lost[UNITS_SIZE];
	char rate[UNITS_SIZE];
	uint64_t sent_count = 0;
	uint64_t received = 0;
	double ratio = 0;
	double bandwidth = 0;

	if (delivery == NULL || !field_real(delivery, "lost_ratio", &ratio)) {
		return;
	}
	field_show_count(delivery, "sent", sent);
	if (ratio > 0) {
		(void)field_real(all, "bandwidth_bps", &bandwidth);
		text_format(&line, "%s of %s messages did not arrive (%.3g %%); %s did",
			    field_show_count(delivery, "lost", lost), sent, 100 * ratio,
			    units_format_rate(bandwidth * (1 - ratio), rate));
	} else if (field_u64(delivery, "sent", &sent_count) &&
		   field_u64(delivery, "received", &received) && received > sent_count) {
		text_format(
			&line,
			"%" PRIu64
			" messages more arrived than the %s that were sent: some came twice, and may hide some that did not arrive",
			received - sent_count, sent);
	} else {
		text_format(&line, "all %s messages arrived, those of the warm-up counted", sent);
	}
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

/* What came of verified payload. */
static void print_verification(const json_t *measurement, struct paper *paper, unsigned indent)
{
	static const char *const kinds[] = { "corrupted", "lost", "duplicated", "reordered" };
	const json_t *verification = field_find(measurement, "verification");
	_cleanup_text_ struct text line = TEXT_INIT;
	char cell[UNITS_SIZE];
	uint64_t sample = 1;
	bool is_wrong = false;

	if (verification == NULL || json_is_null(verification)) {
		return;
	}
	(void)field_u64(verification, "sample", &sample);
	text_format(&line, "%s payloads verified",
		    field_show_count(verification, "verified", cell));
	if (sample > 1) {
		text_format(&line, " (one in %" PRIu64 ")", sample);
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t count = 0;

		if (field_u64(verification, kinds[i], &count) && count > 0) {
			text_format(&line, ", %s %s",
				    field_show_count(verification, kinds[i], cell), kinds[i]);
			is_wrong = true;
		}
	}
	text_format(&line, "%s", is_wrong ? "" : ", none was wrong");
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

static size_t count_scope(const json_t *groups, const char *scope)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(groups); i++) {
		count += is_scope(json_array_get(groups, i), scope);
	}
	return count;
}

/* "1.2 ms at +3.2 s", and where there are several: ", a write of 64 KiB", ", on queue pair 0x11".
 */
static void add_slow(const json_t *item, size_t classes, bool has_qps, struct text *out)
{
	char latency[UNITS_SIZE];
	char end[UNITS_SIZE];
	char size[UNITS_SIZE];
	uint64_t qp_num = 0;

	text_format(out, "%s at +%s", field_show_duration(item, "latency_ns", latency),
		    field_show_duration(item, "end_ns", end));
	if (classes > 1) {
		text_format(out, ", a %s of %s", field_string(item, "op", "-"),
			    field_show_size(item, "size_bytes", size));
	}
	if (has_qps && field_u64(item, "qp_num", &qp_num)) {
		text_format(out, ", on queue pair 0x%" PRIx64, qp_num);
	}
}

/* Behind how much it varied: from when on it did not. */
static void add_steady(const json_t *with, struct text *line)
{
	const json_t *steady = json_object_get(with, "steady");
	char at[UNITS_SIZE], rate[UNITS_SIZE];
	double within = 0, ops_per_s = 0;
	uint64_t from_ns = 0;

	if (!json_is_object(steady) || !field_real(steady, "within", &within)) {
		return;
	}
	if (!field_u64(steady, "from_ns", &from_ns) ||
	    !field_real(steady, "ops_per_s", &ops_per_s)) {
		text_format(line, ", and never stayed within %.2g %% of its mean", 100 * within);
	} else if (from_ns == 0) {
		text_format(line, ", and stayed within %.2g %% of its mean all the time",
			    100 * within);
	} else {
		text_format(line, ", and stayed within %.2g %% of %s from +%s on", 100 * within,
			    units_format_ops_rate(ops_per_s, rate),
			    units_format_duration(from_ns, at));
	}
}

/* "slowest: 1.2 ms at +3.2 s; ...; the rate varied by 3 % ..." */
static void print_slowest(const json_t *measurement, const json_t *with, struct paper *paper,
			  unsigned indent)
{
	const json_t *slowest = field_array(with, "slowest");
	size_t classes = count_scope(field_array(with, "operations"), "size");
	_cleanup_text_ struct text line = TEXT_INIT;
	uint64_t num_qps = 1;
	double variation = 0, in_flight = 0;

	(void)field_u64(measurement, "workload.qp.num_qps", &num_qps);
	for (size_t i = 0; i < json_array_size(slowest) && i < SLOWEST_SHOWN; i++) {
		text_add(&line, i > 0 ? "; " : "slowest: ");
		add_slow(json_array_get(slowest, i), classes, num_qps > 1, &line);
	}
	if (field_real(with, "ops_per_s_cv", &variation)) {
		text_format(&line, "%sthe rate varied by %.2g %% (standard deviation of intervals)",
			    line.length > 0 ? "; " : "", 100 * variation);
		add_steady(with, &line);
	}
	/* A closed load has what it was told to have. */
	if (strcmp(field_string(measurement, "workload.workload.load.model", ""), "open") == 0 &&
	    field_real(with, "in_flight_mean", &in_flight)) {
		text_format(&line, "%s%.3g operations in flight on average",
			    line.length > 0 ? "; " : "", in_flight);
	}
	if (line.length > 0) {
		paper_paragraph(paper, PAPER_DIM, indent, line.data);
	}
}

/* The rows of an end that posted; "all" where there are several operations. False: none. */
static bool print_rows(const json_t *groups, struct paper *paper, unsigned indent)
{
	const json_t *all = find_all(groups);
	_cleanup_table_ struct table *table = table_new();
	size_t ops = 0;

	add_columns(table);
	for (size_t i = 0; i < json_array_size(groups); i++) {
		if (is_scope(json_array_get(groups, i), "size") && is_first_of_op(groups, i)) {
			add_op(table, groups, i);
			ops++;
		}
	}
	if (all != NULL && ops > 1) {
		add_group(table, "all", " ", all);
	}
	if (table_rows(table) == 0) {
		return false;
	}
	table_print(table, paper, indent);
	return true;
}

/* What one end measured: `with` has its numbers. */
static void print_end(const json_t *measurement, const json_t *with, const char *end,
		      struct paper *paper, unsigned indent)
{
	const json_t *groups = field_array(with, "operations");

	if (print_rows(groups, paper, indent)) {
		print_load(measurement, end, find_all(groups), paper, indent);
	}
}

static void print_way(const json_t *measurement, const char *from, const char *to,
		      struct paper *paper, unsigned indent)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_format(&line, "%s to %s:", field_string(field_find(measurement, from), "node", "-"),
		    field_string(field_find(measurement, to), "node", "-"));
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

/* direction: both: one table each way, and the sum. */
static void print_both(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const json_t *reverse = field_find(measurement, "reverse");
	_cleanup_text_ struct text line = TEXT_INIT;
	char rate[UNITS_SIZE];
	char bandwidth[UNITS_SIZE];

	print_way(measurement, "initiator", "responder", paper, indent);
	print_end(measurement, measurement, "initiator", paper, indent);
	print_slowest(measurement, measurement, paper, indent);
	print_way(measurement, "responder", "initiator", paper, indent);
	print_end(measurement, reverse, "responder", paper, indent);
	print_slowest(measurement, reverse, paper, indent);
	text_format(&line, "both directions together: %s, %s",
		    field_show_ops_rate(measurement, "both.ops_per_s", rate),
		    field_show_rate(measurement, "both.bandwidth_bps", bandwidth));
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

void operations_print(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const json_t *groups = field_array(measurement, "operations");
	bool is_mutual = field_find(measurement, "both") != NULL;

	if (connections_has(measurement)) {
		connections_print(measurement, paper, indent);
		return;
	}
	if (count_scope(groups, "size") == 0) {
		return;
	}
	if (is_mutual) {
		print_both(measurement, paper, indent);
	} else {
		print_end(measurement, measurement, "initiator", paper, indent);
	}
	print_delivery(measurement, is_mutual ? field_find(measurement, "both") : find_all(groups),
		       paper, indent);
	print_verification(measurement, paper, indent);
	if (!is_mutual) {
		print_slowest(measurement, measurement, paper, indent);
	}
	print_definitions(measurement, paper, indent);
}

void operations_sum_up(const json_t *measurement, struct text *out)
{
	const json_t *all = find_all(field_array(measurement, "operations"));
	const json_t *both = field_find(measurement, "both");
	char rate[UNITS_SIZE];
	char bandwidth[UNITS_SIZE];
	char p50[UNITS_SIZE];
	char max[UNITS_SIZE];

	if (connections_has(measurement)) {
		connections_sum_up(measurement, out);
		return;
	}
	if (all == NULL) {
		return;
	}
	if (both != NULL) {
		text_format(out, "both directions %s, %s",
			    field_show_ops_rate(both, "ops_per_s", rate),
			    field_show_rate(both, "bandwidth_bps", bandwidth));
		return;
	}
	text_format(out, "%s, %s", field_show_ops_rate(all, "ops_per_s", rate),
		    field_show_rate(all, "bandwidth_bps", bandwidth));
	if (has_latency(all)) {
		text_format(out, ", p50 %s, max %s",
			    field_show_duration(find_percentile(all, "latency", "50"), "value_ns",
						p50),
			    field_show_duration(all, "latency.max_ns", max));
	}
}
