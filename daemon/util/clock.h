// SPDX-License-Identifier: MIT
#pragma once

/*
 * The only reader of time (a link-time seam: tests replace clock.c whole).
 *
 * _mono_ns: CLOCK_MONOTONIC nanoseconds, for deadlines and durations. _real_ns: UTC since 1970, for
 * what people read; never mixed. Ticks: the cheapest monotonic counter, for the hot path; ticks of
 * one process are comparable between its threads. Any thread; clock_init once, before the first
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER UINT64_MAX

void clock_init(void);
uint64_t clock_mono_ns(void);
int64_t clock_real_ns(void);
/* CPU time of the calling thread. A system call. */
uint64_t clock_thread_cpu_ns(void);
/* Of a clock of pthread_getcpuclockid(3); UINT64_MAX when it cannot be read: its thread ended. */
uint64_t clock_cpu_ns(clockid_t id);

/*
 * The counter: TSC where the kernel's clocksource is tsc, else CLOCK_MONOTONIC ns. No
 * system call.
 */
uint64_t clock_ticks(void);

struct clock_info {
	const char *source; /* "tsc" or "monotonic" (the tests' clock says "virtual") */
	double ticks_per_s; /* of the calibration at start; 1e9 for monotonic */
	uint32_t read_cost_ns; /* measured at start */
};
void clock_info(struct clock_info *ret);

/*
 * One moment on both scales. A conversion is calibrated over the span that it measures: take one at
 * the start and one at the end; before the end (intervals) the scale of clock_init is used.
 */
struct clock_stamp {
	uint64_t ticks;
	uint64_t raw_ns; /* CLOCK_MONOTONIC_RAW (monotonic where ticks are monotonic) */
};
void clock_stamp(struct clock_stamp *ret);

/* ns = (ticks * mult) >> shift for spans up to 2^63 ns, without loss over 24 h. */
struct clock_scale {
	uint64_t mult;
	unsigned shift;
};
/* The scale measured at start. */
void clock_scale_initial(struct clock_scale *ret);
/*
 * The scale of the span from..to (at least 10 ms long, else the initial one); *ret_drift_ppm:
 * against the initial one.
 */
void clock_scale_span(const struct clock_stamp *from, const struct clock_stamp *to,
		      struct clock_scale *ret, double *ret_drift_ppm);

static inline uint64_t clock_ticks_to_ns(const struct clock_scale *scale, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * scale->mult) >> scale->shift);
}

static inline uint64_t clock_ns_to_ticks(const struct clock_scale *scale, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << scale->shift) / scale->mult);
}
