// SPDX-License-Identifier: MIT
#include "model/footprint.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/units.h"

/* Of one entry of workload.ops. */
static double mean_size_bytes(const struct operation *op)
{
	double bytes = 0;
	double weights = 0;

	for (size_t i = 0; i < op->size_count; i++) {
		bytes += (double)op->sizes[i].size_bytes * (double)op->sizes[i].weight;
		weights += (double)op->sizes[i].weight;
	}
	return weights > 0 ? bytes / weights : 0;
}

static double mean_operation_bytes(const struct workload_settings *settings)
{
	double bytes = 0;
	double weights = 0;

	for (size_t i = 0; i < settings->op_count; i++) {
		bytes += mean_size_bytes(&settings->ops[i]) * (double)settings->ops[i].weight;
		weights += (double)settings->ops[i].weight;
	}
	return weights > 0 ? bytes / weights : 0;
}

void footprint_of(const struct workload *workload, struct footprint *ret)
{
	const struct workload_settings *settings = &workload->workload;
	double bytes = mean_operation_bytes(settings);
	double wire_ns = bytes * 8e9 / (double)FOOTPRINT_RATE_BPS;

	ret->outstanding = settings->pattern == PATTERN_PINGPONG ? 1 : settings->load.outstanding;
	ret->operation_bytes = (uint64_t)(bytes + 0.5);
	/* There and, answered with the same, back. */
	ret->percent = ret->outstanding > 1
			       ? 100
			       : 100 * wire_ns / (2 * wire_ns + FOOTPRINT_ROUND_TRIP_NS);
}

bool footprint_is_disruptive(const struct footprint *footprint)
{
	return footprint->percent > FOOTPRINT_LIMIT_PERCENT;
}

void footprint_say(const struct footprint *footprint, char *ret, size_t size)
{
	char bytes[UNITS_SIZE];

	if (footprint->outstanding > 1) {
		snprintf(
			ret, size,
			"%" PRIu64
			" operations under way without a limit on their rate fill the port (100 %% of its rate)",
			footprint->outstanding);
		return;
	}
	snprintf(ret, size,
		 "one operation of %s on average at a time takes %.0f %% of a port of 100 Gbit/s",
		 units_write_size(footprint->operation_bytes, bytes), footprint->percent);
}
