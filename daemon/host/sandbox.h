// SPDX-License-Identifier: MIT
#pragma once

/*
 * What holds a process in: its user, capabilities, namespaces, the container around it. Below a
 * root path as host/sysfs.h. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct sandbox {
	uint32_t user_id; /* effective */
	uint64_t capabilities; /* effective: bit CAP_* */
	int seccomp; /* 0 none, 2 a filter; -1 unknown */
	bool is_in_user_namespace; /* its user ids are not the host's */
	bool is_in_pid_namespace; /* processes of the host are out of sight */
	bool is_dev_private; /* /dev is a directory of its own, not the kernel's device file system
			      */
	char container[32]; /* who made the container: "docker", "systemd-nspawn"; "" = none seen */
};

/* Whether this process is in another user namespace than the kernel's first; false when that cannot
 * be read. */
bool sandbox_is_in_user_namespace(const char *root);
/* Of this process. 0, or -errno when /proc/self/status cannot be read. */
int sandbox_read(const char *root, struct sandbox *ret);
/* Whether a process ("self" or a number) has a capability. 0 and *ret, or -errno. */
int sandbox_has_capability(const char *root, const char *process, unsigned capability, bool *ret);
