// SPDX-License-Identifier: MIT
#include "judge/expect.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/delivery.h"
#include "util/memory.h"

/*
 * Bytes on the wire around one packet's payload. RoCE v2: preamble and gap 20, Ethernet 14 and FCS
 * 4, IP 20 or 40, UDP 8, BTH 12, ICRC 4 (IBTA annex A17). InfiniBand: LRH 8, BTH 12, ICRC 4,
 * VCRC 2. The RETH of a message's first packet is left out: it is nothing for messages of many
 * packets, and the ceiling is not meant for others.
 */
#define ROCE_V4_OVERHEAD 82
#define ROCE_V6_OVERHEAD 102
#define VLAN_OVERHEAD 4
#define DATAGRAM_OVERHEAD 8 /* DETH, in every packet of UD */
#define INFINIBAND_OVERHEAD 26

static unsigned overhead_of(const struct measurement *measurement)
{
	const struct participant *end = &measurement->initiator;
	const struct gid_entry *gid = inventory_gid(&end->port, end->endpoint.gid_index);
	bool is_v4 = gid && !strncmp(gid->gid, "::ffff:", 7);

	unsigned more =
		measurement->assignment.workload.qp.qp_type == QP_TYPE_UD ? DATAGRAM_OVERHEAD : 0;

	if (end->port.link_layer == LINK_LAYER_INFINIBAND) {
		return INFINIBAND_OVERHEAD + more;
	}
	return more + (is_v4 ? ROCE_V4_OVERHEAD : ROCE_V6_OVERHEAD) +
	       (gid && gid->vlan ? VLAN_OVERHEAD : 0);
}

static uint64_t path_mtu_of(const struct measurement *measurement)
{
	uint64_t mtu = measurement->assignment.workload.qp.path_mtu;

	if (mtu && mtu != SCHEMA_AUTO) {
		return mtu;
	}
	return measurement->initiator.info ? measurement->initiator.info->mtu_bytes : 0;
}

double expect_ceiling_bps(const struct measurement *measurement)
{
	uint64_t a = measurement->initiator.port.link_rate_bps;
	uint64_t b = measurement->responder.port.link_rate_bps;
	uint64_t lower = a < b ? a : b;
	uint64_t mtu = path_mtu_of(measurement);
	const struct workload *workload = &measurement->assignment.workload;

	if (lower == 0 || mtu == 0) {
		return 0;
	}
	/* A datagram is a packet, however small. */
	if (workload->qp.qp_type == QP_TYPE_UD) {
		double bytes =
			operation_mean_bytes(workload->workload.ops, workload->workload.op_count);

		mtu = bytes < (double)mtu ? (uint64_t)bytes : mtu;
	}
	/* A link carries as much each way. */
	return (run_is_mutual(measurement) ? 2 : 1) * (double)lower * (double)mtu /
	       (double)(mtu + overhead_of(measurement));
}

/* --- measured values --- */

__attribute__((format(printf, 2, 3))) static void give_reason(struct expectation_result *result,
							      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(result->reason, sizeof(result->reason), format, arguments);
	va_end(arguments);
}

static void set_actual(struct expectation_result *result, double actual, uint64_t samples)
{
	result->has_actual = true;
	result->actual = actual;
	result->samples = samples;
}

/* The ends that post: the initiator, and with direction: both the responder, too. */
struct posters {
	const struct totals *totals[2];
	size_t count;
};

static bool is_asked_for(const struct expectation *expectation, const struct class_totals *class)
{
	return expectation->kind < 0 || expectation->kind == class->class.kind;
}

static void merge_latency(const struct expectation *expectation, const struct totals *totals,
			  struct histogram *all)
{
	if (totals->connections) {
		int phase = expectation->phase >= 0 ? expectation->phase : CONNECTION_SETUP;

		histogram_merge(all, &totals->connections->phases[phase].latency);
		return;
	}
	for (size_t i = 0; i < totals->class_count; i++) {
		if (is_asked_for(expectation, &totals->classes[i])) {
			const struct class_totals *class = &totals->classes[i];

			if (expectation->metric == METRIC_LATENCY) {
				histogram_merge(all, &class->latency);
			} else if (class->service) {
				histogram_merge(all, class->service);
			}
		}
	}
}

static void take_latency(struct expectation_result *result, const struct posters *posters)
{
	const struct expectation *expectation = &result->expectation;
	_cleanup_free_ struct histogram *all = memory_new(sizeof(*all));

	histogram_reset(all);
	for (size_t i = 0; i < posters->count; i++) {
		merge_latency(expectation, posters->totals[i], all);
	}
	if (all->count == 0) {
		give_reason(result, "no latency was sampled");
		return;
	}
	if (expectation->statistic == STATISTIC_PERCENTILE &&
	    !histogram_has_percentile(all, expectation->percentile_ppm)) {
		result->samples = all->count;
		give_reason(result, "%" PRIu64 " samples; p%g needs %" PRIu64, all->count,
			    (double)expectation->percentile_ppm / 1e4,
			    histogram_needed_count(expectation->percentile_ppm));
		return;
	}
	switch (expectation->statistic) {
	case STATISTIC_PERCENTILE:
		set_actual(result,
			   (double)histogram_percentile_ns(all, expectation->percentile_ppm),
			   all->count);
		break;
	case STATISTIC_MIN:
		set_actual(result, (double)all->min_ns, all->count);
		break;
	case STATISTIC_MAX:
		set_actual(result, (double)all->max_ns, all->count);
		break;
	default:
		set_actual(result, histogram_mean_ns(all), all->count);
		break;
	}
}

static double rate_of(const struct expectation *expectation, uint64_t operations, uint64_t bytes,
		      uint64_t window_ns)
{
	double amount = expectation->metric == METRIC_BANDWIDTH ? 8.0 * (double)bytes
								: (double)operations;

	return amount * 1e9 / (double)window_ns;
}

static double mean_rate_of(const struct expectation *expectation, const struct totals *totals,
			   uint64_t *ret_operations)
{
	uint64_t operations = totals->operations;
	uint64_t bytes = totals->bytes;

	if (expectation->kind >= 0) {
		operations = 0;
		bytes = 0;
		for (size_t i = 0; i < totals->class_count; i++) {
			if (is_asked_for(expectation, &totals->classes[i])) {
				operations += totals->classes[i].completed;
				bytes += totals->classes[i].bytes;
			}
		}
	}
	*ret_operations += operations;
	return rate_of(expectation, operations, bytes, totals->window_ns);
}

/* What arrived, where the transport does not say it: of all operations alike. */
static void take_mean_rate(struct expectation_result *result, const struct posters *posters,
			   const struct measurement *measurement)
{
	uint64_t operations = 0;
	double rate = 0;

	for (size_t i = 0; i < posters->count; i++) {
		rate += delivery_share(measurement, i > 0) *
			mean_rate_of(&result->expectation, posters->totals[i], &operations);
	}
	set_actual(result, rate, operations);
}

/* Of one interval, at both ends that of the same number: they begin together, but for the way of a
 * message. False where one of them has no length. */
static bool interval_rate(const struct expectation *expectation, const struct posters *posters,
			  size_t index, double *ret)
{
	*ret = 0;
	for (size_t i = 0; i < posters->count; i++) {
		const struct sample *sample = &posters->totals[i]->intervals[index];

		if (sample->end_ns == sample->start_ns) {
			return false;
		}
		*ret += rate_of(expectation, sample->operations, sample->bytes,
				sample->end_ns - sample->start_ns);
	}
	return true;
}

static void take_interval_rate(struct expectation_result *result, const struct posters *posters)
{
	const struct expectation *expectation = &result->expectation;
	size_t count = sample_whole_intervals(posters->totals[0]);
	double found = 0;
	size_t used = 0;

	for (size_t i = 1; i < posters->count; i++) {
		size_t whole = sample_whole_intervals(posters->totals[i]);

		count = whole < count ? whole : count;
	}
	for (size_t i = 0; i < count; i++) {
		double rate;

		if (!interval_rate(expectation, posters, i, &rate)) {
			continue;
		}
		if (used++ == 0 ||
		    (expectation->statistic == STATISTIC_MIN ? rate < found : rate > found)) {
			found = rate;
		}
	}
	if (used == 0) {
		give_reason(result, "no interval was measured");
		return;
	}
	set_actual(result, found, used);
}

/* Of an open load. */
static void take_shortage(struct expectation_result *result, const struct posters *posters)
{
	uint64_t posted = 0;
	uint64_t late = 0;
	uint64_t dropped = 0;

	for (size_t k = 0; k < posters->count; k++) {
		const struct totals *totals = posters->totals[k];

		late += totals->late_operations;
		dropped += totals->dropped_operations;
		for (size_t i = 0; i < totals->class_count; i++) {
			posted += totals->classes[i].posted;
		}
	}
	if (result->expectation.metric == METRIC_DROPPED_OPS) {
		set_actual(result, (double)dropped, posted);
	} else if (posted > 0) {
		set_actual(result, (double)late / (double)posted, posted);
	} else {
		give_reason(result, "no operation was posted in the measured window");
	}
}

static void take_lost(struct expectation_result *result, const struct measurement *measurement)
{
	struct delivery delivery;

	if (!delivery_of(measurement, &delivery) || delivery.sent == 0) {
		give_reason(result, "what the responder received is not known");
	} else if (result->expectation.statistic == STATISTIC_RATIO) {
		set_actual(result, (double)delivery.lost / (double)delivery.sent, delivery.sent);
	} else {
		set_actual(result, (double)delivery.lost, delivery.sent);
	}
}

static void take_verified(struct expectation_result *result, const struct measurement *measurement)
{
	struct verification both;
	uint64_t count;

	if (!delivery_verified(measurement, &both)) {
		give_reason(result, "no payload was verified");
		return;
	}
	switch (result->expectation.statistic) {
	case STATISTIC_CORRUPTED:
		count = both.corrupted;
		break;
	case STATISTIC_LOST:
		count = both.lost;
		break;
	case STATISTIC_DUPLICATED:
		count = both.duplicated;
		break;
	case STATISTIC_REORDERED:
		count = both.reordered;
		break;
	default:
		count = verification_errors(&both);
		break;
	}
	if (both.verified + count == 0) {
		give_reason(result, "no payload was verified");
		return;
	}
	set_actual(result, (double)count, both.verified);
}

static void take_actual(struct expectation_result *result, const struct measurement *measurement)
{
	const struct totals *totals = &measurement->initiator.totals;
	struct posters posters = { .totals = { totals, &measurement->responder.totals },
				   .count = run_is_mutual(measurement) ? 2 : 1 };
	struct delivery delivery;

	if (!measurement->initiator.has_totals ||
	    (posters.count > 1 && !measurement->responder.has_totals)) {
		give_reason(result, "the %s sent no totals",
			    measurement->initiator.has_totals ? "responder" : "initiator");
		return;
	}
	if (result->expectation.metric == METRIC_ERRORS) {
		set_actual(result, (double)(totals->errors + measurement->responder.totals.errors),
			   totals->operations);
		return;
	}
	if (result->expectation.metric == METRIC_VERIFY_ERRORS) {
		take_verified(result, measurement);
		return;
	}
	for (size_t i = 0; i < posters.count; i++) {
		if (posters.totals[i]->window_ns == 0 || posters.totals[i]->operations == 0) {
			give_reason(result, "no operation completed in the measured window");
			return;
		}
	}
	if (result->expectation.metric == METRIC_LOST_OPS) {
		take_lost(result, measurement);
	} else if (expectation_is_latency(&result->expectation)) {
		take_latency(result, &posters);
	} else if (result->expectation.metric == METRIC_LATE_OPS ||
		   result->expectation.metric == METRIC_DROPPED_OPS) {
		take_shortage(result, &posters);
	} else if (result->expectation.statistic == STATISTIC_MEAN) {
		take_mean_rate(result, &posters, measurement);
	} else if (delivery_of(measurement, &delivery)) {
		give_reason(result, "what arrived is known of the whole run, not of its intervals");
	} else {
		take_interval_rate(result, &posters);
	}
}

bool expect_actual(const struct measurement *measurement, const struct expectation *expectation,
		   double *ret)
{
	struct expectation_result result = { .expectation = *expectation };

	take_actual(&result, measurement);
	*ret = result.actual;
	return result.has_actual;
}

/* --- outcomes --- */

static bool is_met(int compare, double actual, double limit)
{
	switch (compare) {
	case COMPARE_LE:
		return actual <= limit;
	case COMPARE_LT:
		return actual < limit;
	case COMPARE_GE:
		return actual >= limit;
	case COMPARE_GT:
		return actual > limit;
	case COMPARE_EQ:
		return actual == limit;
	default:
		return actual != limit;
	}
}

/* False when the limit itself is not known. */
static bool take_limit(struct expectation_result *result, const struct measurement *measurement)
{
	double ceiling_bps;

	if (!result->expectation.is_of_link_rate) {
		result->limit = result->expectation.limit;
		return true;
	}
	ceiling_bps = expect_ceiling_bps(measurement);
	result->limit = result->expectation.limit * ceiling_bps;
	if (ceiling_bps == 0) {
		give_reason(result, "the link rate of a port is not known");
		return false;
	}
	return true;
}

static void evaluate(struct expectation_result *result, const struct measurement *measurement)
{
	bool has_limit;

	take_actual(result, measurement);
	has_limit = take_limit(result, measurement);
	result->outcome = OUTCOME_INCONCLUSIVE;
	if (!result->has_actual || !has_limit) {
		return;
	}
	if (error_is_set(&measurement->first_error.error) &&
	    result->expectation.metric != METRIC_ERRORS) {
		give_reason(result, "the measurement ended early, by an error");
		return;
	}
	result->outcome = is_met(result->expectation.compare, result->actual, result->limit)
				  ? OUTCOME_MET
				  : OUTCOME_MISSED;
}

void expect_evaluate(struct measurement *measurement, const struct expectations *expectations)
{
	measurement->expectation_count = expectations->count;
	for (size_t i = 0; i < expectations->count; i++) {
		struct expectation_result *result = &measurement->expectations[i];

		memset(result, 0, sizeof(*result));
		result->expectation = expectations->items[i];
		evaluate(result, measurement);
	}
}
