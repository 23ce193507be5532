// SPDX-License-Identifier: MIT
#pragma once

/*
 * The process_* families that every Prometheus client has. Reads the process' own /proc entries.
 */

#include "http/exposition.h"

void process_write(struct exposition *exposition, int64_t started_real_ns);
