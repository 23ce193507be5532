// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "model/verification.h"
#include "model/workload_check.h"
#include "util/units.h"

#define MARKER_RECEIVES_LEAST 16

/* What is in a message must be told apart from what is in another one. */
static void check_sizes(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;

	for (size_t i = 0; i < settings->op_count; i++) {
		const struct operation *op = &settings->ops[i];
		uint64_t least = operation_traits(op->kind) & OPERATION_FETCHES
					 ? VERIFICATION_READ_BYTES
					 : VERIFICATION_HEAD_BYTES;
		char field[48], is[UNITS_SIZE];

		snprintf(field, sizeof(field), "workload.ops[%zu].size", i);
		for (size_t j = 0; j < op->size_count; j++) {
			if (op->sizes[j].size_bytes < least) {
				workload_check_complain(
					check, field, "workload.verify.method",
					"%s of a %s cannot be verified: number and checksums take %" PRIu64
					" bytes; use a larger size, or leave verify out",
					units_write_size(op->sizes[j].size_bytes, is),
					operation_names[op->kind], least);
				break;
			}
		}
	}
}

static void check_writes(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;

	if (!operation_any(settings->ops, settings->op_count, OPERATION_PLACES)) {
		return;
	}
	if (operation_has(settings->ops, settings->op_count, OPERATION_WRITE) &&
	    operation_has(settings->ops, settings->op_count, OPERATION_WRITE_WITH_IMM)) {
		workload_check_complain(
			check, "workload.ops", "workload.verify.method",
			"write and write_with_imm cannot be verified in one mix: they are named in two ways; use one of "
			"them, or leave verify out");
	}
	if (w->cq.mode == CQ_MODE_EVENT) {
		workload_check_complain(
			check, "cq.mode", "workload.verify.method",
			"that the other end looked at a write is seen in memory, and no completion event tells of it; use "
			"poll, or leave verify out");
	}
	if (w->memory.relaxed_ordering) {
		workload_check_complain(
			check, "memory.relaxed_ordering", "workload.verify.method",
			"a marker may be there before the write that it names, which then looks lost; leave out one of the "
			"two");
	}
	if (w->qp.max_recv_wr < MARKER_RECEIVES_LEAST) {
		workload_check_complain(check, "qp.max_recv_wr", "workload.verify.method",
					"%" PRIu64
					" is below the %d receives that the markers of verified "
					"writes need beside the workload's; raise it",
					w->qp.max_recv_wr, MARKER_RECEIVES_LEAST);
	}
}

void workload_check_verify(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;

	if (!workload_is_verified(check->workload)) {
		if (settings->verify.sample != 1) {
			workload_check_complain(
				check, "workload.verify.sample", "workload.verify.method",
				"%" PRIu64
				" does nothing without a method; write sequence or crc32c, or leave it out",
				settings->verify.sample);
		}
		return;
	}
	if (settings->pattern != PATTERN_STREAM) {
		workload_check_complain(
			check, "workload.verify.method", "workload.pattern",
			"%s does not go with pattern %s: this version verifies streams; leave it out, or use pattern "
			"stream",
			verify_method_names[settings->verify.method],
			workload_pattern_names[settings->pattern]);
		return;
	}
	if (settings->direction == DIRECTION_BOTH) {
		workload_check_complain(
			check, "workload.verify.method", "workload.direction",
			"%s does not go with direction both: this version verifies one way; leave it out, or measure "
			"each way by itself",
			verify_method_names[settings->verify.method]);
		return;
	}
	check_sizes(check);
	check_writes(check);
}
