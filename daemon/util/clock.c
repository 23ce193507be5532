// SPDX-License-Identifier: MIT
#include "util/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/memory.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#define HAS_TSC true
#else
#define HAS_TSC false
#define __rdtsc() 0
#endif

#define NS_PER_S 1000000000ull
#define CALIBRATION_NS 10000000ull
#define STAMP_TRIES 16
#define COST_READS 1000
#define COST_TRIES 5
#define MAX_DISAGREEMENT_PPM 1000.0
#define SCALE_SHIFT 62

/* Written by clock_init only, before the first thread; without it ticks are CLOCK_MONOTONIC. */
static struct {
	bool is_ready;
	bool is_tsc;
	uint32_t read_cost_ns;
	double ticks_per_s;
	struct clock_scale scale;
} state = {
	.ticks_per_s = 1e9,
	.scale = { .mult = 1ull << SCALE_SHIFT, .shift = SCALE_SHIFT },
};

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_real_ns(void)
{
	return (int64_t)read_ns(CLOCK_REALTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_cpu_ns(clockid_t id)
{
	struct timespec now;

	return clock_gettime(id, &now) < 0
		       ? UINT64_MAX
		       : (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_ticks(void)
{
	if (__builtin_expect(state.is_tsc, HAS_TSC)) {
		return __rdtsc();
	}
	return read_ns(CLOCK_MONOTONIC);
}

/* One stamp. Returns how far apart the two readings around the counter were. */
static uint64_t stamp_once(struct clock_stamp *ret)
{
	uint64_t before_ns = read_ns(CLOCK_MONOTONIC_RAW);
	uint64_t ticks = __rdtsc();
	uint64_t gap_ns = read_ns(CLOCK_MONOTONIC_RAW) - before_ns;

	*ret = (struct clock_stamp){ .ticks = ticks, .raw_ns = before_ns + gap_ns / 2 };
	return gap_ns;
}

/* A stamp is as good as the two readings are close: the closest of several is kept. */
static void stamp_tsc(struct clock_stamp *ret)
{
	uint64_t best_gap_ns = stamp_once(ret);

	for (unsigned i = 1; i < STAMP_TRIES; i++) {
		struct clock_stamp stamp;
		uint64_t gap_ns = stamp_once(&stamp);

		if (gap_ns < best_gap_ns) {
			best_gap_ns = gap_ns;
			*ret = stamp;
		}
	}
}

void clock_stamp(struct clock_stamp *ret)
{
	if (state.is_tsc) {
		stamp_tsc(ret);
	} else {
		ret->ticks = read_ns(CLOCK_MONOTONIC);
		ret->raw_ns = ret->ticks;
	}
}

/* As many bits of ns per tick as 64 hold. False when there is no span to divide by. */
static bool scale_from(const struct clock_stamp *from, const struct clock_stamp *to,
		       struct clock_scale *ret)
{
	uint64_t ticks = to->ticks - from->ticks;
	uint64_t ns = to->raw_ns - from->raw_ns;

	if (to->ticks <= from->ticks || to->raw_ns <= from->raw_ns) {
		return false;
	}
	for (unsigned shift = SCALE_SHIFT; shift > 0; shift--) {
		unsigned __int128 mult = (((unsigned __int128)ns << shift) + ticks / 2) / ticks;

		if (mult > 0 && mult <= UINT64_MAX) {
			*ret = (struct clock_scale){ .mult = (uint64_t)mult, .shift = shift };
			return true;
		}
	}
	return false;
}

static double ticks_per_s_of(const struct clock_scale *scale)
{
	return ldexp(1e9, (int)scale->shift) / (double)scale->mult;
}

static double drift_ppm_of(const struct clock_scale *scale, const struct clock_scale *reference)
{
	return (ticks_per_s_of(scale) / ticks_per_s_of(reference) - 1.0) * 1e6;
}

void clock_scale_initial(struct clock_scale *ret)
{
	*ret = state.scale;
}

void clock_scale_span(const struct clock_stamp *from, const struct clock_stamp *to,
		      struct clock_scale *ret, double *ret_drift_ppm)
{
	double drift_ppm = 0;

	if (to->raw_ns < from->raw_ns || to->raw_ns - from->raw_ns < CALIBRATION_NS ||
	    !scale_from(from, to, ret)) {
		*ret = state.scale;
	} else {
		drift_ppm = drift_ppm_of(ret, &state.scale);
	}
	if (ret_drift_ppm) {
		*ret_drift_ppm = drift_ppm;
	}
}

void clock_info(struct clock_info *ret)
{
	*ret = (struct clock_info){
		.source = state.is_tsc ? "tsc" : "monotonic",
		.ticks_per_s = state.ticks_per_s,
		.read_cost_ns = state.read_cost_ns,
	};
}

/*
 * The kernel keeps CLOCK_MONOTONIC itself by this counter only while it runs at one rate on all
 * processors, asleep or not: what is good enough for that is good enough here. The flags of
 * /proc/cpuinfo say less: under hypervisors the invariant one is often hidden.
 */
static bool is_kernel_on_tsc(void)
{
	char word[32] = "";
	FILE *file =
		fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");

	if (!file) {
		return false;
	}
	if (!fgets(word, sizeof(word), file)) {
		word[0] = '\0';
	}
	fclose(file);
	return strcmp(word, "tsc\n") == 0;
}

static void wait_calibration(void)
{
	struct timespec until;
	uint64_t until_ns = clock_mono_ns() + CALIBRATION_NS + 1;

	until.tv_sec = (time_t)(until_ns / NS_PER_S);
	until.tv_nsec = (long)(until_ns % NS_PER_S);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
	}
}

/*
 * Two spans must agree: a counter that is trapped, stopped or scaled by a hypervisor is not worth
 * its speed.
 */
static bool calibrate_tsc(struct clock_scale *ret)
{
	struct clock_stamp stamps[3];
	struct clock_scale first;
	struct clock_scale second;

	stamp_tsc(&stamps[0]);
	wait_calibration();
	stamp_tsc(&stamps[1]);
	wait_calibration();
	stamp_tsc(&stamps[2]);
	return scale_from(&stamps[0], &stamps[1], &first) &&
	       scale_from(&stamps[1], &stamps[2], &second) &&
	       fabs(drift_ppm_of(&second, &first)) <= MAX_DISAGREEMENT_PPM &&
	       scale_from(&stamps[0], &stamps[2], ret);
}

static uint32_t measure_read_cost_ns(void)
{
	uint64_t best_ns = UINT64_MAX;

	for (unsigned i = 0; i < COST_TRIES; i++) {
		uint64_t start_ns = clock_mono_ns();
		uint64_t took_ns;

		for (unsigned j = 0; j < COST_READS; j++) {
			clock_ticks();
		}
		took_ns = clock_mono_ns() - start_ns;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	return (uint32_t)((best_ns + COST_READS / 2) / COST_READS);
}

void clock_init(void)
{
	struct clock_scale scale;

	if (state.is_ready) {
		return;
	}
	if (HAS_TSC && is_kernel_on_tsc() && calibrate_tsc(&scale)) {
		state.scale = scale;
		state.ticks_per_s = ticks_per_s_of(&scale);
		state.is_tsc = true;
	}
	state.read_cost_ns = measure_read_cost_ns();
	state.is_ready = true;
}
