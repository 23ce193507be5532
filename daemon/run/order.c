// SPDX-License-Identifier: MIT
#include "run/order.h"

#include "util/memory.h"

json_t *order_new(const char *kind, const struct assignment *assignment, enum job_role role)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	json_set_string(message, "run", assignment->run_id);
	json_set_u64(message, "pair", assignment->pair);
	json_set_string(message, "role", job_role_names[role]);
	return message;
}

json_t *order_prepare(const struct assignment *assignment, enum job_role role)
{
	_cleanup_free_ struct assignment *copy = memory_new(sizeof(*copy));
	json_t *message = order_new("prepare", assignment, role);

	*copy = *assignment;
	copy->role = (int)role;
	json_set_take(message, "assignment", schema_write(assignment_fields, copy));
	return message;
}

json_t *order_connect(const struct assignment *assignment, enum job_role role,
		      const struct endpoint_info *other)
{
	json_t *message = order_new("connect", assignment, role);

	json_set_take(message, "info", schema_write(endpoint_info_fields, other));
	return message;
}
