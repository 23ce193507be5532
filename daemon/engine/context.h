// SPDX-License-Identifier: MIT
#pragma once

/*
 * One device as the engine sees it: its setup pool and its open context, shared by the jobs on it.
 * Opened for the first user, closed when there was none for 10 s or as soon as the device is gone
 * and the last user left. Control thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "engine/task.h"
#include "util/error.h"
#include "util/list.h"
#include "util/mailbox.h"
#include "verbs/device.h"

struct context;

/* Calls up, from the loop. */
struct context_owner {
	sd_event *event;
	struct mailbox *replies; /* of struct task, read by the owner, who calls done */
	/* The device is gone or dead: users should leave. Once per open. */
	void (*lost)(void *arg, struct context *context, const struct error *err);
	/* Ports or addresses changed. */
	void (*changed)(void *arg, struct context *context);
	/* Every event, before what it leads to. */
	void (*noticed)(void *arg, struct context *context, const struct device_notice *notice);
	/* A queue pair or completion queue failed. */
	void (*failed)(void *arg, struct context *context, const struct device_notice *notice,
		       enum device_event kind);
	/* A task was handed to the setup pool. */
	void (*submitted)(void *arg, struct context *context);
	void *arg;
};

struct context_wait {
	struct list link;
	/*
	 * Opened: *device is held from here on. Or not: device NULL and err set. open_ns: how long
	 * it took.
	 */
	void (*ready)(struct context_wait *wait, struct device *device, uint64_t open_ns,
		      const struct error *err);
};

/* owner: copied. Starts the pool's threads. */
int context_new(struct context **ret, const char *name, const struct context_owner *owner,
		struct error *err);
const char *context_name(const struct context *context);
/*
 * The open device, held now until context_release; or NULL, and wait->ready comes later, unless
 * cancelled.
 */
struct device *context_acquire(struct context *context, struct context_wait *wait);
void context_cancel(struct context *context, struct context_wait *wait);
void context_release(struct context *context);
/* A job on it connects by rdma_cm, which then keeps a context of its own of the device (verbs/cm).
 */
void context_use_cm(struct context *context);
/* Reads now what events there are, before they would wake the loop. Calls up. */
void context_drain(struct context *context);
/* Takes the task; setup.reply is set here. */
void context_submit(struct context *context, struct task *task);
/* It is not in the list of devices any more. Harmless when it is not open. */
void context_vanished(struct context *context);
/* setup_oldest_ns of its pool. */
uint64_t context_oldest_ns(struct context *context, uint64_t now_mono_ns, const char **ret_call);

/*
 * The end, in two steps with the replies read in between: closes what is open; no users may be
 * left. Stops the pool.
 */
void context_shut(struct context *context);
int context_stop(struct context *context, uint64_t deadline_mono_ns);
/* After a context_stop that went well and the last reply. */
void context_free(struct context *context);
