// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of whether programs reach a device. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

/* The file below /dev/infiniband; also says when the device did not answer at all. */
void doctor_access_node(const struct doctor_facts *facts, const struct doctor_device *device,
			struct doctor_report *report);
/* libibverbs. */
void doctor_access_library(const struct doctor_facts *facts, const struct doctor_device *device,
			   struct doctor_report *report);
