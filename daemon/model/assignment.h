// SPDX-License-Identifier: MIT
#pragma once

/*
 * A decision: one job of one participant, complete in itself. Made by run/plan, sent whole in
 * PREPARE, checked by fleet/permit on arrival. One allocation without pointers: workers never look
 * into a configuration snapshot.
 */

#include "model/inventory.h"
#include "model/workload.h"

enum job_role { ROLE_INITIATOR, ROLE_RESPONDER };
extern const char *const job_role_names[];

struct endpoint {
	char node[LIMIT_NAME];
	char device[LIMIT_NAME];
	uint64_t port_num;
	uint64_t gid_index; /* resolved; auto on InfiniBand by LID */
};
extern const struct schema_field endpoint_fields[];

struct assignment {
	char run_id[32]; /* ULID */
	uint64_t pair; /* index of the measurement in the run */
	char scenario[LIMIT_NAME];
	char coordinator[LIMIT_NAME];
	int role;
	bool is_disruptive; /* may disturb others on both ports */
	bool is_scheduled; /* by no person */
	struct endpoint initiator;
	struct endpoint responder;
	struct workload workload; /* resolved: no auto left but cq.size, traffic_class,
				     max_inline_data, cpu.affinity, run.timeout */
	uint64_t seed; /* resolved; below 2^63 (JSON) */
};
extern const struct schema_field assignment_fields[];

/*
 * For an assignment from a peer, after schema_read: nothing unresolved is left that must not be,
 * names and run id are well formed, the workload holds together (workload_check). 0, or -EINVAL
 * with err (INPUT) about the first problem.
 */
int assignment_check(const struct assignment *assignment, struct error *err);

/*
 * Whether the path MTU of the assignment fits a port of that active MTU (0: not known, it does). 0,
 * or -ERANGE with err (INPUT) in the same words wherever it is noticed. is_planned: the assignment
 * was made with a port that allowed it, so the port is what changed.
 */
int assignment_check_mtu(const struct assignment *assignment, const struct endpoint *endpoint,
			 uint64_t active_mtu_bytes, bool is_planned, struct error *err);

/* Which end is ours. */
const struct endpoint *assignment_local(const struct assignment *assignment);
const struct endpoint *assignment_remote(const struct assignment *assignment);

/* Memory that the job will register, queue pairs that it will make, as `permit` counts them. */
uint64_t assignment_pinned_bytes(const struct assignment *assignment);

#define CM_TOKEN_BYTES 16

/* What PREPARED tells of one end and CONNECT gives to the other. */
struct qp_address {
	uint64_t qp_num;
	uint64_t psn;
};

struct endpoint_info {
	char gid[48];
	uint64_t lid;
	uint64_t mtu_bytes;
	uint64_t pkey_index;
	uint64_t pkey; /* the value there; 0: not known */
	uint64_t buffer_address; /* of the region that the peer may write and read */
	uint64_t buffer_bytes;
	uint64_t rkey;
	uint64_t max_inline_data; /* what the device gave */
	/* qp.cm: rdma_cm, of the responder: where it listens, and what who connects there must
	 * show: CM_TOKEN_BYTES in hexadecimal. Else 0 and empty. */
	uint64_t cm_port;
	char cm_token[2 * CM_TOKEN_BYTES + 1];
	size_t qp_count;
	struct qp_address qps[LIMIT_QPS];
};
extern const struct schema_field endpoint_info_fields[];
