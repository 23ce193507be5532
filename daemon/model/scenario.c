// SPDX-License-Identifier: MIT
#include "model/scenario.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/connections.h"
#include "model/footprint.h"
#include "model/histogram.h"
#include "model/load.h"
#include "util/units.h"

const char *const topology_type_names[] = { "pairs", "ring",   "full_mesh", "star",
					    "rail",  "sample", "loopback",  NULL };
const char *const schedule_on_names[] = { "manual", "startup", NULL };

#define S_NS 1000000000ull
#define DAY_NS (24 * 3600 * S_NS)

#define SCENARIO(member) .offset = offsetof(struct scenario, member)
#define LATER(name, instead)                                      \
	{                                                         \
		.key = name, .type = SCHEMA_LATER, .doc = instead \
	}
#define RANGE(low, high) .min = (low), .max = (high)

#define SELECTOR_FUNCTIONS                                               \
	.size = sizeof(struct selector), .parse = labels_parse_selector, \
	.write = labels_write_selector, .read = labels_read_selector

static const struct schema_field peers_fields[] = {
	{ .key = "from",
	  .type = SCHEMA_CUSTOM,
	  .offset = offsetof(struct scenario_peers, from),
	  SELECTOR_FUNCTIONS,
	  .fallback = "*",
	  .doc = "Initiators: \"*\", \"role=compute,rack!=r1\" (comma = and), or a list of such (or)." },
	{ .key = "to",
	  .type = SCHEMA_CUSTOM,
	  .offset = offsetof(struct scenario_peers, to),
	  SELECTOR_FUNCTIONS,
	  .fallback = "*",
	  .doc = "Responders, likewise." },
	{ 0 },
};

static const struct schema_field topology_fields[] = {
	{ .key = "type",
	  .type = SCHEMA_ENUM,
	  .offset = offsetof(struct topology_settings, type),
	  .names = topology_type_names,
	  .fallback = "pairs",
	  .doc = "Who meets whom; pairs: every from with every to. This version has pairs." },
	{ .key = "directed",
	  .type = SCHEMA_BOOL,
	  .offset = offsetof(struct topology_settings, is_directed),
	  .fallback = "false",
	  .doc = "true: A to B and B to A; false: each pair once, from the lexically smaller name." },
	{ .key = "max_pairs",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct topology_settings, max_pairs),
	  RANGE(1, LIMIT_PAIRS),
	  .fallback = "4096",
	  .doc = "A run that would have more pairs is refused." },
	LATER("count", "use pairs with narrower selectors"),
	LATER("seed", "use pairs with narrower selectors"),
	{ 0 },
};

static const struct schema_field schedule_fields[] = {
	{ .key = "on",
	  .type = SCHEMA_FLAGS,
	  .offset = offsetof(struct schedule, on),
	  .names = schedule_on_names,
	  .fallback = "[manual]",
	  .doc = "Events that start it: manual (rdmatestctl run), startup (of the daemon)." },
	{ .key = "every",
	  .json_key = "every_ns",
	  .type = SCHEMA_DURATION,
	  .offset = offsetof(struct schedule, every_ns),
	  RANGE(0, 365 * DAY_NS),
	  .fallback = "0",
	  .doc = "Start to start; 0: not by time." },
	{ .key = "jitter",
	  .json_key = "jitter_ns",
	  .type = SCHEMA_DURATION,
	  .offset = offsetof(struct schedule, jitter_ns),
	  RANGE(0, 365 * DAY_NS),
	  .fallback = "0",
	  .doc = "Moves the starts by time of a node by up to so long, the same for a node and scenario each time: the period stays exact. Below every." },
	{ .key = "start_delay",
	  .json_key = "start_delay_ns",
	  .type = SCHEMA_DURATION,
	  .offset = offsetof(struct schedule, start_delay_ns),
	  RANGE(0, DAY_NS),
	  .fallback = "0",
	  .doc = "From the daemon's start to the first start by time or startup." },
	LATER("once", "use on: [startup], or start it by hand"),
	LATER("continuous", "use every"),
	LATER("missed", "leave it out: a start that comes while a run goes on waits in the queue"),
	{ 0 },
};

#define SECTION(name, table, required, text)                                                     \
	{                                                                                        \
		.key = #name, .type = SCHEMA_MAP, .is_required = (required),                     \
		.offset = offsetof(struct scenario, workload) + offsetof(struct workload, name), \
		.fields = (table), .doc = (text)                                                 \
	}

const struct schema_field scenario_fields[] = {
	{ .key = "name",
	  .type = SCHEMA_NAME,
	  .is_required = true,
	  .example = "name: ring",
	  SCENARIO(name),
	  .size = LIMIT_NAME,
	  .doc = "Unique over all files; in results, metrics and commands." },
	{ .key = "description",
	  .type = SCHEMA_STRING,
	  SCENARIO(description),
	  .size = LIMIT_TEXT,
	  .doc = "For people." },
	{ .key = "labels",
	  .type = SCHEMA_CUSTOM,
	  SCENARIO(labels),
	  .size = sizeof(struct labels),
	  .parse = labels_parse,
	  .write = labels_write,
	  .read = labels_read,
	  .doc = "Map of labels, copied to results." },
	{ .key = "enabled",
	  .type = SCHEMA_BOOL,
	  SCENARIO(is_enabled),
	  .fallback = "true",
	  .doc = "false: never started, by nobody." },
	{ .key = "disruptive",
	  .type = SCHEMA_BOOL,
	  SCENARIO(is_disruptive),
	  .fallback = "false",
	  .doc = "true: it may put over 5 % of its rate on a port; it waits for ports that others use. Such a load must say so." },
	{ .key = "peers",
	  .type = SCHEMA_MAP,
	  SCENARIO(peers),
	  .fields = peers_fields,
	  .doc = "Which nodes." },
	{ .key = "topology",
	  .type = SCHEMA_MAP,
	  SCENARIO(topology),
	  .fields = topology_fields,
	  .doc = "Which pairs." },
	{ .key = "schedule",
	  .type = SCHEMA_MAP,
	  SCENARIO(schedule),
	  .fields = schedule_fields,
	  .doc = "When it starts." },
	SECTION(qp, qp_fields, false, "Queue pairs and their path."),
	SECTION(cq, cq_fields, false, "The completion queue."),
	SECTION(workload, workload_fields, true, "What is done."),
	SECTION(run, run_fields, false, "How long it runs."),
	SECTION(cpu, cpu_fields, false, "Where the tester runs."),
	SECTION(memory, memory_fields, false, "The buffers."),
	{ .key = "expect",
	  .type = SCHEMA_CUSTOM,
	  SCENARIO(expect),
	  .size = sizeof(struct expectations),
	  .parse = expectation_parse_list,
	  .write = expectation_write_list,
	  .read = expectation_read_list,
	  .doc = "List of expectations, such as \"write.latency.p99 <= 500us\", or {expr, severity: fail or warn}." },
	LATER("extends", "write the scenario whole"),
	LATER("exclusive", "leave it out: one run at a time uses an endpoint"),
	LATER("priority", "leave it out: runs queue in order"),
	LATER("sweep", "write a scenario for each point"),
	LATER("baseline", "write the value into expect"),
	LATER("path_variation", "write a scenario for each qp.flow_label"),
	LATER("reports", "use rdmatestctl results --json"),
	{ 0 },
};

/* --- combinations --- */

struct check {
	workload_report_fn report;
	void *arg;
	unsigned count;
};

__attribute__((format(printf, 4, 5))) static void
complain(struct check *check, const char *field, const char *other, const char *format, ...)
{
	char sentence[LIMIT_TEXT];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	check->count++;
	if (check->report) {
		check->report(check->arg, field, other, sentence);
	}
}

static void check_schedule(struct check *check, const struct schedule *schedule)
{
	char is[UNITS_SIZE], may[UNITS_SIZE];

	if (schedule->on == 0 && schedule->every_ns == 0) {
		complain(
			check, "schedule.on", "schedule.every",
			"is empty and schedule.every is not given: nothing would ever start it; add manual");
	}
	if (schedule->every_ns && schedule->every_ns < S_NS) {
		complain(check, "schedule.every", NULL, "%s is below 1s",
			 units_write_duration(schedule->every_ns, is));
	}
	if (schedule->jitter_ns && schedule->every_ns == 0) {
		complain(
			check, "schedule.jitter", "schedule.every",
			"spreads starts by time, and schedule.every is not given; give it, or leave jitter out");
	} else if (schedule->jitter_ns && schedule->jitter_ns >= schedule->every_ns) {
		complain(check, "schedule.jitter", "schedule.every",
			 "%s is not below schedule.every %s",
			 units_write_duration(schedule->jitter_ns, is),
			 units_write_duration(schedule->every_ns, may));
	}
	if (schedule->start_delay_ns && schedule->every_ns == 0 &&
	    !(schedule->on & SCHEDULE_STARTUP)) {
		complain(
			check, "schedule.start_delay", "schedule.on",
			"delays starts by time or at startup, and there are none; add startup to schedule.on, "
			"give schedule.every, or leave start_delay out");
	}
}

/* A run that takes longer than from start to start would never let another one of its endpoints
 * run. */
static void check_period(struct check *check, const struct scenario *scenario)
{
	uint64_t expected_ns = workload_expected_ns(&scenario->workload);
	char is[UNITS_SIZE], may[UNITS_SIZE];

	if (scenario->schedule.every_ns && expected_ns != UINT64_MAX &&
	    expected_ns >= scenario->schedule.every_ns) {
		complain(
			check, "schedule.every", "run.duration",
			"%s is not above warm-up and duration of one measurement, %s; use a longer one",
			units_write_duration(scenario->schedule.every_ns, is),
			units_write_duration(expected_ns, may));
	}
}

static void check_footprint(struct check *check, const struct scenario *scenario)
{
	struct footprint footprint;
	char said[LIMIT_TEXT / 2];

	footprint_of(&scenario->workload, &footprint);
	if (footprint_is_disruptive(&footprint) && !scenario->is_disruptive) {
		footprint_say(&footprint, said, sizeof(said));
		complain(
			check, "disruptive", "workload.pattern",
			"must be true: %s, above %d %%; write disruptive: true (it then waits for ports that others use), "
			"%s",
			said, FOOTPRINT_LIMIT_PERCENT,
			footprint.is_connecting
				? "or a lower qp.num_qps"
				: "a lower rate or max_outstanding of an open load, or a pingpong of operations of 2KiB or less "
				  "on average");
	}
}

static bool is_of_intervals(const struct expectation *expectation)
{
	return (expectation->metric == METRIC_BANDWIDTH ||
		expectation->metric == METRIC_OPS_RATE) &&
	       expectation->statistic != STATISTIC_MEAN;
}

/* What pattern connect has, and others have not. */
static void check_phases(struct check *check, const struct scenario *scenario, size_t index)
{
	const struct expectation *expectation = &scenario->expect.items[index];
	bool is_connecting = workload_is_connecting(&scenario->workload);
	char field[32];

	snprintf(field, sizeof(field), "expect[%zu]", index);
	if (expectation->phase >= 0 && !is_connecting) {
		complain(
			check, field, "workload.pattern",
			"\"%s\" is about a phase of connections, and only pattern connect measures them: it could "
			"never be judged; leave it out",
			expectation->text);
	}
	if (expectation->phase >= 0 && !connections_has_phase(true, expectation->phase)) {
		complain(
			check, field, NULL,
			"\"%s\" is about a phase of the responder, and expectations are about the initiator; use "
			"connect.latency, which has it inside",
			expectation->text);
	}
	if (is_connecting && expectation->metric == METRIC_BANDWIDTH) {
		complain(
			check, field, "workload.pattern",
			"\"%s\" is about bandwidth, and pattern connect moves nothing; use ops_rate, which is of "
			"connections",
			expectation->text);
	}
}

static void check_expectations(struct check *check, const struct scenario *scenario)
{
	for (size_t i = 0; i < scenario->expect.count; i++) {
		const struct expectation *expectation = &scenario->expect.items[i];
		char field[32];

		check_phases(check, scenario, i);
		if (expectation_is_of_open_load(expectation) &&
		    !load_is_open(&scenario->workload)) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(
				check, field, "workload.load.model",
				"\"%s\" is about an open load, and this one is closed: it could never be judged; leave it "
				"out, or write load.model: open",
				expectation->text);
		}
		if (expectation->metric == METRIC_LOST_OPS &&
		    (!workload_is_lossy(&scenario->workload) ||
		     scenario->workload.workload.pattern != PATTERN_STREAM)) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(
				check, field, "qp.qp_type",
				"\"%s\" is about messages that are lost without an error, and only a stream on UC or UD has such; "
				"leave it out, or write errors == 0",
				expectation->text);
		}
		if (expectation->metric == METRIC_VERIFY_ERRORS &&
		    !workload_is_verified(&scenario->workload)) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(
				check, field, "workload.verify.method",
				"\"%s\" is about verified payload, and none is: it could never be judged; leave it out, or write "
				"workload.verify: { method: sequence }",
				expectation->text);
		}
		if (is_of_intervals(expectation) && workload_is_lossy(&scenario->workload) &&
		    scenario->workload.workload.pattern == PATTERN_STREAM) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(
				check, field, "qp.qp_type",
				"\"%s\" is about single intervals, and of a stream on UC or UD what arrived is known of the whole "
				"run alone; use mean",
				expectation->text);
		}
		if (expectation->kind >= 0 &&
		    !operation_has(scenario->workload.workload.ops,
				   scenario->workload.workload.op_count, expectation->kind)) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(
				check, field, "workload.ops",
				"\"%s\" is about %s, and workload.ops has none: it could never be met",
				expectation->text, operation_names[expectation->kind]);
		}
	}
}

/* A percentile of fewer samples than lie beyond it is no number: the judge would never have one. */
static void check_samples(struct check *check, const struct scenario *scenario)
{
	uint64_t iterations = scenario->workload.run.iterations;

	for (size_t i = 0; iterations > 0 && i < scenario->expect.count; i++) {
		const struct expectation *expectation = &scenario->expect.items[i];
		uint64_t needed;
		char field[32];

		if (!expectation_is_latency(expectation) ||
		    expectation->statistic != STATISTIC_PERCENTILE) {
			continue;
		}
		needed = histogram_needed_count(expectation->percentile_ppm);
		if (iterations < needed) {
			snprintf(field, sizeof(field), "expect[%zu]", i);
			complain(check, field, "run.iterations",
				 "\"%s\" needs %" PRIu64 " samples, and run.iterations is %" PRIu64
				 ": it could never be judged; use %" PRIu64
				 " iterations or more, or a lower percentile",
				 expectation->text, needed, iterations, needed);
		}
	}
}

unsigned scenario_check(struct scenario *scenario, workload_report_fn report, void *arg)
{
	struct check check = { .report = report, .arg = arg };

	workload_complete(&scenario->workload);
	if (scenario->topology.type != TOPOLOGY_PAIRS) {
		complain(
			&check, "topology.type", NULL,
			"\"%s\" is not in this version; pairs is: choose the nodes by peers.from and peers.to",
			topology_type_names[scenario->topology.type]);
	}
	check.count += workload_check(&scenario->workload, report, arg);
	check_schedule(&check, &scenario->schedule);
	check_period(&check, scenario);
	check_footprint(&check, scenario);
	check_expectations(&check, scenario);
	check_samples(&check, scenario);
	return check.count;
}
