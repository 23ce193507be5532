// SPDX-License-Identifier: MIT
/* The fake NIC's queue pairs know their states, what each transition needs, and what may be posted
 * when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake/pair.h"

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                               \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static const struct pair_options unconnected = { .is_unconnected = true };

static int modify(struct end *end, struct ibv_qp_attr *attr, enum ibv_qp_state next, int mask)
{
	attr->qp_state = next;
	return ibv_modify_qp(end->qp, attr, mask);
}

static void each_missing_attribute_is_refused(void **state)
{
	(void)state;
	static const struct {
		enum ibv_qp_state next;
		int mask;
	} steps[] = { { IBV_QPS_INIT, INIT_MASK },
		      { IBV_QPS_RTR, RTR_MASK },
		      { IBV_QPS_RTS, RTS_MASK } };
	struct pair pair;
	struct ibv_qp_attr attr;

	pair_init(&pair, &unconnected);
	pair_attr(&pair.left, &pair.right, &unconnected, &attr);
	for (size_t i = 0; i < 3; i++) {
		for (int bit = 0; bit < 26; bit++) {
			int one = 1 << bit;
			if (one == IBV_QP_STATE || one == IBV_QP_CUR_STATE) {
				continue;
			}
			if (steps[i].mask & one) {
				assert_int_equal(modify(&pair.left, &attr, steps[i].next,
							steps[i].mask & ~one),
						 EINVAL);
			}
		}
		assert_int_equal(modify(&pair.left, &attr, steps[i].next,
					steps[i].mask | IBV_QP_QKEY),
				 EINVAL); /* not for RC */
		assert_int_equal(modify(&pair.left, &attr, steps[i].next, steps[i].mask), 0);
		assert_int_equal(pair.left.qp->state, steps[i].next);
	}
	pair_done(&pair);
}

static void illegal_transitions_are_refused(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;

	pair_init(&pair, &unconnected);
	pair_attr(&pair.left, &pair.right, &unconnected, &attr);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RTR, RTR_MASK), EINVAL);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RTS, RTS_MASK), EINVAL);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_ERR, IBV_QP_STATE), EINVAL);
	assert_int_equal(pair_to_init(&pair.left, &attr), 0);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RTS, RTS_MASK), EINVAL);
	assert_int_equal(pair_to_rtr(&pair.left, &attr), 0);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_INIT, INIT_MASK), EINVAL);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_SQD, IBV_QP_STATE), EINVAL);
	assert_int_equal(pair_to_rts(&pair.left, &attr), 0);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RTR, RTR_MASK), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_ERR, IBV_QP_STATE | IBV_QP_CUR_STATE),
			 EINVAL); /* not where the caller thinks it is */
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RTS, RTS_MASK), EINVAL);
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(pair_to_init(&pair.left, &attr), 0);
	pair_done(&pair);
}

static void values_out_of_range_are_refused(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr good;
	struct ibv_qp_attr bad;
	struct pair_options options = { .is_unconnected = true,
					.device = { .mtu = IBV_MTU_1024, .max_rd_atomic = 4 },
					.attr = { .max_rd_atomic = 4, .max_dest_rd_atomic = 4 } };

	pair_init(&pair, &options);
	pair_attr(&pair.left, &pair.right, &options, &good);
#define REFUSED(to, field, value, error)                       \
	do {                                                   \
		bad = good;                                    \
		bad.field = (value);                           \
		assert_int_equal(to(&pair.left, &bad), error); \
	} while (0)
	REFUSED(pair_to_init, port_num, 2, EINVAL);
	REFUSED(pair_to_init, pkey_index, 1, EINVAL);
	assert_int_equal(pair_to_init(&pair.left, &good), 0);
	REFUSED(pair_to_rtr, path_mtu, IBV_MTU_2048, EINVAL);
	REFUSED(pair_to_rtr, path_mtu, 0, EINVAL);
	REFUSED(pair_to_rtr, max_dest_rd_atomic, 5, EINVAL);
	REFUSED(pair_to_rtr, min_rnr_timer, 32, EINVAL);
	REFUSED(pair_to_rtr, dest_qp_num, 0x1000000, EINVAL);
	REFUSED(pair_to_rtr, ah_attr.is_global, 0, EINVAL);
	REFUSED(pair_to_rtr, ah_attr.port_num, 0, EINVAL);
	REFUSED(pair_to_rtr, ah_attr.grh.sgid_index, 2, EINVAL);
	REFUSED(pair_to_rtr, ah_attr.grh.dgid.raw[15], 99, ETIMEDOUT); /* nobody has it */
	fabric_set_port(pair.fabric, "right", false);
	REFUSED(pair_to_rtr, path_mtu, IBV_MTU_1024, ETIMEDOUT);
	fabric_set_port(pair.fabric, "right", true);
	fabric_set_port(pair.fabric, "left", false);
	REFUSED(pair_to_rtr, path_mtu, IBV_MTU_1024, ENETUNREACH);
	fabric_set_port(pair.fabric, "left", true);
	assert_int_equal(pair_to_rtr(&pair.left, &good), 0);
	REFUSED(pair_to_rts, max_rd_atomic, 5, EINVAL);
	REFUSED(pair_to_rts, timeout, 32, EINVAL);
	REFUSED(pair_to_rts, retry_cnt, 8, EINVAL);
	REFUSED(pair_to_rts, rnr_retry, 8, EINVAL);
	REFUSED(pair_to_rts, sq_psn, 0x1000000, EINVAL);
	assert_int_equal(pair_to_rts(&pair.left, &good), 0);
	pair_done(&pair);
}

static void posting_depends_on_the_state(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;

	pair_init(&pair, &unconnected);
	pair_attr(&pair.left, &pair.right, &unconnected, &attr);
	struct end *left = &pair.left;
	assert_int_equal(pair_post_recv(left, 1, 0, 8), EINVAL);
	assert_int_equal(pair_post_send(left, &pair.right, 1, IBV_WR_SEND, 0, 0, 8, 0), EINVAL);
	assert_int_equal(pair_to_init(left, &attr), 0);
	assert_int_equal(pair_post_recv(left, 1, 0, 8), 0);
	assert_int_equal(pair_post_send(left, &pair.right, 1, IBV_WR_SEND, 0, 0, 8, 0), EINVAL);
	assert_int_equal(pair_to_rtr(left, &attr), 0);
	assert_int_equal(pair_post_send(left, &pair.right, 1, IBV_WR_SEND, 0, 0, 8, 0), EINVAL);
	assert_int_equal(pair_to_rts(left, &attr), 0);
	assert_int_equal(pair_post_send(left, &pair.right, 2, IBV_WR_SEND, 0, 0, 8, 0), 0);
	assert_int_equal(modify(left, &attr, IBV_QPS_ERR, IBV_QP_STATE), 0);
	pair_expect(left, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	pair_expect(left, 1, IBV_WC_WR_FLUSH_ERR, NULL);
	/* what is posted in ERR comes back flushed */
	assert_int_equal(pair_post_send(left, &pair.right, 3, IBV_WR_SEND, 0, 0, 8, 0), 0);
	assert_int_equal(pair_post_recv(left, 4, 0, 8), 0);
	pair_expect(left, 3, IBV_WC_WR_FLUSH_ERR, NULL);
	pair_expect(left, 4, IBV_WC_WR_FLUSH_ERR, NULL);
	pair_done(&pair);
}

static void error_flushes_all_unsignalled_ones_too_in_order(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr = { 0 };
	struct ibv_wc wcs[30];

	pair_init(&pair, NULL);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(
			pair_post_send(&pair.left, &pair.right, i, IBV_WR_SEND, 0, 0, 8, 0), 0);
	}
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(pair_post_recv(&pair.left, 100 + i, 0, 8), 0);
	}
	assert_int_equal(modify(&pair.left, &attr, IBV_QPS_ERR, IBV_QP_STATE), 0);
	pair_wait(&pair.left, wcs, 30);
	for (uint64_t i = 0; i < 30; i++) {
		assert_int_equal(wcs[i].wr_id, i < 20 ? i : 80 + i);
		assert_int_equal(wcs[i].status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wcs[i].qp_num, pair.left.qp->qp_num);
		assert_true((int)wcs[i].opcode > 0xffff); /* not valid after an error, and looks it
							   */
	}
	pair_done(&pair);
}

static void a_reset_pair_forgets_and_works_again(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;
	struct pair_options options = { 0 };

	pair_init(&pair, NULL);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 8), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0,
						90000, IBV_SEND_SIGNALED),
				 0);
		attr.qp_state = IBV_QPS_RESET;
		assert_int_equal(ibv_modify_qp(pair.left.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(pair.right.qp, &attr, IBV_QP_STATE), 0);
		pair_attr(&pair.left, &pair.right, &options, &attr);
		assert_int_equal(pair_to_init(&pair.left, &attr), 0);
		assert_int_equal(pair_to_rtr(&pair.left, &attr), 0);
		assert_int_equal(pair_to_rts(&pair.left, &attr), 0);
		pair_attr(&pair.right, &pair.left, &options, &attr);
		assert_int_equal(pair_to_init(&pair.right, &attr), 0);
		assert_int_equal(pair_to_rtr(&pair.right, &attr), 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_WRITE, 0, 0,
						90000, IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
		assert_true(pair_is_quiet(&pair.left));
		assert_true(pair_is_quiet(&pair.right)); /* the receive went with the reset */
	}
	pair_done(&pair);
}

static void query_tells_what_was_set(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	pair_init(&pair, &(struct pair_options){ .attr = { .timeout = 9, .retry_cnt = 2 } });
	assert_int_equal(ibv_query_qp(pair.left.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.timeout, 9);
	assert_int_equal(attr.retry_cnt, 2);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(attr.dest_qp_num, pair.right.qp->qp_num);
	assert_int_equal(attr.cap.max_send_wr, 64);
	assert_ptr_equal(init.send_cq, pair.left.cq);
	pair_done(&pair);
}

static void wrong_sequence_numbers_never_meet(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;

	pair_init(&pair, &unconnected);
	pair_attr(&pair.left, &pair.right, &unconnected, &attr);
	attr.sq_psn += 5;
	assert_int_equal(pair_to_init(&pair.left, &attr) | pair_to_rtr(&pair.left, &attr) |
				 pair_to_rts(&pair.left, &attr),
			 0);
	pair_attr(&pair.right, &pair.left, &unconnected, &attr);
	assert_int_equal(pair_to_init(&pair.right, &attr) | pair_to_rtr(&pair.right, &attr), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 8, 0),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_RETRY_EXC_ERR, NULL);
	pair_done(&pair);
}

static void a_pair_takes_packets_of_its_peer_only(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;
	struct fabric_counters counters;

	pair_init(&pair, &unconnected);
	pair_attr(&pair.left, &pair.right, &unconnected, &attr);
	assert_int_equal(pair_to_init(&pair.left, &attr) | pair_to_rtr(&pair.left, &attr) |
				 pair_to_rts(&pair.left, &attr),
			 0);
	pair_attr(&pair.right, &pair.left, &unconnected, &attr);
	attr.dest_qp_num++;
	assert_int_equal(pair_to_init(&pair.right, &attr) | pair_to_rtr(&pair.right, &attr), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 8, 0),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_RETRY_EXC_ERR, NULL);
	fabric_counters(pair.fabric, "right", &counters);
	assert_int_equal(counters.silent_drops, 8);
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_missing_attribute_is_refused),
		cmocka_unit_test(illegal_transitions_are_refused),
		cmocka_unit_test(values_out_of_range_are_refused),
		cmocka_unit_test(posting_depends_on_the_state),
		cmocka_unit_test(error_flushes_all_unsignalled_ones_too_in_order),
		cmocka_unit_test(a_reset_pair_forgets_and_works_again),
		cmocka_unit_test(query_tells_what_was_set),
		cmocka_unit_test(wrong_sequence_numbers_never_meet),
		cmocka_unit_test(a_pair_takes_packets_of_its_peer_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
