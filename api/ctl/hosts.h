// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the hosts of a measurement did to it, where that is worth a line: CPU time withheld, a
 * thread that was away, a slow or far CPU, a bus below what it can. Pure.
 */

#include "ctl/paper.h"
#include "util/json.h"

/* measurement: of a run's record. A line for each such end, nothing for quiet hosts. */
void hosts_print(const json_t *measurement, struct paper *paper, unsigned indent);
