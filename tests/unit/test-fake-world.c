// SPDX-License-Identifier: MIT
/* The stepped world: many loops, threads and sockets under one virtual clock. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/fake-clock.h"
#include "fake/world.h"
#include "util/clock.h"
#include "util/net.h"
#include "util/random.h"
#include "util/thread.h"

#define SECOND_NS 1000000000ULL
#define PORT 18620

static struct node *add_node(struct world *world, const char *name, const char *address)
{
	return world_add_node(world, &(struct node_options){ .name = name, .address = address });
}

static bool is_set(void *arg)
{
	return *(bool *)arg;
}

struct ticker {
	unsigned count;
	uint64_t last_mono_ns;
	bool is_over;
};

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct ticker *ticker = arg;

	ticker->last_mono_ns = clock_mono_ns();
	if (++ticker->count == 86400) {
		ticker->is_over = true;
		return 0;
	}
	sd_event_source_set_time(source, usec + 1000000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void a_day_of_timers_passes_at_once(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *node = add_node(world, "a", "10.0.0.1");
	struct ticker ticker = { 0 };
	sd_event_source *source;

	world_enter(node);
	uint64_t begin_ns = clock_mono_ns();
	assert_true(sd_event_add_time_relative(world_event(node), &source, CLOCK_MONOTONIC, 1000000,
					       1, on_tick, &ticker) >= 0);
	world_enter(NULL);
	assert_true(world_run_until(world, is_set, &ticker.is_over, 90000 * SECOND_NS));
	assert_in_range(ticker.last_mono_ns - begin_ns, 86400 * SECOND_NS,
			86400 * SECOND_NS + 10000);
	sd_event_source_unref(source);
	world_free(world);
}

static void each_node_has_its_own_clocks_and_random_numbers(void **state)
{
	(void)state;
	uint64_t numbers[2][2];

	for (int i = 0; i < 2; i++) {
		struct world *world = world_new(5);
		struct node *a = world_add_node(
			world, &(struct node_options){ .name = "a",
						       .address = "10.0.0.1",
						       .mono_offset_ns = 7 * SECOND_NS,
						       .real_offset_ns = -3000000000 });
		struct node *b = add_node(world, "b", "10.0.0.2");
		struct timespec time;
		world_enter(b);
		uint64_t mono_ns = clock_mono_ns();
		int64_t real_ns = clock_real_ns();
		random_fill(&numbers[i][0], 8);
		world_enter(a);
		random_fill(&numbers[i][1], 8);
		assert_int_equal(clock_mono_ns() - mono_ns, 7 * SECOND_NS);
		assert_int_equal(clock_real_ns() - real_ns, -3000000000);
		assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &time), 0);
		assert_int_equal((uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec,
				 clock_mono_ns());
		world_free(world);
	}
	assert_int_not_equal(numbers[0][0], numbers[0][1]);
	assert_memory_equal(numbers[0], numbers[1], sizeof(numbers[0]));
}

/* A node that echoes what it reads, and one that sends and waits for it. */
struct talk {
	sd_event *event;
	int listener;
	int server;
	int client;
	sd_event_source *server_source;
	sd_event_source *client_source;
	sd_event_source *listener_source;
	char peer[NET_ADDRESS_SIZE];
	char got[64];
	int result;
	bool is_answered;
	bool is_broken;
	uint64_t answered_ns;
};

static int on_server(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct talk *talk = arg;
	char bytes[64];
	ssize_t count = read(fd, bytes, sizeof(bytes));

	(void)source;
	(void)events;
	if (count > 0) {
		assert_int_equal(write(fd, bytes, (size_t)count), count);
	} else {
		sd_event_source_set_enabled(talk->server_source, SD_EVENT_OFF);
	}
	return 0;
}

static int on_listener(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct talk *talk = arg;

	(void)source;
	(void)events;
	talk->server = net_accept(fd, talk->peer, sizeof(talk->peer));
	assert_true(talk->server >= 0);
	assert_int_equal(net_accept(fd, talk->peer, sizeof(talk->peer)), -EAGAIN);
	return sd_event_add_io(talk->event, &talk->server_source, talk->server, EPOLLIN, on_server,
			       talk);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct talk *talk = arg;

	if (events & EPOLLOUT) {
		talk->result = net_connect_result(fd);
		sd_event_source_set_io_events(source, EPOLLIN);
		if (talk->result < 0) {
			talk->is_broken = true;
			sd_event_source_set_enabled(source, SD_EVENT_OFF);
			return 0;
		}
		assert_int_equal(write(fd, "hello", 5), 5);
		return 0;
	}
	ssize_t count = read(fd, talk->got, sizeof(talk->got));
	talk->is_answered = count > 0;
	talk->is_broken = count <= 0;
	talk->answered_ns = fake_clock_now_ns();
	return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void talk_listen(struct talk *talk, struct node *node)
{
	world_enter(node);
	talk->event = world_event(node);
	talk->listener = net_listen("::", PORT, NULL);
	assert_true(talk->listener >= 0);
	assert_true(sd_event_add_io(talk->event, &talk->listener_source, talk->listener, EPOLLIN,
				    on_listener, talk) >= 0);
	world_enter(NULL);
}

static void talk_connect(struct talk *talk, struct node *node, const char *host)
{
	char address[64];

	world_enter(node);
	struct net_resolve *resolve = net_resolve_start(NULL, host);
	assert_int_equal(net_resolve_finish(resolve, address, sizeof(address), NULL), 0);
	net_resolve_free(resolve);
	talk->client = net_connect(address, PORT, NULL);
	assert_true(talk->client >= 0);
	assert_true(sd_event_add_io(world_event(node), &talk->client_source, talk->client, EPOLLOUT,
				    on_client, talk) >= 0);
	world_enter(NULL);
}

static void talk_done(struct talk *talk)
{
	sd_event_source_unref(talk->client_source);
	sd_event_source_unref(talk->server_source);
	sd_event_source_unref(talk->listener_source);
	close(talk->client);
	if (talk->server >= 0) {
		close(talk->server);
	}
	if (talk->listener >= 0) {
		close(talk->listener);
	}
}

static void nodes_talk_with_latency(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct node *b = add_node(world, "b", "10.0.0.2");
	struct talk talk = { .server = -1 };

	world_set_latency(world, 3000000);
	talk_listen(&talk, b);
	talk_connect(&talk, a, "b");
	uint64_t begin_ns = fake_clock_now_ns();
	assert_true(world_run_until(world, is_set, &talk.is_answered, SECOND_NS));
	assert_int_equal(talk.answered_ns - begin_ns, 6000000);
	assert_memory_equal(talk.got, "hello", 5);
	assert_memory_equal(talk.peer, "10.0.0.1:", 9);
	talk_done(&talk);
	world_free(world);
}

static void nobody_listening_is_refused_and_nobody_there_is_silence(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct talk refused = { .server = -1, .listener = -1 };
	struct talk silent = { .server = -1, .listener = -1 };

	add_node(world, "b", "10.0.0.2");
	talk_connect(&refused, a, "b");
	talk_connect(&silent, a, "10.9.9.9");
	assert_true(world_run_until(world, is_set, &refused.is_broken, SECOND_NS));
	assert_int_equal(refused.result, -ECONNREFUSED);
	world_run(world, 10 * SECOND_NS);
	assert_false(silent.is_broken || silent.is_answered);
	assert_int_equal(net_connect_result(silent.client), -EINPROGRESS);
	talk_done(&refused);
	talk_done(&silent);
	world_free(world);
}

static void cuts_hold_or_break(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct node *b = add_node(world, "b", "10.0.0.2");
	struct talk talk = { .server = -1 };

	talk_listen(&talk, b);
	talk_connect(&talk, a, "b");
	world_cut(world, a, b, WORLD_SILENT);
	world_run(world, 5 * SECOND_NS);
	assert_false(talk.is_answered || talk.is_broken);
	world_cut(world, a, NULL, WORLD_WHOLE);
	assert_true(world_run_until(world, is_set, &talk.is_answered, SECOND_NS));
	sd_event_source_set_enabled(talk.client_source, SD_EVENT_ON);
	world_cut(world, a, b, WORLD_RESET);
	assert_true(world_run_until(world, is_set, &talk.is_broken, SECOND_NS));
	talk_done(&talk);
	world_free(world);
}

static void a_frozen_node_answers_when_it_thaws(void **state)
{
	(void)state;
	struct world *world = world_new(1);
	struct node *a = add_node(world, "a", "10.0.0.1");
	struct node *b = add_node(world, "b", "10.0.0.2");
	struct talk talk = { .server = -1 };

	talk_listen(&talk, b);
	world_freeze(b, true);
	talk_connect(&talk, a, "b");
	world_run(world, 5 * SECOND_NS);
	assert_false(talk.is_answered || talk.is_broken);
	world_freeze(b, false);
	assert_true(world_run_until(world, is_set, &talk.is_answered, SECOND_NS));
	talk_done(&talk);
	world_free(world);
}

/* Waits twice for 50 ms. */
static struct thread_next wait_step(void *arg)
{
	unsigned *steps = arg;

	return (*steps)++ == 2 ? (struct thread_next){ THREAD_DONE, CLOCK_NEVER }
			       : (struct thread_next){ THREAD_WAIT, clock_mono_ns() + 50000000 };
}

static void without_a_world_the_seams_are_the_products(void **state)
{
	(void)state;
	uint8_t bytes[16] = { 0 };
	uint8_t zeroes[16] = { 0 };
	struct thread *thread;
	unsigned steps = 0;

	random_fill(bytes, sizeof(bytes));
	assert_memory_not_equal(bytes, zeroes, sizeof(bytes));
	uint64_t begin_ns = clock_mono_ns();
	assert_int_equal(thread_start(&thread, &(struct thread_options){ "wait", -1 }, wait_step,
				      &steps, NULL),
			 0);
	assert_int_equal(thread_join(&thread, clock_mono_ns() + 10 * SECOND_NS), 0);
	assert_true(clock_mono_ns() - begin_ns >= 100000000); /* in earnest */
	assert_int_equal(steps, 3);
	int fd = net_listen("127.0.0.1", 0, NULL);
	assert_true(fd >= 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_world_the_seams_are_the_products),
		cmocka_unit_test(a_day_of_timers_passes_at_once),
		cmocka_unit_test(each_node_has_its_own_clocks_and_random_numbers),
		cmocka_unit_test(nodes_talk_with_latency),
		cmocka_unit_test(nobody_listening_is_refused_and_nobody_there_is_silence),
		cmocka_unit_test(cuts_hold_or_break),
		cmocka_unit_test(a_frozen_node_answers_when_it_thaws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
