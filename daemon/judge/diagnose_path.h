// SPDX-License-Identifier: MIT
#pragma once

/*
 * The rules of judge/diagnose about the way between two ports: no address for the other end, no
 * answer from it, nothing that gets through, or nothing above a size. Pure; one thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/run.h"

#define DIAGNOSE_PATH_SIZE (4 * LIMIT_NAME + 16)

/* "a/rxe0 to b/rxe1" in buf, or "the run" where measurement is NULL. */
const char *diagnose_path_name(const struct measurement *measurement, char *buf, size_t size);

/* True when one of them explains the failure; its finding is added. measurement: NULL for the error
 * of a whole run. */
bool diagnose_path(const struct failure *failure, const struct measurement *measurement,
		   const char *evidence, struct findings *findings);
