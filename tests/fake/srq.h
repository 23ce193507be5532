// SPDX-License-Identifier: MIT
#pragma once

/* Shared receive queues. */

#include "fake/nic.h"

struct fake_srq {
	struct object object;
	struct ibv_srq ib;
	struct recv_ring ring;
};

static inline struct fake_srq *srq_of(struct ibv_srq *srq)
{
	return list_entry(srq, struct fake_srq, ib);
}
void srq_end(struct fake_srq *srq);
int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
