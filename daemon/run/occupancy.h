// SPDX-License-Identifier: MIT
#pragma once

/*
 * What others do on this node's ports: takes a reading of their byte counters every second, and
 * looks closer when asked: at what moved in the last seconds, and at queue pairs of others that are
 * connected. Reading may block, so threads of its own do it (a setup pool); while jobs
 * of ours go on nothing is read but for a look, and what they moved is in no answer. Loop thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "model/inventory.h"
#include "model/port_use.h"
#include "util/error.h"

/* A look that takes longer than this tells what it saw until then. */
#define OCCUPANCY_LOOK_NS 2000000000ull
/* Less than this is too short to tell traffic from its gaps. */
#define OCCUPANCY_WINDOW_NS 250000000ull

struct occupancy;
struct occupancy_look;

struct occupancy_options {
	sd_event *event;
	const char *sys_root; /* "" in production; borrowed */
	/* The ports there are, now; borrowed until the next turn of the loop. */
	const struct inventory *(*inventory)(void *arg);
	void *arg;
};

int occupancy_new(struct occupancy **ret, const struct occupancy_options *options,
		  struct error *err);
/* Every look must be over or cancelled. -ETIMEDOUT: a thread hangs, nothing is freed. NULL too. */
int occupancy_free(struct occupancy *occupancy, uint64_t deadline_mono_ns);

/* A job of ours begins on the port, or is gone; may be nested. */
void occupancy_begin_own(struct occupancy *occupancy, const char *device, uint64_t port_num);
void occupancy_end_own(struct occupancy *occupancy, const char *device, uint64_t port_num);

typedef void (*occupancy_done_fn)(void *arg, const struct port_use *use);
/* Asks; done(arg) comes once, from the loop, never from inside the call, and frees the look. */
struct occupancy_look *occupancy_look(struct occupancy *occupancy, const char *device,
				      uint64_t port_num, occupancy_done_fn done, void *arg);
/* done does not come any more. */
void occupancy_cancel(struct occupancy_look *look);
