// SPDX-License-Identifier: MIT
#include "engine/inspect.h"

#include <endian.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "engine/payload.h"
#include "engine/sequence.h"
#include "util/memory.h"

#define ANSWER_POLL 16

struct inspect_qp {
	struct sequence messages;
	struct sequence writes; /* as they are found in their places */
	uint64_t looked; /* writes up to here were looked at: they may be written over */
	uint64_t told; /* the other end has been told */
	uint64_t taken; /* receives */
	bool is_telling; /* that is under way */
};

struct inspect {
	struct flow *flow;
	struct verification counts;
	struct inspect_qp *qps;
	int method;
	uint64_t sample;
	bool has_immediate; /* writes name themselves */
	bool has_writes;
};

struct inspect *inspect_new(struct flow *flow)
{
	const struct workload_settings *settings = &flow->assignment->workload.workload;
	struct inspect *inspect = memory_new(sizeof(*inspect));

	inspect->flow = flow;
	inspect->method = settings->verify.method;
	inspect->sample = settings->verify.sample;
	inspect->has_writes = operation_any(settings->ops, settings->op_count, OPERATION_PLACES);
	inspect->has_immediate =
		operation_has(settings->ops, settings->op_count, OPERATION_WRITE_WITH_IMM);
	inspect->qps = memory_new_array(flow->resources->qp_count, sizeof(*inspect->qps));
	return inspect;
}

void inspect_free(struct inspect *inspect)
{
	if (inspect) {
		free(inspect->qps);
		free(inspect);
	}
}

static uint8_t *part_of(const struct inspect *inspect, size_t qp_index)
{
	const struct resources *resources = inspect->flow->resources;

	return resources->buffer + qp_index * resources->layout.stride_bytes;
}

static struct payload due(const struct inspect *inspect, size_t qp_index, uint64_t number,
			  uint64_t size_bytes)
{
	return (struct payload){ .method = inspect->method,
				 .qp_index = qp_index,
				 .number = number,
				 .size_bytes = size_bytes,
				 .is_whole = number % inspect->sample == 0 };
}

static void count_corrupted(struct inspect *inspect, size_t qp_index, int operation,
			    const struct verification_fault *fault)
{
	struct verification_fault *first = &inspect->counts.first;

	inspect->counts.corrupted++;
	if (!first->is_set) {
		*first = *fault;
		first->is_set = true;
		first->operation = operation;
		first->qp_num = inspect->flow->resources->qps[qp_index]->qp_num;
	}
}

/* Its number came in its turn, or late. */
static void compare(struct inspect *inspect, const struct payload *payload, const void *from,
		    int operation)
{
	struct verification_fault fault = { 0 };

	if (!payload_is(payload, from, &fault)) {
		count_corrupted(inspect, payload->qp_index, operation, &fault);
	} else {
		inspect->counts.verified += payload->is_whole;
	}
}

/* --- places that were written --- */

/* The largest that a write may be: what is in a broken head does not say it. */
static uint64_t likely_bytes(const struct inspect *inspect)
{
	const struct flow *flow = inspect->flow;

	for (size_t i = 0; i < flow->class_count; i++) {
		if (operation_traits(flow->classes[i].kind) & OPERATION_PLACES) {
			return flow->classes[i].size_bytes;
		}
	}
	return PAYLOAD_HEAD_BYTES;
}

static bool is_size(const struct inspect *inspect, uint64_t size_bytes)
{
	const struct flow *flow = inspect->flow;

	for (size_t i = 0; i < flow->class_count; i++) {
		if ((operation_traits(flow->classes[i].kind) & OPERATION_PLACES) &&
		    flow->classes[i].size_bytes == size_bytes) {
			return true;
		}
	}
	return false;
}

static void look_at_place(struct inspect *inspect, size_t qp_index, uint64_t number)
{
	const struct buffer_layout *layout = &inspect->flow->resources->layout;
	int operation = inspect->has_immediate ? OPERATION_WRITE_WITH_IMM : OPERATION_WRITE;
	uint8_t *place = part_of(inspect, qp_index) + layout->write_offset_bytes +
			 number % layout->write_slots * layout->slot_bytes;
	struct sequence *writes = &inspect->qps[qp_index].writes;
	struct verification_fault fault = { 0 };
	struct payload found, payload;

	switch (payload_read_head(place, &found)) {
	case PAYLOAD_ABSENT:
		inspect->counts.lost++;
		return;
	case PAYLOAD_GOOD:
		if (found.qp_index == qp_index && is_size(inspect, found.size_bytes) &&
		    found.number <= number + layout->write_slots) {
			break;
		}
		__attribute__((fallthrough));
	case PAYLOAD_BROKEN:
		payload = due(inspect, qp_index, number, likely_bytes(inspect));
		payload_tell(&payload, place, &fault);
		count_corrupted(inspect, qp_index, operation, &fault);
		payload_clear(place);
		return;
	}
	if (sequence_take(writes, found.number) == SEQUENCE_AGAIN) {
		inspect->counts.duplicated++;
	} else if (found.number != number) {
		inspect->counts.reordered++;
	} else {
		payload = due(inspect, qp_index, number, found.size_bytes);
		compare(inspect, &payload, place, operation);
	}
	payload_clear(place);
}

/* All before it have been posted before the marker was. */
static void take_marker(struct inspect *inspect, size_t qp_index, uint32_t low)
{
	struct inspect_qp *qp = &inspect->qps[qp_index];
	uint64_t slots = inspect->flow->resources->layout.write_slots;
	int32_t ahead = (int32_t)(low - (uint32_t)qp->looked);
	uint64_t count = qp->looked + (ahead > 0 ? (uint64_t)ahead : 0);

	/* More than there are places: no marker of the other end. */
	if (count - qp->looked > slots) {
		return;
	}
	for (; !inspect->has_immediate && qp->looked < count; qp->looked++) {
		look_at_place(inspect, qp_index, qp->looked);
	}
	qp->looked = count;
	/* Asked again: it did not get the answer. */
	qp->told = UINT64_MAX;
}

/* --- messages --- */

/* False: it has come before. */
static bool take_number(struct inspect *inspect, struct inspect_qp *qp, uint64_t number)
{
	switch (sequence_take(&qp->messages, number)) {
	case SEQUENCE_AGAIN:
		inspect->counts.duplicated++;
		return false;
	case SEQUENCE_LATE:
		inspect->counts.reordered++;
		break;
	case SEQUENCE_NEXT:
		break;
	}
	inspect->counts.received++;
	return true;
}

static void take_write(struct inspect *inspect, size_t qp_index, uint32_t low)
{
	struct inspect_qp *qp = &inspect->qps[qp_index];
	uint64_t number = sequence_widen(&qp->messages, low);

	if (take_number(inspect, qp, number)) {
		look_at_place(inspect, qp_index, number);
	}
}

static void take_send(struct inspect *inspect, size_t qp_index, const struct ibv_wc *wc,
		      uint8_t *from)
{
	struct inspect_qp *qp = &inspect->qps[qp_index];
	uint64_t size_bytes = wc->byte_len - inspect->flow->resources->layout.header_bytes;
	bool has_immediate = wc->wc_flags & IBV_WC_WITH_IMM;
	int operation = has_immediate ? OPERATION_SEND_WITH_IMM : OPERATION_SEND;
	struct verification_fault fault = { 0 };
	struct payload payload;

	if (payload_read_head(from, &payload) != PAYLOAD_GOOD || payload.qp_index != qp_index ||
	    payload.size_bytes != size_bytes || payload.number > qp->messages.next + UINT32_MAX) {
		payload = due(inspect, qp_index, qp->messages.next, size_bytes);
		payload_tell(&payload, from, &fault);
		count_corrupted(inspect, qp_index, operation, &fault);
		inspect->counts.received++; /* whichever it was */
		return;
	}
	payload = due(inspect, qp_index, payload.number, size_bytes);
	if (!take_number(inspect, qp, payload.number)) {
		return;
	}
	if (has_immediate && be32toh(wc->imm_data) != (uint32_t)payload.number) {
		fault.number = payload.number;
		count_corrupted(inspect, qp_index, operation, &fault);
		return;
	}
	compare(inspect, &payload, from, operation);
}

bool inspect_take(struct inspect *inspect, const struct ibv_wc *wc)
{
	const struct resources *resources = inspect->flow->resources;
	const struct buffer_layout *layout = &resources->layout;
	size_t qp_index = wc->wr_id;
	struct inspect_qp *qp = &inspect->qps[qp_index];
	uint64_t slot = qp->taken++ % resources->recv_depth % layout->receive_slots;
	uint8_t *from = part_of(inspect, qp_index) + layout->half_bytes +
			slot * layout->slot_bytes + layout->header_bytes;

	if (resources->ah && wc->src_qp != inspect->flow->remote->qps[qp_index].qp_num) {
		payload_clear(from);
		return false; /* a datagram of somebody else: whoever knows the queue key may send
			       */
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM && !inspect->has_immediate) {
		/* Nobody agreed on that: it has no place to look at. */
		count_corrupted(inspect, qp_index, OPERATION_WRITE_WITH_IMM,
				&(struct verification_fault){ 0 });
	} else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		take_write(inspect, qp_index, be32toh(wc->imm_data));
	} else if (inspect->has_writes && wc->byte_len == 0) {
		take_marker(inspect, qp_index, be32toh(wc->imm_data));
		return false;
	} else {
		take_send(inspect, qp_index, wc, from);
		payload_clear(from);
	}
	if (inspect->has_immediate && qp->messages.next > qp->looked) {
		qp->looked = qp->messages.next;
	}
	return true;
}

/* --- the answer --- */

static void tell(struct inspect *inspect, size_t qp_index, uint64_t now_ticks)
{
	struct flow *flow = inspect->flow;
	struct inspect_qp *qp = &inspect->qps[qp_index];
	uint64_t offset = flow->resources->layout.acknowledged_offset_bytes;
	uint64_t *line = (uint64_t *)(part_of(inspect, qp_index) + offset);
	struct ibv_sge sge = { .addr = (uintptr_t)line,
			       .length = sizeof(*line),
			       .lkey = flow->resources->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = FLOW_WR_MARK | qp_index,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_send_wr *bad;
	int number;

	*line = htole64(qp->looked);
	wr.wr.rdma.rkey = (uint32_t)flow->remote->rkey;
	wr.wr.rdma.remote_addr = flow->remote->buffer_address +
				 qp_index * flow->resources->layout.stride_bytes + offset;
	number = ibv_post_send(flow->resources->qps[qp_index], &wr, &bad);
	if (number != 0) {
		fault_call(flow, "ibv_post_send", number, qp_index, -1, now_ticks);
		return;
	}
	qp->told = qp->looked;
	qp->is_telling = true;
}

void inspect_answer(struct inspect *inspect, uint64_t now_ticks)
{
	struct flow *flow = inspect->flow;
	struct ibv_wc wcs[ANSWER_POLL];
	int count;

	if (!inspect->has_writes) {
		return;
	}
	count = ibv_poll_cq(flow->resources->send_cq, ANSWER_POLL, wcs);
	if (count < 0) {
		fault_poll(flow, count, now_ticks);
	}
	for (int i = 0; i < count; i++) {
		uint64_t qp_index = wcs[i].wr_id & ~FLOW_WR_MARK;

		if (wcs[i].status != IBV_WC_SUCCESS) {
			fault_completion(flow, &wcs[i], now_ticks);
		} else if (qp_index < flow->resources->qp_count) {
			inspect->qps[qp_index].is_telling = false;
		}
	}
	for (size_t i = 0; i < flow->resources->qp_count && flow->state <= FLOW_CLOSING; i++) {
		struct inspect_qp *qp = &inspect->qps[i];

		if (qp->told != qp->looked && !qp->is_telling) {
			tell(inspect, i, now_ticks);
		}
	}
}

void inspect_counts(const struct inspect *inspect, struct verification *ret)
{
	*ret = inspect->counts;
}

void inspect_lay_out(const struct resources *resources, const struct workload *workload)
{
	const struct buffer_layout *layout = &resources->layout;
	struct payload payload = { .method = workload->workload.verify.method,
				   .size_bytes = layout->slot_bytes };

	for (size_t i = 0; i < resources->qp_count; i++) {
		for (uint64_t k = 0; k < layout->fetched_slots; k++) {
			payload.qp_index = i;
			payload.number = k;
			payload_lay_out(&payload, resources->buffer + i * layout->stride_bytes +
							  k * layout->slot_bytes);
		}
	}
}
