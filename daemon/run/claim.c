// SPDX-License-Identifier: MIT
#include "run/claim.h"

#include <errno.h>
#include <inttypes.h>

#include "model/load.h"

struct claim {
	const struct totals *totals;
	const struct workload *workload;
	enum job_role role;
};

/* Both ends post, one the answers. */
static bool is_answered(const struct claim *claim)
{
	return workload_is_answered(claim->workload);
}

static int check_end(const struct claim *claim, struct error *err)
{
	const struct run_settings *run = &claim->workload->run;
	const struct totals *totals = claim->totals;

	if (totals->end == END_DURATION && run->duration_ns == 0) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it ended by duration, the assignment by run.iterations %" PRIu64,
				 run->iterations);
	}
	if (totals->end == END_ITERATIONS && run->iterations == 0) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it ended by iterations, the assignment by run.duration");
	}
	if (totals->end == END_ITERATIONS && totals->operations != run->iterations) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it ended by iterations after %" PRIu64
				 " operations, the assignment has run.iterations %" PRIu64,
				 totals->operations, run->iterations);
	}
	return 0;
}

/* Whether it posts by itself, to its own end: the initiator, and with direction: both either. */
static bool is_posting(const struct claim *claim)
{
	return claim->role == ROLE_INITIATOR ||
	       claim->workload->workload.direction == DIRECTION_BOTH;
}

/* Only who posts has classes: an end that answers counts what it receives. */
static bool may_have_classes(const struct claim *claim)
{
	return is_posting(claim) || is_answered(claim);
}

static bool is_open(const struct claim *claim)
{
	return load_is_open(claim->workload) && is_posting(claim);
}

/* Only an open load has operations that find no room, and a latency beside the other. */
static int check_load(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	bool is_dropping = is_open(claim) && claim->workload->workload.load.on_full == ON_FULL_DROP;

	for (size_t i = 0; i < totals->class_count; i++) {
		if ((totals->classes[i].service != NULL) != is_open(claim)) {
			return error_set(
				err, -EPROTO, ERROR_PEER,
				"classes[%zu] has %s service latency, the assignment's load is %s",
				i, is_open(claim) ? "no" : "a", is_open(claim) ? "open" : "closed");
		}
	}
	if ((totals->late_operations > 0 && (!is_open(claim) || is_dropping)) ||
	    (totals->dropped_operations > 0 && !is_dropping)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it has %" PRIu64 " late and %" PRIu64
				 " dropped operations, which the assignment's load cannot have",
				 totals->late_operations, totals->dropped_operations);
	}
	return 0;
}

static int check_class(const struct class_totals *class, const struct operation_class *wanted,
		       size_t index, struct error *err)
{
	const struct operation_class *is = &class->class;
	uint64_t bytes;

	if (is->kind != wanted->kind || is->size_bytes != wanted->size_bytes ||
	    is->weight != wanted->weight) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "classes[%zu] is %s of %" PRIu64 " bytes, weight %" PRIu64
				 "; the assignment has %s of %" PRIu64 " bytes, weight %" PRIu64,
				 index, operation_names[is->kind], is->size_bytes, is->weight,
				 operation_names[wanted->kind], wanted->size_bytes, wanted->weight);
	}
	if (__builtin_mul_overflow(class->completed, is->size_bytes, &bytes) ||
	    bytes != class->bytes) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "classes[%zu] has %" PRIu64 " operations of %" PRIu64
				 " bytes and %" PRIu64 " bytes",
				 index, class->completed, is->size_bytes, class->bytes);
	}
	if (class->service && class->service->count > class->completed) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "classes[%zu] has %" PRIu64 " service latencies of %" PRIu64
				 " operations completed",
				 index, class->service->count, class->completed);
	}
	if (class->latency.count > class->completed) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "classes[%zu] has %" PRIu64 " latencies of %" PRIu64
				 " operations completed",
				 index, class->latency.count, class->completed);
	}
	return 0;
}

static int check_latency(const struct claim *claim, struct error *err)
{
	int pattern = claim->workload->workload.pattern;

	if (claim->totals->is_round_trip != (pattern == PATTERN_REQUEST_RESPONSE)) {
		return error_set(
			err, -EPROTO, ERROR_PEER,
			"its latencies are %sof a request and its response, the assignment's pattern is %s",
			claim->totals->is_round_trip ? "" : "not ",
			workload_pattern_names[pattern]);
	}
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		bool is_half = pattern == PATTERN_PINGPONG &&
			       !(operation_traits(kind) & OPERATION_FETCHES);

		if (claim->totals->is_half_round_trip[kind] != is_half) {
			return error_set(err, -EPROTO, ERROR_PEER,
					 "latency of %s is %s a round trip, the assignment's is%s",
					 operation_names[kind], is_half ? "not half" : "half",
					 is_half ? "" : " not");
		}
	}
	return 0;
}

/* Sums of hostile numbers below 2^63: at most LIMIT_INTERVALS of them, so that 128 bits hold them.
 */
static int check_sum(const char *what, unsigned __int128 sum, uint64_t whole, struct error *err)
{
	if (sum == whole) {
		return 0;
	}
	return error_set(err, -EPROTO, ERROR_PEER,
			 "%s are %" PRIu64 " together, and %" PRIu64 " in all", what,
			 sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum, whole);
}

static int check_classes(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	const struct workload_settings *settings = &claim->workload->workload;
	struct operation_class wanted[LIMIT_CLASSES];
	unsigned __int128 operations = 0;
	unsigned __int128 bytes = 0;
	uint64_t total_weight;
	size_t count = 0;
	int r;

	if (may_have_classes(claim)) {
		count = operation_classes(settings->ops, settings->op_count, 0, wanted,
					  &total_weight);
	}
	if (totals->class_count != count) {
		return error_set(
			err, -EPROTO, ERROR_PEER,
			"it has %zu classes of operations, the assignment has %zu for the %s",
			totals->class_count, count, job_role_names[claim->role]);
	}
	for (size_t i = 0; i < count; i++) {
		if ((r = check_class(&totals->classes[i], &wanted[i], i, err)) < 0) {
			return r;
		}
		operations += totals->classes[i].completed;
		bytes += totals->classes[i].bytes;
	}
	if (count == 0) {
		return 0;
	}
	if ((r = check_sum("the operations of its classes", operations, totals->operations, err)) <
		    0 ||
	    (r = check_sum("the bytes of its classes", bytes, totals->bytes, err)) < 0) {
		return r;
	}
	return (r = check_load(claim, err)) < 0 ? r : check_latency(claim, err);
}

/*
 * Intervals are cut on a grid, and once more at the end. The window is calibrated afresh when it is
 * over: a hundredth is far more than clocks differ by.
 */
static int check_interval_count(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	uint64_t interval_ns = claim->workload->run.interval_ns;
	uint64_t most = totals->window_ns / (interval_ns ? interval_ns : 1) + 2;

	most += most / 100;
	if (totals->interval_count > most) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it has %zu intervals; a window of %" PRIu64
				 " ns holds at most %" PRIu64 " of the assignment's %" PRIu64 " ns",
				 totals->interval_count, totals->window_ns, most, interval_ns);
	}
	return 0;
}

/* No port carries more (10 Tb/s), nor does the memory of a host behind it. */
#define MOST_BITS_PER_NS 10000u
/* What is calibrated afresh, or seen by two clocks, differs by less than a hundredth and this. */
#define SLACK_NS 20000000ull

static uint64_t with_slack(uint64_t ns)
{
	return ns + ns / 100 + SLACK_NS;
}

static int check_window(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	uint64_t duration_ns = claim->workload->run.duration_ns;
	uint64_t timeout_ns = workload_timeout_ns(claim->workload);
	uint64_t most_ns =
		(timeout_ns < LIMIT_RUN_DURATION_NS ? timeout_ns : LIMIT_RUN_DURATION_NS) +
		WORKLOAD_GRACE_NS;

	if (is_posting(claim) && totals->end == END_DURATION &&
	    with_slack(totals->window_ns) < duration_ns) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it ended by duration after %" PRIu64
				 " ns, the assignment has run.duration %" PRIu64 " ns",
				 totals->window_ns, duration_ns);
	}
	if (totals->window_ns > with_slack(most_ns)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "its window is of %" PRIu64 " ns, and must be over after %" PRIu64
				 " ns",
				 totals->window_ns, most_ns);
	}
	if ((unsigned __int128)totals->bytes * 8 >
	    (unsigned __int128)with_slack(totals->window_ns) * MOST_BITS_PER_NS) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it has %" PRIu64 " bytes in a window of %" PRIu64
				 " ns, more than the %u Tb/s that any port carries",
				 totals->bytes, totals->window_ns, MOST_BITS_PER_NS / 1000);
	}
	if (totals->worker_cpu_ns > with_slack(totals->window_ns)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "its one worker had %" PRIu64 " ns of CPU in a window of %" PRIu64
				 " ns",
				 totals->worker_cpu_ns, totals->window_ns);
	}
	return 0;
}

/* One interval by itself. */
static int check_interval(const struct claim *claim, size_t index, struct error *err)
{
	const struct sample *sample = &claim->totals->intervals[index];

	if (sample->end_ns < sample->start_ns ||
	    sample->end_ns > with_slack(claim->totals->window_ns)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "intervals[%zu] is from %" PRIu64 " to %" PRIu64
				 " ns of a window of %" PRIu64 " ns",
				 index, sample->start_ns, sample->end_ns, claim->totals->window_ns);
	}
	if (sample->latency_count > sample->operations) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "intervals[%zu] has %" PRIu64 " latencies of %" PRIu64
				 " operations completed",
				 index, sample->latency_count, sample->operations);
	}
	if (sample->latency_count > 0 && (sample->latency_min_ns > sample->latency_p50_ns ||
					  sample->latency_p50_ns > sample->latency_p99_ns ||
					  sample->latency_p99_ns > sample->latency_max_ns)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "intervals[%zu] has latencies out of order: min %" PRIu64
				 ", p50 %" PRIu64 ", p99 %" PRIu64 ", max %" PRIu64 " ns",
				 index, sample->latency_min_ns, sample->latency_p50_ns,
				 sample->latency_p99_ns, sample->latency_max_ns);
	}
	return 0;
}

/* All traffic holds the window's; what an end receives it counts as its operations in a stream. */
static int check_traffic(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	bool receives = !is_answered(claim) && !is_posting(claim) &&
			!workload_is_connecting(claim->workload);

	if (totals->traffic_operations < totals->operations ||
	    totals->traffic_bytes < totals->bytes ||
	    (receives && totals->receives < totals->operations)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it has %" PRIu64 " operations of %" PRIu64
				 " bytes in its window, more than in all its traffic: %" PRIu64
				 " of %" PRIu64 " bytes, %" PRIu64 " receives",
				 totals->operations, totals->bytes, totals->traffic_operations,
				 totals->traffic_bytes, totals->receives);
	}
	return 0;
}

static int refuse_verification(const char *what, struct error *err)
{
	return error_set(err, -EPROTO, ERROR_PEER, "its verification %s", what);
}

/* Who posts numbers what it sends, who receives counts it, and neither more than there was. */
static int check_verification(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	const struct verification *is = &totals->verification;
	uint64_t under_way = claim->workload->workload.load.outstanding;

	if (!workload_is_verified(claim->workload)) {
		return totals->has_verification
			       ? refuse_verification("is not asked for by the assignment", err)
			       : 0;
	}
	if (!totals->has_verification) {
		return is_posting(claim) || workload_takes_receives(claim->workload)
			       ? refuse_verification("is missing", err)
			       : 0;
	}
	if (is_posting(claim)
		    ? is->received > 0 || is->sent > totals->traffic_operations + under_way
		    : is->sent > 0 || is->received > totals->receives) {
		return refuse_verification(
			"has more messages sent or received than its traffic had", err);
	}
	if (is->first.is_set != (is->corrupted > 0)) {
		return refuse_verification(
			"shows no corrupted payload, or one that it did not count", err);
	}
	return 0;
}

/* One of the slowest operations; `before`: the one above it, or NULL. */
static int check_slow(const struct claim *claim, size_t index, const struct slow_operation *before,
		      struct error *err)
{
	const struct totals *totals = claim->totals;
	const struct slow_operation *is = &totals->slowest.items[index];
	const struct histogram *latency;

	if (is->class_index >= totals->class_count || is->qp_index >= claim->workload->qp.num_qps ||
	    is->qp_num >= 1u << 24) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "slowest[%zu] is of class %" PRIu64 ", queue pair %" PRIu64
				 " (0x%" PRIx64 "), which the assignment does not have",
				 index, is->class_index, is->qp_index, is->qp_num);
	}
	latency = &totals->classes[is->class_index].latency;
	if (latency->count == 0 || is->latency_ns > latency->max_ns ||
	    is->latency_ns < latency->min_ns || is->end_ns > with_slack(totals->window_ns) ||
	    (before && before->latency_ns < is->latency_ns)) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "slowest[%zu] has %" PRIu64 " ns at %" PRIu64
				 " ns, which does not fit its class or the one before it",
				 index, is->latency_ns, is->end_ns);
	}
	return 0;
}

static int check_slowest(const struct claim *claim, struct error *err)
{
	const struct slowest *slowest = &claim->totals->slowest;
	unsigned __int128 latencies = 0;
	int r = 0;

	for (size_t i = 0; i < claim->totals->class_count; i++) {
		latencies += claim->totals->classes[i].latency.count;
	}
	if (slowest->count > latencies) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "it has %zu slowest operations, and fewer latencies",
				 slowest->count);
	}
	for (size_t i = 0; i < slowest->count && r == 0; i++) {
		r = check_slow(claim, i, i > 0 ? &slowest->items[i - 1] : NULL, err);
	}
	return r;
}

static int check_intervals(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	unsigned __int128 operations = 0;
	unsigned __int128 bytes = 0;
	unsigned __int128 errors = 0;
	uint64_t end_ns = 0;
	int r;

	if ((r = check_interval_count(claim, err)) < 0) {
		return r;
	}
	for (size_t i = 0; i < totals->interval_count; i++) {
		const struct sample *sample = &totals->intervals[i];

		if ((r = check_interval(claim, i, err)) < 0) {
			return r;
		}
		if (sample->start_ns < end_ns) {
			return error_set(err, -EPROTO, ERROR_PEER,
					 "intervals[%zu] begins before the one before it ends", i);
		}
		end_ns = sample->end_ns;
		operations += sample->operations;
		bytes += sample->bytes;
		errors += sample->errors;
	}
	if (errors > totals->errors) {
		return check_sum("the errors of its intervals", errors, totals->errors, err);
	}
	if ((r = check_sum("the operations of its intervals", operations, totals->operations,
			   err)) < 0) {
		return r;
	}
	return check_sum("the bytes of its intervals", bytes, totals->bytes, err);
}

/* Every connection that counts has all of its phases, and none of the other end. */
static int check_connections(const struct claim *claim, struct error *err)
{
	const struct totals *totals = claim->totals;
	bool is_connecting = workload_is_connecting(claim->workload);

	if (!totals->connections || !is_connecting) {
		return !totals->connections == !is_connecting
			       ? 0
			       : error_set(
					 err, -EPROTO, ERROR_PEER,
					 "it has %s phases of connections, the assignment's pattern is %s",
					 totals->connections ? "the" : "no",
					 workload_pattern_names[claim->workload->workload.pattern]);
	}
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		const struct connection_phase_totals *of = &totals->connections->phases[phase];
		bool has_phase = connections_has_phase(claim->role == ROLE_INITIATOR, phase);

		if (of->latency.count != (has_phase ? totals->operations : 0) ||
		    (!has_phase && of->failed > 0)) {
			return error_set(err, -EPROTO, ERROR_PEER,
					 "phase %s has %" PRIu64 " latencies of %" PRIu64
					 " connections, %" PRIu64 " failed in it",
					 connection_phase_names[phase], of->latency.count,
					 totals->operations, of->failed);
		}
	}
	return 0;
}

/* Nothing was measured: stopped before it began, or an end that has nothing to do. */
static bool is_empty(const struct totals *totals)
{
	return totals->class_count == 0 && totals->interval_count == 0 && totals->operations == 0 &&
	       totals->slowest.count == 0 && totals->bytes == 0 && totals->receives == 0 &&
	       !totals->connections;
}

int claim_check(const struct totals *totals, const struct assignment *assignment,
		enum job_role role, struct error *err)
{
	struct claim claim = {
		.totals = totals,
		.workload = &assignment->workload,
		.role = role,
	};
	int r = check_end(&claim, err);

	if (r < 0 || is_empty(totals)) {
		return r;
	}
	if ((r = check_window(&claim, err)) < 0 || (r = check_classes(&claim, err)) < 0 ||
	    (r = check_slowest(&claim, err)) < 0 || (r = check_traffic(&claim, err)) < 0 ||
	    (r = check_verification(&claim, err)) < 0 || (r = check_connections(&claim, err)) < 0) {
		return r;
	}
	return check_intervals(&claim, err);
}
