// SPDX-License-Identifier: MIT
#include "verbs/resources.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "model/workload_queue.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"
#include "verbs/call.h"
#include "verbs/connect.h"
#include "verbs/demand.h"
#include "verbs/notify.h"
#include "verbs/pkey.h"
#include "verbs/sge.h"

#define PSN_MASK 0xffffffu
#define EMPTY_BUFFER_BYTES 4096 /* operations without payload need a region all the same */

static int ask_port(struct resources *resources, const struct endpoint *local,
		    struct ibv_port_attr *ret, struct error *err)
{
	struct device *device = resources->device;
	uint64_t gid_index = local->gid_index == SCHEMA_AUTO ? 0 : local->gid_index;
	int error;

	if (local->port_num < 1 || local->port_num > device->attr.phys_port_cnt) {
		return error_set(err, -ENODEV, ERROR_DEVICE,
				 "RDMA device \"%s\" has no port %llu (it has %u)", device->name,
				 (unsigned long long)local->port_num, device->attr.phys_port_cnt);
	}
	(void)call_begin("ibv_query_port");
	error = ibv_query_port(device->context, (uint8_t)local->port_num, ret);
	if (error != 0) {
		return error_set_call(err, error, ERROR_DEVICE, STAGE_RESOURCE, "ibv_query_port",
				      "port %llu of RDMA device \"%s\" cannot be asked",
				      (unsigned long long)local->port_num, device->name);
	}
	(void)call_begin("ibv_query_gid");
	resources->lid = ret->lid;
	resources->mtu_bytes = ret->active_mtu ? 128ull << ret->active_mtu : 0;
	resources->is_infiniband = ret->link_layer == IBV_LINK_LAYER_INFINIBAND;
	/* An index beyond the table is refused by the comparison that follows, with its name. */
	if (gid_index < (uint64_t)ret->gid_tbl_len &&
	    ibv_query_gid(device->context, (uint8_t)local->port_num, (int)gid_index,
			  &resources->gid) != 0) {
		memset(&resources->gid, 0, sizeof(resources->gid));
	}
	return 0;
}

static int moderate_cq(struct resources *resources, struct ibv_cq *cq,
		       const struct cq_settings *settings, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_modify_cq");
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = (uint16_t)settings->moderation_count,
			      .cq_period = (uint16_t)(settings->moderation_period_ns / 1000) },
	};
	int error = ibv_modify_cq(cq, &attr);

	if (error != 0) {
		return error_set_call(
			err, error, ERROR_INPUT, STAGE_RESOURCE, "ibv_modify_cq",
			"cq.moderation: %s does not take a count of %llu and a period of %llu us; leave it "
			"out, or choose another device",
			resources->device->name, (unsigned long long)settings->moderation_count,
			(unsigned long long)settings->moderation_period_ns / 1000);
	}
	call_end(steps, "modify_cq", started_mono_ns, 0);
	return 0;
}

static int create_cq(struct resources *resources, uint64_t entries,
		     const struct cq_settings *settings, struct ibv_cq **ret, struct steps *steps,
		     struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_create_cq");

	*ret = ibv_create_cq(resources->device->context, (int)entries, NULL, resources->channel, 0);
	if (!*ret) {
		return error_set_call(
			err, errno ? errno : ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE,
			"ibv_create_cq",
			"%s gives no completion queue of %llu entries (its max_cqe is %d, max_cq %d)",
			resources->device->name, (unsigned long long)entries,
			resources->device->attr.max_cqe, resources->device->attr.max_cq);
	}
	call_end(steps, "create_cq", started_mono_ns, 0);
	return settings->moderation_count > 0 ? moderate_cq(resources, *ret, settings, steps, err)
					      : 0;
}

static int create_srq(struct resources *resources, const struct demand *demand, struct steps *steps,
		      struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_create_srq");
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = (uint32_t)demand->recv_depth,
			  .max_sge = (uint32_t)resources->recv_sge },
	};

	resources->srq = ibv_create_srq(resources->pd, &init);
	if (!resources->srq) {
		return error_set_call(
			err, errno ? errno : ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE,
			"ibv_create_srq",
			"%s gives no shared receive queue of %llu (its max_srq_wr is %d, max_srq %d)",
			resources->device->name, (unsigned long long)demand->recv_depth,
			resources->device->attr.max_srq_wr, resources->device->attr.max_srq);
	}
	call_end(steps, "create_srq", started_mono_ns, 0);
	return 0;
}

static int create_shared(struct resources *resources, const struct demand *demand,
			 const struct workload *workload, struct steps *steps, struct error *err)
{
	const struct cq_settings *cq = &workload->cq;
	uint64_t started_mono_ns = call_begin("ibv_alloc_pd");
	int ret;

	resources->pd = ibv_alloc_pd(resources->device->context);
	if (!resources->pd) {
		return error_set_call(err, errno ? errno : ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE,
				      "ibv_alloc_pd", "%s gives no protection domain",
				      resources->device->name);
	}
	call_end(steps, "alloc_pd", started_mono_ns, 0);
	ret = region_init(&resources->region, resources->pd,
			  demand->layout.total_bytes ? demand->layout.total_bytes
						     : EMPTY_BUFFER_BYTES,
			  demand->mr_access, &workload->memory, steps, err);
	if (ret < 0) {
		return ret;
	}
	resources->mr = resources->region.mr;
	resources->buffer = resources->region.buffer;
	if (cq->mode == CQ_MODE_EVENT) {
		ret = notify_open(&resources->channel, resources->device, steps, err);
		if (ret < 0) {
			return ret;
		}
	}
	ret = create_cq(resources, demand->send_cqe, cq, &resources->send_cq, steps, err);
	if (ret == 0) {
		ret = create_cq(resources, demand->recv_cqe, cq, &resources->recv_cq, steps, err);
	}
	return ret == 0 && demand->is_shared ? create_srq(resources, demand, steps, err) : ret;
}

static void fill_wish(struct resources *resources, const struct demand *demand,
		      const struct assignment *assignment)
{
	resources->wish = (struct queue_pair_wish){
		.type = demand->qp_type,
		.send_cq = resources->send_cq,
		.recv_cq = resources->recv_cq,
		.srq = resources->srq,
		.max_send_wr = workload_queue_send_depth(&assignment->workload),
		.max_recv_wr = resources->srq ? 0 : demand->recv_depth,
		.max_send_sge = assignment->workload.qp.max_send_sge,
		.max_recv_sge = resources->recv_sge,
		.max_inline_bytes = demand->max_inline_bytes,
		.min_inline_bytes = demand->is_inline_fixed ? demand->max_inline_bytes
							    : demand->min_inline_bytes,
	};
	resources->init = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_INIT,
		.pkey_index = resources->pkey_index,
		.port_num = (uint8_t)assignment_local(assignment)->port_num,
		.qp_access_flags = demand->qp_access,
		.qkey = (uint32_t)assignment->workload.qp.qkey,
	};
	resources->init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       (demand->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	resources->qkey = resources->init.qkey;
}

static int create_qp(struct resources *resources, size_t slot, struct steps *steps,
		     struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_create_qp");
	int ret = queue_pair_create(&resources->qps[slot], resources->device, resources->pd,
				    &resources->wish, err);

	if (ret < 0) {
		resources->qps[slot] = NULL;
		error_prefix(err, "queue pair %zu of %zu", slot + 1, resources->qp_slots);
		return ret;
	}
	call_end(steps, "create_qp", started_mono_ns, 0);
	return 0;
}

static int go_init(struct resources *resources, size_t slot, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_modify_qp");
	struct ibv_qp_attr attr = resources->init;
	int error = ibv_modify_qp(resources->qps[slot], &attr, resources->init_mask);

	if (error != 0) {
		return error_set_call(err, error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp",
				      "qp 0x%x of %s cannot go to INIT (port %u, pkey_index %u)",
				      resources->qps[slot]->qp_num, resources->device->name,
				      attr.port_num, attr.pkey_index);
	}
	call_end(steps, "modify_init", started_mono_ns, 0);
	return 0;
}

int resources_make_qp(struct resources *resources, size_t slot, struct steps *steps,
		      struct error *err)
{
	int ret = create_qp(resources, slot, steps, err);

	if (ret == 0) {
		ret = go_init(resources, slot, steps, err);
	}
	if (ret < 0) {
		resources_drop_qp(resources, slot, NULL);
	}
	return ret;
}

void resources_drop_qp(struct resources *resources, size_t slot, struct steps *steps)
{
	uint64_t started_mono_ns;

	if (!resources->qps[slot]) {
		return;
	}
	started_mono_ns = call_begin("ibv_destroy_qp");
	(void)ibv_destroy_qp(take(resources->qps[slot]));
	call_end(steps, "destroy_qp", started_mono_ns, 0);
}

/* First all are created, then all go to INIT: the order of the steps. */
static int create_qps(struct resources *resources, const struct demand *demand,
		      const struct assignment *assignment, struct steps *steps, struct error *err)
{
	int ret = 0;

	resources->qp_slots = assignment->workload.qp.num_qps;
	resources->qps = memory_new_array(resources->qp_slots, sizeof(struct ibv_qp *));
	resources->psns = memory_new_array(resources->qp_slots, sizeof(uint32_t));
	random_fill(resources->psns, resources->qp_slots * sizeof(uint32_t));
	fill_wish(resources, demand, assignment);
	for (size_t i = 0; i < resources->qp_slots; i++) {
		resources->psns[i] &= PSN_MASK;
	}
	if (workload_is_connecting(&assignment->workload)) {
		return 0;
	}
	for (size_t i = 0; ret == 0 && i < resources->qp_slots; i++) {
		ret = create_qp(resources, i, steps, err);
		resources->qp_count += ret == 0;
	}
	resources->max_inline_data = resources->wish.max_inline_bytes;
	for (size_t i = 0; ret == 0 && i < resources->qp_slots; i++) {
		ret = go_init(resources, i, steps, err);
	}
	return ret;
}

static void prepare_receives(struct resources *resources)
{
	const struct buffer_layout *layout = &resources->layout;
	uint64_t depth = resources->recv_depth;

	for (size_t i = 0; i < resources->recv_queues * depth; i++) {
		size_t queue = i / depth;
		struct ibv_sge *sges = &resources->recv_sges[i * resources->recv_sge];
		/* A shared queue takes its buffers from the parts of all queue pairs. */
		size_t part = resources->srq ? i % resources->qp_count : queue;
		uint64_t turn = resources->srq ? i / resources->qp_count : i % depth;
		uint64_t addr = (uint64_t)(uintptr_t)resources->buffer +
				part * layout->stride_bytes + layout->half_bytes +
				turn % layout->receive_slots * layout->slot_bytes;

		resources->recv_wrs[i] = (struct ibv_recv_wr){
			.wr_id = queue,
			.next = i % depth + 1 < depth ? &resources->recv_wrs[i + 1] : NULL,
			.sg_list = sges,
			.num_sge = sge_split(sges, resources->recv_sge, addr,
					     (uint32_t)layout->slot_bytes, resources->mr->lkey),
		};
	}
}

static int post_own(struct resources *resources, uint64_t queue, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	return ibv_post_recv(resources->qps[queue], wr, &bad);
}

static int post_shared(struct resources *resources, uint64_t queue, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;

	(void)queue;
	return ibv_post_srq_recv(resources->srq, wr, &bad);
}

static int post_receives(struct resources *resources, struct steps *steps, struct error *err)
{
	uint64_t depth = resources->recv_depth;

	resources->recv_queues = resources->srq ? 1 : resources->qp_count;
	resources->post_recv = resources->srq ? post_shared : post_own;
	resources->recv_call = resources->srq ? "ibv_post_srq_recv" : "ibv_post_recv";

	if (depth == 0) {
		return 0;
	}
	resources->recv_wrs =
		memory_try(resources->recv_queues * depth, sizeof(struct ibv_recv_wr));
	resources->recv_sges = memory_try(resources->recv_queues * depth * resources->recv_sge,
					  sizeof(struct ibv_sge));
	if (!resources->recv_wrs || !resources->recv_sges) {
		return error_set(
			err, -ENOMEM, ERROR_RESOURCE,
			"no memory for %llu receives of each of %zu receive queues; lower qp.max_recv_wr or qp.num_qps",
			(unsigned long long)depth, resources->recv_queues);
	}
	prepare_receives(resources);
	for (uint64_t i = 0; i < resources->recv_queues; i++) {
		uint64_t started_mono_ns = call_begin(resources->recv_call);
		int error = resources->post_recv(resources, i, &resources->recv_wrs[i * depth]);

		if (error != 0) {
			return error_set_call(
				err, error, ERROR_DEVICE, STAGE_RESOURCE, resources->recv_call,
				"%llu receives of %llu bytes cannot be posted on %s 0x%x of %s",
				(unsigned long long)depth,
				(unsigned long long)resources->layout.slot_bytes,
				resources->srq ? "the shared receive queue of qp" : "qp",
				resources->qps[i]->qp_num, resources->device->name);
		}
		call_end(steps, "post_recv", started_mono_ns, 0);
	}
	return 0;
}

static int build(struct resources *resources, const struct assignment *assignment,
		 struct steps *steps, struct error *err)
{
	struct demand demand;
	struct ibv_port_attr port;
	int ret = demand_of(assignment, &demand, err);

	if (ret < 0) {
		return ret;
	}
	ret = ask_port(resources, assignment_local(assignment), &port, err);
	if (ret < 0) {
		return ret;
	}
	ret = demand_check(&demand, assignment, resources->device, &port, err);
	if (ret < 0) {
		return ret;
	}
	ret = pkey_find(resources->device, assignment_local(assignment)->port_num, &port,
			&assignment->workload.qp, &resources->pkey_index, &resources->pkey, err);
	if (ret < 0) {
		return ret;
	}
	resources->layout = demand.layout;
	resources->recv_depth = demand.recv_depth;
	resources->recv_sge = assignment->workload.qp.max_recv_sge;
	ret = create_shared(resources, &demand, &assignment->workload, steps, err);
	if (ret < 0) {
		return ret;
	}
	ret = create_qps(resources, &demand, assignment, steps, err);
	return ret < 0 ? ret : post_receives(resources, steps, err);
}

/* Errors that no call reported get the word by which judgements know them. */
static void name_cause(int error, struct error *err)
{
	if (err->call[0]) {
		return;
	}
	switch (-error) {
	case ERANGE:
		text_copy(err->call, sizeof(err->call), "limit");
		break;
	case ENODEV:
	case ENETDOWN:
	case ENOENT:
		text_copy(err->call, sizeof(err->call), "device");
		err->stage = STAGE_DISCOVER;
		error_number(err, error);
		break;
	case EOPNOTSUPP:
		err->kind = ERROR_KIND_ERRNO;
		err->number = EOPNOTSUPP;
		break;
	default:
		break;
	}
	if (err->stage == STAGE_NONE) {
		err->stage = STAGE_RESOURCE;
	}
}

int resources_new(struct resources **ret_resources, struct device *device,
		  const struct assignment *assignment, struct steps *steps, struct error *err)
{
	struct resources *resources = memory_new(sizeof(*resources));
	int ret;

	resources->device = device;
	ret = build(resources, assignment, steps, err);
	if (ret < 0) {
		if (err) {
			name_cause(ret, err);
		}
		resources_free(resources, NULL);
		return ret;
	}
	*ret_resources = resources;
	return 0;
}

void resources_info(const struct resources *resources, const struct assignment *assignment,
		    struct endpoint_info *ret)
{
	*ret = (struct endpoint_info){
		.lid = resources->lid,
		.mtu_bytes = resources->mtu_bytes,
		.pkey_index = resources->pkey_index,
		.pkey = resources->pkey,
		.buffer_address = (uint64_t)(uintptr_t)resources->buffer,
		.buffer_bytes = resources->region.size_bytes,
		.rkey = resources->mr->rkey,
		.max_inline_data = resources->max_inline_data,
		.qp_count = resources->qp_count,
	};
	inet_ntop(AF_INET6, resources->gid.raw, ret->gid, sizeof(ret->gid));
	for (size_t i = 0; i < resources->qp_count; i++) {
		ret->qps[i].qp_num = resources->qps[i]->qp_num;
		ret->qps[i].psn = resources->psns[i];
	}
}

int resources_connect(struct resources *resources, const struct assignment *assignment,
		      const struct endpoint_info *remote, struct steps *steps, struct error *err)
{
	return connect_qps(resources, assignment, remote, steps, err);
}

void resources_free(struct resources *resources, struct steps *steps)
{
	if (!resources) {
		return;
	}
	/*
	 * On a device that is gone every one of these fails; closing its context ends what is left.
	 */
	for (size_t i = 0; i < resources->qp_slots; i++) {
		resources_drop_qp(resources, i, steps);
	}
	if (resources->ah) {
		uint64_t started_mono_ns = call_begin("ibv_destroy_ah");

		(void)ibv_destroy_ah(resources->ah);
		call_end(steps, "destroy_ah", started_mono_ns, 0);
	}
	if (resources->srq) {
		uint64_t started_mono_ns = call_begin("ibv_destroy_srq");

		(void)ibv_destroy_srq(resources->srq);
		call_end(steps, "destroy_srq", started_mono_ns, 0);
	}
	struct ibv_cq *const cqs[] = { resources->send_cq, resources->recv_cq };
	for (size_t i = 0; i < sizeof(cqs) / sizeof(cqs[0]); i++) {
		uint64_t started_mono_ns = call_begin("ibv_destroy_cq");

		if (cqs[i]) {
			(void)ibv_destroy_cq(cqs[i]);
			call_end(steps, "destroy_cq", started_mono_ns, 0);
		}
	}
	notify_close(resources->channel, steps);
	region_done(&resources->region, steps);
	if (resources->pd) {
		uint64_t started_mono_ns = call_begin("ibv_dealloc_pd");

		(void)ibv_dealloc_pd(resources->pd);
		call_end(steps, "dealloc_pd", started_mono_ns, 0);
	}
	free(resources->qps);
	free(resources->psns);
	free(resources->recv_wrs);
	free(resources->recv_sges);
	free(resources);
}
