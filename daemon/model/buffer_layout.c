// SPDX-License-Identifier: MIT
#include "model/buffer_layout.h"

#define PAGE_BYTES 4096

static uint64_t round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

void buffer_layout_of(const struct workload *workload, struct buffer_layout *ret)
{
	const struct workload_settings *settings = &workload->workload;
	uint64_t largest_bytes = operation_largest_bytes(settings->ops, settings->op_count);
	bool has_atomics = operation_any(settings->ops, settings->op_count, OPERATION_IS_ATOMIC);

	ret->header_bytes = workload->qp.qp_type == QP_TYPE_UD ? BUFFER_LAYOUT_GRH_BYTES : 0;
	ret->half_bytes = round_up(ret->header_bytes + (largest_bytes > 0 ? largest_bytes : 1),
				   BUFFER_LAYOUT_LINE_BYTES);
	ret->atomic_offset_bytes = 2 * ret->half_bytes;
	ret->stride_bytes = ret->atomic_offset_bytes + (has_atomics ? BUFFER_LAYOUT_LINE_BYTES : 0);
	ret->total_bytes = round_up(ret->stride_bytes * workload->qp.num_qps, PAGE_BYTES);
}
