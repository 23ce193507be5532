// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

static uint64_t in_ns(uint64_t ns)
{
	return clock_mono_ns() + ns;
}

/* What a step of these tests does, and what it saw. */
struct work {
	atomic_uint steps;
	atomic_bool has_to_end;
	enum thread_want want;
	uint64_t wait_ns; /* 0: until woken */
	unsigned done_after; /* steps; 0: never by itself */
	char name[16];
	bool all_signals_blocked;
	int cpu;
	int policy;
	long context_switches;
	int fd; /* THREAD_WAIT_FD */
};

static void note_surroundings(struct work *work)
{
	struct rusage usage;
	sigset_t mask;

	pthread_getname_np(pthread_self(), work->name, sizeof(work->name));
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	work->all_signals_blocked = true;
	for (int i = 1; i < 32; i++) {
		bool is_own_doing = i == SIGSEGV || i == SIGBUS || i == SIGFPE || i == SIGILL ||
				    i == SIGABRT;

		if (i != SIGKILL && i != SIGSTOP) {
			work->all_signals_blocked &= sigismember(&mask, i) == !is_own_doing;
		}
	}
	work->cpu = sched_getcpu();
	work->policy = sched_getscheduler(0);
	getrusage(RUSAGE_THREAD, &usage);
	work->context_switches = usage.ru_nvcsw;
}

static struct thread_next step(void *arg)
{
	struct work *work = arg;
	unsigned count = atomic_fetch_add(&work->steps, 1) + 1;

	if ((work->done_after && count >= work->done_after) || atomic_load(&work->has_to_end)) {
		note_surroundings(work);
		return (struct thread_next){ .want = THREAD_DONE };
	}
	return (struct thread_next){ .want = work->want,
				     .until_mono_ns = work->wait_ns ? in_ns(work->wait_ns)
								    : CLOCK_NEVER,
				     .fd = work->fd };
}

static struct thread *start(const char *name, int cpu, struct work *work)
{
	const struct thread_options options = { .name = name,
						.cpu = cpu,
						.has_descriptor = work->want == THREAD_WAIT_FD };
	struct error err = ERROR_INIT;
	struct thread *thread = NULL;

	assert_int_equal(thread_start(&thread, &options, step, work, &err), 0);
	assert_false(error_is_set(&err));
	assert_non_null(thread);
	return thread;
}

/* Gives the thread time to get to where it waits; the tests hold without it, but then prove less.
 */
static void let_it_sleep(const struct work *work, unsigned steps)
{
	uint64_t deadline = in_ns(5 * SECOND);

	while (atomic_load(&work->steps) < steps && clock_mono_ns() < deadline) {
		sched_yield();
	}
	for (unsigned i = 0; i < 50; i++) {
		sched_yield();
	}
}

static void steps_run_until_done(void **state)
{
	struct work work = { .want = THREAD_AGAIN, .done_after = 1000 };
	struct thread *thread = start("steps", -1, &work);

	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	assert_null(thread);
	assert_int_equal(work.steps, 1000);
	assert_string_equal(work.name, "steps");
	assert_true(work.all_signals_blocked);
}

static void the_starter_keeps_its_own_signal_mask(void **state)
{
	struct work work = { .want = THREAD_AGAIN, .done_after = 1 };
	struct thread *thread;
	sigset_t before;
	sigset_t after;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	thread = start("mask", -1, &work);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int i = 1; i <= 64; i++) {
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	}
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
}

static void a_long_name_is_cut_to_fifteen(void **state)
{
	struct work work = { .want = THREAD_AGAIN, .done_after = 1 };
	struct thread *thread = start("measuring-worker-7", -1, &work);

	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	assert_string_equal(work.name, "measuring-worke");
}

static void polling_asks_the_kernel_for_nothing(void **state)
{
	struct work work = { .want = THREAD_POLL, .done_after = 200000 };
	struct thread *thread = start("poll", -1, &work);

	assert_int_equal(thread_join(&thread, in_ns(30 * SECOND)), 0);
	/* a futex, a sleep or a yield in each turn would show here */
	assert_true(work.context_switches < 100);
}

static void a_waiting_step_is_woken(void **state)
{
	struct work work = { .want = THREAD_WAIT };
	struct thread *thread = start("wait", -1, &work);

	for (unsigned i = 1; i <= 200; i++) {
		uint64_t deadline = in_ns(10 * SECOND);

		if (i % 2) {
			let_it_sleep(&work, i);
		}
		thread_wake(thread);
		while (atomic_load(&work.steps) < i + 1 && clock_mono_ns() < deadline) {
			sched_yield();
		}
		assert_true(atomic_load(&work.steps) >= i + 1);
	}
	atomic_store(&work.has_to_end, true);
	thread_wake(thread);
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
}

static void wait_for_steps(struct work *work, unsigned steps)
{
	uint64_t deadline = in_ns(10 * SECOND);

	while (atomic_load(&work->steps) < steps && clock_mono_ns() < deadline) {
		sched_yield();
	}
	assert_true(atomic_load(&work->steps) >= steps);
}

static void a_step_that_waits_for_a_descriptor_is_woken_by_it_and_by_others(void **state)
{
	struct work work = { .want = THREAD_WAIT_FD, .fd = eventfd(0, EFD_NONBLOCK) };
	struct thread *thread = start("descriptor", -1, &work);
	unsigned seen;
	eventfd_t value;

	(void)state;
	for (unsigned i = 1; i <= 200; i++) {
		let_it_sleep(&work, i);
		seen = atomic_load(&work.steps);
		thread_wake(thread);
		wait_for_steps(&work, seen + 1);
	}
	/* Wakes that were taken leave it asleep. */
	let_it_sleep(&work, 1);
	seen = atomic_load(&work.steps);
	poll(NULL, 0, 50);
	assert_in_range(atomic_load(&work.steps), seen, seen + 1);
	/* As long as it can be read there is something to do. */
	assert_int_equal(eventfd_write(work.fd, 1), 0);
	wait_for_steps(&work, seen + 10);
	assert_int_equal(eventfd_read(work.fd, &value), 0);
	let_it_sleep(&work, 1);
	atomic_store(&work.has_to_end, true);
	thread_wake(thread);
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	close(work.fd);
}

static void waiting_for_a_descriptor_ends_at_its_deadline(void **state)
{
	struct work work = { .want = THREAD_WAIT_FD,
			     .wait_ns = 20 * MS,
			     .done_after = 3,
			     .fd = eventfd(0, EFD_NONBLOCK) };
	uint64_t started_ns = clock_mono_ns();
	struct thread *thread = start("deadline", -1, &work);

	(void)state;
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	assert_true(clock_mono_ns() - started_ns >= 40 * MS);
	close(work.fd);
}

static struct thread_next wait_once_then_end(void *arg)
{
	struct work *work = arg;

	/* woken while it ran, before it waits: the wait must return at once */
	while (!atomic_load(&work->has_to_end)) {
		sched_yield();
	}
	if (atomic_fetch_add(&work->steps, 1) == 0) {
		return (struct thread_next){ .want = THREAD_WAIT, .until_mono_ns = CLOCK_NEVER };
	}
	return (struct thread_next){ .want = THREAD_DONE };
}

static void a_wake_before_the_wait_is_not_lost(void **state)
{
	const struct thread_options options = { .name = "early", .cpu = -1 };

	for (unsigned i = 0; i < 50; i++) {
		struct work work = { 0 };
		struct thread *thread;

		assert_int_equal(thread_start(&thread, &options, wait_once_then_end, &work, NULL),
				 0);
		thread_wake(thread);
		thread_wake(thread);
		atomic_store(&work.has_to_end, true);
		assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
		assert_int_equal(work.steps, 2);
	}
}

static void a_wait_ends_at_its_deadline(void **state)
{
	struct work work = { .want = THREAD_WAIT, .wait_ns = 20 * MS, .done_after = 3 };
	uint64_t start_ns = clock_mono_ns();
	struct thread *thread = start("deadline", -1, &work);

	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	assert_true(clock_mono_ns() - start_ns >= 40 * MS);
	assert_int_equal(work.steps, 3);
}

static struct thread_next wait_in_the_past(void *arg)
{
	struct work *work = arg;

	if (atomic_fetch_add(&work->steps, 1) < 100) {
		return (struct thread_next){ .want = THREAD_WAIT, .until_mono_ns = 1 };
	}
	return (struct thread_next){ .want = THREAD_DONE };
}

static void a_deadline_in_the_past_returns_at_once(void **state)
{
	const struct thread_options options = { .name = "past", .cpu = -1 };
	struct work work = { 0 };
	struct thread *thread;

	assert_int_equal(thread_start(&thread, &options, wait_in_the_past, &work, NULL), 0);
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
}

static void a_join_that_times_out_leaves_the_thread_to_the_caller(void **state)
{
	struct work work = { .want = THREAD_WAIT };
	struct thread *thread = start("late", -1, &work);
	uint64_t start_ns = clock_mono_ns();

	assert_int_equal(thread_join(&thread, in_ns(30 * MS)), -ETIMEDOUT);
	assert_true(clock_mono_ns() - start_ns >= 30 * MS);
	assert_non_null(thread);
	assert_int_equal(thread_join(&thread, 0), -ETIMEDOUT);
	atomic_store(&work.has_to_end, true);
	thread_wake(thread);
	assert_int_equal(thread_join(&thread, CLOCK_NEVER), 0);
	assert_null(thread);
}

static void a_thread_runs_where_it_is_pinned(void **state)
{
	int cpus[1024];
	unsigned count = thread_cpus(cpus, 1024);

	assert_true(count >= 1);
	for (unsigned i = 0; i < count && i < 4; i++) {
		struct work work = { .want = THREAD_AGAIN, .done_after = 10, .cpu = -1 };
		struct thread *thread = start("pinned", cpus[i], &work);

		assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
		assert_int_equal(work.cpu, cpus[i]);
	}
}

static void a_thread_kept_to_several_cpus_runs_on_those_that_we_may_use(void **state)
{
	int cpus[1024];
	int kept[3] = { -5, 0, 1 << 20 };
	struct thread_options options = { .name = "kept", .cpu = -1, .cpus = kept, .cpu_count = 3 };
	struct error err = ERROR_INIT;
	struct thread *thread = NULL;
	struct work work = { .want = THREAD_AGAIN, .done_after = 10, .cpu = -1 };

	assert_true(thread_cpus(cpus, 1024) >= 1);
	kept[1] = cpus[0];
	assert_int_equal(thread_start(&thread, &options, step, &work, &err), 0);
	assert_int_equal(thread_join(&thread, in_ns(10 * SECOND)), 0);
	assert_int_equal(work.cpu, cpus[0]);
	kept[1] = 1 << 21;
	assert_int_equal(thread_start(&thread, &options, step, &work, &err), -EINVAL);
	assert_null(thread);
	assert_non_null(strstr(err.text, "CPU -5 or another of its own is not among"));
}

static void a_cpu_we_may_not_use_is_refused_with_a_sentence(void **state)
{
	static const int wrong[] = { -2, 100000, INT32_MAX, INT32_MIN };

	for (unsigned i = 0; i < 4; i++) {
		const struct thread_options options = { .name = "worker", .cpu = wrong[i] };
		struct error err = ERROR_INIT;
		struct thread *thread = NULL;
		struct work work = { 0 };

		assert_int_equal(thread_start(&thread, &options, step, &work, &err), -EINVAL);
		assert_null(thread);
		assert_int_equal(err.class, ERROR_RESOURCE);
		assert_non_null(strstr(err.text, "\"worker\""));
		assert_non_null(strstr(err.text, "not among"));
		assert_int_equal(work.steps, 0);
	}
}

static void the_cpus_are_counted_even_beyond_the_buffer(void **state)
{
	int cpus[1024];
	unsigned count = thread_cpus(cpus, 1024);
	int first = -1;

	assert_int_equal(thread_cpus(NULL, 0), count);
	assert_int_equal(thread_cpus(&first, 1), count);
	assert_int_equal(first, cpus[0]);
	for (unsigned i = 1; i < count; i++) {
		assert_true(cpus[i] > cpus[i - 1]);
	}
}

static struct thread_next end_when_told(void *arg)
{
	struct work *work = arg;

	if (atomic_load(&work->has_to_end)) {
		atomic_fetch_add(&work->steps, 1);
		return (struct thread_next){ .want = THREAD_DONE };
	}
	return (struct thread_next){ .want = THREAD_WAIT, .until_mono_ns = in_ns(MS) };
}

static void a_detached_thread_frees_itself(void **state)
{
	const struct thread_options options = { .name = "detached", .cpu = -1 };
	/* lives on after the test: nobody can know when a detached thread is gone */
	static struct work works[40];

	for (unsigned i = 0; i < 40; i++) {
		struct thread *thread = NULL;
		uint64_t deadline = in_ns(10 * SECOND);

		assert_int_equal(thread_start(&thread, &options, end_when_told, &works[i], NULL),
				 0);
		/* in turn: given up while it runs, about its end, and after it */
		if (i % 3 == 0) {
			thread_detach(&thread);
			assert_null(thread);
		}
		atomic_store(&works[i].has_to_end, true);
		if (i % 3 == 1) {
			thread_detach(&thread);
		}
		while (atomic_load(&works[i].steps) == 0 && clock_mono_ns() < deadline) {
			sched_yield();
		}
		assert_int_equal(atomic_load(&works[i].steps), 1);
		if (i % 3 == 2) {
			thread_detach(&thread);
		}
	}
}

static int policy_of(bool is_measuring)
{
	struct work work = { .done_after = 1 };
	struct thread_options options = { .name = "policy",
					  .cpu = -1,
					  .is_measuring = is_measuring };
	struct thread *thread = NULL;
	struct error err = ERROR_INIT;

	assert_int_equal(thread_start(&thread, &options, step, &work, &err), 0);
	assert_int_equal(thread_join(&thread, in_ns(30 * SECOND)), 0);
	return work.policy;
}

/* Exit status of a child that was asked to keep to the first CPU: 0 where all is as it should be.
 */
static int keep_to_the_first(const int *cpus, unsigned count)
{
	struct work plain = { .want = THREAD_AGAIN, .done_after = 10, .cpu = -1 };
	struct work measuring = { .want = THREAD_AGAIN, .done_after = 10, .cpu = -1 };
	const struct thread_options options = { .name = "measuring",
						.cpu = -1,
						.is_measuring = true };
	struct error err = ERROR_INIT;
	struct thread *thread;
	int left[1024];

	if (thread_keep_to(cpus, 1, &err) < 0 || thread_cpu() != cpus[0]) {
		return 1;
	}
	if (thread_cpus(left, 1024) != (count > 1 ? count - 1 : 1) || left[0] != cpus[count > 1]) {
		return 2;
	}
	thread = start("plain", -1, &plain);
	if (thread_join(&thread, in_ns(10 * SECOND)) < 0 || plain.cpu != cpus[0]) {
		return 3;
	}
	if (thread_start(&thread, &options, step, &measuring, &err) < 0 ||
	    thread_join(&thread, in_ns(10 * SECOND)) < 0 ||
	    (count > 1 && measuring.cpu == cpus[0])) {
		return 4;
	}
	return 0;
}

static void those_that_measure_have_their_cpus_to_themselves(void **state)
{
	int cpus[1024];
	int wrong[] = { 0, 60000 };
	unsigned count = thread_cpus(cpus, 1024);
	struct error err = ERROR_INIT;
	pid_t child;
	int status;

	(void)state;
	wrong[0] = cpus[0];
	assert_int_equal(thread_keep_to(wrong, 2, &err), -EINVAL);
	assert_int_equal(err.class, ERROR_INPUT);
	assert_non_null(strstr(err.text, "CPU 60000 is not among those"));
	assert_int_equal(thread_cpus(NULL, 0), count);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		_exit(keep_to_the_first(cpus, count < 1024 ? count : 1024));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void all_but_who_measures_give_way(void **state)
{
	const struct sched_param none = { 0 };

	(void)state;
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	assert_int_equal(policy_of(false), SCHED_OTHER);
	thread_give_way();
	assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
	assert_int_equal(policy_of(false), SCHED_BATCH);
	assert_int_equal(policy_of(true), SCHED_OTHER);
	/* Somebody chose this one for the whole process. */
	thread_give_way();
	assert_int_equal(policy_of(true), SCHED_BATCH);
	assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_run_until_done),
		cmocka_unit_test(the_starter_keeps_its_own_signal_mask),
		cmocka_unit_test(a_long_name_is_cut_to_fifteen),
		cmocka_unit_test(polling_asks_the_kernel_for_nothing),
		cmocka_unit_test(a_waiting_step_is_woken),
		cmocka_unit_test(a_step_that_waits_for_a_descriptor_is_woken_by_it_and_by_others),
		cmocka_unit_test(waiting_for_a_descriptor_ends_at_its_deadline),
		cmocka_unit_test(a_wake_before_the_wait_is_not_lost),
		cmocka_unit_test(a_wait_ends_at_its_deadline),
		cmocka_unit_test(a_deadline_in_the_past_returns_at_once),
		cmocka_unit_test(a_join_that_times_out_leaves_the_thread_to_the_caller),
		cmocka_unit_test(a_detached_thread_frees_itself),
		cmocka_unit_test(a_thread_runs_where_it_is_pinned),
		cmocka_unit_test(a_thread_kept_to_several_cpus_runs_on_those_that_we_may_use),
		cmocka_unit_test(a_cpu_we_may_not_use_is_refused_with_a_sentence),
		cmocka_unit_test(the_cpus_are_counted_even_beyond_the_buffer),
		cmocka_unit_test(those_that_measure_have_their_cpus_to_themselves),
		cmocka_unit_test(all_but_who_measures_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
