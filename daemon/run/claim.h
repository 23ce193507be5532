// SPDX-License-Identifier: MIT
#pragma once

/*
 * What an end claims to have measured, against the assignment that it was given: a peer may be of
 * another release, or lie. Pure.
 */

#include "model/assignment.h"
#include "model/sample.h"

/*
 * Whether totals can be those of this end of the assignment: its classes (number, operation, size,
 * weight), what latency means, sums that agree, a window, intervals and a rate that can be, an end
 * that it can have come to. 0, or -EPROTO with err (PEER) about the first thing that differs.
 * Totals without anything measured fit every assignment.
 */
int claim_check(const struct totals *totals, const struct assignment *assignment,
		enum job_role role, struct error *err);
