// SPDX-License-Identifier: MIT
#pragma once

/*
 * Queue pairs from INIT over RTR to RTS, with addresses that were exchanged (all at once, as
 * resources_connect promises) or that a connection manager agreed on (one by one: verbs/cm). Setup
 * thread; RTR may take seconds where a neighbour does not answer.
 */

#include "verbs/resources.h"

/* What two ends must agree on for one connection. */
struct connect_numbers {
	uint32_t dest_qp_num;
	uint32_t rq_psn; /* the other end's first */
	uint32_t sq_psn; /* our first */
};

int connect_qps(struct resources *resources, const struct assignment *assignment,
		const struct endpoint_info *remote, struct steps *steps, struct error *err);
/* Nothing of `remote` may be used before this: 0 and the path to it, or class PEER. */
int connect_check(const struct resources *resources, const struct assignment *assignment,
		  const struct endpoint_info *remote, struct ibv_ah_attr *ret_path,
		  struct error *err);
/* One that has acknowledgements or not, but no datagrams. Steps modify_rtr, modify_rts. */
int connect_qp(struct resources *resources, size_t index, const struct assignment *assignment,
	       const struct endpoint_info *remote, const struct ibv_ah_attr *path,
	       const struct connect_numbers *numbers, struct steps *steps, struct error *err);
