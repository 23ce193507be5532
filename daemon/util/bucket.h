// SPDX-License-Identifier: MIT
#pragma once

/*
 * A budget that fills up by itself (a token bucket), measured in the time that it takes to refill:
 * what costs one of 20 a second costs 50 ms. One that is all zeroes is full. Any thread, one owner
 * each.
 */

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	uint64_t full_mono_ns; /* when it will be full again */
};

/* False, and nothing taken, when cost_ns more than burst_ns would be owed. */
static inline bool bucket_take(struct bucket *bucket, uint64_t cost_ns, uint64_t burst_ns,
			       uint64_t now_mono_ns)
{
	uint64_t from_mono_ns = bucket->full_mono_ns > now_mono_ns ? bucket->full_mono_ns
								   : now_mono_ns;

	if (from_mono_ns + cost_ns - now_mono_ns > burst_ns) {
		return false;
	}
	bucket->full_mono_ns = from_mono_ns + cost_ns;
	return true;
}

/* For what is known only after it was spent. */
static inline void bucket_charge(struct bucket *bucket, uint64_t cost_ns, uint64_t now_mono_ns)
{
	if (bucket->full_mono_ns < now_mono_ns) {
		bucket->full_mono_ns = now_mono_ns;
	}
	bucket->full_mono_ns += cost_ns;
}

/* Forgives what is owed beyond most_ns. */
static inline void bucket_forgive(struct bucket *bucket, uint64_t most_ns, uint64_t now_mono_ns)
{
	if (bucket->full_mono_ns > now_mono_ns + most_ns) {
		bucket->full_mono_ns = now_mono_ns + most_ns;
	}
}

/* When no more than burst_ns will be owed; in the past when that is so now. */
static inline uint64_t bucket_ready_mono_ns(const struct bucket *bucket, uint64_t burst_ns)
{
	return bucket->full_mono_ns > burst_ns ? bucket->full_mono_ns - burst_ns : 0;
}
