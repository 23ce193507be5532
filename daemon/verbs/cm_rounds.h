// SPDX-License-Identifier: MIT
#pragma once

/*
 * Connections that are set up and taken down, again and again (workload.pattern: connect), on a
 * connection manager (verbs/cm) after cm_connect: one in each slot of the job, with a queue pair of
 * its own. The initiator begins the next one as soon as the one before is gone at its end; the
 * responder takes what shows the token and the number of a slot that is free, and rejects the rest.
 * Each phase is timed, and has a deadline.
 *
 * Nothing here waits for the other end, but calls of librdmacm and verbs may take their time: for a
 * thread of the job's own. Where it may sleep, and until when: cm_fd, cm_deadline_mono_ns.
 */

#include "model/connections.h"
#include "verbs/cm.h"

/* Called by cm_rounds_step and cm_rounds_abandon alone. */
struct cm_rounds_events {
	/* Responder: a request with the token came. */
	void (*arrived)(void *arg);
	/* One was taken down: what each of its phases took; 0 for those that this end has not. */
	void (*completed)(void *arg, const uint64_t phase_ns[CONNECTION_PHASES]);
	/* One came to nothing in that phase. At the initiator an error ends the step, too. */
	void (*failed)(void *arg, int phase);
};

/* Initiator: so many from now on, 0: without end; responder: whatever comes. events, arg: borrowed
 * until the end. */
void cm_rounds_open(struct cm *cm, const struct cm_rounds_events *events, void *arg,
		    uint64_t count);
/* The initiator begins no more; those under way go on. */
void cm_rounds_close(struct cm *cm);
/* How many events it took and connections it began, a bounded number; or -errno with err, and only
 * cm_rounds_abandon, cm_disconnect and cm_free make sense. */
int cm_rounds_step(struct cm *cm, struct error *err);
size_t cm_rounds_under_way(const struct cm *cm);
uint64_t cm_rounds_retried(const struct cm *cm);
uint64_t cm_rounds_refused(const struct cm *cm);
/* The phase of the one that is longest in it; -1: none is under way. */
int cm_rounds_oldest(const struct cm *cm, uint64_t *ret_since_mono_ns);
/* Those under way came to nothing; what they hold goes with cm_free. */
void cm_rounds_abandon(struct cm *cm);
