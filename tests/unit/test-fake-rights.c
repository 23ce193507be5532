// SPDX-License-Identifier: MIT
/* The fake NIC checks receives, keys, rights and bounds, on both sides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake-clock.h"
#include "fake/pair.h"

static void drain_event(struct end *end, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(end->context, &event), 0);
	assert_int_equal(event.event_type, type);
	if (type == IBV_EVENT_QP_ACCESS_ERR || type == IBV_EVENT_QP_REQ_ERR) {
		assert_ptr_equal(event.element.qp, end->qp);
	}
	ibv_ack_async_event(&event);
}

static enum ibv_qp_state state_of(struct end *end)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

static int write_bytes(struct pair *pair, uint64_t wr_id, uint32_t length)
{
	return pair_post_send(&pair->left, &pair->right, wr_id, IBV_WR_RDMA_WRITE, 0, 0, length,
			      IBV_SEND_SIGNALED);
}

static void a_receive_too_small_ends_both(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 99), 0);
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 500), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_SEND, 0, 0, 100, 0), 0);
	pair_expect(&pair.left, 3, IBV_WC_REM_INV_REQ_ERR, NULL);
	pair_expect(&pair.right, 1, IBV_WC_LOC_LEN_ERR, NULL);
	pair_expect(&pair.right, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	assert_int_equal(state_of(&pair.left), IBV_QPS_ERR);
	assert_int_equal(state_of(&pair.right), IBV_QPS_ERR);
	pair_done(&pair);
}

static void a_receive_with_a_wrong_key_ends_both(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_recv_wr *bad;

	pair_init(&pair, NULL);
	struct ibv_sge sge = { (uintptr_t)pair.right.buffer, 500, pair.right.mr->lkey + 9 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	assert_int_equal(ibv_post_recv(pair.right.qp, &wr, &bad), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_SEND, 0, 0, 100, 0), 0);
	pair_expect(&pair.left, 3, IBV_WC_REM_OP_ERR, NULL);
	pair_expect(&pair.right, 1, IBV_WC_LOC_PROT_ERR, NULL);
	pair_done(&pair);
}

/* One operation on [remote_offset, +length) of a region with `access`, a queue pair with
 * `qp_access`. */
static void check_access(enum ibv_wr_opcode opcode, unsigned access, unsigned qp_access,
			 uint64_t remote_offset, uint32_t length, enum ibv_wc_status status)
{
	struct pair pair;
	struct pair_options options = { .attr.qp_access_flags = qp_access };

	pair_init(&pair, &options);
	assert_int_equal(ibv_dereg_mr(pair.right.mr), 0);
	pair.right.mr = ibv_reg_mr(pair.right.pd, pair.right.buffer, 4096, access);
	assert_non_null(pair.right.mr);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, opcode, 0, remote_offset,
					length, IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, status, NULL);
	if (status == IBV_WC_SUCCESS) {
		assert_int_equal(state_of(&pair.right), IBV_QPS_RTS);
	} else {
		assert_int_equal(state_of(&pair.left), IBV_QPS_ERR);
		assert_int_equal(state_of(&pair.right), IBV_QPS_ERR);
		drain_event(&pair.right, status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR
									 : IBV_EVENT_QP_REQ_ERR);
	}
	pair_done(&pair);
}

static void one_sided_operations_need_rights_and_room(void **state)
{
	(void)state;
	const unsigned local = IBV_ACCESS_LOCAL_WRITE;
	const unsigned write = local | IBV_ACCESS_REMOTE_WRITE;
	const unsigned read = local | IBV_ACCESS_REMOTE_READ;
	const enum ibv_wc_status good = IBV_WC_SUCCESS;
	const enum ibv_wc_status access = IBV_WC_REM_ACCESS_ERR;
	const enum ibv_wc_status request = IBV_WC_REM_INV_REQ_ERR;

	check_access(IBV_WR_RDMA_WRITE, write, PAIR_ALL_ACCESS, 0, 4096, good);
	check_access(IBV_WR_RDMA_WRITE, write, PAIR_ALL_ACCESS, 1, 4096, access);
	check_access(IBV_WR_RDMA_WRITE, write, PAIR_ALL_ACCESS, (uint64_t)-1, 10, access);
	check_access(IBV_WR_RDMA_WRITE, write, PAIR_ALL_ACCESS, 4096, 1, access);
	check_access(IBV_WR_RDMA_WRITE, write, PAIR_ALL_ACCESS, 99999, 0, good);
	check_access(IBV_WR_RDMA_WRITE, read, PAIR_ALL_ACCESS, 0, 8, access);
	check_access(IBV_WR_RDMA_WRITE, write, read, 0, 8, request);
	check_access(IBV_WR_RDMA_READ, read, PAIR_ALL_ACCESS, 0, 4096, good);
	check_access(IBV_WR_RDMA_READ, read, PAIR_ALL_ACCESS, 4095, 2, access);
	check_access(IBV_WR_RDMA_READ, write, PAIR_ALL_ACCESS, 0, 8, access);
	check_access(IBV_WR_RDMA_READ, read, write, 0, 8, request);
	check_access(IBV_WR_ATOMIC_CMP_AND_SWP, write, PAIR_ALL_ACCESS, 0, 8, access);
	check_access(IBV_WR_ATOMIC_CMP_AND_SWP, PAIR_ALL_ACCESS, write, 0, 8, request);
	check_access(IBV_WR_ATOMIC_CMP_AND_SWP, PAIR_ALL_ACCESS, PAIR_ALL_ACCESS, 4, 8, request);
}

static void a_stale_remote_key_is_refused(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	struct ibv_mr *again =
		ibv_reg_mr(pair.right.pd, pair.right.buffer, PAIR_BUFFER_BYTES, PAIR_ALL_ACCESS);
	assert_int_not_equal(again->rkey, pair.right.mr->rkey);
	struct end old = pair.right;
	struct ibv_mr gone = *pair.right.mr;
	assert_int_equal(ibv_dereg_mr(pair.right.mr), 0);
	pair.right.mr = again;
	old.mr = &gone;
	assert_int_equal(pair_post_send(&pair.left, &old, 1, IBV_WR_RDMA_WRITE, 0, 0, 8, 0), 0);
	pair_expect(&pair.left, 1, IBV_WC_REM_ACCESS_ERR, NULL);
	drain_event(&pair.right, IBV_EVENT_QP_ACCESS_ERR);
	pair_done(&pair);
}

static void a_region_of_another_domain_is_refused_on_both_sides(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	struct ibv_pd *other = ibv_alloc_pd(pair.left.context);
	struct ibv_mr *mr = ibv_reg_mr(other, pair.left.buffer, 4096, PAIR_ALL_ACCESS);
	struct end stranger = pair.left;
	stranger.mr = mr;
	assert_int_equal(pair_post_send(&stranger, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 8, 0),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_LOC_PROT_ERR, NULL);
	assert_int_equal(pair_post_send(&pair.right, &stranger, 2, IBV_WR_RDMA_READ, 0, 0, 8, 0),
			 0);
	pair_expect(&pair.right, 2, IBV_WC_RETRY_EXC_ERR, NULL); /* left is in ERR by now */
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(other), 0);
	pair_done(&pair);
}

static void local_errors_show_in_order(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	assert_int_equal(write_bytes(&pair, 1, 200000), 0);
	struct end wrong = pair.left;
	struct ibv_mr mr = *pair.left.mr;
	mr.lkey += 100;
	wrong.mr = &mr;
	assert_int_equal(pair_post_send(&wrong, &pair.right, 2, IBV_WR_SEND, 0, 0, 10, 0), 0);
	assert_int_equal(write_bytes(&pair, 3, 10), 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 2, IBV_WC_LOC_PROT_ERR, NULL);
	pair_expect(&pair.left, 3, IBV_WC_WR_FLUSH_ERR, NULL);
	pair_done(&pair);
}

static void memory_deregistered_under_way_is_an_error_not_a_crash(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	uint8_t *memory = malloc(100000);
	memset(memory, 1, 100000);
	struct ibv_mr *mr = ibv_reg_mr(pair.left.pd, memory, 100000, PAIR_ALL_ACCESS);
	struct ibv_send_wr *bad;
	struct ibv_sge sge = { (uintptr_t)memory, 100000, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE
	};
	wr.wr.rdma.remote_addr = (uintptr_t)pair.right.buffer;
	wr.wr.rdma.rkey = pair.right.mr->rkey;
	assert_int_equal(ibv_post_send(pair.left.qp, &wr, &bad), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	free(memory);
	pair_expect(&pair.left, 1, IBV_WC_LOC_PROT_ERR, NULL);
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_receive_too_small_ends_both),
		cmocka_unit_test(a_receive_with_a_wrong_key_ends_both),
		cmocka_unit_test(one_sided_operations_need_rights_and_room),
		cmocka_unit_test(a_stale_remote_key_is_refused),
		cmocka_unit_test(a_region_of_another_domain_is_refused_on_both_sides),
		cmocka_unit_test(local_errors_show_in_order),
		cmocka_unit_test(memory_deregistered_under_way_is_an_error_not_a_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
