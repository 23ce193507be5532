// SPDX-License-Identifier: MIT
#include "engine/stamp.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/fault.h"
#include "engine/payload.h"
#include "engine/sequence.h"
#include "model/workload_queue.h"
#include "util/memory.h"

#define ABSENT_VALUE UINT64_MAX /* stands where an atomic has brought back nothing */
#define ASK_AGAIN_NS 2000000ull /* where the answer may be lost */
#define ASK_NS 100000000ull

struct stamp {
	struct flow *flow;
	const struct chain *chain;
	struct stamp_qp *qps;
	struct sequence *values; /* by queue pair: those of its atomics */
	uint32_t *sums; /* of reads: by queue pair, payload and class */
	struct verification counts;
	int method;
	uint64_t sample;
	uint64_t marker_interval;
	uint64_t ask_ticks;
	bool has_fetches;
	bool has_immediate;
	bool has_writes;
};

static struct payload fetched(const struct stamp *stamp, size_t qp_index, uint64_t position,
			      uint64_t size_bytes)
{
	return (struct payload){
		.method = stamp->method,
		.qp_index = qp_index,
		.number = position % stamp->flow->resources->layout.fetched_slots,
		.size_bytes = size_bytes,
	};
}

static uint32_t *sum_of(const struct stamp *stamp, size_t qp_index, uint64_t number,
			size_t class_index)
{
	const struct flow *flow = stamp->flow;

	return &stamp->sums[(qp_index * flow->resources->layout.fetched_slots + number) *
				    flow->class_count +
			    class_index];
}

/* As the other end lays it out: in a place of our own that is not in use yet. */
static int prepare_sums(struct stamp *stamp, struct error *err)
{
	const struct resources *resources = stamp->flow->resources;
	const struct buffer_layout *layout = &resources->layout;
	size_t count = resources->qp_count * layout->fetched_slots * stamp->flow->class_count;
	struct payload payload;

	if (stamp->method != VERIFY_CRC32C || count == 0) {
		return 0;
	}
	stamp->sums = memory_try(count, sizeof(*stamp->sums));
	if (!stamp->sums) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE, "no memory for %zu checksums",
				 count);
	}
	for (size_t i = 0; i < resources->qp_count; i++) {
		for (uint64_t k = 0; k < layout->fetched_slots; k++) {
			payload = fetched(stamp, i, k, layout->slot_bytes);
			payload_lay_out(&payload, resources->buffer);
			for (size_t c = 0; c < stamp->flow->class_count; c++) {
				if (stamp->flow->classes[c].kind != OPERATION_READ) {
					continue;
				}
				payload.size_bytes = stamp->flow->classes[c].size_bytes;
				*sum_of(stamp, i, k, c) = payload_sum(&payload, resources->buffer);
			}
		}
	}
	return 0;
}

int stamp_new(struct stamp **ret, struct flow *flow, const struct chain *chain, struct error *err)
{
	const struct workload *workload = &flow->assignment->workload;
	const struct workload_settings *settings = &workload->workload;
	struct stamp *stamp = memory_new(sizeof(*stamp));

	*ret = stamp;
	stamp->flow = flow;
	stamp->chain = chain;
	stamp->method = settings->verify.method;
	stamp->sample = settings->verify.sample;
	stamp->has_fetches = operation_any(settings->ops, settings->op_count, OPERATION_FETCHES);
	stamp->has_writes = operation_any(settings->ops, settings->op_count, OPERATION_PLACES);
	stamp->has_immediate =
		operation_has(settings->ops, settings->op_count, OPERATION_WRITE_WITH_IMM);
	stamp->marker_interval = flow->resources->layout.write_slots / 4;
	stamp->ask_ticks = clock_ns_to_ticks(&flow->window.scale,
					     workload_is_lossy(workload) ? ASK_AGAIN_NS : ASK_NS);
	stamp->qps = memory_new_array(flow->resources->qp_count, sizeof(*stamp->qps));
	stamp->values = memory_new_array(flow->resources->qp_count, sizeof(*stamp->values));
	return prepare_sums(stamp, err);
}

void stamp_free(struct stamp *stamp)
{
	if (stamp) {
		free(stamp->qps);
		free(stamp->values);
		free(stamp->sums);
		free(stamp);
	}
}

void stamp_begin(struct stamp *stamp)
{
	for (size_t i = 0; i < stamp->flow->resources->qp_count; i++) {
		stamp->qps[i].checked = 0;
	}
}

/* --- before a request is posted --- */

static uint64_t remote_of(const struct stamp *stamp, size_t qp_index, uint64_t offset_bytes,
			  uint64_t slot)
{
	const struct buffer_layout *layout = &stamp->flow->resources->layout;

	return stamp->flow->remote->buffer_address + qp_index * layout->stride_bytes +
	       offset_bytes + slot * layout->slot_bytes;
}

static uint8_t *local_of(const struct stamp *stamp, size_t qp_index, uint64_t position,
			 bool is_fetched)
{
	const struct resources *resources = stamp->flow->resources;
	const struct buffer_layout *layout = &resources->layout;

	return resources->buffer + qp_index * layout->stride_bytes +
	       (is_fetched ? layout->half_bytes : 0) +
	       position % layout->source_slots * layout->slot_bytes;
}

/* All of its pieces, which lie side by side; of a message of no bytes the place alone. */
static void move_to(struct ibv_send_wr *wr, const uint8_t *place)
{
	uint64_t by = (uintptr_t)place - wr->sg_list->addr;

	wr->sg_list->addr += by;
	for (int i = 1; i < wr->num_sge; i++) {
		wr->sg_list[i].addr += by;
	}
}

static void fill_payload(const struct stamp *stamp, size_t qp_index, uint64_t number,
			 uint64_t size_bytes, struct ibv_send_wr *wr)
{
	const struct payload payload = { .method = stamp->method,
					 .qp_index = qp_index,
					 .number = number,
					 .size_bytes = size_bytes,
					 .is_whole = number % stamp->sample == 0 };

	payload_write(&payload, (void *)(uintptr_t)wr->sg_list->addr);
}

static void fill_atomic(struct stamp *stamp, size_t qp_index, struct ibv_send_wr *wr)
{
	static const uint64_t absent = ABSENT_VALUE;
	uint64_t value = stamp->qps[qp_index].atomics++;

	memcpy((void *)(uintptr_t)wr->sg_list->addr, &absent, sizeof(absent));
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr->wr.atomic.compare_add = value;
		wr->wr.atomic.swap = value + 1;
	}
}

static void fill_one(struct stamp *stamp, size_t qp_index, uint64_t position,
		     struct ibv_send_wr *wr)
{
	const struct buffer_layout *layout = &stamp->flow->resources->layout;
	uint32_t class_index = chain_class(stamp->chain, qp_index, position);
	int kind = stamp->flow->classes[class_index].kind;
	uint64_t size_bytes = stamp->flow->classes[class_index].size_bytes;
	bool is_fetched = operation_traits(kind) & OPERATION_FETCHES;
	struct stamp_qp *qp = &stamp->qps[qp_index];
	uint64_t number;

	move_to(wr, local_of(stamp, qp_index, position, is_fetched));
	switch (kind) {
	case OPERATION_READ:
		wr->wr.rdma.remote_addr =
			remote_of(stamp, qp_index, 0, position % layout->fetched_slots);
		if (qp->reads++ % stamp->sample == 0) {
			memset((void *)(uintptr_t)wr->sg_list->addr, 0, size_bytes);
		}
		break;
	case OPERATION_WRITE:
		number = qp->writes++;
		fill_payload(stamp, qp_index, number, size_bytes, wr);
		wr->wr.rdma.remote_addr = remote_of(stamp, qp_index, layout->write_offset_bytes,
						    number % layout->write_slots);
		break;
	case OPERATION_ATOMIC_CMP_AND_SWP:
	case OPERATION_ATOMIC_FETCH_AND_ADD:
		fill_atomic(stamp, qp_index, wr);
		break;
	default:
		number = qp->messages++;
		stamp->counts.sent++;
		fill_payload(stamp, qp_index, number, size_bytes, wr);
		wr->imm_data = htobe32((uint32_t)number);
		if (kind == OPERATION_WRITE_WITH_IMM) {
			wr->wr.rdma.remote_addr = remote_of(stamp, qp_index,
							    layout->write_offset_bytes,
							    number % layout->write_slots);
		}
		break;
	}
}

void stamp_fill(struct stamp *stamp, size_t qp_index, uint64_t position, struct ibv_send_wr *wr)
{
	for (; wr; wr = wr->next) {
		fill_one(stamp, qp_index, position++, wr);
	}
}

/* --- places at the other end --- */

static uint64_t placed(const struct stamp *stamp, const struct stamp_qp *qp)
{
	return stamp->has_immediate ? qp->messages : qp->writes;
}

bool stamp_has_writes(const struct stamp *stamp)
{
	return stamp->has_writes;
}

bool stamp_has_room(const struct stamp *stamp, size_t qp_index, uint64_t count)
{
	const struct stamp_qp *qp = &stamp->qps[qp_index];

	return !stamp->has_writes ||
	       placed(stamp, qp) + count <=
		       qp->acknowledged + stamp->flow->resources->layout.write_slots;
}

bool stamp_is_waiting(const struct stamp *stamp, size_t qp_index)
{
	const struct stamp_qp *qp = &stamp->qps[qp_index];

	return stamp->has_writes && placed(stamp, qp) > qp->acknowledged;
}

bool stamp_is_waiting_any(const struct stamp *stamp)
{
	for (size_t i = 0; i < stamp->flow->resources->qp_count; i++) {
		if (stamp_is_waiting(stamp, i)) {
			return true;
		}
	}
	return false;
}

void stamp_marked(struct stamp *stamp, size_t qp_index)
{
	if (qp_index < stamp->flow->resources->qp_count && stamp->qps[qp_index].markers > 0) {
		stamp->qps[qp_index].markers--;
	}
}

static void mark(struct stamp *stamp, size_t qp_index, uint64_t now_ticks)
{
	struct flow *flow = stamp->flow;
	struct stamp_qp *qp = &stamp->qps[qp_index];
	struct ibv_send_wr wr = { .wr_id = FLOW_WR_MARK | qp_index,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED,
				  .imm_data = htobe32((uint32_t)placed(stamp, qp)) };
	struct ibv_send_wr *bad;
	int number = ibv_post_send(flow->resources->qps[qp_index], &wr, &bad);

	if (number != 0) {
		fault_call(flow, "ibv_post_send", number, qp_index, -1, now_ticks);
		return;
	}
	qp->markers++;
	qp->named = placed(stamp, qp);
	qp->asked_ticks = now_ticks;
}

/* Writes with immediate data name themselves; where they are lost, or a device has dropped one,
 * somebody has to ask. */
static bool wants_marker(const struct stamp *stamp, const struct stamp_qp *qp, bool is_idle,
			 uint64_t now_ticks)
{
	if (stamp->has_immediate) {
		return is_idle && qp->markers == 0 &&
		       now_ticks - qp->asked_ticks >= stamp->ask_ticks;
	}
	if (qp->writes == qp->named || qp->markers == STAMP_MARKERS) {
		return false;
	}
	/* While nothing else goes on, one at a time waits for its answer. */
	return (is_idle && qp->named == qp->acknowledged) ||
	       qp->writes - qp->named >= stamp->marker_interval;
}

bool stamp_turn(struct stamp *stamp, size_t qp_index, bool is_idle, uint64_t now_ticks)
{
	const struct resources *resources = stamp->flow->resources;
	const struct buffer_layout *layout = &resources->layout;
	const uint64_t *line =
		(const uint64_t *)(resources->buffer + qp_index * layout->stride_bytes +
				   layout->acknowledged_offset_bytes);
	struct stamp_qp *qp = &stamp->qps[qp_index];
	uint64_t acknowledged = le64toh(__atomic_load_n(line, __ATOMIC_ACQUIRE));

	/* Nothing that was not posted can have been looked at. */
	if (acknowledged > qp->acknowledged && acknowledged <= placed(stamp, qp)) {
		qp->acknowledged = acknowledged;
		qp->asked_ticks = now_ticks;
		return true;
	}
	if (stamp_is_waiting(stamp, qp_index) && wants_marker(stamp, qp, is_idle, now_ticks)) {
		mark(stamp, qp_index, now_ticks);
	}
	return false;
}

/* --- what came back --- */

static void count_corrupted(struct stamp *stamp, size_t qp_index, int operation,
			    const struct verification_fault *fault)
{
	struct verification_fault *first = &stamp->counts.first;

	stamp->counts.corrupted++;
	if (!first->is_set) {
		*first = *fault;
		first->is_set = true;
		first->operation = operation;
		first->qp_num = stamp->flow->resources->qps[qp_index]->qp_num;
	}
}

/* Of another read: one that is due next to it was exchanged with it, any other came again. */
static bool is_of_another(struct stamp *stamp, size_t qp_index, uint64_t position,
			  const uint8_t *from, uint64_t size_bytes)
{
	uint64_t slots = stamp->flow->resources->layout.fetched_slots;
	uint64_t depth = stamp->flow->resources->layout.source_slots;

	for (uint64_t k = 1; k < slots; k++) {
		struct payload other = fetched(stamp, qp_index, position + k, size_bytes);
		bool is_old = (position + k + depth) % slots == position % slots;

		if (payload_begins(&other, from)) {
			stamp->counts.reordered += !is_old && (k == 1 || k == slots - 1);
			stamp->counts.duplicated += is_old || (k != 1 && k != slots - 1);
			return true;
		}
	}
	return false;
}

static bool is_absent(const uint8_t *from, uint64_t size_bytes)
{
	static const uint8_t nothing[VERIFICATION_READ_BYTES];

	return memcmp(from, nothing, size_bytes < sizeof(nothing) ? size_bytes : sizeof(nothing)) ==
	       0;
}

static void look_at_read(struct stamp *stamp, size_t qp_index, uint64_t position,
			 uint32_t class_index)
{
	uint64_t size_bytes = stamp->flow->classes[class_index].size_bytes;
	const uint8_t *from = local_of(stamp, qp_index, position, true);
	struct payload payload = fetched(stamp, qp_index, position, size_bytes);
	struct verification_fault fault = { 0 };
	uint32_t sum = stamp->sums ? *sum_of(stamp, qp_index, payload.number, class_index) : 0;

	if (payload_is_laid_out(&payload, sum, from, &fault)) {
		stamp->counts.verified++;
	} else if (is_absent(from, size_bytes)) {
		stamp->counts.lost++;
	} else if (!is_of_another(stamp, qp_index, position, from, size_bytes)) {
		fault.number = position;
		count_corrupted(stamp, qp_index, OPERATION_READ, &fault);
	}
}

static void show_value(uint64_t expected, uint64_t found, struct verification_fault *ret)
{
	ret->length = sizeof(found);
	memcpy(ret->expected, &expected, sizeof(expected));
	memcpy(ret->found, &found, sizeof(found));
}

/*
 * Each atomic of a queue pair adds one to its eight bytes, or puts one more there in exchange, in
 * the order in which they were posted: each value comes back once.
 */
static void look_at_atomic(struct stamp *stamp, size_t qp_index, uint64_t position, int kind)
{
	struct stamp_qp *qp = &stamp->qps[qp_index];
	struct sequence *values = &stamp->values[qp_index];
	struct verification_fault fault = { .number = position };
	uint64_t value;

	memcpy(&value, local_of(stamp, qp_index, position, true), sizeof(value));
	if (value == ABSENT_VALUE) {
		stamp->counts.lost++;
		return;
	}
	if (value >= qp->atomics) {
		show_value(values->next, value, &fault);
		count_corrupted(stamp, qp_index, kind, &fault);
		return;
	}
	switch (sequence_take(values, value)) {
	case SEQUENCE_AGAIN:
		stamp->counts.duplicated++;
		break;
	case SEQUENCE_LATE:
		stamp->counts.reordered++;
		break;
	case SEQUENCE_NEXT:
		stamp->counts.verified++;
		break;
	}
}

void stamp_look(struct stamp *stamp, size_t qp_index, uint64_t position)
{
	struct stamp_qp *qp = &stamp->qps[qp_index];

	for (; stamp->has_fetches && qp->checked < position; qp->checked++) {
		uint32_t class_index = chain_class(stamp->chain, qp_index, qp->checked);
		int kind = stamp->flow->classes[class_index].kind;

		if (operation_traits(kind) & OPERATION_IS_ATOMIC) {
			look_at_atomic(stamp, qp_index, qp->checked, kind);
		} else if (kind == OPERATION_READ && qp->reads_done++ % stamp->sample == 0) {
			look_at_read(stamp, qp_index, qp->checked, class_index);
		}
	}
}

/*
 * A value that nobody got: its answer was lost, broken, or written over by one that came again.
 * Where more are missing than that, something was added that nobody asked for: an atomic was done
 * twice.
 */
void stamp_counts(const struct stamp *stamp, struct verification *ret)
{
	uint64_t missing = 0, explained = 0;

	*ret = stamp->counts;
	for (size_t i = 0; i < stamp->flow->resources->qp_count; i++) {
		missing += stamp->values[i].missing;
	}
	explained = stamp->counts.lost + stamp->counts.corrupted + stamp->counts.duplicated;
	ret->duplicated += missing > explained ? missing - explained : 0;
}
