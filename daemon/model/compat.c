// SPDX-License-Identifier: MIT
#include "model/compat.h"

#include <math.h>
#include <stdio.h>

#include "model/load.h"
#include "model/run_record.h"

#define TAIL 2 /* LAT_MEASURE_TAIL */
#define LEAST_SAMPLES 4
#define MIB 1048576.0

/* What all latencies of a ping-pong came to. */
struct latency {
	uint64_t count; /* without the tail */
	double min_us, max_us, typical_us, average_us, deviation_us, p99_us, p99_9_us;
};

/* The program's word for an operation; NULL: it has none. */
static const char *verb_of(int kind)
{
	switch (kind) {
	case OPERATION_WRITE:
	case OPERATION_WRITE_WITH_IMM:
		return "write";
	case OPERATION_SEND:
	case OPERATION_SEND_WITH_IMM:
		return "send";
	case OPERATION_READ:
		return "read";
	default:
		return operation_traits(kind) & OPERATION_IS_ATOMIC ? "atomic" : NULL;
	}
}

static bool has_one_class(const struct participant *end)
{
	return end->has_totals && end->totals.class_count == 1 && end->totals.window_ns > 0 &&
	       end->totals.operations > 0;
}

/* The sample at an index of all in order, from 0; the last ones are known exactly. */
static double sample_us(const struct totals *totals, uint64_t index)
{
	const struct histogram *latency = &totals->classes[0].latency;
	uint64_t from_top = latency->count - 1 - index;

	return (double)(from_top < totals->slowest.count
				? totals->slowest.items[from_top].latency_ns
				: histogram_rank_ns(latency, index + 1)) /
	       1e3;
}

/* Of the `count` smallest samples. */
static double deviation_of(const struct totals *totals, uint64_t count, double average_us)
{
	const struct histogram *latency = &totals->classes[0].latency;
	unsigned last = histogram_index(latency->max_ns);
	uint64_t left = count;
	double sum = 0;

	for (unsigned i = histogram_index(latency->min_ns); i <= last && left > 0; i++) {
		uint64_t here = latency->buckets[i] < left ? latency->buckets[i] : left;

		if (here > 0) {
			uint64_t rank = count - left + 1;
			double us = (double)histogram_rank_ns(latency, rank) / 1e3;
			double whole = trunc(average_us - us);

			sum += whole * whole * (double)here;
			left -= here;
		}
	}
	return sqrt(sum / (double)count);
}

static bool latency_of(const struct totals *totals, struct latency *ret)
{
	const struct histogram *latency = &totals->classes[0].latency;
	uint64_t sum_ns = latency->sum_ns;
	uint64_t count = latency->count - TAIL;

	if (latency->count < LEAST_SAMPLES || totals->slowest.count < TAIL) {
		return false;
	}
	for (size_t i = 0; i < TAIL; i++) {
		sum_ns -= totals->slowest.items[i].latency_ns;
	}
	*ret = (struct latency){
		.count = count,
		.min_us = (double)latency->min_ns / 1e3,
		.max_us = sample_us(totals, count),
		.typical_us = (sample_us(totals, count / 2) +
			       sample_us(totals, count / 2 - (count % 2 == 0))) /
			      2,
		.average_us = (double)sum_ns / 1e3 / (double)count,
		.p99_us = sample_us(totals, (uint64_t)ceil((double)count * 0.99)),
		.p99_9_us = sample_us(totals, (uint64_t)ceil((double)count * 0.999)),
	};
	ret->deviation_us = deviation_of(totals, count, ret->average_us);
	return true;
}

static void write_latency(json_t *object, const struct totals *totals)
{
	struct latency latency;

	if (!latency_of(totals, &latency)) {
		latency = (struct latency){ 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	}
	run_record_set_real(object, "t_min_us", latency.min_us);
	run_record_set_real(object, "t_max_us", latency.max_us);
	run_record_set_real(object, "t_typical_us", latency.typical_us);
	run_record_set_real(object, "t_avg_us", latency.average_us);
	run_record_set_real(object, "t_stdev_us", latency.deviation_us);
	run_record_set_real(object, "p99_us", latency.p99_us);
	run_record_set_real(object, "p99_9_us", latency.p99_9_us);
}

static double per_second(const struct totals *totals, uint64_t amount)
{
	return (double)amount * 1e9 / (double)totals->window_ns;
}

static double best_interval(const struct totals *totals)
{
	size_t count = sample_whole_intervals(totals);
	double best = NAN;

	for (size_t i = 0; i < count; i++) {
		const struct sample *sample = &totals->intervals[i];
		double rate = sample->end_ns > sample->start_ns
				      ? (double)sample->bytes * 1e9 /
						(double)(sample->end_ns - sample->start_ns)
				      : NAN;

		best = isnan(best) || rate > best ? rate : best;
	}
	return best;
}

/* perftest's peak is of every pair of a post and a completion, and 0 where it kept none of them, as
 * here: the best interval is told under its own name. */
static void write_bandwidth(json_t *object, const struct measurement *measurement)
{
	const struct totals *totals = &measurement->initiator.totals;
	const struct totals *back = &measurement->responder.totals;
	double bytes = per_second(totals, totals->bytes);
	double messages = per_second(totals, totals->operations);
	double best = best_interval(totals);

	if (run_is_mutual(measurement)) {
		bytes += per_second(back, back->bytes);
		messages += per_second(back, back->operations);
		best += best_interval(back);
	}
	json_set_u64(object, "bw_peak_mib_s", 0);
	json_set_u64(object, "bw_peak_gb_s", 0);
	run_record_set_real(object, "bw_best_interval_mib_s", best / MIB);
	run_record_set_real(object, "bw_best_interval_gb_s", best * 8 / 1e9);
	run_record_set_real(object, "bw_average_mib_s", bytes / MIB);
	run_record_set_real(object, "bw_average_gb_s", bytes * 8 / 1e9);
	run_record_set_real(object, "msg_rate_mpps", messages / 1e6);
}

json_t *compat_write(const struct measurement *measurement)
{
	const struct workload *workload = &measurement->assignment.workload;
	const struct totals *totals = &measurement->initiator.totals;
	bool is_latency = workload->workload.pattern == PATTERN_PINGPONG;
	char program[32];
	json_t *object, *outer;

	if (!has_one_class(&measurement->initiator) || load_is_open(workload) ||
	    workload->workload.pattern == PATTERN_REQUEST_RESPONSE ||
	    (run_is_mutual(measurement) && !has_one_class(&measurement->responder)) ||
	    !verb_of(totals->classes[0].class.kind)) {
		return NULL;
	}
	snprintf(program, sizeof(program), "ib_%s_%s", verb_of(totals->classes[0].class.kind),
		 is_latency ? "lat" : "bw");
	outer = json_object();
	object = json_object();
	json_set_string(object, "program", program);
	json_set_bool(object, "is_bidirectional", run_is_mutual(measurement));
	json_set_u64(object, "size_bytes", totals->classes[0].class.size_bytes);
	json_set_u64(object, "iterations", totals->operations);
	if (is_latency) {
		write_latency(object, totals);
	} else {
		write_bandwidth(object, measurement);
	}
	json_set_take(outer, "perftest", object);
	return outer;
}
