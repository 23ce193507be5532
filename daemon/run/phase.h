// SPDX-License-Identifier: MIT
#pragma once

/* How far one pair of a run is, in order, and what is waited for there: see run/measure. */

#include <stdint.h>

#include "util/error.h"

enum phase {
	PHASE_NEW,
	PHASE_BUSY_WAIT,
	PHASE_PREPARE_FIRST,
	PHASE_PREPARE_SECOND,
	PHASE_CONNECT,
	PHASE_START_RESPONDER,
	PHASE_START_INITIATOR,
	PHASE_RUNNING,
	PHASE_ONE_END_OVER,
	PHASE_STOPPING,
	PHASE_RELEASING,
	PHASE_DONE,
};

/* For the live line: "preparing", "measuring", ... */
const char *phase_word(enum phase phase);
/* Where an error of this phase belongs. */
enum error_stage phase_stage(enum phase phase);
/* How long ends may take for it; 0: the phase says nothing of that (api/control-protocol.md). */
uint64_t phase_timeout_ns(enum phase phase);
/* What an end has to do in it, as in `node "x" did not ...`. NULL: nothing. */
const char *phase_task(enum phase phase);
