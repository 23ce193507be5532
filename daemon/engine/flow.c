// SPDX-License-Identifier: MIT
#include "engine/flow.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "engine/fault.h"
#include "engine/flush.h"
#include "model/load.h"
#include "util/memory.h"
#include "verbs/notify.h"
#include "verbs/sge.h"

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t ticks_of(const struct flow *flow, uint64_t ns)
{
	return clock_ns_to_ticks(&flow->window.scale, ns);
}

/* run.timeout, but never for ever; see WORKLOAD_GRACE_NS. */
static uint64_t deadline_ns(const struct flow *flow)
{
	uint64_t timeout_ns = workload_timeout_ns(&flow->assignment->workload);

	return earlier(timeout_ns, LIMIT_RUN_DURATION_NS) +
	       (flow->is_answering ? WORKLOAD_GRACE_NS : 0);
}

/* A peer's word on where it may be written and read is checked before a device is pointed there. */
static int check_remote(const struct flow *flow, struct error *err)
{
	const struct endpoint_info *remote = flow->remote;
	const struct resources *resources = flow->resources;
	bool is_one_sided = false;

	for (size_t i = 0; i < flow->class_count; i++) {
		is_one_sided |= operation_traits(flow->classes[i].kind) & OPERATION_IS_ONE_SIDED;
	}
	if (remote->qp_count != resources->qp_count) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "node \"%s\" prepared %zu queue pairs for our %zu",
				 assignment_remote(flow->assignment)->node, remote->qp_count,
				 resources->qp_count);
	}
	if (is_one_sided && remote->buffer_bytes < resources->layout.total_bytes) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "node \"%s\" prepared a buffer of %llu bytes, this job needs %llu",
				 assignment_remote(flow->assignment)->node,
				 (unsigned long long)remote->buffer_bytes,
				 (unsigned long long)resources->layout.total_bytes);
	}
	return 0;
}

static int expand_classes(struct flow *flow, struct error *err)
{
	const struct workload *workload = &flow->assignment->workload;
	uint64_t max_inline_bytes =
		earlier(workload->qp.max_inline_data, flow->resources->max_inline_data);
	uint64_t total;

	if (flow->pattern->is_connecting) {
		/* Of the whole set-up: for the intervals. */
		flow->class_count = 1;
		return 0;
	}
	flow->class_count = operation_classes(workload->workload.ops, workload->workload.op_count,
					      max_inline_bytes, flow->classes, &total);
	if (flow->class_count == 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.ops: needs 1 to %d pairs of operation and size",
				 LIMIT_CLASSES);
	}
	for (size_t i = 0; i < flow->class_count; i++) {
		const struct operation_class *class = &flow->classes[i];
		uint64_t largest_bytes = class->response_bytes > class->size_bytes
						 ? class->response_bytes
						 : class->size_bytes;

		if (class->is_inline && class->size_bytes > max_inline_bytes) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "workload.ops: inline %s of %llu bytes is above the %llu "
					 "bytes that %s sends inline",
					 operation_names[class->kind],
					 (unsigned long long)class->size_bytes,
					 (unsigned long long)max_inline_bytes,
					 assignment_local(flow->assignment)->device);
		}
		if (class->is_response_inline && class->response_bytes > max_inline_bytes) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "workload.ops: inline response of %llu bytes is above the "
					 "%llu bytes that %s sends inline",
					 (unsigned long long)class->response_bytes,
					 (unsigned long long)max_inline_bytes,
					 assignment_local(flow->assignment)->device);
		}
		if (largest_bytes > flow->resources->layout.slot_bytes ||
		    largest_bytes > UINT32_MAX) {
			return error_set(err, -EINVAL, ERROR_BUG,
					 "a size of %llu bytes is above the buffer's %llu",
					 (unsigned long long)largest_bytes,
					 (unsigned long long)flow->resources->layout.slot_bytes);
		}
	}
	return 0;
}

int flow_init(struct flow *flow, const struct flow_pattern *pattern, struct resources *resources,
	      const struct assignment *assignment, const struct endpoint_info *remote,
	      struct error *err)
{
	const struct run_settings *run = &assignment->workload.run;
	bool is_mutual = assignment->workload.workload.direction == DIRECTION_BOTH;
	struct endpoint_info *copy = memory_new(sizeof(*copy));
	int ret;

	*copy = *remote;
	*flow = (struct flow){ .pattern = pattern,
			       .burst = pattern->burst,
			       .resources = resources,
			       .assignment = assignment,
			       .remote = copy,
			       .is_answering = assignment->role == ROLE_RESPONDER && !is_mutual,
			       .is_mutual = is_mutual,
			       .awaits_first = is_mutual && assignment->role == ROLE_RESPONDER &&
					       resources->recv_depth > 0,
			       .pace_ticks = CLOCK_NEVER,
			       .failure = FAILURE_INIT };
	flow->burst_empty = resources->channel ? 1 : FLOW_BURST_EMPTY;
	flow->flush_state = memory_new_array(resources->qp_count, sizeof(*flow->flush_state));
	ret = expand_classes(flow, err);
	if (ret == 0) {
		ret = check_remote(flow, err);
	}
	if (ret == 0) {
		ret = window_init(&flow->window, run, !flow->is_answering,
				  !flow->is_answering && load_is_open(&assignment->workload),
				  flow->class_count, err);
	}
	if (ret == 0) {
		flow->burst_ticks = ticks_of(flow, FLOW_BURST_NS);
		flow->stall_ticks = ticks_of(flow, run->stall_timeout_ns);
		flow->deadline_ticks = ticks_of(flow, deadline_ns(flow));
		ret = pattern->prepare(flow, err);
	}
	if (ret < 0) {
		flow_done(flow);
	}
	return ret;
}

void flow_done(struct flow *flow)
{
	flow->pattern->release(flow);
	window_done(&flow->window);
	free(take(flow->flush_state));
	free((void *)flow->remote);
	flow->remote = NULL;
}

static struct window_counts counts_of(const struct flow *flow)
{
	struct window_counts counts = { 0 };

	flow->pattern->counts(flow, &counts);
	counts.errors = flow->errors;
	counts.polls = flow->polls;
	counts.empty_polls = flow->empty_polls;
	return counts;
}

static void plan_next(struct flow *flow)
{
	uint64_t next = flow->state == FLOW_RUNNING ? flow->window.next_ticks : CLOCK_NEVER;

	next = flow->awaits_first ? flow->await_ticks : next;
	next = earlier(next, flow->deadline_ticks);
	flow->window.next_ticks = flow->is_lingering ? earlier(next, flow->stop_ticks) : next;
}

static void open_window(struct flow *flow)
{
	struct window_counts counts = counts_of(flow);

	flow->pattern->mark_open(flow);
	window_open(&flow->window, &counts);
	plan_next(flow);
}

static void close_window(struct flow *flow, uint64_t now_ticks)
{
	if (window_is_open(&flow->window)) {
		struct window_counts counts = counts_of(flow);

		flow->pattern->mark_close(flow);
		window_close(&flow->window, &counts, now_ticks);
	}
}

void flow_start(struct flow *flow)
{
	uint64_t now_ticks = clock_ticks();

	flow->deadline_ticks += now_ticks;
	flow->await_ticks = now_ticks + ticks_of(flow, FLOW_AWAIT_NS);
	flow->found_ticks = now_ticks;
	window_start(&flow->window, now_ticks);
	plan_next(flow);
}

static void begin_posting(struct flow *flow)
{
	flow->pattern->begin(flow, flow->window.warmup_ticks == 0 ? flow->window.iterations : 0);
	if (!flow->is_answering && flow->window.warmup_ticks == 0) {
		open_window(flow);
	}
	flow->first_post_ticks = clock_ticks();
	flow->found_ticks = flow->first_post_ticks;
	flow->seen_ticks = flow->first_post_ticks;
}

/* Who awaits the first arrival is ready, and looks for it. */
static void begin_first(struct flow *flow)
{
	flow->has_begun = true;
	if (flow->awaits_first) {
		flow->seen_ticks = clock_ticks();
	} else {
		begin_posting(flow);
	}
}

void flow_end(struct flow *flow, int end, uint64_t now_ticks)
{
	close_window(flow, now_ticks);
	flow->is_restarting = false;
	flow->end = end;
	flow->flush_ticks = now_ticks + ticks_of(flow, FLUSH_DEADLINE_NS);
	flow->state = FLOW_FLUSHING;
	plan_next(flow);
	flush_begin(flow);
}

/* Who was done with its own stream ended by itself, whenever it is told to stop. */
static int stopped_end(const struct flow *flow)
{
	return flow->has_ended ? flow->end : END_STOPPED;
}

void flow_tick(struct flow *flow, uint64_t now_ticks)
{
	struct window *window = &flow->window;

	if (flow->state > FLOW_CLOSING) {
		return;
	}
	if (flow->is_lingering && now_ticks >= flow->stop_ticks) {
		flow_end(flow, stopped_end(flow), now_ticks);
		return;
	}
	if (now_ticks >= flow->deadline_ticks) {
		fault_deadline(flow, now_ticks);
		return;
	}
	if (flow->awaits_first) {
		if (now_ticks >= flow->await_ticks) {
			flow_arrived(flow);
		}
		return;
	}
	if (flow->state == FLOW_RUNNING) {
		if (window->phase == PHASE_WARMUP && window->warmup_ticks > 0 &&
		    now_ticks >= window->started_ticks + window->warmup_ticks) {
			if (window->iterations > 0) {
				flow->state = FLOW_CLOSING;
				flow->is_restarting = true;
				flow->pattern->close(flow, now_ticks);
			} else {
				open_window(flow);
			}
		} else if (window->phase == PHASE_MEASURING && window->duration_ticks > 0 &&
			   now_ticks >= window->open_ticks + window->duration_ticks) {
			flow->end = END_DURATION;
			close_window(flow, now_ticks);
			flow->state = FLOW_CLOSING;
			flow->pattern->close(flow, now_ticks);
		} else if (now_ticks >= window->next_cut_ticks) {
			struct window_counts counts = counts_of(flow);

			window_cut(window, &counts, now_ticks);
		}
	}
	plan_next(flow);
}

/* All of its own is done. Where the other end posts as well, it takes what still comes until it is
 * told to stop: the coordinator knows when both are done. */
static void go_over(struct flow *flow)
{
	if (!flow->is_mutual) {
		flow->state = FLOW_OVER;
		return;
	}
	flow->has_ended = true;
	flow->state = FLOW_CLOSING;
	flow->deadline_ticks += ticks_of(flow, WORKLOAD_GRACE_NS);
	window_end(&flow->window);
	plan_next(flow);
}

void flow_finish(struct flow *flow, uint64_t now_ticks)
{
	flow->end = END_ITERATIONS;
	close_window(flow, now_ticks);
	go_over(flow);
}

void flow_settle(struct flow *flow, uint64_t now_ticks)
{
	flow->end = END_ITERATIONS;
	close_window(flow, now_ticks);
	flow->state = FLOW_CLOSING;
	plan_next(flow);
}

void flow_drained(struct flow *flow, uint64_t now_ticks)
{
	if (!flow->is_restarting) {
		go_over(flow);
		return;
	}
	flow->is_restarting = false;
	flow->state = FLOW_RUNNING;
	flow->found_ticks = now_ticks;
	flow->pattern->begin(flow, flow->window.iterations);
	open_window(flow);
}

void flow_arrived(struct flow *flow)
{
	if (!flow->awaits_first) {
		open_window(flow);
		return;
	}
	flow->awaits_first = false;
	/* Its warm-up begins with its posts. */
	window_start(&flow->window, clock_ticks());
	plan_next(flow);
	begin_posting(flow);
}

/*
 * A burst is bounded: a thread that is long from one to the next was not running. Costs no clock:
 * these moments were read for other reasons.
 */
static inline void note_look(struct flow *flow, uint64_t now_ticks)
{
	uint64_t gap_ticks = now_ticks - flow->seen_ticks;

	if (now_ticks <= flow->seen_ticks) {
		return;
	}
	flow->seen_ticks = now_ticks;
	if (gap_ticks > flow->longest_gap_ticks) {
		flow->longest_gap_ticks = gap_ticks;
	}
}

void flow_look(struct flow *flow)
{
	uint64_t now_ticks = clock_ticks();

	note_look(flow, now_ticks);
	if (now_ticks >= flow->window.next_ticks) {
		flow_tick(flow, now_ticks);
	}
	if (flow->state <= FLOW_CLOSING && now_ticks - flow->found_ticks >= flow->stall_ticks &&
	    flow->pattern->is_waiting(flow)) {
		fault_stall(flow, now_ticks);
	}
}

/* Asks for an event of whatever comes from now on, and looks once more. */
static bool burst_armed(struct flow *flow)
{
	struct resources *resources = flow->resources;
	int number;

	notify_take(resources->channel);
	number = notify_arm(resources->send_cq, false);
	if (number == 0 && resources->recv_depth > 0) {
		number = notify_arm(resources->recv_cq, flow->assignment->workload.cq.solicited);
	}
	if (number != 0) {
		fault_arm(flow, number, clock_ticks());
		return false;
	}
	return flow->burst(flow);
}

static bool burst(struct flow *flow)
{
	if (flow->has_slept) {
		flow->has_slept = false;
		flow->seen_ticks = clock_ticks();
	}
	return flow->burst(flow) ||
	       (flow->resources->channel && flow->state <= FLOW_CLOSING && burst_armed(flow));
}

bool flow_step(struct flow *flow, bool *ret_found)
{
	bool has_found = false;

	if (!flow->has_begun && flow->state == FLOW_RUNNING) {
		begin_first(flow);
	}
	if (flow->state <= FLOW_CLOSING) {
		has_found = burst(flow);
		if (has_found) {
			note_look(flow, flow->found_ticks);
		} else {
			flow_look(flow);
		}
	} else if (flow->state == FLOW_FLUSHING) {
		has_found = flush_burst(flow);
		/* What came before the end may still lie there: it counts. */
		if ((flow->flush_marks == 0 && !has_found) || clock_ticks() >= flow->flush_ticks) {
			flow->state = FLOW_OVER;
		}
	}
	*ret_found = has_found;
	return flow->state != FLOW_OVER;
}

uint64_t flow_next_ticks(const struct flow *flow)
{
	uint64_t next = flow->window.next_ticks;

	if (flow->state == FLOW_FLUSHING) {
		return flow->flush_ticks;
	}
	if (flow->state == FLOW_RUNNING) {
		next = earlier(next, flow->pace_ticks);
	}
	if (flow->pattern->is_waiting(flow)) {
		next = earlier(next, flow->found_ticks + flow->stall_ticks);
	}
	return next;
}

int flow_sleep_fd(struct flow *flow)
{
	if (flow->pattern->sleep_fd && flow->state <= FLOW_CLOSING) {
		flow->has_slept = true;
		return flow->pattern->sleep_fd(flow);
	}
	if (!flow->resources->channel || flow->state > FLOW_CLOSING) {
		return -1;
	}
	flow->has_slept = true;
	return flow->resources->channel->fd;
}

void flow_stop(struct flow *flow)
{
	uint64_t now_ticks = clock_ticks();

	if (flow->state > FLOW_CLOSING || flow->is_lingering) {
		return;
	}
	if ((flow->pattern->may_linger || flow->has_ended) &&
	    workload_is_lossy(&flow->assignment->workload)) {
		close_window(flow, now_ticks);
		flow->is_lingering = true;
		flow->stop_ticks = now_ticks + ticks_of(flow, FLOW_LINGER_NS);
		plan_next(flow);
		return;
	}
	flow_end(flow, stopped_end(flow), now_ticks);
}

void flow_address(const struct flow *flow, size_t qp_index, struct ibv_send_wr *wr)
{
	if (flow->resources->ah) {
		wr->wr.ud.ah = flow->resources->ah;
		wr->wr.ud.remote_qpn = (uint32_t)flow->remote->qps[qp_index].qp_num;
		wr->wr.ud.remote_qkey = flow->resources->qkey;
	}
}

unsigned flow_signal_flags(const struct flow *flow, int kind)
{
	bool is_solicited = flow->assignment->workload.cq.solicited &&
			    (operation_traits(kind) & OPERATION_TAKES_RECEIVE);

	return IBV_SEND_SIGNALED | (is_solicited ? IBV_SEND_SOLICITED : 0u);
}

void flow_pieces(const struct flow *flow, int kind, uint64_t addr, uint64_t length_bytes,
		 struct ibv_send_wr *wr)
{
	uint64_t most = operation_traits(kind) & OPERATION_IS_ATOMIC
				? 1
				: flow->assignment->workload.qp.max_send_sge;

	wr->num_sge = sge_split(wr->sg_list, most, addr, (uint32_t)length_bytes,
				flow->resources->mr->lkey);
}

void flow_request(const struct flow *flow, size_t qp_index, size_t class_index, uint64_t place,
		  struct ibv_send_wr *wr, struct ibv_sge *sges)
{
	static const enum ibv_wr_opcode opcodes[OPERATION_KINDS] = {
		[OPERATION_SEND] = IBV_WR_SEND,
		[OPERATION_WRITE] = IBV_WR_RDMA_WRITE,
		[OPERATION_READ] = IBV_WR_RDMA_READ,
		[OPERATION_SEND_WITH_IMM] = IBV_WR_SEND_WITH_IMM,
		[OPERATION_WRITE_WITH_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[OPERATION_ATOMIC_CMP_AND_SWP] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[OPERATION_ATOMIC_FETCH_AND_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	const struct operation_class *class = &flow->classes[class_index];
	const struct buffer_layout *layout = &flow->resources->layout;
	uint64_t offset_bytes = qp_index * layout->stride_bytes;
	uint64_t slot_bytes = place % layout->spread_slots * layout->slot_bytes;
	unsigned traits = operation_traits(class->kind);
	bool is_fetched = traits & OPERATION_FETCHES;
	bool is_read = class->kind == OPERATION_READ;
	/* First half: what this end sends, and the other end reads; second half: what comes in. */
	uint64_t local_bytes = offset_bytes + (is_fetched ? layout->half_bytes : 0) + slot_bytes;
	uint64_t remote_bytes =
		offset_bytes + (is_read ? 0 : layout->write_offset_bytes) + slot_bytes;

	if (traits & OPERATION_IS_ATOMIC) {
		remote_bytes = offset_bytes + layout->atomic_offset_bytes;
	}

	*wr = (struct ibv_send_wr){ .opcode = opcodes[class->kind],
				    .send_flags = class->is_inline ? IBV_SEND_INLINE : 0,
				    .sg_list = sges };
	flow_pieces(flow, class->kind, (uintptr_t)flow->resources->buffer + local_bytes,
		    class->size_bytes, wr);
	if (traits & OPERATION_IS_ATOMIC) {
		/* Comparing with 0 and swapping with 0 succeeds each time as long as nothing else
		 * writes there. */
		wr->wr.atomic.remote_addr = flow->remote->buffer_address + remote_bytes;
		wr->wr.atomic.rkey = (uint32_t)flow->remote->rkey;
		wr->wr.atomic.compare_add = class->kind == OPERATION_ATOMIC_FETCH_AND_ADD ? 1 : 0;
	} else if (traits & OPERATION_IS_ONE_SIDED) {
		wr->wr.rdma.remote_addr = flow->remote->buffer_address + remote_bytes;
		wr->wr.rdma.rkey = (uint32_t)flow->remote->rkey;
	}
	flow_address(flow, qp_index, wr);
	/* The queue pair's index: told apart in a capture. */
	wr->imm_data = htobe32((uint32_t)qp_index);
}
