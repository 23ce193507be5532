// SPDX-License-Identifier: MIT
#include "run/doctor_collect.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/sysfs.h"
#include "run/doctor_child.h"
#include "run/doctor_device.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SERVICE "rdmatestd"
#define MAX_CPUS 4096

static void collect_kernel(const char *root, struct doctor_facts *facts)
{
	modules_release(root, facts->kernel, sizeof(facts->kernel));
	facts->ib_core = modules_state(root, "ib_core");
	facts->ib_uverbs = modules_state(root, "ib_uverbs");
	facts->rdma_ucm = modules_state(root, "rdma_ucm");
	facts->sysfs_error = fact_exists("%s/sys/class", root);
}

static void collect_process(const char *root, struct doctor_facts *facts)
{
	struct clock_info clock;

	facts->sandbox_error = sandbox_read(root, &facts->sandbox);
	facts->limits_error = rlimits_read(root, "self", &facts->limits);
	facts->cgroup_error = cgroup_read(root, &facts->cgroup);
	facts->hugepages_error = hugepages_read(root, &facts->hugepages);
	facts->clocksource_error = clocksource_read(root, &facts->clocksource);
	facts->numa_nodes = sysfs_node_count(root);
	if (root[0] == '\0') {
		clock_info(&clock);
		facts->clock_read_ns = clock.read_cost_ns;
	}
}

static void add_netdev(const char *root, struct doctor_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->netdev_count; i++) {
		if (strcmp(facts->netdevs[i].name, name) == 0) {
			return;
		}
	}
	if (name[0] != '\0' && facts->netdev_count < DOCTOR_NETDEVS) {
		struct netdev *netdev = &facts->netdevs[facts->netdev_count++];

		netdev_read(root, name, netdev);
		netdev->is_elsewhere = root[0] == '\0' && !netdev_is_here(netdev);
	}
}

static void collect_devices(const char *root, struct doctor_facts *facts)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };
	int cpus[1];

	/* No such class: no device. */
	(void)fact_names(&names, "%s/sys/class/infiniband", root);
	facts->device_count = names.count < DOCTOR_DEVICES ? names.count : DOCTOR_DEVICES;
	facts->more_devices = names.count - facts->device_count;
	facts->devices = memory_new_array(facts->device_count + 1, sizeof(*facts->devices));
	for (size_t i = 0; i < facts->device_count; i++) {
		text_copy(facts->devices[i].name, FACT_NAME, names.names[i]);
	}
	doctor_device_ask(root, facts->devices, facts->device_count,
			  doctor_facts_has_uverbs(facts));
	for (size_t i = 0; i < facts->device_count; i++) {
		struct doctor_device *device = &facts->devices[i];

		if (device->answer < DOCTOR_ANSWER_SYSFS) {
			continue;
		}
		device->near_cpus = sysfs_node_cpus(root, device->sysfs.numa_node, cpus, 1);
		for (size_t j = 0; j < device->sysfs.port_count && j < INFINIBAND_PORTS; j++) {
			add_netdev(root, facts, device->sysfs.ports[j].netdev);
		}
	}
	device_node_look(root, "rdma_cm", &facts->rdma_cm);
	if (facts->rdma_cm.error == 0) {
		device_node_try(root, "rdma_cm", &facts->rdma_cm);
	}
}

static void collect_adapters(const char *root, struct doctor_facts *facts)
{
	int count = pcie_adapters(root, facts->adapters, DOCTOR_ADAPTERS);

	facts->adapter_count = count < 0		 ? 0
			       : count > DOCTOR_ADAPTERS ? DOCTOR_ADAPTERS
							 : (size_t)count;
}

static void collect_addresses(const char *root, struct doctor_facts *facts)
{
	int count = -ENODATA;

	if (root[0] == '\0') {
		count = netdev_addresses(facts->addresses, DOCTOR_ADDRESSES);
	}
	facts->addresses_error = count < 0 ? count : 0;
	facts->address_count = count < 0		  ? 0
			       : count > DOCTOR_ADDRESSES ? DOCTOR_ADDRESSES
							  : (size_t)count;
}

struct netlink_told {
	int error;
	struct rdma_netlink netlink;
};

static void ask_netlink(void *arg, int fd)
{
	struct netlink_told *told = arg;

	told->error = rdma_netlink_ask(&told->netlink);
	doctor_child_tell(fd, told, sizeof(*told));
}

/* In a child: the kernel locks devices while it answers. */
static void collect_netlink(struct doctor_facts *facts)
{
	_cleanup_free_ struct netlink_told *told = memory_new(sizeof(*told));
	_cleanup_free_ struct netlink_told *answer = memory_new(sizeof(*answer));
	struct doctor_child child = {
		.run = ask_netlink, .arg = told, .answer = answer, .answer_bytes = sizeof(*answer)
	};

	doctor_child_run(&child, 1, DOCTOR_PATIENCE_NS, DOCTOR_LIMIT_NS);
	if (child.got_bytes < sizeof(*answer)) {
		facts->netlink_error = child.is_late ? -ETIMEDOUT : -ECHILD;
		return;
	}
	facts->netlink_error = answer->error;
	facts->netlink = answer->netlink;
}

static void collect_users(const char *root, struct doctor_facts *facts)
{
	facts->netlink_error = -ENODATA;
	if (root[0] == '\0' && doctor_facts_has_core(facts)) {
		collect_netlink(facts);
	}
	for (size_t i = 0; i < facts->netlink.user_count; i++) {
		char process[16];

		snprintf(process, sizeof(process), "%u", facts->netlink.users[i].process);
		holders_program(root, process, facts->user_programs[i], FACT_NAME);
	}
}

/* Before there are children of ours that it would see. */
static void collect_processes(const char *root, struct doctor_facts *facts)
{
	char self[16];

	snprintf(self, sizeof(self), "%d", (int)getpid());
	facts->holders_error = holders_read(root, self, SERVICE,
					    clock_mono_ns() + DOCTOR_PATIENCE_NS, &facts->holders);
	text_copy(facts->service, sizeof(facts->service), facts->holders.daemon);
	if (facts->service[0] != '\0') {
		facts->service_error = rlimits_read(root, facts->service, &facts->service_limits);
		(void)sandbox_has_capability(root, facts->service, CAP_IPC_LOCK,
					     &facts->is_service_exempt);
	}
}

void doctor_collect(const char *root, struct doctor_facts *ret)
{
	memset(ret, 0, sizeof(*ret));
	collect_kernel(root, ret);
	collect_process(root, ret);
	collect_processes(root, ret);
	collect_devices(root, ret);
	collect_adapters(root, ret);
	collect_addresses(root, ret);
	collect_users(root, ret);
}

void doctor_collect_done(struct doctor_facts *facts)
{
	free(facts->devices);
	facts->devices = NULL;
}
