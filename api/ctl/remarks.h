// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a result says beside its numbers: the first error, what was found and what to do, which
 * expectations were met. Pure.
 */

#include "ctl/paper.h"
#include "util/json.h"

/* failure: an error record, or NULL: then nothing. label: "first error", "error". */
void remarks_print_error(const json_t *failure, const char *label, struct paper *paper,
			 unsigned indent);
void remarks_print_findings(const json_t *findings, struct paper *paper, unsigned indent);
void remarks_print_expectations(const json_t *expect, struct paper *paper, unsigned indent);
