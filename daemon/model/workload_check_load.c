// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "model/load.h"
#include "model/workload_check.h"
#include "util/units.h"

#define OPS_RATE_MOST 100e6 /* no loop posts more */
#define OPEN_CLASSES_MOST (LIMIT_CLASSES / 2) /* each has two histograms */
#define GAP_MOST_S 3600.0

/* What is only said of the other kind of load would do nothing. */
static void complain_of_open(struct workload_check *check, const char *field, const char *value)
{
	workload_check_complain(check, field, "workload.load.model",
				"%s is for open loads; write model: open, or leave it out", value);
}

static void check_closed(struct workload_check *check)
{
	const struct load_settings *load = &check->workload->workload.load;
	char value[UNITS_SIZE];

	if (load->rate_bps > 0) {
		complain_of_open(check, "workload.load.rate",
				 units_write_rate(load->rate_bps, value));
	}
	if (load->ops_rate > 0) {
		complain_of_open(check, "workload.load.ops_rate",
				 units_write_ops_rate(load->ops_rate, value));
	}
	if (load->arrival != ARRIVAL_CONSTANT) {
		complain_of_open(check, "workload.load.arrival", "poisson");
	}
	if (load->max_outstanding != SCHEMA_AUTO) {
		workload_check_complain(check, "workload.load.max_outstanding",
					"workload.load.model",
					"%" PRIu64
					" is for open loads; use outstanding, or write model: open",
					load->max_outstanding);
	}
	if (load->on_full != ON_FULL_DELAY) {
		complain_of_open(check, "workload.load.on_full", "drop");
	}
}

static void check_rate(struct workload_check *check)
{
	const struct load_settings *load = &check->workload->workload.load;
	double ops_per_s = load_ops_per_s(check->workload);
	char rate[UNITS_SIZE], ops_rate[UNITS_SIZE];

	units_write_rate(load->rate_bps, rate);
	units_write_ops_rate(load->ops_rate, ops_rate);
	if (load->rate_bps > 0 && load->ops_rate > 0) {
		workload_check_complain(check, "workload.load.rate", "workload.load.ops_rate",
					"%s and ops_rate %s both say how much; give one of them",
					rate, ops_rate);
	} else if (load->rate_bps == 0 && load->ops_rate == 0) {
		workload_check_complain(
			check, "workload.load.model", NULL,
			"open needs a rate; give load.ops_rate (such as 1000/s) or load.rate (such as 1Gbps)");
	} else if (ops_per_s <= 0) {
		workload_check_complain(
			check, "workload.load.rate", "workload.ops",
			"%s says nothing of operations without payload; use load.ops_rate", rate);
	} else if (ops_per_s > OPS_RATE_MOST || ops_per_s * GAP_MOST_S < 1) {
		workload_check_complain(
			check, load->ops_rate > 0 ? "workload.load.ops_rate" : "workload.load.rate",
			"workload.ops",
			"%s is %g operations a second; it must be one an hour to 100M/s",
			load->ops_rate > 0 ? ops_rate : rate, ops_per_s);
	}
}

/* How long iterations take is known here. */
static void check_length(struct workload_check *check)
{
	const struct run_settings *run = &check->workload->run;
	double ops_per_s = load_ops_per_s(check->workload);
	double needed_ns = (double)run->warmup_ns;
	char needed[UNITS_SIZE], timeout[UNITS_SIZE];

	if (run->iterations == 0 || ops_per_s <= 0) {
		return;
	}
	needed_ns += (double)run->iterations * 1e9 / ops_per_s;
	if (needed_ns >= (double)workload_timeout_ns(check->workload)) {
		workload_check_complain(
			check, "run.iterations", "run.timeout",
			"%" PRIu64
			" at %g a second take %s with the warm-up, and run.timeout ends it after %s; use fewer, or "
			"raise run.timeout",
			run->iterations, ops_per_s,
			units_format_duration(needed_ns < 1e19 ? (uint64_t)needed_ns : UINT64_MAX,
					      needed),
			units_format_duration(workload_timeout_ns(check->workload), timeout));
	}
}

static void check_classes(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	size_t classes = 0;

	for (size_t i = 0; i < settings->op_count; i++) {
		classes += settings->ops[i].size_count;
	}
	if (classes > OPEN_CLASSES_MOST && classes <= LIMIT_CLASSES) {
		workload_check_complain(
			check, "workload.ops", "workload.load.model",
			"%zu pairs of operation and size are above %d; each of an open load keeps two latencies, use "
			"fewer",
			classes, OPEN_CLASSES_MOST);
	}
}

static void check_each(struct workload_check *check, const char *field, uint64_t value)
{
	if (value != 1) {
		workload_check_complain(
			check, field, "workload.load.model",
			"%" PRIu64
			" does not go with an open load, which posts each operation at its own time and "
			"measures each; use 1",
			value);
	}
}

static void check_open(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;

	if (workload_is_connecting(check->workload)) {
		workload_check_complain(
			check, "workload.load.model", "workload.pattern",
			"open does not go with pattern connect, whose next connection begins when one is gone; leave "
			"load out");
		return;
	}
	if (settings->pattern != PATTERN_STREAM) {
		workload_check_complain(
			check, "workload.load.model", "workload.pattern",
			"open does not go with pattern %s, whose next operation waits for an answer; use "
			"pattern stream",
			workload_pattern_names[settings->pattern]);
		return;
	}
	if (settings->load.outstanding != settings->load.max_outstanding) {
		workload_check_complain(
			check, "workload.load.outstanding", "workload.load.model",
			"%" PRIu64 " is for closed loads; leave it out, or use max_outstanding",
			settings->load.outstanding);
	}
	check_each(check, "workload.signal_interval", settings->signal_interval);
	check_each(check, "workload.post_list", settings->post_list);
	check_rate(check);
	check_length(check);
	check_classes(check);
}

void workload_check_load(struct workload_check *check)
{
	if (load_is_open(check->workload)) {
		check_open(check);
	} else {
		check_closed(check);
	}
}
