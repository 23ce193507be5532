// SPDX-License-Identifier: MIT
#pragma once

/*
 * From what both ends and the sessions report to one first error: the cause, not what followed from
 * it. Pure; one thread at a time.
 */

#include "model/run.h"

/*
 * Sets measurement->first_error from what is there: `first_error` itself if the coordinator set it,
 * the `failure` of both participants, and of their totals. Who and where is filled in when a
 * failure does not say it; `flushed` is the sum of all. Not error set: nothing failed.
 *
 * The earliest stage and time win, but: flushed completions are never first; a session that was
 * lost no later than 2 s after a transport error or stall (8 s where it was lost by silence, which
 * takes 6 s to be noticed) is its cause (the process that died took
 * its queue pairs along), unless the port of the end that saw it went down before; a device that
 * was lost no later than 3 s after is, likewise; an end that stopped since it was told to is not
 * the cause of what the other end saw before; an error that the responder found in its own memory
 * or queue (LOC_*) is the cause of the REM_* that the requester got for it.
 *
 * What failed in the teardown of traffic that came to its own end, with the totals of both ends
 * there, is no first error: it goes to measurement->teardown.
 */
void collect_first_error(struct measurement *measurement);

/* Counts the verdicts of the measurements into run->counts. */
void collect_counts(struct run *run);
