// SPDX-License-Identifier: MIT
#pragma once

/*
 * A buffer of its own pages, of the kind and on the node that the scenario names, registered with
 * the least rights. Setup thread.
 */

#include <infiniband/verbs.h>
#include <stddef.h>

#include "model/step.h"
#include "model/workload.h"
#include "util/error.h"

struct region {
	uint8_t *buffer; /* page-aligned, zeroed, touched before it was registered */
	size_t size_bytes;
	size_t mapped_bytes; /* whole pages */
	struct ibv_mr *mr;
};

/*
 * access: IBV_ACCESS_*. Steps map_buffer and reg_mr. 0, or -errno with err (memory lock limit, huge
 * pages, NUMA node; need and cure) and nothing left.
 */
int region_init(struct region *region, struct ibv_pd *pd, size_t size_bytes, unsigned access,
		const struct memory_settings *memory, struct steps *steps, struct error *err);
/* Zeroed and done ones too. steps may be NULL. */
void region_done(struct region *region, struct steps *steps);
