// SPDX-License-Identifier: MIT
#pragma once

/*
 * A piece of work for a setup thread, and what the loop does once it is done. Inside of the engine.
 */

#include "verbs/setup.h"

struct task {
	struct setup_task setup; /* first */
	/*
	 * On the loop, after setup.run; frees the task. Also for tasks posted to the replies
	 * without a run.
	 */
	void (*done)(struct task *task);
};
