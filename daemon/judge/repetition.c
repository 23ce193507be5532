// SPDX-License-Identifier: MIT
#include "judge/repetition.h"

#include <math.h>

#include "judge/expect.h"
#include "util/memory.h"

/* The same words as in expect, so that a value and an expectation never differ. */
static double value_of(const struct measurement *measurement, int metric, int statistic, int kind,
		       uint64_t percentile_ppm)
{
	struct expectation expectation = { .metric = metric,
					   .statistic = statistic,
					   .kind = kind,
					   .phase = -1,
					   .percentile_ppm = percentile_ppm };
	double value;

	return expect_actual(measurement, &expectation, &value) ? value : (double)NAN;
}

void repetition_take(struct measurement *measurement)
{
	double *values;

	/* What an error cut short is no measurement of the same. */
	if (measurement->repeat_count < 2 || !measurement->initiator.has_totals ||
	    error_is_set(&measurement->first_error.error)) {
		return;
	}
	free(measurement->repeat_values);
	measurement->repeat_values = memory_new(sizeof(*measurement->repeat_values));
	values = measurement->repeat_values->values;
	for (size_t i = 0; i < REPEAT_VALUES; i++) {
		values[i] = NAN;
	}
	if (measurement->initiator.totals.connections) {
		values[REPEAT_OPS_RATE] =
			value_of(measurement, METRIC_OPS_RATE, STATISTIC_MEAN, -1, 0);
		values[REPEAT_SETUP_P50] =
			value_of(measurement, METRIC_LATENCY, STATISTIC_PERCENTILE, -1, 500000);
		values[REPEAT_SETUP_P99] =
			value_of(measurement, METRIC_LATENCY, STATISTIC_PERCENTILE, -1, 990000);
		return;
	}
	values[REPEAT_BANDWIDTH] = value_of(measurement, METRIC_BANDWIDTH, STATISTIC_MEAN, -1, 0);
	values[REPEAT_OPS_RATE] = value_of(measurement, METRIC_OPS_RATE, STATISTIC_MEAN, -1, 0);
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		values[REPEAT_P50 + kind] =
			value_of(measurement, METRIC_LATENCY, STATISTIC_PERCENTILE, kind, 500000);
		values[REPEAT_P99 + kind] =
			value_of(measurement, METRIC_LATENCY, STATISTIC_PERCENTILE, kind, 990000);
	}
}
