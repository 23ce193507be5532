// SPDX-License-Identifier: MIT
#pragma once

#include "model/run.h"

/*
 * Adds FINDING_MESSAGES_LOST where a transport lost messages without an error, unless the scenario
 * says how many may be (lost_ops) and it was less: `certain`, and `possible` where the receiver's
 * host was short of CPU and something arrived. To be called after expectations were evaluated.
 * Pure; one thread at a time.
 */
void delivery_evidence_find(struct measurement *measurement);
