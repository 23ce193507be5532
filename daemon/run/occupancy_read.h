// SPDX-License-Identifier: MIT
#pragma once

/* What run/occupancy reads of one port: any thread, may block. */

#include <stdbool.h>
#include <stdint.h>

#include "host/counters.h"
#include "host/rdma_netlink.h"
#include "model/port_use.h"

struct occupancy_reading {
	uint64_t mono_ns;
	uint64_t rate_bps; /* 0 = unknown */
	struct counters_traffic bytes;
};

void occupancy_read(const char *root, const char *device, uint64_t port_num,
		    struct occupancy_reading *ret);
/* Into has_users, qp_count, user; or why not into unseen. */
void occupancy_read_users(const char *root, const char *device, struct port_use *use);
/* The same from what the kernel told. */
void occupancy_read_told(const char *root, const char *device, const struct rdma_netlink *netlink,
			 struct port_use *use);
/* Into has_traffic and what goes with it; or why not into unseen. Pure. */
void occupancy_read_growth(const struct occupancy_reading *from, const struct occupancy_reading *to,
			   struct port_use *use);
