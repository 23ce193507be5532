// SPDX-License-Identifier: MIT
#pragma once

/*
 * What permit.c (who asks, configured limits, room) and permit_port.c (device, port, their limits)
 * share. Pure.
 */

#include "fleet/permit.h"

struct permit_request {
	const struct assignment *assignment;
	const struct endpoint *local; /* the end that is ours */
	const struct port *port; /* of the local endpoint; set by permit_port_check */
	const char *coordinator;
	const struct labels *labels;
	const char *local_node;
	const struct inventory *inventory;
	const struct limit_settings *limits;
	const struct permit_usage *usage;
};

/* PERMIT_NO, with stage and call added to err. */
enum permit_answer permit_refuse(struct error *err, enum error_stage stage, const char *call);

/* Whether the port is there and active, with its GID and within the device's limits. */
enum permit_answer permit_port_check(struct permit_request *request, struct error *err);
