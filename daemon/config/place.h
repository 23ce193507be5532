// SPDX-License-Identifier: MIT
#pragma once

/*
 * Where in a file something stands: dotted places ("workload.ops[1].size") to marked nodes. Pure;
 * any thread.
 */

#include "util/document.h"

struct place {
	unsigned line;
	unsigned column;
	bool is_written; /* false: the place itself is not in the file, the mark is of the nearest
			    map around it */
};

/* The value at `dotted` below `node`; "" is the node itself. */
struct place place_find(const struct document_node *node, const char *dotted);

/* The mark of a key itself, or of the map when it does not hold the key. */
struct place place_key(const struct document_node *map, const char *key);
