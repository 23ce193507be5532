// SPDX-License-Identifier: MIT
/* The state machine of queue pairs: which attributes each transition needs and takes
 * (IBTA 10.3, 11.2.5.2). */
#include <errno.h>

#include "fake/nic.h"
#include "fake/way.h"

#define STATE_COMMON (IBV_QP_STATE | IBV_QP_CUR_STATE)

enum transport { TRANSPORT_RC, TRANSPORT_UC, TRANSPORT_UD, TRANSPORTS };

struct transition {
	enum ibv_qp_state from;
	enum ibv_qp_state to;
	int needed[TRANSPORTS];
	int taken[TRANSPORTS]; /* besides */
};

#define INIT_CONNECTED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_DATAGRAM (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_UC (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                  \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

/* In the order RC, UC, UD. Alternate paths and draining (SQD) are not modelled: refused. */
static const struct transition transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT, { INIT_CONNECTED, INIT_CONNECTED, INIT_DATAGRAM }, { 0 } },
	{ IBV_QPS_INIT, IBV_QPS_INIT, { 0 }, { INIT_CONNECTED, INIT_CONNECTED, INIT_DATAGRAM } },
	{ IBV_QPS_INIT,
	  IBV_QPS_RTR,
	  { RTR_RC, RTR_UC, 0 },
	  { IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS,
	    IBV_QP_PKEY_INDEX | IBV_QP_QKEY } },
	{ IBV_QPS_RTR,
	  IBV_QPS_RTS,
	  { RTS_RC, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN },
	  { IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER,
	    IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, IBV_QP_CUR_STATE | IBV_QP_QKEY } },
	{ IBV_QPS_RTS,
	  IBV_QPS_RTS,
	  { 0 },
	  { IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER,
	    IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, IBV_QP_CUR_STATE | IBV_QP_QKEY } },
	{ IBV_QPS_SQE,
	  IBV_QPS_RTS,
	  { 0 },
	  { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, IBV_QP_CUR_STATE | IBV_QP_QKEY } },
};

static enum transport transport_of(const struct fake_qp *qp)
{
	switch (qp->ib.qp_type) {
	case IBV_QPT_RC:
		return TRANSPORT_RC;
	case IBV_QPT_UC:
		return TRANSPORT_UC;
	default:
		return TRANSPORT_UD;
	}
}

static int check_mask(const struct fake_qp *qp, enum ibv_qp_state next, int mask)
{
	enum transport transport = transport_of(qp);

	/* from anywhere to RESET, from anywhere but RESET to ERR, with nothing else */
	if (next == IBV_QPS_RESET || (next == IBV_QPS_ERR && qp->ib.state != IBV_QPS_RESET)) {
		return (mask & ~STATE_COMMON) != 0 ? EINVAL : 0;
	}
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *transition = &transitions[i];
		if (transition->from != qp->ib.state || transition->to != next) {
			continue;
		}
		if (next == IBV_QPS_RTS && qp->ib.state == IBV_QPS_SQE &&
		    transport == TRANSPORT_RC) {
			return EINVAL;
		}
		int needed = transition->needed[transport];
		int allowed = needed | transition->taken[transport] | IBV_QP_STATE;
		return (mask & needed) != needed || (mask & ~allowed) != 0 ? EINVAL : 0;
	}
	return EINVAL;
}

static int check_values(const struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct fabric_device_config *limits = &qp->device->config;
	bool is_bad =
		((mask & IBV_QP_PORT) && attr->port_num != NIC_PORT) ||
		((mask & IBV_QP_PKEY_INDEX) && way_pkey(qp->device, attr->pkey_index) == 0) ||
		((mask & IBV_QP_PATH_MTU) &&
		 (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > limits->mtu)) ||
		((mask & IBV_QP_DEST_QPN) && attr->dest_qp_num > NIC_PSN_MASK) ||
		((mask & IBV_QP_RQ_PSN) && attr->rq_psn > NIC_PSN_MASK) ||
		((mask & IBV_QP_SQ_PSN) && attr->sq_psn > NIC_PSN_MASK) ||
		((mask & IBV_QP_MAX_DEST_RD_ATOMIC) &&
		 attr->max_dest_rd_atomic > limits->max_rd_atomic) ||
		((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > limits->max_rd_atomic) ||
		((mask & IBV_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31) ||
		((mask & IBV_QP_TIMEOUT) && attr->timeout > 31) ||
		((mask & IBV_QP_RETRY_CNT) && attr->retry_cnt > 7) ||
		((mask & IBV_QP_RNR_RETRY) && attr->rnr_retry > 7);

	if (is_bad) {
		return EINVAL;
	}
	return (mask & IBV_QP_AV) ? way_check(qp->device, &attr->ah_attr) : 0;
}

int state_check(const struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask,
		enum ibv_qp_state *ret_next)
{
	enum ibv_qp_state next = mask & IBV_QP_STATE ? attr->qp_state : qp->ib.state;

	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != qp->ib.state) {
		return EINVAL;
	}
	int error = check_mask(qp, next, mask);
	if (error == 0) {
		error = check_values(qp, attr, mask);
	}
	*ret_next = next;
	return error;
}
