// SPDX-License-Identifier: MIT
/* What the host gave the job: read with the counters of the port, before and after its traffic. */
#include "engine/job.h"
#include "host/netdev.h"
#include "host/pcie.h"
#include "host/process.h"
#include "host/sysfs.h"

void job_host_before(struct job *job)
{
	supply_read(job->pool->sys_root, job->placement.cpus, job->placement.count,
		    &job->supply_before);
}

static uint64_t growth(uint64_t before, uint64_t after)
{
	return before == HOST_UNKNOWN || after == HOST_UNKNOWN || after < before ? HOST_UNKNOWN
										 : after - before;
}

static uint64_t known(uint64_t value, bool is_known)
{
	return is_known ? value : HOST_UNKNOWN;
}

static void read_growths(const struct job *job, struct host_report *ret)
{
	const struct supply *before = &job->supply_before;
	struct supply after;

	supply_read(job->pool->sys_root, job->placement.cpus, job->placement.count, &after);
	ret->span_ns = after.mono_ns - before->mono_ns;
	ret->throttled_periods = growth(before->throttled_periods, after.throttled_periods);
	ret->throttled_ns = growth(before->throttled_ns, after.throttled_ns);
	ret->stolen_ns = growth(before->stolen_ns, after.stolen_ns);
	ret->cpu_pressure_ns = growth(before->cpu_pressure_ns, after.cpu_pressure_ns);
	ret->memory_pressure_ns = growth(before->memory_pressure_ns, after.memory_pressure_ns);
}

static void read_bus(const char *root, const char *device, struct host_report *ret)
{
	struct pcie_link link;

	pcie_link(root, device, &link);
	ret->pcie_speed_mtps = known(link.speed_mtps, link.speed_mtps > 0);
	ret->pcie_max_speed_mtps = known(link.max_speed_mtps, link.max_speed_mtps > 0);
	ret->pcie_width = known(link.width, link.width > 0);
	ret->pcie_max_width = known(link.max_width, link.max_width > 0);
}

static void read_netdev(const char *root, const struct endpoint *local, struct host_report *ret)
{
	struct sysfs_port port;
	struct netdev netdev;

	if (!sysfs_port(root, local->device, local->port_num, &port) || port.netdev[0] == '\0') {
		return;
	}
	netdev_read(root, port.netdev, &netdev);
	ret->netdev_mtu_bytes = known(netdev.mtu_bytes, netdev.mtu_bytes > 0);
}

static void read_memlock(const char *root, struct host_report *ret)
{
	struct process_memlock memlock;

	process_memlock(root, &memlock);
	ret->memlock_bytes = memlock.is_exempt || memlock.limit_bytes > HOST_UNLIMITED
				     ? HOST_UNLIMITED
				     : memlock.limit_bytes;
}

void job_host_after(const struct job *job, uint64_t cpu, struct host_report *ret)
{
	const struct endpoint *local = assignment_local(&job->assignment);
	const char *root = job->pool->sys_root;
	int node = sysfs_numa_node(root, local->device);

	host_report_init(ret);
	ret->is_read = true;
	read_growths(job, ret);
	read_bus(root, local->device, ret);
	read_netdev(root, local, ret);
	read_memlock(root, ret);
	ret->device_numa_node = known((uint64_t)node, node >= 0);
	ret->cpu = cpu;
	if (cpu != HOST_UNKNOWN) {
		struct supply_cpu found;

		supply_cpu(root, cpu, &found);
		ret->frequency_hz = found.frequency_hz;
		ret->max_frequency_hz = found.max_frequency_hz;
		ret->cpu_numa_node = found.numa_node;
	}
}

void job_host_add(const struct host_report *after, struct totals *totals)
{
	struct host_report worker = totals->host;

	totals->host = *after;
	totals->host.voluntary_switches = worker.voluntary_switches;
	totals->host.longest_gap_ns = worker.longest_gap_ns;
}
