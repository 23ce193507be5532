// SPDX-License-Identifier: MIT
#pragma once

/*
 * A call to a device's driver: timed for the steps of a result, and known by name while it is out,
 * so that one which hangs can be told (util/thread, verbs/setup). Setup threads.
 */

#include <stdint.h>

#include "model/step.h"

/*
 * name: static, as libibverbs has it. Returns the time, for call_end. A call that failed need not
 * be ended: the next one, or the end of the task, ends it.
 */
uint64_t call_begin(const char *name);
/* steps: gets `step` with what the call took; may be NULL. */
void call_end(struct steps *steps, const char *step, uint64_t started_mono_ns, uint64_t bytes);
