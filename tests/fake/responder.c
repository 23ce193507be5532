// SPDX-License-Identifier: MIT
/* The responder of a reliable connection: takes requests in order, answers, refuses. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/way.h"

#define RESPONDER_AETH_BYTES 4
#define RESPONDER_ATOMIC_BYTES 12

/* --- what it owes, in order --- */

static uint32_t reads_owed(const struct fake_qp *qp)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < qp->response_count; i++) {
		enum response_kind kind =
			qp->responses[(qp->response_head + i) % qp->response_size].kind;
		count += kind == RESPONSE_READ || kind == RESPONSE_ATOMIC;
	}
	return count;
}

static struct response *last_owed(const struct fake_qp *qp)
{
	if (qp->response_count == 0) {
		return NULL;
	}
	return &qp->responses[(qp->response_head + qp->response_count - 1) % qp->response_size];
}

static struct flight answer(const struct fake_qp *qp)
{
	return (struct flight){ .from = qp->device,
				.to = qp->peer,
				.from_qpn = qp->ib.qp_num,
				.to_qpn = qp->attr.dest_qp_num,
				.from_epoch = qp->epoch,
				.pkey = way_pkey(qp->device, qp->attr.pkey_index),
				.count = 1,
				.wire_packets = 1,
				.bytes = WIRE_HEADER_BYTES + RESPONDER_AETH_BYTES };
}

static void send_small(struct fake_qp *qp, const struct response *response)
{
	struct fabric *fabric = qp->device->fabric;
	struct flight flight = answer(qp);

	flight.psn = response->psn;
	if (response->kind == RESPONSE_ACK) {
		wire_send_control(fabric, &flight, requester_ack);
	} else if (response->kind == RESPONSE_NAK) {
		flight.nak = response->nak;
		flight.rnr_timer = qp->attr.min_rnr_timer;
		wire_send_control(fabric, &flight, requester_nak);
	} else {
		flight.value = response->value;
		flight.bytes += RESPONDER_ATOMIC_BYTES - RESPONDER_AETH_BYTES;
		wire_send_control(fabric, &flight, requester_atomic);
	}
}

/* Answers keep their order: a small one overtakes no read. */
static void owe(struct fake_qp *qp, const struct response *response)
{
	struct response *last = last_owed(qp);

	if (last == NULL && response->kind != RESPONSE_READ) {
		send_small(qp, response);
		return;
	}
	bool is_small = response->kind == RESPONSE_ACK || response->kind == RESPONSE_NAK;
	if (last != NULL && is_small && last->kind == response->kind) {
		*last = *response; /* the newest says it all */
		return;
	}
	/* no room: as if it were lost, the requester asks again */
	if (qp->response_count == qp->response_size) {
		return;
	}
	qp->responses[(qp->response_head + qp->response_count++) % qp->response_size] = *response;
	wire_kick(qp);
}

static void send_ack(struct fake_qp *qp)
{
	owe(qp, &(struct response){ .kind = RESPONSE_ACK,
				    .psn = psn_add(qp->expected_psn, NIC_PSN_MASK) });
}

static void send_nak(struct fake_qp *qp, enum nak_kind nak)
{
	owe(qp, &(struct response){ .kind = RESPONSE_NAK, .nak = nak, .psn = qp->expected_psn });
}

bool responder_has_work(const struct fake_qp *qp)
{
	return qp->response_count > 0;
}

static void pop_owed(struct fake_qp *qp)
{
	qp->response_head = (qp->response_head + 1) % qp->response_size;
	qp->response_count--;
}

/* One burst of the answer to a read. False: its memory is gone, nothing was sent. */
static bool send_read(struct fake_qp *qp, struct response *response)
{
	uint32_t left = response->packets - response->sent;
	uint32_t count = left < WIRE_BURST_PACKETS ? left : WIRE_BURST_PACKETS;
	uint64_t from = (uint64_t)(response->first + response->sent) * qp->mtu_bytes;
	uint64_t to = from + (uint64_t)count * qp->mtu_bytes;
	struct flight flight = answer(qp);

	if (response->length > 0 && mr_check(qp->device, qp->ib.pd, response->key, response->addr,
					     response->length, IBV_ACCESS_REMOTE_READ) == NULL) {
		return false;
	}
	to = to > response->length ? response->length : to;
	flight.psn = psn_add(response->psn, response->sent);
	flight.first = response->first + response->sent;
	flight.count = count;
	flight.wire_packets = count;
	flight.bytes = count * WIRE_HEADER_BYTES + RESPONDER_AETH_BYTES + (uint32_t)(to - from);
	flight.addr = response->addr;
	flight.key = response->key;
	response->sent += count;
	wire_send(qp->device->fabric, &flight, requester_response);
	return true;
}

void responder_send(struct fake_qp *qp)
{
	while (qp->response_count > 0) {
		struct response *response = &qp->responses[qp->response_head];
		if (response->kind != RESPONSE_READ) {
			send_small(qp, response);
			pop_owed(qp);
			continue;
		}
		bool is_sent = send_read(qp, response);
		if (!is_sent || response->sent == response->packets) {
			pop_owed(qp);
		}
		if (is_sent) {
			return;
		}
	}
}

void responder_reset(struct fake_qp *qp)
{
	uint32_t depth = qp->attr.max_dest_rd_atomic;

	qp->expected_psn = qp->attr.rq_psn;
	qp->has_nak = false;
	qp->drops_message = false;
	qp->uc_first = 0;
	qp->response_head = 0;
	qp->response_count = 0;
	qp->response_size = 2 * depth + 4; /* each read with an acknowledgement behind it */
	free(qp->responses);
	qp->responses = nic_alloc(qp->response_size, sizeof(*qp->responses));
	qp->atomic_size = depth > 0 ? depth : 1;
	qp->atomic_next = 0;
	free(qp->atomics);
	qp->atomics = nic_alloc(qp->atomic_size, sizeof(*qp->atomics));
}

/* --- refusing --- */

static void out_of_order(struct fake_qp *qp)
{
	if (!qp->has_nak) {
		qp->has_nak = true;
		qp->device->counters.sequence_naks++;
		send_nak(qp, NAK_SEQUENCE);
	}
}

static void not_ready(struct fake_qp *qp)
{
	qp->has_nak = true;
	qp->device->counters.rnr_naks++;
	send_nak(qp, NAK_RNR);
}

/* Ends the connection. `recv_status`: what the receive at the head completes with, if it is to
 * blame. */
static void refuse(struct fake_qp *qp, enum nak_kind nak, enum ibv_wc_status recv_status)
{
	struct ibv_async_event event = { .element.qp = &qp->ib };

	send_nak(qp, nak);
	if (recv_status != IBV_WC_SUCCESS) {
		struct ibv_wc wc = { .status = recv_status };
		qp_complete_recv(qp, &wc, false);
	} else {
		event.event_type = nak == NAK_REMOTE_ACCESS ? IBV_EVENT_QP_ACCESS_ERR
							    : IBV_EVENT_QP_REQ_ERR;
		async_raise(qp->object.context, &event);
	}
	qp_to_error(qp);
	wire_kick(qp);
}

/* --- sends and writes --- */

/* False: refused, or not ready. */
static bool may_send(struct fake_qp *qp, const struct send_wqe *wqe)
{
	if (!qp_has_recv(qp)) {
		not_ready(qp);
		return false;
	}
	if (qp_recv_length(qp) < wqe->length || qp->device->has_defect[FABRIC_SHORT_RECEIVES]) {
		refuse(qp, NAK_INVALID_REQUEST, IBV_WC_LOC_LEN_ERR);
		return false;
	}
	struct pieces pieces = qp_recv_pieces(qp);
	if (wqe->length > 0 && !mr_check_sges(qp->device, qp->ib.pd, pieces.sges, pieces.count,
					      IBV_ACCESS_LOCAL_WRITE)) {
		refuse(qp, NAK_REMOTE_OPERATION, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	return true;
}

/* The rights of a one-sided operation: of the queue pair, then of the region. Zero bytes touch no
 * region. */
static bool may_touch(struct fake_qp *qp, const struct send_wqe *wqe, unsigned access)
{
	if ((qp->attr.qp_access_flags & access) == 0) {
		refuse(qp, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
		return false;
	}
	if (wqe->length > 0 && mr_check(qp->device, qp->ib.pd, wqe->rkey, wqe->remote_addr,
					wqe->length, access) == NULL) {
		refuse(qp, NAK_REMOTE_ACCESS, IBV_WC_SUCCESS);
		return false;
	}
	return true;
}

static void receive_message(struct fake_qp *qp, const struct send_wqe *wqe, uint32_t src_qp)
{
	struct ibv_wc wc = { .byte_len = wqe->length, .src_qp = src_qp, .opcode = IBV_WC_RECV };

	if (!opcode_is_send(wqe->opcode) && !opcode_has_imm(wqe->opcode)) {
		return;
	}
	if (!opcode_is_send(wqe->opcode)) {
		wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	}
	if (opcode_has_imm(wqe->opcode)) {
		wc.imm_data = wqe->imm;
		wc.wc_flags = IBV_WC_WITH_IMM;
	}
	qp_complete_recv(qp, &wc, (wqe->flags & IBV_SEND_SOLICITED) != 0);
}

static void copy_in(struct fake_qp *qp, const struct fake_qp *src, uint64_t position,
		    uint32_t first, uint32_t count)
{
	const struct send_wqe *wqe = requester_wqe(src, position);
	uint64_t from = (uint64_t)first * qp->mtu_bytes;
	uint64_t to = from + (uint64_t)count * qp->mtu_bytes;
	struct ibv_sge remote = { .addr = wqe->remote_addr, .length = wqe->length };
	struct ibv_sge scratch;

	to = to > wqe->length ? wqe->length : to;
	if (to > from) {
		nic_touch(qp->device);
		copy_pieces(opcode_is_send(wqe->opcode) ? qp_recv_pieces(qp)
							: (struct pieces){ &remote, 1 },
			    from, requester_pieces(src, position, &scratch), from, to - from);
	}
}

/* Where payload that came to this end lies; of one piece. */
static uint8_t *place_of(struct fake_qp *qp, const struct send_wqe *wqe)
{
	return (uint8_t *)(uintptr_t)(opcode_is_send(wqe->opcode) ? qp_recv_pieces(qp).sges[0].addr
								  : wqe->remote_addr);
}

/* The one that was kept comes behind this one, or changes places with it. */
static void end_swap(struct fake_qp *qp, const struct send_wqe *wqe, uint32_t src_qp)
{
	struct held held = qp->device->swapped;
	struct send_wqe kept = *wqe;

	qp->device->swapped = (struct held){ 0 };
	if (wqe->opcode == IBV_WR_RDMA_WRITE) {
		memcpy((void *)(uintptr_t)held.addr, place_of(qp, wqe), wqe->length);
		memcpy(place_of(qp, wqe), held.data, wqe->length);
	} else {
		receive_message(qp, wqe, src_qp);
		kept.imm = (uint32_t)held.value;
		if (!qp_has_recv(qp)) {
			nic_die("no receive for a message that comes late");
		}
		if (opcode_is_send(wqe->opcode)) {
			memcpy(place_of(qp, wqe), held.data, held.bytes);
		}
		receive_message(qp, &kept, src_qp);
	}
	free(held.data);
}

static void begin_swap(struct fake_qp *qp, const struct send_wqe *wqe, uint64_t position,
		       struct fake_qp *src)
{
	struct held *held = &qp->device->swapped;
	struct ibv_sge scratch, data;

	*held = (struct held){ .addr = wqe->remote_addr,
			       .value = wqe->imm,
			       .bytes = wqe->length,
			       .qpn = qp->ib.qp_num,
			       .is_waiting = true };
	held->data = nic_alloc(1, wqe->length);
	data = (struct ibv_sge){ .addr = (uintptr_t)held->data, .length = wqe->length };
	copy_pieces((struct pieces){ &data, 1 }, 0, requester_pieces(src, position, &scratch), 0,
		    wqe->length);
	if (wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
		copy_in(qp, src, position, 0, wqe->packets);
	}
}

/* A message that came whole: a device may lie about it. */
static void take_whole(struct fake_qp *qp, struct fake_qp *src, const struct flight *flight)
{
	const struct send_wqe *wqe = requester_wqe(src, flight->position);
	enum fabric_lie_kind lie = lie_next(qp->device, wqe->length);
	bool is_message = opcode_is_send(wqe->opcode) || opcode_has_imm(wqe->opcode);

	if (lie == FABRIC_LIE_SWAPS && !qp->device->swapped.is_waiting) {
		begin_swap(qp, wqe, flight->position, src);
		return;
	}
	if (lie == FABRIC_LIE_DROPS) {
		return;
	}
	copy_in(qp, src, flight->position, 0, wqe->packets);
	if (lie == FABRIC_LIE_CORRUPTS) {
		lie_corrupt(place_of(qp, wqe), wqe->length);
	}
	if (wqe->length > 0 && qp->device->swapped.is_waiting &&
	    qp->device->swapped.qpn == qp->ib.qp_num) {
		end_swap(qp, wqe, flight->from_qpn);
		return;
	}
	if (!is_message) {
		lie_replay(qp->device, wqe->remote_addr, wqe->length);
	}
	if (lie == FABRIC_LIE_REPEATS && !is_message) {
		lie_repeat(qp->device, wqe->remote_addr, wqe->length);
	}
	receive_message(qp, wqe, flight->from_qpn);
	if (lie == FABRIC_LIE_REPEATS && is_message && qp_has_recv(qp)) {
		copy_in(qp, src, flight->position, 0, wqe->packets);
		receive_message(qp, wqe, flight->from_qpn);
	}
}

/* Packets [first, first + count) of a message, the next ones expected. */
static void take_packets(struct fake_qp *qp, struct fake_qp *src, const struct flight *flight,
			 uint32_t first, uint32_t count)
{
	const struct send_wqe *wqe = requester_wqe(src, flight->position);
	bool is_last = first + count == wqe->packets;
	bool lacks_recv = is_last && wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM && !qp_has_recv(qp);

	if (opcode_is_send(wqe->opcode) ? !may_send(qp, wqe)
					: !may_touch(qp, wqe, IBV_ACCESS_REMOTE_WRITE)) {
		return;
	}
	enum ibv_wc_status status = requester_check(src, flight->position);
	if (status != IBV_WC_SUCCESS) {
		requester_spoil(src, flight->position, status);
		return;
	}
	/* the last packet needs a receive: all before it are taken */
	count -= lacks_recv;
	qp->expected_psn = psn_add(qp->expected_psn, count);
	if (first == 0 && is_last && !lacks_recv) {
		take_whole(qp, src, flight);
	} else {
		copy_in(qp, src, flight->position, first, count);
	}
	if (first > 0 && is_last && !lacks_recv) {
		receive_message(qp, wqe, flight->from_qpn);
	}
	if (count > 0) {
		send_ack(qp);
	}
	if (lacks_recv) {
		not_ready(qp);
	} else if (flight->has_gap) {
		out_of_order(qp);
	}
}

/* --- reads and atomics --- */

static void serve_read(struct fake_qp *qp, const struct send_wqe *wqe, const struct flight *flight)
{
	if (reads_owed(qp) >= qp->attr.max_dest_rd_atomic) {
		refuse(qp, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
		return;
	}
	if (!may_touch(qp, wqe, IBV_ACCESS_REMOTE_READ)) {
		return;
	}
	if (flight->psn == qp->expected_psn) {
		qp->expected_psn = psn_add(qp->expected_psn, flight->count);
	}
	owe(qp, &(struct response){ .kind = RESPONSE_READ,
				    .psn = flight->psn,
				    .packets = flight->count,
				    .first = flight->first,
				    .addr = wqe->remote_addr,
				    .key = wqe->rkey,
				    .length = wqe->length });
}

static uint64_t do_atomic(const struct send_wqe *wqe)
{
	uint64_t *target = (uint64_t *)(uintptr_t)wqe->remote_addr;
	uint64_t before = wqe->compare_add;

	if (wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		return __atomic_fetch_add(target, wqe->compare_add, __ATOMIC_SEQ_CST);
	}
	__atomic_compare_exchange_n(target, &before, wqe->swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return before;
}

static void serve_atomic(struct fake_qp *qp, const struct send_wqe *wqe,
			 const struct flight *flight)
{
	if (reads_owed(qp) >= qp->attr.max_dest_rd_atomic || wqe->remote_addr % 8 != 0) {
		refuse(qp, NAK_INVALID_REQUEST, IBV_WC_SUCCESS);
		return;
	}
	if (!may_touch(qp, wqe, IBV_ACCESS_REMOTE_ATOMIC)) {
		return;
	}
	struct atomic_memory *memory = &qp->atomics[qp->atomic_next++ % qp->atomic_size];
	nic_touch(qp->device);
	*memory = (struct atomic_memory){ flight->psn, true, do_atomic(wqe) };
	qp->expected_psn = psn_add(qp->expected_psn, 1);
	owe(qp, &(struct response){
			.kind = RESPONSE_ATOMIC, .psn = flight->psn, .value = memory->value });
}

/* --- again --- */

/* The requester went back: answers from there on are no longer asked for. */
static void forget_owed(struct fake_qp *qp, uint32_t psn)
{
	while (qp->response_count > 0 && psn_after(last_owed(qp)->psn, psn) >= 0) {
		qp->response_count--;
	}
	/* a read that began before is cut short */
	struct response *last = last_owed(qp);
	if (last != NULL && last->kind == RESPONSE_READ &&
	    psn_after(psn, last->psn) < (int32_t)last->packets) {
		last->packets = (uint32_t)psn_after(psn, last->psn);
		if (last->sent >= last->packets) {
			qp->response_count--;
		}
	}
}

static void repeat(struct fake_qp *qp, const struct send_wqe *wqe, const struct flight *flight)
{
	qp->device->counters.duplicates++;
	if (!opcode_is_read(wqe->opcode)) {
		send_ack(qp);
		return;
	}
	forget_owed(qp, flight->psn);
	if (wqe->opcode == IBV_WR_RDMA_READ) {
		serve_read(qp, wqe, flight);
		return;
	}
	for (uint32_t i = 0; i < qp->atomic_size; i++) {
		if (qp->atomics[i].is_valid && qp->atomics[i].psn == flight->psn) {
			owe(qp, &(struct response){ .kind = RESPONSE_ATOMIC,
						    .psn = flight->psn,
						    .value = qp->atomics[i].value });
			return;
		}
	}
}

/* --- arriving --- */

static struct fake_qp *receiver(const struct flight *flight)
{
	struct fake_qp *qp = qp_find(flight->to, flight->to_qpn);

	if (qp == NULL || qp->ib.qp_type != IBV_QPT_RC || qp->peer != flight->from ||
	    qp->attr.dest_qp_num != flight->from_qpn ||
	    (qp->ib.state != IBV_QPS_RTR && qp->ib.state != IBV_QPS_RTS)) {
		flight->to->counters.silent_drops++;
		return NULL;
	}
	return way_takes(qp, flight->pkey) ? qp : NULL;
}

/* Who sent it, if what it is about still waits there: data is fetched on arrival. */
static struct fake_qp *sender(const struct flight *flight)
{
	struct fake_qp *qp = qp_find(flight->from, flight->from_qpn);

	if (qp == NULL || qp->epoch != flight->from_epoch || qp->ib.state != IBV_QPS_RTS ||
	    flight->position < qp->sq_head || flight->position >= qp->sq_fresh) {
		return NULL;
	}
	return qp;
}

void responder_request(struct fabric *fabric, struct event *event)
{
	const struct flight *flight = &event->flight;
	struct fake_qp *qp = wire_arrived(flight) ? receiver(flight) : NULL;
	struct fake_qp *src = qp != NULL ? sender(flight) : NULL;

	(void)fabric;
	if (src == NULL) {
		return;
	}
	const struct send_wqe *wqe = requester_wqe(src, flight->position);
	int32_t ahead = psn_after(flight->psn, qp->expected_psn);
	if (ahead > 0 || (ahead == 0 && flight->count == 0)) {
		out_of_order(qp);
		return;
	}
	uint32_t old = (uint32_t)-ahead;
	if (ahead < 0 && (old >= flight->count || opcode_is_read(wqe->opcode))) {
		repeat(qp, wqe, flight);
		return;
	}
	qp->has_nak = false;
	if (!opcode_is_read(wqe->opcode)) {
		take_packets(qp, src, flight, flight->first + old, flight->count - old);
	} else if (wqe->opcode == IBV_WR_RDMA_READ) {
		serve_read(qp, wqe, flight);
	} else {
		serve_atomic(qp, wqe, flight);
	}
}
