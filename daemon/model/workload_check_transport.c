// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "model/workload_check.h"
#include "util/units.h"

static void check_connected(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;

	for (size_t i = 0; i < settings->op_count; i++) {
		int kind = settings->ops[i].kind;
		char field[40];

		snprintf(field, sizeof(field), "workload.ops[%zu].op", i);
		if (operation_traits(kind) & OPERATION_FETCHES) {
			workload_check_complain(
				check, field, "qp.qp_type",
				"%s needs an answer, and UC has none; use qp_type: RC",
				operation_names[kind]);
		} else if (kind == OPERATION_WRITE && settings->pattern == PATTERN_STREAM) {
			workload_check_complain(
				check, field, "qp.qp_type",
				"a write over UC leaves no trace at the other end, so that nobody could tell what was lost; use "
				"write_with_imm, or qp_type: RC");
		}
	}
}

/* A datagram is one packet. qp.path_mtu: as given, or as it was resolved. */
static void check_datagrams(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;
	uint64_t path_mtu = check->workload->qp.path_mtu;

	for (size_t i = 0; i < settings->op_count; i++) {
		const struct operation *op = &settings->ops[i];
		char field[48], is[UNITS_SIZE], may[UNITS_SIZE];

		snprintf(field, sizeof(field), "workload.ops[%zu].op", i);
		if (operation_traits(op->kind) & OPERATION_IS_ONE_SIDED) {
			workload_check_complain(
				check, field, "qp.qp_type",
				"%s names memory of the other end, and UD has send and send_with_imm alone; use one of these, or "
				"qp_type: RC",
				operation_names[op->kind]);
		}
		snprintf(field, sizeof(field), "workload.ops[%zu].size", i);
		for (size_t j = 0; path_mtu != SCHEMA_AUTO && j < op->size_count; j++) {
			if (op->sizes[j].size_bytes > path_mtu) {
				workload_check_complain(
					check, field, "qp.path_mtu",
					"%s is above the path MTU %s, and UD sends one packet a message; use a smaller size, or qp_type: "
					"UC",
					units_write_size(op->sizes[j].size_bytes, is),
					units_write_size(path_mtu, may));
				break;
			}
		}
		snprintf(field, sizeof(field), "workload.ops[%zu].response", i);
		if (path_mtu != SCHEMA_AUTO && op->response_bytes > path_mtu) {
			workload_check_complain(
				check, field, "qp.path_mtu",
				"%s is above the path MTU %s, and UD sends one packet a message; use a smaller one, or qp_type: UC",
				units_write_size(op->response_bytes, is),
				units_write_size(path_mtu, may));
		}
	}
}

/* librdmacm connects RC, and resolves the other end of UD; UC it does not know. */
static void check_manager(struct workload_check *check)
{
	if (check->workload->qp.cm == QP_CM_RDMA_CM && check->workload->qp.qp_type == QP_TYPE_UC) {
		workload_check_complain(check, "qp.cm", "qp.qp_type",
					"rdma_cm knows no UC; use exchange, or qp_type: RC");
	}
}

/* Partition 0 is none; rdma_cm takes that of the interface. */
static void check_partition(struct workload_check *check)
{
	const struct qp_settings *qp = &check->workload->qp;

	if (qp->pkey == SCHEMA_AUTO) {
		return;
	}
	if ((qp->pkey & PKEY_PARTITION) == 0) {
		workload_check_complain(
			check, "qp.pkey", NULL,
			"0x%x names no partition: its lower 15 bits are; use 0x1 to 0x7fff, or 0x8001 to 0xffff",
			(unsigned)qp->pkey);
	}
	if (qp->pkey_index != 0) {
		workload_check_complain(check, "qp.pkey", "qp.pkey_index",
					"both name a partition; leave one of them out");
	}
	if (qp->cm == QP_CM_RDMA_CM) {
		workload_check_complain(
			check, "qp.pkey", "qp.cm",
			"rdma_cm takes the partition of the IP interface; leave qp.pkey out, or use exchange");
	}
}

/* What is legal on a transport (IBTA volume 1, table of operations), and what can be counted on it.
 */
void workload_check_transport(struct workload_check *check)
{
	check_manager(check);
	check_partition(check);
	switch (check->workload->qp.qp_type) {
	case QP_TYPE_UC:
		check_connected(check);
		break;
	case QP_TYPE_UD:
		check_datagrams(check);
		break;
	default:
		break;
	}
}
