// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the hosts of both ends gave the tester (model/host_report.h), for and against a host as the
 * cause of what was measured. Pure; one thread at a time.
 */

#include "model/run.h"

/*
 * Adds FINDING_HOST_STARVED about the end that was starved most. `likely`: its measuring thread,
 * which polls and so needs a whole CPU, lacked a tenth of one, or was away for half of the time
 * that a stall took; `certain`: and it is known who took half of that or more. Fewer lacks are
 * `possible`.
 */
void host_evidence_find(struct measurement *measurement);

/* Whether the host of that end was short of CPU, with at least `likely`. */
/* The host of an end to which the other one posts: the responder's, with direction: both either. */
bool host_evidence_is_starved_receiver(const struct measurement *measurement);
bool host_evidence_is_starved(const struct measurement *measurement, const struct participant *end);

/*
 * Whether the first error is one that a starved host makes by itself: a stall, where either end was
 * starved; a receiver that was not ready, where that one was. With at least `likely`.
 */
bool host_evidence_explains_error(const struct measurement *measurement);

/*
 * Where a rate was below what was expected: FINDING_PCIE_NARROW if the device of an end has less of
 * its bus than it could have, and not clearly more than its port carries. rate_bps: that was
 * measured, 0: not known.
 */
void host_evidence_find_bus(struct measurement *measurement, double rate_bps);

/*
 * A clause about the hosts for someone who asks whether it was them: shares of a CPU, what was
 * withheld, a CPU that is slow or far from its device. "" when no end tells anything.
 */
void host_evidence_say(const struct measurement *measurement, char *out, size_t size);
