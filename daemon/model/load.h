// SPDX-License-Identifier: MIT
#pragma once

/*
 * What an open load asks for: operations that begin at their own times, whatever became of those
 * before them. Pure.
 */

#include "model/workload.h"

bool load_is_open(const struct workload *workload);
/* The key that says how many are in flight at most: "workload.load.max_outstanding", or
 * outstanding. */
const char *load_outstanding_key(const struct workload *workload);
/* Operations a second over all queue pairs, of load.ops_rate or load.rate; 0: a closed load. */
double load_ops_per_s(const struct workload *workload);
/* Payload, bits a second; 0: a closed load, or no payload. */
double load_payload_bps(const struct workload *workload);
