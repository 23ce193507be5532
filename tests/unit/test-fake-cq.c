// SPDX-License-Identifier: MIT
/* The fake NIC's completion queues: order, size, overrun, notification, events. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/pair.h"

static bool is_readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static int write_once(struct pair *pair, uint64_t wr_id, unsigned flags)
{
	return pair_post_send(&pair->left, &pair->right, wr_id, IBV_WR_RDMA_WRITE, 0, 0, 8, flags);
}

static int send_once(struct pair *pair, unsigned flags)
{
	assert_int_equal(pair_post_recv(&pair->right, 1, 0, 8), 0);
	return pair_post_send(&pair->left, &pair->right, 1, IBV_WR_SEND, 0, 0, 8, flags);
}

static void get_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(ibv_get_cq_event(end->channel, &cq, &context), 0);
	assert_ptr_equal(cq, end->cq);
	assert_ptr_equal(context, end);
	ibv_ack_cq_events(cq, 1);
}

static void unsignalled_work_frees_its_slots_with_a_later_completion(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &(struct pair_options){ .max_wr = 4 });
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(write_once(&pair, i, i == 3 ? IBV_SEND_SIGNALED : 0), 0);
	}
	assert_int_equal(write_once(&pair, 9, 0), ENOMEM);
	pair_run(&pair, 1000000);
	assert_int_equal(write_once(&pair, 9, 0), ENOMEM); /* done, but not polled */
	pair_expect(&pair.left, 3, IBV_WC_SUCCESS, NULL);
	for (uint64_t i = 4; i < 8; i++) {
		assert_int_equal(write_once(&pair, i, 0), 0);
	}
	pair_run(&pair, 1000000);
	assert_true(pair_is_quiet(&pair.left));
	assert_int_equal(write_once(&pair, 9, 0), ENOMEM); /* never again: nothing was signalled */
	pair_done(&pair);
}

static void a_list_stops_at_the_first_that_does_not_fit(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[2];

	pair_init(&pair, &(struct pair_options){ .max_wr = 2 });
	struct ibv_send_wr wrs[3] = { 0 };
	struct ibv_send_wr *bad = NULL;
	for (int i = 0; i < 3; i++) {
		wrs[i].wr_id = (uint64_t)i;
		wrs[i].opcode = IBV_WR_RDMA_WRITE;
		wrs[i].send_flags = IBV_SEND_SIGNALED;
		wrs[i].next = i < 2 ? &wrs[i + 1] : NULL;
	}
	assert_int_equal(ibv_post_send(pair.left.qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[2]);
	pair_wait(&pair.left, wcs, 2);
	assert_int_equal(wcs[1].wr_id, 1);
	pair_done(&pair);
}

static void all_signalled_pairs_signal_all(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &(struct pair_options){ .is_all_signalled = true });
	assert_int_equal(write_once(&pair, 5, 0), 0);
	pair_expect(&pair.left, 5, IBV_WC_SUCCESS, NULL);
	pair_done(&pair);
}

static void an_overrun_raises_an_event_and_ends_the_pairs(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_async_event event;
	struct ibv_wc wcs[8];

	pair_init(&pair, &(struct pair_options){ .cqe = 3 });
	assert_int_equal(pair.left.cq->cqe, 3);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(write_once(&pair, i, IBV_SEND_SIGNALED), 0);
	}
	assert_false(is_readable(pair.left.context->async_fd));
	pair_run(&pair, 1000000);
	assert_true(is_readable(pair.left.context->async_fd));
	assert_int_equal(ibv_get_async_event(pair.left.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, pair.left.cq);
	ibv_ack_async_event(&event);
	assert_int_equal(pair.left.qp->state, IBV_QPS_ERR);
	assert_int_equal(ibv_poll_cq(pair.left.cq, 8, wcs), 3); /* what fitted is still there */
	assert_int_equal(wcs[2].wr_id, 2);
	assert_int_equal(pair.right.qp->state, IBV_QPS_RTS);
	pair_done(&pair);
}

static void a_notification_comes_once_for_the_next_completion(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[3];

	pair_init(&pair, NULL);
	assert_int_equal(write_once(&pair, 1, IBV_SEND_SIGNALED), 0);
	pair_run(&pair, 1000000);
	assert_false(is_readable(pair.left.channel->fd)); /* not asked for */
	assert_int_equal(ibv_req_notify_cq(pair.left.cq, 0), 0);
	pair_run(&pair, 1000000);
	assert_false(is_readable(pair.left.channel->fd)); /* what was there before does not count */
	assert_int_equal(write_once(&pair, 2, IBV_SEND_SIGNALED), 0);
	assert_int_equal(write_once(&pair, 3, IBV_SEND_SIGNALED), 0);
	pair_run(&pair, 1000000);
	assert_true(is_readable(pair.left.channel->fd));
	get_event(&pair.left);
	assert_false(is_readable(pair.left.channel->fd));
	pair_wait(&pair.left, wcs, 3);
	pair_done(&pair);
}

static void solicited_only_means_it(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_wc wcs[4];

	pair_init(&pair, NULL);
	assert_int_equal(ibv_req_notify_cq(pair.right.cq, 1), 0);
	assert_int_equal(send_once(&pair, 0), 0);
	pair_run(&pair, 1000000);
	assert_false(is_readable(pair.right.channel->fd));
	assert_int_equal(send_once(&pair, IBV_SEND_SOLICITED), 0);
	pair_run(&pair, 1000000);
	get_event(&pair.right);
	/* a failure always tells */
	assert_int_equal(ibv_req_notify_cq(pair.right.cq, 1), 0);
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 8), 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	assert_int_equal(ibv_modify_qp(pair.right.qp, &attr, IBV_QP_STATE), 0);
	get_event(&pair.right);
	/* armed for any is not weakened by solicited */
	pair_wait(&pair.right, wcs, 3);
	assert_int_equal(ibv_req_notify_cq(pair.right.cq, 0), 0);
	assert_int_equal(ibv_req_notify_cq(pair.right.cq, 1), 0);
	assert_int_equal(pair_post_recv(&pair.right, 2, 0, 8), 0);
	get_event(&pair.right);
	pair_done(&pair);
}

static void a_queue_without_channel_cannot_notify(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	struct ibv_cq *cq = ibv_create_cq(pair.left.context, 4, NULL, NULL, 0);
	assert_int_equal(ibv_req_notify_cq(cq, 0), EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	pair_done(&pair);
}

static void non_blocking_descriptors_say_when_there_is_nothing(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_cq *cq;
	void *context;
	struct ibv_async_event event;

	pair_init(&pair, NULL);
	assert_int_equal(fcntl(pair.left.channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(pair.left.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(ibv_get_cq_event(pair.left.channel, &cq, &context), -1);
	assert_int_equal(errno, EAGAIN);
	errno = 0;
	assert_int_equal(ibv_get_async_event(pair.left.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
	pair_done(&pair);
}

static void unread_events_go_with_their_queue(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	assert_int_equal(ibv_req_notify_cq(pair.left.cq, 0), 0);
	assert_int_equal(write_once(&pair, 1, IBV_SEND_SIGNALED), 0);
	pair_run(&pair, 1000000);
	assert_true(is_readable(pair.left.channel->fd));
	assert_int_equal(ibv_destroy_qp(pair.left.qp), 0);
	assert_int_equal(ibv_destroy_cq(pair.left.cq), 0);
	assert_false(is_readable(pair.left.channel->fd));
	pair.left.qp = NULL;
	pair.left.cq = NULL;
	pair_done(&pair);
}

static void a_destroyed_pair_leaves_no_completions(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	assert_int_equal(write_once(&pair, 1, IBV_SEND_SIGNALED), 0);
	pair_run(&pair, 1000000);
	assert_int_equal(ibv_destroy_qp(pair.left.qp), 0);
	pair.left.qp = NULL;
	assert_true(pair_is_quiet(&pair.left));
	pair_done(&pair);
}

/* Runs it in a child, which must abort. */
static void expect_abort(void (*function)(struct pair *pair), struct pair *pair)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		sigaction(SIGABRT, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		close(STDERR_FILENO);
		function(pair);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void destroy_cq_now(struct pair *pair)
{
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(pair->left.channel, &cq, &context);
	ibv_destroy_qp(pair->left.qp);
	ibv_destroy_cq(cq);
}

static void get_event_now(struct pair *pair)
{
	struct ibv_async_event event;

	ibv_get_async_event(pair->left.context, &event);
}

static void what_would_hang_aborts_when_stepped(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	expect_abort(get_event_now, &pair);
	assert_int_equal(ibv_req_notify_cq(pair.left.cq, 0), 0);
	assert_int_equal(write_once(&pair, 1, IBV_SEND_SIGNALED), 0);
	pair_run(&pair, 1000000);
	expect_abort(destroy_cq_now, &pair); /* the event was read and not acknowledged */
	pair_done(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsignalled_work_frees_its_slots_with_a_later_completion),
		cmocka_unit_test(a_list_stops_at_the_first_that_does_not_fit),
		cmocka_unit_test(all_signalled_pairs_signal_all),
		cmocka_unit_test(an_overrun_raises_an_event_and_ends_the_pairs),
		cmocka_unit_test(a_notification_comes_once_for_the_next_completion),
		cmocka_unit_test(solicited_only_means_it),
		cmocka_unit_test(a_queue_without_channel_cannot_notify),
		cmocka_unit_test(non_blocking_descriptors_say_when_there_is_nothing),
		cmocka_unit_test(unread_events_go_with_their_queue),
		cmocka_unit_test(a_destroyed_pair_leaves_no_completions),
		cmocka_unit_test(what_would_hang_aborts_when_stepped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
