// SPDX-License-Identifier: MIT
#pragma once

/*
 * How long each slow step of the set-up took, on one end: open_device, alloc_pd, reg_mr (with
 * bytes), create_cq, create_qp, modify_init, exchange (of how the ends are reached), modify_rtr,
 * modify_rts, ... Repeated steps (one a queue pair) are summed, counted, and keep their maximum.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

struct step {
	char name[32];
	uint64_t count;
	uint64_t duration_ns; /* of all */
	uint64_t max_ns; /* of the longest */
	uint64_t bytes; /* reg_mr */
};

struct steps {
	size_t count;
	struct step items[LIMIT_STEPS];
};

void step_add(struct steps *steps, const char *name, uint64_t duration_ns, uint64_t bytes);
json_t *step_write(const struct steps *steps);
int step_read(const json_t *json, struct steps *ret, struct error *err);
