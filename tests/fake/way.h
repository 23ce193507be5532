// SPDX-License-Identifier: MIT
#pragma once

/* Where an address vector leads, by GID or LID, and which partition a packet belongs to. */

#include "fake/nic.h"

/* 0: of Ethernet. */
uint16_t way_lid(const struct fabric_device *device);
/* What is wrong with an address vector itself: an errno, or 0. */
int way_check(const struct fabric_device *device, const struct ibv_ah_attr *attr);
/* Where it leads (NULL: nowhere), and the errno of a neighbour that is looked for and does not
 * answer, or 0. */
int way_find(struct fabric_device *device, const struct ibv_ah_attr *attr,
	     struct fabric_device **ret);
/* 0: empty, or not in the table. */
uint16_t way_pkey(const struct fabric_device *device, unsigned index);
/* Whether a packet of that partition is one of the queue pair's; others are counted. */
bool way_takes(struct fake_qp *qp, uint16_t pkey);
