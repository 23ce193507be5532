// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "engine/guard.h"

#define S GUARD_INTERVAL_NS

struct scene {
	struct guard guard;
	struct guard_look now;
	struct error err;
};

static void begin(struct scene *scene)
{
	*scene = (struct scene){ .now = { 7 * S, 3 * S, 0 }, .err = ERROR_INIT };
	guard_init(&scene->guard, &scene->now);
}

/* One interval, in which the thread had that much of a CPU, and memory was wanted for that long. */
static int pass(struct scene *scene, uint64_t length_ns, unsigned cpu_percent,
		unsigned memory_percent)
{
	scene->now.mono_ns += length_ns;
	scene->now.worker_cpu_ns += length_ns / 100 * cpu_percent;
	scene->now.memory_pressure_ns += length_ns / 100 * memory_percent;
	return guard_check(&scene->guard, &scene->now, &scene->err);
}

static void pass_well(struct scene *scene, unsigned count, unsigned cpu_percent,
		      unsigned memory_percent)
{
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(pass(scene, S, cpu_percent, memory_percent), 0);
	}
}

static void assert_says(const struct scene *scene, const char *words)
{
	assert_string_equal(scene->err.call, "starved");
	assert_int_equal(scene->err.class, ERROR_RESOURCE);
	assert_int_equal(scene->err.stage, STAGE_RUN);
	if (!strstr(scene->err.text, words)) {
		fail_msg("\"%s\" does not say \"%s\"", scene->err.text, words);
	}
}

static void a_thread_with_enough_goes_on(void **state)
{
	struct scene scene;

	begin(&scene);
	pass_well(&scene, 100, 100, 0);
	pass_well(&scene, 100, GUARD_LEAST_CPU_PERCENT, GUARD_MOST_MEMORY_PERCENT - 1);
}

static void five_bad_intervals_in_a_row_are_too_many_and_four_are_not(void **state)
{
	struct scene scene;

	begin(&scene);
	for (int i = 0; i < 10; i++) {
		pass_well(&scene, GUARD_LOOKS - 1, 9, 0);
		pass_well(&scene, 1, 90, 0);
	}
	pass_well(&scene, GUARD_LOOKS - 1, 9, 0);
	assert_int_equal(pass(&scene, S, 9, 0), -EBUSY);
	assert_says(&scene, "for 5.0 s the measuring thread got 9 % of a CPU, less than 25 %");
	assert_says(&scene, "cpu.max");
}

static void memory_that_is_wanted_ends_it_too(void **state)
{
	struct scene scene;

	begin(&scene);
	pass_well(&scene, GUARD_LOOKS - 1, 100, 40);
	assert_int_equal(pass(&scene, S, 100, 40), -EBUSY);
	assert_says(&scene, "for want of memory for 40 % of the time");
}

static void a_loop_that_did_not_run_is_bad_once_and_not_five_times(void **state)
{
	struct scene scene;

	begin(&scene);
	assert_int_equal(pass(&scene, 60 * S, 100, 0), 0); /* stopped, and continued */
	pass_well(&scene, 3, 100, 0);
	for (int i = 1; i < GUARD_LOOKS; i++) {
		assert_int_equal(pass(&scene, GUARD_LATE_NS, 100, 0), 0);
	}
	assert_int_equal(pass(&scene, GUARD_LATE_NS, 100, 0), -EBUSY);
	assert_says(&scene, "for 15.0 s this daemon got too little CPU to look after its run");
}

static void what_is_not_known_ends_nothing(void **state)
{
	struct scene scene;

	begin(&scene);
	scene.now.worker_cpu_ns = UINT64_MAX;
	scene.now.memory_pressure_ns = UINT64_MAX;
	guard_init(&scene.guard, &scene.now);
	for (int i = 0; i < 3 * GUARD_LOOKS; i++) {
		scene.now.mono_ns += S;
		assert_int_equal(guard_check(&scene.guard, &scene.now, &scene.err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_with_enough_goes_on),
		cmocka_unit_test(five_bad_intervals_in_a_row_are_too_many_and_four_are_not),
		cmocka_unit_test(memory_that_is_wanted_ends_it_too),
		cmocka_unit_test(a_loop_that_did_not_run_is_bad_once_and_not_five_times),
		cmocka_unit_test(what_is_not_known_ends_nothing),
	};

	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
