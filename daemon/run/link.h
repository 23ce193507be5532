// SPDX-License-Identifier: MIT
#pragma once

/*
 * A way between a coordinator and an agent: to another node over a session, or to this node's own
 * agent in the same process. Messages are those of api/control-protocol.md either way. Loop thread;
 * a message sent is never delivered from inside the send.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "util/json.h"
#include "util/list.h"

/* The local way: two queues emptied by a deferred event. */
struct link_local;

typedef void (*link_deliver_fn)(void *arg, const char *kind, const json_t *message);

/* Messages put in by link_local_send come out at deliver(arg) in a later turn of the loop. */
struct link_local *link_local_new(sd_event *event, link_deliver_fn deliver, void *arg);
void link_local_free(struct link_local *link); /* what was not delivered is dropped */
/* Takes the message. */
void link_local_send(struct link_local *link, json_t *message);
