// SPDX-License-Identifier: MIT
#pragma once

/*
 * One port of an open device as an inventory tells it: facts of verbs, completed by sysfs. Setup
 * thread.
 */

#include "model/inventory.h"
#include "model/port_report.h"
#include "util/error.h"
#include "verbs/device.h"

/*
 * Fills every byte of *ret (same facts, same bytes: inventories are compared so); rail and
 * configured_gid_index are left to who knows the configuration. 0, or -errno with err.
 */
int port_ask(const char *sys_root, struct device *device, uint64_t port_num, struct port *ret,
	     struct error *err);

/*
 * The port as it is now, and what is at gid_index (auto: 0) of it. What does not answer is said to
 * be unknown.
 */
void port_look(const char *sys_root, struct device *device, uint64_t port_num, uint64_t gid_index,
	       struct port_after *ret);
