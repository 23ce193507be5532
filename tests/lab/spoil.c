// SPDX-License-Identifier: MIT

/*
 * A driver that spoils what the other end needs, for the lab: preloaded before libibverbs. While a
 * file $SPOIL_DIR/rkey.DEVICE exists, new regions have a wrong remote key; while short.DEVICE does,
 * receives are posted with half of their length, and while none.DEVICE does, not at all. All else
 * is the library's.
 */

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The same for every device: the lab has those of one driver. */
static int (*driver_post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);

static bool is_asked(const char *what, const struct ibv_context *context)
{
	const char *directory = getenv("SPOIL_DIR");
	char path[512];

	if (!directory) {
		return false;
	}
	snprintf(path, sizeof(path), "%s/%s.%s", directory, what,
		 ibv_get_device_name(context->device));
	return access(path, F_OK) == 0;
}

static void *next(const char *call)
{
	void *found = dlsym(RTLD_NEXT, call);

	if (!found) {
		fprintf(stderr, "spoil: no %s behind this library\n", call);
		abort();
	}
	return found;
}

/* One by one: what the caller gave is its own. */
static int post_halves(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int number = 0;

	for (; wr && number == 0; wr = wr->next) {
		struct ibv_sge piece = wr->num_sge > 0 ? wr->sg_list[0] : (struct ibv_sge){ 0 };
		struct ibv_recv_wr half = { .wr_id = wr->wr_id,
					    .sg_list = &piece,
					    .num_sge = wr->num_sge > 0 };
		struct ibv_recv_wr *refused;

		piece.length /= 2;
		*bad = wr;
		number = driver_post_recv(qp, &half, &refused);
	}
	return number;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	if (is_asked("none", qp->context)) {
		return 0;
	}
	if (is_asked("short", qp->context)) {
		return post_halves(qp, wr, bad);
	}
	return driver_post_recv(qp, wr, bad);
}

/* ibv_post_recv is inline, and calls what the context names. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*call)(struct ibv_device *) = next("ibv_open_device");
	struct ibv_context *context = call(device);

	if (context) {
		driver_post_recv = context->ops.post_recv;
		context->ops.post_recv = post_recv;
	}
	return context;
}

/* What the macro ibv_reg_mr calls. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
				unsigned int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int) =
		next("ibv_reg_mr_iova2");
	struct ibv_mr *mr = call(pd, address, length, iova, access);

	if (mr && is_asked("rkey", pd->context)) {
		mr->rkey ^= 0x55;
	}
	return mr;
}
