// SPDX-License-Identifier: MIT
#include "host/device_node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NODE_PATH "%.3000s/dev/infiniband/%.64s"

void device_node_look(const char *root, const char *name, struct device_node *ret)
{
	char path[PATH_MAX];
	struct stat status;

	*ret = (struct device_node){ .error = -ENOENT };
	if (!fact_is_component(name)) {
		return;
	}
	snprintf(path, sizeof(path), NODE_PATH, root, name);
	if (stat(path, &status) < 0) {
		ret->error = -errno;
		return;
	}
	*ret = (struct device_node){
		.mode = status.st_mode,
		.user_id = status.st_uid,
		.group_id = status.st_gid,
		.major = major(status.st_rdev),
		.minor = minor(status.st_rdev),
		.changed_real_ns = status.st_ctim.tv_sec * 1000000000ll + status.st_ctim.tv_nsec,
	};
}

void device_node_try(const char *root, const char *name, struct device_node *node)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), NODE_PATH, root, name);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	node->was_tried = true;
	node->open_error = fd < 0 ? -errno : 0;
}

bool device_node_is_open_to_all(const struct device_node *node)
{
	return (node->mode & (S_IROTH | S_IWOTH)) == (S_IROTH | S_IWOTH);
}
