// SPDX-License-Identifier: MIT
#pragma once

/*
 * The record of a run as a person wants to read it: the verdict first, then pair by pair, the bad
 * ones first. Pure.
 */

#include <stdbool.h>

#include "ctl/paper.h"
#include "util/json.h"

/* Up to this many pairs are shown with all their numbers; beyond, those that passed take a line
 * each. */
#define RESULT_FULL_PAIRS 4

/* is_full: all numbers of every pair. */
void result_print(const json_t *run, bool is_full, struct paper *paper);
