// SPDX-License-Identifier: MIT
#pragma once

/*
 * What it means that a connection by rdma_cm did not come about, though the daemons of both ends
 * reach each other. Pure.
 */

#include <stdbool.h>

#include "model/failure.h"
#include "model/finding.h"

/*
 * True when the failure is one of a connection manager; its finding is added then. node: who saw
 * it; path: from where to where, in words.
 */
bool diagnose_cm(const struct failure *failure, const char *node, const char *path,
		 const char *evidence, struct findings *findings);
