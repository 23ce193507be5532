// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a measurement measured, as a table: each operation, its sizes below it, then all together.
 * Pure.
 */

#include "ctl/paper.h"
#include "util/json.h"

/* measurement: of a run's record. Nothing when it has no operations. */
void operations_print(const json_t *measurement, struct paper *paper, unsigned indent);

/* "12.1 kop/s, 402 Mb/s, p50 61 us, max 4.2 ms" of all operations together; empty when nothing was
 * measured. */
void operations_sum_up(const json_t *measurement, struct text *out);
