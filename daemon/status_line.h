// SPDX-License-Identifier: MIT
#pragma once

/* The one line that systemctl shows: who is up, what the last hour's runs came to, what is next.
 * Loop thread. */

#include <stddef.h>

#include "parts.h"

/* "3 peers up, 1 down (node4); 12 runs in 1 h: 11 pass, 1 fail (...); next: mixed in 42 s" */
void status_line_write(const struct parts *parts, char *ret, size_t size);
