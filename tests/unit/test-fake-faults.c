// SPDX-License-Identifier: MIT
/* The fake NIC fails as real ones do: loss, silence, missing receives, missing rights, broken
 * ports. */
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

static void a_silent_peer_ends_after_all_retries(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .attr = { .timeout = 10, .retry_cnt = 3 } };
	struct fabric_counters counters;

	pair_init(&pair, &options);
	fabric_set_black_hole(pair.fabric, "left", "right", true);
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(write_bytes(&pair, 1, 3000), 0);
	assert_int_equal(write_bytes(&pair, 2, 8), 0);
	pair_expect(&pair.left, 1, IBV_WC_RETRY_EXC_ERR, NULL);
	/* 4.096 us * 2^10 four times; each begins when its packet has left */
	assert_in_range(fake_clock_now_ns() - begin_ns, 4 * 4194304, 4 * 4194304 + 10000);
	pair_expect(&pair.left, 2, IBV_WC_WR_FLUSH_ERR, NULL);
	assert_int_equal(state_of(&pair.left), IBV_QPS_ERR);
	assert_int_equal(state_of(&pair.right), IBV_QPS_RTS);
	fabric_counters(pair.fabric, "left", &counters);
	assert_int_equal(counters.timeouts, 4);
	assert_int_equal(counters.retransmits, 3 * 4);
	assert_int_equal(counters.tx_lost, 4 * 4);
	pair_done(&pair);
}

static void timeout_zero_waits_for_ever(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_qp_attr attr;
	struct pair_options options = { .is_unconnected = true };

	pair_init(&pair, &options);
	pair_attr(&pair.left, &pair.right, &options, &attr);
	attr.timeout = 0;
	assert_int_equal(pair_to_init(&pair.left, &attr) | pair_to_rtr(&pair.left, &attr) |
				 pair_to_rts(&pair.left, &attr),
			 0);
	assert_int_equal(write_bytes(&pair, 1, 8), 0); /* the other side is in RESET */
	pair_run(&pair, 3600ULL * 1000000000);
	assert_true(pair_is_quiet(&pair.left));
	assert_int_equal(fabric_next_ns(pair.fabric), UINT64_MAX);
	pair_done(&pair);
}

static void a_short_interruption_heals(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[3];

	pair_init(&pair, NULL);
	memset(pair.left.buffer, 0x77, 50000);
	fabric_set_black_hole(pair.fabric, "left", "right", true);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(write_bytes(&pair, i, 50000), 0);
	}
	pair_run(&pair, 100000000);
	assert_true(pair_is_quiet(&pair.left));
	fabric_set_black_hole(pair.fabric, "left", "right", false);
	pair_wait(&pair.left, wcs, 3);
	assert_int_equal(wcs[2].status, IBV_WC_SUCCESS);
	assert_memory_equal(pair.right.buffer, pair.left.buffer, 50000);
	pair_done(&pair);
}

/* Writes, reads and sends of many sizes through a bad link; every byte must be right in the end. */
static void check_through(const struct fabric_link *link, uint64_t seed)
{
	struct pair pair;
	struct pair_options options = { .seed = seed };

	pair_init(&pair, &options);
	fabric_set_link(pair.fabric, NULL, NULL, link);
	for (uint32_t i = 0; i < 120; i++) {
		uint32_t length = (i * i * 37) % 150000;
		memset(pair.left.buffer, (int)i, length + 1);
		assert_int_equal(pair_post_recv(&pair.right, 900, 600000, 200000), 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0,
						10, length, 0),
				 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_READ,
						200000, 10, length, IBV_SEND_SIGNALED),
				 0);
		assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_SEND, 0, 0,
						length, IBV_SEND_SIGNALED),
				 0);
		pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
		pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
		pair_expect(&pair.right, 900, IBV_WC_SUCCESS, NULL);
		assert_memory_equal(pair.right.buffer + 10, pair.left.buffer, length);
		assert_memory_equal(pair.left.buffer + 200000, pair.left.buffer, length);
		assert_memory_equal(pair.right.buffer + 600000, pair.left.buffer, length);
	}
	pair_done(&pair);
}

static void bad_links_damage_no_data(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		check_through(&(struct fabric_link){ .latency_ns = 1000, .loss_ppm = 2000 }, seed);
		check_through(&(struct fabric_link){ .latency_ns = 1000, .corrupt_ppm = 2000 },
			      seed);
		check_through(&(struct fabric_link){ .latency_ns = 1000, .duplicate_ppm = 100000 },
			      seed);
		check_through(&(struct fabric_link){ .latency_ns = 1000, .reorder_ppm = 5000 },
			      seed);
		check_through(&(struct fabric_link){ .latency_ns = 100000,
						     .jitter_ns = 50000,
						     .rate_bps = 1000000000,
						     .loss_ppm = 500,
						     .duplicate_ppm = 500,
						     .corrupt_ppm = 500,
						     .reorder_ppm = 500,
						     .reorder_ns = 300000 },
			      seed);
	}
}

static void one_lost_packet_costs_one_timeout_or_one_nak(void **state)
{
	(void)state;
	struct pair pair;
	struct fabric_counters left;
	struct fabric_counters right;

	pair_init(&pair, NULL);
	/* the last packet: nobody notices before the timer */
	fabric_next_packets(pair.fabric, "left", "right", FABRIC_DROP, 1);
	assert_int_equal(write_bytes(&pair, 1, 8), 0);
	uint64_t begin_ns = fake_clock_now_ns();
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	assert_true(fake_clock_now_ns() - begin_ns >= 4096ULL << 14);
	fabric_counters(pair.fabric, "left", &left);
	assert_int_equal(left.timeouts, 1);

	/* the first of many: the second tells */
	fabric_next_packets(pair.fabric, "left", "right", FABRIC_DROP, 1);
	begin_ns = fake_clock_now_ns();
	assert_int_equal(write_bytes(&pair, 2, 20000), 0);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	assert_true(fake_clock_now_ns() - begin_ns < 100000);
	fabric_counters(pair.fabric, "left", &left);
	fabric_counters(pair.fabric, "right", &right);
	assert_int_equal(left.timeouts, 1);
	assert_int_equal(right.sequence_naks, 1);
	assert_int_equal(left.tx_lost, 2);
	assert_int_equal(left.retransmits, 1 + 20);
	pair_done(&pair);
}

static void a_lost_read_answer_is_asked_for_again(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	memset(pair.right.buffer, 0x3c, 30000);
	fabric_next_packets(pair.fabric, "right", "left", FABRIC_DROP, 1);
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_READ, 0, 0, 30000,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	assert_memory_equal(pair.left.buffer, pair.right.buffer, 30000);
	assert_true(fake_clock_now_ns() - begin_ns < 100000);
	struct fabric_counters counters;
	fabric_counters(pair.fabric, "left", &counters);
	assert_int_equal(counters.tx_packets, 2); /* asked twice */
	assert_int_equal(counters.retransmits, 1);
	pair_done(&pair);
}

static void answers_that_pile_up_behind_a_read_are_not_too_many(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .device.rate_bps = 10000000,
					.attr = { .max_dest_rd_atomic = 1,
						  .max_rd_atomic = 1,
						  .rnr_retry = 7,
						  .min_rnr_timer = 1,
						  .timeout = 20 } };

	/* the answer takes 0.8 s; meanwhile the send behind it finds no receive every 10 us */
	pair_init(&pair, &options);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_READ, 0, 0, 1000000,
					IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_WRITE, 0, 0, 8,
					IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 3, IBV_WR_SEND, 0, 0, 8,
					IBV_SEND_SIGNALED),
			 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 2, IBV_WC_SUCCESS, NULL);
	pair_run(&pair, 10000000);
	assert_int_equal(pair_post_recv(&pair.right, 4, 0, 8), 0);
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 4, IBV_WC_SUCCESS, NULL);
	pair_done(&pair);
}

static void an_atomic_is_done_once_although_its_answer_is_lost(void **state)
{
	(void)state;
	struct pair pair;
	uint64_t *remote;
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = { .wr_id = 4,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_init(&pair, NULL);
	remote = (uint64_t *)pair.right.buffer;
	*remote = 10;
	sge.addr = (uintptr_t)pair.left.buffer;
	sge.lkey = pair.left.mr->lkey;
	wr.wr.atomic.remote_addr = (uintptr_t)remote;
	wr.wr.atomic.rkey = pair.right.mr->rkey;
	wr.wr.atomic.compare_add = 5;
	fabric_next_packets(pair.fabric, "right", "left", FABRIC_DROP, 2);
	assert_int_equal(ibv_post_send(pair.left.qp, &wr, &bad), 0);
	pair_expect(&pair.left, 4, IBV_WC_SUCCESS, NULL);
	assert_int_equal(*remote, 15);
	assert_int_equal(*(uint64_t *)pair.left.buffer, 10);
	pair_done(&pair);
}

static void without_a_receive_the_sender_waits_and_tries_again(void **state)
{
	(void)state;
	struct pair pair;
	struct fabric_counters counters;

	pair_init(&pair, NULL); /* min_rnr_timer 12: 0.64 ms, 6 times */
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_SEND, 0, 0, 100,
					IBV_SEND_SIGNALED),
			 0);
	pair_run(&pair, 1000000);
	assert_true(pair_is_quiet(&pair.left));
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 100), 0);
	uint64_t begin_ns = fake_clock_now_ns();
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 2, IBV_WC_SUCCESS, NULL);
	assert_true(fake_clock_now_ns() - begin_ns < 640000);
	fabric_counters(pair.fabric, "right", &counters);
	assert_int_equal(counters.rnr_naks, 2);
	pair_done(&pair);
}

static void rnr_retries_run_out(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .attr = { .rnr_retry = 2, .min_rnr_timer = 14 } };

	pair_init(&pair, &options);
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_SEND, 0, 0, 100, 0), 0);
	pair_expect(&pair.left, 1, IBV_WC_RNR_RETRY_EXC_ERR, NULL);
	assert_in_range(fake_clock_now_ns() - begin_ns, 2 * 1280000, 2 * 1280000 + 20000);
	assert_int_equal(state_of(&pair.left), IBV_QPS_ERR);
	pair_done(&pair);
}

static void rnr_retry_seven_never_runs_out(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .attr = { .rnr_retry = 7, .min_rnr_timer = 1 } };

	pair_init(&pair, &options);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE_WITH_IMM, 0,
					0, 5000, IBV_SEND_SIGNALED),
			 0);
	pair_run(&pair, 1000000000);
	assert_true(pair_is_quiet(&pair.left));
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 0), 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.right, 2, IBV_WC_SUCCESS, NULL);
	pair_done(&pair);
}

static void a_destroyed_peer_is_silence(void **state)
{
	(void)state;
	struct pair pair;
	struct fabric_counters counters;

	pair_init(&pair, NULL);
	assert_int_equal(ibv_destroy_qp(pair.right.qp), 0);
	pair.right.qp = NULL;
	assert_int_equal(write_bytes(&pair, 1, 10), 0);
	pair_expect(&pair.left, 1, IBV_WC_RETRY_EXC_ERR, NULL);
	fabric_counters(pair.fabric, "right", &counters);
	assert_int_equal(counters.silent_drops, 8);
	pair_done(&pair);
}

static void a_port_goes_down_and_up(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_port_attr port;

	pair_init(&pair, NULL);
	fabric_set_port(pair.fabric, "right", false);
	drain_event(&pair.right, IBV_EVENT_PORT_ERR);
	assert_int_equal(ibv_query_port(pair.right.context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(write_bytes(&pair, 1, 10), 0);
	pair_run(&pair, 100000000);
	assert_true(pair_is_quiet(&pair.left));
	fabric_set_port(pair.fabric, "right", true);
	fabric_set_port(pair.fabric, "right", true); /* no change, no event */
	drain_event(&pair.right, IBV_EVENT_PORT_ACTIVE);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_done(&pair);
}

static void a_removed_device_fails_every_call_and_its_context_closes(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wc;
	struct ibv_device_attr device;
	struct ibv_device **list;
	int count;

	pair_init(&pair, NULL);
	assert_int_equal(write_bytes(&pair, 1, 10), 0);
	fabric_remove_device(pair.fabric, "left");
	drain_event(&pair.left, IBV_EVENT_DEVICE_FATAL);
	pair_run(&pair, 10000000000);
	assert_int_equal(ibv_poll_cq(pair.left.cq, 1, &wc), 0);
	assert_int_equal(write_bytes(&pair, 2, 10), EIO);
	assert_int_equal(pair_post_recv(&pair.left, 2, 0, 10), EIO);
	assert_int_equal(ibv_query_device(pair.left.context, &device), EIO);
	assert_null(ibv_alloc_pd(pair.left.context));
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_destroy_qp(pair.left.qp), EIO);
	assert_int_equal(ibv_dereg_mr(pair.left.mr), EIO);
	struct ibv_device *gone = pair.left.context->device;
	list = ibv_get_device_list(&count);
	assert_int_equal(count, 1);
	ibv_free_device_list(list);
	assert_int_equal(ibv_close_device(pair.left.context), 0);
	assert_null(ibv_open_device(gone));
	assert_int_equal(errno, ENODEV);
	pair.left = (struct end){ .buffer = pair.left.buffer };
	pair_done(&pair);
}

static void a_device_comes_back_under_its_name(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_device **list;
	int count;

	pair_init(&pair, NULL);
	fabric_lose_device(pair.fabric, "left");
	assert_int_equal(ibv_close_device(pair.left.context), 0);
	pair.left = (struct end){ .buffer = pair.left.buffer };
	fabric_add_device(pair.fabric, &(struct fabric_device_config){ .name = "left" });
	list = ibv_get_device_list(&count);
	assert_int_equal(count, 2);
	assert_string_equal(ibv_get_device_name(list[1]), "left");
	ibv_free_device_list(list);
	pair_done(&pair);
}

static void verbs_fail_and_cost_time_on_demand(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	fabric_set_verb(pair.fabric, "left", FABRIC_ALLOC_PD,
			&(struct fabric_verb_fault){
				.error = ENOMEM, .cost_ns = 5000, .skip = 1, .count = 2 });
	for (int i = 0; i < 4; i++) {
		struct ibv_pd *pd = ibv_alloc_pd(pair.left.context);
		assert_int_equal(pd == NULL, i == 1 || i == 2);
		if (pd != NULL) {
			assert_int_equal(ibv_dealloc_pd(pd), 0);
		}
	}
	assert_int_equal(fabric_spent_ns(pair.fabric), 10000);
	fabric_set_verb(pair.fabric, "left", FABRIC_POST_SEND,
			&(struct fabric_verb_fault){ .error = ENOMEM });
	assert_int_equal(write_bytes(&pair, 1, 10), ENOMEM);
	fabric_set_verb(pair.fabric, "left", FABRIC_POST_SEND, NULL);
	assert_int_equal(write_bytes(&pair, 1, 10), 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_done(&pair);
}

static void sleep_virtually(void *arg, uint64_t ns)
{
	(void)arg;
	fake_clock_advance(ns);
}

static void a_slow_verb_moves_virtual_time(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	fabric_set_pass_time(pair.fabric, sleep_virtually, NULL);
	fabric_set_verb(pair.fabric, "right", FABRIC_DESTROY_QP,
			&(struct fabric_verb_fault){ .cost_ns = 1000000 });
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(write_bytes(&pair, 1, 10), 0);
	assert_int_equal(ibv_destroy_qp(pair.right.qp), 0);
	pair.right.qp = NULL;
	assert_int_equal(fake_clock_now_ns() - begin_ns, 1000000);
	/* meanwhile the write was done */
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	assert_int_equal(fake_clock_now_ns() - begin_ns, 1000000);
	pair_done(&pair);
}

static void a_port_is_full_duplex(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[2];

	/* out and in at once: neither slows the other down */
	pair_init(&pair, &(struct pair_options){ .device.rate_bps = 8000000000 });
	uint64_t begin_ns = fake_clock_now_ns();
	assert_int_equal(write_bytes(&pair, 1, 500000), 0);
	assert_int_equal(pair_post_send(&pair.right, &pair.left, 2, IBV_WR_RDMA_WRITE, 500000,
					500000, 500000, IBV_SEND_SIGNALED),
			 0);
	pair_wait(&pair.left, &wcs[0], 1);
	pair_wait(&pair.right, &wcs[1], 1);
	uint64_t took_ns = fake_clock_now_ns() - begin_ns;
	assert_in_range(took_ns, 540000, 620000); /* not the sum */
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_peer_ends_after_all_retries),
		cmocka_unit_test(timeout_zero_waits_for_ever),
		cmocka_unit_test(a_short_interruption_heals),
		cmocka_unit_test(bad_links_damage_no_data),
		cmocka_unit_test(one_lost_packet_costs_one_timeout_or_one_nak),
		cmocka_unit_test(a_lost_read_answer_is_asked_for_again),
		cmocka_unit_test(answers_that_pile_up_behind_a_read_are_not_too_many),
		cmocka_unit_test(an_atomic_is_done_once_although_its_answer_is_lost),
		cmocka_unit_test(without_a_receive_the_sender_waits_and_tries_again),
		cmocka_unit_test(rnr_retries_run_out),
		cmocka_unit_test(rnr_retry_seven_never_runs_out),
		cmocka_unit_test(a_destroyed_peer_is_silence),
		cmocka_unit_test(a_port_goes_down_and_up),
		cmocka_unit_test(a_removed_device_fails_every_call_and_its_context_closes),
		cmocka_unit_test(a_device_comes_back_under_its_name),
		cmocka_unit_test(verbs_fail_and_cost_time_on_demand),
		cmocka_unit_test(a_slow_verb_moves_virtual_time),
		cmocka_unit_test(a_port_is_full_duplex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
