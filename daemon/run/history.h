// SPDX-License-Identifier: MIT
#pragma once

/*
 * The newest results, in memory: what /v1/runs and rdmatestctl results read. Runs that wait or go
 * on are in it too. Loop thread.
 */

#include <stddef.h>
#include <systemd/sd-event.h>

#include "model/run.h"

struct history;

struct history *history_new(sd_event *event, size_t keep);
void history_free(struct history *history);
void history_configure(struct history *history, size_t keep);
/*
 * Takes the run; the oldest finished ones beyond `keep`, or beyond 256 MiB by their weight_bytes,
 * are let go: at once out of the list, in the next turns out of memory.
 */
void history_add(struct history *history, struct run *run);
size_t history_count(const struct history *history);
/* Newest first; valid until the next history_add. */
struct run *history_at(const struct history *history, size_t index);
/* By id, or by an unambiguous beginning of at least 6 characters. NULL when unknown. */
struct run *history_find(const struct history *history, const char *id);
/* Runs that are let go and still in memory. */
size_t history_leaving(const struct history *history);
