// SPDX-License-Identifier: MIT
#pragma once

/*
 * A log-linear histogram of nanoseconds: constant memory, buckets at most 1/128 of their value
 * wide, so that the middle of one is at most 0.4 % from what was recorded. Minimum, maximum and sum
 * are exact. What lies beyond 2^36 ns (68 s) is counted in the last bucket; the maximum still tells
 * it truly. Merging adds buckets: percentiles are never averaged.
 *
 * One thread at a time. histogram_add is hot-path code: no branch but the range test.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

#define HISTOGRAM_SUB_BITS 7u
#define HISTOGRAM_MAX_BITS 36u
/* Values below 256 have a bucket each; every later power of two has 128. */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_MAX_BITS - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

struct histogram {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns; /* UINT64_MAX when empty */
	uint64_t max_ns;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_reset(struct histogram *histogram);

static inline unsigned histogram_index(uint64_t ns)
{
	if (ns >= 1ull << HISTOGRAM_MAX_BITS) {
		return HISTOGRAM_BUCKETS - 1;
	}
	unsigned shift = 63u - HISTOGRAM_SUB_BITS -
			 (unsigned)__builtin_clzll(ns | (1u << HISTOGRAM_SUB_BITS));

	return (shift << HISTOGRAM_SUB_BITS) + (unsigned)(ns >> shift);
}

static inline void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->buckets[histogram_index(ns)]++;
	histogram->count++;
	histogram->sum_ns += ns;
	histogram->min_ns = ns < histogram->min_ns ? ns : histogram->min_ns;
	histogram->max_ns = ns > histogram->max_ns ? ns : histogram->max_ns;
}

/* Lowest value of a bucket. */
uint64_t histogram_floor_ns(unsigned index);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* Merges and empties `from`, touching only the buckets in its range. */
void histogram_move(struct histogram *into, struct histogram *from);

/*
 * The value of rank ceil(count * ppm / 10^6) of all values in order (rank 1 the smallest), as the
 * middle of its bucket, within [min, max]: at most 0.4 % from the exact one. 0 when empty.
 */
uint64_t histogram_percentile_ns(const struct histogram *histogram, uint64_t ppm);
/* The value of that rank, from 1 to count, likewise; beyond, the largest. 0 when empty. */
uint64_t histogram_rank_ns(const struct histogram *histogram, uint64_t rank);
/* False with fewer than 10 values on either side of the percentile: then it is not shown (p50 needs
 * 20, p99.9 needs 10,000). */
bool histogram_has_percentile(const struct histogram *histogram, uint64_t ppm);
/* How many values the percentile needs. */
uint64_t histogram_needed_count(uint64_t ppm);
double histogram_mean_ns(const struct histogram *histogram);
double histogram_stddev_ns(const struct histogram *histogram); /* from bucket middles */
/* How many values are <= ns (whole buckets; for Prometheus' le bounds, bucket rounded up). */
uint64_t histogram_count_below(const struct histogram *histogram, uint64_t ns);

/* [[lowest_ns, count], ...] of the buckets that are not empty: for the record of a result. New
 * reference. */
json_t *histogram_write_buckets(const struct histogram *histogram);
/* Compact exchange form: {count,sum_ns,min_ns,max_ns,"buckets": base64 of varints (gap, count)}.
 * New reference. */
json_t *histogram_write(const struct histogram *histogram);
/* Hostile input: lengths, order, totals checked. */
int histogram_read(const json_t *json, struct histogram *ret, struct error *err);
