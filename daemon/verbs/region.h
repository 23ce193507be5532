// SPDX-License-Identifier: MIT
#pragma once

/*
 * A buffer of its own pages, registered with the least rights. Setup thread.
 */

#include <infiniband/verbs.h>
#include <stddef.h>

#include "model/step.h"
#include "util/error.h"

struct region {
	uint8_t *buffer; /* page-aligned, zeroed, touched before it was registered */
	size_t size_bytes;
	struct ibv_mr *mr;
};

/*
 * access: IBV_ACCESS_*. Steps map_buffer and reg_mr. 0, or -errno with err (memory lock limit,
 * need, cure) and nothing left.
 */
int region_init(struct region *region, struct ibv_pd *pd, size_t size_bytes, unsigned access,
		struct steps *steps, struct error *err);
/* Zeroed and done ones too. steps may be NULL. */
void region_done(struct region *region, struct steps *steps);
