// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fleet/permit_internal.h"
#include "util/units.h"

/* What this node does for itself is its own affair. */
static bool is_of_peer(const struct permit_request *request)
{
	return strcmp(request->coordinator, request->local_node) != 0;
}

enum permit_answer permit_peer_hour(struct permit_request *request, struct error *err)
{
	uint64_t limit_ns = request->limits->max_peer_time_ns;
	uint64_t used_ns = request->usage->peer_traffic_ns;
	uint64_t expected_ns = workload_expected_ns(&request->assignment->workload);
	char limit[UNITS_SIZE];
	char used[UNITS_SIZE];
	char is[UNITS_SIZE];

	/* How long counted operations take is known behind them. */
	expected_ns = expected_ns == UINT64_MAX ? 0 : expected_ns;
	if (!is_of_peer(request) || (used_ns < limit_ns && expected_ns <= limit_ns - used_ns)) {
		return PERMIT_YES;
	}
	error_set(
		err, -EPERM, ERROR_RESOURCE,
		"jobs of \"%s\" had traffic on \"%s\" for %s in the last hour; with %s more it would be "
		"above limits.max_peer_time %s there; run it when that hour is over, shorten it, or "
		"raise the limit there",
		request->coordinator, request->local_node, units_format_duration(used_ns, used),
		units_format_duration(expected_ns, is), units_write_duration(limit_ns, limit));
	return permit_refuse(err, STAGE_RESOURCE, "permit");
}

enum permit_answer permit_peer_room(struct permit_request *request, struct error *err)
{
	uint64_t limit = request->limits->max_jobs_per_peer;
	uint64_t jobs = request->usage->peer_jobs;

	if (!is_of_peer(request) || jobs < limit) {
		return PERMIT_YES;
	}
	error_set(
		err, -EBUSY, ERROR_PEER,
		"\"%s\" runs %" PRIu64
		" jobs of \"%s\" already, as many as its limits.max_jobs_per_peer allows; wait for "
		"them, or raise the limit there",
		request->local_node, jobs, request->coordinator);
	permit_refuse(err, STAGE_RESOURCE, "busy");
	return PERMIT_BUSY;
}
