// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nullverbs.h"

static atomic_uint last_number = 0x100;

uint32_t null_number(void)
{
	return atomic_fetch_add(&last_number, 1);
}

void *null_alloc(size_t size_bytes)
{
	size_t rounded_bytes = (size_bytes + 63) & ~(size_t)63;
	void *memory = aligned_alloc(64, rounded_bytes);

	if (!memory) {
		abort();
	}
	return memset(memory, 0, rounded_bytes);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = null_alloc(sizeof(*pd));

	pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t size_bytes, int access)
{
	struct ibv_mr *mr = null_alloc(sizeof(*mr));

	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = address;
	mr->length = size_bytes;
	mr->lkey = null_number();
	mr->rkey = mr->lkey;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *address, size_t size_bytes, uint64_t iova,
			       int access)
{
	return ibv_reg_mr(pd, address, size_bytes, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t size_bytes, uint64_t iova,
				unsigned int access)
{
	return ibv_reg_mr(pd, address, size_bytes, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	free(mr);
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct ibv_srq *srq = null_alloc(sizeof(*srq));

	srq->context = pd->context;
	srq->pd = pd;
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	free(srq);
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *ah = null_alloc(sizeof(*ah));

	ah->context = pd->context;
	ah->pd = pd;
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	free(ah);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = null_alloc(sizeof(*channel));
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		free(channel);
		return NULL;
	}
	channel->context = context;
	channel->fd = ends[0];
	channel->refcnt = ends[1];
	return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	close(channel->refcnt);
	free(channel);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret, void **ret_context)
{
	if (read(channel->fd, ret, sizeof(*ret)) != sizeof(*ret)) {
		return -1;
	}
	*ret_context = (*ret)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
}

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ret)
{
	*ret = (struct ibv_ece){ 0 };
	return 0;
}

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	return 0;
}
