// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"
#include "verbs/setup.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

struct work {
	struct setup_task task;
	atomic_bool *gate; /* waits until it is true */
	atomic_int *running; /* of its key */
	atomic_int *overlaps;
	atomic_int *order; /* next number */
	int number; /* got */
	bool waits_a_little;
};

static void run_work(struct setup_task *task)
{
	struct work *work = (struct work *)task;

	if (work->running && atomic_fetch_add(work->running, 1) > 0) {
		atomic_fetch_add(work->overlaps, 1);
	}
	if (work->order) {
		work->number = atomic_fetch_add(work->order, 1);
	}
	while (work->gate && !atomic_load(work->gate)) {
		usleep(200);
	}
	if (work->waits_a_little) {
		usleep(100);
	}
	if (work->running) {
		atomic_fetch_sub(work->running, 1);
	}
}

static struct work *wait_for(struct mailbox *replies)
{
	struct pollfd poll_fd = { .fd = replies->fd, .events = POLLIN };
	struct message *message = mailbox_get(replies);

	while (!message) {
		assert_int_equal(poll(&poll_fd, 1, 10000), 1);
		message = mailbox_get(replies);
	}
	return list_entry(message, struct work, task.message);
}

struct fixture {
	struct setup *setup;
	struct mailbox replies;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct error err = ERROR_INIT;

	assert_int_equal(mailbox_init_fd(&fixture->replies, NULL), 0);
	assert_int_equal(setup_new(&fixture->setup, "a-device-with-a-long-name", 2, &err), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(setup_stop(fixture->setup, clock_mono_ns() + 10 * SECOND), 0);
	mailbox_done(&fixture->replies);
	free(fixture);
	return 0;
}

static void a_task_is_run_once_and_comes_back(void **state)
{
	struct fixture *fixture = *state;
	atomic_int order = 0;
	struct work work = { .task = { .run = run_work, .reply = &fixture->replies },
			     .order = &order };

	setup_submit(fixture->setup, &work.task);
	assert_ptr_equal(wait_for(&fixture->replies), &work);
	assert_int_equal(order, 1);
	assert_int_not_equal(work.task.started_mono_ns, 0);
	assert_null(mailbox_get(&fixture->replies));
}

static void tasks_of_one_key_run_in_order_and_never_at_once(void **state)
{
	enum { COUNT = 400, KEYS = 5 };
	struct fixture *fixture = *state;
	struct work *works = calloc(COUNT, sizeof(*works));
	atomic_int running[KEYS] = { 0 };
	atomic_int order[KEYS] = { 0 };
	atomic_int overlaps = 0;

	for (int i = 0; i < COUNT; i++) {
		works[i] = (struct work){
			.task = { .run = run_work,
				  .reply = &fixture->replies,
				  .key = &running[i % KEYS] },
			.running = &running[i % KEYS],
			.order = &order[i % KEYS],
			.overlaps = &overlaps,
			.waits_a_little = i % 3 == 0,
		};
		setup_submit(fixture->setup, &works[i].task);
	}
	for (int i = 0; i < COUNT; i++) {
		wait_for(&fixture->replies);
	}
	assert_int_equal(overlaps, 0);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(works[i].number, i / KEYS);
	}
	free(works);
}

static void a_slow_key_does_not_hold_up_another(void **state)
{
	struct fixture *fixture = *state;
	atomic_bool gate = false;
	struct work slow = { .task = { .run = run_work, .reply = &fixture->replies, .key = &slow },
			     .gate = &gate };
	struct work behind = {
		.task = { .run = run_work, .reply = &fixture->replies, .key = &slow }
	};
	struct work other = {
		.task = { .run = run_work, .reply = &fixture->replies, .key = &other }
	};
	struct work loose = { .task = { .run = run_work, .reply = &fixture->replies } };

	setup_submit(fixture->setup, &slow.task);
	setup_submit(fixture->setup, &behind.task);
	setup_submit(fixture->setup, &other.task);
	setup_submit(fixture->setup, &loose.task);
	assert_ptr_equal(wait_for(&fixture->replies), &other);
	assert_ptr_equal(wait_for(&fixture->replies), &loose);
	assert_null(mailbox_get(&fixture->replies));
	atomic_store(&gate, true);
	assert_ptr_equal(wait_for(&fixture->replies), &slow);
	assert_ptr_equal(wait_for(&fixture->replies), &behind);
}

static void the_oldest_running_task_has_an_age(void **state)
{
	struct fixture *fixture = *state;
	atomic_bool gate = false;
	struct work work = { .task = { .run = run_work, .reply = &fixture->replies },
			     .gate = &gate };
	uint64_t begun_mono_ns = clock_mono_ns();
	uint64_t age_ns;
	const char *call;

	assert_int_equal(setup_oldest_ns(fixture->setup, clock_mono_ns(), &call), 0);
	setup_submit(fixture->setup, &work.task);
	do {
		usleep(1000);
		age_ns = setup_oldest_ns(fixture->setup, clock_mono_ns(), &call);
	} while (age_ns < 20 * MS);
	assert_true(age_ns <= clock_mono_ns() - begun_mono_ns);
	/* A clock read before the task began gives no age. */
	assert_int_equal(setup_oldest_ns(fixture->setup, begun_mono_ns, &call), 0);
	atomic_store(&gate, true);
	wait_for(&fixture->replies);
	assert_int_equal(setup_oldest_ns(fixture->setup, clock_mono_ns(), &call), 0);
}

static void run_marked(struct setup_task *task)
{
	struct work *work = (struct work *)task;

	thread_mark("ibv_first");
	usleep(30000);
	thread_mark("ibv_second");
	while (!atomic_load(work->gate)) {
		usleep(200);
	}
}

/* Many short calls are no long one. */
static void an_age_counts_from_the_last_mark_and_has_its_name(void **state)
{
	struct fixture *fixture = *state;
	atomic_bool gate = false;
	struct work work = { .task = { .run = run_marked, .reply = &fixture->replies },
			     .gate = &gate };
	const char *call = "";
	uint64_t age_ns;
	uint64_t now_mono_ns;
	uint64_t started_mono_ns;

	setup_submit(fixture->setup, &work.task);
	do {
		usleep(1000);
		now_mono_ns = clock_mono_ns();
		age_ns = setup_oldest_ns(fixture->setup, now_mono_ns, &call);
	} while (strcmp(call, "ibv_second") != 0);
	atomic_store(&gate, true);
	wait_for(&fixture->replies);
	started_mono_ns = work.task.started_mono_ns;
	assert_true(age_ns + 30 * MS <= now_mono_ns - started_mono_ns);
	/* The next task does not inherit it. */
	atomic_store(&gate, false);
	work.task.run = run_work;
	setup_submit(fixture->setup, &work.task);
	while (setup_oldest_ns(fixture->setup, clock_mono_ns(), &call) == 0) {
		usleep(1000);
	}
	assert_string_equal(call, "a step of its setup");
	atomic_store(&gate, true);
	wait_for(&fixture->replies);
}

static atomic_int freed;

static void run_and_free(struct setup_task *task)
{
	free(task);
	atomic_fetch_add(&freed, 1);
}

static void without_a_reply_address_the_task_frees_itself(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 50; i++) {
		struct setup_task *task = calloc(1, sizeof(*task));

		task->run = run_and_free;
		task->key = i % 2 ? fixture : NULL;
		setup_submit(fixture->setup, task);
	}
	for (int i = 0; atomic_load(&freed) < 50; i++) {
		assert_true(i < 10000);
		usleep(1000);
	}
}

static void stopping_lets_queued_tasks_finish(void **state)
{
	enum { COUNT = 60 };
	struct mailbox replies;
	struct setup *setup;
	struct error err = ERROR_INIT;
	struct work works[COUNT];
	unsigned back = 0;

	assert_int_equal(mailbox_init_fd(&replies, NULL), 0);
	assert_int_equal(setup_new(&setup, "x", 2, &err), 0);
	for (int i = 0; i < COUNT; i++) {
		works[i] = (struct work){
			.task = { .run = run_work, .reply = &replies, .key = &works[i % 3] },
			.waits_a_little = true,
		};
		setup_submit(setup, &works[i].task);
	}
	assert_int_equal(setup_stop(setup, clock_mono_ns() + 10 * SECOND), 0);
	while (mailbox_get(&replies)) {
		back++;
	}
	assert_int_equal(back, COUNT);
	mailbox_done(&replies);
}

static void a_hung_task_makes_stopping_give_up_at_its_deadline(void **state)
{
	struct mailbox replies;
	struct setup *setup;
	struct error err = ERROR_INIT;
	atomic_bool gate = false;
	struct work hung = { .task = { .run = run_work, .reply = &replies }, .gate = &gate };
	uint64_t begun_mono_ns = clock_mono_ns();

	assert_int_equal(mailbox_init_fd(&replies, NULL), 0);
	assert_int_equal(setup_new(&setup, "x", 2, &err), 0);
	setup_submit(setup, &hung.task);
	assert_int_equal(setup_stop(setup, clock_mono_ns() + 50 * MS), -ETIMEDOUT);
	assert_in_range(clock_mono_ns() - begun_mono_ns, 45 * MS, 5 * SECOND);
	/* What hung may come back, and then stopping can be tried again. */
	atomic_store(&gate, true);
	assert_int_equal(setup_stop(setup, clock_mono_ns() + 10 * SECOND), 0);
	assert_ptr_equal(wait_for(&replies), &hung);
	mailbox_done(&replies);
}

static void nothing_to_stop_is_fine(void **state)
{
	assert_int_equal(setup_stop(NULL, 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_task_is_run_once_and_comes_back),
		TEST(tasks_of_one_key_run_in_order_and_never_at_once),
		TEST(a_slow_key_does_not_hold_up_another),
		TEST(the_oldest_running_task_has_an_age),
		TEST(an_age_counts_from_the_last_mark_and_has_its_name),
		TEST(without_a_reply_address_the_task_frees_itself),
		cmocka_unit_test(stopping_lets_queued_tasks_finish),
		cmocka_unit_test(a_hung_task_makes_stopping_give_up_at_its_deadline),
		cmocka_unit_test(nothing_to_stop_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
