// SPDX-License-Identifier: MIT
#include "engine/window.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "util/memory.h"
#include "util/text.h"

int window_init(struct window *window, const struct run_settings *run, bool is_bounded,
		bool has_service, size_t class_count, struct error *err)
{
	*window = (struct window){ .class_count = class_count,
				   .open_ticks = CLOCK_NEVER,
				   .close_ticks = CLOCK_NEVER,
				   .next_ticks = CLOCK_NEVER };
	clock_scale_initial(&window->scale);
	window->interval_ticks = clock_ns_to_ticks(&window->scale, run->interval_ns);
	if (is_bounded) {
		window->warmup_ticks = clock_ns_to_ticks(&window->scale, run->warmup_ns);
		window->duration_ticks = clock_ns_to_ticks(&window->scale, run->duration_ns);
		window->iterations = run->iterations;
	}
	if (window->interval_ticks == 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "run.interval is 0; give a length of at least 10ms");
	}
	window->interval = memory_try(class_count + 1, sizeof(*window->interval));
	window->latency = memory_try(class_count + 1, sizeof(*window->latency));
	window->service = has_service ? memory_try(class_count + 1, sizeof(*window->service))
				      : NULL;
	window->merged = memory_try(1, sizeof(*window->merged));
	window->intervals = memory_try(LIMIT_INTERVALS, sizeof(*window->intervals));
	if ((has_service && !window->service) || !window->interval || !window->latency ||
	    !window->merged || !window->intervals) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE,
				 "no memory for the histograms of %zu classes of operations (%zu "
				 "bytes each)",
				 class_count, (has_service ? 3 : 2) * sizeof(struct histogram));
	}
	for (size_t i = 0; i < class_count; i++) {
		histogram_reset(&window->interval[i]);
		histogram_reset(&window->latency[i]);
		if (has_service) {
			histogram_reset(&window->service[i]);
		}
	}
	histogram_reset(window->merged);
	return 0;
}

void window_done(struct window *window)
{
	free(take(window->interval));
	free(take(window->latency));
	free(take(window->service));
	free(take(window->merged));
	free(take(window->intervals));
}

static uint64_t span_ns(const struct window *window, uint64_t from_ticks, uint64_t to_ticks)
{
	return to_ticks > from_ticks ? clock_ticks_to_ns(&window->scale, to_ticks - from_ticks) : 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void plan_next(struct window *window)
{
	window->next_ticks = window->next_cut_ticks;
	if (window->phase == PHASE_WARMUP && window->warmup_ticks > 0) {
		window->next_ticks =
			earlier(window->next_ticks, window->started_ticks + window->warmup_ticks);
	} else if (window->phase == PHASE_MEASURING && window->duration_ticks > 0) {
		window->next_ticks =
			earlier(window->next_ticks, window->open_ticks + window->duration_ticks);
	}
}

static void usage_now(struct window_usage *ret)
{
	struct rusage usage;

	/* Not that of getrusage, which is as old as the last tick of the kernel. */
	ret->cpu_ns = clock_thread_cpu_ns();
	if (getrusage(RUSAGE_THREAD, &usage) < 0) {
		return;
	}
	ret->involuntary_switches = (uint64_t)usage.ru_nivcsw;
	ret->voluntary_switches = (uint64_t)usage.ru_nvcsw;
}

void window_start(struct window *window, uint64_t now_ticks)
{
	window->started_ticks = now_ticks;
	window->cut_ticks = now_ticks;
	window->next_cut_ticks = now_ticks + window->interval_ticks;
	window->phase = PHASE_WARMUP;
	plan_next(window);
}

void window_open(struct window *window, const struct window_counts *counts)
{
	window->phase = PHASE_MEASURING;
	window->open_counts = *counts;
	window->cut_counts = *counts;
	usage_now(&window->open_usage);
	clock_stamp(&window->open_stamp);
	window->open_ticks = clock_ticks();
	window->cut_ticks = window->open_ticks;
	window->next_cut_ticks = window->open_ticks + window->interval_ticks;
	plan_next(window);
}

static void tell_progress(struct window *window, const struct window_counts *counts,
			  uint64_t now_ticks)
{
	struct progress *progress = &window->progress;
	bool is_warmup = window->phase == PHASE_WARMUP;
	uint64_t from_ticks = is_warmup ? window->started_ticks : window->open_ticks;
	uint64_t total_ticks = is_warmup ? window->warmup_ticks : window->duration_ticks;

	progress->phase = window->phase;
	progress->elapsed_ns = span_ns(window, from_ticks, now_ticks);
	progress->total_ns = clock_ticks_to_ns(&window->scale, total_ticks);
	progress->operations = is_warmup ? 0 : counts->operations - window->open_counts.operations;
	progress->iterations = window->iterations;
	window->has_progress = true;
}

/*
 * Percentiles of an interval are those of all its operations together, however few: what shows them
 * looks at their number (model/run_record).
 */
static void read_latency(struct window *window, struct sample *sample)
{
	const struct histogram *merged = window->merged;

	for (size_t i = 0; i < window->class_count; i++) {
		if (window->interval[i].count > 0) {
			histogram_merge(window->merged, &window->interval[i]);
			histogram_move(&window->latency[i], &window->interval[i]);
		}
	}
	sample->latency_count = merged->count;
	if (merged->count > 0) {
		sample->latency_min_ns = merged->min_ns;
		sample->latency_p50_ns = histogram_percentile_ns(merged, SAMPLE_PPM_P50);
		sample->latency_p99_ns = histogram_percentile_ns(merged, SAMPLE_PPM_P99);
		sample->latency_max_ns = merged->max_ns;
	}
}

/* The last place takes all that comes when the others are full, and keeps its histogram for that.
 */
static struct sample *interval_place(struct window *window)
{
	struct sample *last = &window->intervals[LIMIT_INTERVALS - 1];

	if (window->interval_count == LIMIT_INTERVALS) {
		return last;
	}
	histogram_reset(window->merged);
	window->intervals[window->interval_count] =
		(struct sample){ .start_ns =
					 span_ns(window, window->open_ticks, window->cut_ticks) };
	return &window->intervals[window->interval_count++];
}

static void keep_interval(struct window *window, const struct window_counts *counts,
			  uint64_t now_ticks)
{
	const struct window_counts *cut = &window->cut_counts;
	struct sample *sample;

	if (now_ticks <= window->cut_ticks && counts->operations == cut->operations &&
	    counts->errors == cut->errors) {
		return;
	}
	sample = interval_place(window);
	sample->end_ns = span_ns(window, window->open_ticks, now_ticks);
	sample->operations += counts->operations - cut->operations;
	sample->bytes += counts->bytes - cut->bytes;
	sample->errors += counts->errors - cut->errors;
	read_latency(window, sample);
	window->progress.last = *sample;
	window->cut_counts = *counts;
	window->cut_ticks = now_ticks;
}

void window_cut(struct window *window, const struct window_counts *counts, uint64_t now_ticks)
{
	if (window->phase == PHASE_MEASURING) {
		keep_interval(window, counts, now_ticks);
	}
	tell_progress(window, counts, now_ticks);
	/* Cuts stay on the grid of the window; what was slept through is one long interval. */
	if (now_ticks >= window->next_cut_ticks) {
		uint64_t behind = (now_ticks - window->next_cut_ticks) / window->interval_ticks;

		window->next_cut_ticks += (behind + 1) * window->interval_ticks;
	}
	plan_next(window);
}

void window_close(struct window *window, const struct window_counts *counts, uint64_t now_ticks)
{
	/* What ended it was found before it opened, when that was the first that came. */
	window->close_ticks = now_ticks > window->open_ticks ? now_ticks : window->open_ticks;
	window->close_counts = *counts;
	clock_stamp(&window->close_stamp);
	usage_now(&window->close_usage);
	keep_interval(window, counts, now_ticks);
	tell_progress(window, counts, now_ticks);
	window->phase = PHASE_DRAINING;
	window->next_cut_ticks = CLOCK_NEVER;
	plan_next(window);
}

void window_end(struct window *window)
{
	window->progress.phase = PHASE_DRAINING;
	window->has_progress = true;
}

void window_slow(struct window *window, uint64_t latency_ns, uint64_t now_ticks, size_t qp_index,
		 size_t class_index)
{
	slowest_add(&window->slowest,
		    &(struct slow_operation){
			    .latency_ns = latency_ns,
			    .end_ns = span_ns(window, window->open_ticks, now_ticks),
			    .qp_index = qp_index,
			    .class_index = class_index,
		    });
}

static void tell_clock(const struct window *window, struct totals *ret)
{
	struct clock_scale scale = window->scale;
	struct clock_info info;

	clock_info(&info);
	text_copy(ret->clock, sizeof(ret->clock), info.source);
	ret->clock_read_ns = info.read_cost_ns;
	if (window->close_ticks == CLOCK_NEVER) {
		return;
	}
	clock_scale_span(&window->open_stamp, &window->close_stamp, &scale, &ret->clock_drift_ppm);
	ret->window_ns = clock_ticks_to_ns(&scale, window->close_ticks - window->open_ticks);
}

void window_totals(struct window *window, struct totals *ret)
{
	const struct window_counts *open = &window->open_counts;
	const struct window_counts *close = &window->close_counts;

	tell_clock(window, ret);
	ret->operations = close->operations - open->operations;
	ret->bytes = close->bytes - open->bytes;
	ret->polls = close->polls - open->polls;
	ret->empty_polls = close->empty_polls - open->empty_polls;
	ret->late_operations = close->late - open->late;
	ret->dropped_operations = close->dropped - open->dropped;
	ret->worker_cpu_ns = window->close_usage.cpu_ns - window->open_usage.cpu_ns;
	/* It is read outside of the window, at either end: what was spent there is not of it. */
	ret->worker_cpu_ns = earlier(ret->worker_cpu_ns, ret->window_ns);
	ret->involuntary_switches =
		window->close_usage.involuntary_switches - window->open_usage.involuntary_switches;
	if (window->close_ticks != CLOCK_NEVER) {
		ret->host.voluntary_switches = window->close_usage.voluntary_switches -
					       window->open_usage.voluntary_switches;
	}
	ret->slowest = window->slowest;
	slowest_sort(&ret->slowest);
	ret->interval_count = window->interval_count;
	ret->intervals = take(window->intervals);
}
