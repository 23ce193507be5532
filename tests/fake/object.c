// SPDX-License-Identifier: MIT
/* Protection domains, memory regions, address handles, and what all objects share. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"
#include "fake/srq.h"
#include "fake/way.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

static int limit_of(const struct fabric_device *device, enum object_kind kind)
{
	switch (kind) {
	case OBJECT_PD:
		return device->config.max_pd;
	case OBJECT_MR:
		return device->config.max_mr;
	case OBJECT_CQ:
		return device->config.max_cq;
	case OBJECT_QP:
		return device->config.max_qp;
	case OBJECT_SRQ:
		return device->config.max_srq;
	case OBJECT_AH:
		return device->config.max_ah;
	default:
		return INT_MAX;
	}
}

int object_add(struct fake_context *context, struct object *object, enum object_kind kind)
{
	struct fabric_device *device = context->device;

	if (device->objects[kind] >= (unsigned)limit_of(device, kind)) {
		return ENOMEM;
	}
	device->objects[kind]++;
	object->kind = kind;
	object->context = context;
	list_append(&context->objects, &object->link);
	return 0;
}

void object_remove(struct object *object)
{
	object->context->device->objects[object->kind]--;
	list_remove(&object->link);
}

/* --- protection domains --- */

static struct fake_pd *pd_of(struct ibv_pd *pd)
{
	return list_entry(pd, struct fake_pd, ib);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ib)
{
	struct fake_context *context = context_of(ib);
	int error = verb_enter(context->device, FABRIC_ALLOC_PD);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_pd *pd = nic_alloc(1, sizeof(*pd));
	error = object_add(context, &pd->object, OBJECT_PD);
	verb_leave(context->device);
	if (error != 0) {
		free(pd);
		errno = error;
		return NULL;
	}
	pd->ib.context = ib;
	return &pd->ib;
}

static void end_pd(struct fake_pd *pd)
{
	object_remove(&pd->object);
	free(pd);
}

int ibv_dealloc_pd(struct ibv_pd *ib)
{
	struct fake_pd *pd = pd_of(ib);
	struct fabric_device *device = pd->object.context->device;

	nic_lock(device->fabric);
	int error = device->is_removed ? EIO : pd->object.users > 0 ? EBUSY : 0;
	if (error == 0) {
		end_pd(pd);
	}
	nic_unlock(device->fabric);
	return error;
}

void object_use_pd(struct ibv_pd *pd, int change)
{
	pd_of(pd)->object.users += (unsigned)change;
}

/* --- memory regions --- */

static int check_region(const struct fabric_device *device, size_t length, unsigned access)
{
	const unsigned known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			       IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE;
	const unsigned paged = device->config.has_odp ? IBV_ACCESS_ON_DEMAND : 0;

	if ((access & ~(known | paged)) != 0) {
		return EOPNOTSUPP; /* zero based, memory windows are not modelled */
	}
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 &&
	    (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
		return EINVAL;
	}
	if (length > device->config.max_mr_size_bytes) {
		return EINVAL;
	}
	if (length > device->config.memlock_bytes - device->pinned_bytes) {
		return ENOMEM;
	}
	return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      unsigned access)
{
	struct fake_context *context = context_of(pd->context);
	struct fabric_device *device = context->device;
	int error = verb_enter(device, FABRIC_REG_MR);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_mr *mr = nic_alloc(1, sizeof(*mr));
	error = iova != (uintptr_t)addr ? EOPNOTSUPP : check_region(device, length, access);
	if (error == 0) {
		error = object_add(context, &mr->object, OBJECT_MR);
	}
	if (error != 0) {
		verb_leave(device);
		free(mr);
		errno = error;
		return NULL;
	}
	device->pinned_bytes += length;
	pd_of(pd)->object.users++;
	mr->access = access;
	mr->ib =
		(struct ibv_mr){ .context = pd->context, .pd = pd, .addr = addr, .length = length };
	mr->ib.lkey = mr->ib.rkey = device->next_key++;
	table_add(&device->mrs, &mr->node, mr->ib.lkey);
	verb_leave(device);
	return &mr->ib;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return register_memory(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access)
{
	return register_memory(pd, addr, length, iova, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned access)
{
	return register_memory(pd, addr, length, iova, access);
}

static void end_mr(struct fake_mr *mr)
{
	struct fabric_device *device = mr->object.context->device;

	device->pinned_bytes -= mr->ib.length;
	pd_of(mr->ib.pd)->object.users--;
	table_remove(&device->mrs, &mr->node);
	object_remove(&mr->object);
	free(mr);
}

int ibv_dereg_mr(struct ibv_mr *ib)
{
	struct fake_mr *mr = list_entry(ib, struct fake_mr, ib);
	struct fabric_device *device = mr->object.context->device;
	int error = verb_enter(device, FABRIC_DEREG_MR);

	if (error == 0) {
		end_mr(mr);
		verb_leave(device);
	}
	return error;
}

struct fake_mr *mr_check(struct fabric_device *device, const struct ibv_pd *pd, uint32_t key,
			 uint64_t addr, uint64_t length, unsigned access)
{
	struct table_node *node = table_find(&device->mrs, key);
	bool is_remote = access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC);

	if (node == NULL || (is_remote && device->has_defect[FABRIC_FORGETS_KEYS])) {
		return NULL;
	}
	struct fake_mr *mr = list_entry(node, struct fake_mr, node);
	uint64_t begin = (uintptr_t)mr->ib.addr;
	if ((pd != NULL && mr->ib.pd != pd) || (mr->access & access) != access || addr < begin ||
	    length > mr->ib.length || addr - begin > mr->ib.length - length) {
		return NULL;
	}
	return mr;
}

bool mr_check_sges(struct fabric_device *device, const struct ibv_pd *pd,
		   const struct ibv_sge *sges, int count, unsigned access)
{
	for (int i = 0; i < count; i++) {
		if (sges[i].length > 0 && mr_check(device, pd, sges[i].lkey, sges[i].addr,
						   sges[i].length, access) == NULL) {
			return false;
		}
	}
	return true;
}

/* --- address handles --- */

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct fake_context *context = context_of(pd->context);
	struct fabric_device *device = context->device;
	int error = verb_enter(device, FABRIC_CREATE_AH);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_ah *ah = nic_alloc(1, sizeof(*ah));
	ah->attr = *attr;
	error = way_check(device, attr);
	if (error == 0) {
		error = way_find(device, attr, &ah->to);
	}
	if (error == 0) {
		error = object_add(context, &ah->object, OBJECT_AH);
	}
	if (error == 0) {
		pd_of(pd)->object.users++;
		ah->ib.context = pd->context;
		ah->ib.pd = pd;
	}
	verb_leave(device);
	if (error != 0) {
		free(ah);
		errno = error;
		return NULL;
	}
	return &ah->ib;
}

static void end_ah(struct fake_ah *ah)
{
	pd_of(ah->ib.pd)->object.users--;
	object_remove(&ah->object);
	free(ah);
}

int ibv_destroy_ah(struct ibv_ah *ib)
{
	struct fake_ah *ah = list_entry(ib, struct fake_ah, ib);
	struct fabric_device *device = ah->object.context->device;

	nic_lock(device->fabric);
	int error = device->is_removed ? EIO : 0;
	if (error == 0) {
		end_ah(ah);
	}
	nic_unlock(device->fabric);
	return error;
}

/* --- the end of a removed device's context --- */

static void end_kind(struct fake_context *context, enum object_kind kind)
{
	struct object *object;

	list_each(object, &context->objects, link) {
		if (object->kind != kind) {
			continue;
		}
		switch (kind) {
		case OBJECT_QP:
			qp_end(list_entry(object, struct fake_qp, object));
			break;
		case OBJECT_SRQ:
			srq_end(list_entry(object, struct fake_srq, object));
			break;
		case OBJECT_CQ:
			cq_end(list_entry(object, struct fake_cq, object));
			break;
		case OBJECT_CHANNEL:
			channel_end(list_entry(object, struct fake_channel, object));
			break;
		case OBJECT_AH:
			end_ah(list_entry(object, struct fake_ah, object));
			break;
		case OBJECT_MR:
			end_mr(list_entry(object, struct fake_mr, object));
			break;
		default:
			end_pd(list_entry(object, struct fake_pd, object));
			break;
		}
	}
}

void object_end_all(struct fake_context *context)
{
	static const enum object_kind order[] = { OBJECT_QP, OBJECT_SRQ, OBJECT_CQ, OBJECT_CHANNEL,
						  OBJECT_AH, OBJECT_MR,	 OBJECT_PD };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		end_kind(context, order[i]);
	}
}
