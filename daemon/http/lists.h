// SPDX-License-Identifier: MIT
#pragma once

/*
 * The answers of the API that grow with the fleet or with a run, in pieces. Loop thread.
 */

#include "http/pieces.h"
#include "http/view.h"
#include "model/run_pieces.h"

/* {ports}, {peers}, {scenarios}: of the view, which they borrow. One that changes meanwhile may
 * lose or repeat an item. */
struct pieces *lists_devices(const struct view *view);
struct pieces *lists_peers(const struct view *view);
struct pieces *lists_scenarios(const struct view *view);

/* {next, runs}: summaries. Takes the references (not the array). next: a path or NULL. */
struct pieces *lists_runs(struct run *const *runs, size_t count, const char *next);

/* The record of a run. Takes the reference. with: RUN_PIECES_... */
struct pieces *lists_run(struct run *run, unsigned with);
