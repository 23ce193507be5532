// SPDX-License-Identifier: MIT
#pragma once

/*
 * Facts below a root path ("" in production, a directory in tests): never blocks longer than a file
 * read. A fact that cannot be read is said to be unknown, never guessed. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sysfs_port {
	uint64_t link_rate_bps; /* of the netdev for RoCE, else of ports/N/rate; 0 = unknown */
	char driver[64]; /* "mlx5_core", "rdma_rxe"; "" = unknown */
	char netdev[64]; /* of RoCE and soft devices; "" = unknown or none */
};

/* device "rxe0", port from 1. False (and an empty *ret) when the device is not in sysfs at all. */
bool sysfs_port(const char *root, const char *device, uint64_t port_num, struct sysfs_port *ret);
/* NUMA node of the device, -1 = unknown or none. */
int sysfs_numa_node(const char *root, const char *device);
/* How many NUMA nodes are online; 0 = unknown. */
unsigned sysfs_node_count(const char *root);
/* CPUs of a NUMA node that this process may use; returns how many, fills up to max. */
unsigned sysfs_node_cpus(const char *root, int node, int *cpus, unsigned max);
/* CPUs that the kernel keeps out of its balancing (isolcpus, isolated partitions), of those that
 * this process may use; returns how many, fills up to max. */
unsigned sysfs_isolated_cpus(const char *root, int *cpus, unsigned max);
/* The node's boot id into ret (37 bytes); "" when unknown. */
void sysfs_boot_id(const char *root, char *ret);

/*
 * A hash of what sysfs tells of a device (identity, firmware, ports, states, LIDs, rates, GIDs,
 * their network devices): while it stays the same a verbs context need not be opened to know what
 * it would say. 0 when the device is not in sysfs.
 */
uint64_t sysfs_signature(const char *root, const char *device);
/* One that went and came back, under its name, is another. 0: not there. */
uint64_t sysfs_identity(const char *root, const char *device);
/* The VLAN id of a network device, 0 = none or unknown. Asks the kernel; needs no privilege. */
uint64_t sysfs_vlan(const char *netdev);
