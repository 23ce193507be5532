// SPDX-License-Identifier: MIT
#pragma once

/*
 * What can be expected of a driver: which completion status may mean what, and what it counts
 * without a fault. A table of data; pure, any thread. A driver's quirk is not to be read as a fault
 * of the fabric.
 *
 * rdma_rxe (soft-RoCE) is as observed in the lab. Everything else is what the specification says
 * (IBTA vol. 1, 9.9 and 10.10; ibv_poll_cq(3)), and what the drivers' own tables of rdma-core say
 * (providers/irdma/uverbs.c, whose devices sysfs shows under ice or i40e; providers/mlx5/cq.c,
 * which has a status for each of the specification but the fatal one, so that a device that dies
 * just falls silent): NOT YET PROVEN ON HARDWARE.
 */

#include <stdbool.h>

enum driver_meaning {
	DRIVER_SILENCE = 1u << 0, /* the other end does not answer, for whatever reason */
	DRIVER_PORT_DOWN = 1u << 1, /* its own port is down */
	DRIVER_NO_WAY = 1u << 2, /* its own address or route is gone, or packets are too large */
	DRIVER_DEVICE_GONE = 1u << 3, /* its own device was removed, or died */
	DRIVER_FLUSH = 1u << 4, /* nothing by itself: it follows an error of the queue pair */
	DRIVER_UNTOLD = 1u << 5, /* or anything else that the driver has no status for */
};

/* Whether a completion with this status (enum ibv_wc_status) on a device of this driver ("" = not
 * known) can be due to it. */
bool driver_may_mean(const char *driver, int wc_status, enum driver_meaning meaning);

/* Whether it counts retransmissions although nothing was lost. */
bool driver_resends_without_loss(const char *driver);
