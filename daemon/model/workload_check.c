// SPDX-License-Identifier: MIT
#include "model/workload_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/buffer_layout.h"
#include "util/units.h"

void workload_check_complain(struct workload_check *check, const char *field, const char *other,
			     const char *format, ...)
{
	char sentence[LIMIT_TEXT];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	check->count++;
	if (check->report) {
		check->report(check->arg, field, other, sentence);
	}
}

/* --- what this version does not do --- */

static void check_word(struct workload_check *check, const char *field, const char *const *names,
		       int value, int supported, const char *instead)
{
	if (value >= supported) {
		workload_check_complain(check, field, NULL, "\"%s\" is not in this version; %s",
					names[value], instead);
	}
}

static void check_supported(struct workload_check *check)
{
	const struct workload *w = check->workload;

	check_word(check, "qp.qp_type", qp_type_names, w->qp.qp_type, 3, "RC, UC and UD are");
	check_word(check, "memory.kind", memory_kind_names, w->memory.kind, 2,
		   "host and hugepage are");
	if (w->workload.direction == DIRECTION_BOTH && w->workload.pattern != PATTERN_STREAM &&
	    !workload_is_connecting(w)) {
		workload_check_complain(
			check, "workload.direction", "workload.pattern",
			"both does not go with pattern %s, in which one end waits for the other; leave it "
			"out, or use pattern stream",
			workload_pattern_names[w->workload.pattern]);
	}
}

/* --- operations --- */

static const char *answered_words(const struct workload_check *check)
{
	return check->workload->workload.pattern == PATTERN_PINGPONG ? "a ping-pong"
								     : "request_response";
}

/* What is sent back is of the operation's kind. */
static void check_response(struct workload_check *check, const char *place,
			   const struct operation *op)
{
	const struct workload_settings *settings = &check->workload->workload;
	char field[64], is[UNITS_SIZE];

	if (settings->pattern == PATTERN_REQUEST_RESPONSE &&
	    (operation_traits(op->kind) & OPERATION_FETCHES)) {
		snprintf(field, sizeof(field), "%s.op", place);
		workload_check_complain(
			check, field, "workload.pattern",
			"%s is its own response; use pattern pingpong or stream, or send, write, or one of "
			"them with immediate data",
			operation_names[op->kind]);
	}
	if (settings->pattern != PATTERN_REQUEST_RESPONSE && op->response_bytes > 0) {
		snprintf(field, sizeof(field), "%s.response", place);
		workload_check_complain(
			check, field, "workload.pattern",
			"%s is for pattern request_response; leave it out, or use that",
			units_write_size(op->response_bytes, is));
	}
}

static void check_inline(struct workload_check *check, const char *place,
			 const struct operation *op)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t limit = qp->max_inline_data == SCHEMA_AUTO ? 4096 : qp->max_inline_data;
	char field[64], is[UNITS_SIZE], may[UNITS_SIZE];

	if (op->inline_mode != INLINE_YES) {
		return;
	}
	snprintf(field, sizeof(field), "%s.inline", place);
	if (operation_traits(op->kind) & OPERATION_FETCHES) {
		workload_check_complain(
			check, field, NULL,
			"%s cannot be inlined: its payload comes from the other end; leave inline out",
			operation_names[op->kind]);
		return;
	}
	for (size_t i = 0; i < op->size_count; i++) {
		if (op->sizes[i].size_bytes > limit) {
			workload_check_complain(
				check, field, "qp.max_inline_data",
				"size %s is above qp.max_inline_data %s; raise that, or leave inline out",
				units_write_size(op->sizes[i].size_bytes, is),
				units_write_size(limit, may));
			return;
		}
	}
	if (op->response_bytes > limit) {
		workload_check_complain(
			check, field, "qp.max_inline_data",
			"response %s is above qp.max_inline_data %s; raise that, or leave inline out",
			units_write_size(op->response_bytes, is), units_write_size(limit, may));
	}
}

static bool is_repeated(const struct workload_settings *settings, size_t op_index,
			size_t size_index)
{
	const struct operation *op = &settings->ops[op_index];

	for (size_t i = 0; i <= op_index; i++) {
		const struct operation *other = &settings->ops[i];
		size_t end = i == op_index ? size_index : other->size_count;

		for (size_t j = 0; j < end; j++) {
			if (other->kind == op->kind &&
			    other->sizes[j].size_bytes == op->sizes[size_index].size_bytes) {
				return true;
			}
		}
	}
	return false;
}

static void check_sizes(struct workload_check *check, const char *place, size_t op_index)
{
	const struct workload_settings *settings = &check->workload->workload;
	const struct operation *op = &settings->ops[op_index];
	char field[64], is[UNITS_SIZE], may[UNITS_SIZE];

	snprintf(field, sizeof(field), "%s.size", place);
	for (size_t i = 0; i < op->size_count; i++) {
		uint64_t size_bytes = op->sizes[i].size_bytes;

		units_write_size(size_bytes, is);
		if (size_bytes > LIMIT_BUFFER_BYTES) {
			workload_check_complain(check, field, NULL,
						"%s is above %s; use a smaller size", is,
						units_write_size(LIMIT_BUFFER_BYTES, may));
		}
		if (size_bytes == 0 && op->kind == OPERATION_WRITE &&
		    workload_is_answered(check->workload)) {
			workload_check_complain(
				check, field, "workload.pattern",
				"a write of 0 bytes cannot be seen by the other end of a %s; use 1B or more",
				workload_pattern_names[settings->pattern]);
		}
		if (op->kind == OPERATION_WRITE && workload_is_answered(check->workload) &&
		    check->workload->cq.mode == CQ_MODE_EVENT) {
			snprintf(field, sizeof(field), "%s.op", place);
			workload_check_complain(
				check, field, "cq.mode",
				"%s sees a write in memory, and no completion event tells of it; use write_with_imm "
				"or send, or cq.mode: poll",
				answered_words(check));
			snprintf(field, sizeof(field), "%s.size", place);
		}
		if ((operation_traits(op->kind) & OPERATION_IS_ATOMIC) &&
		    size_bytes != OPERATION_ATOMIC_BYTES) {
			workload_check_complain(check, field, NULL,
						"%s is not the size of an atomic; use %dB", is,
						OPERATION_ATOMIC_BYTES);
		}
		if (is_repeated(settings, op_index, i)) {
			workload_check_complain(
				check, field, NULL,
				"%s of %s is there twice; give one entry the weight of both",
				operation_names[op->kind], is);
		}
	}
}

static void check_operations(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	size_t classes = 0;

	for (size_t i = 0; i < settings->op_count; i++) {
		const struct operation *op = &settings->ops[i];
		char place[40];

		snprintf(place, sizeof(place), "workload.ops[%zu]", i);
		if (op->size_count == 0) {
			workload_check_complain(check, place, NULL,
						"has no size; give it one, such as size: 64KiB");
		}
		check_inline(check, place, op);
		check_response(check, place, op);
		check_sizes(check, place, i);
		classes += op->size_count;
	}
	if (settings->op_count == 0 && !workload_is_connecting(check->workload)) {
		workload_check_complain(
			check, "workload.ops", NULL,
			"is missing or empty; give at least one operation, such as ops: [{ op: write, size: 64B }]");
	}
	if (classes > LIMIT_CLASSES) {
		workload_check_complain(
			check, "workload.ops", NULL,
			"%zu pairs of operation and size are above %d; each keeps statistics of its own, use fewer",
			classes, LIMIT_CLASSES);
	}
}

bool workload_check_has(const struct workload *workload, unsigned traits)
{
	return operation_any(workload->workload.ops, workload->workload.op_count, traits);
}

/* --- queue pairs and memory --- */

static void check_path(struct workload_check *check)
{
	uint64_t mtu = check->workload->qp.path_mtu;

	if (mtu != SCHEMA_AUTO && (mtu & (mtu - 1))) {
		workload_check_complain(
			check, "qp.path_mtu", NULL,
			"%" PRIu64
			" bytes is no path MTU; there are 256B, 512B, 1KiB, 2KiB and 4KiB",
			mtu);
	}
}

static void check_reads(struct workload_check *check)
{
	if (workload_check_has(check->workload, OPERATION_FETCHES) &&
	    check->workload->qp.max_rd_atomic == 0) {
		workload_check_complain(
			check, "qp.max_rd_atomic", "workload.ops",
			"0 allows no read and no atomic, and workload.ops has one; use 1 or more, or auto");
	}
}

static void check_memory_kind(struct workload_check *check)
{
	const struct memory_settings *memory = &check->workload->memory;
	const struct workload_settings *settings = &check->workload->workload;
	char is[UNITS_SIZE];

	if (memory->hugepage_bytes & (memory->hugepage_bytes - 1)) {
		workload_check_complain(check, "memory.hugepage_size", NULL,
					"%s is no size of a huge page: such as 2MiB or 1GiB",
					units_write_size(memory->hugepage_bytes, is));
	}
	if (memory->odp && memory->kind == MEMORY_HUGEPAGE) {
		workload_check_complain(
			check, "memory.odp", "memory.kind",
			"huge pages are not paged on demand; leave out one of the two");
	}
	if (memory->buffers > 1 && settings->pattern != PATTERN_STREAM &&
	    !workload_is_connecting(check->workload)) {
		workload_check_complain(
			check, "memory.buffers", "workload.pattern",
			"a %s has one buffer in each direction; leave it out, or use "
			"stream",
			workload_pattern_names[settings->pattern]);
	}
	if (memory->buffers > 1 && workload_is_verified(check->workload)) {
		workload_check_complain(
			check, "memory.buffers", "workload.verify.method",
			"what is verified has buffers of its own, one for each request in flight; leave out one of the two");
	}
	if (memory->relaxed_ordering && settings->pattern == PATTERN_PINGPONG &&
	    operation_has(settings->ops, settings->op_count, OPERATION_WRITE)) {
		workload_check_complain(
			check, "memory.relaxed_ordering", "workload.pattern",
			"a ping-pong sees a write by its last byte in memory, which may be there before the others then; "
			"use write_with_imm or send, or leave it out");
	}
}

static void check_memory(struct workload_check *check)
{
	uint64_t num_qps = check->workload->qp.num_qps;
	const struct workload_settings *settings = &check->workload->workload;
	uint64_t size = operation_largest_bytes(settings->ops, settings->op_count);
	char one[UNITS_SIZE], all[UNITS_SIZE], limit[UNITS_SIZE];
	struct buffer_layout layout;

	buffer_layout_of(check->workload, &layout);
	if (size <= LIMIT_BUFFER_BYTES && layout.total_bytes > LIMIT_BUFFER_BYTES) {
		workload_check_complain(
			check, layout.spread_slots > 1 ? "memory.buffers" : "qp.num_qps",
			"workload.ops",
			"%" PRIu64
			" queue pairs with two buffers of %s need %s, above %s; use fewer or smaller ones",
			num_qps, units_write_size(layout.half_bytes, one),
			units_format_size(layout.total_bytes, all),
			units_write_size(LIMIT_BUFFER_BYTES, limit));
	}
}

/* --- run length --- */

static void check_length(struct workload_check *check)
{
	const struct run_settings *run = &check->workload->run;
	uint64_t total_ns = run->warmup_ns + run->duration_ns;
	char is[UNITS_SIZE], may[UNITS_SIZE];

	if (run->duration_ns && run->iterations) {
		workload_check_complain(check, "run.iterations", "run.duration",
					"%" PRIu64
					" and run.duration %s both end the run; give one of them",
					run->iterations,
					units_write_duration(run->duration_ns, is));
		return;
	}
	if (!run->duration_ns && !run->iterations) {
		workload_check_complain(check, "run.duration", "run.iterations",
					"neither run.duration nor run.iterations is given");
		return;
	}
	if (total_ns > LIMIT_RUN_DURATION_NS) {
		workload_check_complain(
			check, "run.duration", "run.warmup",
			"with the warm-up it is %s, above %s; use a shorter one, and schedule.every",
			units_write_duration(total_ns, is),
			units_write_duration(LIMIT_RUN_DURATION_NS, may));
	}
	if (run->timeout_ns != SCHEMA_AUTO && run->duration_ns && run->timeout_ns <= total_ns) {
		workload_check_complain(
			check, "run.timeout", "run.duration",
			"%s is not above warm-up and duration, %s: no measurement could end in time; raise it, "
			"or use auto",
			units_write_duration(run->timeout_ns, is),
			units_write_duration(total_ns, may));
	}
}

static void check_intervals(struct workload_check *check)
{
	const struct run_settings *run = &check->workload->run;
	uint64_t count = run->duration_ns / run->interval_ns;
	char is[UNITS_SIZE], least[UNITS_SIZE];

	if (count > LIMIT_INTERVALS) {
		uint64_t least_ns = (run->duration_ns + LIMIT_INTERVALS - 1) / LIMIT_INTERVALS;

		/* A round number is a kinder proposal. */
		least_ns = (least_ns + 9999999) / 10000000 * 10000000;
		workload_check_complain(check, "run.interval", "run.duration",
					"%s gives %" PRIu64 " intervals, above %d; use %s or more",
					units_write_duration(run->interval_ns, is), count,
					LIMIT_INTERVALS, units_write_duration(least_ns, least));
	}
}

unsigned workload_check(const struct workload *workload, workload_report_fn report, void *arg)
{
	static void (*const checks[])(struct workload_check * check) = {
		check_supported,
		check_operations,
		workload_check_transport,
		check_path,
		check_reads,
		check_memory,
		workload_check_queues,
		check_length,
		check_intervals,
		workload_check_load,
		workload_check_queues_ring,
		check_memory_kind,
		workload_check_verify,
		workload_check_connect,
	};
	struct workload_check check = { .workload = workload, .report = report, .arg = arg };

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		checks[i](&check);
	}
	return check.count;
}
