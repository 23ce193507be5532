// SPDX-License-Identifier: MIT
#include "model/footprint.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/load.h"
#include "util/units.h"

static double of_both(const struct footprint *footprint, double percent)
{
	percent *= footprint->is_mutual ? 2 : 1;
	return percent < 100 ? percent : 100;
}

void footprint_of(const struct workload *workload, struct footprint *ret)
{
	const struct workload_settings *settings = &workload->workload;
	double bytes = operation_mean_bytes(settings->ops, settings->op_count);
	double wire_ns = bytes * 8e9 / (double)FOOTPRINT_RATE_BPS;

	*ret = (struct footprint){ 0 };
	ret->outstanding = workload_is_answered(workload) ? 1 : settings->load.outstanding;
	ret->operation_bytes = (uint64_t)(bytes + 0.5);
	ret->is_open = load_is_open(workload);
	ret->is_connecting = workload_is_connecting(workload);
	ret->is_mutual = settings->direction == DIRECTION_BOTH;
	ret->payload_bps = load_payload_bps(workload);
	if (ret->is_open) {
		double percent = 100 * ret->payload_bps / (double)FOOTPRINT_RATE_BPS;
		double busy = 100 * load_ops_per_s(workload) / FOOTPRINT_OPS_RATE;

		ret->burst_bytes = operation_largest_bytes(settings->ops, settings->op_count);
		ret->burst_ns = (uint64_t)((double)ret->outstanding * (double)ret->burst_bytes *
					   8e9 / (double)FOOTPRINT_RATE_BPS);
		ret->percent = ret->burst_ns <= FOOTPRINT_BURST_NS
				       ? of_both(ret, percent > busy ? percent : busy)
				       : 100;
		return;
	}
	if (ret->is_connecting) {
		ret->percent = ret->outstanding > FOOTPRINT_CONNECTIONS
				       ? 100
				       : 800.0 * FOOTPRINT_CONNECTION_BYTES *
						 FOOTPRINT_CONNECTIONS_RATE /
						 (double)FOOTPRINT_RATE_BPS;
		return;
	}
	if (settings->pattern == PATTERN_REQUEST_RESPONSE) {
		double back_bytes =
			operation_mean_response_bytes(settings->ops, settings->op_count);
		double back_ns = back_bytes * 8e9 / (double)FOOTPRINT_RATE_BPS;
		double most_ns = back_ns > wire_ns ? back_ns : wire_ns;

		ret->operation_bytes = (uint64_t)((back_ns > wire_ns ? back_bytes : bytes) + 0.5);
		ret->percent = 100 * most_ns / (wire_ns + back_ns + FOOTPRINT_ROUND_TRIP_NS);
		return;
	}
	ret->is_unanswered = workload_is_lossy(workload) && settings->pattern == PATTERN_STREAM;
	/* There and, answered with the same, back. */
	ret->percent =
		ret->outstanding > 1 || ret->is_unanswered
			? 100
			: of_both(ret, 100 * wire_ns / (2 * wire_ns + FOOTPRINT_ROUND_TRIP_NS));
}

bool footprint_is_disruptive(const struct footprint *footprint)
{
	return footprint->percent > FOOTPRINT_LIMIT_PERCENT;
}

void footprint_say(const struct footprint *footprint, char *ret, size_t size)
{
	char bytes[UNITS_SIZE];
	char rate[UNITS_SIZE];

	if (footprint->is_open && footprint->burst_ns > FOOTPRINT_BURST_NS) {
		snprintf(
			ret, size,
			"%" PRIu64
			" operations of %s, which load.max_outstanding lets be in flight at once, hold a port of "
			"100 Gbit/s for %s, so that others wait behind them (100 %% of its rate)",
			footprint->outstanding, units_write_size(footprint->burst_bytes, bytes),
			units_format_duration(footprint->burst_ns, rate));
		return;
	}
	if (footprint->is_open) {
		snprintf(
			ret, size,
			"an open load of %s in operations of %s%s takes %.0f %% of a port of 100 Gbit/s",
			units_format_rate(footprint->payload_bps, rate),
			units_write_size(footprint->operation_bytes, bytes),
			footprint->is_mutual ? ", from both ends," : "", footprint->percent);
		return;
	}
	if (footprint->is_connecting) {
		snprintf(
			ret, size,
			"%" PRIu64
			" connections under way at once, above %d, keep the one connection manager of a host busy, so that the "
			"connections of others wait (100 %% of its time)",
			footprint->outstanding, FOOTPRINT_CONNECTIONS);
		return;
	}
	if (footprint->is_unanswered) {
		snprintf(
			ret, size,
			"a closed load on a transport without acknowledgements sends the next message as soon as the last "
			"one has left, and fills the port (100 %% of its rate)");
		return;
	}
	if (footprint->outstanding > 1) {
		snprintf(
			ret, size,
			"%" PRIu64
			" operations under way without a limit on their rate fill the port (100 %% of its rate)",
			footprint->outstanding);
		return;
	}
	snprintf(ret, size,
		 "one operation of %s on average at a time%s takes %.0f %% of a port of 100 Gbit/s",
		 units_write_size(footprint->operation_bytes, bytes),
		 footprint->is_mutual ? ", from either end," : "", footprint->percent);
}
