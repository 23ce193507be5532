// SPDX-License-Identifier: MIT
#pragma once

#include "model/run.h"

/*
 * Adds FINDING_MESSAGES_LOST where a transport lost messages without an error, unless the scenario
 * says how many may be (lost_ops) and it was less: `certain`, and `possible` where a host was short
 * of CPU: call after the finding about that, and after expectations were evaluated. Pure; one
 * thread at a time.
 */
void delivery_evidence_find(struct measurement *measurement);
