// SPDX-License-Identifier: MIT
#pragma once

/*
 * The setup pool of one device: the threads on which every verb that may block runs (open, query,
 * reg_mr, create_*, modify to INIT/RTR/RTS, destroy). One device's hung verb never delays
 * another's: a pool each.
 *
 * A task is taken by the pool, run once on one of its threads, then posted to `reply` (ownership
 * goes to whom reads it). Tasks of one `key` (a job) run in the order of submission, never at once.
 * Control thread: everything here; run(): a pool thread.
 */

#include <stdint.h>

#include "util/error.h"
#include "util/mailbox.h"

struct setup_task {
	struct message message; /* first: the reply is a struct setup_task */
	void (*run)(struct setup_task *task);
	struct mailbox *reply; /* NULL: run() frees the task */
	const void *key; /* may be NULL: no order */
	uint64_t started_mono_ns; /* 0 until a thread took it */
};

struct setup;

int setup_new(struct setup **ret, const char *device_name, unsigned threads, struct error *err);
/* Takes the task. */
void setup_submit(struct setup *setup, struct setup_task *task);
/*
 * How long the pool's threads have been at what they do: the longest of them, since its task began
 * or its last mark (util/thread), so that many short calls are no long one; 0 when nothing runs.
 * ret_call: the name that it gave, or a word for none.
 */
uint64_t setup_oldest_ns(struct setup *setup, uint64_t now_mono_ns, const char **ret_call);
/* Lets queued tasks finish; -ETIMEDOUT leaves hung threads behind (and their memory). */
int setup_stop(struct setup *setup, uint64_t deadline_mono_ns);
