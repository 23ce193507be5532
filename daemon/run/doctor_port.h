// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of a port: state and MTU. Pure, as what they and others use.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

/* index: of the device's ports in sysfs. */
void doctor_port_state(const struct doctor_facts *facts, const struct doctor_device *device,
		       size_t index, struct doctor_report *report);
void doctor_port_mtu(const struct doctor_facts *facts, const struct doctor_device *device,
		     size_t index, struct doctor_report *report);

/* A line whose subject is the port. */
struct doctor_line *doctor_port_line(struct doctor_report *report, const char *id,
				     enum doctor_status status, const struct doctor_device *device,
				     const struct infiniband_port *port);
/* The port cannot be used, because it `what`. */
void doctor_port_block(struct doctor_line *line, const struct doctor_device *device,
		       const struct infiniband_port *port, const char *what);
