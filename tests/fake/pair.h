// SPDX-License-Identifier: MIT
#pragma once

/*
 * Two devices "left" (10.0.0.1) and "right" (10.0.0.2) with everything up to connected queue pairs,
 * under virtual time: what most unit tests on the fake NIC begin with. One thread.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "fake/fabric.h"

#define PAIR_BUFFER_BYTES (1 << 20)
#define PAIR_ALL_ACCESS                                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of both queues */
	struct ibv_qp *qp;
	struct ibv_mr *mr; /* of buffer, all rights */
	uint8_t *buffer;
};

struct pair {
	struct fabric *fabric;
	struct end left;
	struct end right;
};

/* Zero: the default in brackets. */
struct pair_options {
	struct fabric_device_config device; /* of both; name and address are set here */
	enum ibv_qp_type type; /* [IBV_QPT_RC] */
	uint32_t max_wr; /* both queues [64] */
	uint32_t max_sge; /* [4] */
	uint32_t max_inline_bytes; /* [64] */
	int cqe; /* [256] */
	bool is_all_signalled;
	bool is_unconnected; /* left in RESET */
	struct ibv_qp_attr attr; /* timeout [14], retry_cnt [7], rnr_retry [6], min_rnr_timer [12],
				    rd_atomic [16], qp_access_flags [all], path_mtu [1024] */
	uint64_t seed;
};

/* options NULL: all defaults. Aborts when anything fails. */
void pair_init(struct pair *pair, const struct pair_options *options);
/* The same on another's fabric and clock, with devices "left" and "right" of these hosts; ended by
 * pair_leave. */
void pair_join(struct pair *pair, struct fabric *fabric, const char *left_host,
	       const char *right_host, const struct pair_options *options);
void pair_leave(struct pair *pair);
/* Destroys everything and checks that nothing is left. Objects set to NULL are taken as destroyed.
 */
void pair_done(struct pair *pair);

/* The default attributes towards `other`, as options changed them. */
void pair_attr(const struct end *end, const struct end *other, const struct pair_options *options,
	       struct ibv_qp_attr *ret);
int pair_to_init(struct end *end, struct ibv_qp_attr *attr);
int pair_to_rtr(struct end *end, struct ibv_qp_attr *attr);
int pair_to_rts(struct end *end, struct ibv_qp_attr *attr);

/* One piece of the end's buffer each; `flags` besides none. Return the errno of the post. */
int pair_post_send(struct end *end, const struct end *other, uint64_t wr_id,
		   enum ibv_wr_opcode opcode, uint64_t local_offset, uint64_t remote_offset,
		   uint32_t length, unsigned flags);
int pair_post_recv(struct end *end, uint64_t wr_id, uint64_t offset, uint32_t length);

/* Moves time from event to event until `count` completions are there; aborts when nothing is left
 * to happen. */
void pair_wait(struct end *end, struct ibv_wc *wcs, int count);
/* The same for one, which must have this id and status. */
void pair_expect(struct end *end, uint64_t wr_id, enum ibv_wc_status status, struct ibv_wc *ret_wc);
/* Lets `ns` pass. */
void pair_run(struct pair *pair, uint64_t ns);
/* The end has no completion now. */
bool pair_is_quiet(struct end *end);
