// SPDX-License-Identifier: MIT
#pragma once

/*
 * A file below /dev/infiniband, through which programs reach a device, and who may open it. Below a
 * root path as host/sysfs.h. Any thread; device_node_try may wait for the driver.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/fact.h"

struct device_node {
	int error; /* 0: the file is there; else -errno of stat(2), and nothing else is known */
	mode_t mode;
	uid_t user_id;
	gid_t group_id;
	uint32_t major;
	uint32_t minor;
	int64_t changed_real_ns; /* its owner, mode or access list (ctime) */
	bool was_tried;
	int open_error; /* of open(2) for reading and writing, -errno; 0: this process may */
};

/* name: "uverbs0". */
void device_node_look(const char *root, const char *name, struct device_node *ret);
/* Opens it and closes it again; it must be there. */
void device_node_try(const char *root, const char *name, struct device_node *node);
/* Whether its mode lets everyone read and write. */
bool device_node_is_open_to_all(const struct device_node *node);
