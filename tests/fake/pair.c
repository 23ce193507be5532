// SPDX-License-Identifier: MIT
#include "fake/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake/fake-clock.h"

#define PAIR_START_NS 1000000000

#define PAIR_NEED(condition)                                                            \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list[i] != NULL && context == NULL; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
			context = ibv_open_device(list[i]);
		}
	}
	ibv_free_device_list(list);
	return context;
}

static void make_end(struct end *end, const char *name, const struct pair_options *options)
{
	PAIR_NEED(end->context = open_device(name));
	PAIR_NEED(end->pd = ibv_alloc_pd(end->context));
	PAIR_NEED(end->channel = ibv_create_comp_channel(end->context));
	PAIR_NEED(end->cq = ibv_create_cq(end->context, options->cqe ? options->cqe : 256, end,
					  end->channel, 0));
	PAIR_NEED(end->buffer = calloc(1, PAIR_BUFFER_BYTES));
	PAIR_NEED(end->mr = ibv_reg_mr(end->pd, end->buffer, PAIR_BUFFER_BYTES, PAIR_ALL_ACCESS));

	uint32_t wr = options->max_wr ? options->max_wr : 64;
	uint32_t sge = options->max_sge ? options->max_sge : 4;
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.qp_type = options->type ? options->type : IBV_QPT_RC,
		.sq_sig_all = options->is_all_signalled,
		.cap = { .max_send_wr = wr,
			 .max_recv_wr = wr,
			 .max_send_sge = sge,
			 .max_recv_sge = sge,
			 .max_inline_data = options->max_inline_bytes ? options->max_inline_bytes
								      : 64 },
	};
	PAIR_NEED(end->qp = ibv_create_qp(end->pd, &init));
}

void pair_attr(const struct end *end, const struct end *other, const struct pair_options *options,
	       struct ibv_qp_attr *ret)
{
	const struct ibv_qp_attr *own = &options->attr;

	*ret = (struct ibv_qp_attr){
		.path_mtu = own->path_mtu ? own->path_mtu : IBV_MTU_1024,
		.qp_access_flags = own->qp_access_flags ? own->qp_access_flags : PAIR_ALL_ACCESS,
		.timeout = own->timeout ? own->timeout : 14,
		.retry_cnt = own->retry_cnt ? own->retry_cnt : 7,
		.rnr_retry = own->rnr_retry ? own->rnr_retry : 6,
		.min_rnr_timer = own->min_rnr_timer ? own->min_rnr_timer : 12,
		.max_rd_atomic = own->max_rd_atomic ? own->max_rd_atomic : 16,
		.max_dest_rd_atomic = own->max_dest_rd_atomic ? own->max_dest_rd_atomic : 16,
		.qkey = 0x11111111,
		.port_num = 1,
		.dest_qp_num = other->qp->qp_num,
		.rq_psn = (0xfffff0 + other->qp->qp_num) & 0xffffff,
		.sq_psn = (0xfffff0 + end->qp->qp_num) & 0xffffff,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};
	PAIR_NEED(ibv_query_gid(other->context, 1, 1, &ret->ah_attr.grh.dgid) == 0);
}

int pair_to_init(struct end *end, struct ibv_qp_attr *attr)
{
	attr->qp_state = IBV_QPS_INIT;
	return ibv_modify_qp(end->qp, attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (end->qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY
								     : IBV_QP_ACCESS_FLAGS));
}

int pair_to_rtr(struct end *end, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE;

	if (end->qp->qp_type != IBV_QPT_UD) {
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (end->qp->qp_type == IBV_QPT_RC) {
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	attr->qp_state = IBV_QPS_RTR;
	return ibv_modify_qp(end->qp, attr, mask);
}

int pair_to_rts(struct end *end, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (end->qp->qp_type == IBV_QPT_RC) {
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	}
	attr->qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(end->qp, attr, mask);
}

static void connect_end(struct end *end, const struct end *other,
			const struct pair_options *options)
{
	struct ibv_qp_attr attr;

	pair_attr(end, other, options, &attr);
	PAIR_NEED(pair_to_init(end, &attr) == 0);
	PAIR_NEED(pair_to_rtr(end, &attr) == 0);
	PAIR_NEED(pair_to_rts(end, &attr) == 0);
}

void pair_join(struct pair *pair, struct fabric *fabric, const char *left_host,
	       const char *right_host, const struct pair_options *options)
{
	struct pair_options none = { 0 };

	options = options ? options : &none;
	pair->fabric = fabric;
	struct fabric_device_config config = options->device;
	config.name = "left";
	config.host = left_host;
	config.address = "10.0.0.1";
	fabric_add_device(fabric, &config);
	config.name = "right";
	config.host = right_host;
	config.address = "10.0.0.2";
	fabric_add_device(fabric, &config);
	make_end(&pair->left, "left", options);
	make_end(&pair->right, "right", options);
	if (!options->is_unconnected) {
		connect_end(&pair->left, &pair->right, options);
		connect_end(&pair->right, &pair->left, options);
	}
}

void pair_init(struct pair *pair, const struct pair_options *options)
{
	fake_clock_start(PAIR_START_NS);
	*pair = (struct pair){ 0 };
	struct fabric *fabric = fabric_new(options ? options->seed : 0);
	fabric_use(fabric);
	pair_join(pair, fabric, NULL, NULL, options);
}

static void free_end(struct end *end)
{
	PAIR_NEED(end->qp == NULL || ibv_destroy_qp(end->qp) == 0);
	PAIR_NEED(end->cq == NULL || ibv_destroy_cq(end->cq) == 0);
	PAIR_NEED(end->channel == NULL || ibv_destroy_comp_channel(end->channel) == 0);
	PAIR_NEED(end->mr == NULL || ibv_dereg_mr(end->mr) == 0);
	PAIR_NEED(end->pd == NULL || ibv_dealloc_pd(end->pd) == 0);
	PAIR_NEED(end->context == NULL || ibv_close_device(end->context) == 0);
	free(end->buffer);
}

void pair_leave(struct pair *pair)
{
	free_end(&pair->left);
	free_end(&pair->right);
}

void pair_done(struct pair *pair)
{
	pair_leave(pair);
	fabric_print_objects(pair->fabric, stderr);
	PAIR_NEED(fabric_objects(pair->fabric) == 0);
	fabric_free(pair->fabric);
	fake_clock_stop();
}

int pair_post_send(struct end *end, const struct end *other, uint64_t wr_id,
		   enum ibv_wr_opcode opcode, uint64_t local_offset, uint64_t remote_offset,
		   uint32_t length, unsigned flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buffer + local_offset,
			       .length = length,
			       .lkey = end->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = length > 0 ? 1 : 0,
				  .opcode = opcode,
				  .send_flags = flags };
	struct ibv_send_wr *bad;

	wr.imm_data = htobe32(0xabcd0000 + (uint32_t)wr_id);
	wr.wr.rdma.remote_addr = (uintptr_t)other->buffer + remote_offset;
	wr.wr.rdma.rkey = other->mr->rkey;
	return ibv_post_send(end->qp, &wr, &bad);
}

int pair_post_recv(struct end *end, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)end->buffer + offset,
			       .length = length,
			       .lkey = end->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(end->qp, &wr, &bad);
}

void pair_wait(struct end *end, struct ibv_wc *wcs, int count)
{
	struct fabric *fabric = fabric_current();
	int got = 0;

	for (;;) {
		int n = ibv_poll_cq(end->cq, count - got, wcs + got);
		PAIR_NEED(n >= 0);
		got += n;
		if (got == count) {
			return;
		}
		if (fabric_next_ns(fabric) == UINT64_MAX) {
			fprintf(stderr,
				"pair_wait: %d of %d completions, and nothing will happen\n", got,
				count);
			abort();
		}
		fake_clock_set(fabric_next_ns(fabric));
	}
}

void pair_expect(struct end *end, uint64_t wr_id, enum ibv_wc_status status, struct ibv_wc *ret_wc)
{
	struct ibv_wc wc;

	pair_wait(end, &wc, 1);
	if (wc.wr_id != wr_id || wc.status != status) {
		fprintf(stderr, "expected %lu \"%s\", got %lu \"%s\"\n", (unsigned long)wr_id,
			ibv_wc_status_str(status), (unsigned long)wc.wr_id,
			ibv_wc_status_str(wc.status));
		abort();
	}
	PAIR_NEED(wc.qp_num == end->qp->qp_num);
	if (ret_wc != NULL) {
		*ret_wc = wc;
	}
}

void pair_run(struct pair *pair, uint64_t ns)
{
	uint64_t end_ns = fake_clock_now_ns() + ns;

	fabric_run(pair->fabric);
	while (fabric_next_ns(pair->fabric) <= end_ns) {
		fake_clock_set(fabric_next_ns(pair->fabric));
		fabric_run(pair->fabric);
	}
	fake_clock_set(end_ns);
}

bool pair_is_quiet(struct end *end)
{
	struct ibv_wc wc;

	return ibv_poll_cq(end->cq, 1, &wc) == 0;
}
