// SPDX-License-Identifier: MIT
#pragma once

/*
 * Which modules (loadable parts) the running kernel has. Below a root path as host/sysfs.h. Any
 * thread.
 */

#include <stddef.h>

enum modules_state {
	MODULES_UNKNOWN, /* not loaded, and what could be loaded cannot be read */
	MODULES_LOADED,
	MODULES_BUILTIN,
	MODULES_AVAILABLE, /* not loaded, but on disk for this kernel */
	MODULES_ABSENT, /* neither */
};

/* name: "ib_uverbs"; - and _ are the same. */
enum modules_state modules_state(const char *root, const char *name);
/* The release of the running kernel ("6.1.0-57-amd64"); "" when unknown. */
void modules_release(const char *root, char *ret, size_t size);
