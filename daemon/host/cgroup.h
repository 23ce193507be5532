// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the control group of this process and the groups around it leave it: the tightest limit of
 * all counts. Below a root path as host/sysfs.h. Any thread.
 */

#include <stdint.h>

#include "host/fact.h"

#define CGROUP_NONE UINT64_MAX

struct cgroup {
	uint64_t memory_bytes; /* memory.max; CGROUP_NONE = no limit */
	uint64_t cpu_ppm; /* cpu.max: CPU time per time, 1,000,000 = one whole CPU */
	uint64_t processes; /* pids.max: processes and threads */
	char memory_group[256]; /* who sets it, below /sys/fs/cgroup */
	char cpu_group[256];
	char processes_group[256];
	char rdma[256]; /* first limiting line of rdma.max: "mlx5_0 hca_handle=2 hca_object=2000" */
};

/* 0, or -errno: -EOPNOTSUPP when version 1 of control groups has the limits. */
int cgroup_read(const char *root, struct cgroup *ret);

/* What their cpu.max took so far: of our group and of those around it, together. */
struct cgroup_throttling {
	uint64_t periods; /* in which a group had used up its share */
	uint64_t duration_ns; /* that its threads had to wait then, summed over CPUs */
};
/* 0 also when none of them can be throttled; or -errno as cgroup_read. */
int cgroup_throttled(const char *root, struct cgroup_throttling *ret);
