// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a person or a program may have the daemon do with runs: over the admin socket, and by tests.
 * Loop thread.
 */

#include "http/view.h"
#include "parts.h"

/* Begins a run by hand; -ENOENT for an unknown name, -EINVAL for one that is not to be run so, else
 * as coordinator_submit. ret_id: 32 bytes. */
int actions_run(const struct parts *parts, const char *scenario, char *ret_id, struct error *err);
/* -ENOENT no such run, -EALREADY over already. */
int actions_cancel(const struct parts *parts, const char *id, struct error *err);
/* Sets `start` and `cancel` of *view; its `arg` must be the parts. */
void actions_fill_view(struct view *view);
