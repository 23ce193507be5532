// SPDX-License-Identifier: MIT
#include "engine/pacer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/load.h"
#include "util/memory.h"
#include "util/random.h"

#define CONSTANT_GAPS 1024
#define POISSON_GAPS (1 << 17) /* enough for their tails: one in a hundred thousand */
#define NS_PER_S 1e9
#define DROPS_MOST 4096 /* of one call */

/* Above 0, up to 1. */
static double uniform(struct prng *prng)
{
	return (double)((prng_next(prng) >> 11) + 1) * 0x1p-53;
}

/* Each with mean 1, more or less. */
static double draw(int arrival, struct prng *prng)
{
	return arrival == ARRIVAL_POISSON ? -log(uniform(prng)) : 1;
}

static double sum_of(int arrival, uint64_t seed, size_t count)
{
	struct prng prng;
	double sum = 0;

	prng_init(&prng, seed);
	for (size_t i = 0; i < count; i++) {
		sum += draw(arrival, &prng);
	}
	return sum;
}

int pacer_init(struct pacer *pacer, const struct workload *workload,
	       const struct clock_scale *scale, uint64_t seed, struct error *err)
{
	const struct load_settings *load = &workload->workload.load;
	size_t count = load->arrival == ARRIVAL_POISSON ? POISSON_GAPS : CONSTANT_GAPS;
	double ring_ns = (double)count * NS_PER_S / load_ops_per_s(workload);
	double ring_ticks = (double)clock_ns_to_ticks(scale, (uint64_t)llround(ring_ns));
	double unit_ticks = ring_ticks / sum_of(load->arrival, seed, count);
	double at_ticks = 0;
	uint64_t before_ticks = 0;
	struct prng prng;

	*pacer = (struct pacer){ .mask = count - 1, .is_dropping = load->on_full == ON_FULL_DROP };
	pacer->gaps = memory_try(count, sizeof(*pacer->gaps));
	if (!pacer->gaps) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE,
				 "no memory for the times of %zu operations", count);
	}
	prng_init(&prng, seed);
	for (size_t i = 0; i < count; i++) {
		uint64_t rounded_ticks;

		at_ticks += draw(load->arrival, &prng) * unit_ticks;
		rounded_ticks = i + 1 < count ? (uint64_t)llround(at_ticks)
					      : (uint64_t)llround(ring_ticks);
		pacer->gaps[i] = rounded_ticks > before_ticks ? rounded_ticks - before_ticks : 0;
		before_ticks += pacer->gaps[i];
	}
	pacer->ring_ticks = before_ticks;
	pacer->behind_ticks = clock_ns_to_ticks(scale, PACER_BEHIND_MOST_NS);
	return 0;
}

void pacer_done(struct pacer *pacer)
{
	free(take(pacer->gaps));
}

void pacer_begin(struct pacer *pacer, uint64_t iterations)
{
	pacer->next_ticks = 0;
	pacer->full_ticks = 0;
	pacer->left = iterations > 0 ? iterations : UINT64_MAX;
}

bool pacer_full(struct pacer *pacer, uint64_t now_ticks)
{
	uint64_t behind_ticks = now_ticks - pacer->next_ticks;
	uint64_t turns = pacer->ring_ticks ? behind_ticks / pacer->ring_ticks : 0;

	if (!pacer->is_dropping) {
		pacer->full_ticks = now_ticks;
		return behind_ticks <= pacer->behind_ticks;
	}
	pacer->dropped += turns * (pacer->mask + 1);
	pacer->next_ticks += turns * pacer->ring_ticks;
	for (unsigned i = 0; i < DROPS_MOST && pacer->next_ticks <= now_ticks; i++) {
		pacer->dropped++;
		pacer_advance(pacer);
	}
	return true;
}
