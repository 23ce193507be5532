// SPDX-License-Identifier: MIT
#include "engine/placement.h"

#include <errno.h>

#include "host/sysfs.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

#define MAX_CPUS 4096
#define MAX_RANGES 16 /* shown to a person */

/* "0-3,8" of ascending numbers. */
static void format_cpus(const int *cpus, unsigned count, struct text *out)
{
	unsigned ranges = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned last = i;

		while (last + 1 < count && cpus[last + 1] == cpus[last] + 1) {
			last++;
		}
		if (ranges++ == MAX_RANGES) {
			text_add(out, ",...");
			return;
		}
		text_format(out, last > i ? "%s%d-%d" : "%s%d", ranges > 1 ? "," : "", cpus[i],
			    cpus[last]);
		i = last;
	}
}

static int check_given(uint64_t affinity, int *ret_cpu, struct error *err)
{
	_cleanup_free_ int *cpus = memory_new_array(MAX_CPUS, sizeof(*cpus));
	_cleanup_text_ struct text list = TEXT_INIT;
	unsigned count = thread_cpus(cpus, MAX_CPUS);

	count = count < MAX_CPUS ? count : MAX_CPUS;
	for (unsigned i = 0; i < count; i++) {
		if ((uint64_t)cpus[i] == affinity) {
			*ret_cpu = cpus[i];
			return 0;
		}
	}
	format_cpus(cpus, count, &list);
	return error_set(
		err, -EINVAL, ERROR_INPUT,
		"cpu.affinity %llu is not among the CPUs that this process may use (%s); choose one of them, or auto",
		(unsigned long long)affinity, count > 0 ? list.data : "none known");
}

int placement_choose(const struct assignment *assignment, const char *sys_root, unsigned index,
		     int *ret_cpu, struct error *err)
{
	uint64_t affinity = assignment->workload.cpu.affinity;
	int node;

	if (affinity != SCHEMA_AUTO) {
		return check_given(affinity, ret_cpu, err);
	}
	*ret_cpu = -1;
	node = sysfs_numa_node(sys_root, assignment_local(assignment)->device);
	if (node >= 0 && sysfs_node_count(sys_root) > 1) {
		_cleanup_free_ int *cpus = memory_new_array(MAX_CPUS, sizeof(*cpus));
		unsigned count = sysfs_node_cpus(sys_root, node, cpus, MAX_CPUS);

		if (count > 0) {
			*ret_cpu = cpus[index % (count < MAX_CPUS ? count : MAX_CPUS)];
		}
	}
	return 0;
}
