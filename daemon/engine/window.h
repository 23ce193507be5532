// SPDX-License-Identifier: MIT
#pragma once

/*
 * The measured part of a job's traffic, and its intervals. An operation belongs to the window when
 * its completion is found while the window is open, whenever it was posted: it is counted then, in
 * operations and bytes, and its latency is added then, measured from its own post (of an open load
 * from the moment that it was meant to begin). What was under way when the window opened is in it,
 * what was under way when it closed is not: a steady flow gains at one end what it loses at the
 * other, and where every operation is signalled there are as many latencies as operations, in every
 * interval and in all. (Iterations begin and end at rest: nothing is under way at either end.) What
 * never completes is a stall or an error, not a latency.
 *
 * Warm-up counts by subtraction: counters are never reset, the window remembers what they were when
 * it opened. Latency is added to the interval's histograms of each class; cutting an interval reads
 * its percentiles and moves it into the totals. Worker thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/sample.h"
#include "model/slowest.h"
#include "model/workload.h"
#include "util/clock.h"
#include "util/error.h"

/* Since traffic began, at one end. */
struct window_counts {
	uint64_t operations;
	uint64_t bytes;
	uint64_t errors;
	uint64_t polls;
	uint64_t empty_polls;
	uint64_t late; /* open loads */
	uint64_t dropped;
};

struct window_usage {
	uint64_t cpu_ns;
	uint64_t involuntary_switches;
	uint64_t voluntary_switches;
};

struct window {
	struct clock_scale scale; /* of the calibration at start: for everything but the window's
				     length */
	uint64_t warmup_ticks;
	uint64_t duration_ticks; /* 0: ends by iterations, or never */
	uint64_t interval_ticks;
	uint64_t iterations;

	int phase; /* enum sample_phase */
	uint64_t started_ticks;
	uint64_t open_ticks; /* CLOCK_NEVER before */
	uint64_t close_ticks; /* CLOCK_NEVER before */
	uint64_t cut_ticks; /* the running interval's begin */
	uint64_t next_ticks; /* something is to be done by then */
	uint64_t next_cut_ticks;

	struct clock_stamp open_stamp;
	struct clock_stamp close_stamp;
	struct window_usage open_usage;
	struct window_usage close_usage;
	struct window_counts open_counts;
	struct window_counts cut_counts;
	struct window_counts close_counts;

	size_t class_count;
	struct histogram *interval; /* of the running interval, by class */
	struct histogram *latency; /* of the window so far, by class */
	struct histogram *service; /* open loads: from the post, of the window so far; else NULL */
	struct slowest slowest; /* of the window so far, over all classes; without qp_num */
	struct histogram *merged; /* scratch: all classes of an interval */
	size_t interval_count;
	struct sample *intervals; /* LIMIT_INTERVALS of them; the last one grows when there are more
				   */
	struct progress progress;
	bool has_progress;
};

/* is_bounded: ends by the run's duration or iterations (an initiator's). has_service: of an open
 * load. 0 or -ENOMEM with err. */
int window_init(struct window *window, const struct run_settings *run, bool is_bounded,
		bool has_service, size_t class_count, struct error *err);
void window_done(struct window *window);

void window_start(struct window *window, uint64_t now_ticks);
/* Reads the clock last, so that a post that follows lies inside and nothing of ours does. */
void window_open(struct window *window, const struct window_counts *counts);
/* Ends the running interval. Before the window is open: only tells progress. */
void window_cut(struct window *window, const struct window_counts *counts, uint64_t now_ticks);
void window_close(struct window *window, const struct window_counts *counts, uint64_t now_ticks);
/* After it was closed, by an end that goes on answering: tells that its own part is over. */
void window_end(struct window *window);
/* Whether what completes now counts. */
static inline bool window_is_open(const struct window *window)
{
	return window->phase == PHASE_MEASURING;
}

/* An operation that is slower than window->slowest.floor_ns, found completed at now_ticks while the
 * window is open. */
void window_slow(struct window *window, uint64_t latency_ns, uint64_t now_ticks, size_t qp_index,
		 size_t class_index);

/* Moves histograms and intervals out; window->latency stays for the caller to move by class. */
void window_totals(struct window *window, struct totals *ret);
