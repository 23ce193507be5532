// SPDX-License-Identifier: MIT
#pragma once

/*
 * From errors, totals and expectations to findings: a table of small rules that look at class,
 * stage, call and status, never at text. Pure; one thread at a time.
 */

#include "model/run.h"

/* Call after collect_first_error and expect_evaluate. Adds to measurement->findings. */
void diagnose_measurement(struct measurement *measurement);

/* The error of the run as a whole (refused plan, aborted before its end): adds to run->findings. */
void diagnose_run(struct run *run);
