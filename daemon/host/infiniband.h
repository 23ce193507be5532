// SPDX-License-Identifier: MIT
#pragma once

/*
 * RDMA devices as sysfs shows them, to anyone and without opening them: the node that programs
 * open, ports, GIDs. Below a root path as host/sysfs.h. Plain data of fixed size, so that it can be
 * passed through a pipe. Reading may ask the driver, and wait for it. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"
#include "host/pcie.h"
#include "model/inventory.h"

#define INFINIBAND_PORTS 8 /* of one device; more are counted, not read */

struct infiniband_gid {
	uint64_t index;
	int type; /* enum gid_type */
	uint8_t raw[16];
	char netdev[FACT_NAME]; /* "" = none */
};

struct infiniband_port {
	uint64_t port_num;
	int state; /* enum port_state */
	char physical_state[32]; /* "LinkUp", "Disabled", "Polling"; "" = unknown */
	int link_layer; /* enum link_layer */
	uint64_t lid; /* 0 = none: InfiniBand without a subnet manager */
	uint64_t link_rate_bps; /* 0 = unknown */
	char netdev[FACT_NAME]; /* of RoCE and soft devices; "" = none */
	size_t gid_count;
	bool has_more_gids; /* than these */
	struct infiniband_gid gids[LIMIT_GIDS];
};

struct infiniband_device {
	char name[FACT_NAME];
	char node[FACT_NAME]; /* "uverbs0" below /dev/infiniband; "" = ib_uverbs does not know it */
	uint32_t node_major;
	uint32_t node_minor;
	int64_t abi_version; /* between kernel driver and its library; -1 = unknown */
	char driver[FACT_NAME]; /* "" = unknown */
	char node_guid[32];
	bool is_iwarp;
	int numa_node; /* -1 = unknown or none */
	struct pcie_link link;
	size_t port_count; /* all there are */
	struct infiniband_port ports[INFINIBAND_PORTS];
};

/* 0 and all of *ret, or -errno when there is no such device. */
int infiniband_device(const char *root, const char *name, struct infiniband_device *ret);
