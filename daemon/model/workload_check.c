// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/workload.h"
#include "util/units.h"

/* The one function of this file is declared in model/workload.h. */

#define MIN_DURATION_NS 1000000u

struct check {
	const struct workload *workload;
	workload_report_fn report;
	void *arg;
	unsigned count;
};

__attribute__((format(printf, 4, 5))) static void
complain(struct check *check, const char *field, const char *other, const char *format, ...)
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

static void check_word(struct check *check, const char *field, const char *const *names, int value,
		       int supported, const char *instead)
{
	if (value >= supported) {
		complain(check, field, NULL, "\"%s\" is not in this version; %s", names[value],
			 instead);
	}
}

static void check_supported(struct check *check)
{
	const struct workload *w = check->workload;

	check_word(check, "qp.qp_type", qp_type_names, w->qp.qp_type, 1, "RC is");
	check_word(check, "qp.cm", qp_cm_names, w->qp.cm, 1, "exchange is");
	check_word(check, "cq.mode", cq_mode_names, w->cq.mode, 1, "poll is");
	check_word(check, "workload.pattern", workload_pattern_names, w->workload.pattern, 2,
		   "pingpong and stream are");
	check_word(check, "workload.direction", workload_direction_names, w->workload.direction, 1,
		   "forward is; swap peers.from and peers.to for the other way");
	check_word(check, "workload.load.model", load_model_names, w->workload.load.model, 1,
		   "closed is");
}

/* --- operations --- */

static void check_inline(struct check *check, const char *place, const struct operation *op)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t limit = qp->max_inline_data == SCHEMA_AUTO ? 4096 : qp->max_inline_data;
	char field[64], is[UNITS_SIZE], may[UNITS_SIZE];

	if (op->inline_mode != INLINE_YES) {
		return;
	}
	snprintf(field, sizeof(field), "%s.inline", place);
	if (op->kind == OPERATION_READ) {
		complain(check, field, NULL,
			 "a read cannot be inlined: it sends no payload; leave inline out");
		return;
	}
	for (size_t i = 0; i < op->size_count; i++) {
		if (op->sizes[i].size_bytes > limit) {
			complain(
				check, field, "qp.max_inline_data",
				"size %s is above qp.max_inline_data %s; raise that, or leave inline out",
				units_write_size(op->sizes[i].size_bytes, is),
				units_write_size(limit, may));
			return;
		}
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

static void check_sizes(struct check *check, const char *place, size_t op_index)
{
	const struct workload_settings *settings = &check->workload->workload;
	const struct operation *op = &settings->ops[op_index];
	char field[64], is[UNITS_SIZE], may[UNITS_SIZE];

	snprintf(field, sizeof(field), "%s.size", place);
	for (size_t i = 0; i < op->size_count; i++) {
		uint64_t size_bytes = op->sizes[i].size_bytes;

		units_write_size(size_bytes, is);
		if (size_bytes > LIMIT_BUFFER_BYTES) {
			complain(check, field, NULL, "%s is above %s; use a smaller size", is,
				 units_write_size(LIMIT_BUFFER_BYTES, may));
		}
		if (size_bytes == 0 && op->kind == OPERATION_WRITE &&
		    settings->pattern == PATTERN_PINGPONG) {
			complain(
				check, field, "workload.pattern",
				"a write of 0 bytes cannot be seen by the other end of a pingpong; use 1B or more");
		}
		if (is_repeated(settings, op_index, i)) {
			complain(check, field, NULL,
				 "%s of %s is there twice; give one entry the weight of both",
				 operation_names[op->kind], is);
		}
	}
}

static void check_operations(struct check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	size_t classes = 0;

	for (size_t i = 0; i < settings->op_count; i++) {
		const struct operation *op = &settings->ops[i];
		char place[40], field[64];

		snprintf(place, sizeof(place), "workload.ops[%zu]", i);
		snprintf(field, sizeof(field), "%s.op", place);
		check_word(check, field, operation_names, op->kind, OPERATION_SUPPORTED,
			   "send, write and read are");
		if (op->size_count == 0) {
			complain(check, place, NULL,
				 "has no size; give it one, such as size: 64KiB");
		}
		check_inline(check, place, op);
		check_sizes(check, place, i);
		classes += op->size_count;
	}
	if (settings->op_count == 0) {
		complain(check, "workload.ops", NULL, "is empty; give at least one operation");
	}
	if (classes > LIMIT_CLASSES) {
		complain(
			check, "workload.ops", NULL,
			"%zu pairs of operation and size are above %d; each keeps statistics of its own, use fewer",
			classes, LIMIT_CLASSES);
	}
}

static bool has_operation(const struct workload *workload, int kind)
{
	for (size_t i = 0; i < workload->workload.op_count; i++) {
		if (workload->workload.ops[i].kind == kind) {
			return true;
		}
	}
	return false;
}

static uint64_t largest_size(const struct workload *workload)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < workload->workload.op_count; i++) {
		const struct operation *op = &workload->workload.ops[i];

		for (size_t j = 0; j < op->size_count; j++) {
			largest = op->sizes[j].size_bytes > largest ? op->sizes[j].size_bytes
								    : largest;
		}
	}
	return largest;
}

/* --- queue pairs and memory --- */

static void check_path(struct check *check)
{
	uint64_t mtu = check->workload->qp.path_mtu;

	if (mtu != SCHEMA_AUTO && (mtu & (mtu - 1))) {
		complain(check, "qp.path_mtu", NULL,
			 "%" PRIu64
			 " bytes is no path MTU; there are 256B, 512B, 1KiB, 2KiB and 4KiB",
			 mtu);
	}
}

static void check_reads(struct check *check)
{
	if (has_operation(check->workload, OPERATION_READ) &&
	    check->workload->qp.max_rd_atomic == 0) {
		complain(check, "qp.max_rd_atomic", "workload.ops",
			 "0 allows no read, and workload.ops has one; use 1 or more, or auto");
	}
}

static void check_memory(struct check *check)
{
	uint64_t num_qps = check->workload->qp.num_qps;
	uint64_t size = largest_size(check->workload);
	uint64_t half = (size + 63) / 64 * 64;
	char one[UNITS_SIZE], all[UNITS_SIZE], limit[UNITS_SIZE];

	/* Both are bounded, so that this cannot overflow: 2^10 * 2 * (2^30 + 63). */
	if (size <= LIMIT_BUFFER_BYTES && 2 * half * num_qps > LIMIT_BUFFER_BYTES) {
		complain(
			check, "qp.num_qps", "workload.ops",
			"%" PRIu64
			" queue pairs with two buffers of %s need %s, above %s; use fewer or smaller sizes",
			num_qps, units_write_size(half, one),
			units_format_size(2 * half * num_qps, all),
			units_write_size(LIMIT_BUFFER_BYTES, limit));
	}
}

static void check_outstanding(struct check *check)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t outstanding = check->workload->workload.load.outstanding;
	uint64_t each = (outstanding + qp->num_qps - 1) / qp->num_qps;

	if (outstanding < qp->num_qps) {
		complain(check, "workload.load.outstanding", "qp.num_qps",
			 "%" PRIu64 " is below qp.num_qps %" PRIu64
			 ": some queue pairs would have nothing to do; "
			 "raise it to %" PRIu64 ", or use fewer queue pairs",
			 outstanding, qp->num_qps, qp->num_qps);
	}
	if (outstanding > qp->max_send_wr * qp->num_qps) {
		complain(check, "workload.load.outstanding", "qp.max_send_wr",
			 "%" PRIu64 " is above qp.max_send_wr %" PRIu64 " x qp.num_qps %" PRIu64
			 "; lower it to %" PRIu64 ", or raise qp.max_send_wr",
			 outstanding, qp->max_send_wr, qp->num_qps, qp->max_send_wr * qp->num_qps);
	} else if (has_operation(check->workload, OPERATION_SEND) && each > qp->max_recv_wr) {
		complain(check, "qp.max_recv_wr", "workload.load.outstanding",
			 "%" PRIu64 " receives cannot take the %" PRIu64
			 " sends that a queue pair may have in flight; "
			 "raise it to %" PRIu64 ", or lower workload.load.outstanding",
			 qp->max_recv_wr, each, each);
	}
}

/* Queues are memory that drivers pin, and no limit of registered memory counts it. */
static void check_depths(struct check *check)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t receives = has_operation(check->workload, OPERATION_SEND) ? qp->max_recv_wr : 0;
	uint64_t total = qp->num_qps * (qp->max_send_wr + receives);

	if (total > LIMIT_QUEUE_WRS) {
		complain(check, receives > qp->max_send_wr ? "qp.max_recv_wr" : "qp.max_send_wr",
			 "qp.num_qps",
			 "%" PRIu64 " queue pairs with %" PRIu64 " sends and %" PRIu64
			 " receives each have room for %" PRIu64
			 " work requests, above %u; lower one of them",
			 qp->num_qps, qp->max_send_wr, receives, total, LIMIT_QUEUE_WRS);
	}
}

static void check_batch(struct check *check, const char *field, uint64_t value)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t outstanding = check->workload->workload.load.outstanding;
	uint64_t each = outstanding / qp->num_qps;

	if (value > qp->max_send_wr) {
		complain(check, field, "qp.max_send_wr",
			 "%" PRIu64 " is above qp.max_send_wr %" PRIu64
			 ": the send queue would fill and stand still; "
			 "lower it to %" PRIu64,
			 value, qp->max_send_wr, qp->max_send_wr);
	} else if (each && value > each) {
		complain(check, field, "workload.load.outstanding",
			 "%" PRIu64 " is above the %" PRIu64
			 " operations that a queue pair may have in flight "
			 "(load.outstanding %" PRIu64 " / qp.num_qps %" PRIu64
			 "); lower it to %" PRIu64
			 ", or raise workload.load.outstanding to %" PRIu64,
			 value, each, outstanding, qp->num_qps, each, value * qp->num_qps);
	}
}

static uint64_t common_multiple(uint64_t a, uint64_t b)
{
	uint64_t x = a, y = b;

	while (y) {
		uint64_t rest = x % y;

		x = y;
		y = rest;
	}
	return a / x * b;
}

static void check_queues(struct check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	uint64_t limit = LIMIT_RING_WRS / check->workload->qp.num_qps;
	uint64_t ring = common_multiple(settings->signal_interval, settings->post_list);

	/* A ping-pong allows one of each: said once, by check_pingpong, with the cure that leads
	 * somewhere. */
	if (settings->pattern == PATTERN_PINGPONG) {
		return;
	}
	check_outstanding(check);
	check_batch(check, "workload.signal_interval", settings->signal_interval);
	check_batch(check, "workload.post_list", settings->post_list);
	if (ring > limit) {
		complain(check, "workload.post_list", "workload.signal_interval",
			 "%" PRIu64 " and signal_interval %" PRIu64
			 " come together only after %" PRIu64 " work requests, above %" PRIu64
			 " for each of %" PRIu64 " queue pairs; make one a multiple of the other",
			 settings->post_list, settings->signal_interval, ring, limit,
			 check->workload->qp.num_qps);
	}
}

/* As the engine lays it out: whole decks for all queue pairs, or one deck that they share. */
static void check_ring(struct check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t step = common_multiple(settings->signal_interval, settings->post_list);
	uint64_t total, length;
	size_t count = operation_classes(settings->ops, settings->op_count, 0, classes, &total);

	if (count == 0 || check->count) {
		return;
	}
	length = operation_deck_length(classes, count, settings->signal_interval,
				       step * w->qp.num_qps, settings->load.outstanding);
	if (length > LIMIT_RING_WRS) {
		complain(check, "workload.load.outstanding", "workload.signal_interval",
			 "%" PRIu64 " with signal_interval %" PRIu64 ", post_list %" PRIu64
			 ", %zu pairs of operation and size and "
			 "%" PRIu64 " queue pairs needs %" PRIu64
			 " prepared work requests, above %d; lower one of them",
			 settings->load.outstanding, settings->signal_interval, settings->post_list,
			 count, w->qp.num_qps, length, LIMIT_RING_WRS);
	}
}

static void check_cq_size(struct check *check)
{
	const struct workload *w = check->workload;
	uint64_t receives = has_operation(w, OPERATION_SEND) ? w->qp.max_recv_wr * w->qp.num_qps
							     : 0;
	uint64_t needed = w->workload.load.outstanding + receives;

	/* In an error every outstanding work request completes, signalled or not. */
	if (w->cq.size != SCHEMA_AUTO && w->cq.size < needed) {
		complain(check, "cq.size", "workload.load.outstanding",
			 "%" PRIu64 " is below the %" PRIu64
			 " completions that can be outstanding (load.outstanding %" PRIu64
			 " and %" PRIu64 " receives); raise it, or use auto",
			 w->cq.size, needed, w->workload.load.outstanding, receives);
	}
}

static void check_one(struct check *check, const char *field, uint64_t value)
{
	if (value != 1) {
		complain(
			check, field, "workload.pattern",
			"%" PRIu64
			" does not go with pattern pingpong, which has one operation at a time; use 1, "
			"or pattern stream",
			value);
	}
}

static void check_pingpong(struct check *check)
{
	const struct workload *w = check->workload;

	if (w->workload.pattern == PATTERN_PINGPONG) {
		check_one(check, "qp.num_qps", w->qp.num_qps);
		check_one(check, "workload.load.outstanding", w->workload.load.outstanding);
		check_one(check, "workload.signal_interval", w->workload.signal_interval);
		check_one(check, "workload.post_list", w->workload.post_list);
	}
}

/* --- run length --- */

static void check_length(struct check *check)
{
	const struct run_settings *run = &check->workload->run;
	uint64_t total_ns = run->warmup_ns + run->duration_ns;
	char is[UNITS_SIZE], may[UNITS_SIZE];

	if (run->duration_ns && run->iterations) {
		complain(check, "run.iterations", "run.duration",
			 "%" PRIu64 " and run.duration %s both end the run; give one of them",
			 run->iterations, units_write_duration(run->duration_ns, is));
		return;
	}
	if (!run->duration_ns && !run->iterations) {
		complain(check, "run.duration", "run.iterations",
			 "neither run.duration nor run.iterations is given");
		return;
	}
	if (run->duration_ns && run->duration_ns < MIN_DURATION_NS) {
		complain(check, "run.duration", NULL,
			 "%s is below 1ms; nothing can be told from so little",
			 units_write_duration(run->duration_ns, is));
	}
	if (total_ns > LIMIT_RUN_DURATION_NS) {
		complain(
			check, "run.duration", "run.warmup",
			"with the warm-up it is %s, above %s; use a shorter one, and schedule.every",
			units_write_duration(total_ns, is),
			units_write_duration(LIMIT_RUN_DURATION_NS, may));
	}
	if (run->timeout_ns != SCHEMA_AUTO && run->duration_ns && run->timeout_ns <= total_ns) {
		complain(
			check, "run.timeout", "run.duration",
			"%s is not above warm-up and duration, %s: no measurement could end in time; raise it, "
			"or use auto",
			units_write_duration(run->timeout_ns, is),
			units_write_duration(total_ns, may));
	}
}

static void check_intervals(struct check *check)
{
	const struct run_settings *run = &check->workload->run;
	uint64_t count = run->duration_ns / run->interval_ns;
	char is[UNITS_SIZE], least[UNITS_SIZE];

	if (count > LIMIT_INTERVALS) {
		uint64_t least_ns = (run->duration_ns + LIMIT_INTERVALS - 1) / LIMIT_INTERVALS;

		/* A round number is a kinder proposal. */
		least_ns = (least_ns + 9999999) / 10000000 * 10000000;
		complain(check, "run.interval", "run.duration",
			 "%s gives %" PRIu64 " intervals, above %d; use %s or more",
			 units_write_duration(run->interval_ns, is), count, LIMIT_INTERVALS,
			 units_write_duration(least_ns, least));
	}
}

unsigned workload_check(const struct workload *workload, workload_report_fn report, void *arg)
{
	static void (*const checks[])(struct check * check) = {
		check_supported, check_operations, check_path,	    check_reads,
		check_memory,	 check_depths,	   check_queues,    check_cq_size,
		check_pingpong,	 check_length,	   check_intervals, check_ring,
	};
	struct check check = { .workload = workload, .report = report, .arg = arg };

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		checks[i](&check);
	}
	return check.count;
}
