// SPDX-License-Identifier: MIT
#include "fake/srq.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct fake_context *context = context_of(pd->context);
	struct fabric_device *device = context->device;
	const struct fabric_device_config *limits = &device->config;
	int error = verb_enter(device, FABRIC_CREATE_SRQ);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_srq *srq = nic_alloc(1, sizeof(*srq));
	if (init->attr.max_wr < 1 || init->attr.max_wr > (uint32_t)limits->max_qp_wr ||
	    init->attr.max_sge > (uint32_t)limits->max_sge) {
		error = EINVAL;
	} else {
		error = object_add(context, &srq->object, OBJECT_SRQ);
	}
	if (error == 0) {
		srq->ib.context = pd->context;
		srq->ib.pd = pd;
		recv_ring_init(&srq->ring, init->attr.max_wr, init->attr.max_sge);
		object_use_pd(pd, 1);
	}
	verb_leave(device);
	if (error != 0) {
		free(srq);
		errno = error;
		return NULL;
	}
	return &srq->ib;
}

void srq_end(struct fake_srq *srq)
{
	async_forget(srq->object.context, &srq->ib);
	object_use_pd(srq->ib.pd, -1);
	object_remove(&srq->object);
	recv_ring_done(&srq->ring);
	free(srq);
}

int ibv_destroy_srq(struct ibv_srq *ib)
{
	struct fake_srq *srq = srq_of(ib);
	struct fabric_device *device = srq->object.context->device;

	nic_lock(device->fabric);
	int error = device->is_removed ? EIO : srq->object.users > 0 ? EBUSY : 0;
	if (error == 0) {
		object_wait_acked(device->fabric, &srq->object.unacked, "ibv_destroy_srq");
		srq_end(srq);
	}
	nic_unlock(device->fabric);
	return error;
}

int post_srq_recv(struct ibv_srq *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *srq = srq_of(ib);
	struct fabric_device *device = srq->object.context->device;
	int error = 0;

	nic_lock(device->fabric);
	for (; wr != NULL && error == 0; wr = wr->next) {
		error = verb_check(device, FABRIC_POST_RECV);
		if (error == 0) {
			error = recv_ring_add(&srq->ring, wr);
			device->counters.recv_sges += error == 0 ? (uint64_t)wr->num_sge : 0;
		}
		if (error != 0) {
			*bad = wr;
		}
	}
	nic_unlock(device->fabric);
	return error;
}
