// SPDX-License-Identifier: MIT
#include "engine/placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/sysfs.h"
#include "util/cpu_list.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

static void set(struct placement *placement, const int *cpus, unsigned count)
{
	placement->cpus = memory_new_array(count, sizeof(*cpus));
	placement->count = count;
	memcpy(placement->cpus, cpus, count * sizeof(*cpus));
}

static int choose_given(uint64_t affinity, struct placement *ret, struct error *err)
{
	_cleanup_free_ int *cpus = memory_new_array(CPU_LIST_MAX, sizeof(*cpus));
	_cleanup_text_ struct text list = TEXT_INIT;
	unsigned count = thread_cpus(cpus, CPU_LIST_MAX);

	count = count < CPU_LIST_MAX ? count : CPU_LIST_MAX;
	for (unsigned i = 0; i < count; i++) {
		if ((uint64_t)cpus[i] == affinity) {
			set(ret, &cpus[i], 1);
			return 0;
		}
	}
	cpu_list_write(cpus, count, &list);
	return error_set(
		err, -EINVAL, ERROR_INPUT,
		"cpu.affinity %llu is not among the CPUs on which this daemon may measure (%s: those of its process without daemon.control_cpus); choose one of them, or auto",
		(unsigned long long)affinity, count > 0 ? list.data : "none known");
}

static bool contains(const int *cpus, unsigned count, int cpu)
{
	for (unsigned i = 0; i < count; i++) {
		if (cpus[i] == cpu) {
			return true;
		}
	}
	return false;
}

/* Takes the isolated ones away, unless nothing would be left: who gave us only such meant it. */
static unsigned spare_isolated(const char *sys_root, int *cpus, unsigned count)
{
	_cleanup_free_ int *isolated = memory_new_array(CPU_LIST_MAX, sizeof(*isolated));
	unsigned isolated_count = sysfs_isolated_cpus(sys_root, isolated, CPU_LIST_MAX);
	unsigned kept = 0;

	isolated_count = isolated_count < CPU_LIST_MAX ? isolated_count : CPU_LIST_MAX;
	for (unsigned i = 0; i < count; i++) {
		kept += !contains(isolated, isolated_count, cpus[i]);
	}
	if (kept == 0) {
		return count;
	}
	kept = 0;
	for (unsigned i = 0; i < count; i++) {
		if (!contains(isolated, isolated_count, cpus[i])) {
			cpus[kept++] = cpus[i];
		}
	}
	return kept;
}

static void choose_near(const char *device, const char *sys_root, struct placement *ret)
{
	_cleanup_free_ int *cpus = memory_new_array(CPU_LIST_MAX, sizeof(*cpus));
	unsigned all = thread_cpus(cpus, CPU_LIST_MAX);
	int node = sysfs_numa_node(sys_root, device);
	unsigned count = 0;

	if (node >= 0 && sysfs_node_count(sys_root) > 1) {
		count = sysfs_node_cpus(sys_root, node, cpus, CPU_LIST_MAX);
	}
	/* A node of which we may use nothing: then it is far away in any case. */
	count = count > 0 ? count : thread_cpus(cpus, CPU_LIST_MAX);
	count = spare_isolated(sys_root, cpus, count < CPU_LIST_MAX ? count : CPU_LIST_MAX);
	if (count < all) {
		set(ret, cpus, count);
	}
}

int placement_choose(const struct assignment *assignment, const char *sys_root,
		     struct placement *ret, struct error *err)
{
	uint64_t affinity = assignment->workload.cpu.affinity;

	if (affinity != SCHEMA_AUTO) {
		return choose_given(affinity, ret, err);
	}
	choose_near(assignment_local(assignment)->device, sys_root, ret);
	return 0;
}

void placement_done(struct placement *placement)
{
	free(take(placement->cpus));
	placement->count = 0;
}
