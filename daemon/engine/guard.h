// SPDX-License-Identifier: MIT
#pragma once

/*
 * Whether a host is too short of CPU or memory for a load that others feel to go on: looked at once
 * a GUARD_INTERVAL_NS, and GUARD_LOOKS bad intervals in a row are too many. Pure; one thread at a
 * time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define GUARD_INTERVAL_NS 1000000000ull
#define GUARD_LOOKS 5
/* Of a CPU, that a polling thread gets: it shares it with three others of its weight. */
#define GUARD_LEAST_CPU_PERCENT 25
/* Of the time, in which nothing on the host got on for want of memory. */
#define GUARD_MOST_MEMORY_PERCENT 20
/* An interval as long as that: the loop itself did not run. */
#define GUARD_LATE_NS (3 * GUARD_INTERVAL_NS)

/* What is looked at, in counters that only grow; UINT64_MAX: not known. */
struct guard_look {
	uint64_t mono_ns;
	uint64_t worker_cpu_ns; /* of the measuring thread; there may be none */
	uint64_t memory_pressure_ns; /* host/supply.h */
};

struct guard {
	struct guard_look last;
	unsigned bad_looks; /* in a row */
	struct guard_look before; /* the begin of the first of them */
};

void guard_init(struct guard *guard, const struct guard_look *now);
/* 0, or -EBUSY with err (class RESOURCE, call "starved"): it has been so for too long. */
int guard_check(struct guard *guard, const struct guard_look *now, struct error *err);
