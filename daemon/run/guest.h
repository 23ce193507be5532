// SPDX-License-Identifier: MIT
#pragma once

/*
 * Coordinators of other nodes at our door: each accepted session gets a way to the agent; when it
 * closes, its jobs are released. Loop thread.
 */

#include <stddef.h>
#include <systemd/sd-event.h>

#include "control/session.h"
#include "run/agent.h"

struct guests;

/* Known labels of a claimed node name, or NULL; borrowed. */
typedef const struct labels *(*guest_labels_fn)(void *arg, const char *node);

struct guests *guest_new(struct agent *agent, guest_labels_fn labels, void *arg);
/* To be given to session_listen with the guests as its argument. */
void guest_accept(void *guests, struct session *session);
size_t guest_count(const struct guests *guests);
/* After a reload: who is known by which labels may have changed. */
void guest_configure(struct guests *guests);
/* After our inventory changed. */
void guest_send_inventory(struct guests *guests);
/* Says goodbye to all; their jobs are released. */
void guest_close(struct guests *guests, const char *reason);
/* All must be gone. */
void guest_free(struct guests *guests);
