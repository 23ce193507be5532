// SPDX-License-Identifier: MIT
#pragma once

/*
 * An assignment with every default, from "left" port 1 (initiator) to "right" port 1 (responder),
 * resolved as the planner would: what tests of the engine and below begin with.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/assignment.h"

static inline void assignments_endpoint(struct endpoint *endpoint, const char *node,
					const char *device)
{
	snprintf(endpoint->node, sizeof(endpoint->node), "%s", node);
	snprintf(endpoint->device, sizeof(endpoint->device), "%s", device);
	endpoint->port_num = 1;
	endpoint->gid_index = 1;
}

/* Caller frees. One operation of one size, 100 ms. */
static inline struct assignment *assignments_new(int role, int pattern, int kind,
						 uint64_t size_bytes)
{
	struct assignment *assignment = calloc(1, sizeof(*assignment));
	struct workload *workload = &assignment->workload;

	schema_defaults(workload_section_fields, workload);
	memcpy(assignment->run_id, "01J0000000000000000000TEST", 27);
	memcpy(assignment->scenario, "test", 5);
	memcpy(assignment->coordinator, "left", 5);
	assignment->role = role;
	assignment->is_disruptive = true;
	assignment->seed = 42;
	assignments_endpoint(&assignment->initiator, "left", "left");
	assignments_endpoint(&assignment->responder, "right", "right");
	workload->qp.path_mtu = 1024;
	workload->qp.max_rd_atomic = 4;
	workload->qp.num_qps = 1;
	workload->qp.max_send_wr = 64;
	workload->qp.max_recv_wr = 32;
	workload->workload.pattern = pattern;
	workload->workload.op_count = 1;
	workload->workload.ops[0].kind = kind;
	workload->workload.ops[0].weight = 1;
	workload->workload.ops[0].size_count = 1;
	workload->workload.ops[0].sizes[0] =
		(struct operation_size){ .size_bytes = size_bytes, .weight = 1 };
	workload->run.warmup_ns = 0;
	workload->run.duration_ns = 100000000;
	workload->run.iterations = 0;
	workload->run.interval_ns = 20000000;
	return assignment;
}
