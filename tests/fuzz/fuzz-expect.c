// SPDX-License-Identifier: MIT
/*
 * The small languages inside of a configuration: expectations, with their evaluation, selectors,
 * numbers with units, addresses. The input is one such word, given to each of their parsers.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "judge/expect.h"
#include "model/labels.h"
#include "util/memory.h"
#include "util/net.h"
#include "util/text.h"
#include "util/units.h"

/* --- expectations --- */

static void fill_class(struct class_totals *class, int kind)
{
	class->class.kind = kind;
	class->posted = class->completed = 2000;
	class->bytes = 2000 * 4096;
	histogram_reset(&class->latency);
	for (uint64_t i = 1; i <= 2000; i++) {
		histogram_add(&class->latency, i * 1000);
	}
}

/* Both ends of a measurement that went well; made once, never freed. */
static struct measurement *measured(void)
{
	static struct measurement *measurement;
	struct totals *totals;

	if (measurement) {
		return measurement;
	}
	measurement = memory_new(sizeof(*measurement));
	totals = &measurement->initiator.totals;
	measurement->initiator.has_totals = true;
	measurement->initiator.port.link_rate_bps = 100000000000;
	measurement->responder.port.link_rate_bps = 50000000000;
	measurement->assignment.workload.qp.path_mtu = 4096;
	totals->window_ns = 1000000000;
	totals->operations = 4000;
	totals->bytes = 4000 * 4096;
	totals->class_count = 2;
	totals->classes = memory_new_array(2, sizeof(*totals->classes));
	fill_class(&totals->classes[0], OPERATION_SEND);
	fill_class(&totals->classes[1], OPERATION_READ);
	totals->interval_count = 3;
	totals->intervals = memory_new_array(3, sizeof(*totals->intervals));
	totals->intervals[0] = (struct sample){ .end_ns = 500, .operations = 1, .bytes = 4096 };
	totals->intervals[1] = (struct sample){ .start_ns = 500, .end_ns = 1000, .operations = 2 };
	totals->intervals[2] = (struct sample){ .start_ns = 1000, .end_ns = 1001, .operations = 9 };
	return measurement;
}

static void evaluate(const struct expectation *expectation)
{
	_cleanup_free_ struct expectations *list = memory_new(sizeof(*list));
	struct measurement *measurement = measured();
	const struct expectation_result *result = &measurement->expectations[0];

	list->items[list->count++] = *expectation;
	expect_evaluate(measurement, list);
	assert(measurement->expectation_count == 1);
	assert(result->outcome == OUTCOME_INCONCLUSIVE || result->has_actual);
	assert((result->outcome == OUTCOME_INCONCLUSIVE) == (result->reason[0] != '\0'));
	fuzz_expect_readable(result->reason, false);
}

static void check_expectation(const char *word)
{
	struct expectation expectation = { 0 };
	struct expectation again = { 0 };
	const char *reason = expectation_parse(word, &expectation);

	if (reason) {
		assert(reason[0]);
		return;
	}
	assert(expectation.metric >= METRIC_LATENCY && expectation.metric < METRICS);
	assert(expectation.compare >= COMPARE_LE && expectation.compare <= COMPARE_NE);
	assert(expectation.kind >= -1 && expectation.kind < OPERATION_KINDS);
	assert((expectation.statistic == STATISTIC_PERCENTILE) == (expectation.percentile_ppm > 0));
	assert(expectation.percentile_ppm < 1000000);
	assert(expectation.limit >= 0);
	assert(!expectation.is_of_link_rate || expectation.limit <= 1);
	/* As it is kept, it means the same. */
	assert(!expectation_parse(expectation.text, &again));
	assert(memcmp(&expectation, &again, sizeof(again)) == 0);
	evaluate(&expectation);
	fuzz_accept();
}

/* --- selectors --- */

static void check_selector(const char *word)
{
	_cleanup_free_ struct selector *selector = memory_new(sizeof(*selector));
	_cleanup_free_ struct selector *back = memory_new(sizeof(*back));
	struct labels labels = { .count = 1, .items = { { .key = "role", .value = "compute" } } };
	struct error err = ERROR_INIT;
	const char *reason = labels_selector_parse(word, selector);
	json_t *json;

	if (reason) {
		assert(reason[0] && selector->count == 0);
		return;
	}
	json = labels_write_selector(NULL, selector);
	assert(labels_read_selector(NULL, json, back, &err) == 0);
	json_decref(json);
	assert(memcmp(selector, back, sizeof(*back)) == 0);
	assert(labels_selector_matches(selector, "node1", &labels) ==
	       labels_selector_matches(back, "node1", &labels));
	labels_selector_matches(selector, "node1", NULL);
	while (!labels_selector_parse(word, selector)) {
	}
	assert(selector->count == SELECTOR_ALTERNATIVES);
}

/* --- numbers --- */

static const struct {
	const char *(*parse)(const char *token, uint64_t *ret);
	const char *(*write)(uint64_t value, char *buf); /* exactly, or NULL */
} numbers[] = {
	{ units_parse_integer, NULL },
	{ units_parse_hex, NULL },
	{ units_parse_size, units_write_size },
	{ units_parse_duration, units_write_duration },
	{ units_parse_rate, units_write_rate },
	{ units_parse_ops_rate, units_write_ops_rate },
	{ units_parse_ratio, units_write_ratio },
};

static void check_numbers(const char *word)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t value = 7;
		uint64_t back = 7;
		char buf[UNITS_SIZE];
		const char *reason = numbers[i].parse(word, &value);

		if (reason) {
			assert(reason[0] && value == 7);
			fuzz_expect_readable(reason, false);
		} else if (numbers[i].write) {
			assert(!numbers[i].parse(numbers[i].write(value, buf), &back));
			assert(back == value);
		}
	}
}

/* --- addresses, names, and what people get to read --- */

static void check_address(const char *word)
{
	struct error err = ERROR_INIT;
	char host[256] = "untouched";
	uint16_t port = 0;

	if (net_split(word, 4711, host, &port, &err) < 0) {
		fuzz_expect_error(&err);
		assert(port == 0 && strcmp(host, "untouched") == 0);
		return;
	}
	assert(port > 0 && host[0]);
	fuzz_expect_readable(host, false);
}

static void check_text(const char *word)
{
	static const char *const words[] = { "latency", "bandwidth", NULL, "ops_rate", "errors" };
	const char *closest = text_closest(word, words, sizeof(words) / sizeof(words[0]));
	char quoted[TEXT_QUOTED_SIZE];
	char few[6];

	assert(text_quote(quoted, word) == quoted);
	fuzz_expect_readable(quoted, false);
	text_escape(few, sizeof(few), word);
	fuzz_expect_readable(few, false);
	assert(text_copy(few, sizeof(few), word) == (strlen(word) < sizeof(few)));
	assert(!text_is_utf8(word, strlen(word)) || text_is_utf8(few, strlen(few)));
	assert(!closest || text_distance(word, closest) <= strlen(word));
	assert(!text_is_name(word) || text_is_utf8(word, strlen(word)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *word = fuzz_string(data, size);

	check_expectation(word);
	check_selector(word);
	check_numbers(word);
	check_address(word);
	check_text(word);
	return 0;
}
