// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/exposition.h"
#include "http/metrics_store.h"
#include "http/process.h"
#include "util/memory.h"

/* The functions of this file are declared in http/metrics.h. */

#define PIECE_BYTES 4096u

static void gauge(struct exposition *exposition, const char *name, uint64_t value, const char *help)
{
	exposition_family(exposition, name, EXPOSITION_GAUGE, help);
	exposition_u64(exposition, "", value, NULL);
}

static void write_daemon(struct exposition *exposition, const struct metrics_gauges *gauges)
{
	exposition_family(exposition, "rdmatestd_build_info", EXPOSITION_GAUGE,
			  "1, and the version of the daemon.");
	exposition_u64(exposition, "", 1,
		       EXPOSITION_LABELS("version", gauges->version ? gauges->version : ""));
	gauge(exposition, "rdmatestd_config_generation", gauges->config_generation,
	      "Number of the configuration in force, from 1.");
	gauge(exposition, "rdmatestd_config_last_reload_successful", gauges->is_reload_successful,
	      "1 if the last load or reload was accepted, 0 if it was refused and the one before stays.");
	exposition_family(exposition, "rdmatestd_config_last_reload_success_timestamp_seconds",
			  EXPOSITION_GAUGE,
			  "When the configuration in force was loaded, since 1970.");
	exposition_seconds(exposition, "", gauges->reload_success_real_ns, NULL);
	gauge(exposition, "rdmatestd_runs_active", gauges->runs_active,
	      "Runs that this node coordinates now.");
	gauge(exposition, "rdmatestd_run_queue_length", gauges->runs_queued,
	      "Runs that wait for their turn.");
	gauge(exposition, "rdmatestd_runs_waiting", gauges->runs_waiting,
	      "Disruptive runs that wait for a port: others use it, or its hour is full.");
	exposition_family(
		exposition, "rdmatestd_schedule_missed_total", EXPOSITION_COUNTER,
		"Scheduled starts left out since the scenario's run before still went on.");
	exposition_u64(exposition, "", gauges->schedule_missed, NULL);
	exposition_family(exposition, "rdmatestd_peers", EXPOSITION_GAUGE,
			  "Configured peers by state of the session to them.");
	exposition_u64(exposition, "", gauges->peers_up, EXPOSITION_LABELS("state", "up"));
	exposition_u64(exposition, "", gauges->peers_connecting,
		       EXPOSITION_LABELS("state", "connecting"));
	exposition_u64(exposition, "", gauges->peers_down, EXPOSITION_LABELS("state", "down"));
	gauge(exposition, "rdmatestd_control_sessions", gauges->control_sessions,
	      "Open sessions with other daemons, in both directions.");
	exposition_family(
		exposition, "rdmatestd_control_refused_total", EXPOSITION_COUNTER,
		"Connections to the control port that did not become a session, by reason.");
	for (size_t i = 0; i < gauges->control_refused_count; i++) {
		exposition_u64(exposition, "", gauges->control_refused[i].count,
			       EXPOSITION_LABELS("reason", gauges->control_refused[i].reason));
	}
	gauge(exposition, "rdmatestd_jobs_active", gauges->jobs_active,
	      "Jobs on this node's devices, for runs of any node.");
	gauge(exposition, "rdmatestd_pinned_bytes", gauges->pinned_bytes,
	      "Memory registered by those jobs.");
}

static void write_devices(struct exposition *exposition, const struct metrics_gauges *gauges)
{
	exposition_family(
		exposition, "rdmatestd_device_sick", EXPOSITION_GAUGE,
		"1 while a call to the device's driver has not returned for 10 s, else 0.");
	for (size_t i = 0; i < gauges->device_count; i++) {
		exposition_u64(exposition, "", gauges->devices[i].is_sick,
			       EXPOSITION_LABELS("device", gauges->devices[i].device));
	}
}

static void write_ports(struct exposition *exposition, const struct metrics_gauges *gauges)
{
	char number[16];

	exposition_family(exposition, "rdmatestd_port_state", EXPOSITION_GAUGE,
			  "State of an RDMA port: 0 unknown, 1 down, 2 init, 3 armed, 4 active.");
	for (size_t i = 0; i < gauges->port_count; i++) {
		snprintf(number, sizeof(number), "%u", gauges->ports[i].port_num);
		exposition_u64(exposition, "", gauges->ports[i].state,
			       EXPOSITION_LABELS("device", gauges->ports[i].device, "port",
						 number));
	}
	exposition_family(exposition, "rdmatestd_port_link_bytes_per_second", EXPOSITION_GAUGE,
			  "Link rate of an RDMA port; absent when not known.");
	for (size_t i = 0; i < gauges->port_count; i++) {
		if (gauges->ports[i].link_rate_bps > 0) {
			snprintf(number, sizeof(number), "%u", gauges->ports[i].port_num);
			exposition_real(exposition, "", (double)gauges->ports[i].link_rate_bps / 8,
					EXPOSITION_LABELS("device", gauges->ports[i].device, "port",
							  number));
		}
	}
	exposition_family(
		exposition, "rdmatestd_port_disruptive_seconds", EXPOSITION_GAUGE,
		"Disruptive traffic of this daemon on an RDMA port in the last hour; what met congestion counts four times.");
	for (size_t i = 0; i < gauges->port_count; i++) {
		snprintf(number, sizeof(number), "%u", gauges->ports[i].port_num);
		exposition_seconds(exposition, "", (int64_t)gauges->ports[i].disruptive_ns,
				   EXPOSITION_LABELS("device", gauges->ports[i].device, "port",
						     number));
	}
}

/* --- by scenario --- */

static void write_verdicts(struct exposition *exposition, const struct scenario_series *scenario)
{
	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		exposition_u64(exposition, "", scenario->verdicts[verdict],
			       EXPOSITION_LABELS("scenario", scenario->name, "verdict",
						 verdict_names[verdict]));
	}
}

static void write_errors(struct exposition *exposition, const struct scenario_series *scenario)
{
	exposition_u64(exposition, "", scenario->errors,
		       EXPOSITION_LABELS("scenario", scenario->name));
}

static void write_verify_errors(struct exposition *exposition,
				const struct scenario_series *scenario)
{
	static const char *const words[METRICS_STORE_VERIFY_ERRORS] = { "corrupted", "lost",
									"duplicated", "reordered" };

	for (size_t i = 0; i < METRICS_STORE_VERIFY_ERRORS; i++) {
		exposition_u64(exposition, "", scenario->verify_errors[i],
			       EXPOSITION_LABELS("scenario", scenario->name, "error", words[i]));
	}
}

static void write_sent(struct exposition *exposition, const struct scenario_series *scenario)
{
	exposition_u64(exposition, "", scenario->messages_sent,
		       EXPOSITION_LABELS("scenario", scenario->name));
}

static void write_lost(struct exposition *exposition, const struct scenario_series *scenario)
{
	exposition_u64(exposition, "", scenario->messages_lost,
		       EXPOSITION_LABELS("scenario", scenario->name));
}

/* --- by scenario and operation --- */

static void write_count(struct exposition *exposition, const struct scenario_series *scenario,
			int kind)
{
	exposition_u64(exposition, "", scenario->operations[kind].operations,
		       EXPOSITION_LABELS("scenario", scenario->name, "operation",
					 operation_names[kind]));
}

static void write_bytes(struct exposition *exposition, const struct scenario_series *scenario,
			int kind)
{
	exposition_u64(exposition, "", scenario->operations[kind].bytes,
		       EXPOSITION_LABELS("scenario", scenario->name, "operation",
					 operation_names[kind]));
}

static void write_latency(struct exposition *exposition, const struct scenario_series *scenario,
			  int kind)
{
	const struct operation_series *series = &scenario->operations[kind];
	const char *operation = operation_names[kind];

	for (size_t i = 0; i < METRICS_STORE_BUCKETS; i++) {
		exposition_u64(exposition, "_bucket", series->buckets[i],
			       EXPOSITION_LABELS("scenario", scenario->name, "operation", operation,
						 "le", metrics_store_buckets[i].le));
	}
	exposition_u64(exposition, "_bucket", series->count,
		       EXPOSITION_LABELS("scenario", scenario->name, "operation", operation, "le",
					 "+Inf"));
	exposition_real(exposition, "_sum", (double)series->sum_ns / 1e9,
			EXPOSITION_LABELS("scenario", scenario->name, "operation", operation));
	exposition_u64(exposition, "_count", series->count,
		       EXPOSITION_LABELS("scenario", scenario->name, "operation", operation));
}

/* --- by scenario and phase of connections --- */

static void write_connections(struct exposition *exposition, const struct scenario_series *scenario)
{
	exposition_u64(exposition, "", scenario->connections,
		       EXPOSITION_LABELS("scenario", scenario->name));
}

static void write_phase_failures(struct exposition *exposition,
				 const struct scenario_series *scenario, int phase)
{
	exposition_u64(exposition, "", scenario->phases[phase].failed,
		       EXPOSITION_LABELS("scenario", scenario->name, "phase",
					 connection_phase_names[phase]));
}

static void write_phase(struct exposition *exposition, const struct scenario_series *scenario,
			int phase)
{
	const struct phase_series *series = &scenario->phases[phase];
	const char *name = connection_phase_names[phase];

	for (size_t i = 0; i < METRICS_STORE_BUCKETS; i++) {
		exposition_u64(exposition, "_bucket", series->buckets[i],
			       EXPOSITION_LABELS("scenario", scenario->name, "phase", name, "le",
						 metrics_store_buckets[i].le));
	}
	exposition_u64(exposition, "_bucket", series->count,
		       EXPOSITION_LABELS("scenario", scenario->name, "phase", name, "le", "+Inf"));
	exposition_real(exposition, "_sum", (double)series->sum_ns / 1e9,
			EXPOSITION_LABELS("scenario", scenario->name, "phase", name));
	exposition_u64(exposition, "_count", series->count,
		       EXPOSITION_LABELS("scenario", scenario->name, "phase", name));
}

/* --- by scenario and peer, of the last run --- */

static void write_verdict(struct exposition *exposition, const struct pair_series *pair)
{
	exposition_u64(exposition, "", (uint64_t)pair->verdict,
		       EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer));
}

static void write_end(struct exposition *exposition, const struct pair_series *pair)
{
	exposition_seconds(exposition, "", pair->ended_real_ns,
			   EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer));
}

/* Nothing before the first time. */
static void write_recovery(struct exposition *exposition, const struct pair_series *pair)
{
	if (pair->recovery_ns) {
		exposition_seconds(exposition, "", (int64_t)pair->recovery_ns,
				   EXPOSITION_LABELS("scenario", pair->scenario, "peer",
						     pair->peer));
	}
}

static void write_bandwidth(struct exposition *exposition, const struct pair_series *pair, int kind)
{
	exposition_real(exposition, "", pair->operations[kind].bandwidth_bytes_per_s,
			EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
					  "operation", operation_names[kind]));
}

static void write_rate(struct exposition *exposition, const struct pair_series *pair, int kind)
{
	exposition_real(exposition, "", pair->operations[kind].operations_per_s,
			EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
					  "operation", operation_names[kind]));
}

static void write_percentiles(struct exposition *exposition, const struct pair_series *pair,
			      int kind)
{
	for (size_t i = 0; i < METRICS_STORE_PERCENTILES; i++) {
		uint64_t ns = pair->operations[kind].percentile_ns[i];

		if (ns > 0) {
			exposition_seconds(
				exposition, "", (int64_t)ns,
				EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
						  "operation", operation_names[kind], "percentile",
						  metrics_store_percentiles[i].percentile));
		}
	}
}

static void write_connection_rate(struct exposition *exposition, const struct pair_series *pair)
{
	if (pair->connections.has_rates) {
		exposition_real(exposition, "", pair->connections.operations_per_s,
				EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer));
	}
}

static void write_setup_percentiles(struct exposition *exposition, const struct pair_series *pair)
{
	for (size_t i = 0; pair->connections.has_rates && i < METRICS_STORE_PERCENTILES; i++) {
		uint64_t ns = pair->connections.percentile_ns[i];

		if (ns > 0) {
			exposition_seconds(
				exposition, "", (int64_t)ns,
				EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
						  "percentile",
						  metrics_store_percentiles[i].percentile));
		}
	}
}

/* --- the families that grow, each written with one of its functions --- */

static const struct family {
	const char *name;
	enum exposition_type type;
	void (*scenario)(struct exposition *exposition, const struct scenario_series *scenario);
	void (*operation)(struct exposition *exposition, const struct scenario_series *scenario,
			  int kind);
	void (*phase)(struct exposition *exposition, const struct scenario_series *scenario,
		      int phase);
	void (*pair)(struct exposition *exposition, const struct pair_series *pair);
	void (*last)(struct exposition *exposition, const struct pair_series *pair, int kind);
	const char *help;
} families[] = {
	{ .name = "rdmatestd_runs_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_verdicts,
	  .help = "Runs that this node coordinated, by verdict." },
	{ .name = "rdmatestd_operation_errors_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_errors,
	  .help = "Completions in error at the initiator, those flushed behind the first one not counted." },
	{ .name = "rdmatestd_verify_errors_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_verify_errors,
	  .help = "Payloads that were not as they should be where they were verified (workload.verify), by what was wrong." },
	{ .name = "rdmatestd_messages_sent_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_sent,
	  .help = "Messages of streams over UC and UD, of which both ends told what became of them." },
	{ .name = "rdmatestd_messages_lost_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_lost,
	  .help = "Of these, those that the receiver did not get." },
	{ .name = "rdmatestd_operations_total",
	  .type = EXPOSITION_COUNTER,
	  .operation = write_count,
	  .help = "Operations completed in the measured windows of all runs." },
	{ .name = "rdmatestd_operation_bytes_total",
	  .type = EXPOSITION_COUNTER,
	  .operation = write_bytes,
	  .help = "Payload of those operations." },
	{ .name = "rdmatestd_latency_seconds",
	  .type = EXPOSITION_HISTOGRAM,
	  .operation = write_latency,
	  .help = "Latency of operations over all runs: half of the round trip for a pingpong of write or send, else post to "
		  "completion." },
	{ .name = "rdmatestd_connections_total",
	  .type = EXPOSITION_COUNTER,
	  .scenario = write_connections,
	  .help = "Connections set up and taken down in the measured windows of all runs (pattern connect)." },
	{ .name = "rdmatestd_connection_failures_total",
	  .type = EXPOSITION_COUNTER,
	  .phase = write_phase_failures,
	  .help = "Connections that came to nothing, by the phase in which they did." },
	{ .name = "rdmatestd_connection_phase_seconds",
	  .type = EXPOSITION_HISTOGRAM,
	  .phase = write_phase,
	  .help = "How long each phase of a connection took at the initiator, over all runs; setup: all up to established." },
	{ .name = "rdmatestd_run_last_verdict",
	  .type = EXPOSITION_GAUGE,
	  .pair = write_verdict,
	  .help = "Verdict of the last run with a peer: 1 pass, 2 degraded, 3 unsupported, 4 inconclusive, 5 error, 6 fail." },
	{ .name = "rdmatestd_run_last_timestamp_seconds",
	  .type = EXPOSITION_GAUGE,
	  .pair = write_end,
	  .help = "When that run ended, since 1970." },
	{ .name = "rdmatestd_time_to_recover_seconds",
	  .type = EXPOSITION_GAUGE,
	  .pair = write_recovery,
	  .help = "From the first failing run with a peer to the first that passed again, end to end, the last time; absent before." },
	{ .name = "rdmatestd_bandwidth_bytes_per_second",
	  .type = EXPOSITION_GAUGE,
	  .last = write_bandwidth,
	  .help = "Payload per second in the last run with a peer; of several ports the slowest." },
	{ .name = "rdmatestd_operations_per_second",
	  .type = EXPOSITION_GAUGE,
	  .last = write_rate,
	  .help = "Operations per second in the last run with a peer; of several ports the slowest." },
	{ .name = "rdmatestd_latency_percentile_seconds",
	  .type = EXPOSITION_GAUGE,
	  .last = write_percentiles,
	  .help = "Latency in the last run with a peer; absent with too few samples; of several ports the slowest." },
	{ .name = "rdmatestd_connections_per_second",
	  .type = EXPOSITION_GAUGE,
	  .pair = write_connection_rate,
	  .help = "Connections per second in the last run with a peer; of several ports the slowest." },
	{ .name = "rdmatestd_connection_setup_percentile_seconds",
	  .type = EXPOSITION_GAUGE,
	  .pair = write_setup_percentiles,
	  .help = "Set-up of a connection in the last run with a peer; absent with too few samples; of several ports the slowest." },
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

static void write_of_scenario(struct exposition *exposition, const struct family *family,
			      const struct scenario_series *scenario)
{
	if (family->scenario) {
		family->scenario(exposition, scenario);
	}
	for (int kind = 0; family->operation && kind < OPERATION_KINDS; kind++) {
		if (scenario->operations[kind].is_kept) {
			family->operation(exposition, scenario, kind);
		}
	}
	for (int phase = 0; family->phase && phase < CONNECTION_PHASES; phase++) {
		if (scenario->phases[phase].is_kept) {
			family->phase(exposition, scenario, phase);
		}
	}
}

static void write_of_pair(struct exposition *exposition, const struct family *family,
			  const struct pair_series *pair)
{
	if (family->pair) {
		family->pair(exposition, pair);
	}
	for (int kind = 0; family->last && kind < OPERATION_KINDS; kind++) {
		if (pair->operations[kind].has_rates) {
			family->last(exposition, pair, kind);
		}
	}
}

/* The family's item with this index, from 0. False: there are not so many. */
static bool write_item(struct exposition *exposition, const struct metrics *metrics,
		       const struct family *family, size_t index)
{
	if (family->scenario || family->operation || family->phase) {
		if (index >= metrics->scenario_count) {
			return false;
		}
		write_of_scenario(exposition, family, &metrics->scenarios[index]);
	} else {
		if (index >= metrics->pair_count) {
			return false;
		}
		write_of_pair(exposition, family, &metrics->pairs[index]);
	}
	return true;
}

static void write_requests(struct exposition *exposition, const struct metrics *metrics)
{
	char code[16];

	exposition_family(exposition, "rdmatestd_http_requests_total", EXPOSITION_COUNTER,
			  "Answers by route and status code.");
	for (size_t i = 0; i < metrics->request_count; i++) {
		snprintf(code, sizeof(code), "%u", metrics->requests[i].status);
		exposition_u64(exposition, "", metrics->requests[i].count,
			       EXPOSITION_LABELS("route", metrics->requests[i].route, "code",
						 code));
	}
}

static void write_end_of_all(struct exposition *exposition, struct metrics *metrics)
{
	write_requests(exposition, metrics);
	process_write(exposition, metrics->started_real_ns);
	exposition_family(
		exposition, "rdmatestd_metrics_series_dropped_total", EXPOSITION_COUNTER,
		"Series left out, each time that they would have been new, since the budget was used up.");
	exposition_u64(exposition, "", metrics->dropped, NULL);
	exposition_family(exposition, "rdmatestd_metrics_series", EXPOSITION_GAUGE,
			  "Series of this answer, itself included.");
	exposition_u64(exposition, "", exposition->series + 1, NULL);
	metrics->written = exposition->series;
}

/* --- in pieces --- */

struct metrics_pieces {
	struct pieces pieces;
	struct metrics *metrics;
	struct exposition exposition;
	struct text begin; /* what the gauges came to */
	size_t family; /* index of the one that is written */
	size_t item; /* next one of it; what a reload moves forward meanwhile is left out */
	bool is_begun; /* the family has its head */
};

static bool next_of_metrics(struct pieces *pieces, struct text *out)
{
	struct metrics_pieces *all = (struct metrics_pieces *)pieces;
	size_t enough = out->length + PIECE_BYTES;

	all->exposition.out = out;
	if (all->begin.length > 0) {
		text_add_bytes(out, all->begin.data, all->begin.length);
		text_reset(&all->begin);
	}
	while (all->family < FAMILIES) {
		const struct family *family = &families[all->family];

		if (!all->is_begun) {
			exposition_family(&all->exposition, family->name, family->type,
					  family->help);
			all->is_begun = true;
		}
		if (write_item(&all->exposition, all->metrics, family, all->item)) {
			all->item++;
		} else {
			all->family++;
			all->item = 0;
			all->is_begun = false;
		}
		if (out->length >= enough) {
			return true;
		}
	}
	write_end_of_all(&all->exposition, all->metrics);
	return false;
}

static void free_metrics_pieces(struct pieces *pieces)
{
	struct metrics_pieces *all = (struct metrics_pieces *)pieces;

	text_done(&all->begin);
	free(all);
}

struct pieces *metrics_write_pieces(struct metrics *metrics, const struct metrics_gauges *gauges)
{
	struct metrics_pieces *all = memory_new(sizeof(*all));

	all->pieces = (struct pieces){ .next = next_of_metrics, .free = free_metrics_pieces };
	all->metrics = metrics;
	all->exposition.out = &all->begin;
	write_daemon(&all->exposition, gauges);
	write_devices(&all->exposition, gauges);
	write_ports(&all->exposition, gauges);
	return &all->pieces;
}

void metrics_write(struct metrics *metrics, const struct metrics_gauges *gauges, struct text *out)
{
	struct pieces *pieces = metrics_write_pieces(metrics, gauges);

	while (pieces) {
		pieces_fill(&pieces, out, SIZE_MAX, UINT32_MAX);
	}
}
