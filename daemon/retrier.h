// SPDX-License-Identifier: MIT
#pragma once

/*
 * Runs that this node begins by itself and that came to nothing, since a peer or a device was away,
 * are tried again by run/retry's clock. Their record says which run they repeat. Loop thread.
 */

#include "parts.h"

struct retrier;

/* Borrows the parts. */
struct retrier *retrier_new(struct parts *parts);
/* Takes NULL. */
void retrier_free(struct retrier *retrier);
/* Nothing is tried again any more. */
void retrier_stop(struct retrier *retrier);
/* A run of this node is done. */
void retrier_run_done(struct retrier *retrier, const struct run *run);
