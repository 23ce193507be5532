// SPDX-License-Identifier: MIT
/* The send queue of a queue pair: posting, sending, completing, going back. Answers:
 * requester-answer.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/way.h"

#define REQUESTER_RETH_BYTES 16
#define REQUESTER_ATOMIC_BYTES 28
#define REQUESTER_IMM_BYTES 4
#define REQUESTER_ATOMIC_LENGTH 8

/* --- posting --- */

static bool can_post(const struct fake_qp *qp)
{
	return qp->ib.state == IBV_QPS_RTS || qp->ib.state == IBV_QPS_SQE ||
	       qp->ib.state == IBV_QPS_ERR;
}

static int check_send(const struct fake_qp *qp, const struct ibv_send_wr *wr, uint64_t *ret_length)
{
	uint64_t length = 0;

	if (!can_post(qp) || wr->opcode > IBV_WR_ATOMIC_FETCH_AND_ADD || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->init.cap.max_send_sge) {
		return EINVAL;
	}
	for (int i = 0; i < wr->num_sge; i++) {
		length += wr->sg_list[i].length;
	}
	if ((wr->send_flags & IBV_SEND_INLINE) &&
	    (length > qp->init.cap.max_inline_data || opcode_is_read(wr->opcode))) {
		return EINVAL;
	}
	/* Drivers follow that pointer, whatever becomes of the request. */
	if (qp->ib.qp_type == IBV_QPT_UD && wr->wr.ud.ah == NULL) {
		fprintf(stderr, "fake NIC: a work request of a UD queue pair without an address "
				"handle: a driver would crash\n");
		abort();
	}
	if (qp->sq_tail - qp->sq_reclaimed >= qp->init.cap.max_send_wr) {
		return ENOMEM;
	}
	*ret_length = length;
	return 0;
}

/* Inline data is taken now; the caller may change it at once. */
static void take_data(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	uint64_t slot = qp->sq_tail % qp->init.cap.max_send_wr;
	uint8_t *at = &qp->sq_inline[slot * qp->init.cap.max_inline_data];

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		if (wr->send_flags & IBV_SEND_INLINE) {
			memcpy(at, (const void *)(uintptr_t)sge->addr, sge->length);
			at += sge->length;
		} else {
			qp->sq_sge[slot * qp->init.cap.max_send_sge + (unsigned)i] = *sge;
		}
	}
}

static void take_target(const struct fake_qp *qp, const struct ibv_send_wr *wr,
			struct send_wqe *wqe)
{
	if (qp->ib.qp_type == IBV_QPT_UD) {
		const struct fake_ah *ah = list_entry(wr->wr.ud.ah, struct fake_ah, ib);
		wqe->to = ah->to;
		wqe->ah_attr = ah->attr;
		wqe->remote_qpn = wr->wr.ud.remote_qpn;
		wqe->remote_qkey = wr->wr.ud.remote_qkey;
	} else if (opcode_is_read(wr->opcode) && wr->opcode != IBV_WR_RDMA_READ) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
	} else if (!opcode_is_send(wr->opcode)) {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
}

static int add_send(struct fake_qp *qp, const struct ibv_send_wr *wr)
{
	uint64_t length = 0;
	int error = check_send(qp, wr, &length);

	if (error != 0) {
		return error;
	}
	struct send_wqe *wqe = requester_wqe(qp, qp->sq_tail);
	*wqe = (struct send_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->send_flags,
		.imm = wr->imm_data,
		.sge_count = wr->num_sge,
		.length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length,
	};
	take_data(qp, wr);
	take_target(qp, wr, wqe);
	qp->sq_tail++;
	qp->device->counters.send_sges += (uint64_t)wr->num_sge;
	if (qp->ib.state != IBV_QPS_RTS) {
		requester_flush(qp);
	}
	return 0;
}

int post_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *qp = qp_of(ib);
	int error = 0;

	nic_lock(qp->device->fabric);
	for (; wr != NULL && error == 0; wr = wr->next) {
		error = verb_check(qp->device, FABRIC_POST_SEND);
		if (error == 0) {
			error = add_send(qp, wr);
		}
		if (error != 0) {
			*bad = wr;
		}
	}
	wire_kick(qp);
	nic_unlock(qp->device->fabric);
	return error;
}

/* --- completing --- */

static enum ibv_wc_opcode completion_opcode(enum ibv_wr_opcode opcode)
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

void requester_complete(struct fake_qp *qp, enum ibv_wc_status status)
{
	const struct send_wqe *wqe = requester_wqe(qp, qp->sq_head);

	if (opcode_is_read(wqe->opcode) && qp->sq_head < qp->sq_next) {
		qp->reads_in_flight--;
	}
	qp->sq_head++;
	if (qp->sq_next < qp->sq_head) {
		qp->sq_next = qp->sq_head;
		qp->sent_packets = 0;
	}
	if (qp->sq_fresh < qp->sq_head) {
		qp->sq_fresh = qp->sq_head;
	}
	if (status != IBV_WC_SUCCESS || qp->init.sq_sig_all || (wqe->flags & IBV_SEND_SIGNALED)) {
		struct cqe cqe = {
			.qp = qp,
			.reclaim = qp->sq_head,
			.wc = { .wr_id = wqe->wr_id,
				.status = status,
				.opcode = completion_opcode(wqe->opcode),
				.byte_len = opcode_is_read(wqe->opcode) ? wqe->length : 0,
				.qp_num = qp->ib.qp_num },
		};
		cq_push(cq_of(qp->ib.send_cq), &cqe, false);
	}
}

void requester_flush(struct fake_qp *qp)
{
	while (qp->sq_head < qp->sq_tail) {
		requester_complete(qp, IBV_WC_WR_FLUSH_ERR);
	}
	qp->is_stuck = false;
	qp->is_rnr_waiting = false;
}

void requester_fail(struct fake_qp *qp, enum ibv_wc_status status)
{
	requester_complete(qp, status);
	if (qp->ib.qp_type == IBV_QPT_RC) {
		qp_to_error(qp);
	} else {
		qp->ib.state = IBV_QPS_SQE;
		requester_flush(qp);
	}
}

void requester_spoil(struct fake_qp *qp, uint64_t position, enum ibv_wc_status status)
{
	requester_wqe(qp, position)->status = status;
	qp->is_stuck = true;
	if (position == qp->sq_head) {
		requester_fail(qp, status);
	}
}

void requester_reset(struct fake_qp *qp)
{
	qp->sq_reclaimed = 0;
	qp->sq_head = 0;
	qp->sq_next = 0;
	qp->sq_fresh = 0;
	qp->sq_tail = 0;
	qp->sent_packets = 0;
	qp->reads_in_flight = 0;
	qp->is_rnr_waiting = false;
	qp->is_stuck = false;
	qp->has_rewound = false;
	qp->has_timer = false; /* its event belongs to an older epoch */
}

/* --- sending --- */

struct pieces requester_pieces(const struct fake_qp *qp, uint64_t position, struct ibv_sge *scratch)
{
	const struct send_wqe *wqe = requester_wqe(qp, position);
	uint64_t slot = position % qp->init.cap.max_send_wr;

	if (wqe->flags & IBV_SEND_INLINE) {
		const uint8_t *data = &qp->sq_inline[slot * qp->init.cap.max_inline_data];
		*scratch = (struct ibv_sge){ .addr = (uintptr_t)data, .length = wqe->length };
		return (struct pieces){ scratch, 1 };
	}
	return (struct pieces){ &qp->sq_sge[slot * qp->init.cap.max_send_sge], wqe->sge_count };
}

enum ibv_wc_status requester_check(const struct fake_qp *qp, uint64_t position)
{
	const struct send_wqe *wqe = requester_wqe(qp, position);
	bool is_read = opcode_is_read(wqe->opcode);
	bool is_atomic = is_read && wqe->opcode != IBV_WR_RDMA_READ;

	if (is_read && (qp->ib.qp_type != IBV_QPT_RC || qp->attr.max_rd_atomic == 0 ||
			(is_atomic && qp->device->config.has_no_atomics))) {
		return IBV_WC_LOC_QP_OP_ERR;
	}
	if (qp->ib.qp_type == IBV_QPT_UD && !opcode_is_send(wqe->opcode)) {
		return IBV_WC_LOC_QP_OP_ERR;
	}
	if (wqe->length > qp->device->config.max_msg_bytes ||
	    (qp->ib.qp_type == IBV_QPT_UD && wqe->length > qp->mtu_bytes) ||
	    (is_atomic && wqe->length != REQUESTER_ATOMIC_LENGTH)) {
		return IBV_WC_LOC_LEN_ERR;
	}
	if (wqe->flags & IBV_SEND_INLINE) {
		return IBV_WC_SUCCESS;
	}
	struct pieces pieces = requester_pieces(qp, position, NULL);
	return mr_check_sges(qp->device, qp->ib.pd, pieces.sges, pieces.count,
			     is_read ? IBV_ACCESS_LOCAL_WRITE : 0)
		       ? IBV_WC_SUCCESS
		       : IBV_WC_LOC_PROT_ERR;
}

bool requester_has_work(const struct fake_qp *qp)
{
	if (qp->ib.state != IBV_QPS_RTS || qp->is_rnr_waiting || qp->sq_next == qp->sq_tail) {
		return false;
	}
	const struct send_wqe *wqe = requester_wqe(qp, qp->sq_next);
	if (wqe->status != IBV_WC_SUCCESS) {
		return false;
	}
	if (opcode_is_read(wqe->opcode) && qp->reads_in_flight > 0 &&
	    qp->reads_in_flight >= qp->attr.max_rd_atomic) {
		return false;
	}
	return !(wqe->flags & IBV_SEND_FENCE) || qp->reads_in_flight == 0;
}

static void retransmission_timer(struct fabric *fabric, struct event *event);

void requester_start_timer(struct fake_qp *qp, uint64_t from_ns)
{
	if (qp->attr.timeout == 0) {
		return; /* wait for ever */
	}
	qp->deadline_ns = from_ns + (4096ULL << qp->attr.timeout);
	if (!qp->has_timer) {
		struct event *event =
			nic_event(qp->device->fabric, qp->deadline_ns, retransmission_timer);
		event->flight.from = qp->device;
		event->flight.from_qpn = qp->ib.qp_num;
		event->flight.from_epoch = qp->epoch;
		qp->has_timer = true;
	}
}

/* Something was sent and nothing of it has been sent again since a rewind. */
static bool waits_for_port(const struct fake_qp *qp)
{
	return !list_is_empty(&qp->ready) && qp->sq_next == qp->sq_head &&
	       qp->sent_packets <= requester_wqe(qp, qp->sq_head)->acked;
}

/* The event stays where it is when the deadline moves on; it looks when it comes. */
static void retransmission_timer(struct fabric *fabric, struct event *event)
{
	struct fake_qp *qp = qp_find(event->flight.from, event->flight.from_qpn);

	if (qp == NULL || qp->epoch != event->flight.from_epoch || qp->device->is_removed) {
		return;
	}
	qp->has_timer = false;
	if (qp->ib.state != IBV_QPS_RTS || qp->sq_head == qp->sq_fresh || qp->is_rnr_waiting) {
		return;
	}
	if (waits_for_port(qp)) {
		requester_start_timer(qp, fabric->now_ns);
		return;
	}
	if (fabric->now_ns < qp->deadline_ns) {
		requester_start_timer(qp, qp->deadline_ns - (4096ULL << qp->attr.timeout));
		return;
	}
	qp->device->counters.timeouts++;
	requester_retry(qp);
}

void requester_begin(struct fake_qp *qp)
{
	struct send_wqe *wqe = requester_wqe(qp, qp->sq_fresh);

	wqe->psn = qp->sq_psn;
	wqe->packets = (uint32_t)(((uint64_t)wqe->length + qp->mtu_bytes - 1) / qp->mtu_bytes);
	if (wqe->packets == 0) {
		wqe->packets = 1;
	}
	qp->sq_psn = psn_add(qp->sq_psn, wqe->packets);
	qp->sq_fresh++;
}

static void fill_request(const struct fake_qp *qp, const struct send_wqe *wqe,
			 struct flight *flight)
{
	uint32_t first = opcode_is_read(wqe->opcode) ? wqe->acked : qp->sent_packets;
	uint32_t count = wqe->packets - first;
	uint64_t from = (uint64_t)first * qp->mtu_bytes;

	if (opcode_is_read(wqe->opcode)) {
		flight->wire_packets = 1;
		flight->bytes = WIRE_HEADER_BYTES + (wqe->opcode == IBV_WR_RDMA_READ
							     ? REQUESTER_RETH_BYTES
							     : REQUESTER_ATOMIC_BYTES);
	} else {
		count = count > WIRE_BURST_PACKETS ? WIRE_BURST_PACKETS : count;
		uint64_t to = from + (uint64_t)count * qp->mtu_bytes;
		to = to > wqe->length ? wqe->length : to;
		flight->wire_packets = count;
		flight->bytes = count * WIRE_HEADER_BYTES + (uint32_t)(to - from);
		if (first == 0 && !opcode_is_send(wqe->opcode)) {
			flight->bytes += REQUESTER_RETH_BYTES;
		}
		if (first + count == wqe->packets && opcode_has_imm(wqe->opcode)) {
			flight->bytes += REQUESTER_IMM_BYTES;
		}
	}
	flight->first = first;
	flight->count = count;
	flight->psn = psn_add(wqe->psn, first);
}

static void count_again(struct fake_qp *qp, struct send_wqe *wqe, const struct flight *flight)
{
	uint32_t end = flight->first + flight->count;

	if (wqe->ever_sent > flight->first) {
		uint32_t again = (wqe->ever_sent < end ? wqe->ever_sent : end) - flight->first;
		/* a read is asked for with one packet, whatever its length */
		qp->device->counters.retransmits += flight->wire_packets == flight->count ? again
											  : 1;
	}
	wqe->ever_sent = end > wqe->ever_sent ? end : wqe->ever_sent;
}

void requester_send(struct fake_qp *qp)
{
	uint64_t position = qp->sq_next;
	struct send_wqe *wqe = requester_wqe(qp, position);
	struct flight flight = { .from = qp->device,
				 .to = qp->peer,
				 .from_qpn = qp->ib.qp_num,
				 .to_qpn = qp->attr.dest_qp_num,
				 .from_epoch = qp->epoch,
				 .pkey = way_pkey(qp->device, qp->attr.pkey_index),
				 .position = position };

	if (qp->ib.qp_type != IBV_QPT_RC) {
		unreliable_send(qp);
		return;
	}
	if (position == qp->sq_fresh) {
		enum ibv_wc_status status = requester_check(qp, position);
		if (status != IBV_WC_SUCCESS) {
			requester_spoil(qp, position, status);
			return;
		}
		requester_begin(qp);
	}

	fill_request(qp, wqe, &flight);
	count_again(qp, wqe, &flight);

	uint64_t left_ns = wire_send(qp->device->fabric, &flight, responder_request);
	wqe->sent_until_ns = left_ns;
	if (position == qp->sq_head) {
		requester_start_timer(qp, left_ns);
	}
	if (opcode_is_read(wqe->opcode)) {
		qp->reads_in_flight++;
		qp->sq_next++;
		return;
	}
	qp->sent_packets += flight.count;
	if (qp->sent_packets == wqe->packets) {
		qp->sent_packets = 0;
		qp->sq_next++;
	}
}
