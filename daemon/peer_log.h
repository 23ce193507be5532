// SPDX-License-Identifier: MIT
#pragma once

/*
 * A log line when a peer comes or goes, or is away for another reason than before: not one for
 * every attempt to reach it. Loop thread.
 */

#include "fleet/peers.h"

struct peer_log;

struct peer_log *peer_log_new(void);
void peer_log_free(struct peer_log *log);
/* why: the reason that it is down; "" when it is up. */
void peer_log_tell(struct peer_log *log, const char *name, const char *why);
/* Forgets those that are no peers any more. */
void peer_log_configure(struct peer_log *log, const struct peers *peers);
