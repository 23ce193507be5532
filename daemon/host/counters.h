// SPDX-License-Identifier: MIT
#pragma once

/*
 * Reads what a port counts from sysfs: the driver's hw_counters, the counters of the port, and, for
 * soft-RoCE, those of its network device. A driver may take milliseconds, or hang: setup thread.
 *
 * Names by driver: mlx5 (kernel documentation of its counters), irdma, soft-RoCE; the port counters
 * are the InfiniBand specification's, whose data counters are in units of four bytes and whose
 * narrow ones stop at their largest value.
 */

#include <stdint.h>

#include "model/counter.h"

/* root "" in production. netdev: of the port, "" if unknown. Everything absent when there is no
 * such device. */
void counters_read(const char *root, const char *device, uint64_t port_num, const char *netdev,
		   struct counters *ret);

/* Bytes that a port sent and received: all that its network device saw and all that the device
 * itself counts for RDMA. Drivers count the same traffic in either or both: the one that grew more
 * tells the least that there was. */
enum { COUNTERS_TRAFFIC_PLACES = 3 };
struct counters_traffic {
	struct counter_value sent[COUNTERS_TRAFFIC_PLACES];
	struct counter_value received[COUNTERS_TRAFFIC_PLACES];
};
void counters_traffic(const char *root, const char *device, uint64_t port_num, const char *netdev,
		      struct counters_traffic *ret);

/* A reading that follows another by less than this may still be the old one. 0: never. */
uint64_t counters_lifespan_ns(const char *root, const char *device, uint64_t port_num);
