// SPDX-License-Identifier: MIT
#pragma once

/*
 * Huge pages: memory that the kernel keeps aside in large pieces. Below a root path as
 * host/sysfs.h. Any thread.
 */

#include <stdint.h>

#include "util/text.h"

struct hugepages {
	uint64_t size_bytes;
	uint64_t total; /* kept aside */
	uint64_t free;
};

/* Of the default size. 0, or -errno (-EINVAL: /proc/meminfo does not tell). */
int hugepages_read(const char *root, struct hugepages *ret);
/* Of that size. 0, or -errno (-ENOENT: this host has none of that size). */
int hugepages_read_size(const char *root, uint64_t size_bytes, struct hugepages *ret);
/* The sizes that this host knows, such as "2 MiB, 1 GiB", or "none". */
void hugepages_sizes(const char *root, struct text *ret);
