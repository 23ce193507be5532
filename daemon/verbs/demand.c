// SPDX-License-Identifier: MIT
#include "verbs/demand.h"

#include <errno.h>
#include <string.h>

#include "model/workload_queue.h"

#define INLINE_BYTES 220 /* what is asked for when nothing is said; perftest's value for writes */

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Whether that end posts operations of the kind. */
static bool is_issued_by(const struct workload_settings *workload, int role, int kind)
{
	if (workload->pattern != PATTERN_STREAM) {
		/* What fetches is its own answer. */
		return role == ROLE_INITIATOR || !(operation_traits(kind) & OPERATION_FETCHES);
	}
	return workload->direction == DIRECTION_BOTH ||
	       (role == ROLE_INITIATOR) == (workload->direction == DIRECTION_FORWARD);
}

/* Of all operations that this end posts. */
static unsigned traits_of(const struct assignment *assignment, int role)
{
	const struct workload_settings *workload = &assignment->workload.workload;
	unsigned traits = 0;

	for (size_t i = 0; i < workload->op_count; i++) {
		if (is_issued_by(workload, role, workload->ops[i].kind)) {
			traits |= operation_traits(workload->ops[i].kind);
		}
	}
	/* Writes of several packets are answered with immediate data, both ways. */
	if (workload_has_writes_with_immediate(&assignment->workload)) {
		traits |= OPERATION_TAKES_RECEIVE;
	}
	return traits;
}

static int check_version(const struct assignment *assignment, struct error *err)
{
	const struct workload *workload = &assignment->workload;
	const struct qp_settings *qp = &workload->qp;

	if (qp->qp_type < QP_TYPE_RC || qp->qp_type > QP_TYPE_UD) {
		return error_set(err, -EOPNOTSUPP, ERROR_INPUT,
				 "qp.qp_type %d is not supported by this version; use RC, UC or UD",
				 qp->qp_type);
	}
	if ((workload->workload.op_count == 0) != workload_is_connecting(workload) ||
	    workload->workload.op_count > LIMIT_OPS) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"workload.ops has %zu entries; it must have 1 to %d, and with pattern connect none",
			workload->workload.op_count, LIMIT_OPS);
	}
	for (size_t i = 0; i < workload->workload.op_count; i++) {
		int kind = workload->workload.ops[i].kind;

		if (kind < 0 || kind >= OPERATION_KINDS) {
			return error_set(err, -EOPNOTSUPP, ERROR_INPUT,
					 "workload.ops[%zu].op %d is not known to this version", i,
					 kind);
		}
	}
	if (qp->num_qps < 1 || qp->num_qps > LIMIT_QPS) {
		return error_set(err, -EINVAL, ERROR_INPUT, "qp.num_qps %llu is not within 1 to %d",
				 (unsigned long long)qp->num_qps, LIMIT_QPS);
	}
	if (qp->max_send_wr < 1 || qp->max_send_wr > LIMIT_SEND_WR || qp->max_recv_wr < 1 ||
	    qp->max_recv_wr > LIMIT_SEND_WR) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"qp.max_send_wr %llu and qp.max_recv_wr %llu must be within 1 to %d",
			(unsigned long long)qp->max_send_wr, (unsigned long long)qp->max_recv_wr,
			LIMIT_SEND_WR);
	}
	if (qp->max_send_sge < 1 || qp->max_send_sge > LIMIT_SGE || qp->max_recv_sge < 1 ||
	    qp->max_recv_sge > LIMIT_SGE) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"qp.max_send_sge %llu and qp.max_recv_sge %llu must be within 1 to %d",
			(unsigned long long)qp->max_send_sge, (unsigned long long)qp->max_recv_sge,
			LIMIT_SGE);
	}
	if (qp->max_recv_sge > 1 &&
	    workload_queue_receive_queues(workload) * qp->max_recv_wr * qp->max_recv_sge >
		    LIMIT_RECV_SGES) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "qp.max_recv_sge %llu in all receives are more than %d entries; "
				 "lower it, or qp.max_recv_wr",
				 (unsigned long long)qp->max_recv_sge, LIMIT_RECV_SGES);
	}
	if (demand_mtu(qp->path_mtu) == 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "qp.path_mtu %llu is none of 256, 512, 1024, 2048, 4096 bytes",
				 (unsigned long long)qp->path_mtu);
	}
	if (qp->max_rd_atomic > UINT8_MAX) {
		return error_set(err, -EINVAL, ERROR_INPUT, "qp.max_rd_atomic %llu is above 255",
				 (unsigned long long)qp->max_rd_atomic);
	}
	return 0;
}

static enum ibv_qp_type type_of(const struct assignment *assignment)
{
	switch (assignment->workload.qp.qp_type) {
	case QP_TYPE_UC:
		return IBV_QPT_UC;
	case QP_TYPE_UD:
		return IBV_QPT_UD;
	default:
		return IBV_QPT_RC;
	}
}

static void compute_rights(const struct assignment *assignment, struct demand *ret)
{
	int ours = assignment->role;
	int theirs = ours == ROLE_INITIATOR ? ROLE_RESPONDER : ROLE_INITIATOR;
	unsigned from_us = traits_of(assignment, ours);
	unsigned from_them = traits_of(assignment, theirs);
	unsigned changes = OPERATION_PLACES | OPERATION_IS_ATOMIC | OPERATION_TAKES_RECEIVE;

	ret->qp_access = (from_them & OPERATION_PLACES ? IBV_ACCESS_REMOTE_WRITE : 0u) |
			 (from_them & OPERATION_IS_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0u) |
			 (from_them & OPERATION_READS ? IBV_ACCESS_REMOTE_READ : 0u);
	/* Markers of verified writes take receives, and are answered by a write. */
	if (workload_is_verified(&assignment->workload) && (from_them & OPERATION_PLACES)) {
		from_them |= OPERATION_TAKES_RECEIVE;
	}
	if (workload_is_verified(&assignment->workload) && (from_us & OPERATION_PLACES)) {
		ret->qp_access |= IBV_ACCESS_REMOTE_WRITE;
	}
	ret->mr_access = ret->qp_access;
	if ((from_them & changes) || (from_us & OPERATION_FETCHES) ||
	    (ret->qp_access & IBV_ACCESS_REMOTE_WRITE)) {
		ret->mr_access |= IBV_ACCESS_LOCAL_WRITE;
	}
	ret->has_atomics = (from_us | from_them) & OPERATION_IS_ATOMIC;
	ret->has_reads = from_us & OPERATION_READS;
	ret->recv_depth = from_them & OPERATION_TAKES_RECEIVE ? assignment->workload.qp.max_recv_wr
							      : 0;
}

/* What both ends do to each other's memory: each is one and the other. */
static uint32_t odp_needs(unsigned traits, bool is_shared)
{
	uint32_t needs = 0;

	if ((traits & OPERATION_TAKES_RECEIVE) && !(traits & OPERATION_PLACES)) {
		needs |= IBV_ODP_SUPPORT_SEND;
	}
	if (traits & OPERATION_TAKES_RECEIVE) {
		needs |= is_shared ? IBV_ODP_SUPPORT_SRQ_RECV : IBV_ODP_SUPPORT_RECV;
	}
	if (traits & OPERATION_PLACES) {
		needs |= IBV_ODP_SUPPORT_WRITE;
	}
	if (traits & OPERATION_READS) {
		needs |= IBV_ODP_SUPPORT_READ;
	}
	return traits & OPERATION_IS_ATOMIC ? needs | IBV_ODP_SUPPORT_ATOMIC : needs;
}

static void compute_paging(const struct assignment *assignment, struct demand *ret)
{
	const struct workload_settings *workload = &assignment->workload.workload;

	if (assignment->workload.memory.relaxed_ordering) {
		ret->mr_access |= IBV_ACCESS_RELAXED_ORDERING;
	}
	if (!assignment->workload.memory.odp) {
		return;
	}
	ret->mr_access |= IBV_ACCESS_ON_DEMAND;
	for (size_t i = 0; i < workload->op_count; i++) {
		ret->odp_needs |= odp_needs(operation_traits(workload->ops[i].kind),
					    assignment->workload.qp.srq);
	}
}

static void compute_depths(const struct assignment *assignment, struct demand *ret)
{
	const struct workload *workload = &assignment->workload;

	ret->send_cqe = workload_queue_send_completions(workload);
	ret->recv_cqe = workload_queue_receive_completions(workload, ret->recv_depth > 0);
	ret->is_shared = workload->qp.srq && ret->recv_depth > 0;
}

static void compute_inline(const struct assignment *assignment, struct demand *ret)
{
	const struct workload_settings *workload = &assignment->workload.workload;
	uint64_t given_bytes = assignment->workload.qp.max_inline_data;

	for (size_t i = 0; i < workload->op_count; i++) {
		const struct operation *op = &workload->ops[i];

		for (size_t j = 0;
		     op->inline_mode == INLINE_YES && j < op->size_count && j < LIMIT_SIZES; j++) {
			ret->min_inline_bytes =
				max_u64(ret->min_inline_bytes,
					max_u64(op->sizes[j].size_bytes, op->response_bytes));
		}
	}
	ret->is_inline_fixed = given_bytes != SCHEMA_AUTO;
	ret->max_inline_bytes = ret->is_inline_fixed ? given_bytes
						     : max_u64(INLINE_BYTES, ret->min_inline_bytes);
}

int demand_of(const struct assignment *assignment, struct demand *ret, struct error *err)
{
	int error = check_version(assignment, err);
	const struct workload_settings *workload = &assignment->workload.workload;
	uint64_t largest_bytes = operation_largest_bytes(workload->ops, workload->op_count);
	uint64_t size_entries = assignment->workload.cq.size;

	if (error < 0) {
		return error;
	}
	*ret = (struct demand){ 0 };
	if (largest_bytes > LIMIT_BUFFER_BYTES) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "workload.ops: size %llu is above %llu; lower it",
				 (unsigned long long)largest_bytes, LIMIT_BUFFER_BYTES);
	}
	buffer_layout_of(&assignment->workload, &ret->layout);
	if (ret->layout.total_bytes > LIMIT_BUFFER_BYTES) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"the buffer of %llu queue pairs would have %llu bytes; the limit is %llu: lower qp.num_qps or the "
			"largest size of workload.ops",
			(unsigned long long)assignment->workload.qp.num_qps,
			(unsigned long long)ret->layout.total_bytes, LIMIT_BUFFER_BYTES);
	}
	ret->qp_type = type_of(assignment);
	compute_rights(assignment, ret);
	compute_paging(assignment, ret);
	compute_depths(assignment, ret);
	compute_inline(assignment, ret);
	if (ret->is_inline_fixed && ret->min_inline_bytes > ret->max_inline_bytes) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"workload.ops with inline: true need qp.max_inline_data %llu, it is %llu; raise it or lower the size",
			(unsigned long long)ret->min_inline_bytes,
			(unsigned long long)ret->max_inline_bytes);
	}
	if (size_entries == SCHEMA_AUTO) {
		return 0;
	}
	if (size_entries < ret->send_cqe || size_entries < ret->recv_cqe) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"cq.size %llu is below the %llu completions that can wait at once; raise it, or leave it to auto",
			(unsigned long long)size_entries,
			(unsigned long long)max_u64(ret->send_cqe, ret->recv_cqe));
	}
	ret->send_cqe = size_entries;
	ret->recv_cqe = size_entries;
	return 0;
}

enum ibv_mtu demand_mtu(uint64_t bytes)
{
	switch (bytes) {
	case 256:
		return IBV_MTU_256;
	case 512:
		return IBV_MTU_512;
	case 1024:
		return IBV_MTU_1024;
	case 2048:
		return IBV_MTU_2048;
	case 4096:
		return IBV_MTU_4096;
	default:
		return 0;
	}
}

/* One row of the comparison: what is asked under which name, what the device offers under which. */
struct comparison {
	const char *field;
	uint64_t asked;
	const char *limit_name;
	uint64_t limit;
	const char *cure;
};

static int compare(const struct comparison *row, const char *device, struct error *err)
{
	if (row->asked <= row->limit) {
		return 0;
	}
	return error_set(err, -ERANGE, ERROR_INPUT, "%s %llu is above %s's %s %llu; %s", row->field,
			 (unsigned long long)row->asked, device, row->limit_name,
			 (unsigned long long)row->limit, row->cure);
}

static uint64_t limit_of(int value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static int check_limits(const struct demand *demand, const struct assignment *assignment,
			const struct device *device, const struct ibv_port_attr *port,
			struct error *err)
{
	const struct qp_settings *qp = &assignment->workload.qp;
	const struct workload_settings *workload = &assignment->workload.workload;
	const struct ibv_device_attr *attr = &device->attr;
	const char *cq_cure =
		assignment->workload.cq.size == SCHEMA_AUTO
			? "lower qp.num_qps, workload.load.outstanding or qp.max_recv_wr"
			: "lower it";
	const struct comparison rows[] = {
		{ "qp.num_qps", qp->num_qps, "max_qp", limit_of(attr->max_qp), "lower it" },
		{ "qp.max_send_wr", workload_queue_send_depth(&assignment->workload), "max_qp_wr",
		  limit_of(attr->max_qp_wr), "lower it" },
		{ "qp.max_recv_wr", demand->recv_depth,
		  demand->is_shared ? "max_srq_wr" : "max_qp_wr",
		  limit_of(demand->is_shared ? attr->max_srq_wr : attr->max_qp_wr), "lower it" },
		{ "qp.max_send_sge", qp->max_send_sge, "max_sge", limit_of(attr->max_sge),
		  "lower it" },
		{ "qp.max_send_sge",
		  demand->has_reads && qp->max_send_sge > 1 ? qp->max_send_sge : 0, "max_sge_rd",
		  limit_of(attr->max_sge_rd), "lower it, or take read out of workload.ops" },
		{ "qp.max_recv_sge", demand->recv_depth > 0 ? qp->max_recv_sge : 0,
		  demand->is_shared ? "max_srq_sge" : "max_sge",
		  limit_of(demand->is_shared ? attr->max_srq_sge : attr->max_sge), "lower it" },
		{ "the send completion queue (cq.size)", demand->send_cqe, "max_cqe",
		  limit_of(attr->max_cqe), cq_cure },
		{ "the receive completion queue (cq.size)", demand->recv_cqe, "max_cqe",
		  limit_of(attr->max_cqe), cq_cure },
		{ "workload.ops: size", operation_largest_bytes(workload->ops, workload->op_count),
		  "max_msg_sz", port->max_msg_sz, "lower it" },
		{ "the buffer (qp.num_qps times two times the largest size)",
		  demand->layout.total_bytes, "max_mr_size", attr->max_mr_size, "lower either" },
		{ "qp.max_rd_atomic", qp->max_rd_atomic, "max_qp_init_rd_atom",
		  limit_of(attr->max_qp_init_rd_atom), "lower it" },
		{ "qp.max_rd_atomic", qp->max_rd_atomic, "max_qp_rd_atom",
		  limit_of(attr->max_qp_rd_atom), "lower it" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int ret = compare(&rows[i], device->name, err);

		if (ret < 0) {
			return ret;
		}
	}
	if (assignment_check_mtu(assignment, assignment_local(assignment),
				 port->active_mtu ? 128ull << port->active_mtu : 0, true,
				 err) < 0) {
		return -ERANGE;
	}
	if (qp->pkey_index >= port->pkey_tbl_len) {
		return error_set(
			err, -ERANGE, ERROR_INPUT,
			"qp.pkey_index %llu is not in %s's P_Key table of %u entries; lower it",
			(unsigned long long)qp->pkey_index, device->name, port->pkey_tbl_len);
	}
	return 0;
}

static int check_gid(uint64_t gid_index, const struct device *device, uint64_t port_num,
		     const struct ibv_port_attr *port, struct error *err)
{
	static const union ibv_gid empty;
	union ibv_gid gid = empty;
	int ret;

	if (gid_index >= limit_of(port->gid_tbl_len)) {
		return error_set(
			err, -ENOENT, ERROR_DEVICE,
			"gid_index %llu is not in the GID table of %s port %llu (%d entries)",
			(unsigned long long)gid_index, device->name, (unsigned long long)port_num,
			port->gid_tbl_len);
	}
	ret = ibv_query_gid(device->context, (uint8_t)port_num, (int)gid_index, &gid);
	if (ret != 0) {
		return error_set_call(err, errno ? errno : EIO, ERROR_DEVICE, STAGE_RESOURCE,
				      "ibv_query_gid",
				      "gid_index %llu of %s port %llu cannot be read",
				      (unsigned long long)gid_index, device->name,
				      (unsigned long long)port_num);
	}
	if (memcmp(&gid, &empty, sizeof(gid)) == 0) {
		return error_set(
			err, -ENOENT, ERROR_DEVICE,
			"gid_index %llu of %s port %llu is empty: its address is gone; give the network device an address, or "
			"choose another index (`rdmatestctl devices`)",
			(unsigned long long)gid_index, device->name, (unsigned long long)port_num);
	}
	return 0;
}

static int check_paging(const struct demand *demand, const struct device *device, struct error *err)
{
	const struct ibv_odp_caps *odp = &device->odp;
	uint32_t has = demand->qp_type == IBV_QPT_RC   ? odp->per_transport_caps.rc_odp_caps
		       : demand->qp_type == IBV_QPT_UC ? odp->per_transport_caps.uc_odp_caps
						       : odp->per_transport_caps.ud_odp_caps;

	if (!(demand->mr_access & IBV_ACCESS_ON_DEMAND) ||
	    ((odp->general_caps & IBV_ODP_SUPPORT) && (demand->odp_needs & ~has) == 0)) {
		return 0;
	}
	return error_set(
		err, -EOPNOTSUPP, ERROR_INPUT,
		"memory.odp: %s has %s (odp_caps in ibv_devinfo -v); leave it out, or choose another device",
		device->name,
		odp->general_caps & IBV_ODP_SUPPORT
			? "no on-demand paging for one of workload.ops on this transport"
			: "no on-demand paging");
}

int demand_check(const struct demand *demand, const struct assignment *assignment,
		 const struct device *device, const struct ibv_port_attr *port, struct error *err)
{
	const struct endpoint *local = assignment_local(assignment);
	int ret;

	if (port->state != IBV_PORT_ACTIVE && port->state != IBV_PORT_ACTIVE_DEFER) {
		return error_set(
			err, -ENETDOWN, ERROR_DEVICE,
			"port %llu of %s is not active (%s); check the cable and `rdma link`",
			(unsigned long long)local->port_num, device->name,
			ibv_port_state_str(port->state));
	}
	if (demand->has_atomics && device->attr.atomic_cap == IBV_ATOMIC_NONE) {
		return error_set(
			err, -EOPNOTSUPP, ERROR_INPUT,
			"%s has no atomic operations (atomic_cap is ATOMIC_NONE in `ibv_devinfo -v`); take them out of "
			"workload.ops, or choose another device",
			device->name);
	}
	if (demand->is_shared && device->attr.max_srq == 0) {
		return error_set(
			err, -EOPNOTSUPP, ERROR_INPUT,
			"qp.srq: %s has no shared receive queues (max_srq is 0 in `ibv_devinfo -v`); leave it "
			"out, or choose another device",
			device->name);
	}
	ret = check_paging(demand, device, err);
	if (ret < 0) {
		return ret;
	}
	ret = check_limits(demand, assignment, device, port, err);
	if (ret < 0 || local->gid_index == SCHEMA_AUTO) {
		return ret;
	}
	return check_gid(local->gid_index, device, local->port_num, port, err);
}
