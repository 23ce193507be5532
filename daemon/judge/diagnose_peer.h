// SPDX-License-Identifier: MIT
#pragma once

/* The rule of judge/diagnose about the other daemon: an error of class PEER, or a refusal. Pure. */

#include <stdbool.h>

#include "model/failure.h"
#include "model/finding.h"

/* True when it explains the failure; its finding is added. node: who it is about. */
bool diagnose_peer(const struct failure *failure, const char *node, const char *evidence,
		   struct findings *findings);
