// SPDX-License-Identifier: MIT
#pragma once

/* The page in pieces: gathers a record of the daemon after the other, then writes a part after the
 * other. Loop thread. */

#include "http/metrics.h"
#include "http/pieces.h"
#include "http/view.h"

/* Borrows both. */
struct pieces *page_pieces_new(const struct view *view, const struct metrics *metrics);
