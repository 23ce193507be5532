// SPDX-License-Identifier: MIT
#pragma once

/*
 * The devices that jobs of this node use: a context each, and which of them are sick. Inside of the
 * engine; control thread.
 */

#include "engine/context.h"
#include "engine/discovery.h"
#include "engine/job.h"
#include "model/hang.h"

struct devices;

struct devices_options {
	sd_event *event;
	struct mailbox *replies; /* as in engine/context.h */
	struct job_pool *pool; /* borrowed: whose jobs are told of what happens to their device */
	/* A device turned sick, or well again after *hang. May be NULL. */
	void (*health)(void *arg, const struct hang *hang, bool is_sick);
	void *arg;
};

struct devices *devices_new(const struct devices_options *options);
/* Before the first job: what tells which ports are there. Borrowed. */
void devices_set_discovery(struct devices *devices, struct discovery *discovery);
/* The context of an endpoint of this node, opened or not; NULL: sick, not there, or no threads. */
struct context *devices_context(struct devices *devices, const struct endpoint *endpoint,
				struct error *err);
/* A scan went well: devices may be gone. */
void devices_scanned(struct devices *devices);
/* A scan hangs with a device, or came back. */
void devices_scan_health(struct devices *devices, const struct hang *hang, bool has_begun);
/* Something came back from a device: one that is sick may be well again. */
void devices_look(struct devices *devices);
/* engine_hangs; `has_look`: as it is now, else as it was at the last look. */
size_t devices_hangs(struct devices *devices, bool has_look, struct hang *ret, size_t max);
/* The one of them about a device; NULL: it is well. */
const struct hang *devices_find_hang(const struct hang *hangs, size_t count, const char *device);
/* engine_waits_for */
bool devices_wait_for(struct devices *devices, struct hang *ret);

/* The end, in steps with the replies read in between, as in engine/context.h. */
void devices_shut(struct devices *devices);
int devices_stop(struct devices *devices, uint64_t deadline_mono_ns);
/* Takes NULL. */
void devices_free(struct devices *devices);
