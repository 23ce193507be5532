// SPDX-License-Identifier: MIT
#include "run/phase.h"

#define SECOND_NS 1000000000ull

static const struct {
	const char *word;
	enum error_stage stage;
	uint64_t timeout_ns;
	const char *task;
} phases[] = {
	[PHASE_NEW] = { "queued", STAGE_RESOURCE, 0, NULL },
	[PHASE_BUSY_WAIT] = { "waiting", STAGE_RESOURCE, 0, NULL },
	[PHASE_PREPARE_FIRST] = { "preparing", STAGE_RESOURCE, 30 * SECOND_NS, "prepare" },
	[PHASE_PREPARE_SECOND] = { "preparing", STAGE_RESOURCE, 30 * SECOND_NS, "prepare" },
	[PHASE_CONNECT] = { "connecting", STAGE_CONNECT, 20 * SECOND_NS,
			    "connect its queue pairs" },
	[PHASE_START_RESPONDER] = { "starting", STAGE_CONNECT, 10 * SECOND_NS, "start" },
	[PHASE_START_INITIATOR] = { "starting", STAGE_CONNECT, 10 * SECOND_NS, "start" },
	/* Until run.timeout of the assignment, and what its ends need to say so. */
	[PHASE_RUNNING] = { "measuring", STAGE_RUN, 0, "finish its traffic (run.timeout)" },
	/* After one end stopped by itself the other has this long to see the same thing. */
	[PHASE_ONE_END_OVER] = { "measuring", STAGE_RUN, 2 * SECOND_NS, NULL },
	/* Longer than the silence limit of sessions: a peer that is gone is not one that is late.
	 */
	[PHASE_STOPPING] = { "stopping", STAGE_RUN, 9 * SECOND_NS,
			     "report the end of its traffic" },
	[PHASE_RELEASING] = { "releasing", STAGE_TEARDOWN, 15 * SECOND_NS,
			      "release its resources" },
	[PHASE_DONE] = { "done", STAGE_TEARDOWN, 0, NULL },
};

const char *phase_word(enum phase phase)
{
	return phases[phase].word;
}

enum error_stage phase_stage(enum phase phase)
{
	return phases[phase].stage;
}

uint64_t phase_timeout_ns(enum phase phase)
{
	return phases[phase].timeout_ns;
}

const char *phase_task(enum phase phase)
{
	return phases[phase].task;
}
