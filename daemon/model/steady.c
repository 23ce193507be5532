// SPDX-License-Identifier: MIT
#include "model/steady.h"

#include <float.h>

static double rate_of(const struct sample *sample)
{
	return sample->end_ns > sample->start_ns
		       ? (double)sample->operations * 1e9 /
				 (double)(sample->end_ns - sample->start_ns)
		       : 0;
}

bool steady_find(const struct totals *totals, struct steady *ret)
{
	size_t whole = sample_whole_intervals(totals);
	double least = DBL_MAX, most = 0, sum = 0;

	*ret = (struct steady){ 0 };
	if (whole < STEADY_LEAST) {
		return false;
	}
	/* From the end on: the longest tail that holds. */
	for (size_t count = 1; count <= whole; count++) {
		double rate = rate_of(&totals->intervals[whole - count]);
		double mean;

		least = rate < least ? rate : least;
		most = rate > most ? rate : most;
		sum += rate;
		mean = sum / (double)count;
		if (count >= STEADY_LEAST && least >= (1 - STEADY_WITHIN) * mean &&
		    most <= (1 + STEADY_WITHIN) * mean) {
			*ret = (struct steady){ .is_reached = true,
						.first = whole - count,
						.count = count,
						.ops_per_s = mean };
		}
	}
	ret->is_reached = ret->is_reached && sum > 0;
	return sum > 0;
}
