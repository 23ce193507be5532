// SPDX-License-Identifier: MIT
#include "model/buffer_layout.h"

#include "model/workload_queue.h"

#define PAGE_BYTES 4096
#define WRITE_SLOTS_LEAST 8

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

/*
 * A place of a read's own is used again `depth` reads later, and its neighbours come one earlier
 * and one later: in all of these cases another payload is due there.
 */
static uint64_t fetched_slots(uint64_t depth)
{
	uint64_t slots = 4;

	while (depth % slots == 0 ||
	       (depth > 1 && (depth % slots == 1 || depth % slots == slots - 1))) {
		slots++;
	}
	return slots;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Halves of rows of slots. */
static void lay_out_verified(const struct workload *workload, struct buffer_layout *ret)
{
	const struct workload_settings *settings = &workload->workload;
	bool has_sends = operation_has(settings->ops, settings->op_count, OPERATION_SEND) ||
			 operation_has(settings->ops, settings->op_count, OPERATION_SEND_WITH_IMM);
	bool has_writes = operation_any(settings->ops, settings->op_count, OPERATION_PLACES);
	bool has_reads = operation_any(settings->ops, settings->op_count, OPERATION_READS);
	uint64_t first, second;

	ret->source_slots = workload_queue_depth_most(workload);
	ret->fetched_slots = has_reads ? fetched_slots(ret->source_slots) : 0;
	ret->receive_slots = has_sends ? workload->qp.max_recv_wr : 1;
	ret->write_slots = has_writes ? larger(2 * ret->source_slots, WRITE_SLOTS_LEAST) : 0;
	first = larger(ret->source_slots, ret->fetched_slots);
	second = larger(ret->source_slots, ret->receive_slots + ret->write_slots);
	ret->half_bytes = first * ret->slot_bytes;
	ret->write_offset_bytes = ret->half_bytes + ret->receive_slots * ret->slot_bytes;
	ret->atomic_offset_bytes = ret->half_bytes + second * ret->slot_bytes;
}

void buffer_layout_of(const struct workload *workload, struct buffer_layout *ret)
{
	const struct workload_settings *settings = &workload->workload;
	uint64_t largest_bytes = operation_largest_bytes(settings->ops, settings->op_count);
	bool has_atomics = operation_any(settings->ops, settings->op_count, OPERATION_IS_ATOMIC);

	*ret = (struct buffer_layout){
		.spread_slots = 1, .source_slots = 1, .receive_slots = 1, .write_slots = 1
	};
	ret->header_bytes = workload->qp.qp_type == QP_TYPE_UD ? BUFFER_LAYOUT_GRH_BYTES : 0;
	ret->slot_bytes = round_up(ret->header_bytes + (largest_bytes > 0 ? largest_bytes : 1),
				   BUFFER_LAYOUT_LINE_BYTES);
	if (workload_is_verified(workload)) {
		lay_out_verified(workload, ret);
	} else {
		/* 0 of a workload that went through no table. */
		ret->spread_slots = larger(workload->memory.buffers, 1);
		ret->receive_slots = ret->spread_slots;
		ret->half_bytes = ret->spread_slots * ret->slot_bytes;
		ret->write_offset_bytes = ret->half_bytes;
		ret->atomic_offset_bytes = 2 * ret->half_bytes;
	}
	ret->acknowledged_offset_bytes =
		ret->atomic_offset_bytes + (has_atomics ? BUFFER_LAYOUT_LINE_BYTES : 0);
	ret->stride_bytes = ret->acknowledged_offset_bytes +
			    (workload_is_verified(workload) ? BUFFER_LAYOUT_LINE_BYTES : 0);
	ret->total_bytes = round_up(ret->stride_bytes * workload->qp.num_qps, PAGE_BYTES);
}
