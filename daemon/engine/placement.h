// SPDX-License-Identifier: MIT
#pragma once

/*
 * On which CPUs the worker of a job may run. Setup thread (reads files).
 */

#include "model/assignment.h"
#include "util/error.h"

struct placement {
	int *cpus; /* owned; NULL: any that this process may use */
	unsigned count;
};

/*
 * cpu.affinity if given, alone: it must be among the CPUs of this process, or -EINVAL with err.
 * auto: those of the device's NUMA node, where there are several and it is known, that this process
 * may use and that are not isolated (isolcpus): never one of them, since the kernel knows which are
 * busy, and moves a thread that never sleeps only away from one that it would have to share.
 * *ret must be zeroed or done.
 */
int placement_choose(const struct assignment *assignment, const char *sys_root,
		     struct placement *ret, struct error *err);
void placement_done(struct placement *placement);
