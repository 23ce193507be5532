// SPDX-License-Identifier: MIT
#pragma once

/*
 * Queue pairs from INIT over RTR to RTS, as resources_connect promises. Setup thread; RTR may take
 * seconds where a neighbour does not answer.
 */

#include "verbs/resources.h"

int connect_qps(struct resources *resources, const struct assignment *assignment,
		const struct endpoint_info *remote, struct steps *steps, struct error *err);
