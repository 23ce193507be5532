// SPDX-License-Identifier: MIT
#pragma once

/*
 * What permit.c (who asks, configured limits, room), permit_port.c (device, port, their limits),
 * permit_peer.c (one peer's share) and permit_disruptive.c (load that others feel) share. Pure.
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

/* Whether what disturbs others says so, and may. */
enum permit_answer permit_disruptive_check(struct permit_request *request, struct error *err);

/* Whether there is room for it in the hour; before that. */
enum permit_answer permit_disruptive_duty(struct permit_request *request, struct error *err);

/* Whether others leave the port to it; asked last. */
enum permit_answer permit_disruptive_idle(struct permit_request *request, struct error *err);

/* permit_peer.c: whether who asks has something left of its share of the hour; and of the jobs at
 * once, which comes right by waiting. */
enum permit_answer permit_peer_hour(struct permit_request *request, struct error *err);
enum permit_answer permit_peer_room(struct permit_request *request, struct error *err);

/* Whether the port is there and active, with its GID and within the device's limits. */
enum permit_answer permit_port_check(struct permit_request *request, struct error *err);
