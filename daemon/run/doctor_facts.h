// SPDX-License-Identifier: MIT
#pragma once

/*
 * All that the doctor looks at: what was read, or why it could not be. Plain data; the checks are
 * functions of it alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/cgroup.h"
#include "host/clocksource.h"
#include "host/device_node.h"
#include "host/holders.h"
#include "host/hugepages.h"
#include "host/infiniband.h"
#include "host/modules.h"
#include "host/netdev.h"
#include "host/pcie.h"
#include "host/rdma_netlink.h"
#include "host/rlimits.h"
#include "host/sandbox.h"
#include "model/inventory.h"

#define DOCTOR_DEVICES 64
#define DOCTOR_NETDEVS 64
#define DOCTOR_ADDRESSES 256
#define DOCTOR_ADAPTERS 64
/* How long a device, or a question to the kernel, may take without getting on, and at all. */
#define DOCTOR_PATIENCE_NS 2000000000ull
#define DOCTOR_LIMIT_NS 30000000000ull

/* What opening a device through libibverbs told. */
struct doctor_verbs {
	struct device_node node;
	bool was_asked; /* the node opens: the library was tried */
	int error; /* -errno of device_open or port_ask */
	char text[LIMIT_TEXT]; /* its sentence */
	char said[256]; /* what the library wrote on stderr meanwhile, one line */
	uint64_t max_qp;
	uint64_t active_mtu_bytes[INFINIBAND_PORTS]; /* in the order of sysfs' ports; 0 unknown */
	uint64_t max_mtu_bytes[INFINIBAND_PORTS];
};

enum doctor_answer {
	DOCTOR_ANSWER_NONE, /* not even sysfs in time */
	DOCTOR_ANSWER_SYSFS, /* but not the library */
	DOCTOR_ANSWER_ALL,
};

struct doctor_device {
	char name[FACT_NAME];
	enum doctor_answer answer;
	bool is_late; /* what is missing of the answer did not come in time; else its reader died */
	struct infiniband_device sysfs; /* from SYSFS on */
	struct doctor_verbs verbs; /* with ALL */
	unsigned near_cpus; /* of its NUMA node that this process may use */
};

struct doctor_facts {
	char kernel[128]; /* release; "" = unknown */
	enum modules_state ib_core;
	enum modules_state ib_uverbs;
	enum modules_state rdma_ucm;
	int sysfs_error; /* of reading /sys/class at all */

	int sandbox_error;
	struct sandbox sandbox;
	int limits_error;
	struct rlimits limits;
	int cgroup_error;
	struct cgroup cgroup;
	int hugepages_error;
	struct hugepages hugepages;
	int clocksource_error;
	struct clocksource clocksource;
	uint32_t clock_read_ns; /* what reading the time costs; 0 = not measured */
	unsigned numa_nodes; /* 0 = unknown */

	size_t device_count; /* told here: DOCTOR_DEVICES at most */
	size_t more_devices;
	struct doctor_device *devices; /* owned */
	struct device_node rdma_cm;
	size_t adapter_count;
	struct pcie_adapter adapters[DOCTOR_ADAPTERS];

	size_t netdev_count; /* those of the devices' ports */
	struct netdev netdevs[DOCTOR_NETDEVS];
	int addresses_error;
	size_t address_count;
	struct netdev_address addresses[DOCTOR_ADDRESSES];

	int netlink_error;
	struct rdma_netlink netlink;
	char user_programs[RDMA_NETLINK_USERS][FACT_NAME]; /* of netlink.users; "" = unknown */
	int holders_error;
	struct holders holders;

	char service[16]; /* process number of a running rdmatestd; "" = none seen */
	int service_error; /* of reading its limits */
	struct rlimits service_limits;
	bool is_service_exempt; /* CAP_IPC_LOCK: no limit on locked memory */
};

/* The interface of that name, NULL when it was not seen. */
const struct netdev *doctor_facts_netdev(const struct doctor_facts *facts, const char *name);
/* Whether the modules are at work. */
bool doctor_facts_has_core(const struct doctor_facts *facts);
bool doctor_facts_has_uverbs(const struct doctor_facts *facts);
