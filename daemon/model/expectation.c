// SPDX-License-Identifier: MIT
#include "model/expectation.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/connections.h"
#include "util/text.h"
#include "util/units.h"

static const char *const compare_names[] = { "<=", "<", ">=", ">", "==", "!=", NULL };
static const char *const metric_names[] = { "latency",	   "bandwidth",	      "ops_rate",
					    "errors",	   "service_latency", "late_ops",
					    "dropped_ops", "lost_ops",	      "verify_errors",
					    NULL };
/* In the grammar, not in this version: told apart from what never was. */
static const char *const later_metric_names[] = { "rtt", "loss", "counter", NULL };
static const char *const severity_names[] = { "fail", "warn", NULL };

static const char no_latency_statistic[] =
	"has no such statistic; latency has p50, p99.9 and so on, min, mean and max";

const char *expectation_compare_name(int compare)
{
	return compare >= COMPARE_LE && compare <= COMPARE_NE ? compare_names[compare] : "?";
}

static int index_of(const char *const *names, const char *word)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], word)) {
			return i;
		}
	}
	return -1;
}

/* --- the left side: [op "."] metric ["." statistic] --- */

/* "p99.9" -> 999000. */
static const char *parse_percentile(const char *word, uint64_t *ret_ppm)
{
	uint64_t whole = 0, fraction = 0, unit = 10000;
	const char *c = word + 1;

	if (!isdigit((unsigned char)*c)) {
		return no_latency_statistic;
	}
	for (; isdigit((unsigned char)*c) && whole < 1000; c++) {
		whole = whole * 10 + (uint64_t)(*c - '0');
	}
	if (*c == '.') {
		for (c++; isdigit((unsigned char)*c); c++) {
			unit /= 10;
			if (unit == 0) {
				return "has a percentile with more than 4 decimals; p99.9999 is the finest";
			}
			fraction += (uint64_t)(*c - '0') * unit;
		}
	}
	if (*c) {
		return no_latency_statistic;
	}
	*ret_ppm = whole * 10000 + fraction;
	if (*ret_ppm == 0 || *ret_ppm >= 1000000) {
		return "has a percentile outside of 0 to 100; for the ends write latency.min and latency.max";
	}
	return NULL;
}

static int common_statistic(const char *word)
{
	return !strcmp(word, "min")    ? STATISTIC_MIN
	       : !strcmp(word, "max")  ? STATISTIC_MAX
	       : !strcmp(word, "mean") ? STATISTIC_MEAN
				       : STATISTIC_NONE;
}

bool expectation_is_latency(const struct expectation *expectation)
{
	return expectation->metric == METRIC_LATENCY ||
	       expectation->metric == METRIC_SERVICE_LATENCY;
}

bool expectation_is_of_open_load(const struct expectation *expectation)
{
	return expectation->metric == METRIC_SERVICE_LATENCY ||
	       expectation->metric == METRIC_LATE_OPS || expectation->metric == METRIC_DROPPED_OPS;
}

static const char *parse_verify(const char *word, struct expectation *ret)
{
	static const char *const names[] = { "corrupted", "lost", "duplicated", "reordered", NULL };
	int index = word ? index_of(names, word) : -1;

	ret->statistic = index >= 0 ? STATISTIC_CORRUPTED + index : STATISTIC_NONE;
	return word && index < 0
		       ? "has no such statistic; verify_errors is a count, and so are verify_errors.corrupted, .lost, "
			 ".duplicated and .reordered"
	       : ret->kind >= 0
		       ? "names an operation; payload is counted for all operations together, leave it out"
		       : NULL;
}

static const char *parse_statistic(const char *word, struct expectation *ret)
{
	switch (ret->metric) {
	case METRIC_LATE_OPS:
		ret->statistic = STATISTIC_RATIO;
		return !word || strcmp(word, "ratio") != 0
			       ? "has no such statistic; late operations are a share of all, write late_ops.ratio"
		       : ret->kind >= 0
			       ? "names an operation; late ones are counted for all operations together, leave it out"
			       : NULL;
	case METRIC_LOST_OPS:
		ret->statistic = word ? STATISTIC_RATIO : STATISTIC_NONE;
		return word && strcmp(word, "ratio") != 0
			       ? "has no such statistic; lost_ops is a count, and lost_ops.ratio their share of all"
		       : ret->kind >= 0
			       ? "names an operation; lost ones are counted for all operations together, leave it out"
			       : NULL;
	case METRIC_VERIFY_ERRORS:
		return parse_verify(word, ret);
	case METRIC_DROPPED_OPS:
		return word ? "has a statistic; dropped_ops is a count and has none"
		       : ret->kind >= 0
			       ? "names an operation; dropped ones are counted for all operations together, leave it out"
			       : NULL;
	case METRIC_ERRORS:
		return word ? "has a statistic; errors is a count and has none"
		       : ret->kind >= 0
			       ? "names an operation; errors are counted for all operations together, write errors == 0"
			       : NULL;
	case METRIC_LATENCY:
	case METRIC_SERVICE_LATENCY:
		if (word && word[0] == 'p') {
			ret->statistic = STATISTIC_PERCENTILE;
			return parse_percentile(word, &ret->percentile_ppm);
		}
		ret->statistic = word ? common_statistic(word) : STATISTIC_NONE;
		return ret->statistic ? NULL : no_latency_statistic;
	default:
		ret->statistic = word ? common_statistic(word) : STATISTIC_NONE;
		if (ret->statistic == STATISTIC_NONE) {
			return "has no such statistic; bandwidth and ops_rate have mean, min and max";
		}
		if (ret->kind >= 0 && ret->statistic != STATISTIC_MEAN) {
			return "asks for intervals of one operation; those are kept for all operations together, "
			       "leave the operation out or use mean";
		}
		return NULL;
	}
}

/* Of connections: latency alone is counted by phase. */
static const char *check_phase(const struct expectation *expectation)
{
	return expectation->phase >= 0 && expectation->metric != METRIC_LATENCY
		       ? "names a phase of connections; these have latency alone, such as "
			 "resolve_addr.latency.p99; connections a second are ops_rate"
		       : NULL;
}

static const char *parse_left(char *left, struct expectation *ret)
{
	char *metric = left;
	char *rest = left;
	const char *reason;
	int kind;

	strsep(&rest, ".");
	kind = index_of(operation_names, metric);
	if (kind >= 0) {
		if (!rest) {
			return "has an operation and no metric, such as write.latency.p99";
		}
		ret->kind = kind;
		metric = rest;
		strsep(&rest, ".");
	} else if (index_of(connection_phase_names, metric) >= 0) {
		if (!rest) {
			return "has a phase and no metric, such as connect.latency.p99";
		}
		ret->phase = index_of(connection_phase_names, metric);
		metric = rest;
		strsep(&rest, ".");
	}
	ret->metric = index_of(metric_names, metric);
	if (!strcmp(metric, "response_latency")) {
		return "has a metric that is called latency here: of an open load it counts from the moment that an "
		       "operation was meant to begin";
	}
	if (!strcmp(metric, "connect_time")) {
		return "has a metric that is called latency here: with pattern connect it is that of the whole set-up, "
		       "and one phase is written before it, such as connect.latency.p99";
	}
	if (index_of(later_metric_names, metric) >= 0) {
		return "has a metric that is not in this version; there are latency, service_latency, bandwidth, "
		       "ops_rate, late_ops, dropped_ops, lost_ops, verify_errors and errors";
	}
	if (ret->metric < 0) {
		return "has an unknown metric; there are latency, service_latency, bandwidth, ops_rate, late_ops, "
		       "dropped_ops, lost_ops, verify_errors and errors, the first four with or without an operation (such as write) before it";
	}
	reason = check_phase(ret);
	return reason ? reason : parse_statistic(rest, ret);
}

/* --- the right side: value ["of link_rate"] --- */

static const char *parse_link_share(const char *value, struct expectation *ret)
{
	uint64_t ppm;

	if (ret->metric != METRIC_BANDWIDTH) {
		return "compares something else than bandwidth with link_rate";
	}
	if (units_parse_ratio(value, &ppm)) {
		return "needs a share of link_rate, such as 90% of link_rate";
	}
	ret->is_of_link_rate = true;
	ret->limit = (double)ppm / 1e6;
	return NULL;
}

static const char *parse_right(char *right, struct expectation *ret)
{
	char *of = strstr(right, " of ");
	uint64_t value;

	if (of) {
		*of = '\0';
		of += strlen(" of ");
		if (!strcmp(of, "baseline")) {
			return "compares with a baseline, which is not in this version; write the value";
		}
		return strcmp(of, "link_rate") != 0 ? "can be a share \"of link_rate\" only"
						    : parse_link_share(right, ret);
	}
	if (ret->statistic == STATISTIC_RATIO) {
		if (units_parse_ratio(right, &value)) {
			return "needs a share on the right, such as 0.1%";
		}
		ret->limit = (double)value / 1e6;
		return NULL;
	}
	switch (ret->metric) {
	case METRIC_LATENCY:
	case METRIC_SERVICE_LATENCY:
		if (units_parse_duration(right, &value)) {
			return "needs a duration with its unit on the right, such as 500us";
		}
		break;
	case METRIC_BANDWIDTH:
		if (units_parse_rate(right, &value)) {
			return "needs a bit rate on the right, such as 90Gbps, or a share such as 90% of link_rate";
		}
		break;
	case METRIC_OPS_RATE:
		if (units_parse_ops_rate(right, &value)) {
			return "needs a rate of operations on the right, such as 200k/s";
		}
		break;
	default:
		if (units_parse_integer(right, &value)) {
			return "needs a whole number on the right, such as errors == 0";
		}
		break;
	}
	ret->limit = (double)value;
	return NULL;
}

/* --- the whole --- */

static bool is_count(const struct expectation *expectation)
{
	return expectation->metric == METRIC_ERRORS || expectation->metric == METRIC_DROPPED_OPS ||
	       expectation->metric == METRIC_VERIFY_ERRORS ||
	       (expectation->metric == METRIC_LOST_OPS && expectation->statistic == STATISTIC_NONE);
}

/* One blank for each run of white space, none at the ends. False if it does not fit. */
static bool collapse(char *destination, size_t size, const char *source)
{
	size_t length = 0;

	for (; *source; source++) {
		bool is_blank = isspace((unsigned char)*source);

		if (is_blank && (length == 0 || destination[length - 1] == ' ')) {
			continue;
		}
		if (length + 1 >= size) {
			return false;
		}
		destination[length++] = is_blank ? ' ' : *source;
	}
	while (length > 0 && destination[length - 1] == ' ') {
		length--;
	}
	destination[length] = '\0';
	return true;
}

/* Cuts the copy into its three parts, in place. */
static const char *split(char *copy, char **ret_right, int *ret_compare)
{
	size_t at = strcspn(copy, "<>=!");
	char sign[3] = { 0 };
	size_t left_length = at;

	if (!copy[at]) {
		return "has no comparison; write one of <= < >= > == !=, such as latency.p99 <= 500us";
	}
	sign[0] = copy[at];
	sign[1] = copy[at + 1] == '=' ? '=' : '\0';
	*ret_compare = index_of(compare_names, sign);
	if (*ret_compare < 0) {
		return "has an unknown comparison; there are <= < >= > == !=";
	}
	*ret_right = copy + at + strlen(sign);
	*ret_right += **ret_right == ' ' ? 1 : 0;
	while (left_length > 0 && copy[left_length - 1] == ' ') {
		left_length--;
	}
	copy[left_length] = '\0';
	return left_length == 0	     ? "has nothing before the comparison"
	       : **ret_right == '\0' ? "has no value behind the comparison"
				     : NULL;
}

const char *expectation_parse(const char *text, struct expectation *ret)
{
	struct expectation expectation = { .kind = -1, .phase = -1 };
	char copy[sizeof(expectation.text)];
	char *right = NULL;
	const char *reason;

	if (!collapse(expectation.text, sizeof(expectation.text), text)) {
		return "is longer than 127 bytes";
	}
	memcpy(copy, expectation.text, sizeof(copy));
	reason = split(copy, &right, &expectation.compare);
	if (!reason) {
		reason = parse_left(copy, &expectation);
	}
	if (!reason) {
		reason = parse_right(right, &expectation);
	}
	if (!reason && !is_count(&expectation) && expectation.compare >= COMPARE_EQ) {
		reason = "compares a measured value for equality; use <= or >=";
	}
	if (!reason) {
		*ret = expectation;
	}
	return reason;
}

/* --- schema functions: an item is a string or {expr, severity} --- */

struct written_item {
	char expr[128];
	int severity;
};

static const struct schema_field item_fields[] = {
	{ .key = "expr",
	  .type = SCHEMA_STRING,
	  .is_required = true,
	  .offset = offsetof(struct written_item, expr),
	  .size = sizeof(((struct written_item *)0)->expr),
	  .doc = "The expectation." },
	{ .key = "severity",
	  .type = SCHEMA_ENUM,
	  .offset = offsetof(struct written_item, severity),
	  .names = severity_names,
	  .fallback = "fail",
	  .doc = "What a miss is: fail, or warn (degraded)." },
	{ .key = "when", .type = SCHEMA_LATER, .doc = "write it in a scenario of its own" },
	{ .key = "window",
	  .type = SCHEMA_LATER,
	  .doc = "an expectation holds for the whole measured window" },
	{ .key = "min_samples",
	  .type = SCHEMA_LATER,
	  .doc = "a percentile needs 10 samples beyond it" },
	{ 0 },
};

static void parse_item(const struct document_node *node, const char *place,
		       struct expectations *list, struct schema_context *context)
{
	struct written_item written = { 0 };
	struct expectation *item = &list->items[list->count];
	const char *reason;

	if (node->kind == DOCUMENT_MAP) {
		if (!schema_parse(item_fields, node, place, &written, item_fields, context)) {
			return;
		}
	} else if (!schema_parse_scalar(&item_fields[0], node, place, written.expr, context)) {
		return;
	}
	reason = expectation_parse(written.expr, item);
	if (reason) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: \"%s\" %s", place, written.expr, reason);
		return;
	}
	item->severity = written.severity;
	snprintf(item->source, sizeof(item->source), "%.170s:%u", context->path, node->line);
	list->count++;
}

void expectation_parse_list(const struct document_node *node, const struct schema_field *field,
			    const char *place, void *member, struct schema_context *context)
{
	struct expectations *list = member;

	list->count = 0;
	if (node->kind != DOCUMENT_LIST) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: must be a list, such as [\"errors == 0\"]", place);
		return;
	}
	if (node->count > LIMIT_EXPECTATIONS) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: has %zu items; at most %d", place, node->count,
			     LIMIT_EXPECTATIONS);
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		char item_place[256];

		snprintf(item_place, sizeof(item_place), "%s[%zu]", place, i);
		parse_item(node->values[i], item_place, list, context);
	}
}

json_t *expectation_write_list(const struct schema_field *field, const void *member)
{
	const struct expectations *list = member;
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		json_t *object = json_object();

		json_set_string(object, "expr", list->items[i].text);
		json_set_string(object, "severity", severity_names[list->items[i].severity]);
		json_array_append_new(array, object);
	}
	return array;
}

int expectation_read_list(const struct schema_field *field, const json_t *value, void *member,
			  struct error *err)
{
	struct expectations *list = member;

	list->count = 0;
	if (!json_is_array(value) || json_array_size(value) > LIMIT_EXPECTATIONS) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a list of at most %d is expected",
				 LIMIT_EXPECTATIONS);
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		struct expectation *item = &list->items[i];
		struct written_item written = { 0 };
		const char *reason;
		int r = schema_read(item_fields, json_array_get(value, i), &written, err);

		if (r < 0) {
			error_prefix(err, "[%zu]", i);
			return r;
		}
		reason = expectation_parse(written.expr, item);
		if (reason) {
			return error_set(err, -EINVAL, ERROR_INPUT, "[%zu]: \"%s\" %s", i,
					 written.expr, reason);
		}
		item->severity = written.severity;
		list->count++;
	}
	return 0;
}
