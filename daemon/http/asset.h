// SPDX-License-Identifier: MIT
#pragma once

/*
 * Files of api/ that the daemon carries within itself; made at build time by api/page/embed.c.
 */

#include <stddef.h>

struct asset {
	const char *name; /* "page.css" */
	const char *bytes; /* terminated by a NUL that does not count */
	size_t count;
};

/* Ends with a NULL name. */
extern const struct asset asset_table[];

/* NULL when there is none of that name: a mistake of the caller. */
const struct asset *asset_find(const char *name);
