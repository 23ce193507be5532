// SPDX-License-Identifier: MIT
/* What the requester makes of acknowledgements, negative ones, read responses and silence. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/way.h"

/* The IBTA table of RNR timers in units of 10 us, by code. */
static const uint32_t rnr_timers[32] = { 65536, 1,    2,    3,	   4,	  6,	 8,	12,
					 16,	24,   32,   48,	   64,	  96,	 128,	192,
					 256,	384,  512,  768,   1024,  1536,	 2048,	3072,
					 4096,	6144, 8192, 12288, 16384, 24576, 32768, 49152 };
#define ANSWER_RNR_UNIT_NS 10000
#define ANSWER_RNR_FOREVER 7

/* The pair this is for, if it still speaks with the one it is from. */
static struct fake_qp *receiver(const struct flight *flight)
{
	if (!wire_arrived(flight)) {
		return NULL;
	}
	struct fake_qp *qp = qp_find(flight->to, flight->to_qpn);
	if (qp == NULL || qp->ib.state != IBV_QPS_RTS || qp->peer != flight->from ||
	    qp->attr.dest_qp_num != flight->from_qpn) {
		return NULL;
	}
	return way_takes(qp, flight->pkey) ? qp : NULL;
}

static void go_on(struct fake_qp *qp)
{
	uint64_t now_ns = qp->device->fabric->now_ns;

	qp->retries_left = qp->attr.retry_cnt;
	qp->rnr_retries_left = qp->attr.rnr_retry;
	qp->has_rewound = false;
	if (qp->sq_head < qp->sq_fresh) {
		uint64_t sent_ns = requester_wqe(qp, qp->sq_head)->sent_until_ns;
		requester_start_timer(qp, sent_ns > now_ns ? sent_ns : now_ns);
	}
}

/* Back to the packet with this number, or to what it belongs to if that is a read. */
static void rewind_to(struct fake_qp *qp, uint32_t psn)
{
	uint64_t position = qp->sq_head;

	qp->reads_in_flight = 0;
	qp->sent_packets = 0;
	for (; position < qp->sq_fresh; position++) {
		const struct send_wqe *wqe = requester_wqe(qp, position);
		int32_t into = psn_after(psn, wqe->psn);
		if (into < (int32_t)wqe->packets) {
			if (into > 0 && !opcode_is_read(wqe->opcode)) {
				qp->sent_packets = (uint32_t)into;
			}
			break;
		}
		qp->reads_in_flight += opcode_is_read(wqe->opcode);
	}
	qp->sq_next = position;
	requester_start_timer(qp, qp->device->fabric->now_ns);
}

static uint32_t oldest_psn(const struct fake_qp *qp)
{
	const struct send_wqe *wqe = requester_wqe(qp, qp->sq_head);

	return psn_add(wqe->psn, wqe->acked);
}

void requester_retry(struct fake_qp *qp)
{
	if (qp->retries_left == 0) {
		requester_fail(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	qp->retries_left--;
	qp->has_rewound = false;
	rewind_to(qp, oldest_psn(qp));
	wire_kick(qp);
}

/* The answer to a read is missing although later ones arrived. Said once for each rewind. */
static void miss(struct fake_qp *qp)
{
	if (!qp->has_rewound) {
		requester_retry(qp);
		qp->has_rewound = true;
	}
}

/* A local error waited until all before it were done. */
static void fail_stuck(struct fake_qp *qp)
{
	if (qp->is_stuck && qp->sq_head < qp->sq_tail) {
		enum ibv_wc_status status = requester_wqe(qp, qp->sq_head)->status;
		if (status != IBV_WC_SUCCESS) {
			requester_fail(qp, status);
		}
	}
}

/*
 * Everything up to this number is acknowledged. Stops at a read, which only its own answer
 * completes; then *ret_is_missing. False: that number was never sent, or nothing waits.
 */
static bool acknowledge(struct fake_qp *qp, uint32_t psn, bool *ret_is_missing)
{
	bool has_moved = false;

	*ret_is_missing = false;
	if (qp->sq_head == qp->sq_fresh || psn_after(psn, qp->sq_psn) >= 0) {
		return false;
	}
	while (qp->sq_head < qp->sq_fresh) {
		struct send_wqe *wqe = requester_wqe(qp, qp->sq_head);
		int32_t into = psn_after(psn, wqe->psn);
		if (into < 0 || wqe->status != IBV_WC_SUCCESS) {
			break;
		}
		if (opcode_is_read(wqe->opcode)) {
			*ret_is_missing = true;
			break;
		}
		if (into + 1 < (int32_t)wqe->packets) {
			if ((uint32_t)into + 1 > wqe->acked) {
				wqe->acked = (uint32_t)into + 1;
				has_moved = true;
			}
			if (qp->sq_next == qp->sq_head && qp->sent_packets < wqe->acked) {
				qp->sent_packets = wqe->acked;
			}
			break;
		}
		requester_complete(qp, IBV_WC_SUCCESS);
		has_moved = true;
	}
	if (has_moved) {
		go_on(qp);
	}
	return true;
}

void requester_ack(struct fabric *fabric, struct event *event)
{
	struct fake_qp *qp = receiver(&event->flight);
	bool is_missing;

	(void)fabric;
	if (qp == NULL || !acknowledge(qp, event->flight.psn, &is_missing)) {
		return;
	}
	if (is_missing) {
		miss(qp);
	}
	fail_stuck(qp);
	wire_kick(qp);
}

static void rnr_timer(struct fabric *fabric, struct event *event)
{
	struct fake_qp *qp = qp_find(event->flight.from, event->flight.from_qpn);

	if (qp == NULL || qp->epoch != event->flight.from_epoch || !qp->is_rnr_waiting ||
	    qp->device->is_removed) {
		return;
	}
	qp->is_rnr_waiting = false;
	if (qp->sq_head < qp->sq_fresh) {
		requester_start_timer(qp, fabric->now_ns);
	}
	wire_kick(qp);
}

static void not_ready(struct fake_qp *qp, const struct flight *flight)
{
	struct fabric *fabric = qp->device->fabric;

	if (qp->is_rnr_waiting) {
		return;
	}
	if (qp->attr.rnr_retry != ANSWER_RNR_FOREVER) {
		if (qp->rnr_retries_left == 0) {
			requester_fail(qp, IBV_WC_RNR_RETRY_EXC_ERR);
			return;
		}
		qp->rnr_retries_left--;
	}
	rewind_to(qp, flight->psn);
	qp->is_rnr_waiting = true;
	uint64_t wait_ns = (uint64_t)rnr_timers[flight->rnr_timer & 31] * ANSWER_RNR_UNIT_NS;
	struct event *event = nic_event(fabric, fabric->now_ns + wait_ns, rnr_timer);
	event->flight.from = qp->device;
	event->flight.from_qpn = qp->ib.qp_num;
	event->flight.from_epoch = qp->epoch;
}

static enum ibv_wc_status status_of(enum nak_kind nak)
{
	switch (nak) {
	case NAK_INVALID_REQUEST:
		return IBV_WC_REM_INV_REQ_ERR;
	case NAK_REMOTE_ACCESS:
		return IBV_WC_REM_ACCESS_ERR;
	default:
		return IBV_WC_REM_OP_ERR;
	}
}

void requester_nak(struct fabric *fabric, struct event *event)
{
	const struct flight *flight = &event->flight;
	struct fake_qp *qp = receiver(flight);
	bool is_missing;

	(void)fabric;
	if (qp == NULL || !acknowledge(qp, psn_add(flight->psn, NIC_PSN_MASK), &is_missing)) {
		return;
	}
	fail_stuck(qp);
	if (qp->ib.state != IBV_QPS_RTS || qp->sq_head == qp->sq_fresh) {
		return;
	}
	if (is_missing) {
		miss(qp);
		return;
	}
	if (psn_after(flight->psn, oldest_psn(qp)) < 0) {
		return; /* old news */
	}
	if (flight->nak == NAK_RNR) {
		not_ready(qp, flight);
	} else if (flight->nak == NAK_SEQUENCE) {
		requester_retry(qp);
	} else {
		requester_fail(qp, status_of(flight->nak));
	}
}

/* The read or atomic at the head that this answers, or NULL. */
static struct send_wqe *answered(struct fake_qp *qp, const struct flight *flight)
{
	bool is_missing;

	if (!acknowledge(qp, psn_add(flight->psn, NIC_PSN_MASK), &is_missing) ||
	    qp->sq_head == qp->sq_fresh) {
		return NULL;
	}
	struct send_wqe *wqe = requester_wqe(qp, qp->sq_head);
	int32_t into = psn_after(flight->psn, wqe->psn);
	if (into < 0) {
		return NULL;
	}
	if (!opcode_is_read(wqe->opcode) || into > (int32_t)wqe->acked) {
		miss(qp);
		return NULL;
	}
	return wqe->status == IBV_WC_SUCCESS ? wqe : NULL;
}

/* Where what is fetched comes to; of one piece. */
static uint64_t place_of(struct fake_qp *qp)
{
	return requester_pieces(qp, qp->sq_head, NULL).sges[0].addr;
}

/* What comes to a place: it may have been kept for another, changed, or not come at all. */
static void put(struct fake_qp *qp, const uint8_t *data, uint64_t bytes)
{
	struct fabric_device *device = qp->device;
	enum fabric_lie_kind lie = lie_next(device, bytes);
	struct ibv_sge from = { .addr = (uintptr_t)data, .length = (uint32_t)bytes };
	uint64_t place = place_of(qp);

	if (lie == FABRIC_LIE_DROPS) {
		return;
	}
	copy_pieces(requester_pieces(qp, qp->sq_head, NULL), 0, (struct pieces){ &from, 1 }, 0,
		    bytes);
	lie_replay(device, place, bytes);
	if (lie == FABRIC_LIE_CORRUPTS) {
		lie_corrupt((uint8_t *)(uintptr_t)place, bytes);
	} else if (lie == FABRIC_LIE_REPEATS) {
		lie_repeat(device, place, bytes);
	}
	if (device->swapped.is_waiting) {
		memcpy((void *)(uintptr_t)place, device->swapped.data, bytes);
		free(device->swapped.data);
		device->swapped = (struct held){ 0 };
	} else if (lie == FABRIC_LIE_SWAPS) {
		device->swapped = (struct held){ .is_waiting = true, .bytes = (uint32_t)bytes };
		device->swapped.data = nic_alloc(1, bytes);
		memcpy(device->swapped.data, data, bytes);
	}
}

/* Who swaps puts here what the next one is to get. */
static bool swaps_next(const struct fake_qp *qp)
{
	const struct fabric_lie *lie = &qp->device->lie;
	uint32_t every = lie->every > 0 ? lie->every : 1;

	return lie->kind == FABRIC_LIE_SWAPS && lie->count > 0 && !qp->device->swapped.is_waiting &&
	       qp->device->lie_seen >= lie->skip && (qp->device->lie_seen - lie->skip) % every == 0;
}

/* Copies packets [acked, acked + count) of the read at the head. False: the pair failed, or the
 * source is gone. */
static bool take_read(struct fake_qp *qp, struct send_wqe *wqe, const struct flight *flight,
		      uint32_t count)
{
	uint64_t from = (uint64_t)wqe->acked * qp->mtu_bytes;
	uint64_t to = from + (uint64_t)count * qp->mtu_bytes;
	struct ibv_sge remote = { .addr = flight->addr, .length = wqe->length };

	to = to > wqe->length ? wqe->length : to;
	if (to == from) {
		return true;
	}
	if (mr_check(flight->from, NULL, flight->key, flight->addr, wqe->length, 0) == NULL) {
		return false;
	}
	enum ibv_wc_status status = requester_check(qp, qp->sq_head);
	if (status != IBV_WC_SUCCESS) {
		requester_fail(qp, status);
		return false;
	}
	nic_touch(qp->device);
	if (wqe->acked == 0 && count == wqe->packets) {
		const uint8_t *data = (const uint8_t *)(uintptr_t)remote.addr;
		bool swaps = swaps_next(qp) && qp->sq_head + 1 < qp->sq_fresh;

		put(qp, data, to);
		if (swaps) {
			memcpy((void *)(uintptr_t)place_of(qp),
			       (const void *)(uintptr_t)requester_wqe(qp, qp->sq_head + 1)
				       ->remote_addr,
			       to);
		}
		return true;
	}
	copy_pieces(requester_pieces(qp, qp->sq_head, NULL), from, (struct pieces){ &remote, 1 },
		    from, to - from);
	return true;
}

void requester_response(struct fabric *fabric, struct event *event)
{
	const struct flight *flight = &event->flight;
	struct fake_qp *qp = receiver(flight);
	struct send_wqe *wqe = qp != NULL ? answered(qp, flight) : NULL;

	(void)fabric;
	if (wqe == NULL) {
		return;
	}
	uint32_t end = (uint32_t)psn_after(flight->psn, wqe->psn) + flight->count;
	if (end > wqe->acked) {
		uint32_t count = end - wqe->acked;
		if (!take_read(qp, wqe, flight, count)) {
			return;
		}
		wqe->acked += count;
		if (wqe->acked == wqe->packets) {
			requester_complete(qp, IBV_WC_SUCCESS);
		}
		go_on(qp);
	}
	if (flight->has_gap) {
		miss(qp);
	}
	fail_stuck(qp);
	wire_kick(qp);
}

void requester_atomic(struct fabric *fabric, struct event *event)
{
	const struct flight *flight = &event->flight;
	struct fake_qp *qp = receiver(flight);
	struct send_wqe *wqe = qp != NULL ? answered(qp, flight) : NULL;

	(void)fabric;
	if (wqe == NULL || flight->psn != wqe->psn) {
		return;
	}
	enum ibv_wc_status status = requester_check(qp, qp->sq_head);
	if (status != IBV_WC_SUCCESS) {
		requester_fail(qp, status);
		return;
	}
	bool swaps = swaps_next(qp);
	put(qp, (const uint8_t *)&flight->value, sizeof(flight->value));
	if (swaps) {
		/* What the next one gets, if it is the next to change that memory. */
		uint64_t next = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP
					? wqe->swap
					: flight->value + wqe->compare_add;
		memcpy((void *)(uintptr_t)place_of(qp), &next, sizeof(next));
	}
	requester_complete(qp, IBV_WC_SUCCESS);
	go_on(qp);
	fail_stuck(qp);
	wire_kick(qp);
}
