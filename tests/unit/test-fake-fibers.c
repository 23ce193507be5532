// SPDX-License-Identifier: MIT
/* The stepped world's threads: they wait, hang in slow verbs and busy-poll in virtual time. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake-clock.h"
#include "fake/pair.h"
#include "fake/world.h"
#include "util/clock.h"
#include "util/mailbox.h"
#include "util/thread.h"

#define SECOND_NS 1000000000ULL

static struct node *add_node(struct world *world, const char *name, const char *address)
{
	return world_add_node(world, &(struct node_options){ .name = name, .address = address });
}

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

static int count_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	unsigned *ticks = arg;

	(*ticks)++;
	sd_event_source_set_time(source, usec + 1000000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* A thread that opens a device and registers memory, then waits for a wake to end. */
struct work {
	struct thread *thread;
	struct ibv_context *context;
	unsigned steps;
	uint64_t opened_ns;
	bool is_open;
	bool may_end;
};

static struct thread_next work_step(void *arg)
{
	struct work *work = arg;

	work->steps++;
	if (work->may_end) {
		assert_int_equal(ibv_close_device(work->context), 0);
		return (struct thread_next){ THREAD_DONE, CLOCK_NEVER };
	}
	if (work->context == NULL) {
		int count;
		struct ibv_device **list = ibv_get_device_list(&count);
		assert_int_equal(count, 1);
		work->context = ibv_open_device(list[0]);
		ibv_free_device_list(list);
		work->opened_ns = fake_clock_now_ns();
		work->is_open = true;
		return (struct thread_next){ THREAD_AGAIN, CLOCK_NEVER };
	}
	return (struct thread_next){ THREAD_WAIT, CLOCK_NEVER };
}

static void start_work(struct work *work, struct node *node)
{
	world_enter(node);
	assert_int_equal(thread_start(&work->thread, &(struct thread_options){ "work", -1 },
				      work_step, work, NULL),
			 0);
	world_enter(NULL);
}

static void join_work(struct work *work, struct node *node)
{
	world_enter(node);
	work->may_end = true;
	thread_wake(work->thread);
	assert_int_equal(thread_join(&work->thread, clock_mono_ns() + SECOND_NS), 0);
	assert_null(work->thread);
	world_enter(NULL);
}

static void a_slow_verb_holds_up_its_thread_alone(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct node *b = add_node(world, "b", "10.0.0.2");
	struct work work = { 0 };
	struct work other = { 0 };
	unsigned ticks = 0;
	sd_event_source *source;

	fabric_add_device(world_fabric(world),
			  &(struct fabric_device_config){ .name = "d0", .host = "a" });
	fabric_add_device(world_fabric(world),
			  &(struct fabric_device_config){ .name = "d1", .host = "b" });
	fabric_set_verb(world_fabric(world), "d0", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .cost_ns = 5 * SECOND_NS });
	world_enter(a);
	assert_true(sd_event_add_time_relative(world_event(a), &source, CLOCK_MONOTONIC, 1000000, 1,
					       count_tick, &ticks) >= 0);
	start_work(&work, a);
	start_work(&other, b);
	uint64_t begin_ns = fake_clock_now_ns();
	assert_true(world_run_until(world, is_set, &other.is_open, SECOND_NS));
	assert_int_equal(other.opened_ns, begin_ns);
	assert_true(world_run_until(world, is_set, &work.is_open, 9 * SECOND_NS));
	assert_int_equal(work.opened_ns - begin_ns, 5 * SECOND_NS);
	assert_in_range(ticks, 4, 5); /* its node's loop went on ticking */
	world_run(world, SECOND_NS);
	assert_int_equal(work.steps, 2); /* waiting costs nothing */
	join_work(&work, a);
	join_work(&other, b);
	sd_event_source_unref(source);
	world_free(world);
}

static void a_hung_verb_lasts_until_it_is_let_go(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct work work = { 0 };

	fabric_add_device(world_fabric(world), &(struct fabric_device_config){ .name = "d0" });
	fabric_set_verb(world_fabric(world), "d0", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .cost_ns = UINT64_MAX, .count = 1 });
	start_work(&work, a);
	assert_false(world_run_until(world, is_set, &work.is_open, 3 * SECOND_NS));
	world_enter(a);
	assert_int_equal(thread_join(&work.thread, clock_mono_ns() + 1000000), -ETIMEDOUT);
	assert_non_null(work.thread);
	world_enter(NULL);
	fabric_set_verb(world_fabric(world), "d0", FABRIC_OPEN_DEVICE, NULL);
	assert_true(world_run_until(world, is_set, &work.is_open, SECOND_NS));
	join_work(&work, a);
	world_free(world);
}

/* A mailbox wakes a loop from a thread. */
struct post {
	struct thread *thread;
	struct mailbox mailbox;
	struct message messages[3];
	unsigned posted;
	unsigned seen;
	bool is_over;
};

static struct thread_next post_step(void *arg)
{
	struct post *post = arg;

	if (post->posted == 3) {
		return (struct thread_next){ THREAD_DONE, CLOCK_NEVER };
	}
	mailbox_post(&post->mailbox, &post->messages[post->posted++]);
	return (struct thread_next){ THREAD_WAIT, clock_mono_ns() + 50000000 };
}

static int on_mail(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct post *post = arg;

	(void)source;
	(void)fd;
	(void)events;
	while (mailbox_get(&post->mailbox) != NULL) {
		post->seen++;
	}
	post->is_over = post->seen == 3;
	return 0;
}

static void threads_wait_until_their_deadline(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = world_add_node(world, &(struct node_options){ .name = "a",
								       .address = "10.0.0.1",
								       .mono_offset_ns = 12345 });
	struct post post = { 0 };
	sd_event_source *source;

	world_enter(a);
	assert_int_equal(mailbox_init_fd(&post.mailbox, NULL), 0);
	assert_true(sd_event_add_io(world_event(a), &source, post.mailbox.fd, EPOLLIN, on_mail,
				    &post) >= 0);
	assert_int_equal(thread_start(&post.thread, &(struct thread_options){ "post", -1 },
				      post_step, &post, NULL),
			 0);
	uint64_t begin_ns = fake_clock_now_ns();
	world_enter(NULL);
	assert_true(world_run_until(world, is_set, &post.is_over, SECOND_NS));
	assert_int_equal(fake_clock_now_ns() - begin_ns, 100000000);
	world_enter(a);
	assert_int_equal(thread_join(&post.thread, CLOCK_NEVER), 0);
	sd_event_source_unref(source);
	mailbox_done(&post.mailbox);
	world_free(world);
}

/* Two nodes whose threads busy-poll: each answers what it receives. */
struct player {
	struct thread *thread;
	struct end *end;
	struct end *other;
	bool begins;
	bool may_end;
	bool is_over;
	unsigned rounds;
	unsigned polls;
	uint64_t ended_ns;
};

static struct thread_next play_step(void *arg)
{
	struct player *player = arg;
	struct ibv_wc wc;

	if (player->may_end) {
		return (struct thread_next){ THREAD_DONE, CLOCK_NEVER };
	}
	player->polls++;
	if (ibv_poll_cq(player->end->cq, 1, &wc) == 0 && !player->begins) {
		return (struct thread_next){ THREAD_POLL, CLOCK_NEVER };
	}
	if (!player->begins && wc.opcode != IBV_WC_RECV) {
		return (struct thread_next){ THREAD_AGAIN, CLOCK_NEVER };
	}
	player->begins = false;
	if (player->rounds++ == 1000) {
		player->is_over = true;
		player->ended_ns = fake_clock_now_ns();
		return (struct thread_next){ THREAD_WAIT, CLOCK_NEVER };
	}
	assert_int_equal(pair_post_recv(player->end, 1, 0, 64), 0);
	assert_int_equal(pair_post_send(player->end, player->other, 2, IBV_WR_SEND, 0, 0, 64,
					IBV_SEND_SIGNALED),
			 0);
	return (struct thread_next){ THREAD_AGAIN, CLOCK_NEVER };
}

static void threads_that_poll_meet_on_the_fabric(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *nodes[2] = { add_node(world, "a", "10.0.0.1"),
				  add_node(world, "b", "10.0.0.2") };
	struct pair pair = { 0 };
	struct player players[2] = { { .end = &pair.left, .other = &pair.right, .begins = true },
				     { .end = &pair.right, .other = &pair.left } };

	pair_join(&pair, world_fabric(world), "a", "b", NULL);
	assert_int_equal(pair_post_recv(&pair.right, 1, 0, 64), 0);
	uint64_t begin_ns = fake_clock_now_ns();
	for (int i = 0; i < 2; i++) {
		world_enter(nodes[i]);
		assert_int_equal(thread_start(&players[i].thread,
					      &(struct thread_options){ "play", -1 }, play_step,
					      &players[i], NULL),
				 0);
	}
	world_enter(NULL);
	assert_true(world_run_until(world, is_set, &players[0].is_over, SECOND_NS));
	/* 2,000 hops of 1 us and 0.1 us of port time */
	assert_in_range(players[0].ended_ns - begin_ns, 2000 * 1100, 2000 * 1110);
	assert_true(players[0].polls < 10000); /* looked when there was something, not all the time
						*/
	for (int i = 0; i < 2; i++) {
		world_enter(nodes[i]);
		players[i].may_end = true;
		thread_wake(players[i].thread);
		assert_int_equal(thread_join(&players[i].thread, clock_mono_ns() + SECOND_NS), 0);
	}
	world_enter(NULL);
	pair_leave(&pair);
	world_free(world);
}

static struct thread_next restless_step(void *arg)
{
	(void)arg;
	return (struct thread_next){ THREAD_AGAIN, CLOCK_NEVER };
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Runs it in a child, which must abort. */
static void expect_abort(void (*function)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		sigaction(SIGABRT, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		close(STDERR_FILENO);
		function();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void wait_for_nothing(void)
{
	struct world *world = world_new(1);

	add_node(world, "a", "10.0.0.1");
	world_run_until(world, never, NULL, SECOND_NS);
}

static void run_in_place(void)
{
	struct world *world = world_new(1);
	struct thread *thread;

	world_enter(add_node(world, "a", "10.0.0.1"));
	thread_start(&thread, &(struct thread_options){ "restless", -1 }, restless_step, NULL,
		     NULL);
	world_run_until(world, never, NULL, SECOND_NS);
}

static void what_will_never_end_aborts(void **state)
{
	(void)state;
	expect_abort(wait_for_nothing);
	expect_abort(run_in_place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_verb_holds_up_its_thread_alone),
		cmocka_unit_test(a_hung_verb_lasts_until_it_is_let_go),
		cmocka_unit_test(threads_wait_until_their_deadline),
		cmocka_unit_test(threads_that_poll_meet_on_the_fabric),
		cmocka_unit_test(what_will_never_end_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
