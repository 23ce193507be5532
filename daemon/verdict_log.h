// SPDX-License-Identifier: MIT
#pragma once

/*
 * What runs came to, in the log: a line when the verdict of a scenario changes, with how often the
 * one before it came; while it stays other than pass, one line an hour at most. A scenario whose
 * verdict goes to and fro has VERDICT_LOG_CHANGES lines an hour, and then the number of changes
 * that were not told. Loop thread.
 */

#include <stdint.h>

#include "config/config.h"
#include "model/run.h"

#define VERDICT_LOG_CHANGES 10

struct verdict_log;

struct verdict_log *verdict_log_new(void);
void verdict_log_free(struct verdict_log *log);
/* A run that is done and judged. */
void verdict_log_tell(struct verdict_log *log, const struct run *run, uint64_t now_mono_ns);
/* One that was due and could not begin: once an hour at most. */
void verdict_log_refused(struct verdict_log *log, const char *scenario, const char *why,
			 uint64_t now_mono_ns);
/* Forgets scenarios that are gone. */
void verdict_log_configure(struct verdict_log *log, const struct config *config);
