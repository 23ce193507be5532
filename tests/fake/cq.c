// SPDX-License-Identifier: MIT
/* Completion queues. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"

#define CQ_POISON 0x7a /* what fields hold that have no meaning after an error */

struct ibv_cq *ibv_create_cq(struct ibv_context *ib, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct fake_context *context = context_of(ib);
	struct fabric_device *device = context->device;
	int error = verb_enter(device, FABRIC_CREATE_CQ);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_cq *cq = nic_alloc(1, sizeof(*cq));
	if (cqe < 1 || cqe > device->config.max_cqe || comp_vector < 0 ||
	    comp_vector >= ib->num_comp_vectors || (channel != NULL && channel->context != ib)) {
		error = EINVAL;
	} else {
		error = object_add(context, &cq->object, OBJECT_CQ);
	}
	if (error == 0) {
		cq->ib.context = ib;
		cq->ib.channel = channel;
		cq->ib.cq_context = cq_context;
		cq->ib.cqe = cqe;
		cq->serial = ++device->next_cq;
		cq->ring = nic_alloc((size_t)cqe, sizeof(*cq->ring));
		if (channel != NULL) {
			channel_use(channel, 1);
		}
	}
	verb_leave(device);
	if (error != 0) {
		free(cq);
		errno = error;
		return NULL;
	}
	return &cq->ib;
}

void cq_end(struct fake_cq *cq)
{
	async_forget(cq->object.context, &cq->ib);
	if (cq->ib.channel != NULL) {
		channel_forget(cq);
		channel_use(cq->ib.channel, -1);
	}
	object_remove(&cq->object);
	free(cq->ring);
	free(cq);
}

int ibv_destroy_cq(struct ibv_cq *ib)
{
	struct fake_cq *cq = cq_of(ib);
	struct fabric_device *device = cq->object.context->device;
	int error = verb_enter(device, FABRIC_DESTROY_CQ);

	if (error != 0) {
		return error;
	}
	if (cq->object.users > 0) {
		error = EBUSY;
	} else {
		object_wait_acked(device->fabric, &cq->comp_unacked, "ibv_destroy_cq");
		object_wait_acked(device->fabric, &cq->object.unacked, "ibv_destroy_cq");
		cq_end(cq);
	}
	verb_leave(device);
	return error;
}

void ibv_ack_cq_events(struct ibv_cq *ib, unsigned count)
{
	struct fake_cq *cq = cq_of(ib);
	struct fabric *fabric = cq->object.context->device->fabric;

	pthread_mutex_lock(&fabric->lock);
	if (count > cq->comp_unacked) {
		nic_die("ibv_ack_cq_events: %u of %u", count, cq->comp_unacked);
	}
	cq->comp_unacked -= count;
	pthread_cond_broadcast(&fabric->changed);
	pthread_mutex_unlock(&fabric->lock);
}

/* Later, because the pair whose completion did not fit is busy right now. */
static void break_pairs(struct fabric *fabric, struct event *event)
{
	struct object *object;

	(void)fabric;
	for (struct list *at = event->flight.from->contexts.next;
	     at != &event->flight.from->contexts; at = at->next) {
		struct fake_context *context = list_entry(at, struct fake_context, link);
		list_each(object, &context->objects, link) {
			struct fake_qp *qp = list_entry(object, struct fake_qp, object);
			if (object->kind == OBJECT_QP && qp->ib.state != IBV_QPS_RESET &&
			    (cq_of(qp->ib.send_cq)->is_overrun ||
			     cq_of(qp->ib.recv_cq)->is_overrun)) {
				qp_to_error(qp);
			}
		}
	}
}

static void overrun(struct fake_cq *cq)
{
	struct fake_context *context = cq->object.context;
	struct fabric *fabric = context->device->fabric;
	struct ibv_async_event event = { .element.cq = &cq->ib, .event_type = IBV_EVENT_CQ_ERR };

	if (cq->is_overrun) {
		return;
	}
	cq->is_overrun = true;
	async_raise(context, &event);
	nic_event(fabric, fabric->now_ns, break_pairs)->flight.from = context->device;
}

static void tell(struct fake_cq *cq)
{
	cq->armed = CQ_QUIET;
	cq->untold = 0;
	channel_raise(cq);
}

/* The period of moderation is over; the queue may be gone. */
static void period_over(struct fabric *fabric, struct event *event)
{
	struct fabric_device *device = event->flight.from;
	struct object *object;

	(void)fabric;
	for (struct list *at = device->contexts.next; at != &device->contexts; at = at->next) {
		list_each(object, &list_entry(at, struct fake_context, link)->objects, link) {
			struct fake_cq *cq = list_entry(object, struct fake_cq, object);

			if (object->kind == OBJECT_CQ && cq->serial == event->flight.position &&
			    cq->untold > 0) {
				tell(cq);
				return;
			}
		}
	}
}

static void moderate(struct fake_cq *cq)
{
	struct fabric_device *device = cq->object.context->device;

	if (++cq->untold >= cq->moderate_count) {
		tell(cq);
	} else if (cq->untold == 1) {
		struct event *event = nic_event(
			device->fabric, device->fabric->now_ns + cq->moderate_ns, period_over);

		event->flight.from = device;
		event->flight.position = cq->serial;
	}
}

int cq_modify(struct ibv_cq *ib, struct ibv_modify_cq_attr *attr)
{
	struct fake_cq *cq = cq_of(ib);
	struct fabric_device *device = cq->object.context->device;

	if (!device->config.has_moderation) {
		return EOPNOTSUPP;
	}
	if (attr->attr_mask != IBV_CQ_ATTR_MODERATE) {
		return EINVAL;
	}
	nic_lock(device->fabric);
	cq->moderate_count = attr->moderate.cq_count;
	cq->moderate_ns = attr->moderate.cq_period * 1000ull;
	nic_unlock(device->fabric);
	return 0;
}

void cq_push(struct fake_cq *cq, const struct cqe *cqe, bool is_solicited)
{
	if (cq->is_overrun || cq->tail - cq->head == (uint64_t)cq->ib.cqe ||
	    cq->object.context->device->has_defect[FABRIC_FULL_QUEUES]) {
		overrun(cq);
		return;
	}
	nic_touch(cq->object.context->device);
	cq->ring[cq->tail++ % (uint64_t)cq->ib.cqe] = *cqe;
	if (cqe->wc.status != IBV_WC_SUCCESS) {
		is_solicited = true;
	}
	if (cq->armed == CQ_ANY || (cq->armed == CQ_SOLICITED && is_solicited)) {
		moderate(cq);
	}
}

void cq_purge(struct fake_cq *cq, const struct fake_qp *qp)
{
	uint64_t kept = cq->head;

	for (uint64_t at = cq->head; at < cq->tail; at++) {
		struct cqe *cqe = &cq->ring[at % (uint64_t)cq->ib.cqe];
		if (cqe->qp != qp) {
			cq->ring[kept++ % (uint64_t)cq->ib.cqe] = *cqe;
		}
	}
	cq->tail = kept;
}

/* Only these fields are valid after an error; a program that reads others shall notice. */
static void poison(struct ibv_wc *wc)
{
	struct ibv_wc valid = *wc;

	memset(wc, CQ_POISON, sizeof(*wc));
	wc->wr_id = valid.wr_id;
	wc->status = valid.status;
	wc->qp_num = valid.qp_num;
	wc->vendor_err = (uint32_t)valid.status;
}

int cq_poll(struct ibv_cq *ib, int count, struct ibv_wc *wc)
{
	struct fake_cq *cq = cq_of(ib);
	struct fabric_device *device = cq->object.context->device;
	struct fabric *fabric = device->fabric;
	int n = 0;

	if (!nic_try_lock(fabric)) {
		sched_yield();
		return 0;
	}
	/* On a device that is gone there is just nothing any more. */
	int error = device->is_removed ? 0 : verb_check(device, FABRIC_POLL_CQ);
	if (error != 0) {
		nic_unlock(fabric);
		return -error;
	}
	while (n < count && cq->head < cq->tail) {
		struct cqe *cqe = &cq->ring[cq->head++ % (uint64_t)cq->ib.cqe];
		wc[n] = cqe->wc;
		if (cqe->wc.status != IBV_WC_SUCCESS) {
			poison(&wc[n]);
		}
		if (cqe->reclaim > cqe->qp->sq_reclaimed) {
			cqe->qp->sq_reclaimed = cqe->reclaim;
		}
		n++;
	}
	nic_unlock(fabric);
	if (n == 0 && atomic_load(&fabric->is_threaded)) {
		sched_yield(); /* tests have more threads than processors */
	}
	return n;
}

int cq_req_notify(struct ibv_cq *ib, int solicited_only)
{
	struct fake_cq *cq = cq_of(ib);
	struct fabric_device *device = cq->object.context->device;

	nic_lock(device->fabric);
	int error = cq->ib.channel == NULL ? EINVAL : verb_check(device, FABRIC_REQ_NOTIFY);
	if (error == 0 && !(solicited_only && cq->armed == CQ_ANY)) {
		cq->armed = solicited_only ? CQ_SOLICITED : CQ_ANY;
	}
	nic_unlock(device->fabric);
	return error;
}
