// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a measurement of pattern connect measured, as a table: each phase of its connections, those
 * of the initiator, then those of the responder. Pure.
 */

#include "ctl/paper.h"
#include "util/json.h"

/* Whether it is one. */
bool connections_has(const json_t *measurement);
void connections_print(const json_t *measurement, struct paper *paper, unsigned indent);
/* "812 op/s connections, set-up p50 1.1 ms, max 4.2 ms". */
void connections_sum_up(const json_t *measurement, struct text *out);
