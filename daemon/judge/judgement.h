// SPDX-License-Identifier: MIT
#pragma once

/*
 * The verdict. The order for each measurement that is over is
 *
 *   collect_first_error, expect_evaluate, diagnose_measurement, judgement_measurement
 *
 * and for the run, once all are, diagnose_run, judgement_run. judgement_complete does both for a
 * whole run. Pure; one thread at a time. Verdicts follow from class, stage, call and number of
 * errors, from counts and outcomes, never from text.
 */

#include "model/run.h"

/* What an error alone means: never pass or degraded. */
enum verdict judgement_of_failure(const struct failure *failure);

/* Sets measurement->verdict; adds a finding where no rule of diagnose has one for a verdict that is
 * not pass. */
void judgement_measurement(struct measurement *measurement);

/* Sets run->counts and run->verdict: the worst of the measurements and of run->error; never pass
 * without a measurement. */
void judgement_run(struct run *run);

/* All steps, in order, for every measurement and then the run. */
void judgement_complete(struct run *run);
