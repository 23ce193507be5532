// SPDX-License-Identifier: MIT
#pragma once

/*
 * The record of a run as text, a piece at a time: a run may have thousands of pairs, and whoever
 * writes it has other things to do meanwhile. All pieces together with intervals are what
 * json_write makes of run_write. A run that is not over may change between two pieces; the text
 * stays well-formed, and each piece tells of its moment. One thread, the run's.
 */

#include "model/run.h"
#include "util/text.h"

/* What is told of a measurement besides; without it the array is empty, or null. */
enum {
	RUN_PIECES_HISTOGRAMS = 1 << 0, /* buckets */
	RUN_PIECES_INTERVALS = 1 << 1,
};

struct run_pieces;

/* Takes a reference to the run of its own. */
struct run_pieces *run_pieces_new(struct run *run, unsigned with);
void run_pieces_free(struct run_pieces *pieces);
/* Adds the next piece, of a few KiB at most. False: that was the last; do not call again. */
bool run_pieces_next(struct run_pieces *pieces, struct text *out);
