// SPDX-License-Identifier: MIT
#pragma once

/*
 * The verbs objects of one job: made, connected and destroyed on a setup thread, used by one worker
 * in between. Errors name the call, the attribute and the device's limit ("qp.max_send_wr 40000 is
 * above rxe0's max_qp_wr 32768"), not a bare ENOMEM.
 *
 * Steps, in this order: alloc_pd, map_buffer and reg_mr (with bytes), create_comp_channel
 * (cq.mode: event), create_cq, modify_cq (cq.moderation), create_srq (qp.srq), create_qp,
 * modify_init, post_recv; modify_rtr, modify_rts; destroy_qp, destroy_srq, destroy_cq,
 * destroy_comp_channel, dereg_mr, dealloc_pd.
 */

#include <infiniband/verbs.h>

#include "model/assignment.h"
#include "model/buffer_layout.h"
#include "model/step.h"
#include "util/error.h"
#include "verbs/device.h"
#include "verbs/queue_pair.h"
#include "verbs/region.h"

struct resources {
	struct device *device; /* borrowed; its owner outlives the job */
	struct ibv_pd *pd;
	struct region region;
	struct ibv_mr *mr; /* of the region */
	uint8_t *buffer; /* of the region; zeroed */
	struct buffer_layout layout;
	struct ibv_comp_channel *channel; /* of both queues; NULL: they are polled */
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq; /* own queue, as perftest has */
	size_t qp_slots; /* qp.num_qps */
	size_t qp_count; /* of those made for the job; pattern connect: none, each connection has
			    its own */
	struct ibv_qp **qps; /* NULL where there is none */
	struct queue_pair_wish wish;
	struct ibv_qp_attr init; /* to INIT */
	int init_mask;
	struct cm *cm; /* of the job; borrowed; NULL: `exchange` */
	struct ibv_ah *ah; /* UD: the way to the other end; else NULL */
	uint32_t qkey; /* UD */
	uint64_t max_inline_data; /* as given */
	struct ibv_srq *srq; /* qp.srq, where sends come; else NULL */
	uint64_t recv_queues; /* one for each queue pair of the job, or the shared one */
	uint64_t recv_depth; /* receives posted on each of them in INIT; 0 if no sends come */
	/*
	 * A chain of recv_depth per receive queue, for reposting whole or in part: those of queue
	 * i begin at i * recv_depth, their wr_id is i. Every one points to the receiving half of
	 * its queue pair, of a shared one to that of the first.
	 */
	struct ibv_recv_wr *recv_wrs;
	struct ibv_sge *recv_sges;
	uint64_t recv_sge; /* entries of a receive */
	/* Chosen once: receives of one receive queue; 0, or a positive errno as ibv_post_recv(3)
	 * and ibv_post_srq_recv(3) give it. By the one thread that has the resources. */
	int (*post_recv)(struct resources *resources, uint64_t queue, struct ibv_recv_wr *wr);
	const char *recv_call; /* which of these it is */
	uint32_t *psns;
	/* Of our port. */
	uint64_t lid;
	uint64_t mtu_bytes;
	uint16_t pkey_index;
	uint16_t pkey; /* 0: not known */
	bool is_infiniband;
	union ibv_gid gid;
};

/*
 * Compares with the device's limits, allocates, registers (least rights for the operations),
 * creates, goes to INIT and posts receives. Every slow call is added to `steps`. 0, or -errno with
 * err and everything undone.
 */
int resources_new(struct resources **ret, struct device *device,
		  const struct assignment *assignment, struct steps *steps, struct error *err);
/* What the other end needs. */
void resources_info(const struct resources *resources, const struct assignment *assignment,
		    struct endpoint_info *ret);
/*
 * INIT -> RTR -> RTS with the other end's values, every attribute from the assignment. `remote` is
 * not trusted: class PEER when it does not fit. A neighbour that does not answer gives
 * stage MODIFY_QP with ETIMEDOUT or an errno of that kind.
 */
int resources_connect(struct resources *resources, const struct assignment *assignment,
		      const struct endpoint_info *remote, struct steps *steps, struct error *err);
/*
 * A queue pair in INIT in an empty slot, as the assignment wishes it: 0, or -errno with err and
 * the slot empty. Steps may be NULL, as with resources_drop_qp. By the one thread that has the
 * resources.
 */
int resources_make_qp(struct resources *resources, size_t slot, struct steps *steps,
		      struct error *err);
/* An empty slot too. */
void resources_drop_qp(struct resources *resources, size_t slot, struct steps *steps);
/* NULL and half-built ones too. Queue pairs first; steps may be NULL. */
void resources_free(struct resources *resources, struct steps *steps);
