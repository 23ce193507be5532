// SPDX-License-Identifier: MIT
#pragma once

/* What pairs that were measured several times came to, as a table for each. Pure. */

#include "ctl/paper.h"
#include "util/json.h"

/* repeats: of the record; NULL and empty print nothing. */
void repeats_print(const json_t *repeats, struct paper *paper, unsigned indent);
