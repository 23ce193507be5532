// SPDX-License-Identifier: MIT
#pragma once

/* Receives that wait: of a queue pair, or of a queue that several share. */

#include <infiniband/verbs.h>
#include <stdint.h>

struct recv_wqe {
	uint64_t wr_id;
	uint32_t length;
	int sge_count;
};

/* Positions count from 0 for ever. */
struct recv_ring {
	struct recv_wqe *wqes;
	struct ibv_sge *sges;
	uint32_t depth;
	uint32_t max_sge;
	uint64_t head;
	uint64_t tail;
};

void recv_ring_init(struct recv_ring *ring, uint32_t depth, uint32_t max_sge);
void recv_ring_done(struct recv_ring *ring);
/* 0, or EINVAL, ENOMEM. */
int recv_ring_add(struct recv_ring *ring, const struct ibv_recv_wr *wr);
/* The oldest one moves, if there is one. */
void recv_ring_take(struct recv_ring *from, struct recv_ring *to);
