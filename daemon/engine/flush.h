// SPDX-License-Identifier: MIT
#pragma once

/*
 * The end of a flow that did not end by itself: its queue pairs go to ERR, and what they hold is
 * waited for, so that every flushed request is counted and nothing touches the buffer afterwards. A
 * marked request behind all others tells that a send queue is empty.
 */

#include "engine/flow.h"

#define FLUSH_DEADLINE_NS 1000000000ull

void flush_begin(struct flow *flow);
/* A bounded piece; flow->flush_marks is 0 when all came back. True when something did. */
bool flush_burst(struct flow *flow);
