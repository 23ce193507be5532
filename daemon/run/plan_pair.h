// SPDX-License-Identifier: MIT
#pragma once

/*
 * One pair of a plan: an assignment with every `auto` resolved from what both ports offer, or why
 * it cannot run. Pure.
 */

#include "model/assignment.h"
#include "model/failure.h"

struct plan_pair {
	struct assignment assignment; /* role initiator; the responder's is the same with its role
				       */
	struct port initiator_port;
	struct port responder_port;
	struct failure failure; /* set: this pair cannot run */
	uint64_t repeat_index; /* run.repeat: which time this is, from 0 */
	uint64_t repeat_count; /* and how many in all */
};

/* Assignment and ports are filled in; sets pair->failure when it cannot run. */
void plan_pair_resolve(struct plan_pair *pair);

/* Says why it cannot, and where: node and device. -EINVAL. */
int plan_pair_refuse(struct plan_pair *pair, enum error_class class, enum error_stage stage,
		     const char *call, const char *node, const char *device, const char *format,
		     ...) __attribute__((format(printf, 7, 8)));
