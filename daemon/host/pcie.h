// SPDX-License-Identifier: MIT
#pragma once

/*
 * PCI Express (the bus between adapter and CPU): the link of a device, and the network adapters
 * there are. Below a root path as host/sysfs.h. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"

struct pcie_link {
	char address[FACT_NAME]; /* "0000:3b:00.0"; "" = not on the bus (a software device) */
	bool is_virtual_function; /* the link is that of the card it is a part of */
	uint64_t speed_mtps; /* million transfers a second and lane; 0 = unknown */
	uint64_t max_speed_mtps; /* what the card can */
	uint64_t width; /* lanes; 0 = unknown */
	uint64_t max_width;
};

/* device: an RDMA device, "mlx5_0". All zero when it is none of the bus. */
void pcie_link(const char *root, const char *device, struct pcie_link *ret);
/* What a link carries one way, less its line code; 0 when unknown. */
uint64_t pcie_rate_bps(uint64_t speed_mtps, uint64_t width);

struct pcie_adapter {
	char address[FACT_NAME];
	char driver[FACT_NAME]; /* "" = none */
	bool has_rdma; /* an RDMA device is on it */
};
/* Network adapters, virtual functions too: fills up to max, returns how many there are; 0 or more,
 * or -errno. */
int pcie_adapters(const char *root, struct pcie_adapter *ret, size_t max);
