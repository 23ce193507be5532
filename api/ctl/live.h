// SPDX-License-Identifier: MIT
#pragma once

/*
 * A run while it goes on: one line that is redrawn, or a line for each new phase. Both are made
 * from the answer of /v1/runs/ID/progress. Pure.
 */

#include "ctl/paper.h"
#include "util/json.h"

/* One line without a newline, at most paper->columns wide. */
void live_print_line(const json_t *progress, const char *scenario, struct paper *paper);

/* A line for each pair that is in another phase than in the answer before (NULL: none yet). */
void live_print_changes(const json_t *before, const json_t *progress, const char *scenario,
			struct paper *paper);

/* How long every pair that goes on is going to stay in its phase; 0 when that is not known of one.
 */
uint64_t live_remaining_ns(const json_t *progress);

/* The word for where the run is: "queued", "running", "done". */
const char *live_state(const json_t *progress);
