// SPDX-License-Identifier: MIT
#include "model/assignment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/buffer_layout.h"
#include "util/text.h"

const char *const job_role_names[] = { "initiator", "responder", NULL };

#define REQUIRED_NAME(noun, name)                                                               \
	{                                                                                       \
		.key = #name, .type = SCHEMA_NAME, .is_required = true,                         \
		.offset = offsetof(struct noun, name), .size = sizeof(((struct noun *)0)->name) \
	}

const struct schema_field endpoint_fields[] = {
	REQUIRED_NAME(endpoint, node),
	{ .key = "device",
	  .type = SCHEMA_STRING,
	  .is_required = true,
	  .offset = offsetof(struct endpoint, device),
	  .size = LIMIT_NAME },
	{ .key = "port_num",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct endpoint, port_num),
	  .min = 1,
	  .max = 255,
	  .fallback = "1" },
	{ .key = "gid_index",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  .offset = offsetof(struct endpoint, gid_index),
	  .min = 0,
	  .max = 255,
	  .fallback = "auto" },
	{ 0 },
};

#define SECTION(name, table)                                                                       \
	{                                                                                          \
		.key = #name, .type = SCHEMA_MAP, .is_required = true,                             \
		.offset = offsetof(struct assignment, workload) + offsetof(struct workload, name), \
		.fields = (table)                                                                  \
	}

const struct schema_field assignment_fields[] = {
	{ .key = "run_id",
	  .type = SCHEMA_STRING,
	  .is_required = true,
	  .offset = offsetof(struct assignment, run_id),
	  .size = sizeof(((struct assignment *)0)->run_id) },
	{ .key = "pair",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct assignment, pair),
	  .max = LIMIT_PAIRS - 1 },
	REQUIRED_NAME(assignment, scenario),
	REQUIRED_NAME(assignment, coordinator),
	{ .key = "role",
	  .type = SCHEMA_ENUM,
	  .is_required = true,
	  .offset = offsetof(struct assignment, role),
	  .names = job_role_names },
	{ .key = "disruptive",
	  .type = SCHEMA_BOOL,
	  .offset = offsetof(struct assignment, is_disruptive),
	  .fallback = "false" },
	{ .key = "scheduled",
	  .type = SCHEMA_BOOL,
	  .offset = offsetof(struct assignment, is_scheduled),
	  .fallback = "false" },
	{ .key = "initiator",
	  .type = SCHEMA_MAP,
	  .is_required = true,
	  .offset = offsetof(struct assignment, initiator),
	  .fields = endpoint_fields },
	{ .key = "responder",
	  .type = SCHEMA_MAP,
	  .is_required = true,
	  .offset = offsetof(struct assignment, responder),
	  .fields = endpoint_fields },
	SECTION(qp, qp_fields),
	SECTION(cq, cq_fields),
	SECTION(workload, workload_fields),
	SECTION(run, run_fields),
	SECTION(cpu, cpu_fields),
	{ .key = "memory",
	  .type = SCHEMA_MAP,
	  .offset = offsetof(struct assignment, workload) + offsetof(struct workload, memory),
	  .fields = memory_fields },
	{ .key = "seed",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct assignment, seed),
	  .max = INT64_MAX },
	{ 0 },
};

static const struct schema_field qp_address_fields[] = {
	{ .key = "qp_num",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct qp_address, qp_num),
	  .max = 0xffffff },
	{ .key = "psn",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct qp_address, psn),
	  .max = 0xffffff },
	{ 0 },
};

#define INFO(name, most)                                                      \
	{                                                                     \
		.key = #name, .type = SCHEMA_INTEGER,                         \
		.offset = offsetof(struct endpoint_info, name), .max = (most) \
	}

const struct schema_field endpoint_info_fields[] = {
	{ .key = "gid",
	  .type = SCHEMA_STRING,
	  .offset = offsetof(struct endpoint_info, gid),
	  .size = sizeof(((struct endpoint_info *)0)->gid) },
	INFO(lid, 65535),
	{ .key = "mtu_bytes",
	  .type = SCHEMA_INTEGER,
	  .is_required = true,
	  .offset = offsetof(struct endpoint_info, mtu_bytes),
	  .min = 256,
	  .max = 4096,
	  .fallback = "256" },
	INFO(pkey_index, 65535),
	INFO(pkey, 65535),
	INFO(buffer_address, INT64_MAX),
	INFO(buffer_bytes, LIMIT_BUFFER_BYTES),
	INFO(rkey, UINT32_MAX),
	{ .key = "max_inline_data",
	  .json_key = "max_inline_data_bytes",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct endpoint_info, max_inline_data),
	  .max = 65536 },
	INFO(cm_port, 65535),
	{ .key = "cm_token",
	  .type = SCHEMA_STRING,
	  .offset = offsetof(struct endpoint_info, cm_token),
	  .size = sizeof(((struct endpoint_info *)0)->cm_token) },
	{ .key = "qps",
	  .type = SCHEMA_LIST,
	  .is_required = true,
	  .offset = offsetof(struct endpoint_info, qps),
	  .fields = qp_address_fields,
	  .item_size = sizeof(struct qp_address),
	  .count_offset = offsetof(struct endpoint_info, qp_count),
	  .max_items = LIMIT_QPS },
	{ 0 },
};

const struct endpoint *assignment_local(const struct assignment *assignment)
{
	return assignment->role == ROLE_INITIATOR ? &assignment->initiator : &assignment->responder;
}

const struct endpoint *assignment_remote(const struct assignment *assignment)
{
	return assignment->role == ROLE_INITIATOR ? &assignment->responder : &assignment->initiator;
}

uint64_t assignment_pinned_bytes(const struct assignment *assignment)
{
	const struct memory_settings *memory = &assignment->workload.memory;
	struct buffer_layout layout;

	buffer_layout_of(&assignment->workload, &layout);
	if (memory->kind != MEMORY_HUGEPAGE) {
		return layout.total_bytes;
	}
	return (layout.total_bytes + memory->hugepage_bytes - 1) / memory->hugepage_bytes *
	       memory->hugepage_bytes;
}

struct first_problem {
	char field[64];
	char sentence[LIMIT_TEXT];
};

static void keep_first(void *arg, const char *field, const char *other, const char *sentence)
{
	struct first_problem *first = arg;

	if (!first->sentence[0]) {
		text_copy(first->field, sizeof(first->field), field);
		text_copy(first->sentence, sizeof(first->sentence), sentence);
	}
}

/* What the planner must have decided. */
static const char *unresolved(const struct assignment *assignment)
{
	const struct qp_settings *qp = &assignment->workload.qp;

	/* max_inline_data stays open: each end tries what its device takes. */
	return qp->path_mtu == SCHEMA_AUTO	  ? "qp.path_mtu"
	       : qp->max_rd_atomic == SCHEMA_AUTO ? "qp.max_rd_atomic"
						  : NULL;
}

int assignment_check_mtu(const struct assignment *assignment, const struct endpoint *endpoint,
			 uint64_t active_mtu_bytes, bool is_planned, struct error *err)
{
	uint64_t path_mtu = assignment->workload.qp.path_mtu;

	if (active_mtu_bytes == 0 || path_mtu == SCHEMA_AUTO || path_mtu <= active_mtu_bytes) {
		return 0;
	}
	return error_set(err, -ERANGE, ERROR_INPUT,
			 "qp.path_mtu: %" PRIu64 " is above the active MTU %" PRIu64
			 " of %s/%s; write auto, or raise the MTU of its netdev%s",
			 path_mtu, active_mtu_bytes, endpoint->node, endpoint->device,
			 is_planned ? " (where it is auto, that MTU has changed since the run was "
				      "planned: run it again)"
				    : "");
}

static bool is_run_id(const char *id)
{
	size_t length = strlen(id);

	return length > 0 &&
	       strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") ==
		       length;
}

int assignment_check(const struct assignment *assignment, struct error *err)
{
	struct first_problem first = { 0 };
	const char *open = unresolved(assignment);

	if (!is_run_id(assignment->run_id)) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "run_id: \"%s\" is no id: letters, digits and dashes",
				 assignment->run_id);
	}
	if (!assignment->initiator.device[0] || !assignment->responder.device[0]) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "initiator and responder must each name a device");
	}
	if (open) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "%s: auto must be decided before an assignment is sent", open);
	}
	if (assignment->workload.workload.direction == DIRECTION_REVERSE) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"workload.direction: who requests must be decided before an assignment is sent; the "
			"initiator does, or both");
	}
	if (workload_check(&assignment->workload, keep_first, &first)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "%s: %s", first.field, first.sentence);
	}
	return 0;
}
