// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "nullverbs.h"

static void push(struct ibv_cq *ib_cq, const struct ibv_wc *wc)
{
	struct null_cq *cq = (struct null_cq *)ib_cq;

	cq->ring[cq->tail++ & cq->mask] = *wc;
	if (cq->is_armed && ib_cq->channel) {
		cq->is_armed = false;
		/* A channel is a pipe of queue pointers; refcnt keeps its writing end. */
		if (write(ib_cq->channel->refcnt, &ib_cq, sizeof(ib_cq)) < 0) {
			abort();
		}
	}
}

int null_poll_cq(struct ibv_cq *ib_cq, int count, struct ibv_wc *wcs)
{
	struct null_cq *cq = (struct null_cq *)ib_cq;
	int found = 0;

	while (found < count && cq->head != cq->tail) {
		wcs[found++] = cq->ring[cq->head++ & cq->mask];
	}
	return found;
}

int null_req_notify_cq(struct ibv_cq *cq, int is_solicited_only)
{
	((struct null_cq *)cq)->is_armed = true;
	return 0;
}

static enum ibv_wc_opcode completion_of(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

int null_post_send(struct ibv_qp *ib_qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct null_qp *qp = (struct null_qp *)ib_qp;

	if (ib_qp->state != IBV_QPS_RTS) {
		*bad = wr;
		return EINVAL;
	}
	for (; wr; wr = wr->next) {
		if ((wr->send_flags & IBV_SEND_SIGNALED) || qp->init.sq_sig_all) {
			struct ibv_wc wc = { .wr_id = wr->wr_id,
					     .status = IBV_WC_SUCCESS,
					     .opcode = completion_of(wr->opcode),
					     .byte_len = wr->num_sge ? wr->sg_list[0].length : 0,
					     .qp_num = ib_qp->qp_num };

			push(ib_qp->send_cq, &wc);
		}
	}
	return 0;
}

int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return 0;
}

int null_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return 0;
}

/* --- ibv_wr_* --- */

static struct null_qp *qp_of(struct ibv_qp_ex *qp)
{
	return (struct null_qp *)qp;
}

static void end_open(struct null_qp *qp)
{
	if (qp->has_open) {
		push(qp->ex.qp_base.send_cq, &qp->open);
		qp->has_open = false;
	}
}

static void begin(struct ibv_qp_ex *ex, enum ibv_wc_opcode opcode)
{
	struct null_qp *qp = qp_of(ex);

	end_open(qp);
	if ((ex->wr_flags & IBV_SEND_SIGNALED) || qp->init.sq_sig_all) {
		qp->open = (struct ibv_wc){ .wr_id = ex->wr_id,
					    .status = IBV_WC_SUCCESS,
					    .opcode = opcode,
					    .qp_num = ex->qp_base.qp_num };
		qp->has_open = true;
	}
}

static void wr_start(struct ibv_qp_ex *ex)
{
	qp_of(ex)->has_open = false;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	end_open(qp_of(ex));
	return 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	qp_of(ex)->has_open = false;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	begin(ex, IBV_WC_RDMA_WRITE);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, __be32 imm)
{
	begin(ex, IBV_WC_RDMA_WRITE);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	begin(ex, IBV_WC_RDMA_READ);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, IBV_WC_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	begin(ex, IBV_WC_SEND);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address,
			      uint64_t compare, uint64_t swap)
{
	begin(ex, IBV_WC_COMP_SWAP);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t add)
{
	begin(ex, IBV_WC_FETCH_ADD);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t address, uint32_t length)
{
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *sges)
{
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *address, size_t length)
{
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				    const struct ibv_data_buf *buffers)
{
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
}

/* --- queue pairs --- */

static struct ibv_qp *make_qp(struct ibv_context *context, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *init)
{
	struct null_qp *qp = null_alloc(sizeof(*qp));

	if (init->cap.max_inline_data > NULL_MAX_INLINE) {
		init->cap.max_inline_data = NULL_MAX_INLINE;
	}
	qp->init = *init;
	qp->ex.qp_base = (struct ibv_qp){ .context = context,
					  .qp_context = init->qp_context,
					  .pd = pd,
					  .send_cq = init->send_cq,
					  .recv_cq = init->recv_cq,
					  .srq = init->srq,
					  .qp_num = null_number(),
					  .state = IBV_QPS_RESET,
					  .qp_type = init->qp_type };
	qp->ex.wr_start = wr_start;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_abort = wr_abort;
	qp->ex.wr_rdma_write = wr_rdma_write;
	qp->ex.wr_rdma_write_imm = wr_rdma_write_imm;
	qp->ex.wr_rdma_read = wr_rdma_read;
	qp->ex.wr_send = wr_send;
	qp->ex.wr_send_imm = wr_send_imm;
	qp->ex.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qp->ex.wr_atomic_fetch_add = wr_atomic_fetch_add;
	qp->ex.wr_set_sge = wr_set_sge;
	qp->ex.wr_set_sge_list = wr_set_sge_list;
	qp->ex.wr_set_inline_data = wr_set_inline_data;
	qp->ex.wr_set_inline_data_list = wr_set_inline_data_list;
	qp->ex.wr_set_ud_addr = wr_set_ud_addr;
	return &qp->ex.qp_base;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	return make_qp(pd->context, pd, init);
}

/* The extended attributes start with the plain ones. */
struct ibv_qp *null_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	return make_qp(context, attr->pd, (struct ibv_qp_init_attr *)attr);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return (struct ibv_qp_ex *)qp;
}

int ibv_modify_qp(struct ibv_qp *ib_qp, struct ibv_qp_attr *attr, int mask)
{
	struct null_qp *qp = (struct null_qp *)ib_qp;

	qp->attr = *attr;
	if (mask & IBV_QP_STATE) {
		ib_qp->state = attr->qp_state;
	}
	return 0;
}

int ibv_query_qp(struct ibv_qp *ib_qp, struct ibv_qp_attr *ret, int mask,
		 struct ibv_qp_init_attr *ret_init)
{
	const struct null_qp *qp = (const struct null_qp *)ib_qp;

	*ret = qp->attr;
	ret->qp_state = ib_qp->state;
	ret->cur_qp_state = ib_qp->state;
	ret->cap = qp->init.cap;
	*ret_init = qp->init;
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	free(qp);
	return 0;
}

/* --- completion queues --- */

static struct ibv_cq *make_cq(struct ibv_context *context, uint32_t entries, void *cq_context,
			      struct ibv_comp_channel *channel)
{
	struct null_cq *cq = null_alloc(sizeof(*cq));
	struct ibv_cq *ib_cq = (struct ibv_cq *)&cq->ex;
	uint32_t size = 1;

	while (size <= entries) {
		size *= 2;
	}
	cq->mask = size - 1;
	cq->ring = null_alloc(size * sizeof(*cq->ring));
	ib_cq->context = context;
	ib_cq->channel = channel;
	ib_cq->cq_context = cq_context;
	ib_cq->cqe = (int)entries;
	return ib_cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	return make_cq(context, (uint32_t)entries, cq_context, channel);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(((struct null_cq *)cq)->ring);
	free(cq);
	return 0;
}

int ibv_resize_cq(struct ibv_cq *cq, int entries)
{
	return ENOSYS;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct null_cq *cq = (struct null_cq *)ex;
	const struct ibv_wc *wc = &cq->ring[cq->head & cq->mask];

	if (cq->head == cq->tail) {
		return ENOENT;
	}
	cq->head++;
	ex->wr_id = wc->wr_id;
	ex->status = wc->status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	return next_poll(ex);
}

static void end_poll(struct ibv_cq_ex *ex)
{
}

static const struct ibv_wc *current_wc(struct ibv_cq_ex *ex)
{
	const struct null_cq *cq = (const struct null_cq *)ex;

	return &cq->ring[(cq->head - 1) & cq->mask];
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return current_wc(ex)->opcode;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return current_wc(ex)->byte_len;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return current_wc(ex)->qp_num;
}

static uint32_t read_nothing(struct ibv_cq_ex *ex)
{
	return 0;
}

struct ibv_cq_ex *null_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *ex;

	if (attr->wc_flags &
	    (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	ex = (struct ibv_cq_ex *)make_cq(context, attr->cqe, attr->cq_context, attr->channel);
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_byte_len = read_byte_len;
	ex->read_qp_num = read_qp_num;
	ex->read_vendor_err = read_nothing;
	ex->read_src_qp = read_nothing;
	return ex;
}
