// SPDX-License-Identifier: MIT
#pragma once

/* What a measurement that is one of several of its pair leaves for the summary of all. Pure. */

#include "model/run.h"

/* Fills measurement->repeat_values, when it is one of several and ended without an error. */
void repetition_take(struct measurement *measurement);
