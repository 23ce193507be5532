// SPDX-License-Identifier: MIT
#pragma once

/*
 * What devices this node has: scans at once, then every 2 s on a thread of its own, and again when
 * asked to or the kernel tells of their network interfaces (engine/link_news); keeps the inventory
 * and tells when it changed. A device that answers no call for a second is waited for by a thread
 * of its own, with the ports that it had; the others are scanned on. Control thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "engine/health.h"
#include "engine/task.h"
#include "model/inventory.h"
#include "model/topology.h"
#include "util/error.h"
#include "util/mailbox.h"

struct discovery;

struct discovery_options {
	sd_event *event;
	struct mailbox *replies; /* of struct task, read by the owner, who calls done */
	const char *sys_root; /* borrowed */
	/* Calls up, from the loop. After every scan: discovery_is_present tells what vanished. */
	void (*scanned)(void *arg);
	/* After the first scan and after every change. */
	void (*changed)(void *arg, const struct inventory *inventory);
	/* A device that a scan asks hangs, or came back after *hang. */
	void (*health)(void *arg, const struct hang *hang, bool is_sick);
	/* The devices that must not be asked now, at most `max`. */
	size_t (*sick)(void *arg, char (*ret_names)[LIMIT_NAME], size_t max);
	void *arg;
};

/* Copies both. The first scan begins at once. */
int discovery_new(struct discovery **ret, const struct discovery_options *options,
		  const struct daemon_settings *settings, struct error *err);
/* Copies; scans again. */
void discovery_configure(struct discovery *discovery, const struct daemon_settings *settings);
/* Something happened: scans again, and asks every device whatever sysfs says. */
void discovery_refresh(struct discovery *discovery);
const struct inventory *discovery_inventory(const struct discovery *discovery);
bool discovery_has_scanned(const struct discovery *discovery);
/* When the last scan that went well ended; 0: none did. */
uint64_t discovery_scanned_mono_ns(const struct discovery *discovery);
/* Of the last scan: why the devices, or one of them, could not be asked; not set when all was well.
 */
const struct error *discovery_error(const struct discovery *discovery);
/* Whether the last scan saw a device of that name; inside `scanned` only. */
bool discovery_is_present(const struct discovery *discovery, const char *name);
/* Looks whether a scan hangs or came back, and tells. */
void discovery_look(struct discovery *discovery);
/* Calls of scans that have not come back for HEALTH_SICK_NS, at most `max`; returns how many. */
size_t discovery_hangs(struct discovery *discovery, struct hang *ret, size_t max);

/* No more scans; -ETIMEDOUT: the thread hangs, may be called again. */
int discovery_stop(struct discovery *discovery, uint64_t deadline_mono_ns);
/* After a discovery_stop that went well and the last reply. */
void discovery_free(struct discovery *discovery);
