// SPDX-License-Identifier: MIT
/* The fake NIC moves data as a reliable connection does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake/fake-clock.h"
#include "fake/pair.h"

static void fill(uint8_t *bytes, size_t count, unsigned seed)
{
	for (size_t i = 0; i < count; i++) {
		bytes[i] = (uint8_t)(i * 131 + seed + (i >> 8));
	}
}

static void a_send_fills_the_receive(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, NULL);
	fill(pair.left.buffer, 5000, 1);
	assert_int_equal(pair_post_recv(&pair.right, 7, 100, 6000), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 8, IBV_WR_SEND, 0, 0, 5000,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 8, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	pair_expect(&pair.right, 7, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 5000);
	assert_int_equal(wc.src_qp, pair.left.qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_memory_equal(pair.right.buffer + 100, pair.left.buffer, 5000);
	assert_int_equal(pair.right.buffer[5100], 0);
	pair_done(&pair);
}

static void immediate_data_arrives_with_sends_and_writes(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, NULL);
	fill(pair.left.buffer, 3000, 2);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 100), 0);
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 0), 0);
	assert_int_equal(
		pair_post_send(&pair.left, &pair.right, 3, IBV_WR_SEND_WITH_IMM, 0, 0, 10, 0), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 4, IBV_WR_RDMA_WRITE_WITH_IMM, 0,
					9000, 3000, IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.right, 1, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0xabcd0003);
	pair_expect(&pair.right, 2, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(be32toh(wc.imm_data), 0xabcd0004);
	assert_int_equal(wc.byte_len, 3000);
	assert_memory_equal(pair.right.buffer + 9000, pair.left.buffer, 3000);
	pair_expect(&pair.left, 4, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	pair_done(&pair);
}

static void writes_and_reads_move_every_size_around_the_mtu(void **state)
{
	(void)state;
	static const uint32_t sizes[] = { 1, 2, 1023, 1024, 1025, 2048, 65536, 65537, 300000 };
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, NULL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(pair.right.buffer, 0, PAIR_BUFFER_BYTES);
		fill(pair.left.buffer, sizes[i], (unsigned)i);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, i, IBV_WR_RDMA_WRITE, 0,
						13, sizes[i], IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair.left, i, IBV_WC_SUCCESS, NULL);
		assert_memory_equal(pair.right.buffer + 13, pair.left.buffer, sizes[i]);
		assert_int_equal(pair.right.buffer[13 + sizes[i]], 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, i, IBV_WR_RDMA_READ,
						400000, 13, sizes[i], IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair.left, i, IBV_WC_SUCCESS, &wc);
		assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_memory_equal(pair.left.buffer + 400000, pair.left.buffer, sizes[i]);
	}
	assert_true(pair_is_quiet(&pair.right));
	pair_done(&pair);
}

static void empty_messages_complete(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;

	pair_init(&pair, NULL);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 0), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_SEND, 0, 0, 0,
					IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_WRITE, 0, 0, 0,
					IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_RDMA_READ, 0, 0, 0,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 1, IBV_WC_SUCCESS, &wc);
	assert_int_equal(wc.byte_len, 0);
	pair_done(&pair);
}

static void post_atomic(struct pair *pair, uint64_t wr_id, enum ibv_wr_opcode opcode,
			uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge = { .addr = (uintptr_t)pair->left.buffer,
			       .length = 8,
			       .lkey = pair->left.mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };

	wr.wr.atomic.remote_addr = (uintptr_t)pair->right.buffer + 64;
	wr.wr.atomic.rkey = pair->right.mr->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	assert_int_equal(ibv_post_send(pair->left.qp, &wr, &bad), 0);
	pair_expect(&pair->left, wr_id, IBV_WC_SUCCESS, NULL);
}

static void atomics_return_the_value_before(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	uint64_t *remote = (uint64_t *)(pair.right.buffer + 64);
	const uint64_t *local = (uint64_t *)pair.left.buffer;
	*remote = 40;
	post_atomic(&pair, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	assert_int_equal(*local, 40);
	assert_int_equal(*remote, 42);
	post_atomic(&pair, 2, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 99);
	assert_int_equal(*local, 42);
	assert_int_equal(*remote, 42);
	post_atomic(&pair, 3, IBV_WR_ATOMIC_CMP_AND_SWP, 42, 99);
	assert_int_equal(*local, 42);
	assert_int_equal(*remote, 99);
	pair_done(&pair);
}

static void lists_of_pieces_are_gathered_and_scattered(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_recv;

	pair_init(&pair, NULL);
	fill(pair.left.buffer, 8000, 3);
	uint64_t left = (uintptr_t)pair.left.buffer;
	uint64_t right = (uintptr_t)pair.right.buffer;
	struct ibv_sge from[3] = { { left, 1000, pair.left.mr->lkey },
				   { left + 5000, 0, 0 },
				   { left + 1000, 2500, pair.left.mr->lkey } };
	struct ibv_sge to[2] = { { right + 4000, 3, pair.right.mr->lkey },
				 { right + 6000, 3497, pair.right.mr->lkey } };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = to, .num_sge = 2 };
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = from,
				    .num_sge = 3,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED };
	assert_int_equal(ibv_post_recv(pair.right.qp, &recv, &bad_recv), 0);
	assert_int_equal(ibv_post_send(pair.left.qp, &send, &bad_send), 0);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	assert_memory_equal(pair.right.buffer + 4000, pair.left.buffer, 3);
	assert_memory_equal(pair.right.buffer + 6000, pair.left.buffer + 3, 3497);
	assert_int_equal(pair.right.buffer[4003], 0);
	pair_done(&pair);
}

static void inline_data_is_taken_at_the_post(void **state)
{
	(void)state;
	struct pair pair;
	char text[] = "taken at once";
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = sizeof(text), .lkey = 0xbad };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = { .wr_id = 5,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE };

	pair_init(&pair, NULL);
	wr.wr.rdma.remote_addr = (uintptr_t)pair.right.buffer;
	wr.wr.rdma.rkey = pair.right.mr->rkey;
	assert_int_equal(ibv_post_send(pair.left.qp, &wr, &bad), 0);
	memset(text, 'x', sizeof(text));
	pair_expect(&pair.left, 5, IBV_WC_SUCCESS, NULL);
	assert_string_equal((char *)pair.right.buffer, "taken at once");
	sge.length = 65;
	assert_int_equal(ibv_post_send(pair.left.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	pair_done(&pair);
}

static void completions_keep_the_order_of_posting(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[40];

	pair_init(&pair, NULL);
	for (uint64_t i = 0; i < 40; i++) {
		assert_int_equal(pair_post_send(&pair.left, &pair.right, i,
						i % 3 == 0 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
						i * 4096, i * 4096, (uint32_t)(i * 100),
						IBV_SEND_SIGNALED),
				 0);
	}
	pair_wait(&pair.left, wcs, 40);
	for (uint64_t i = 0; i < 40; i++) {
		assert_int_equal(wcs[i].wr_id, i);
		assert_int_equal(wcs[i].status, IBV_WC_SUCCESS);
	}
	pair_done(&pair);
}

static void a_fenced_write_waits_for_the_read_before_it(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	/* the write would overwrite what the read has to fetch, and carries what it fetched */
	memset(pair.right.buffer, 0x11, 100000);
	assert_int_equal(
		pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_READ, 0, 0, 100000, 0), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_WRITE, 0, 200000,
					100000, IBV_SEND_SIGNALED | IBV_SEND_FENCE),
			 0);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	assert_memory_equal(pair.right.buffer + 200000, pair.right.buffer, 100000);
	pair_done(&pair);
}

static void the_number_of_reads_in_flight_is_limited(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .attr.max_rd_atomic = 1 };
	struct ibv_wc wcs[8];
	uint64_t took_ns[2];

	for (int i = 0; i < 2; i++) {
		options.attr.max_rd_atomic = i == 0 ? 1 : 8;
		pair_init(&pair, &options);
		fabric_set_link(pair.fabric, NULL, NULL,
				&(struct fabric_link){ .latency_ns = 10000 });
		uint64_t begin_ns = fake_clock_now_ns();
		for (uint64_t n = 0; n < 8; n++) {
			assert_int_equal(pair_post_send(&pair.left, &pair.right, n,
							IBV_WR_RDMA_READ, 0, 0, 8,
							IBV_SEND_SIGNALED),
					 0);
		}
		pair_wait(&pair.left, wcs, 8);
		took_ns[i] = fake_clock_now_ns() - begin_ns;
		pair_done(&pair);
	}
	assert_in_range(took_ns[0], 8 * 20000, 8 * 21000); /* one round trip each */
	assert_in_range(took_ns[1], 20000, 22000); /* one round trip for all */
}

static void time_is_latency_and_rate(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .device.rate_bps = 10000000000,
					.attr.path_mtu = IBV_MTU_4096 };

	pair_init(&pair, &options);
	fabric_set_link(pair.fabric, NULL, NULL, &(struct fabric_link){ .latency_ns = 5000 });
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0,
					1000000, IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	/* 245 packets with 82 bytes of headers each at 10 Gbit/s, and twice the latency */
	uint64_t expected_ns = (1000000 + 245 * 82) * 8 / 10 + 10000;
	assert_in_range(fake_clock_now_ns() - begin_ns, expected_ns, expected_ns + 200);
	pair_done(&pair);
}

static void queue_pairs_share_a_port_in_turn(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[4];
	struct ibv_qp *first;

	pair_init(&pair, NULL);
	first = pair.left.qp;
	struct ibv_qp_init_attr init = { .send_cq = pair.left.cq,
					 .recv_cq = pair.left.cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 8, 8, 1, 1, 0 } };
	struct end left = pair.left;
	struct end right = pair.right;
	struct pair_options options = { 0 };
	struct ibv_qp_attr attr;
	left.qp = ibv_create_qp(left.pd, &init);
	init.send_cq = init.recv_cq = right.cq;
	right.qp = ibv_create_qp(right.pd, &init);
	pair_attr(&left, &right, &options, &attr);
	assert_int_equal(pair_to_init(&left, &attr) | pair_to_rtr(&left, &attr) |
				 pair_to_rts(&left, &attr),
			 0);
	pair_attr(&right, &left, &options, &attr);
	assert_int_equal(pair_to_init(&right, &attr) | pair_to_rtr(&right, &attr), 0);

	/* a long message of one does not hold up a short one of the other until its end */
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0,
					1000000, IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(pair_post_send(&left, &right, 2, IBV_WR_RDMA_WRITE, 0, 0, 100,
					IBV_SEND_SIGNALED),
			 0);
	pair_wait(&pair.left, wcs, 2);
	assert_int_equal(wcs[0].wr_id, 2);
	assert_int_equal(wcs[1].wr_id, 1);
	assert_ptr_equal(pair.left.qp, first);
	assert_int_equal(ibv_destroy_qp(left.qp) | ibv_destroy_qp(right.qp), 0);
	pair_done(&pair);
}

static void a_queue_pair_talks_to_itself(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .is_unconnected = true };
	struct ibv_qp_attr attr;
	struct ibv_wc wcs[2];

	pair_init(&pair, &options);
	pair_attr(&pair.left, &pair.left, &options, &attr);
	assert_int_equal(pair_to_init(&pair.left, &attr), 0);
	assert_int_equal(pair_to_rtr(&pair.left, &attr), 0);
	assert_int_equal(pair_to_rts(&pair.left, &attr), 0);
	memset(pair.left.buffer, 0x5a, 100);
	assert_int_equal(pair_post_recv(&pair.left, 1, 1000, 100), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.left, 2, IBV_WR_SEND, 0, 0, 100,
					IBV_SEND_SIGNALED),
			 0);
	pair_wait(&pair.left, wcs, 2);
	assert_int_equal(wcs[0].wr_id, 1);
	assert_int_equal(wcs[1].wr_id, 2);
	assert_memory_equal(pair.left.buffer + 1000, pair.left.buffer, 100);
	pair_done(&pair);
}

/* One operation at a time, there and back; returns the time the last one ended. */
static uint64_t ping_pong(struct pair *pair, int rounds)
{
	struct ibv_wc wcs[2];

	for (int i = 0; i < rounds; i++) {
		assert_int_equal(pair_post_recv(&pair->right, 1, 0, 64), 0);
		assert_int_equal(pair_post_recv(&pair->left, 1, 0, 64), 0);
		assert_int_equal(pair_post_send(&pair->left, &pair->right, 2, IBV_WR_SEND, 0, 0, 64,
						IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair->right, 1, IBV_WC_SUCCESS, NULL);
		assert_int_equal(pair_post_send(&pair->right, &pair->left, 3, IBV_WR_SEND, 0, 0, 64,
						IBV_SEND_SIGNALED),
				 0);
		/* an acknowledgement that got lost comes after the answer */
		pair_wait(&pair->left, wcs, 2);
		assert_int_equal(wcs[0].status | wcs[1].status, IBV_WC_SUCCESS);
		pair_expect(&pair->right, 3, IBV_WC_SUCCESS, NULL);
	}
	return fake_clock_now_ns();
}

static void long_runs_do_not_grow_memory(void **state)
{
	(void)state;
	struct pair pair;
	uint64_t pending;
	uint64_t before;
	uint64_t after;

	pair_init(&pair, NULL);
	ping_pong(&pair, 100);
	fabric_memory(pair.fabric, &pending, &before);
	ping_pong(&pair, 20000);
	fabric_memory(pair.fabric, &pending, &after);
	assert_int_equal(before, after);
	assert_true(pending < 8);
	pair_done(&pair);
}

static void the_same_seed_gives_the_same_run(void **state)
{
	(void)state;
	uint64_t ends_ns[3];
	struct fabric_counters counters[3];

	for (unsigned i = 0; i < 3; i++) {
		struct pair pair;
		struct pair_options options = { .seed = i < 2 ? 77 : 78 };
		pair_init(&pair, &options);
		fabric_set_link(pair.fabric, NULL, NULL,
				&(struct fabric_link){ .latency_ns = 2000,
						       .jitter_ns = 900,
						       .loss_ppm = 20000,
						       .duplicate_ppm = 20000,
						       .reorder_ppm = 20000 });
		ends_ns[i] = ping_pong(&pair, 500);
		fabric_counters(pair.fabric, "left", &counters[i]);
		pair_done(&pair);
	}
	assert_int_equal(ends_ns[0], ends_ns[1]);
	assert_memory_equal(&counters[0], &counters[1], sizeof(counters[0]));
	assert_int_not_equal(ends_ns[0], ends_ns[2]);
}

static void counters_count_packets_and_bytes(void **state)
{
	(void)state;
	struct pair pair;
	struct fabric_counters left;
	struct fabric_counters right;

	pair_init(&pair, NULL);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 2500,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	fabric_counters(pair.fabric, "left", &left);
	fabric_counters(pair.fabric, "right", &right);
	assert_int_equal(left.tx_packets, 3);
	assert_int_equal(left.tx_bytes, 2500 + 3 * 58 + 16);
	assert_int_equal(right.rx_packets, 3);
	assert_int_equal(right.rx_bytes, left.tx_bytes);
	assert_int_equal(right.tx_packets, 1);
	assert_int_equal(left.rx_packets, 1);
	assert_int_equal(left.retransmits + left.tx_lost + right.duplicates, 0);
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_fills_the_receive),
		cmocka_unit_test(immediate_data_arrives_with_sends_and_writes),
		cmocka_unit_test(writes_and_reads_move_every_size_around_the_mtu),
		cmocka_unit_test(empty_messages_complete),
		cmocka_unit_test(atomics_return_the_value_before),
		cmocka_unit_test(lists_of_pieces_are_gathered_and_scattered),
		cmocka_unit_test(inline_data_is_taken_at_the_post),
		cmocka_unit_test(completions_keep_the_order_of_posting),
		cmocka_unit_test(a_fenced_write_waits_for_the_read_before_it),
		cmocka_unit_test(the_number_of_reads_in_flight_is_limited),
		cmocka_unit_test(time_is_latency_and_rate),
		cmocka_unit_test(queue_pairs_share_a_port_in_turn),
		cmocka_unit_test(a_queue_pair_talks_to_itself),
		cmocka_unit_test(long_runs_do_not_grow_memory),
		cmocka_unit_test(the_same_seed_gives_the_same_run),
		cmocka_unit_test(counters_count_packets_and_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
