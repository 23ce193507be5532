// SPDX-License-Identifier: MIT
#pragma once

/*
 * A measurement in the words of other tools, for who compares them: perftest's numbers by
 * perftest's arithmetic (version 6, print_report_lat and print_report_bw), from what was measured
 * here. Our own numbers stand beside it in the record, and leave nothing out. Pure.
 *
 * Of latencies perftest drops the two largest: t_max is the second largest, t_avg and t_stdev are
 * without both, the percentiles are those of index ceil(count * share) of the rest, and deviations
 * are cut to whole microseconds before they are squared. It has one sample less than operations.
 * Minimum, maximum and average are exact here, the others within the 0.4 % of a histogram.
 */

#include "model/run.h"

/*
 * {"perftest": {...}}, or NULL where no program of perftest does such a thing: several kinds or
 * sizes, an open load, request_response, or nothing measured. New reference.
 */
json_t *compat_write(const struct measurement *measurement);
