// SPDX-License-Identifier: MIT
/* UC and UD: packets that carry their data with them, complete when sent, and may vanish. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/way.h"

#define UNRELIABLE_DETH_BYTES 8
#define UNRELIABLE_GRH_BYTES 40

static void take_payload(struct fake_qp *qp, const struct send_wqe *wqe, uint64_t from, uint64_t to,
			 struct payload **ret)
{
	struct payload *payload = nic_alloc(1, sizeof(*payload) + (to - from));
	struct ibv_sge scratch;

	payload->opcode = wqe->opcode;
	payload->is_solicited = (wqe->flags & IBV_SEND_SOLICITED) != 0;
	payload->is_last = to == wqe->length;
	payload->imm = wqe->imm;
	payload->rkey = wqe->rkey;
	payload->qkey = wqe->remote_qkey;
	payload->length = wqe->length;
	payload->offset = (uint32_t)from;
	payload->remote_addr = wqe->remote_addr;
	payload->bytes = (uint32_t)(to - from);
	if (qp->ib.qp_type == IBV_QPT_UD) {
		payload->from_gid = qp->device->gids[wqe->ah_attr.grh.sgid_index];
		payload->to_gid = wqe->ah_attr.grh.dgid;
		payload->traffic_class = wqe->ah_attr.grh.traffic_class;
		payload->sl = wqe->ah_attr.sl;
		payload->has_grh = wqe->ah_attr.is_global;
	}
	struct ibv_sge data = { .addr = (uintptr_t)payload->data, .length = payload->bytes };
	if (to > from) {
		copy_pieces((struct pieces){ &data, 1 }, 0,
			    requester_pieces(qp, qp->sq_next, &scratch), from, to - from);
	}
	*ret = payload;
}

static void arrive(struct fabric *fabric, struct event *event);

void unreliable_send(struct fake_qp *qp)
{
	struct send_wqe *wqe = requester_wqe(qp, qp->sq_next);
	bool is_datagram = qp->ib.qp_type == IBV_QPT_UD;

	enum ibv_wc_status status = requester_check(qp, qp->sq_next);
	if (status != IBV_WC_SUCCESS) {
		requester_spoil(qp, qp->sq_next, status);
		return;
	}
	if (qp->sq_next == qp->sq_fresh) {
		requester_begin(qp);
	}

	uint32_t count = wqe->packets - qp->sent_packets;
	count = count > WIRE_BURST_PACKETS ? WIRE_BURST_PACKETS : count;
	uint64_t from = (uint64_t)qp->sent_packets * qp->mtu_bytes;
	uint64_t to = from + (uint64_t)count * qp->mtu_bytes;
	to = to > wqe->length ? wqe->length : to;
	struct flight flight = {
		.from = qp->device,
		.to = is_datagram ? wqe->to : qp->peer,
		.from_qpn = qp->ib.qp_num,
		.to_qpn = is_datagram ? wqe->remote_qpn : qp->attr.dest_qp_num,
		.pkey = way_pkey(qp->device, qp->attr.pkey_index),
		.psn = psn_add(wqe->psn, qp->sent_packets),
		.first = qp->sent_packets,
		.count = count,
		.wire_packets = count,
		.bytes = count * (WIRE_HEADER_BYTES + (is_datagram ? UNRELIABLE_DETH_BYTES : 0)) +
			 (uint32_t)(to - from),
	};
	take_payload(qp, wqe, from, to, &flight.payload);
	wire_send(qp->device->fabric, &flight, arrive);
	free(flight.payload);

	qp->sent_packets += count;
	if (qp->sent_packets == wqe->packets) {
		qp->sent_packets = 0;
		qp->sq_next++;
		requester_complete(qp, IBV_WC_SUCCESS);
	}
}

static void fill_wc(const struct flight *flight, uint32_t extra, struct ibv_wc *wc)
{
	const struct payload *payload = flight->payload;

	wc->byte_len = payload->length + extra;
	wc->src_qp = flight->from_qpn;
	wc->sl = payload->sl;
	wc->opcode = opcode_is_send(payload->opcode) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
	wc->wc_flags = payload->has_grh ? IBV_WC_GRH : 0;
	if (opcode_has_imm(payload->opcode)) {
		wc->imm_data = payload->imm;
		wc->wc_flags |= IBV_WC_WITH_IMM;
	}
}

/* RoCE v2 over IPv4 leaves the first 20 bytes undefined and an IPv4 header in the others. */
static void fill_grh(const struct payload *payload, uint8_t grh[UNRELIABLE_GRH_BYTES])
{
	bool is_ipv4 = payload->to_gid.raw[10] == 0xff && payload->to_gid.raw[11] == 0xff;

	memset(grh, 0, UNRELIABLE_GRH_BYTES);
	if (is_ipv4) {
		grh[20] = 0x45;
		grh[21] = payload->traffic_class;
		grh[28] = 64;
		grh[29] = 17;
		memcpy(&grh[32], &payload->from_gid.raw[12], 4);
		memcpy(&grh[36], &payload->to_gid.raw[12], 4);
	} else {
		grh[0] = (uint8_t)(0x60 | payload->traffic_class >> 4);
		grh[1] = (uint8_t)(payload->traffic_class << 4);
		grh[6] = 17;
		grh[7] = 64;
		memcpy(&grh[8], payload->from_gid.raw, 16);
		memcpy(&grh[24], payload->to_gid.raw, 16);
	}
}

static void recv_error(struct fake_qp *qp, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status };

	qp_complete_recv(qp, &wc, false);
	qp_to_error(qp);
}

/* The receive at the head takes `length` bytes, or the pair is in error. */
static bool recv_fits(struct fake_qp *qp, uint64_t length)
{
	struct pieces pieces = qp_recv_pieces(qp);

	if (qp_recv_length(qp) < length) {
		recv_error(qp, IBV_WC_LOC_LEN_ERR);
		return false;
	}
	if (!mr_check_sges(qp->device, qp->ib.pd, pieces.sges, pieces.count,
			   IBV_ACCESS_LOCAL_WRITE)) {
		recv_error(qp, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	return true;
}

static void take_datagram(struct fake_qp *qp, const struct flight *flight)
{
	const struct payload *payload = flight->payload;
	uint8_t grh[UNRELIABLE_GRH_BYTES];
	struct ibv_sge grh_sge = { .addr = (uintptr_t)grh, .length = sizeof(grh) };
	struct ibv_sge data = { .addr = (uintptr_t)payload->data, .length = payload->bytes };
	struct ibv_wc wc = { 0 };

	if (payload->qkey != qp->attr.qkey || !qp_has_recv(qp)) {
		flight->to->counters.silent_drops++;
		return;
	}
	if (!recv_fits(qp, (uint64_t)payload->length + UNRELIABLE_GRH_BYTES)) {
		return;
	}
	/* By LID there is none: its place stays as it was. */
	if (payload->has_grh) {
		fill_grh(payload, grh);
		copy_pieces(qp_recv_pieces(qp), 0, (struct pieces){ &grh_sge, 1 }, 0, sizeof(grh));
	}
	copy_pieces(qp_recv_pieces(qp), sizeof(grh), (struct pieces){ &data, 1 }, 0,
		    payload->bytes);
	if (lie_next(qp->device, payload->bytes) == FABRIC_LIE_CORRUPTS) {
		lie_corrupt((uint8_t *)(uintptr_t)qp_recv_pieces(qp).sges[0].addr + sizeof(grh),
			    payload->bytes);
	}
	fill_wc(flight, UNRELIABLE_GRH_BYTES, &wc);
	qp_complete_recv(qp, &wc, payload->is_solicited);
}

static bool may_write(const struct fake_qp *qp, const struct payload *payload)
{
	return (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0 &&
	       (payload->length == 0 ||
		mr_check(qp->device, qp->ib.pd, payload->rkey, payload->remote_addr,
			 payload->length, IBV_ACCESS_REMOTE_WRITE) != NULL);
}

/* A message with a hole, no place to go or no right to be there is dropped whole, without a word.
 */
static bool takes_uc(struct fake_qp *qp, const struct flight *flight)
{
	const struct payload *payload = flight->payload;

	if (flight->first == 0) {
		qp->drops_message = false;
	} else if (flight->first != qp->uc_first) {
		qp->drops_message = true;
	}
	if (qp->drops_message || flight->count == 0) {
		return false;
	}
	if (!opcode_is_send(payload->opcode) && !may_write(qp, payload)) {
		return false;
	}
	if (opcode_is_send(payload->opcode) ||
	    (payload->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && payload->is_last)) {
		return qp_has_recv(qp);
	}
	return true;
}

static void take_uc(struct fake_qp *qp, const struct flight *flight)
{
	const struct payload *payload = flight->payload;
	bool is_send = opcode_is_send(payload->opcode);
	uint64_t bytes = (uint64_t)flight->count * qp->mtu_bytes;
	struct ibv_sge data = { .addr = (uintptr_t)payload->data, .length = payload->bytes };
	struct ibv_sge remote = { .addr = payload->remote_addr, .length = payload->length };
	struct ibv_wc wc = { 0 };

	if (!takes_uc(qp, flight)) {
		flight->to->counters.silent_drops++;
		qp->drops_message = true;
		return;
	}
	if (is_send && !recv_fits(qp, payload->length)) {
		return;
	}
	bytes = bytes > payload->bytes ? payload->bytes : bytes;
	if (bytes > 0) {
		nic_touch(qp->device);
		copy_pieces(is_send ? qp_recv_pieces(qp) : (struct pieces){ &remote, 1 },
			    payload->offset, (struct pieces){ &data, 1 }, 0, bytes);
		if (bytes == payload->length &&
		    lie_next(qp->device, bytes) == FABRIC_LIE_CORRUPTS) {
			lie_corrupt((uint8_t *)(uintptr_t)(is_send ? qp_recv_pieces(qp).sges[0].addr
								   : payload->remote_addr),
				    bytes);
		}
	}
	qp->uc_first = flight->first + flight->count;
	qp->drops_message = flight->has_gap;
	if (payload->is_last && !flight->has_gap && bytes == payload->bytes &&
	    (is_send || opcode_has_imm(payload->opcode))) {
		fill_wc(flight, 0, &wc);
		qp_complete_recv(qp, &wc, payload->is_solicited);
	}
}

static void arrive(struct fabric *fabric, struct event *event)
{
	const struct flight *flight = &event->flight;
	struct fake_qp *qp = wire_arrived(flight) ? qp_find(flight->to, flight->to_qpn) : NULL;

	(void)fabric;
	if (qp == NULL || qp->ib.qp_type == IBV_QPT_RC ||
	    (qp->ib.state != IBV_QPS_RTR && qp->ib.state != IBV_QPS_RTS &&
	     qp->ib.state != IBV_QPS_SQE)) {
		flight->to->counters.silent_drops++;
		return;
	}
	if (!way_takes(qp, flight->pkey)) {
		return;
	}
	if (qp->ib.qp_type == IBV_QPT_UD) {
		take_datagram(qp, flight);
	} else if (qp->peer == flight->from && qp->attr.dest_qp_num == flight->from_qpn) {
		take_uc(qp, flight);
	} else {
		flight->to->counters.silent_drops++;
	}
}
