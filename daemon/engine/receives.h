// SPDX-License-Identifier: MIT
#pragma once

/*
 * The receives of an end that takes messages: counted, and posted again in batches before a queue
 * runs dry, in the order in which they were used up. Worker thread, but for init and done.
 */

#include "engine/flow.h"

struct receives {
	uint64_t batch; /* posted again at once */
	uint64_t *owed; /* by receive queue: one of each queue pair, or one that all share */
	uint64_t *first; /* of those: its place in the queue's chain */
};

/* Only where receives were posted (resources->recv_depth). */
void receives_init(struct receives *receives, const struct flow *flow);
void receives_done(struct receives *receives);

/* Whether it is the good receive of a queue of ours (wc->wr_id); if not, the flow ends. */
bool receives_is_good(struct flow *flow, struct ibv_wc *wc, uint64_t now_ticks);
/* One was used up, and its buffer is free again. */
void receives_give_back(struct receives *receives, struct flow *flow, size_t queue,
			uint64_t now_ticks);

/* Posts `count` of a queue pair's receives again, from a place in its chain on: within it. 0 or a
 * positive errno. */
int receives_repost(struct resources *resources, size_t queue, uint64_t first, uint64_t count);
