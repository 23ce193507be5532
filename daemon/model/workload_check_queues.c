// SPDX-License-Identifier: MIT
#include <inttypes.h>

#include "model/divisor.h"
#include "model/load.h"
#include "model/workload_check.h"
#include "model/workload_queue.h"

static void check_outstanding(struct workload_check *check)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t outstanding = check->workload->workload.load.outstanding;
	uint64_t each = workload_queue_depth_most(check->workload);
	const char *field = load_outstanding_key(check->workload);
	uint64_t taken = qp->srq ? outstanding : each;

	if (outstanding < qp->num_qps) {
		workload_check_complain(check, field, "qp.num_qps",
					"%" PRIu64 " is below qp.num_qps %" PRIu64
					": some queue pairs would have nothing to do; "
					"raise it to %" PRIu64 ", or use fewer queue pairs",
					outstanding, qp->num_qps, qp->num_qps);
	}
	if (outstanding > qp->max_send_wr * qp->num_qps) {
		workload_check_complain(check, field, "qp.max_send_wr",
					"%" PRIu64 " is above qp.max_send_wr %" PRIu64
					" x qp.num_qps %" PRIu64 "; lower it to %" PRIu64
					", or raise qp.max_send_wr",
					outstanding, qp->max_send_wr, qp->num_qps,
					qp->max_send_wr * qp->num_qps);
	} else if (workload_takes_receives(check->workload) && taken > qp->max_recv_wr) {
		workload_check_complain(check, "qp.max_recv_wr", field,
					"%" PRIu64 " receives cannot take the %" PRIu64
					" operations that %s may have in flight; "
					"raise it to %" PRIu64 ", or lower %s",
					qp->max_recv_wr, taken,
					qp->srq ? "all queue pairs together (qp.srq)"
						: "a queue pair",
					taken, field);
	}
}

/* The largest value up to `most` that needs no more than that beside `other`; see
 * workload_queue_depth_needed. */
static uint64_t fitting_batch(uint64_t most, uint64_t other)
{
	return most >= other ? most / other * other : most;
}

/* False when that alone is more than a queue pair may have in flight; other: of both, the one that
 * is not looked at. */
static bool check_batch(struct workload_check *check, const char *field, uint64_t value,
			uint64_t other)
{
	const struct qp_settings *qp = &check->workload->qp;
	uint64_t outstanding = check->workload->workload.load.outstanding;
	uint64_t each = workload_queue_depth_least(check->workload);
	uint64_t needed = workload_queue_depth_needed(check->workload);

	if (value > qp->max_send_wr) {
		workload_check_complain(check, field, "qp.max_send_wr",
					"%" PRIu64 " is above qp.max_send_wr %" PRIu64
					": the send queue would fill and stand still; "
					"lower it to %" PRIu64,
					value, qp->max_send_wr, qp->max_send_wr);
		return false;
	}
	if (each && value > each) {
		workload_check_complain(check, field, "workload.load.outstanding",
					"%" PRIu64 " is above the %" PRIu64
					" operations that a queue pair may have in flight "
					"(load.outstanding %" PRIu64 " / qp.num_qps %" PRIu64
					"); lower it to %" PRIu64
					", or raise workload.load.outstanding to %" PRIu64,
					value, each, outstanding, qp->num_qps,
					fitting_batch(each, other), needed * qp->num_qps);
		return false;
	}
	return true;
}

/* Both fit by themselves, and may be too much together. */
static void check_batches(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	uint64_t each = workload_queue_depth_least(w);
	uint64_t needed = workload_queue_depth_needed(w);
	bool is_signalled_more = settings->signal_interval < settings->post_list;
	uint64_t fitting = is_signalled_more
				   ? settings->post_list
				   : fitting_batch(settings->signal_interval, settings->post_list);

	if (each == 0 || needed <= each) {
		return;
	}
	workload_check_complain(
		check, "workload.signal_interval", "workload.post_list",
		"%" PRIu64 " with workload.post_list %" PRIu64 " needs %" PRIu64
		" operations in flight on a queue pair, and it may have %" PRIu64
		" (load.outstanding %" PRIu64 " / qp.num_qps %" PRIu64
		"): all would be posted, none signalled, and the traffic would stand still; "
		"use %" PRIu64 ", a multiple of post_list, or raise workload.load.outstanding to "
		"%" PRIu64,
		settings->signal_interval, settings->post_list, needed, each,
		settings->load.outstanding, w->qp.num_qps, fitting, needed * w->qp.num_qps);
}

static void check_stream(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	uint64_t limit = LIMIT_RING_WRS / check->workload->qp.num_qps;
	uint64_t ring = divisor_multiple(settings->signal_interval, settings->post_list);
	bool fits;

	if (check->workload->memory.buffers > limit) {
		workload_check_complain(
			check, "memory.buffers", "qp.num_qps",
			"%" PRIu64 " for each of %" PRIu64
			" queue pairs need more prepared work requests than %d; lower it to %" PRIu64,
			check->workload->memory.buffers, check->workload->qp.num_qps,
			LIMIT_RING_WRS, limit);
	}
	check_outstanding(check);
	fits = check_batch(check, "workload.signal_interval", settings->signal_interval,
			   settings->post_list);
	fits &= check_batch(check, "workload.post_list", settings->post_list,
			    settings->signal_interval);
	if (ring > limit) {
		workload_check_complain(check, "workload.post_list", "workload.signal_interval",
					"%" PRIu64 " and signal_interval %" PRIu64
					" come together only after %" PRIu64
					" work requests, above %" PRIu64 " for each of %" PRIu64
					" queue pairs; make one a multiple of the other",
					settings->post_list, settings->signal_interval, ring, limit,
					check->workload->qp.num_qps);
	} else if (fits) {
		check_batches(check);
	}
}

/* Queues are memory that drivers pin, and no limit of registered memory counts it. */
static void check_depths(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct qp_settings *qp = &w->qp;
	bool has_receives = workload_takes_receives(w);
	uint64_t receives = has_receives ? qp->max_recv_wr : 0;
	uint64_t total =
		qp->num_qps * qp->max_send_wr + workload_queue_receive_queues(w) * receives;

	if (total > LIMIT_QUEUE_WRS) {
		workload_check_complain(
			check, receives > qp->max_send_wr ? "qp.max_recv_wr" : "qp.max_send_wr",
			"qp.num_qps",
			"%" PRIu64 " queue pairs with %" PRIu64 " sends each and %" PRIu64
			" receives %s have room for %" PRIu64
			" work requests, above %u; lower one of them",
			qp->num_qps, qp->max_send_wr, receives,
			qp->srq ? "in all (qp.srq)" : "each", total, LIMIT_QUEUE_WRS);
	}
}

static void check_shared(struct workload_check *check)
{
	const struct workload *w = check->workload;

	if (!w->qp.srq || workload_is_connecting(w)) {
		return;
	}
	if (w->qp.qp_type == QP_TYPE_UC) {
		workload_check_complain(check, "qp.srq", "qp.qp_type",
					"UC has no shared receive queues; leave it out, or use RC");
	} else if (!workload_takes_receives(w) && !workload_has_writes_with_immediate(w)) {
		workload_check_complain(
			check, "qp.srq", "workload.ops",
			"is about receives, and no operation takes one; leave it out, or use send");
	}
	if (workload_is_verified(w)) {
		workload_check_complain(
			check, "qp.srq", "workload.verify.method",
			"which receive got what is not known of a shared queue; leave out one of the two");
	}
}

/* Lists of several entries take memory that nobody else accounts for. */
static void check_receive_lists(struct workload_check *check)
{
	const struct workload *w = check->workload;
	uint64_t queues = workload_queue_receive_queues(w);
	uint64_t total;

	if (w->qp.max_recv_sge <= 1 || workload_is_connecting(w)) {
		return;
	}
	if (!workload_takes_receives(w) && !workload_is_verified(w)) {
		workload_check_complain(
			check, "qp.max_recv_sge", "workload.ops",
			"%" PRIu64
			" is about receives, and no operation takes one; leave it out, or use send",
			w->qp.max_recv_sge);
	}
	total = queues * w->qp.max_recv_wr * w->qp.max_recv_sge;
	if (total > LIMIT_RECV_SGES) {
		workload_check_complain(check, "qp.max_recv_sge", "qp.max_recv_wr",
					"%" PRIu64 " in each of %" PRIu64
					" receives (qp.max_recv_wr %" PRIu64 " x %" PRIu64
					" queues) are %" PRIu64
					" entries, above %d; lower one of them",
					w->qp.max_recv_sge, queues * w->qp.max_recv_wr,
					w->qp.max_recv_wr, queues, total, LIMIT_RECV_SGES);
	}
}

/*
 * Signalled requests alone are solicited: what comes before the next of them must find receives,
 * for nobody wakes who would post more. Those that are used up are given back recv_batch at a time.
 */
static void check_unheard(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	uint64_t senders = w->qp.srq ? w->qp.num_qps : 1;
	uint64_t batch = workload_queue_recv_batch(w);
	uint64_t posted = w->qp.max_recv_wr - (batch < w->qp.max_recv_wr ? batch - 1 : 0);
	uint64_t unheard = senders * (settings->signal_interval - 1) + 1;

	if (settings->signal_interval <= 1) {
		return;
	}
	for (size_t i = 0; i < settings->op_count; i++) {
		if (!(operation_traits(settings->ops[i].kind) & OPERATION_TAKES_RECEIVE)) {
			workload_check_complain(
				check, "cq.solicited", "workload.signal_interval",
				"of a mix with operations that take no receive any number of messages may come "
				"between two that are signalled, and so solicited: their receiver would sleep while its receives "
				"run out; use signal_interval: 1, or leave one of the two out");
			return;
		}
	}
	if (unheard > posted) {
		workload_check_complain(
			check, "cq.solicited", "workload.signal_interval",
			"with signal_interval %" PRIu64 " %" PRIu64
			" messages may come until one wakes their receiver, which then has %" PRIu64
			" receives (qp.max_recv_wr %" PRIu64
			" without those that it did not post again yet): lower it to %" PRIu64
			", or raise qp.max_recv_wr to %" PRIu64,
			settings->signal_interval, unheard, posted, w->qp.max_recv_wr,
			(posted - 1) / senders + 1, 2 * unheard);
	}
}

static void check_solicited(struct workload_check *check)
{
	const struct workload *w = check->workload;

	if (!w->cq.solicited || workload_is_connecting(w)) {
		return;
	}
	if (w->cq.mode != CQ_MODE_EVENT) {
		workload_check_complain(
			check, "cq.solicited", "cq.mode",
			"is about completion events, and who polls asks for none; leave it out, or use event");
	}
	if (!workload_takes_receives(w)) {
		workload_check_complain(
			check, "cq.solicited", "workload.ops",
			"is about messages, and no operation takes a receive; leave it out, or use send");
	} else {
		check_unheard(check);
	}
}

static void check_moderation(struct workload_check *check)
{
	const struct cq_settings *cq = &check->workload->cq;

	if ((cq->moderation_count == 0 && cq->moderation_period_ns == 0) ||
	    workload_is_connecting(check->workload)) {
		return;
	}
	if (cq->mode != CQ_MODE_EVENT) {
		workload_check_complain(
			check, "cq.moderation.count", "cq.mode",
			"moderation is about completion events, and who polls asks for none; leave it out, or use event");
	}
	if (cq->moderation_count == 0 || cq->moderation_period_ns < 1000 ||
	    cq->moderation_period_ns % 1000 != 0) {
		workload_check_complain(
			check, "cq.moderation.period", "cq.moderation.count",
			"a device takes both: a count of 1 or more, and a period of whole microseconds, without which the last "
			"completions would never be told; such as { count: 16, period: 20us }");
	} else if (cq->moderation_count == 1) {
		workload_check_complain(
			check, "cq.moderation.count", "cq.moderation.period",
			"each completion is told at once then: that moderates nothing; use 2 or more, or leave it out");
	} else if (cq->moderation_count > check->workload->workload.load.outstanding) {
		workload_check_complain(
			check, "cq.moderation.count", load_outstanding_key(check->workload),
			"%" PRIu64 " completions never wait where %" PRIu64
			" operations may be in flight: each would wait for the period; lower it to that",
			cq->moderation_count, check->workload->workload.load.outstanding);
	}
}

static void check_buffers(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	uint64_t receives = w->qp.max_recv_wr / (w->qp.srq ? w->qp.num_qps : 1);
	bool has_sends = operation_has(settings->ops, settings->op_count, OPERATION_SEND) ||
			 operation_has(settings->ops, settings->op_count, OPERATION_SEND_WITH_IMM);
	bool has_payload = false;

	if (w->memory.buffers <= 1 || workload_is_answered(w) || workload_is_connecting(w)) {
		return;
	}
	for (size_t i = 0; i < settings->op_count; i++) {
		has_payload |= !(operation_traits(settings->ops[i].kind) & OPERATION_IS_ATOMIC);
	}
	if (!has_payload) {
		workload_check_complain(
			check, "memory.buffers", "workload.ops",
			"%" PRIu64
			" buffers, and atomics alone, which all change one word; leave it out, or add other operations",
			w->memory.buffers);
	} else if (has_sends && w->memory.buffers > receives) {
		workload_check_complain(check, "memory.buffers", "qp.max_recv_wr",
					"what is sent comes to a receive's buffer, and %" PRIu64
					" buffers of each queue pair have %" PRIu64
					" receives (qp.max_recv_wr); raise that to %" PRIu64
					", or lower memory.buffers",
					w->memory.buffers, receives,
					w->memory.buffers * (w->qp.srq ? w->qp.num_qps : 1));
	}
}

static void check_recv_post_list(struct workload_check *check)
{
	const struct workload *w = check->workload;
	uint64_t value = w->workload.recv_post_list;
	uint64_t most = workload_queue_recv_batch_most(w);

	if (value == SCHEMA_AUTO) {
		return;
	}
	if (!workload_takes_receives(w)) {
		workload_check_complain(
			check, "workload.recv_post_list", "workload.ops",
			"%" PRIu64 " is about receives, and no operation takes one; leave it out",
			value);
	} else if (value > most) {
		workload_check_complain(
			check, "workload.recv_post_list", "qp.max_recv_wr",
			"%" PRIu64 " is more than half of qp.max_recv_wr %" PRIu64
			": the receiver would run out of receives while it waits to post so many; lower it "
			"to %" PRIu64 ", or raise qp.max_recv_wr to %" PRIu64,
			value, w->qp.max_recv_wr, most, 2 * value);
	}
}

static void check_cq_size(struct workload_check *check)
{
	const struct workload *w = check->workload;
	bool has_receives = workload_takes_receives(w);
	uint64_t sends = workload_queue_send_completions(w);
	uint64_t receives = workload_queue_receive_completions(w, has_receives);

	if (w->cq.size == SCHEMA_AUTO) {
		return;
	}
	if (w->cq.size < receives) {
		workload_check_complain(
			check, "cq.size", "qp.max_recv_wr",
			"%" PRIu64 " is below the %" PRIu64
			" completions that can wait in the completion queue of receives "
			"(qp.max_recv_wr %" PRIu64 " x %" PRIu64
			" receive queues); raise it to %" PRIu64 ", or use auto",
			w->cq.size, receives, w->qp.max_recv_wr, workload_queue_receive_queues(w),
			receives > sends ? receives : sends);
	} else if (w->cq.size < sends) {
		workload_check_complain(
			check, "cq.size", load_outstanding_key(w),
			"%" PRIu64 " is below the %" PRIu64
			" completions that can wait in the completion queue of sends (all of %s %" PRIu64
			", and one for each queue pair's end); raise it to %" PRIu64
			", or use auto",
			w->cq.size, sends, load_outstanding_key(w), w->workload.load.outstanding,
			sends);
	}
}

static void check_one(struct workload_check *check, const char *field, uint64_t value)
{
	if (value != 1) {
		workload_check_complain(
			check, field, "workload.pattern",
			"%" PRIu64
			" does not go with pattern %s, which has one operation at a time; use 1, "
			"or pattern stream",
			value, workload_pattern_names[check->workload->workload.pattern]);
	}
}

static void check_answered(struct workload_check *check)
{
	const struct workload *w = check->workload;

	check_one(check, "qp.num_qps", w->qp.num_qps);
	check_one(check, "workload.load.outstanding", w->workload.load.outstanding);
	check_one(check, "workload.signal_interval", w->workload.signal_interval);
	check_one(check, "workload.post_list", w->workload.post_list);
}

void workload_check_queues(struct workload_check *check)
{
	check_depths(check);
	check_shared(check);
	check_receive_lists(check);
	check_solicited(check);
	check_moderation(check);
	check_buffers(check);
	check_recv_post_list(check);
	/* A ping-pong allows one of each: said once, with the cure that leads somewhere. */
	if (workload_is_answered(check->workload)) {
		check_answered(check);
	} else if (!workload_is_connecting(check->workload)) {
		check_stream(check);
	}
	if (!workload_is_connecting(check->workload)) {
		check_cq_size(check);
	}
}

void workload_check_queues_ring(struct workload_check *check)
{
	const struct workload *w = check->workload;
	const struct workload_settings *settings = &w->workload;
	struct operation_class classes[LIMIT_CLASSES];
	struct workload_ring ring;
	uint64_t total;
	size_t count;

	if (check->count || workload_is_answered(w) || workload_is_connecting(w)) {
		return;
	}
	count = operation_classes(settings->ops, settings->op_count, 0, classes, &total);
	if (count > 0 && !workload_queue_ring(w, classes, count, &ring)) {
		bool is_of_buffers = w->memory.buffers > workload_queue_depth_most(w);

		workload_check_complain(
			check, is_of_buffers ? "memory.buffers" : load_outstanding_key(w),
			"workload.signal_interval",
			"%" PRIu64 " with signal_interval %" PRIu64 ", post_list %" PRIu64
			", %zu pairs of operation and size and "
			"%" PRIu64 " queue pairs needs %" PRIu64
			" prepared work requests, above %d; lower one of them",
			is_of_buffers ? w->memory.buffers : settings->load.outstanding,
			settings->signal_interval, settings->post_list, count, w->qp.num_qps,
			ring.total, LIMIT_RING_WRS);
	}
}
