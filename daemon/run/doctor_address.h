// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of addresses: the GIDs of a port, the interfaces below. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

/* index: of the device's ports in sysfs. */
void doctor_address_gids(const struct doctor_facts *facts, const struct doctor_device *device,
			 size_t index, struct doctor_report *report);
/* Several interfaces with RDMA in one subnet. */
void doctor_address_arp(const struct doctor_facts *facts, struct doctor_report *report);
