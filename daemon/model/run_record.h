// SPDX-License-Identifier: MIT
#pragma once

/*
 * The JSON of one measurement, for run.c: everything that api/openapi.yaml describes below
 * `measurements`. Base units in the keys, the same keys always, in the same order; a number that is
 * not known is null; never NaN. Pure.
 */

#include "model/run.h"

/* New reference. */
json_t *run_record_measurement(const struct measurement *measurement, bool with_histograms);
/* The same but for its last two members, `operations` (model/run_operations) and `intervals`. New
 * reference. */
json_t *run_record_head(const struct measurement *measurement);
/*
 * What follows of `reverse`, what the responder of a direction: both measured, before its
 * `operations` and `intervals`; NULL where it posted nothing. New reference.
 */
json_t *run_record_reverse(const struct measurement *measurement);
/* One of the `intervals`. New reference. */
json_t *run_record_interval(const struct sample *sample);
/* Six significant digits: what a measured value is worth, and what compares byte by byte. */
void run_record_set_real(json_t *object, const char *key, double value);
/* `amount` a second, null without a window. */
void run_record_set_rate(json_t *object, const char *key, uint64_t amount, uint64_t window_ns);
