// SPDX-License-Identifier: MIT
#pragma once

/*
 * Ids of runs as people write them. A ULID starts with its time to the millisecond: ten characters
 * name a run among those that a daemon keeps. Pure.
 */

#include "util/error.h"
#include "util/text.h"

#define RUN_NAME_SIZE 16

/* The first ten characters, or all if there are fewer. Returns buf. */
const char *run_name_short(const char *id, char *buf);
/* -EINVAL and err unless it can be the id of a run, or its beginning. */
int run_name_check(const char *id, struct error *err);
/* Adds "/v1/runs/ID" and the rest, "/cancel"; ids are written in capitals, however they were typed.
 */
void run_name_add_path(struct text *path, const char *id, const char *rest);
