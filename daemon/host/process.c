// SPDX-License-Identifier: MIT
#include "host/process.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/sandbox.h"
#include "util/memory.h"

#define STATUS_BYTES 8192

/* The number behind "\nKEY:" of /proc/self/status; 0 when there is none. */
static uint64_t number_of(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

void process_memlock(const char *root, struct process_memlock *ret)
{
	char path[PATH_MAX];
	char status[STATUS_BYTES] = "";
	struct rlimit limit;

	*ret = (struct process_memlock){ .limit_bytes = UINT64_MAX };
	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
		ret->limit_bytes = limit.rlim_cur;
	}
	snprintf(path, sizeof(path), "%.4000s/proc/self/status", root);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return;
	}
	ssize_t count = read(fd, status, sizeof(status) - 1);
	if (count <= 0) {
		return;
	}
	status[count] = '\0';
	ret->pinned_bytes = number_of(status, "\nVmPin:", 10) * 1024;
	/* The kernel asks for the capability in its first user namespace. */
	ret->is_exempt = (number_of(status, "\nCapEff:", 16) >> CAP_IPC_LOCK & 1) &&
			 !sandbox_is_in_user_namespace(root);
}
