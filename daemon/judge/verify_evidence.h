// SPDX-License-Identifier: MIT
#pragma once

/*
 * What became of verified payload (workload.verify): findings, and what they make of a run. Pure.
 */

#include "model/run.h"
#include "model/verdict.h"

/* Adds FINDING_PAYLOAD_WRONG and FINDING_PAYLOAD_DISORDER; after expectations were evaluated. */
void verify_evidence_find(struct measurement *measurement);
/* Of a measurement without an error. */
enum verdict verify_evidence_verdict(const struct measurement *measurement);
