// SPDX-License-Identifier: MIT
/* Queue pairs: life, states, receive queue. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/srq.h"
#include "fake/way.h"

struct fake_qp *qp_find(struct fabric_device *device, uint32_t qpn)
{
	struct table_node *node = table_find(&device->qps, qpn);

	return node != NULL ? list_entry(node, struct fake_qp, node) : NULL;
}

static int check_init(const struct fabric_device *device, const struct ibv_context *context,
		      const struct ibv_qp_init_attr *init)
{
	const struct fabric_device_config *limits = &device->config;

	if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UC &&
	    init->qp_type != IBV_QPT_UD) {
		return EOPNOTSUPP;
	}
	if (init->srq != NULL && (init->srq->context != context || init->qp_type == IBV_QPT_UC)) {
		return EINVAL;
	}
	if (init->send_cq == NULL || init->recv_cq == NULL || init->send_cq->context != context ||
	    init->recv_cq->context != context) {
		return EINVAL;
	}
	if (init->cap.max_send_wr > (uint32_t)limits->max_qp_wr ||
	    init->cap.max_recv_wr > (uint32_t)limits->max_qp_wr ||
	    init->cap.max_send_sge > (uint32_t)limits->max_sge ||
	    init->cap.max_recv_sge > (uint32_t)limits->max_sge ||
	    init->cap.max_inline_data > limits->max_inline_bytes) {
		return EINVAL;
	}
	return 0;
}

static void make_queues(struct fake_qp *qp)
{
	const struct ibv_qp_cap *cap = &qp->init.cap;
	uint32_t recv_depth = qp->srq ? 1 : cap->max_recv_wr;
	uint32_t recv_sge = qp->srq ? qp->srq->ring.max_sge : cap->max_recv_sge;

	qp->sq = nic_alloc(cap->max_send_wr, sizeof(*qp->sq));
	qp->sq_sge = nic_alloc((size_t)cap->max_send_wr * cap->max_send_sge, sizeof(*qp->sq_sge));
	qp->sq_inline = nic_alloc((size_t)cap->max_send_wr * cap->max_inline_data, 1);
	recv_ring_init(&qp->rq, recv_depth, recv_sge);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct fake_context *context = context_of(pd->context);
	struct fabric_device *device = context->device;
	int error = verb_enter(device, FABRIC_CREATE_QP);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_qp *qp = nic_alloc(1, sizeof(*qp));
	error = check_init(device, pd->context, init);
	if (error == 0) {
		error = object_add(context, &qp->object, OBJECT_QP);
	}
	if (error != 0) {
		verb_leave(device);
		free(qp);
		errno = error;
		return NULL;
	}
	qp->init = *init;
	qp->srq = init->srq != NULL ? srq_of(init->srq) : NULL;
	qp->device = device;
	qp->ib.context = pd->context;
	qp->ib.qp_context = init->qp_context;
	qp->ib.pd = pd;
	qp->ib.send_cq = init->send_cq;
	qp->ib.recv_cq = init->recv_cq;
	qp->ib.qp_type = init->qp_type;
	qp->ib.qp_num = device->next_qpn++ & NIC_PSN_MASK;
	qp->ib.state = IBV_QPS_RESET;
	list_init(&qp->ready);
	make_queues(qp);
	object_use_pd(pd, 1);
	if (qp->srq != NULL) {
		qp->srq->object.users++;
	}
	cq_of(init->send_cq)->object.users++;
	cq_of(init->recv_cq)->object.users++;
	table_add(&device->qps, &qp->node, qp->ib.qp_num);
	verb_leave(device);
	return &qp->ib;
}

static void forget_completions(struct fake_qp *qp)
{
	cq_purge(cq_of(qp->ib.send_cq), qp);
	cq_purge(cq_of(qp->ib.recv_cq), qp);
}

void qp_end(struct fake_qp *qp)
{
	forget_completions(qp);
	async_forget(qp->object.context, &qp->ib);
	table_remove(&qp->device->qps, &qp->node);
	list_remove(&qp->ready);
	cq_of(qp->ib.send_cq)->object.users--;
	cq_of(qp->ib.recv_cq)->object.users--;
	object_use_pd(qp->ib.pd, -1);
	if (qp->srq != NULL) {
		qp->srq->object.users--;
	}
	object_remove(&qp->object);
	free(qp->sq);
	free(qp->sq_sge);
	free(qp->sq_inline);
	recv_ring_done(&qp->rq);
	free(qp->responses);
	free(qp->atomics);
	free(qp);
}

int ibv_destroy_qp(struct ibv_qp *ib)
{
	struct fake_qp *qp = qp_of(ib);
	struct fabric_device *device = qp->device;
	int error = verb_enter(device, FABRIC_DESTROY_QP);

	if (error == 0) {
		object_wait_acked(device->fabric, &qp->object.unacked, "ibv_destroy_qp");
		qp_end(qp);
		verb_leave(device);
	}
	return error;
}

/* --- states --- */

/* What waits in a shared queue stays there. */
static void flush_recv(struct fake_qp *qp)
{
	while (qp->rq.head < qp->rq.tail) {
		struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
		qp_complete_recv(qp, &wc, false);
	}
}

void qp_to_error(struct fake_qp *qp)
{
	if (qp->ib.state == IBV_QPS_ERR) {
		return;
	}
	qp->ib.state = IBV_QPS_ERR;
	list_remove(&qp->ready);
	requester_flush(qp);
	flush_recv(qp);
}

static void reset(struct fake_qp *qp)
{
	forget_completions(qp);
	list_remove(&qp->ready);
	qp->epoch++;
	qp->peer = NULL;
	qp->rq.head = 0;
	qp->rq.tail = 0;
	memset(&qp->attr, 0, sizeof(qp->attr));
	requester_reset(qp);
	responder_reset(qp);
}

/* The neighbour must answer, as the kernel finds out when it resolves the address. */
static int resolve(struct fake_qp *qp, const struct ibv_qp_attr *attr)
{
	if (!qp->device->is_up) {
		return ENETUNREACH;
	}
	return way_find(qp->device, &attr->ah_attr, &qp->peer);
}

static void take_attributes(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *own = &qp->attr;

#define TAKE_ATTRIBUTE(bit, field) own->field = (mask & (bit)) ? attr->field : own->field
	TAKE_ATTRIBUTE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE_ATTRIBUTE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE_ATTRIBUTE(IBV_QP_PORT, port_num);
	TAKE_ATTRIBUTE(IBV_QP_QKEY, qkey);
	TAKE_ATTRIBUTE(IBV_QP_AV, ah_attr);
	TAKE_ATTRIBUTE(IBV_QP_PATH_MTU, path_mtu);
	TAKE_ATTRIBUTE(IBV_QP_TIMEOUT, timeout);
	TAKE_ATTRIBUTE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE_ATTRIBUTE(IBV_QP_RNR_RETRY, rnr_retry);
	TAKE_ATTRIBUTE(IBV_QP_RQ_PSN, rq_psn);
	TAKE_ATTRIBUTE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE_ATTRIBUTE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE_ATTRIBUTE(IBV_QP_SQ_PSN, sq_psn);
	TAKE_ATTRIBUTE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE_ATTRIBUTE(IBV_QP_DEST_QPN, dest_qp_num);
#undef TAKE_ATTRIBUTE
}

static void enter_rtr(struct fake_qp *qp)
{
	enum ibv_mtu mtu = qp->ib.qp_type == IBV_QPT_UD ? qp->device->config.mtu
							: qp->attr.path_mtu;

	qp->mtu_bytes = 128U << mtu;
	responder_reset(qp);
}

static void enter_rts(struct fake_qp *qp)
{
	qp->sq_psn = qp->attr.sq_psn;
	qp->retries_left = qp->attr.retry_cnt;
	qp->rnr_retries_left = qp->attr.rnr_retry;
}

static int modify(struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	enum ibv_qp_state before = qp->ib.state;
	enum ibv_qp_state next;
	int error = state_check(qp, attr, mask, &next);

	if (error == 0 && (mask & IBV_QP_AV)) {
		error = resolve(qp, attr);
	}
	if (error != 0) {
		return error;
	}
	if (next == IBV_QPS_ERR) {
		qp_to_error(qp);
		qp->response_count = 0;
		return 0;
	}
	qp->ib.state = next;
	if (next == IBV_QPS_RESET) {
		reset(qp);
		return 0;
	}
	take_attributes(qp, attr, mask);
	if (next == IBV_QPS_RTR) {
		enter_rtr(qp);
	}
	if (next == IBV_QPS_RTS && before == IBV_QPS_RTR) {
		enter_rts(qp);
	}
	return 0;
}

static enum fabric_verb verb_of(const struct ibv_qp_attr *attr, int mask)
{
	if (!(mask & IBV_QP_STATE)) {
		return FABRIC_MODIFY_RTS;
	}
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		return FABRIC_MODIFY_INIT;
	case IBV_QPS_RTR:
		return FABRIC_MODIFY_RTR;
	case IBV_QPS_RTS:
		return FABRIC_MODIFY_RTS;
	default:
		return FABRIC_MODIFY_ERR;
	}
}

int ibv_modify_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *qp = qp_of(ib);
	struct fabric_device *device = qp->device;
	int error = verb_enter(device, verb_of(attr, mask));

	if (error == 0) {
		error = modify(qp, attr, mask);
		verb_leave(device);
	}
	return error;
}

int ibv_query_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct fake_qp *qp = qp_of(ib);
	struct fabric_device *device = qp->device;
	int error = verb_enter(device, FABRIC_QUERY_QP);

	(void)mask;
	if (error != 0) {
		return error;
	}
	*attr = qp->attr;
	attr->qp_state = ib->state;
	attr->cur_qp_state = ib->state;
	attr->cap = qp->init.cap;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->sq_psn = qp->sq_psn;
	attr->rq_psn = qp->expected_psn;
	*init = qp->init;
	verb_leave(device);
	return 0;
}

/* --- receive queue --- */

static struct recv_wqe *head_of(const struct fake_qp *qp)
{
	return &qp->rq.wqes[qp->rq.head % qp->rq.depth];
}

bool qp_has_recv(struct fake_qp *qp)
{
	if (qp->rq.head == qp->rq.tail && qp->srq != NULL) {
		recv_ring_take(&qp->srq->ring, &qp->rq);
	}
	return qp->rq.head < qp->rq.tail;
}

struct pieces qp_recv_pieces(const struct fake_qp *qp)
{
	return (struct pieces){ &qp->rq.sges[qp->rq.head % qp->rq.depth * qp->rq.max_sge],
				head_of(qp)->sge_count };
}

uint32_t qp_recv_length(const struct fake_qp *qp)
{
	return head_of(qp)->length;
}

void qp_complete_recv(struct fake_qp *qp, struct ibv_wc *wc, bool is_solicited)
{
	struct cqe cqe = { .qp = qp };

	wc->wr_id = head_of(qp)->wr_id;
	wc->qp_num = qp->ib.qp_num;
	cqe.wc = *wc;
	qp->rq.head++;
	cq_push(cq_of(qp->ib.recv_cq), &cqe, is_solicited);
}

static int add_recv(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
	int error = qp->ib.state == IBV_QPS_RESET || qp->srq != NULL ? EINVAL
								     : recv_ring_add(&qp->rq, wr);

	qp->device->counters.recv_sges += error == 0 ? (uint64_t)wr->num_sge : 0;
	if (error == 0 && qp->ib.state == IBV_QPS_ERR) {
		flush_recv(qp);
	}
	return error;
}

int post_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *qp = qp_of(ib);
	int error = 0;

	nic_lock(qp->device->fabric);
	for (; wr != NULL && error == 0; wr = wr->next) {
		error = verb_check(qp->device, FABRIC_POST_RECV);
		if (error == 0) {
			error = add_recv(qp, wr);
		}
		if (error != 0) {
			*bad = wr;
		}
	}
	nic_unlock(qp->device->fabric);
	return error;
}
