// SPDX-License-Identifier: MIT
#pragma once

/* The section cq of a workload: how completions are found. */

#include <stdbool.h>
#include <stdint.h>

#include "util/schema.h"

enum cq_mode { CQ_MODE_POLL, CQ_MODE_EVENT };
extern const char *const cq_mode_names[];

struct cq_settings {
	int mode;
	bool solicited; /* mode event: only solicited messages wake who takes them */
	uint64_t moderation_count; /* of the device (ibv_modify_cq): 0 none */
	uint64_t moderation_period_ns;
	uint64_t size; /* entries; auto = all that can be outstanding */
};

extern const struct schema_field cq_fields[];
