// SPDX-License-Identifier: MIT
#pragma once

/*
 * A PREPARE that waits until its port was looked at. Part of run/agent, used by nobody else. Loop
 * thread.
 */

#include "run/errand.h"

struct inquiry;

typedef void (*inquiry_done_fn)(void *arg, struct inquiry *inquiry, const struct port_use *use);

/* Copies the assignment. done(arg), which has to free it, comes once, from the loop. */
struct inquiry *inquiry_new(struct agent_way *way, const struct assignment *assignment,
			    inquiry_done_fn done, void *arg);
void inquiry_free(struct inquiry *inquiry); /* NULL too */
/* All of a way that broke. */
void inquiry_drop(struct agent_way *way);
struct inquiry *inquiry_find(struct agent_way *way, const char *run_id, uint64_t pair, int role);
size_t inquiry_count(const struct agent *agent); /* of all ways */
struct agent_way *inquiry_way(const struct inquiry *inquiry);
const struct assignment *inquiry_assignment(const struct inquiry *inquiry);
