// SPDX-License-Identifier: MIT
#include "judge/host_evidence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
#include "util/units.h"

/* A polling worker uses all of a CPU, or it was put aside. */
#define STARVED_SHARE 0.90
#define SHORT_SHARE 0.98
#define MANY_SWITCHES_PER_S 20.0
/* What lacks above that makes no number so much worse that somebody expected another one. */
#define QUIET_SHARE 0.95
#define MIN_WINDOW_NS 100000000u
/* Of what lacks, to have a name for it. */
#define NAMED_SHARE 0.5
#define SLOW_SHARE 0.75
/* A bus needs this much more than the port for its own headers and answers. */
#define BUS_ROOM 1.25
/* Of what the bus carries: then it is nearly full, whatever else there is. */
#define BUS_FULL_SHARE 0.6
/* enum ibv_wc_status; judge/ knows no verbs. */
#define STATUS_RNR_RETRY_EXC 13

static bool is_known(uint64_t value)
{
	return value != HOST_UNKNOWN;
}

static uint64_t known_or_0(const struct participant *end, uint64_t value)
{
	return end->totals.host.is_read && is_known(value) ? value : 0;
}

/* One that sleeps until completions come uses less of it by itself. */
static bool has_share(const struct measurement *m, const struct participant *end)
{
	return m->assignment.workload.cq.mode == CQ_MODE_POLL &&
	       !workload_is_connecting(&m->assignment.workload) && end->has_totals &&
	       end->totals.window_ns >= MIN_WINDOW_NS && end->totals.worker_cpu_ns > 0;
}

static double share_of(const struct participant *end)
{
	return (double)end->totals.worker_cpu_ns / (double)end->totals.window_ns;
}

static double switches_per_s(const struct participant *end)
{
	return (double)end->totals.involuntary_switches * 1e9 / (double)end->totals.window_ns;
}

static bool is_stall(const struct measurement *m)
{
	return strcmp(m->first_error.error.call, "stall") == 0;
}

/* In one piece: longer than half of what makes a stall. */
static bool was_away(const struct measurement *m, const struct participant *end)
{
	uint64_t gap_ns = known_or_0(end, end->totals.host.longest_gap_ns);

	return end->has_totals && is_stall(m) && gap_ns > 0 &&
	       gap_ns >= m->assignment.workload.run.stall_timeout_ns / 2;
}

enum taker { TAKER_UNKNOWN, TAKER_CGROUP, TAKER_HYPERVISOR };

static enum taker taker_of(const struct measurement *m, const struct participant *end)
{
	const struct host_report *host = &end->totals.host;
	double missing_ns = 0;

	if (has_share(m, end)) {
		missing_ns = (1 - share_of(end)) * (double)end->totals.window_ns;
	} else {
		missing_ns = (double)known_or_0(end, host->longest_gap_ns);
	}
	if (missing_ns <= 0) {
		return TAKER_UNKNOWN;
	}
	if ((double)known_or_0(end, host->throttled_ns) >= NAMED_SHARE * missing_ns) {
		return TAKER_CGROUP;
	}
	return (double)known_or_0(end, host->stolen_ns) >= NAMED_SHARE * missing_ns
		       ? TAKER_HYPERVISOR
		       : TAKER_UNKNOWN;
}

/* enum confidence, or -1: nothing says so. */
static int starvation_of(const struct measurement *m, const struct participant *end)
{
	bool is_starved = was_away(m, end) || (has_share(m, end) && share_of(end) < STARVED_SHARE);

	if (is_starved) {
		return taker_of(m, end) == TAKER_UNKNOWN ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN;
	}
	return has_share(m, end) && (share_of(end) < SHORT_SHARE ||
				     switches_per_s(end) >= MANY_SWITCHES_PER_S)
		       ? CONFIDENCE_POSSIBLE
		       : -1;
}

bool host_evidence_is_starved(const struct measurement *measurement, const struct participant *end)
{
	return starvation_of(measurement, end) >= CONFIDENCE_LIKELY;
}

bool host_evidence_is_starved_receiver(const struct measurement *measurement)
{
	return host_evidence_is_starved(measurement, &measurement->responder) ||
	       (run_is_mutual(measurement) &&
		host_evidence_is_starved(measurement, &measurement->initiator));
}

static bool lacks_more(const struct measurement *m, const struct participant *a,
		       const struct participant *b)
{
	int first = starvation_of(m, a);
	int second = starvation_of(m, b);

	if (first != second || !has_share(m, a) || !has_share(m, b)) {
		return first > second;
	}
	return share_of(a) < share_of(b);
}

/* The other end than the one that was told that nobody is ready. */
static const struct participant *receiver_of(const struct measurement *m)
{
	return strcmp(m->first_error.node, m->responder.endpoint.node) == 0 ? &m->initiator
									    : &m->responder;
}

static bool is_receiver_error(const struct measurement *m)
{
	return m->first_error.error.kind == ERROR_KIND_WC_STATUS &&
	       m->first_error.error.number == STATUS_RNR_RETRY_EXC;
}

/* Whose starvation counts: the one that explains an error, else the worse one. */
static const struct participant *suspect_of(const struct measurement *m)
{
	if (error_is_set(&m->first_error.error) && is_receiver_error(m) &&
	    starvation_of(m, receiver_of(m)) >= CONFIDENCE_LIKELY) {
		return receiver_of(m);
	}
	return lacks_more(m, &m->responder, &m->initiator) ? &m->responder : &m->initiator;
}

bool host_evidence_explains_error(const struct measurement *m)
{
	if (!error_is_set(&m->first_error.error)) {
		return false;
	}
	if (is_stall(m)) {
		return starvation_of(m, &m->initiator) >= CONFIDENCE_LIKELY ||
		       starvation_of(m, &m->responder) >= CONFIDENCE_LIKELY;
	}
	return is_receiver_error(m) && starvation_of(m, receiver_of(m)) >= CONFIDENCE_LIKELY;
}

/* --- sentences --- */

/* "throttled 18 times, 1.7 s", where it was read and is not nothing. */
static void add_withheld(const struct participant *end, struct text *out)
{
	const struct host_report *host = &end->totals.host;
	char duration[UNITS_SIZE];

	if (known_or_0(end, host->throttled_ns) > 0) {
		text_format(out,
			    "; cpu.max of its control group held threads of the daemon %" PRIu64
			    " times, for %s in all",
			    known_or_0(end, host->throttled_periods),
			    units_format_duration(host->throttled_ns, duration));
	}
	if (known_or_0(end, host->stolen_ns) > 0) {
		text_format(out, "; the hypervisor took %s of its CPUs",
			    units_format_duration(host->stolen_ns, duration));
	}
	if (end->totals.host.is_read && !is_known(host->throttled_ns)) {
		text_add(out, "; whether a control group throttled it cannot be read there");
	}
}

static void add_slow(const struct participant *end, struct text *out)
{
	const struct host_report *host = &end->totals.host;
	uint64_t now_hz = known_or_0(end, host->frequency_hz);
	uint64_t max_hz = known_or_0(end, host->max_frequency_hz);

	if (now_hz > 0 && (double)now_hz < SLOW_SHARE * (double)max_hz) {
		text_format(out, "; its CPU %" PRIu64 " ran at %.3g of %.3g GHz", host->cpu,
			    (double)now_hz / 1e9, (double)max_hz / 1e9);
	}
	if (end->totals.host.is_read && is_known(host->cpu_numa_node) &&
	    is_known(host->device_numa_node) && host->cpu_numa_node != host->device_numa_node) {
		text_format(out,
			    "; its CPU %" PRIu64 " is on NUMA node %" PRIu64
			    ", the device on %" PRIu64,
			    host->cpu, host->cpu_numa_node, host->device_numa_node);
	}
}

static void write_evidence(const struct measurement *m, const struct participant *end,
			   struct text *out)
{
	const struct host_report *host = &end->totals.host;
	char gap[UNITS_SIZE];

	if (has_share(m, end)) {
		text_format(
			out,
			"the measuring thread had %.1f %% of a CPU while polling, and was put aside %" PRIu64
			" times (%.3g/s)",
			100 * share_of(end), end->totals.involuntary_switches, switches_per_s(end));
	}
	if (known_or_0(end, host->longest_gap_ns) > 0) {
		text_format(out, "%sfrom one look to the next at most %s",
			    out->length ? "; " : "the measuring thread took ",
			    units_format_duration(host->longest_gap_ns, gap));
	}
	add_withheld(end, out);
	if (known_or_0(end, host->span_ns) > 0 && known_or_0(end, host->cpu_pressure_ns) > 0) {
		text_format(out, "; somebody waited for a CPU %.0f %% of the time",
			    100 * (double)host->cpu_pressure_ns / (double)host->span_ns);
	}
	add_slow(end, out);
}

static const char *taker_words(enum taker taker)
{
	switch (taker) {
	case TAKER_CGROUP:
		return ": the limit of its control group (cpu.max) held it back";
	case TAKER_HYPERVISOR:
		return ": its hypervisor took the time";
	default:
		return "";
	}
}

void host_evidence_find(struct measurement *m)
{
	const struct participant *end = suspect_of(m);
	const struct host_report *host = &end->totals.host;
	int confidence = starvation_of(m, end);
	_cleanup_text_ struct text evidence = TEXT_INIT;

	if (confidence < 0) {
		return;
	}
	write_evidence(m, end, &evidence);
	finding_add(&m->findings, FINDING_HOST_STARVED, (enum confidence)confidence, evidence.data,
		    "%s did not give the tester enough CPU%s", end->endpoint.node,
		    confidence >= CONFIDENCE_LIKELY ? taker_words(taker_of(m, end)) : "");
	if (confidence < CONFIDENCE_CERTAIN && host->is_read && host->throttled_ns == 0 &&
	    host->stolen_ns == 0) {
		finding_doubt(&m->findings, FINDING_HOST_STARVED,
			      "neither a limit of its control group nor a hypervisor took time");
	}
}

static void add_end(const struct measurement *m, const struct participant *end, struct text *out)
{
	if (!has_share(m, end)) {
		return;
	}
	text_format(out, "%s%s gave its measuring thread %.1f %% of a CPU", out->length ? "; " : "",
		    end->endpoint.node, 100 * share_of(end));
	if (share_of(end) >= QUIET_SHARE) {
		text_add(out, ", which speaks against that host");
	}
	add_withheld(end, out);
	add_slow(end, out);
}

void host_evidence_say(const struct measurement *m, char *out, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	add_end(m, &m->initiator, &text);
	add_end(m, &m->responder, &text);
	text_copy(out, size, text.length ? text.data : "");
}

/* --- the bus of the device --- */

static bool find_bus(struct measurement *m, const struct participant *end, double rate_bps)
{
	const struct host_report *host = &end->totals.host;
	uint64_t speed = known_or_0(end, host->pcie_speed_mtps);
	uint64_t width = known_or_0(end, host->pcie_width);
	uint64_t max_speed = known_or_0(end, host->pcie_max_speed_mtps);
	uint64_t max_width = known_or_0(end, host->pcie_max_width);
	double carries_bps = (double)host_report_pcie_bps(speed, width);
	char carries[UNITS_SIZE], rate[UNITS_SIZE], evidence[LIMIT_TEXT];

	if (!end->has_totals || carries_bps <= 0 || (speed >= max_speed && width >= max_width) ||
	    (end->port.link_rate_bps > 0 &&
	     carries_bps > BUS_ROOM * (double)end->port.link_rate_bps)) {
		return false;
	}
	snprintf(evidence, sizeof(evidence),
		 "%" PRIu64 " lanes of %.3g GT/s, of %" PRIu64
		 " of %.3g that it can: %s one way, headers included; the port has %s",
		 width, (double)speed / 1e3, max_width, (double)max_speed / 1e3,
		 units_format_rate(carries_bps, carries),
		 end->port.link_rate_bps ? units_format_rate((double)end->port.link_rate_bps, rate)
					 : "a rate that is not known");
	finding_add(&m->findings, FINDING_PCIE_NARROW,
		    rate_bps >= BUS_FULL_SHARE * carries_bps ? CONFIDENCE_LIKELY
							     : CONFIDENCE_POSSIBLE,
		    evidence, "%s of %s has less of its PCI Express bus than it can use",
		    end->endpoint.device, end->endpoint.node);
	if (rate_bps > 0 && rate_bps < BUS_FULL_SHARE * carries_bps) {
		finding_doubt(&m->findings, FINDING_PCIE_NARROW,
			      "only %.0f %% of what it carries was used",
			      100 * rate_bps / carries_bps);
	}
	return true;
}

void host_evidence_find_bus(struct measurement *m, double rate_bps)
{
	if (!find_bus(m, &m->initiator, rate_bps)) {
		find_bus(m, &m->responder, rate_bps);
	}
}
