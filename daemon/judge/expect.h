// SPDX-License-Identifier: MIT
#pragma once

/*
 * Expectations against measured values. Pure; one thread at a time.
 */

#include "model/run.h"

/*
 * Fills measurement->expectations from the initiator's totals. Call after collect_first_error: when
 * there is one, what was measured is shown, but it is evidence of a part only, so that nothing but
 * `errors` is met or missed by it. Inconclusive, with the reason: no totals, no samples, too few
 * samples for the percentile, link rate unknown.
 */
void expect_evaluate(struct measurement *measurement, const struct expectations *expectations);

/* The value that an expectation compares: ns, bit/s, operations/s, a count or a ratio. False when
 * it is not known. */
bool expect_actual(const struct measurement *measurement, const struct expectation *expectation,
		   double *ret);

/*
 * What payload could reach at most, bit/s: the lower link rate of both ports less the headers of
 * full packets at the path MTU (RoCE v2 over Ethernet with preamble, gap, FCS and, if the GID has
 * one, VLAN tag; LRH, BTH and CRCs on InfiniBand). 0: not known.
 */
double expect_ceiling_bps(const struct measurement *measurement);
