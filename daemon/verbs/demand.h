// SPDX-License-Identifier: MIT
#pragma once

/*
 * What one end of an assignment demands of its device: rights, depths, sizes. Computed from the
 * assignment alone, then compared with what the device and its port offer, before anything is made:
 * the error names the field, its value, the limit and the cure.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "model/assignment.h"
#include "model/buffer_layout.h"
#include "util/error.h"
#include "verbs/device.h"

struct demand {
	struct buffer_layout layout;
	enum ibv_qp_type qp_type;
	unsigned qp_access; /* IBV_ACCESS_*: what the peer may do through our queue pairs */
	unsigned mr_access; /* the least the region needs */
	bool has_atomics; /* of either end */
	bool has_reads; /* posted by this end */
	uint32_t odp_needs; /* enum ibv_odp_transport_cap_bits of the transport; 0: no paging */
	uint64_t recv_depth; /* receives a receive queue keeps posted; 0: the peer takes none */
	bool is_shared; /* one receive queue for all queue pairs */
	uint64_t send_cqe; /* all completions that can wait, those of a flush included */
	uint64_t recv_cqe;
	uint64_t min_inline_bytes; /* what operations with inline: true need */
	uint64_t max_inline_bytes; /* to ask for first */
	bool is_inline_fixed; /* qp.max_inline_data is given: nothing less will do */
};

/*
 * 0, or -EINVAL/-EOPNOTSUPP for what this version cannot do. The depths are those of
 * model/workload_queue.h.
 */
int demand_of(const struct assignment *assignment, struct demand *ret, struct error *err);

/*
 * port: as asked of the device. 0, or -ERANGE for a limit, -EOPNOTSUPP for operations that it has
 * not (class INPUT), -ENETDOWN for a port that is not active, -ENOENT for a GID.
 */
int demand_check(const struct demand *demand, const struct assignment *assignment,
		 const struct device *device, const struct ibv_port_attr *port, struct error *err);

/* 256 -> IBV_MTU_256 ... 4096; 0 when it is none of the five. */
enum ibv_mtu demand_mtu(uint64_t bytes);
