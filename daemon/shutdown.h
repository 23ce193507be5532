// SPDX-License-Identifier: MIT
#pragma once

/*
 * The way down: one order, one deadline of ten seconds. Our own runs are aborted and end first, so
 * that their results are whole; then the jobs of peers are released and their sessions closed. Loop
 * thread.
 */

#include "parts.h"

/* Bytes of a sentence of shutdown_name_call. */
#define SHUTDOWN_CALL_SIZE 256

struct shutdown;

/* status 0: everything ended. 1: not in time; what did not was logged. */
typedef void (*shutdown_done_fn)(void *arg, int status);

/* Begins at once; `done` comes from the loop, once. */
struct shutdown *shutdown_new(struct parts *parts, const char *reason, shutdown_done_fn done,
			      void *arg);
void shutdown_free(struct shutdown *shutdown);
/* Which call to which device the end waits for, in words. */
void shutdown_name_call(struct engine *engine, char *ret, size_t size);
