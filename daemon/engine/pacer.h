// SPDX-License-Identifier: MIT
#pragma once

/*
 * When the operations of an open load are meant to begin: a ring of gaps between them, drawn before
 * the traffic, whose sum is exact, so that the rate is. Constant gaps differ by a tick at most;
 * those of a Poisson arrival are exponential, as of many users that know nothing of each other.
 *
 * Built on a setup thread, then the worker's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/workload.h"
#include "util/clock.h"
#include "util/error.h"

struct pacer {
	uint64_t *gaps; /* ticks */
	uint64_t mask;
	uint64_t ring_ticks; /* their sum */
	uint64_t index;
	uint64_t next_ticks; /* when the next operation is meant to begin; 0: when it is first
				looked at */
	uint64_t behind_ticks; /* that far behind it is given up */
	uint64_t left; /* to be posted; UINT64_MAX: without end */
	bool is_dropping; /* what finds no room */
	uint64_t full_ticks; /* the last moment at which there was no room, or 0 */
	uint64_t late; /* since it began */
	uint64_t dropped;
};

/* 0, or -ENOMEM with err. scale: of the clock that the traffic uses. */
int pacer_init(struct pacer *pacer, const struct workload *workload,
	       const struct clock_scale *scale, uint64_t seed, struct error *err);
void pacer_done(struct pacer *pacer);

/* The first operation is meant for the moment of the first pacer_look. iterations: 0 = without end.
 */
void pacer_begin(struct pacer *pacer, uint64_t iterations);

/*
 * There is no room for what is due by now: drops it, a bounded number of operations a call, or
 * remembers that what is due now is late. False: it is PACER_BEHIND_MOST_NS late, which no path
 * that can carry the load ever is.
 */
#define PACER_BEHIND_MOST_NS 10000000000ull
bool pacer_full(struct pacer *pacer, uint64_t now_ticks);

static inline void pacer_look(struct pacer *pacer, uint64_t now_ticks)
{
	pacer->next_ticks = pacer->next_ticks ? pacer->next_ticks : now_ticks;
}

/* On to the next one. */
static inline void pacer_advance(struct pacer *pacer)
{
	pacer->next_ticks += pacer->gaps[pacer->index++ & pacer->mask];
}
