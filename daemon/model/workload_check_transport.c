// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "model/workload_check.h"

/* What is legal on a transport (IBTA volume 1, table of operations), and what can be counted on it.
 */
void workload_check_transport(struct workload_check *check)
{
	const struct workload_settings *settings = &check->workload->workload;

	if (check->workload->qp.qp_type != QP_TYPE_UC) {
		return;
	}
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
