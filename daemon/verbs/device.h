// SPDX-License-Identifier: MIT
#pragma once

/*
 * RDMA devices: open contexts. Opening and closing may block and run on a setup thread; the async
 * descriptor and device_next_event belong to the control thread while the device is open.
 *
 * Verbs' three ways of reporting (positive errno, -1 with errno, NULL) are made one in verbs/ and
 * nowhere else.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "model/limits.h"
#include "model/port_report.h"
#include "util/error.h"

struct device {
	struct ibv_context *context;
	char name[LIMIT_NAME];
	struct ibv_device_attr attr;
	struct ibv_odp_caps odp; /* zeros: none, or a driver that does not tell */
};

/*
 * Opens a device by name and asks for its limits. Tries open(2) on its node first, since a refused
 * node makes ibv_open_device wait 5 s. The context's async descriptor is non-blocking. -ENODEV: not
 * there (err names those that are).
 */
int device_open(struct device **ret, const char *name, struct error *err);
/* Takes NULL. All objects on it must be destroyed. */
void device_close(struct device *device);

enum device_event {
	DEVICE_EVENT_NONE, /* nothing more to read */
	DEVICE_EVENT_FATAL, /* the device is dead or gone */
	DEVICE_EVENT_PORT, /* a port, its addresses or its keys changed: worth a scan */
	DEVICE_EVENT_QP, /* a queue pair failed */
	DEVICE_EVENT_CQ, /* a completion queue overran */
	DEVICE_EVENT_SRQ, /* a shared receive queue failed */
	DEVICE_EVENT_OTHER,
};

/* What an asynchronous event says. */
struct device_notice {
	int event; /* enum port_event_kind; PORT_EVENT_KINDS: none of those that are told further */
	uint64_t port_num; /* that it is about, or 0 */
	const void *element; /* queue pair or queue, only to be compared with; or NULL */
	const char *name; /* a static word of libibverbs */
};

/*
 * Takes the next asynchronous event of the device and acknowledges it at once, since destroying
 * what it is about waits for that. Does not block. *ret is set whatever comes.
 */
enum device_event device_next_event(struct device *device, struct device_notice *ret);

/*
 * 1 if a device of this name is in the list now, 0 if not, -errno if there is no list: a driver may
 * remove one without any event, and an open context of it goes on to answer. Setup thread.
 */
int device_is_listed(const char *name);
