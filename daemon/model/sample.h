// SPDX-License-Identifier: MIT
#pragma once

/*
 * What one end of a measurement saw. A sample is one interval, scalars only; the totals travel
 * once, when the job is over.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/connections.h"
#include "model/counter.h"
#include "model/failure.h"
#include "model/histogram.h"
#include "model/host_report.h"
#include "model/operation.h"
#include "model/port_report.h"
#include "model/slowest.h"
#include "model/step.h"
#include "model/verification.h"
#include "util/json.h"

enum sample_phase { PHASE_WARMUP, PHASE_MEASURING, PHASE_DRAINING };
extern const char *const sample_phase_names[];

/* Which percentiles a sample has. They are always told: few latencies are for who shows them. */
#define SAMPLE_PPM_P50 500000
#define SAMPLE_PPM_P99 990000

/* Times are since the measured window began; warm-up intervals are not kept. */
struct sample {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t operations; /* completed at this end */
	uint64_t bytes; /* payload */
	uint64_t errors;
	uint64_t latency_count;
	uint64_t latency_min_ns;
	uint64_t latency_p50_ns;
	uint64_t latency_p99_ns;
	uint64_t latency_max_ns;
};

/* Live progress: the newest one replaces what was not read. */
struct progress {
	int phase;
	uint64_t elapsed_ns; /* of the phase */
	uint64_t total_ns; /* of the phase; 0 when it ends by iterations */
	uint64_t operations; /* completed in the window so far */
	uint64_t iterations; /* wanted; 0 when it ends by time */
	struct sample last; /* latest interval */
};

struct class_totals {
	struct operation_class class;
	uint64_t posted; /* while the window was open */
	uint64_t completed; /* while the window was open, some of them posted before */
	uint64_t bytes;
	struct histogram latency; /* of the signalled ones among `completed`; of an open load from
				     the moment that each was meant to begin */
	struct histogram *service; /* open loads: from its post; owned; NULL: closed */
};

/* Why the traffic ended. */
enum sample_end { END_DURATION, END_ITERATIONS, END_STOPPED, END_STALLED, END_ERROR, END_DEADLINE };
extern const char *const sample_end_names[];

struct totals {
	int end; /* enum sample_end */
	uint64_t window_ns; /* first to last moment of the measured window, calibrated */
	uint64_t first_post_ns; /* from START to the first post */
	uint64_t operations;
	uint64_t bytes;
	uint64_t errors; /* completions in error that were not flushes */
	uint64_t receives; /* completed receives (sends of the peer) */
	bool is_half_round_trip[OPERATION_KINDS]; /* what latency of each kind means */
	bool is_round_trip; /* of each: from the request's post to its response */
	char clock[16];
	double clock_drift_ppm;
	uint64_t clock_read_ns;
	uint64_t polls; /* of the completion queue or memory */
	uint64_t empty_polls;
	uint64_t traffic_operations; /* completed since traffic began, warm-up and draining included
				      */
	uint64_t traffic_bytes;
	uint64_t worker_cpu_ns; /* CPU time of the worker in the window */
	uint64_t involuntary_switches; /* of the worker in the window */
	uint64_t late_operations; /* open loads, in the window: that had to wait for room */
	uint64_t dropped_operations; /* and that were left out for want of it */
	bool has_verification; /* workload.verify, at an end that posts or receives */
	struct verification verification;
	bool has_counters;
	struct counters counters; /* how much those of the port grew around the traffic */
	struct port_report port_report;
	struct host_report host;
	struct failure failure; /* the first error of this end */
	struct steps steps;
	size_t class_count;
	struct class_totals *classes; /* owned */
	struct slowest slowest; /* of all classes, in order */
	struct connections *connections; /* pattern connect; owned; else NULL */
	size_t interval_count;
	struct sample *intervals; /* owned */
};

/* How many intervals there are without a last one that is a rest: below half of the first one's
 * length its rate says nothing. */
size_t sample_whole_intervals(const struct totals *totals);
/*
 * Coefficient of variation (standard deviation over mean) of the operations per second of the whole
 * intervals. False with fewer than three, or when nothing completed.
 */
bool sample_variation(const struct totals *totals, double *ret);

void sample_totals_init(struct totals *totals);
void sample_totals_done(struct totals *totals);
json_t *sample_totals_write(const struct totals *totals); /* exchange form, histograms compact */
/* ret is freed by sample_totals_done also after an error. */
int sample_totals_read(const json_t *json, struct totals *ret, struct error *err);
json_t *sample_progress_write(const struct progress *progress);
int sample_progress_read(const json_t *json, struct progress *ret, struct error *err);
