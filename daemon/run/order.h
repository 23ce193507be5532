// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a coordinator asks of one end of a pair: the messages of api/control-protocol.md. Each
 * returns a new reference.
 */

#include "model/assignment.h"
#include "util/json.h"

/* start, stop, release. */
json_t *order_new(const char *kind, const struct assignment *assignment, enum job_role role);
json_t *order_prepare(const struct assignment *assignment, enum job_role role);
/* other: what the other end prepared. */
json_t *order_connect(const struct assignment *assignment, enum job_role role,
		      const struct endpoint_info *other);
