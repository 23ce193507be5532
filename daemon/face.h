// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the daemon says of itself: fills the reading half of http/view.h from its parts. Loop
 * thread.
 */

#include "http/view.h"
#include "parts.h"

/* Sets every reading callback of *view; their `arg` must be the parts. The actions are left alone.
 */
void face_fill_view(struct view *view);
