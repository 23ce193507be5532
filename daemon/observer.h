// SPDX-License-Identifier: MIT
#pragma once

/*
 * Counts runs that are done, in the metrics, one after the other: those of thousands of pairs in
 * pieces, a piece in a turn of the loop. Loop thread.
 */

#include <systemd/sd-event.h>

#include "http/metrics.h"
#include "model/run.h"

/* Measurements that one turn counts: each may have dozens of histograms. */
#define OBSERVER_PIECE 2

struct observer;

/* The run is counted. */
typedef void (*observer_done_fn)(void *arg, const struct run *run);

struct observer *observer_new(sd_event *event, struct metrics *metrics, observer_done_fn done,
			      void *arg);
/* What is not counted by now never will be. */
void observer_free(struct observer *observer);
/* A run that is done and judged; a reference is taken. One of OBSERVER_PIECE pairs or fewer, with
 * none before it, is counted at once. */
void observer_add(struct observer *observer, struct run *run);
