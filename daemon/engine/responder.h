// SPDX-License-Identifier: MIT
#pragma once

/*
 * The other end of a stream that has sends: takes receives and posts them again, in batches, before
 * the queue runs dry. It has no classes and no latency: its operations are the receives. It ends
 * when it is told to, or at its deadline.
 */

#include "engine/flow.h"

extern const struct flow_pattern responder_pattern;
