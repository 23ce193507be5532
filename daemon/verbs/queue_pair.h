// SPDX-License-Identifier: MIT
#pragma once

/*
 * Makes queue pairs and finds out what was too much when a device refuses one. Setup thread.
 */

#include <infiniband/verbs.h>

#include "util/error.h"
#include "verbs/device.h"

struct queue_pair_wish {
	enum ibv_qp_type type;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq; /* NULL: a receive queue of its own */
	uint64_t max_send_wr;
	uint64_t max_recv_wr;
	uint64_t max_send_sge;
	uint64_t max_recv_sge;
	uint64_t max_inline_bytes; /* in: to ask for first; out: what the device gave */
	uint64_t min_inline_bytes; /* less than max_inline_bytes is tried, but not below this */
};

/* 0, or -errno with err, which names the attribute that the device refuses. */
int queue_pair_create(struct ibv_qp **ret, const struct device *device, struct ibv_pd *pd,
		      struct queue_pair_wish *wish, struct error *err);
