// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of what a device is and where it sits in the machine. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

/* Kinds of devices that cannot be tested; addresses that programs stumble over. */
void doctor_hardware_kind(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report);
void doctor_hardware_pcie(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report);
void doctor_hardware_numa(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report);
