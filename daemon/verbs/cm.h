// SPDX-License-Identifier: MIT
#pragma once

/*
 * Connects the queue pairs of one job by librdmacm (qp.cm: rdma_cm; of UD the other end is only
 * resolved, which has no `established` and no `disconnect`): one identifier (rdma_cm_id)
 * for each, all on one event channel of the job's own. The queue pairs stay those of the job, on
 * its own context: the connection manager agrees on their numbers, we modify them. The responder
 * listens on a port of its own, found by the kernel, for as long as it waits; who connects there
 * must show a token that travelled over the control channel, any other is rejected.
 *
 * Nothing here waits: what must be waited for is an event, and the channel's descriptor becomes
 * readable. Each phase of a connection has a deadline, and so has the whole.
 *
 * Steps: listen; resolve_addr, resolve_route, connect (from the request to the answer), established
 * (the initiator's: from the answer to its confirmation; the responder's: from its answer to that),
 * connect_retry, accept, rejected_request, disconnect, destroy_id; and modify_rtr, modify_rts.
 *
 * Setup thread, one task at a time, but for cm_fd and cm_deadline_mono_ns, which the loop asks
 * between tasks.
 */

#include "verbs/resources.h"

struct cm;

/* What is not an error. */
enum cm_progress { CM_DONE, CM_WAITS };

/*
 * Opens the channel; the responder listens. resources and assignment: borrowed, for the life of it.
 * 0, or -errno with err and nothing left.
 */
int cm_new(struct cm **ret, struct resources *resources, const struct assignment *assignment,
	   struct steps *steps, struct error *err);
/* Port and token, into what the other end gets. */
void cm_info(const struct cm *cm, struct endpoint_info *ret);
/*
 * Begins to connect; remote: borrowed until the end, not trusted. Then, and after each cm_go_on:
 * CM_DONE when every queue pair is in RTS and both ends know; CM_WAITS; or -errno with err, and
 * only cm_disconnect and cm_free make sense.
 */
int cm_connect(struct cm *cm, const struct endpoint_info *remote, struct steps *steps,
	       struct error *err);
/* Takes a bounded number of events. */
int cm_go_on(struct cm *cm, struct steps *steps, struct error *err);
/* Readable: cm_go_on has something to do. */
int cm_fd(const struct cm *cm);
/* When cm_go_on has something to do though nothing is readable. */
uint64_t cm_deadline_mono_ns(const struct cm *cm);
/* Tells the other end, and waits for its answer, 1 s at most: CM_DONE, or CM_WAITS for cm_go_on.
 * What fails here is nobody's failure any more. */
int cm_disconnect(struct cm *cm, struct steps *steps);
/* NULL and half-built ones too. steps may be NULL. */
void cm_free(struct cm *cm, struct steps *steps);
/*
 * librdmacm keeps a context of each device that it ever met, and the kernel waits for it when the
 * device is to go: makes it look which are there, and close those of the others. Only where it was
 * used before, since it opens what is there. False: it did not, as when no device is left.
 */
bool cm_forget_devices(void);
