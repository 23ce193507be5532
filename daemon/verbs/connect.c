// SPDX-License-Identifier: MIT
#include "verbs/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
#include "verbs/call.h"
#include "verbs/demand.h"
#include "verbs/pkey.h"

#define NUMBER_MAX 0xffffffull /* queue pair and packet sequence numbers have 24 bits */
#define PREFIX_BYTES 8 /* of a GID: the subnet */
#define WHAT_SIZE 128 /* of a clause: what could not be done */

static int peer_error(struct error *err, const char *what, uint64_t value, const char *limit)
{
	return error_set(err, -EPROTO, ERROR_PEER,
			 "the other end's %s %llu %s; are both daemons of the same version?", what,
			 (unsigned long long)value, limit);
}

/* Nothing of it is used before it fits. */
static int check_remote(const struct resources *resources, const struct assignment *assignment,
			const struct endpoint_info *remote, union ibv_gid *ret_gid,
			struct error *err)
{
	char gid[sizeof(remote->gid)];

	if (remote->qp_count != resources->qp_count) {
		return peer_error(err, "number of queue pairs", remote->qp_count,
				  "differs from ours");
	}
	if (remote->buffer_bytes < resources->layout.total_bytes) {
		return peer_error(err, "buffer size", remote->buffer_bytes,
				  "is below what the operations need");
	}
	if (remote->rkey > UINT32_MAX) {
		return peer_error(err, "rkey", remote->rkey, "has more than 32 bits");
	}
	if (remote->lid > UINT16_MAX) {
		return peer_error(err, "LID", remote->lid, "has more than 16 bits");
	}
	if (remote->pkey > UINT16_MAX) {
		return peer_error(err, "P_Key", remote->pkey, "has more than 16 bits");
	}
	for (size_t i = 0; i < remote->qp_count; i++) {
		if (remote->qps[i].qp_num == 0 || remote->qps[i].qp_num > NUMBER_MAX) {
			return peer_error(err, "queue pair number", remote->qps[i].qp_num,
					  "is not within 1 to 0xffffff");
		}
		if (remote->qps[i].psn > NUMBER_MAX) {
			return peer_error(err, "packet sequence number", remote->qps[i].psn,
					  "has more than 24 bits");
		}
	}
	text_copy(gid, sizeof(gid), remote->gid);
	if (inet_pton(AF_INET6, gid, ret_gid->raw) != 1) {
		text_escape(gid, sizeof(gid), remote->gid);
		return error_set(err, -EPROTO, ERROR_PEER,
				 "the other end's GID \"%s\" is not an IPv6 address", gid);
	}
	return assignment_check_mtu(assignment, assignment_remote(assignment), remote->mtu_bytes,
				    true, err);
}

/* Packets of another partition are dropped without a word: better told before they are sent. */
static int check_partition(const struct resources *resources, const struct assignment *assignment,
			   const struct endpoint_info *remote, struct error *err)
{
	const struct endpoint *other = assignment_remote(assignment);
	bool is_one = ((resources->pkey ^ remote->pkey) & PKEY_PARTITION) == 0;

	if (pkey_reaches(resources->pkey, (uint16_t)remote->pkey)) {
		return 0;
	}
	return pkey_refuse(
		error_set(err, -EXDEV, ERROR_DEVICE,
			  "P_Key 0x%04x of %s and 0x%04llx of %s/%s are %s; have the subnet manager "
			  "make %s, or choose with qp.pkey",
			  resources->pkey, resources->device->name,
			  (unsigned long long)remote->pkey, other->node, other->device,
			  is_one ? "both of limited members, who do not reach each other"
				 : "of different partitions",
			  is_one ? "one of them a full member" : "both ports members of one"),
		STAGE_CONNECT, err);
}

static void fill_path(const struct resources *resources, const struct assignment *assignment,
		      const struct endpoint_info *remote, const union ibv_gid *gid,
		      struct ibv_ah_attr *ret)
{
	const struct endpoint *local = assignment_local(assignment);
	const struct qp_settings *qp = &assignment->workload.qp;
	/* On InfiniBand a LID leads everywhere in its subnet. */
	bool is_global = !resources->is_infiniband || remote->lid == 0 ||
			 memcmp(resources->gid.raw, gid->raw, PREFIX_BYTES) != 0;

	*ret = (struct ibv_ah_attr){
		.port_num = (uint8_t)local->port_num,
		.sl = (uint8_t)qp->service_level,
		.dlid = resources->is_infiniband ? (uint16_t)remote->lid : 0,
		.is_global = is_global,
	};
	if (is_global) {
		ret->grh = (struct ibv_global_route){
			.dgid = *gid,
			.flow_label = (uint32_t)qp->flow_label,
			.sgid_index = local->gid_index == SCHEMA_AUTO ? 0
								      : (uint8_t)local->gid_index,
			.hop_limit = (uint8_t)qp->hop_limit,
			.traffic_class =
				qp->traffic_class == SCHEMA_AUTO ? 0 : (uint8_t)qp->traffic_class,
		};
	}
}

static bool is_unresolved(int error)
{
	return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ||
	       error == EHOSTDOWN || error == EADDRNOTAVAIL;
}

/* The kernel looks for the interface of a GID when a queue pair takes it as its source. */
static bool has_no_interface(int error)
{
	return error == ENODEV || error == ENODATA;
}

/* Acknowledgements and what else comes back: retries, timers and reads are theirs. */
static bool has_answers(const struct assignment *assignment)
{
	return assignment->workload.qp.qp_type == QP_TYPE_RC;
}

/* Of RTR, which looks for the neighbour: ibv_modify_qp, or for datagrams ibv_create_ah. */
static int no_way(int error, const char *call, const char *what, const char *gid,
		  unsigned sgid_index, struct error *err)
{
	if (is_unresolved(error)) {
		return error_set_call(
			err, error, ERROR_DEVICE, STAGE_MODIFY_QP, call,
			"%s: no way to %s from gid_index %u; check address, VLAN and route of "
			"both ports (`ip route get`, `ip neigh`)",
			what, gid, sgid_index);
	}
	return error_set_call(err, error, ERROR_DEVICE, STAGE_MODIFY_QP, call,
			      "%s: no network interface is behind gid_index %u any more; was its "
			      "address or VLAN taken away? (`ip address`, `rdmatestd --doctor`)",
			      what, sgid_index);
}

/* Datagrams carry their way with them, the same for all queue pairs. */
static int make_way(struct resources *resources, const struct endpoint_info *remote,
		    struct ibv_ah_attr *path, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_create_ah");
	char gid[sizeof(remote->gid)];
	char what[WHAT_SIZE];
	int error;

	errno = 0;
	resources->ah = ibv_create_ah(resources->pd, path);
	error = errno ? errno : EIO;
	call_end(steps, "create_ah", started_mono_ns, 0);
	if (resources->ah) {
		return 0;
	}
	text_escape(gid, sizeof(gid), remote->gid);
	if (is_unresolved(error) || has_no_interface(error)) {
		snprintf(what, sizeof(what), "%s gives no address handle", resources->device->name);
		return no_way(error, "ibv_create_ah", what, gid, path->grh.sgid_index, err);
	}
	return error_set_call(err, error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_create_ah",
			      "%s gives no address handle for %s (lid %llu)",
			      resources->device->name, gid, (unsigned long long)remote->lid);
}

static int rtr_mask(const struct assignment *assignment)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	switch (assignment->workload.qp.qp_type) {
	case QP_TYPE_UD:
		return IBV_QP_STATE;
	case QP_TYPE_UC:
		return mask;
	default:
		return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
}

static int go_rtr(struct resources *resources, size_t index, const struct assignment *assignment,
		  const struct endpoint_info *remote, const struct ibv_ah_attr *path,
		  const struct connect_numbers *numbers, struct error *err)
{
	const struct qp_settings *qp = &assignment->workload.qp;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = demand_mtu(qp->path_mtu),
		.dest_qp_num = numbers->dest_qp_num,
		.rq_psn = numbers->rq_psn,
		.ah_attr = *path,
		.max_dest_rd_atomic = (uint8_t)qp->max_rd_atomic,
		.min_rnr_timer = (uint8_t)qp->min_rnr_timer,
	};
	int error = ibv_modify_qp(resources->qps[index], &attr, rtr_mask(assignment));
	char what[WHAT_SIZE];
	char gid[sizeof(remote->gid)];

	if (error == 0) {
		return 0;
	}
	text_escape(gid, sizeof(gid), remote->gid);
	if (is_unresolved(error) || has_no_interface(error)) {
		snprintf(what, sizeof(what), "qp 0x%x of %s cannot go to RTR",
			 resources->qps[index]->qp_num, resources->device->name);
		return no_way(error, "ibv_modify_qp", what, gid, path->grh.sgid_index, err);
	}
	return error_set_call(
		err, error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp",
		"qp 0x%x of %s cannot go to RTR (to qp 0x%llx at %s, lid %llu, path_mtu %llu, max_dest_rd_atomic %llu)",
		resources->qps[index]->qp_num, resources->device->name,
		(unsigned long long)numbers->dest_qp_num, gid, (unsigned long long)remote->lid,
		(unsigned long long)qp->path_mtu, (unsigned long long)qp->max_rd_atomic);
}

static int go_rts(struct resources *resources, size_t index, const struct assignment *assignment,
		  uint32_t sq_psn, struct error *err)
{
	const struct qp_settings *qp = &assignment->workload.qp;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)qp->local_ack_timeout,
		.retry_cnt = (uint8_t)qp->retry_cnt,
		.rnr_retry = (uint8_t)qp->rnr_retry,
		.sq_psn = sq_psn,
		.max_rd_atomic = (uint8_t)qp->max_rd_atomic,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	int error = ibv_modify_qp(resources->qps[index], &attr,
				  has_answers(assignment)
					  ? mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
					  : mask);

	if (error == 0) {
		return 0;
	}
	return error_set_call(
		err, error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp",
		"qp 0x%x of %s cannot go to RTS (local_ack_timeout %llu, retry_cnt %llu, rnr_retry %llu, "
		"max_rd_atomic %llu)",
		resources->qps[index]->qp_num, resources->device->name,
		(unsigned long long)qp->local_ack_timeout, (unsigned long long)qp->retry_cnt,
		(unsigned long long)qp->rnr_retry, (unsigned long long)qp->max_rd_atomic);
}

int connect_check(const struct resources *resources, const struct assignment *assignment,
		  const struct endpoint_info *remote, struct ibv_ah_attr *ret_path,
		  struct error *err)
{
	union ibv_gid gid;
	int ret = check_remote(resources, assignment, remote, &gid, err);

	if (ret == 0) {
		ret = check_partition(resources, assignment, remote, err);
	}
	if (ret < 0) {
		if (err && !err->call[0]) {
			err->stage = STAGE_CONNECT;
			text_copy(err->call, sizeof(err->call),
				  ret == -ERANGE ? "limit" : "endpoint");
		}
		return ret;
	}
	fill_path(resources, assignment, remote, &gid, ret_path);
	return 0;
}

int connect_qp(struct resources *resources, size_t index, const struct assignment *assignment,
	       const struct endpoint_info *remote, const struct ibv_ah_attr *path,
	       const struct connect_numbers *numbers, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_modify_qp");
	int ret = go_rtr(resources, index, assignment, remote, path, numbers, err);

	/* One that fails took its time too: the result shows it. */
	call_end(steps, "modify_rtr", started_mono_ns, 0);
	if (ret < 0) {
		return ret;
	}
	started_mono_ns = call_begin("ibv_modify_qp");
	ret = go_rts(resources, index, assignment, numbers->sq_psn, err);
	call_end(steps, "modify_rts", started_mono_ns, 0);
	return ret;
}

int connect_qps(struct resources *resources, const struct assignment *assignment,
		const struct endpoint_info *remote, struct steps *steps, struct error *err)
{
	struct ibv_ah_attr path;
	int ret = connect_check(resources, assignment, remote, &path, err);

	if (ret == 0 && assignment->workload.qp.qp_type == QP_TYPE_UD) {
		ret = make_way(resources, remote, &path, steps, err);
	}
	for (size_t i = 0; ret == 0 && i < resources->qp_count; i++) {
		const struct connect_numbers numbers = {
			.dest_qp_num = (uint32_t)remote->qps[i].qp_num,
			.rq_psn = (uint32_t)remote->qps[i].psn,
			.sq_psn = resources->psns[i],
		};

		ret = connect_qp(resources, i, assignment, remote, &path, &numbers, steps, err);
	}
	return ret;
}
