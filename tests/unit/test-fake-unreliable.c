// SPDX-License-Identifier: MIT
/* The fake NIC's unreliable transports: UD datagrams and UC messages arrive whole or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake/pair.h"

static const struct pair_options datagrams = { .type = IBV_QPT_UD, .device.mtu = IBV_MTU_1024 };
static const struct pair_options connected = { .type = IBV_QPT_UC };

static struct ibv_ah *handle_to(struct end *end, const struct end *other)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .sgid_index = 1, .traffic_class = 104 } };

	assert_int_equal(ibv_query_gid(other->context, 1, 1, &attr.grh.dgid), 0);
	return ibv_create_ah(end->pd, &attr);
}

static int send_datagram(struct pair *pair, struct ibv_ah *ah, uint64_t wr_id, uint32_t length,
			 uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)pair->left.buffer, length, pair->left.mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htobe32(77),
				  .send_flags = IBV_SEND_SIGNALED };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = pair->right.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	return ibv_post_send(pair->left.qp, &wr, &bad);
}

static void a_datagram_arrives_behind_its_header(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, &datagrams);
	struct ibv_ah *ah = handle_to(&pair.left, &pair.right);
	assert_non_null(ah);
	memset(pair.left.buffer, 0x42, 1024);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 1064), 0);
	assert_int_equal(send_datagram(&pair, ah, 2, 1024, 0x11111111), 0);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	memset(pair.left.buffer, 0, 1024); /* sent is sent */
	pair_expect(&pair.right, 1, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 1064);
	assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 77);
	assert_int_equal(wc.src_qp, pair.left.qp->qp_num);
	static const uint8_t addresses[8] = { 10, 0, 0, 1, 10, 0, 0, 2 };
	assert_int_equal(pair.right.buffer[20], 0x45);
	assert_int_equal(pair.right.buffer[21], 104);
	assert_memory_equal(pair.right.buffer + 32, addresses, 8);
	for (int i = 40; i < 1064; i++) {
		assert_int_equal(pair.right.buffer[i], 0x42);
	}
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_done(&pair);
}

static void unwanted_datagrams_vanish(void **state)
{
	(void)state;
	struct pair pair;
	struct fabric_counters counters;

	pair_init(&pair, &datagrams);
	struct ibv_ah *ah = handle_to(&pair.left, &pair.right);
	assert_int_equal(send_datagram(&pair, ah, 1, 10, 0x11111111), 0); /* no receive */
	pair_run(&pair, 1000000);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 1064), 0);
	assert_int_equal(send_datagram(&pair, ah, 2, 10, 0x22222222), 0); /* wrong Q_Key */
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	pair_run(&pair, 1000000);
	fabric_next_packets(pair.fabric, "left", "right", FABRIC_DROP, 1);
	assert_int_equal(send_datagram(&pair, ah, 3, 10, 0x11111111), 0); /* lost */
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	pair_run(&pair, 1000000);
	assert_true(pair_is_quiet(&pair.right));
	fabric_counters(pair.fabric, "right", &counters);
	assert_int_equal(counters.silent_drops, 2); /* what got lost never came */
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_done(&pair);
}

static void datagrams_too_long_fail_at_either_end(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &datagrams);
	struct ibv_ah *ah = handle_to(&pair.left, &pair.right);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 49), 0);
	assert_int_equal(send_datagram(&pair, ah, 1, 10, 0x11111111), 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 1, IBV_WC_LOC_LEN_ERR, NULL);
	assert_int_equal(send_datagram(&pair, ah, 2, 1025, 0x11111111), 0);
	pair_expect(&pair.left, 2, IBV_WC_LOC_LEN_ERR, NULL);
	assert_int_equal(pair.left.qp->state, IBV_QPS_SQE);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	assert_int_equal(ibv_modify_qp(pair.left.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(send_datagram(&pair, ah, 3, 1024, 0x11111111), 0);
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	pair_done(&pair);
}

static void a_handle_to_nobody_is_refused(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &datagrams);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	assert_null(ibv_create_ah(pair.left.pd, &attr));
	assert_int_equal(errno, ETIMEDOUT);
	attr.is_global = 0;
	assert_null(ibv_create_ah(pair.left.pd, &attr));
	assert_int_equal(errno, EINVAL);
	pair_done(&pair);
}

static void one_sided_operations_need_a_connection(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &connected);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_READ, 0, 0, 8, 0),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_LOC_QP_OP_ERR, NULL);
	pair_done(&pair);
}

static void unreliable_messages_arrive_whole(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, &connected);
	memset(pair.left.buffer, 0x24, 300000);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 300000), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_SEND, 0, 0, 300000,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 1, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 300000);
	assert_memory_equal(pair.right.buffer, pair.left.buffer, 300000);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_RDMA_WRITE, 0, 400000,
					100000, IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	pair_run(&pair, 10000000);
	assert_memory_equal(pair.right.buffer + 400000, pair.left.buffer, 100000);
	pair_done(&pair);
}

static void an_unreliable_message_with_a_hole_is_dropped(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &connected);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 300000), 0);
	for (uint64_t i = 0; i < 3; i++) {
		fabric_next_packets(pair.fabric, "left", "right", FABRIC_DROP, i < 2 ? 1 : 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, i, IBV_WR_SEND, 0, 0,
						300000, IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair.left, i, IBV_WC_SUCCESS, NULL);
		pair_run(&pair, 10000000);
		if (i < 2) {
			assert_true(pair_is_quiet(&pair.right));
		}
	}
	pair_expect(&pair.right, 1, IBV_WC_SUCCESS, NULL); /* the receive waited for a whole one */
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_datagram_arrives_behind_its_header),
		cmocka_unit_test(unwanted_datagrams_vanish),
		cmocka_unit_test(datagrams_too_long_fail_at_either_end),
		cmocka_unit_test(a_handle_to_nobody_is_refused),
		cmocka_unit_test(one_sided_operations_need_a_connection),
		cmocka_unit_test(unreliable_messages_arrive_whole),
		cmocka_unit_test(an_unreliable_message_with_a_hole_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
