// SPDX-License-Identifier: MIT
#pragma once

/*
 * Asks RDMA devices what they are, each in a child process: sysfs first, then its node, then
 * libibverbs. A device that hangs costs its own answer only.
 */

#include "run/doctor_facts.h"

/*
 * root as host/sysfs.h; may_ask_library: false where ib_uverbs is not loaded, since asking would
 * load it. The name of each device is set; the rest is filled. Takes DOCTOR_LIMIT_NS at most.
 */
void doctor_device_ask(const char *root, struct doctor_device *devices, size_t count,
		       bool may_ask_library);
