// SPDX-License-Identifier: MIT
#pragma once

/*
 * What this process may do with memory. Below a root path as sysfs.h. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct process_memlock {
	uint64_t limit_bytes; /* RLIMIT_MEMLOCK, the soft one, which counts; UINT64_MAX = none */
	uint64_t pinned_bytes; /* by devices so far (VmPin); 0 when unknown */
	bool is_exempt; /* CAP_IPC_LOCK on the host: the limit does not apply */
};
void process_memlock(const char *root, struct process_memlock *ret);
