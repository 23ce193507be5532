// SPDX-License-Identifier: MIT
#include "ctl/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/field.h"
#include "ctl/hosts.h"
#include "ctl/operations.h"
#include "ctl/remarks.h"
#include "ctl/repeats.h"
#include "ctl/run_name.h"
#include "ctl/verdict_word.h"

#define GAP "   "

static void add_verdict(const json_t *record, struct paper *paper)
{
	const char *verdict = field_string(record, "verdict", NULL);
	char word[VERDICT_WORD_SIZE];

	if (verdict == NULL) {
		verdict = field_string(record, "state", "not over");
	}
	paper_add(paper, paper_tone_of(verdict), verdict_word(verdict, word));
}

static void add_endpoint(const json_t *end, struct paper *paper)
{
	const char *device = field_string(end, "device", "");

	/* A node that never told what it has has no device yet. */
	paper_format(paper, PAPER_PLAIN, "%s%s%s", field_string(end, "node", "-"),
		     device[0] != '\0' ? "/" : "", device);
}

static void add_endpoints(const json_t *measurement, struct paper *paper)
{
	bool is_mutual = field_find(measurement, "both") != NULL;

	add_endpoint(field_find(measurement, "initiator"), paper);
	paper_add(paper, PAPER_PLAIN, is_mutual ? " <-> " : " -> ");
	add_endpoint(field_find(measurement, "responder"), paper);
}

/* "10.0 s" when it ended as it should, "after 3.2 s of 10.0 s" when not. */
static void add_duration(const json_t *measurement, struct paper *paper)
{
	const char *end = field_string(measurement, "end", "");
	bool is_whole = strcmp(end, "duration") == 0 || strcmp(end, "iterations") == 0;
	char measured[UNITS_SIZE];
	char wanted[UNITS_SIZE];
	uint64_t wanted_ns;

	field_show_duration(measurement, "window_ns", measured);
	if (strcmp(measured, "-") == 0) {
		paper_add(paper, PAPER_PLAIN, "nothing measured");
		return;
	}
	paper_format(paper, PAPER_PLAIN, "%s%s", is_whole ? "" : "after ", measured);
	if (!is_whole && field_u64(measurement, "workload.run.duration_ns", &wanted_ns) &&
	    wanted_ns > 0) {
		paper_format(paper, PAPER_PLAIN, " of %s",
			     units_format_duration(wanted_ns, wanted));
	}
}

/* ", VLAN 10", or both when they differ; "" for none. */
static void add_vlan(const json_t *measurement, struct text *out)
{
	uint64_t from = 0;
	uint64_t to = 0;

	(void)field_u64(measurement, "initiator.vlan", &from);
	(void)field_u64(measurement, "responder.vlan", &to);
	if (from == to && from > 0) {
		text_format(out, ", VLAN %" PRIu64, from);
	} else if (from > 0 && to > 0) {
		text_format(out, ", VLAN %" PRIu64 " -> VLAN %" PRIu64, from, to);
	} else if (from > 0) {
		text_format(out, ", VLAN %" PRIu64 " -> no VLAN", from);
	} else if (to > 0) {
		text_format(out, ", no VLAN -> VLAN %" PRIu64, to);
	}
}

static void add_path(const json_t *measurement, struct text *out)
{
	const char *layer = field_string(measurement, "initiator.port.link_layer", "");
	uint64_t from = 0;
	uint64_t to = 0;

	if (strcmp(layer, "infiniband") == 0 &&
	    field_u64(measurement, "initiator.prepared.lid", &from) &&
	    field_u64(measurement, "responder.prepared.lid", &to)) {
		text_format(out, ", InfiniBand LID %" PRIu64 " -> %" PRIu64, from, to);
	} else if (strcmp(layer, "ethernet") == 0 &&
		   field_string(measurement, "initiator.prepared.gid", NULL) != NULL) {
		const char *type = field_string(measurement, "initiator.gid_type", "");

		text_format(out, ", RoCE%s %s -> %s",
			    strcmp(type, "roce_v2") == 0   ? " v2"
			    : strcmp(type, "roce_v1") == 0 ? " v1"
							   : "",
			    field_address(measurement, "initiator.prepared.gid"),
			    field_address(measurement, "responder.prepared.gid"));
		add_vlan(measurement, out);
	}
}

static bool is_open(const json_t *measurement)
{
	return strcmp(field_string(measurement, "workload.workload.load.model", ""), "open") == 0;
}

/* ", an open load of 200 kop/s, Poisson"; nothing of a closed one. */
static void add_open_load(const json_t *measurement, struct text *out)
{
	const json_t *load = field_find(measurement, "workload.workload.load");
	char rate[UNITS_SIZE];
	uint64_t ops_rate = 0;

	if (!is_open(measurement)) {
		return;
	}
	(void)field_u64(load, "ops_rate", &ops_rate);
	text_format(out, ", an open load of %s%s",
		    ops_rate > 0 ? field_show_ops_rate(load, "ops_rate", rate)
				 : field_show_rate(load, "rate_bps", rate),
		    strcmp(field_string(load, "arrival", ""), "poisson") == 0 ? ", Poisson" : "");
}

/* How the traffic went: "stream, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE ..."
 */
static void print_transport(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const char *pattern = field_string(measurement, "workload.workload.pattern", NULL);
	_cleanup_text_ struct text line = TEXT_INIT;
	uint64_t outstanding;
	uint64_t qps;
	uint64_t mtu;

	if (pattern == NULL) {
		return;
	}
	text_add(&line, strcmp(pattern, "pingpong") == 0 ? "ping-pong" : pattern);
	if (field_find(measurement, "both") != NULL) {
		text_add(&line, " each way");
	}
	add_open_load(measurement, &line);
	if (field_u64(measurement, "workload.workload.load.outstanding", &outstanding) &&
	    field_u64(measurement, "workload.qp.num_qps", &qps) && (outstanding > 1 || qps > 1)) {
		text_format(&line, ", %s%" PRIu64 " in flight over %" PRIu64 " queue pair%s",
			    is_open(measurement) ? "at most " : "", outstanding, qps,
			    qps == 1 ? "" : "s");
	}
	text_format(&line, ", %s %s", field_string(measurement, "workload.qp.qp_type", "-"),
		    field_string(measurement, "workload.qp.cm", "-"));
	if (field_u64(measurement, "initiator.prepared.path_mtu_bytes", &mtu)) {
		text_format(&line, ", MTU %" PRIu64, mtu);
	}
	add_path(measurement, &line);
	paper_paragraph(paper, PAPER_PLAIN, indent, line.data);
}

/* How far the numbers can be trusted. */
static void print_conditions(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const char *clock = field_string(measurement, "initiator.clock.source", NULL);
	_cleanup_text_ struct text line = TEXT_INIT;
	char duration[UNITS_SIZE];
	char count[UNITS_SIZE];
	double share;

	if (clock == NULL) {
		return;
	}
	text_format(&line, "clock %s", clock);
	if (field_find(measurement, "accepted_to_first_post_ns") != NULL) {
		text_format(&line, " · first post after %s",
			    field_show_duration(measurement, "accepted_to_first_post_ns",
						duration));
	}
	if (field_real(measurement, "initiator.worker.cpu_share", &share)) {
		text_format(&line, " · worker had %.0f %% of a CPU, preempted %s times",
			    share * 100,
			    field_show_count(measurement, "initiator.worker.involuntary_switches",
					     count));
	}
	paper_paragraph(paper, PAPER_DIM, indent, line.data);
}

static void print_body(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const json_t *findings = field_array(measurement, "findings");
	bool has_passed = strcmp(field_string(measurement, "verdict", ""), "pass") == 0;

	print_transport(measurement, paper, indent);
	remarks_print_error(field_find(measurement, "first_error"), "first error", paper, indent);
	/* Why it did not pass comes before the numbers, what is remarkable about a pass behind
	 * them. */
	remarks_print_findings(has_passed ? NULL : findings, paper, indent);
	operations_print(measurement, paper, indent);
	remarks_print_expectations(field_array(measurement, "expect"), paper, indent);
	remarks_print_findings(has_passed ? findings : NULL, paper, indent);
	print_conditions(measurement, paper, indent);
	hosts_print(measurement, paper, indent);
}

/* "2 pairs: 1 fail, 1 pass", the bad ones first. */
static void add_counts(const json_t *run, size_t pairs, struct paper *paper)
{
	bool is_first = true;

	paper_format(paper, PAPER_PLAIN, "%zu pair%s", pairs, pairs == 1 ? "" : "s");
	for (int verdict = VERDICT_COUNT - 1; verdict > VERDICT_NONE; verdict--) {
		char place[64];
		uint64_t count;

		snprintf(place, sizeof(place), "counts.%s", verdict_names[verdict]);
		if (field_u64(run, place, &count) && count > 0) {
			paper_add(paper, PAPER_PLAIN, is_first ? ": " : ", ");
			paper_format(paper, paper_tone_of(verdict_names[verdict]), "%" PRIu64 " %s",
				     count, verdict_names[verdict]);
			is_first = false;
		}
	}
}

static void add_took(const json_t *run, struct paper *paper)
{
	char took[UNITS_SIZE];

	if (field_find(run, "duration_ns") != NULL) {
		paper_format(paper, PAPER_PLAIN, GAP "took %s",
			     field_show_duration(run, "duration_ns", took));
	}
}

static void print_pair(const json_t *measurement, bool is_full, struct paper *paper)
{
	_cleanup_text_ struct text sum = TEXT_INIT;

	paper_fill(paper, 2, 0);
	add_verdict(measurement, paper);
	paper_add(paper, PAPER_PLAIN, "  ");
	add_endpoints(measurement, paper);
	paper_add(paper, PAPER_PLAIN, GAP);
	add_duration(measurement, paper);
	if (is_full) {
		paper_newline(paper);
		print_body(measurement, paper, 4);
		return;
	}
	operations_sum_up(measurement, &sum);
	if (sum.length > 0) {
		paper_add(paper, PAPER_PLAIN, GAP);
		paper_wrap(paper, PAPER_PLAIN, 4, sum.data);
	}
	paper_newline(paper);
}

static void print_pairs(const json_t *measurements, bool is_full, struct paper *paper)
{
	size_t count = json_array_size(measurements);

	for (int badness = VERDICT_COUNT; badness >= 0; badness--) {
		for (size_t i = 0; i < count; i++) {
			const json_t *measurement = json_array_get(measurements, i);
			const char *verdict = field_string(measurement, "verdict", "");

			if (verdict_word_badness(verdict) == badness) {
				print_pair(measurement,
					   is_full || count <= RESULT_FULL_PAIRS ||
						   strcmp(verdict, "pass") != 0,
					   paper);
			}
		}
	}
}

static void print_footer(const json_t *run, struct paper *paper)
{
	const char *id = field_string(run, "id", "-");
	char name[RUN_NAME_SIZE];
	char time[UNITS_SIZE];

	paper_fill(paper, 2, 0);
	paper_format(paper, PAPER_DIM, "run %s · %s · rdmatestctl results %s", id,
		     field_show_time(run, "started_at", time), run_name_short(id, name));
	paper_newline(paper);
}

void result_print(const json_t *run, bool is_full, struct paper *paper)
{
	const json_t *measurements = field_array(run, "measurements");
	bool is_over = strcmp(field_string(run, "state", "done"), "done") == 0;
	const json_t *only = json_array_size(measurements) == 1 ? json_array_get(measurements, 0)
								: NULL;

	add_verdict(run, paper);
	paper_add(paper, PAPER_PLAIN, "  ");
	paper_add(paper, PAPER_STRONG, field_string(run, "scenario", "-"));
	paper_add(paper, PAPER_PLAIN, GAP);
	if (only != NULL) {
		add_endpoints(only, paper);
		paper_add(paper, PAPER_PLAIN, GAP);
		add_duration(only, paper);
	} else if (json_array_size(measurements) > 0) {
		add_counts(run, json_array_size(measurements), paper);
		add_took(run, paper);
	} else {
		paper_add(paper, PAPER_PLAIN, is_over ? "nothing ran" : "no pair has begun");
	}
	paper_newline(paper);
	if (only == NULL || field_find(only, "first_error") == NULL) {
		/* Else the only pair says the same below. */
		remarks_print_error(field_find(run, "error"), "error", paper, 2);
		remarks_print_findings(field_array(run, "findings"), paper, 2);
	}
	if (only != NULL) {
		print_body(only, paper, 2);
	} else {
		print_pairs(measurements, is_full, paper);
	}
	repeats_print(field_array(run, "repeats"), paper, 2);
	print_footer(run, paper);
}
