// SPDX-License-Identifier: MIT
#pragma once

/*
 * What no single field can tell: combinations inside a scenario, names over all files, selectors
 * against the nodes there are. Private to config/. One thread.
 */

#include "config/reader.h"

/* host_name: of this host as the system tells it; stands in for daemon.node_name. */
void check_all(struct reader *reader, const char *host_name);
