// SPDX-License-Identifier: MIT
#include "fake/recv_ring.h"

#include <errno.h>
#include <stdlib.h>

#include "fake/nic.h"

void recv_ring_init(struct recv_ring *ring, uint32_t depth, uint32_t max_sge)
{
	*ring = (struct recv_ring){ .depth = depth, .max_sge = max_sge };
	ring->wqes = nic_alloc(depth, sizeof(*ring->wqes));
	ring->sges = nic_alloc((size_t)depth * max_sge, sizeof(*ring->sges));
}

void recv_ring_done(struct recv_ring *ring)
{
	free(ring->wqes);
	free(ring->sges);
}

int recv_ring_add(struct recv_ring *ring, const struct ibv_recv_wr *wr)
{
	uint64_t length = 0;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > ring->max_sge) {
		return EINVAL;
	}
	if (ring->tail - ring->head >= ring->depth) {
		return ENOMEM;
	}
	uint64_t slot = ring->tail % ring->depth;
	for (int i = 0; i < wr->num_sge; i++) {
		ring->sges[slot * ring->max_sge + (unsigned)i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	ring->wqes[slot] =
		(struct recv_wqe){ .wr_id = wr->wr_id,
				   .length = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length,
				   .sge_count = wr->num_sge };
	ring->tail++;
	return 0;
}

void recv_ring_take(struct recv_ring *from, struct recv_ring *to)
{
	if (from->head == from->tail) {
		return;
	}
	uint64_t slot = from->head++ % from->depth;
	struct ibv_recv_wr wr = { .wr_id = from->wqes[slot].wr_id,
				  .sg_list = &from->sges[slot * from->max_sge],
				  .num_sge = from->wqes[slot].sge_count };
	(void)recv_ring_add(to, &wr);
}
