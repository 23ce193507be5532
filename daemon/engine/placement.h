// SPDX-License-Identifier: MIT
#pragma once

/*
 * On which CPU the worker of a job runs. Setup thread (reads files).
 */

#include "model/assignment.h"
#include "util/error.h"

/*
 * cpu.affinity if given: it must be among the CPUs of this process, or -EINVAL with err. Else -1
 * (any), but on a host of several NUMA nodes one of the device's node, another for each index.
 */
int placement_choose(const struct assignment *assignment, const char *sys_root, unsigned index,
		     int *ret_cpu, struct error *err);
