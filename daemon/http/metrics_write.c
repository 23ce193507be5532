// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "http/exposition.h"
#include "http/metrics_store.h"
#include "http/process.h"

/* The one function of this file is declared in http/metrics.h. */

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
	gauge(exposition, "rdmatestd_jobs_active", gauges->jobs_active,
	      "Jobs on this node's devices, for runs of any node.");
	gauge(exposition, "rdmatestd_pinned_bytes", gauges->pinned_bytes,
	      "Memory registered by those jobs.");
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
}

static void write_runs(struct exposition *exposition, const struct metrics *metrics)
{
	exposition_family(exposition, "rdmatestd_runs_total", EXPOSITION_COUNTER,
			  "Runs that this node coordinated, by verdict.");
	for (size_t i = 0; i < metrics->scenario_count; i++) {
		const struct scenario_series *scenario = &metrics->scenarios[i];

		for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
			exposition_u64(exposition, "", scenario->verdicts[verdict],
				       EXPOSITION_LABELS("scenario", scenario->name, "verdict",
							 verdict_names[verdict]));
		}
	}
	exposition_family(
		exposition, "rdmatestd_operation_errors_total", EXPOSITION_COUNTER,
		"Completions in error at the initiator, those flushed behind the first one not counted.");
	for (size_t i = 0; i < metrics->scenario_count; i++) {
		exposition_u64(exposition, "", metrics->scenarios[i].errors,
			       EXPOSITION_LABELS("scenario", metrics->scenarios[i].name));
	}
}

/* --- by scenario and operation --- */

typedef void (*write_operation_fn)(struct exposition *exposition, const char *scenario,
				   const char *operation, const struct operation_series *series);

static void each_operation(struct exposition *exposition, const struct metrics *metrics,
			   write_operation_fn write)
{
	for (size_t i = 0; i < metrics->scenario_count; i++) {
		for (int kind = 0; kind < OPERATION_SUPPORTED; kind++) {
			if (metrics->scenarios[i].operations[kind].is_kept) {
				write(exposition, metrics->scenarios[i].name, operation_names[kind],
				      &metrics->scenarios[i].operations[kind]);
			}
		}
	}
}

static void write_count(struct exposition *exposition, const char *scenario, const char *operation,
			const struct operation_series *series)
{
	exposition_u64(exposition, "", series->operations,
		       EXPOSITION_LABELS("scenario", scenario, "operation", operation));
}

static void write_bytes(struct exposition *exposition, const char *scenario, const char *operation,
			const struct operation_series *series)
{
	exposition_u64(exposition, "", series->bytes,
		       EXPOSITION_LABELS("scenario", scenario, "operation", operation));
}

static void write_latency(struct exposition *exposition, const char *scenario,
			  const char *operation, const struct operation_series *series)
{
	for (size_t i = 0; i < METRICS_STORE_BUCKETS; i++) {
		exposition_u64(exposition, "_bucket", series->buckets[i],
			       EXPOSITION_LABELS("scenario", scenario, "operation", operation, "le",
						 metrics_store_buckets[i].le));
	}
	exposition_u64(exposition, "_bucket", series->count,
		       EXPOSITION_LABELS("scenario", scenario, "operation", operation, "le",
					 "+Inf"));
	exposition_real(exposition, "_sum", (double)series->sum_ns / 1e9,
			EXPOSITION_LABELS("scenario", scenario, "operation", operation));
	exposition_u64(exposition, "_count", series->count,
		       EXPOSITION_LABELS("scenario", scenario, "operation", operation));
}

static void write_operations(struct exposition *exposition, const struct metrics *metrics)
{
	exposition_family(exposition, "rdmatestd_operations_total", EXPOSITION_COUNTER,
			  "Operations completed in the measured windows of all runs.");
	each_operation(exposition, metrics, write_count);
	exposition_family(exposition, "rdmatestd_operation_bytes_total", EXPOSITION_COUNTER,
			  "Payload of those operations.");
	each_operation(exposition, metrics, write_bytes);
	exposition_family(
		exposition, "rdmatestd_latency_seconds", EXPOSITION_HISTOGRAM,
		"Latency of operations over all runs: half of the round trip for a pingpong of write or send, else post to "
		"completion.");
	each_operation(exposition, metrics, write_latency);
}

/* --- by scenario and peer, of the last run --- */

typedef void (*write_last_fn)(struct exposition *exposition, const struct pair_series *pair,
			      const char *operation, const struct last_series *series);

static void each_last(struct exposition *exposition, const struct metrics *metrics,
		      write_last_fn write)
{
	for (size_t i = 0; i < metrics->pair_count; i++) {
		for (int kind = 0; kind < OPERATION_SUPPORTED; kind++) {
			if (metrics->pairs[i].operations[kind].has_rates) {
				write(exposition, &metrics->pairs[i], operation_names[kind],
				      &metrics->pairs[i].operations[kind]);
			}
		}
	}
}

static void write_bandwidth(struct exposition *exposition, const struct pair_series *pair,
			    const char *operation, const struct last_series *series)
{
	exposition_real(exposition, "", series->bandwidth_bytes_per_s,
			EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
					  "operation", operation));
}

static void write_rate(struct exposition *exposition, const struct pair_series *pair,
		       const char *operation, const struct last_series *series)
{
	exposition_real(exposition, "", series->operations_per_s,
			EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
					  "operation", operation));
}

static void write_percentiles(struct exposition *exposition, const struct pair_series *pair,
			      const char *operation, const struct last_series *series)
{
	for (size_t i = 0; i < METRICS_STORE_PERCENTILES; i++) {
		if (series->percentile_ns[i] > 0) {
			exposition_seconds(
				exposition, "", (int64_t)series->percentile_ns[i],
				EXPOSITION_LABELS("scenario", pair->scenario, "peer", pair->peer,
						  "operation", operation, "percentile",
						  metrics_store_percentiles[i].percentile));
		}
	}
}

static void write_pairs(struct exposition *exposition, const struct metrics *metrics)
{
	exposition_family(
		exposition, "rdmatestd_run_last_verdict", EXPOSITION_GAUGE,
		"Verdict of the last run with a peer: 1 pass, 2 degraded, 3 unsupported, 4 inconclusive, 5 error, 6 fail.");
	for (size_t i = 0; i < metrics->pair_count; i++) {
		exposition_u64(exposition, "", (uint64_t)metrics->pairs[i].verdict,
			       EXPOSITION_LABELS("scenario", metrics->pairs[i].scenario, "peer",
						 metrics->pairs[i].peer));
	}
	exposition_family(exposition, "rdmatestd_run_last_timestamp_seconds", EXPOSITION_GAUGE,
			  "When that run ended, since 1970.");
	for (size_t i = 0; i < metrics->pair_count; i++) {
		exposition_seconds(exposition, "", metrics->pairs[i].ended_real_ns,
				   EXPOSITION_LABELS("scenario", metrics->pairs[i].scenario, "peer",
						     metrics->pairs[i].peer));
	}
	exposition_family(
		exposition, "rdmatestd_bandwidth_bytes_per_second", EXPOSITION_GAUGE,
		"Payload per second in the last run with a peer; of several ports the slowest.");
	each_last(exposition, metrics, write_bandwidth);
	exposition_family(
		exposition, "rdmatestd_operations_per_second", EXPOSITION_GAUGE,
		"Operations per second in the last run with a peer; of several ports the slowest.");
	each_last(exposition, metrics, write_rate);
	exposition_family(
		exposition, "rdmatestd_latency_percentile_seconds", EXPOSITION_GAUGE,
		"Latency in the last run with a peer; absent with too few samples; of several ports the slowest.");
	each_last(exposition, metrics, write_percentiles);
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

void metrics_write(struct metrics *metrics, const struct metrics_gauges *gauges, struct text *out)
{
	struct exposition exposition = { .out = out };

	write_daemon(&exposition, gauges);
	write_ports(&exposition, gauges);
	write_runs(&exposition, metrics);
	write_operations(&exposition, metrics);
	write_pairs(&exposition, metrics);
	write_requests(&exposition, metrics);
	process_write(&exposition, metrics->started_real_ns);
	exposition_family(
		&exposition, "rdmatestd_metrics_series_dropped_total", EXPOSITION_COUNTER,
		"Series left out, each time that they would have been new, since the budget was used up.");
	exposition_u64(&exposition, "", metrics->dropped, NULL);
	exposition_family(&exposition, "rdmatestd_metrics_series", EXPOSITION_GAUGE,
			  "Series of this answer, itself included.");
	exposition_u64(&exposition, "", exposition.series + 1, NULL);
	metrics->written = exposition.series;
}
