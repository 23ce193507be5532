// SPDX-License-Identifier: MIT
#include "verbs/call.h"

#include "util/clock.h"
#include "util/thread.h"

uint64_t call_begin(const char *name)
{
	thread_mark(name);
	return clock_mono_ns();
}

void call_end(struct steps *steps, const char *step, uint64_t started_mono_ns, uint64_t bytes)
{
	if (steps) {
		step_add(steps, step, clock_mono_ns() - started_mono_ns, bytes);
	}
	thread_mark(NULL);
}
