// SPDX-License-Identifier: MIT
#pragma once

/* The rules of judge/diagnose about memory that a device did not let somebody use. Pure. */

#include <stdbool.h>

#include "model/finding.h"
#include "model/run.h"

/*
 * True when it explains the failure; its finding is added. An end that refused its own memory or a
 * message that does not fit (LOCAL_PROTECTION) is told from one whose request the other end refused
 * (REMOTE_ACCESS). measurement: NULL for the error of a whole run. node: who it is about.
 */
bool diagnose_access(const struct failure *failure, const struct measurement *measurement,
		     const char *node, const char *evidence, struct findings *findings);
