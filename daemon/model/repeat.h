// SPDX-License-Identifier: MIT
#pragma once

/*
 * The same pair measured several times (run.repeat): a few values of each time, and what they come
 * to over all times. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/operation.h"
#include "util/json.h"

/* Bandwidth and rate of all operations; then of each kind of operation the median latency, then
 * p99; then both of the set-up of connections. */
#define REPEAT_BANDWIDTH 0
#define REPEAT_OPS_RATE 1
#define REPEAT_P50 2
#define REPEAT_P99 (REPEAT_P50 + OPERATION_KINDS)
#define REPEAT_SETUP_P50 (REPEAT_P99 + OPERATION_KINDS)
#define REPEAT_SETUP_P99 (REPEAT_SETUP_P50 + 1)
#define REPEAT_VALUES (REPEAT_SETUP_P99 + 1)

struct repeat_values {
	double values[REPEAT_VALUES]; /* bit/s, operations/s, ns; NAN: not known */
};

struct repeat_summary {
	size_t count;
	double median;
	double min;
	double max;
	double mean;
	bool has_interval; /* with two values or more */
	double low; /* 95 % confidence interval of the mean, by Student's t */
	double high;
};

/* Sorts the values. count is at least 1. */
void repeat_summarize(double *values, size_t count, struct repeat_summary *ret);

struct run;

/*
 * Of a run that is over: an entry for each pair that was measured more than once. New reference; an
 * empty array when there is none.
 */
json_t *repeat_write(const struct run *run);
