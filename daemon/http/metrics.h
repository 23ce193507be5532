// SPDX-License-Identifier: MIT
#pragma once

/*
 * Prometheus: counts what runs came to, and writes it with what the daemon says of itself in text
 * format 0.0.4. api/metrics.md lists every metric. A bounded number of series: when the budget is
 * used up, new label sets are left out and counted. Loop thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "http/pieces.h"
#include "model/hang.h"
#include "model/run.h"
#include "util/json.h"
#include "util/text.h"

#define METRICS_SERIES_BUDGET 2000
#define METRICS_PORTS 32
#define METRICS_REFUSALS 16
#define METRICS_DEVICES (METRICS_PORTS + HANGS_MAX)

struct metrics;

/* State of the daemon at the time of a scrape. */
struct metrics_port {
	const char *device;
	unsigned port_num;
	enum port_state state;
	uint64_t link_rate_bps;
	uint64_t disruptive_ns; /* of disruptive traffic of ours in the last hour */
};

struct metrics_device {
	char device[LIMIT_NAME];
	bool is_sick;
};

struct metrics_refusal {
	const char *reason;
	uint64_t count; /* since the start */
};

struct metrics_gauges {
	const char *version;
	uint64_t config_generation;
	bool is_reload_successful; /* the last load or reload */
	int64_t reload_success_real_ns; /* of the last one that worked */
	uint64_t runs_active;
	uint64_t runs_queued;
	uint64_t runs_waiting; /* for ports that others use */
	uint64_t schedule_missed; /* ticks, since the start */
	uint64_t peers_up;
	uint64_t peers_connecting;
	uint64_t peers_down;
	uint64_t control_sessions; /* open, in both directions */
	size_t control_refused_count;
	struct metrics_refusal control_refused[METRICS_REFUSALS]; /* connections */
	uint64_t jobs_active; /* ours, for runs of any node */
	uint64_t pinned_bytes; /* registered by them */
	size_t device_count;
	struct metrics_device devices[METRICS_DEVICES];
	size_t port_count;
	struct metrics_port ports[METRICS_PORTS];
};

/* node_name: which end of a measurement we are; borrowed. */
struct metrics *metrics_new(const char *node_name);
void metrics_free(struct metrics *metrics);
/* Series of scenarios that are there now start at zero; those of scenarios and peers that are gone
 * end. */
void metrics_configure(struct metrics *metrics, const struct config *config);
/* A run that is done and judged. */
void metrics_observe(struct metrics *metrics, const struct run *run);
/* The same a piece at a time, for runs of thousands of pairs: the run itself when `from` is 0, and
 * at most `count` of its measurements from there on. True when there are more. Not two runs at
 * once. */
bool metrics_observe_piece(struct metrics *metrics, const struct run *run, size_t from,
			   size_t count);
/* The last run with each peer, as people read it, by index from 0: {scenario, peer, verdict,
 * ended_at, operations: [{operation, bandwidth_bps, ...}]}. NULL: there are not so many. New
 * reference. */
json_t *metrics_last_at(const struct metrics *metrics, size_t index);
/* One answered request; route: of the table, or "other". */
void metrics_count_request(struct metrics *metrics, const char *route, unsigned status);
/* Everything, text format 0.0.4, in pieces: a scrape of all series takes longer than the loop
 * should be held. The gauges as they are now, the rest as each piece finds it. Borrows the metrics.
 */
struct pieces *metrics_write_pieces(struct metrics *metrics, const struct metrics_gauges *gauges);
/* The same in one. */
void metrics_write(struct metrics *metrics, const struct metrics_gauges *gauges, struct text *out);
/* Series of the last answer that was written whole. */
size_t metrics_series(const struct metrics *metrics);
