// SPDX-License-Identifier: MIT
#include "engine/connects.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"
#include "verbs/cm_rounds.h"

#define SETUP_CLASS 0 /* the one histogram of the window */

struct connects {
	struct flow *flow;
	struct connections *totals;
	uint64_t completed; /* since traffic began */
	uint64_t wanted; /* when it is done; CLOCK_NEVER: without end */
	bool is_closing;
	bool has_opened; /* responder */
};

/* --- what happens to connections --- */

static void on_arrived(void *arg)
{
	struct connects *connects = arg;

	if (!connects->has_opened) {
		connects->has_opened = true;
		flow_arrived(connects->flow);
	}
}

static void on_completed(void *arg, const uint64_t phase_ns[CONNECTION_PHASES])
{
	struct connects *connects = arg;
	struct flow *flow = connects->flow;
	bool is_initiator = !flow->is_answering;

	connects->completed++;
	if (!window_is_open(&flow->window)) {
		return;
	}
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		if (connections_has_phase(is_initiator, phase)) {
			histogram_add(&connects->totals->phases[phase].latency, phase_ns[phase]);
		}
	}
	histogram_add(&flow->window.interval[SETUP_CLASS], phase_ns[CONNECTION_SETUP]);
}

static void on_failed(void *arg, int phase)
{
	struct connects *connects = arg;

	connects->totals->phases[phase].failed++;
}

static const struct cm_rounds_events events = { .arrived = on_arrived,
						.completed = on_completed,
						.failed = on_failed };

/* --- the pattern --- */

static int connects_prepare(struct flow *flow, struct error *err)
{
	struct connects *connects;

	if (!flow->resources->cm) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.pattern: connect needs qp.cm: rdma_cm");
	}
	connects = memory_new(sizeof(*connects));
	flow->own = connects;
	connects->flow = flow;
	connects->wanted = CLOCK_NEVER;
	connects->totals = memory_new(sizeof(*connects->totals));
	connections_init(connects->totals);
	cm_rounds_open(flow->resources->cm, &events, connects, 0);
	return 0;
}

static void connects_release(struct flow *flow)
{
	struct connects *connects = flow->own;

	if (connects) {
		free(connects->totals);
		free(connects);
	}
	flow->own = NULL;
}

static void connects_begin(struct flow *flow, uint64_t iterations)
{
	struct connects *connects = flow->own;

	connects->is_closing = false;
	connects->wanted = iterations > 0 ? connects->completed + iterations : CLOCK_NEVER;
	cm_rounds_open(flow->resources->cm, &events, connects, iterations);
}

static void look_whether_done(struct flow *flow, uint64_t now_ticks)
{
	struct connects *connects = flow->own;

	if (flow->state == FLOW_RUNNING && connects->completed >= connects->wanted) {
		flow_finish(flow, now_ticks);
	} else if (flow->state == FLOW_CLOSING && connects->is_closing &&
		   cm_rounds_under_way(flow->resources->cm) == 0) {
		connects->is_closing = false;
		flow_drained(flow, now_ticks);
	}
}

/* When a phase has lasted too long, whatever comes meanwhile. */
static void plan_deadline(struct flow *flow, uint64_t now_ticks)
{
	uint64_t deadline_mono_ns = cm_deadline_mono_ns(flow->resources->cm);
	uint64_t now_mono_ns = clock_mono_ns();

	flow->pace_ticks =
		deadline_mono_ns == CLOCK_NEVER
			? CLOCK_NEVER
			: now_ticks + clock_ns_to_ticks(&flow->window.scale,
							deadline_mono_ns > now_mono_ns
								? deadline_mono_ns - now_mono_ns
								: 0);
}

static bool connects_burst(struct flow *flow)
{
	struct error err = ERROR_INIT;
	int taken = cm_rounds_step(flow->resources->cm, &err);
	uint64_t now_ticks = clock_ticks();

	flow->polls++;
	if (taken < 0) {
		fault_manager(flow, &err, now_ticks);
		return true;
	}
	if (taken > 0) {
		flow->found_ticks = now_ticks;
		look_whether_done(flow, now_ticks);
	} else {
		flow->empty_polls++;
	}
	if (flow->state <= FLOW_CLOSING && now_ticks >= flow->window.next_ticks) {
		flow_tick(flow, now_ticks);
	}
	plan_deadline(flow, now_ticks);
	return taken > 0;
}

static void connects_mark(struct flow *flow)
{
	(void)flow; /* the window's counts say it all */
}

static void connects_close(struct flow *flow, uint64_t now_ticks)
{
	struct connects *connects = flow->own;

	cm_rounds_close(flow->resources->cm);
	connects->is_closing = true;
	look_whether_done(flow, now_ticks);
}

static void connects_counts(const struct flow *flow, struct window_counts *ret)
{
	const struct connects *connects = flow->own;

	ret->operations = connects->completed;
}

static bool connects_is_waiting(const struct flow *flow)
{
	return !flow->is_answering && cm_rounds_under_way(flow->resources->cm) > 0;
}

static void connects_describe(const struct flow *flow, char *text, size_t size_bytes)
{
	const struct cm *cm = flow->resources->cm;
	uint64_t since_mono_ns = 0;
	int phase = cm_rounds_oldest(cm, &since_mono_ns);

	snprintf(text, size_bytes,
		 "%zu connections to node \"%s\" are under way, the oldest is in phase %s",
		 cm_rounds_under_way(cm), assignment_remote(flow->assignment)->node,
		 phase >= 0 ? connection_phase_names[phase] : "none");
}

static int connects_operation(const struct flow *flow, uint64_t wr_id, size_t *ret_qp)
{
	(void)flow;
	(void)wr_id;
	(void)ret_qp;
	return -1;
}

static int connects_sleep_fd(const struct flow *flow)
{
	return cm_fd(flow->resources->cm);
}

static struct connections *connects_connections(struct flow *flow)
{
	struct connects *connects = flow->own;
	const struct cm *cm = flow->resources->cm;

	if (flow->end == END_STALLED || flow->end == END_DEADLINE) {
		cm_rounds_abandon(flow->resources->cm);
	}
	connects->totals->retried = cm_rounds_retried(cm);
	connects->totals->refused = cm_rounds_refused(cm);
	return take(connects->totals);
}

const struct flow_pattern connects_pattern = {
	.name = "connects",
	.is_connecting = true,
	.prepare = connects_prepare,
	.release = connects_release,
	.begin = connects_begin,
	.burst = connects_burst,
	.mark_open = connects_mark,
	.mark_close = connects_mark,
	.close = connects_close,
	.counts = connects_counts,
	.is_waiting = connects_is_waiting,
	.describe = connects_describe,
	.operation = connects_operation,
	.sleep_fd = connects_sleep_fd,
	.connections = connects_connections,
};
