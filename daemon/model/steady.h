// SPDX-License-Identifier: MIT
#pragma once

/*
 * From when on a rate was steady: whether warm-up was long enough, and whether the mean of a window
 * is of one state or of several. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/sample.h"

/* Every interval from there on is within so much of their mean, and they are so many at least. */
#define STEADY_WITHIN 0.05
#define STEADY_LEAST 5

struct steady {
	bool is_reached;
	size_t first; /* the earliest interval from which on it holds */
	size_t count; /* of intervals, to the last whole one */
	double ops_per_s; /* their mean */
};

/* Of the whole intervals. False with fewer than STEADY_LEAST, or when nothing completed. */
bool steady_find(const struct totals *totals, struct steady *ret);
