// SPDX-License-Identifier: MIT
#pragma once

/*
 * Completion events: who finds nothing in its completion queues may sleep until something comes
 * (ibv_req_notify_cq(3), ibv_get_cq_event(3)). One channel for both queues of a job. Opened and
 * closed on a setup thread, used by the worker in between.
 *
 * The order that loses nothing: notify_take, notify_arm, look into the queues once more, and only
 * then wait for channel->fd to be readable. An event that came before is worth one look in vain.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "model/step.h"
#include "util/error.h"
#include "verbs/device.h"

/* Its descriptor is non-blocking. 0, or -errno with err. */
int notify_open(struct ibv_comp_channel **ret, const struct device *device, struct steps *steps,
		struct error *err);
/* Takes NULL. After its completion queues. */
void notify_close(struct ibv_comp_channel *channel, struct steps *steps);

/* Takes all events that wait, and acknowledges them, as destroying a completion queue waits for
 * that. Does not block. */
void notify_take(struct ibv_comp_channel *channel);
/* The next completion in the queue is an event: of any kind, or of a solicited message or an error
 * alone. 0 or a positive errno. */
int notify_arm(struct ibv_cq *cq, bool is_solicited_only);
