// SPDX-License-Identifier: MIT
#include "engine/traffic.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/connects.h"
#include "engine/flow.h"
#include "engine/inspect.h"
#include "engine/pingpong.h"
#include "engine/responder.h"
#include "engine/stream.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/thread.h"

struct traffic {
	bool is_passive;
	uint64_t started_mono_ns; /* the same moment as started_ticks */
	uint64_t started_ticks;
	struct flow flow; /* not used when passive */
};

/* What takes receives, and in a pingpong what places its payload, needs somebody at the other end.
 */
static bool needs_nobody(const struct assignment *assignment)
{
	const struct workload_settings *workload = &assignment->workload.workload;

	if (assignment->role == ROLE_INITIATOR || workload->direction == DIRECTION_BOTH ||
	    workload_is_connecting(&assignment->workload)) {
		return false;
	}
	return !operation_any(workload->ops, workload->op_count,
			      OPERATION_TAKES_RECEIVE | (workload_is_answered(&assignment->workload)
								 ? OPERATION_PLACES
								 : 0)) &&
	       !workload_takes_receives(&assignment->workload);
}

static const struct flow_pattern *choose_pattern(const struct assignment *assignment)
{
	switch (assignment->workload.workload.pattern) {
	case PATTERN_PINGPONG:
	case PATTERN_REQUEST_RESPONSE:
		return &pingpong_pattern;
	case PATTERN_STREAM:
		return assignment->role == ROLE_INITIATOR ||
				       assignment->workload.workload.direction == DIRECTION_BOTH
			       ? &stream_pattern
			       : &responder_pattern;
	case PATTERN_CONNECT:
		return &connects_pattern;
	default:
		return NULL;
	}
}

int traffic_new(struct traffic **ret_traffic, struct resources *resources,
		const struct assignment *assignment, const struct endpoint_info *remote,
		struct error *err)
{
	_cleanup_free_ struct traffic *traffic = memory_new(sizeof(*traffic));
	const struct flow_pattern *pattern = choose_pattern(assignment);
	int ret;

	if (!pattern) {
		return error_set(err, -EOPNOTSUPP, ERROR_INPUT,
				 "workload.pattern %d is not known to this version",
				 assignment->workload.workload.pattern);
	}
	traffic->is_passive = needs_nobody(assignment);
	if (assignment->role == ROLE_RESPONDER && resources->layout.fetched_slots > 0) {
		inspect_lay_out(resources, &assignment->workload);
	}
	if (!traffic->is_passive) {
		ret = flow_init(&traffic->flow, pattern, resources, assignment, remote, err);
		if (ret < 0) {
			return ret;
		}
	}
	*ret_traffic = take(traffic);
	return 0;
}

void traffic_free(struct traffic *traffic)
{
	if (traffic && !traffic->is_passive) {
		flow_done(&traffic->flow);
	}
	free(traffic);
}

bool traffic_may_sleep(const struct traffic *traffic)
{
	return !traffic->is_passive &&
	       (traffic->flow.resources->channel || traffic->flow.pattern->sleep_fd);
}

bool traffic_is_passive(const struct traffic *traffic)
{
	return traffic->is_passive;
}

void traffic_start(struct traffic *traffic)
{
	traffic->started_mono_ns = clock_mono_ns();
	flow_start(&traffic->flow);
	traffic->started_ticks = traffic->flow.window.started_ticks;
}

bool traffic_step(struct traffic *traffic, bool *ret_found)
{
	return flow_step(&traffic->flow, ret_found);
}

uint64_t traffic_left_ns(const struct traffic *traffic)
{
	uint64_t next_ticks = flow_next_ticks(&traffic->flow);
	uint64_t now_ticks = clock_ticks();

	return next_ticks > now_ticks
		       ? clock_ticks_to_ns(&traffic->flow.window.scale, next_ticks - now_ticks)
		       : 0;
}

int traffic_sleep_fd(struct traffic *traffic)
{
	return flow_sleep_fd(&traffic->flow);
}

void traffic_stop(struct traffic *traffic)
{
	flow_stop(&traffic->flow);
}

uint64_t traffic_next_mono_ns(const struct traffic *traffic)
{
	uint64_t next_ticks = flow_next_ticks(&traffic->flow);
	const struct clock_scale *scale = &traffic->flow.window.scale;
	uint64_t ticks = next_ticks > traffic->started_ticks ? next_ticks - traffic->started_ticks
							     : 0;
	/* Rounded up: whoever waits until then must find it due. */
	unsigned __int128 scaled =
		(unsigned __int128)ticks * scale->mult + ((1ull << scale->shift) - 1);

	return traffic->started_mono_ns + (uint64_t)(scaled >> scale->shift);
}

bool traffic_has_posted(const struct traffic *traffic)
{
	return traffic->flow.has_begun;
}

bool traffic_progress(struct traffic *traffic, struct progress *ret)
{
	struct window *window = &traffic->flow.window;

	if (!window->has_progress) {
		return false;
	}
	window->has_progress = false;
	*ret = window->progress;
	return true;
}

void traffic_progress_again(struct traffic *traffic)
{
	traffic->flow.window.has_progress = true;
}

static void move_classes(struct flow *flow, struct totals *ret)
{
	ret->class_count = flow->class_count;
	ret->classes = memory_new_array(flow->class_count, sizeof(*ret->classes));
	for (size_t i = 0; i < flow->class_count; i++) {
		ret->classes[i].class = flow->classes[i];
		ret->classes[i].latency = flow->window.latency[i];
		if (flow->window.service) {
			ret->classes[i].service = memory_new(sizeof(*ret->classes[i].service));
			*ret->classes[i].service = flow->window.service[i];
		}
	}
	flow->pattern->class_totals(flow, ret->classes);
}

/* What the thread knows of itself; it is still on it. */
static void tell_host(const struct flow *flow, struct totals *ret)
{
	int cpu = thread_cpu();

	ret->host.is_read = true;
	ret->host.cpu = cpu >= 0 ? (uint64_t)cpu : HOST_UNKNOWN;
	if (flow->has_begun) {
		ret->host.longest_gap_ns =
			clock_ticks_to_ns(&flow->window.scale, flow->longest_gap_ticks);
	}
}

static void name_queue_pairs(const struct flow *flow, struct slowest *slowest)
{
	for (size_t i = 0; i < slowest->count; i++) {
		slowest->items[i].qp_num = flow->resources->qps[slowest->items[i].qp_index]->qp_num;
	}
}

void traffic_totals(struct traffic *traffic, struct totals *ret)
{
	struct flow *flow = &traffic->flow;
	const struct window *window = &flow->window;
	bool is_pingpong = flow->assignment->workload.workload.pattern == PATTERN_PINGPONG;
	struct window_counts counts = { 0 };

	sample_totals_init(ret);
	ret->is_round_trip = flow->assignment->workload.workload.pattern ==
			     PATTERN_REQUEST_RESPONSE;
	ret->end = flow->end;
	ret->errors = flow->errors;
	ret->receives = flow->receives;
	ret->failure = flow->failure;
	ret->has_verification = flow->pattern->verification &&
				flow->pattern->verification(flow, &ret->verification);
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		ret->is_half_round_trip[kind] = is_pingpong &&
						!(operation_traits(kind) & OPERATION_FETCHES);
	}
	if (!flow->is_answering && flow->first_post_ticks > 0) {
		ret->first_post_ns = clock_ticks_to_ns(
			&window->scale, flow->first_post_ticks - traffic->started_ticks);
	}
	flow->pattern->counts(flow, &counts);
	ret->traffic_operations = counts.operations;
	ret->traffic_bytes = counts.bytes;
	window_totals(&flow->window, ret);
	name_queue_pairs(flow, &ret->slowest);
	tell_host(flow, ret);
	if (flow->pattern->class_totals) {
		move_classes(flow, ret);
	}
	if (flow->pattern->connections) {
		ret->connections = flow->pattern->connections(flow);
	}
}
