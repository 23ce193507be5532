// SPDX-License-Identifier: MIT
#include "util/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake/fake-clock.h"

static atomic_bool is_virtual;
static _Atomic uint64_t virtual_ns;
static _Atomic uint64_t still_ns; /* that no thread used */
static _Atomic uint64_t next_still_ns;
static _Atomic uint64_t read_cost_ns;
static _Thread_local uint64_t mono_offset_ns;
static _Thread_local int64_t real_offset_ns;

/* Not clock_gettime: a stepped harness defines that one too. */
static uint64_t kernel_ns(clockid_t clock)
{
	struct timespec time = { 0 };

	syscall(SYS_clock_gettime, clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void fake_clock_start(uint64_t mono_ns)
{
	atomic_store(&virtual_ns, mono_ns);
	atomic_store(&is_virtual, true);
}

void fake_clock_set_read_cost(uint64_t ns)
{
	atomic_store(&read_cost_ns, ns);
}

void fake_clock_stop(void)
{
	fake_clock_set_read_cost(0);
	atomic_store(&is_virtual, false);
}

bool fake_clock_is_virtual(void)
{
	return atomic_load(&is_virtual);
}

void fake_clock_advance(uint64_t ns)
{
	atomic_fetch_add(&virtual_ns, ns);
}

void fake_clock_stand_still_next(uint64_t ns)
{
	atomic_store(&next_still_ns, ns);
}

static void stand_still(void)
{
	uint64_t ns = atomic_exchange(&next_still_ns, 0);

	atomic_fetch_add(&still_ns, ns);
	fake_clock_advance(ns);
}

void fake_clock_set(uint64_t mono_ns)
{
	if (mono_ns < atomic_load(&virtual_ns)) {
		fprintf(stderr, "fake clock: cannot go backwards\n");
		abort();
	}
	atomic_store(&virtual_ns, mono_ns);
}

void fake_clock_set_offsets(uint64_t mono_ns, int64_t real_ns)
{
	mono_offset_ns = mono_ns;
	real_offset_ns = real_ns;
}

uint64_t fake_clock_now_ns(void)
{
	return atomic_load_explicit(&virtual_ns, memory_order_relaxed);
}

uint64_t fake_clock_base_ns(void)
{
	return fake_clock_is_virtual() ? fake_clock_now_ns() : kernel_ns(CLOCK_MONOTONIC);
}

void clock_init(void)
{
}

uint64_t clock_mono_ns(void)
{
	if (!atomic_load_explicit(&is_virtual, memory_order_relaxed)) {
		return kernel_ns(CLOCK_MONOTONIC);
	}
	return fake_clock_now_ns() + mono_offset_ns;
}

int64_t clock_real_ns(void)
{
	if (!atomic_load_explicit(&is_virtual, memory_order_relaxed)) {
		return (int64_t)kernel_ns(CLOCK_REALTIME);
	}
	return FAKE_CLOCK_EPOCH_NS + (int64_t)fake_clock_now_ns() + real_offset_ns;
}

/* A thread that busy-polls uses all the time there is, unless it was stopped. */
uint64_t clock_thread_cpu_ns(void)
{
	if (!atomic_load_explicit(&is_virtual, memory_order_relaxed)) {
		return kernel_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	if (atomic_load_explicit(&next_still_ns, memory_order_relaxed) > 0) {
		stand_still();
	}
	return fake_clock_now_ns() - atomic_load_explicit(&still_ns, memory_order_relaxed);
}

uint64_t clock_cpu_ns(clockid_t id)
{
	if (!atomic_load_explicit(&is_virtual, memory_order_relaxed)) {
		return kernel_ns(id);
	}
	return fake_clock_now_ns() - atomic_load_explicit(&still_ns, memory_order_relaxed);
}

uint64_t clock_ticks(void)
{
	uint64_t cost_ns = atomic_load_explicit(&read_cost_ns, memory_order_relaxed);

	if (cost_ns > 0 && fake_clock_is_virtual()) {
		fake_clock_advance(cost_ns);
	}
	return clock_mono_ns();
}

void clock_info(struct clock_info *ret)
{
	*ret = (struct clock_info){ .source = fake_clock_is_virtual() ? "virtual" : "monotonic",
				    .ticks_per_s = 1e9,
				    .read_cost_ns = fake_clock_is_virtual() ? 0 : 50 };
}

void clock_stamp(struct clock_stamp *ret)
{
	ret->ticks = clock_ticks();
	ret->raw_ns = ret->ticks;
}

void clock_scale_initial(struct clock_scale *ret)
{
	*ret = (struct clock_scale){ .mult = 1, .shift = 0 };
}

void clock_scale_span(const struct clock_stamp *from, const struct clock_stamp *to,
		      struct clock_scale *ret, double *ret_drift_ppm)
{
	(void)from;
	(void)to;
	clock_scale_initial(ret);
	*ret_drift_ppm = 0;
}
