// SPDX-License-Identifier: MIT
#pragma once

/*
 * One job's traffic, prepared: work requests built, linked and flagged, decks drawn, histograms
 * allocated, so that the measured loop only posts, polls and adds. Built on a setup thread, then
 * owned by one worker, then handed back with its totals.
 *
 * Accounting: a queue pair's work requests repeat a prepared ring; completed positions are kept per
 * queue pair, and what classes they were is counted from prefix sums when an interval is cut, never
 * per operation.
 */

#include <stdbool.h>

#include "model/assignment.h"
#include "model/sample.h"
#include "util/error.h"
#include "verbs/resources.h"

struct traffic;

/* Borrows resources and assignment (both outlive it). remote: what the other end prepared. */
int traffic_new(struct traffic **ret, struct resources *resources,
		const struct assignment *assignment, const struct endpoint_info *remote,
		struct error *err);
void traffic_free(struct traffic *traffic);

/* A responder of one-sided operations has nothing to do: it needs no worker and just waits to be
 * released. */
bool traffic_is_passive(const struct traffic *traffic);
/* It sleeps when there is nothing to do, instead of polling: it needs a descriptor for that. */
bool traffic_may_sleep(const struct traffic *traffic);

/* Worker thread only, in this order: */
void traffic_start(struct traffic *traffic); /* reads the clock; the first step posts */
/*
 * A bounded piece of work. True while the traffic goes on. *ret_found: whether anything completed
 * (else the caller may let the clock move). Cuts intervals, keeps the window, the deadline and the
 * stall clock by itself.
 */
bool traffic_step(struct traffic *traffic, bool *ret_found);
/* Ends it at once: queue pairs to ERR, drained for at most a second. */
/* How long until the step must run again, on the clock of the traffic; for who sleeps meanwhile. */
uint64_t traffic_left_ns(const struct traffic *traffic);
/* After a step that found nothing: what to sleep on until there is something; -1: do not sleep. */
int traffic_sleep_fd(struct traffic *traffic);
void traffic_stop(struct traffic *traffic);
/* Next moment (CLOCK_MONOTONIC ns) at which something happens by time alone. */
uint64_t traffic_next_mono_ns(const struct traffic *traffic);
bool traffic_has_posted(const struct traffic *traffic); /* responder: is ready */
/* A fresh progress record when an interval was cut since the last call, else false. */
bool traffic_progress(struct traffic *traffic, struct progress *ret);
/* It could not be told: the next call gives it again. */
void traffic_progress_again(struct traffic *traffic);
/* Once, after the end: moves the totals out. Caller: sample_totals_done. */
void traffic_totals(struct traffic *traffic, struct totals *ret);
