// SPDX-License-Identifier: MIT
#pragma once

/*
 * Connections, set up and taken down again and again (workload.pattern: connect): either end of it.
 * An operation is a connection from its begin to its end; its latency is that of its set-up. The
 * thread sleeps until the connection manager tells something.
 */

#include "engine/flow.h"

extern const struct flow_pattern connects_pattern;
