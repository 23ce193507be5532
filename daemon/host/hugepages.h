// SPDX-License-Identifier: MIT
#pragma once

/*
 * Huge pages: memory that the kernel keeps aside in large pieces. Below a root path as
 * host/sysfs.h. Any thread.
 */

#include <stdint.h>

struct hugepages {
	uint64_t size_bytes;
	uint64_t total; /* kept aside */
	uint64_t free;
};

/* Of the default size. 0, or -errno (-EINVAL: /proc/meminfo does not tell). */
int hugepages_read(const char *root, struct hugepages *ret);
