// SPDX-License-Identifier: MIT
#pragma once

/*
 * Several results side by side: what each gained on the one before it, and whether that is more
 * than the rates varied by within the runs. Pure.
 */

#include "ctl/paper.h"
#include "model/limits.h"
#include "util/json.h"

#define COMPARE_MAX 8

struct compare_row {
	char scenario[LIMIT_NAME];
	char verdict[16]; /* or its state */
	bool has_rates;
	double ops_per_s; /* of a pair, on average; both directions of one that has two */
	double bandwidth_bps;
	bool has_error;
	double error; /* standard error of the rate, as a share of it */
};

struct compare {
	size_t count;
	struct compare_row rows[COMPARE_MAX];
};

/* The record of a run; COMPARE_MAX at most. */
void compare_add(struct compare *compare, const json_t *run);
/* {"runs": [{scenario, verdict, ops_per_s, bandwidth_bps, gain, gain_in_all, is_beyond_noise}]};
 * what is not known is null. New reference. */
json_t *compare_write(const struct compare *compare);
void compare_print(const struct compare *compare, struct paper *paper);
