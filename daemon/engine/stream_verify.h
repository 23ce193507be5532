// SPDX-License-Identifier: MIT
#pragma once

/*
 * A stream whose payload is verified, between its posts: what completed is looked at, writes are
 * named, and who had to wait for the other end goes on. Worker thread.
 */

#include "engine/stream.h"

/* What completed so far. */
void stream_verify_look(struct stream *stream);
/* Once a round: true when something came. May change flow->state. */
bool stream_verify_turn(struct stream *stream, uint64_t now_ticks);
