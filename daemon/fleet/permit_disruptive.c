// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>

#include "fleet/permit_internal.h"
#include "model/footprint.h"
#include "util/units.h"

static enum permit_answer check_word(struct permit_request *request, struct error *err)
{
	struct footprint footprint;
	char said[LIMIT_TEXT / 2];

	/* The coordinator's word is not needed to see it. */
	footprint_of(&request->assignment->workload, &footprint);
	if (!footprint_is_disruptive(&footprint) || request->assignment->is_disruptive) {
		return PERMIT_YES;
	}
	footprint_say(&footprint, said, sizeof(said));
	error_set(err, -EINVAL, ERROR_INPUT,
		  "the assignment of \"%s\" does not say that it is disruptive: %s, above %d %%; "
		  "write disruptive: true in its scenario there",
		  request->coordinator, said, FOOTPRINT_LIMIT_PERCENT);
	return permit_refuse(err, STAGE_RESOURCE, "assignment");
}

enum permit_answer permit_disruptive_check(struct permit_request *request, struct error *err)
{
	enum permit_answer answer = check_word(request, err);

	if (answer != PERMIT_YES || !request->assignment->is_disruptive ||
	    request->limits->allow_disruptive != ALLOW_DISRUPTIVE_NEVER) {
		return answer;
	}
	error_set(
		err, -EPERM, ERROR_RESOURCE,
		"\"%s\" takes no disruptive scenario: its limits.allow_disruptive is never; run it "
		"between other nodes, or write when_idle or always there",
		request->local_node);
	return permit_refuse(err, STAGE_RESOURCE, "permit");
}

#define HOUR_NS (3600ull * 1000000000)

enum permit_answer permit_disruptive_duty(struct permit_request *request, struct error *err)
{
	const struct assignment *assignment = request->assignment;
	uint64_t expected_ns = workload_expected_ns(&assignment->workload);
	uint64_t limit_ns = request->limits->duty_cycle_ppm * (HOUR_NS / 1000000);
	uint64_t used_ns = request->usage->disruptive_ns;
	char share[UNITS_SIZE];
	char limit[UNITS_SIZE];
	char is[UNITS_SIZE];
	char used[UNITS_SIZE];

	if (!assignment->is_disruptive || !assignment->is_scheduled) {
		return PERMIT_YES;
	}
	/* How long counted operations take is known behind them. */
	expected_ns = expected_ns == UINT64_MAX ? 0 : expected_ns;
	units_write_ratio(request->limits->duty_cycle_ppm, share);
	units_format_duration(limit_ns, limit);
	units_format_duration(expected_ns, is);
	if (limit_ns == 0) {
		error_set(
			err, -EPERM, ERROR_RESOURCE,
			"\"%s\" takes no scheduled disruptive run: its limits.duty_cycle is %s; start "
			"it by hand, or raise the limit there",
			request->local_node, share);
		return permit_refuse(err, STAGE_RESOURCE, "permit");
	}
	if (expected_ns > limit_ns) {
		error_set(
			err, -EPERM, ERROR_RESOURCE,
			"run.warmup and run.duration, together %s, are above limits.duty_cycle %s of "
			"\"%s\", %s of each hour; shorten the run, start it by hand, or raise the "
			"limit there",
			is, share, request->local_node, limit);
		return permit_refuse(err, STAGE_RESOURCE, "permit");
	}
	if (used_ns < limit_ns && expected_ns <= limit_ns - used_ns) {
		return PERMIT_YES;
	}
	error_set(err, -EBUSY, ERROR_PEER,
		  "%s port %" PRIu64 " of \"%s\" had disruptive traffic for %s in the last hour "
		  "(what met congestion counts four times); "
		  "with %s more it would be above limits.duty_cycle %s there, %s",
		  request->local->device, request->local->port_num, request->local_node,
		  units_format_duration(used_ns, used), is, share, limit);
	permit_refuse(err, STAGE_RESOURCE, "duty_cycle");
	return PERMIT_BUSY;
}

bool permit_disruptive_needs_look(const struct assignment *assignment,
				  const struct limit_settings *limits)
{
	return assignment->is_disruptive && limits->allow_disruptive != ALLOW_DISRUPTIVE_NEVER;
}

enum permit_answer permit_disruptive_idle(struct permit_request *request, struct error *err)
{
	const struct port_use *use = request->usage->port;
	char said[LIMIT_TEXT / 2];

	/* Where it is always let begin, who was there stands in the result. */
	if (!request->assignment->is_disruptive ||
	    request->limits->allow_disruptive != ALLOW_DISRUPTIVE_WHEN_IDLE || use == NULL ||
	    port_use_state(use) != PORT_USE_BUSY) {
		return PERMIT_YES;
	}
	port_use_say(use, said, sizeof(said));
	error_set(err, -EBUSY, ERROR_PEER,
		  "others use %s port %" PRIu64 " of \"%s\": %s; its limits.allow_disruptive is "
		  "when_idle: under %d %% and no connected queue pair of others",
		  request->local->device, request->local->port_num, request->local_node, said,
		  PORT_USE_LIMIT_PERCENT);
	permit_refuse(err, STAGE_RESOURCE, "in_use");
	return PERMIT_BUSY;
}
