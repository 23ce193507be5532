// SPDX-License-Identifier: MIT
#pragma once

/*
 * Resource limits of a process as /proc/PID/limits tells them: readable for every process that is
 * visible. Below a root path as host/sysfs.h. Any thread.
 */

#include <stdint.h>

#define RLIMITS_NONE UINT64_MAX

struct rlimits_pair {
	uint64_t soft; /* what counts; RLIMITS_NONE = unlimited */
	uint64_t hard; /* up to where the process may raise it itself */
};

struct rlimits {
	struct rlimits_pair locked_bytes; /* RLIMIT_MEMLOCK */
	struct rlimits_pair open_files; /* RLIMIT_NOFILE */
};

/* process: "self" or a number. 0 or -errno (-EINVAL: not in the form expected). */
int rlimits_read(const char *root, const char *process, struct rlimits *ret);
