// SPDX-License-Identifier: MIT

/*
 * A driver that hangs, for the lab: preloaded before libibverbs, it holds a call of libibverbs
 * while a file $HANG_DIR/CALL.DEVICE ("ibv_destroy_qp.rxe0") exists. All else is the library's.
 */

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void hold(const char *call, const char *device)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *directory = getenv("HANG_DIR");
	char path[512];

	if (!directory) {
		return;
	}
	snprintf(path, sizeof(path), "%s/%s.%s", directory, call, device);
	while (access(path, F_OK) == 0) {
		nanosleep(&pause, NULL);
	}
}

static void *next(const char *call)
{
	void *found = dlsym(RTLD_NEXT, call);

	if (!found) {
		fprintf(stderr, "hang: no %s behind this library\n", call);
		abort();
	}
	return found;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*call)(struct ibv_qp *) = next("ibv_destroy_qp");

	hold("ibv_destroy_qp", ibv_get_device_name(qp->context->device));
	return call(qp);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*call)(struct ibv_device *) = next("ibv_open_device");

	hold("ibv_open_device", ibv_get_device_name(device));
	return call(device);
}

/* What the macro ibv_reg_mr calls. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int) =
		next("ibv_reg_mr_iova2");

	hold("ibv_reg_mr", ibv_get_device_name(pd->context->device));
	return call(pd, address, length, iova, access);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*call)(struct ibv_qp *, struct ibv_qp_attr *, int) = next("ibv_modify_qp");

	hold("ibv_modify_qp", ibv_get_device_name(qp->context->device));
	return call(qp, attr, mask);
}
