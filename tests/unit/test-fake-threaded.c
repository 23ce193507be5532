// SPDX-License-Identifier: MIT
/* The fake NIC under real threads and real time: run it under the thread sanitizer. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fake/fake-clock.h"
#include "fake/pair.h"

#define SECOND_NS 1000000000ULL
#define PAIRS 4
#define MESSAGES 2000

static struct pair pair;

static void threaded(const struct pair_options *options)
{
	pair_init(&pair, options);
	fake_clock_stop();
	fabric_set_threaded(pair.fabric, true);
}

/* An extra connected pair of queue pairs with completion queues of their own. */
struct lane {
	struct end left;
	struct end right;
	pthread_t threads[2];
};

static void make_end(struct end *end, const struct end *base)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 32, 32, 1, 1, 0 } };

	*end = *base;
	end->cq = ibv_create_cq(end->context, 128, NULL, NULL, 0);
	assert_non_null(end->cq);
	init.send_cq = init.recv_cq = end->cq;
	end->qp = ibv_create_qp(end->pd, &init);
	assert_non_null(end->qp);
}

static void connect_end(struct end *end, const struct end *other)
{
	struct pair_options options = { 0 };
	struct ibv_qp_attr attr;

	pair_attr(end, other, &options, &attr);
	assert_int_equal(pair_to_init(end, &attr), 0);
	assert_int_equal(pair_to_rtr(end, &attr), 0);
	assert_int_equal(pair_to_rts(end, &attr), 0);
}

static void poll_one(struct end *end, uint64_t wr_id)
{
	struct ibv_wc wc;
	uint64_t deadline_ns = fabric_now_ns() + 30 * SECOND_NS;

	while (ibv_poll_cq(end->cq, 1, &wc) == 0) {
		if (fabric_now_ns() > deadline_ns) {
			fail_msg("no completion");
		}
	}
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
}

/* Writes a number and waits until the other side has written the next one, looking at memory. */
static void *write_and_look(void *arg)
{
	struct lane *lane = arg;
	uint64_t offset = (uint64_t)(lane->left.qp->qp_num % 64) * 4096;
	volatile uint8_t *seen = lane->left.buffer + offset;

	for (int i = 1; i <= MESSAGES; i++) {
		lane->left.buffer[offset + 64] = (uint8_t)(i | 1);
		assert_int_equal(pair_post_send(&lane->left, &lane->right, 1, IBV_WR_RDMA_WRITE,
						offset + 64, offset, 1, IBV_SEND_SIGNALED),
				 0);
		poll_one(&lane->left, 1);
		assert_int_equal(pair_post_send(&lane->left, &lane->right, 2, IBV_WR_RDMA_READ,
						offset, offset, 1, IBV_SEND_SIGNALED),
				 0);
		poll_one(&lane->left, 2);
		assert_int_equal(*seen, (uint8_t)(i | 1));
	}
	return NULL;
}

static void *write_back(void *arg)
{
	struct lane *lane = arg;

	for (int i = 0; i < 200; i++) {
		assert_int_equal(pair_post_send(&lane->right, &lane->left, 4, IBV_WR_RDMA_WRITE,
						(512 << 10) + 64, (512 << 10) + 64, 32,
						IBV_SEND_SIGNALED),
				 0);
		poll_one(&lane->right, 4);
	}
	return NULL;
}

static void several_threads_poll_and_post(void **state)
{
	(void)state;
	struct lane lanes[PAIRS];

	threaded(NULL);
	for (int i = 0; i < PAIRS; i++) {
		make_end(&lanes[i].left, &pair.left);
		make_end(&lanes[i].right, &pair.right);
		connect_end(&lanes[i].left, &lanes[i].right);
		connect_end(&lanes[i].right, &lanes[i].left);
	}
	for (int i = 0; i < PAIRS; i++) {
		pthread_create(&lanes[i].threads[0], NULL, write_and_look, &lanes[i]);
	}
	pthread_create(&lanes[0].threads[1], NULL, write_back, &lanes[0]);
	pthread_join(lanes[0].threads[1], NULL);
	for (int i = 0; i < PAIRS; i++) {
		pthread_join(lanes[i].threads[0], NULL);
		assert_int_equal(ibv_destroy_qp(lanes[i].left.qp), 0);
		assert_int_equal(ibv_destroy_qp(lanes[i].right.qp), 0);
		assert_int_equal(ibv_destroy_cq(lanes[i].left.cq), 0);
		assert_int_equal(ibv_destroy_cq(lanes[i].right.cq), 0);
	}
	pair_done(&pair);
}

static void the_pump_makes_channels_readable(void **state)
{
	(void)state;
	struct pollfd poll_fd = { .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	threaded(NULL);
	fabric_pump_start(pair.fabric);
	poll_fd.fd = pair.right.channel->fd;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(ibv_req_notify_cq(pair.right.cq, 0), 0);
		assert_int_equal(pair_post_recv(&pair.right, 1, 0, 64), 0);
		assert_int_equal(
			pair_post_send(&pair.left, &pair.right, 2, IBV_WR_SEND, 0, 0, 64, 0), 0);
		assert_int_equal(poll(&poll_fd, 1, 20000), 1);
		assert_int_equal(ibv_get_cq_event(pair.right.channel, &cq, &context), 0);
		ibv_ack_cq_events(cq, 1);
		poll_one(&pair.right, 1);
	}
	fabric_pump_stop(pair.fabric);
	pair_done(&pair);
}

static void *destroy_left_qp(void *arg)
{
	uint64_t *ret_ns = arg;
	uint64_t begin_ns = fabric_now_ns();

	assert_int_equal(ibv_destroy_qp(pair.left.qp), 0);
	*ret_ns = fabric_now_ns() - begin_ns;
	return NULL;
}

static void a_slow_verb_blocks_its_thread_alone(void **state)
{
	(void)state;
	pthread_t thread;
	uint64_t took_ns = 0;

	threaded(NULL);
	fabric_set_verb(pair.fabric, "left", FABRIC_DESTROY_QP,
			&(struct fabric_verb_fault){ .cost_ns = 300000000 });
	pthread_create(&thread, NULL, destroy_left_qp, &took_ns);
	uint64_t begin_ns = fabric_now_ns();
	assert_int_equal(pair_post_send(&pair.right, &pair.left, 1, IBV_WR_RDMA_WRITE, 0, 0, 8,
					IBV_SEND_SIGNALED),
			 0);
	poll_one(&pair.right, 1);
	assert_true(fabric_now_ns() - begin_ns < 300000000);
	pthread_join(thread, NULL);
	assert_true(took_ns >= 300000000);
	pair.left.qp = NULL;
	pair_done(&pair);
}

static void a_hung_verb_ends_when_it_is_let_go(void **state)
{
	(void)state;
	pthread_t thread;
	uint64_t took_ns = 0;

	threaded(NULL);
	fabric_set_verb(pair.fabric, "left", FABRIC_DESTROY_QP,
			&(struct fabric_verb_fault){ .cost_ns = UINT64_MAX, .count = 1 });
	pthread_create(&thread, NULL, destroy_left_qp, &took_ns);
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	fabric_set_verb(pair.fabric, "left", FABRIC_DESTROY_QP, NULL);
	pthread_join(thread, NULL);
	pair.left.qp = NULL;
	pair_done(&pair);
}

static void *destroy_left_cq(void *arg)
{
	(void)arg;
	assert_int_equal(ibv_destroy_cq(pair.left.cq), 0);
	return NULL;
}

static void destroying_waits_for_the_acknowledgement(void **state)
{
	(void)state;
	pthread_t thread;
	struct ibv_cq *cq;
	void *context;

	threaded(NULL);
	assert_int_equal(ibv_req_notify_cq(pair.left.cq, 0), 0);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 8,
					IBV_SEND_SIGNALED),
			 0);
	poll_one(&pair.left, 1);
	assert_int_equal(ibv_get_cq_event(pair.left.channel, &cq, &context), 0);
	assert_int_equal(ibv_destroy_qp(pair.left.qp), 0);
	pair.left.qp = NULL;
	pthread_create(&thread, NULL, destroy_left_cq, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	assert_int_equal(fabric_objects(pair.fabric), 11); /* still there */
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, NULL);
	pair.left.cq = NULL;
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_threads_poll_and_post),
		cmocka_unit_test(the_pump_makes_channels_readable),
		cmocka_unit_test(a_slow_verb_blocks_its_thread_alone),
		cmocka_unit_test(a_hung_verb_ends_when_it_is_let_go),
		cmocka_unit_test(destroying_waits_for_the_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
