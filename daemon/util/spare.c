// SPDX-License-Identifier: MIT
#include "util/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CHECK_MAX 32

static int open_any(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool spare_hold(struct spare *spare)
{
	if (spare->fd < 0) {
		spare->fd = open_any();
	}
	return spare->fd >= 0;
}

void spare_drop(struct spare *spare)
{
	if (spare->fd >= 0) {
		close(spare->fd);
		spare->fd = -1;
	}
}

int spare_check(unsigned count, const char *what, struct error *err)
{
	int fds[CHECK_MAX];
	unsigned had = 0;
	int error = 0;

	while (had < count && had < CHECK_MAX) {
		fds[had] = open_any();
		if (fds[had] < 0) {
			error = errno;
			break;
		}
		had++;
	}
	while (had > 0) {
		close(fds[--had]);
	}
	/* Without /dev/null nothing is known: that is no lack of descriptors. */
	if (error != EMFILE && error != ENFILE) {
		return 0;
	}
	return error_set_call(err, error, ERROR_RESOURCE, STAGE_RESOURCE, "open", "%s", what);
}
