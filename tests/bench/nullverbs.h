// SPDX-License-Identifier: MIT
#pragma once

/*
 * A stand-in for libibverbs, loaded before it (LD_PRELOAD), with one device "null0" that completes
 * all it is given at once and moves no data. Two programs on it differ by their own instructions
 * only. It serves initiators: nothing ever arrives at a peer.
 *
 * nullverbs-device.c: the device and what it says of itself; nullverbs-queue.c: queues, posting and
 * polling; nullverbs-object.c: everything else that programs make and destroy.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* verbs.h wraps these in macros and inline functions. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

#define NULL_MAX_INLINE 512

struct null_cq {
	struct ibv_cq_ex ex; /* starts like struct ibv_cq */
	struct ibv_wc *ring;
	uint32_t mask;
	uint32_t head;
	uint32_t tail;
	bool is_armed;
};

struct null_qp {
	struct ibv_qp_ex ex; /* starts with struct ibv_qp */
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	bool has_open; /* ibv_wr_*: a request that the next one or ibv_wr_complete ends */
	struct ibv_wc open;
};

/* The operations of an opened context. */
int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int null_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int null_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wcs);
int null_req_notify_cq(struct ibv_cq *cq, int is_solicited_only);
struct ibv_qp *null_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_cq_ex *null_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);

/* Zeroed; a benchmark without memory is over. */
void *null_alloc(size_t size_bytes);
uint32_t null_number(void);
