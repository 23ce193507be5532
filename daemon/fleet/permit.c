// SPDX-License-Identifier: MIT
#include "fleet/permit.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "fleet/permit_internal.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/units.h"

#define RETRY_AFTER_NS 1000000000ull
/* Who uses a port will not be done within a second. */
#define IN_USE_RETRY_AFTER_NS (5 * RETRY_AFTER_NS)

enum permit_answer permit_refuse(struct error *err, enum error_stage stage, const char *call)
{
	err->stage = stage;
	text_copy(err->call, sizeof(err->call), call);
	return PERMIT_NO;
}

static enum permit_answer refuse_assignment(struct error *err)
{
	return permit_refuse(err, STAGE_RESOURCE, "assignment");
}

static enum permit_answer refuse_limit(struct error *err)
{
	return permit_refuse(err, STAGE_RESOURCE, "permit");
}

static bool is_own_run(const struct permit_request *request)
{
	return strcmp(request->coordinator, request->local_node) == 0;
}

/* --- who asks, and whether it is meant for us --- */

static enum permit_answer check_parties(struct permit_request *request, struct error *err)
{
	const struct assignment *assignment = request->assignment;

	if (strcmp(assignment->coordinator, request->coordinator) != 0) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment names \"%s\" as coordinator, but it came from \"%s\"",
			  assignment->coordinator, request->coordinator);
		return refuse_assignment(err);
	}
	if (assignment->role != ROLE_INITIATOR && assignment->role != ROLE_RESPONDER) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment's role %d is neither initiator nor responder",
			  assignment->role);
		return refuse_assignment(err);
	}
	request->local = assignment_local(assignment);
	if (strcmp(request->local->node, request->local_node) != 0) {
		error_set(err, -EINVAL, ERROR_INPUT,
			  "the assignment's %s is node \"%s\", but this is \"%s\"; check the "
			  "addresses in peers of \"%s\"",
			  job_role_names[assignment->role], request->local->node,
			  request->local_node, request->coordinator);
		return refuse_assignment(err);
	}
	return PERMIT_YES;
}

static enum permit_answer check_coordinator(struct permit_request *request, struct error *err)
{
	if (is_own_run(request) || labels_selector_matches(&request->limits->accept_from,
							   request->coordinator, request->labels)) {
		return PERMIT_YES;
	}
	error_set(err, -EPERM, ERROR_RESOURCE,
		  "\"%s\" takes no part in runs of \"%s\": limits.accept_from in its configuration "
		  "does not select that node%s",
		  request->local_node, request->coordinator,
		  request->labels ? ""
				  : ", which is not in its peers, so that its labels are unknown");
	return refuse_limit(err);
}

static enum permit_answer check_assignment(struct permit_request *request, struct error *err)
{
	if (assignment_check(request->assignment, err) < 0) {
		error_prefix(err, "the assignment of \"%s\"", request->coordinator);
		return refuse_assignment(err);
	}
	return PERMIT_YES;
}

/* --- configured limits --- */

/* How long this end may be kept at work: by its own clock, whatever the other end does. */
static bool is_too_long(const struct workload *workload, uint64_t limit_ns)
{
	uint64_t expected_ns = workload_expected_ns(workload);

	/* Counted operations end by their timeout; a duration may be waited for up to a written
	 * one. */
	return (expected_ns != CLOCK_NEVER && expected_ns > limit_ns) ||
	       ((expected_ns == CLOCK_NEVER || workload->run.timeout_ns != SCHEMA_AUTO) &&
		workload_timeout_ns(workload) > limit_ns);
}

static enum permit_answer check_duration(struct permit_request *request, struct error *err)
{
	const struct workload *workload = &request->assignment->workload;
	uint64_t limit_ns = request->limits->max_duration_ns;
	uint64_t expected_ns = workload_expected_ns(workload);
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (is_own_run(request) || !is_too_long(workload, limit_ns)) {
		return PERMIT_YES;
	}
	units_write_duration(limit_ns, may);
	if (expected_ns != CLOCK_NEVER && expected_ns > limit_ns) {
		units_write_duration(expected_ns, is);
		error_set(
			err, -EPERM, ERROR_RESOURCE,
			"run.warmup and run.duration, together %s, are above limits.max_duration %s of "
			"\"%s\"; shorten the run, or raise the limit there",
			is, may, request->local_node);
	} else {
		units_write_duration(workload_timeout_ns(workload), is);
		error_set(
			err, -EPERM, ERROR_RESOURCE,
			"%s may take until run.timeout, %s, above limits.max_duration %s of \"%s\"; "
			"set run.timeout to %s or less in the scenario, or raise the limit there",
			workload->run.iterations ? "run.iterations" : "the run", is, may,
			request->local_node, may);
	}
	return refuse_limit(err);
}

static enum permit_answer check_maxima(struct permit_request *request, struct error *err)
{
	uint64_t num_qps = request->assignment->workload.qp.num_qps;
	uint64_t pinned_bytes = assignment_pinned_bytes(request->assignment);
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (num_qps > request->limits->max_qps) {
		error_set(err, -EPERM, ERROR_RESOURCE,
			  "qp.num_qps %" PRIu64 " is above limits.max_qps %" PRIu64
			  " of \"%s\"; use fewer, or raise the limit there",
			  num_qps, request->limits->max_qps, request->local_node);
		return refuse_limit(err);
	}
	if (pinned_bytes > request->limits->max_pinned_bytes) {
		error_set(
			err, -EPERM, ERROR_RESOURCE,
			"the buffers take %s of pinned memory, above limits.max_pinned_memory %s of \"%s\"; "
			"use smaller sizes or fewer queue pairs, or raise the limit there",
			units_write_size(pinned_bytes, is),
			units_write_size(request->limits->max_pinned_bytes, may),
			request->local_node);
		return refuse_limit(err);
	}
	if (request->usage->is_stopping) {
		error_set(
			err, -ESHUTDOWN, ERROR_RESOURCE,
			"\"%s\" is stopping and takes no new job; run it again when the daemon is back",
			request->local_node);
		return refuse_limit(err);
	}
	return PERMIT_YES;
}

/* --- what comes right by waiting; asked last, so that nobody waits for what can never be --- */

static enum permit_answer check_room(struct permit_request *request, struct error *err)
{
	const struct limit_settings *limits = request->limits;
	const struct permit_usage *usage = request->usage;
	uint64_t num_qps = request->assignment->workload.qp.num_qps;
	uint64_t pinned_bytes = assignment_pinned_bytes(request->assignment);
	char is[UNITS_SIZE];
	char may[UNITS_SIZE];

	if (usage->is_endpoint_busy) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "%s port %" PRIu64
			  " of \"%s\" runs another job; a port runs one at a time",
			  request->local->device, request->local->port_num, request->local_node);
	} else if (usage->jobs >= limits->max_concurrent_jobs) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "\"%s\" runs %" PRIu64
			  " jobs, as many as its limits.max_concurrent_jobs allows",
			  request->local_node, usage->jobs);
	} else if (usage->qps > limits->max_qps || num_qps > limits->max_qps - usage->qps) {
		error_set(err, -EBUSY, ERROR_PEER,
			  "other jobs on \"%s\" hold %" PRIu64
			  " queue pairs; with qp.num_qps %" PRIu64
			  " more they would be above its limits.max_qps %" PRIu64,
			  request->local_node, usage->qps, num_qps, limits->max_qps);
	} else if (usage->pinned_bytes > limits->max_pinned_bytes ||
		   pinned_bytes > limits->max_pinned_bytes - usage->pinned_bytes) {
		error_set(
			err, -EBUSY, ERROR_PEER,
			"other jobs on \"%s\" hold pinned memory; with %s more it would be above its "
			"limits.max_pinned_memory %s",
			request->local_node, units_write_size(pinned_bytes, is),
			units_write_size(limits->max_pinned_bytes, may));
	} else {
		return PERMIT_YES;
	}
	permit_refuse(err, STAGE_RESOURCE, "busy");
	return PERMIT_BUSY;
}

enum permit_answer permit_check(const struct assignment *assignment, const char *coordinator,
				const struct labels *labels, const char *local_node,
				const struct inventory *inventory,
				const struct limit_settings *limits,
				const struct permit_usage *usage, uint64_t *ret_retry_after_ns,
				struct error *err)
{
	static enum permit_answer (*const checks[])(struct permit_request * request,
						    struct error * err) = {
		check_parties,	   check_coordinator,	   check_assignment,
		check_duration,	   check_maxima,	   permit_disruptive_check,
		permit_port_check, permit_peer_hour,	   check_room,
		permit_peer_room,  permit_disruptive_duty, permit_disruptive_idle,
	};
	struct permit_request request = {
		.assignment = assignment,
		.coordinator = coordinator,
		.labels = labels,
		.local_node = local_node,
		.inventory = inventory,
		.limits = limits,
		.usage = usage,
	};
	struct error reason = ERROR_INIT;

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		enum permit_answer answer = checks[i](&request, &reason);

		if (answer != PERMIT_YES) {
			if (answer == PERMIT_BUSY) {
				*ret_retry_after_ns = strcmp(reason.call, "busy") == 0
							      ? RETRY_AFTER_NS
							      : IN_USE_RETRY_AFTER_NS;
			}
			if (err && !error_is_set(err)) {
				*err = reason;
			}
			return answer;
		}
	}
	return PERMIT_YES;
}
