// SPDX-License-Identifier: MIT

/* When nodes begin runs by themselves, under virtual time. */

#include "run/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fake/world.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define NODES 16
#define STARTS 64
/* A timer may come so much late: its accuracy, and the turn of the loop. */
#define LATE_NS (2 * MS_NS)

struct start {
	uint64_t mono_ns;
	enum run_trigger trigger;
};

struct member {
	struct node *node;
	char name[LIMIT_NAME];
	struct schedule_table *table;
	bool is_busy; /* takes no run */
	size_t refused;
	size_t count;
	struct start starts[STARTS];
};

struct scene {
	struct world *world;
	struct config config;
	struct scenario *scenario;
	size_t count;
	struct member members[NODES];
	uint64_t begun_mono_ns;
};

static bool on_due(void *arg, const struct scenario *scenario, enum run_trigger trigger)
{
	struct member *member = arg;

	if (member->is_busy) {
		member->refused++;
		return false;
	}
	assert_true(member->count < STARTS);
	member->starts[member->count++] = (struct start){ clock_mono_ns(), trigger };
	return true;
}

static const struct schedule_events events = { .due = on_due };

static void member_begin(struct scene *scene, struct member *member)
{
	world_enter(member->node);
	member->table = schedule_new(world_event(member->node), member->name, &events, member);
	schedule_configure(member->table, &scene->config);
	schedule_begin(member->table);
	world_enter(NULL);
}

/* All nodes start at once, as after a power cut. */
static struct scene *scene_new(size_t count, const struct schedule *schedule)
{
	struct scene *scene = memory_new(sizeof(*scene));

	scene->world = world_new(3);
	scene->count = count;
	scene->scenario = memory_new(sizeof(*scene->scenario));
	schema_defaults(scenario_fields, scene->scenario);
	text_copy(scene->scenario->name, sizeof(scene->scenario->name), "beat");
	scene->scenario->schedule = *schedule;
	scene->config.scenario_count = 1;
	scene->config.scenarios = &scene->scenario;
	for (size_t i = 0; i < count; i++) {
		struct member *member = &scene->members[i];
		char address[32];

		snprintf(member->name, sizeof(member->name), "node%02zu", i + 1);
		snprintf(address, sizeof(address), "10.0.0.%zu", i + 1);
		member->node =
			world_add_node(scene->world, &(struct node_options){ .name = member->name,
									     .address = address });
	}
	world_enter(scene->members[0].node);
	scene->begun_mono_ns = clock_mono_ns();
	world_enter(NULL);
	for (size_t i = 0; i < count; i++) {
		member_begin(scene, &scene->members[i]);
	}
	return scene;
}

static void scene_free(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++) {
		world_enter(scene->members[i].node);
		schedule_free(scene->members[i].table);
		world_enter(NULL);
	}
	world_free(scene->world);
	free(scene->scenario);
	free(scene);
}

static uint64_t since_begin_ns(const struct scene *scene, const struct member *member, size_t index)
{
	assert_true(index < member->count);
	return member->starts[index].mono_ns - scene->begun_mono_ns;
}

/* From the one of that index on. */
static void expect_gaps(const struct member *member, size_t first, uint64_t every_ns)
{
	for (size_t i = first + 1; i < member->count; i++) {
		uint64_t gap_ns = member->starts[i].mono_ns - member->starts[i - 1].mono_ns;

		assert_in_range(gap_ns, every_ns - LATE_NS, every_ns + LATE_NS);
		assert_int_equal(member->starts[i].trigger, TRIGGER_SCHEDULE);
	}
}

static void jitter_is_a_place_of_each_node_and_the_period_stays_exact(void **state)
{
	struct scene *scene = scene_new(NODES, &(struct schedule){ .on = SCHEDULE_STARTUP,
								   .every_ns = 10 * SECOND_NS,
								   .jitter_ns = 9 * SECOND_NS });
	uint64_t least_ns = UINT64_MAX;
	uint64_t most_ns = 0;

	(void)state;
	world_run(scene->world, 300 * SECOND_NS);
	for (size_t i = 0; i < NODES; i++) {
		const struct member *member = &scene->members[i];
		uint64_t second_ns = since_begin_ns(scene, member, 1);

		assert_in_range(member->count, 29, 30);
		assert_int_equal(member->starts[0].trigger, TRIGGER_STARTUP);
		assert_in_range(since_begin_ns(scene, member, 0), 0, LATE_NS);
		assert_in_range(second_ns, 10 * SECOND_NS, 19 * SECOND_NS + LATE_NS);
		expect_gaps(member, 1, 10 * SECOND_NS);
		least_ns = second_ns < least_ns ? second_ns : least_ns;
		most_ns = second_ns > most_ns ? second_ns : most_ns;
		for (size_t j = 0; j < i; j++) {
			uint64_t other_ns = since_begin_ns(scene, &scene->members[j], 1);

			assert_true(second_ns > other_ns + LATE_NS ||
				    second_ns + LATE_NS < other_ns);
		}
	}
	/* Sixteen places use more than half of it. */
	assert_true(most_ns - least_ns > 9 * SECOND_NS / 2);
	scene_free(scene);
}

static void without_jitter_what_began_at_startup_goes_on_by_its_period(void **state)
{
	struct scene *scene = scene_new(2, &(struct schedule){ .on = SCHEDULE_STARTUP,
							       .every_ns = 10 * SECOND_NS,
							       .start_delay_ns = 3 * SECOND_NS });

	(void)state;
	world_run(scene->world, 100 * SECOND_NS);
	for (size_t i = 0; i < 2; i++) {
		assert_in_range(since_begin_ns(scene, &scene->members[i], 0), 3 * SECOND_NS,
				3 * SECOND_NS + LATE_NS);
		assert_int_equal(scene->members[i].count, 10);
		expect_gaps(&scene->members[i], 0, 10 * SECOND_NS);
	}
	scene_free(scene);
}

static void by_time_alone_the_first_start_lies_anywhere_in_the_first_period(void **state)
{
	struct scene *scene = scene_new(NODES, &(struct schedule){ .every_ns = 10 * SECOND_NS,
								   .jitter_ns = SECOND_NS });
	uint64_t least_ns = UINT64_MAX;
	uint64_t most_ns = 0;

	(void)state;
	world_run(scene->world, 100 * SECOND_NS);
	for (size_t i = 0; i < NODES; i++) {
		uint64_t first_ns = since_begin_ns(scene, &scene->members[i], 0);

		assert_in_range(first_ns, 0, 11 * SECOND_NS + LATE_NS);
		expect_gaps(&scene->members[i], 0, 10 * SECOND_NS);
		least_ns = first_ns < least_ns ? first_ns : least_ns;
		most_ns = first_ns > most_ns ? first_ns : most_ns;
	}
	assert_true(most_ns - least_ns > 5 * SECOND_NS);
	scene_free(scene);
}

static void a_reload_that_leaves_the_schedule_keeps_the_phase(void **state)
{
	struct scene *scene = scene_new(1, &(struct schedule){ .every_ns = 10 * SECOND_NS,
							       .jitter_ns = 5 * SECOND_NS });
	struct member *member = &scene->members[0];

	(void)state;
	world_run(scene->world, 33 * SECOND_NS);
	text_copy(scene->scenario->description, sizeof(scene->scenario->description), "another");
	world_enter(member->node);
	schedule_configure(member->table, &scene->config);
	world_enter(NULL);
	world_run(scene->world, 60 * SECOND_NS);
	assert_in_range(member->count, 8, 10);
	expect_gaps(member, 0, 10 * SECOND_NS);
	scene_free(scene);
}

static void a_turn_that_is_not_taken_is_missed_and_the_next_comes_in_its_time(void **state)
{
	struct scene *scene = scene_new(1, &(struct schedule){ .on = SCHEDULE_STARTUP,
							       .every_ns = 10 * SECOND_NS });
	struct member *member = &scene->members[0];
	uint64_t missed;

	(void)state;
	world_run(scene->world, 15 * SECOND_NS);
	member->is_busy = true;
	world_run(scene->world, 20 * SECOND_NS);
	member->is_busy = false;
	/* Stopped, and continued: what it slept through is not made up for. */
	world_freeze(member->node, true);
	world_run(scene->world, 31 * SECOND_NS);
	world_freeze(member->node, false);
	world_run(scene->world, SECOND_NS);
	assert_int_equal(member->count, 3); /* at 0, 10 and 66 s; not at 20, 30, 50 and 60 s */
	world_enter(member->node);
	assert_in_range(schedule_next_ns(member->table, "beat", &missed), 2 * SECOND_NS,
			4 * SECOND_NS);
	world_enter(NULL);
	assert_int_equal(missed, 4);
	world_run(scene->world, 10 * SECOND_NS);
	assert_int_equal(member->count, 4);
	assert_in_range(since_begin_ns(scene, member, 3), 70 * SECOND_NS, 70 * SECOND_NS + LATE_NS);
	scene_free(scene);
}

static void a_run_at_startup_that_finds_no_place_is_begun_later(void **state)
{
	struct scene *scene = scene_new(1, &(struct schedule){ .on = SCHEDULE_STARTUP });
	struct member *member = &scene->members[0];

	(void)state;
	member->is_busy = true;
	world_run(scene->world, 12 * SECOND_NS);
	assert_in_range(member->refused, 2, 3);
	member->is_busy = false;
	world_run(scene->world, 100 * SECOND_NS);
	assert_int_equal(member->count, 1);
	assert_int_equal(member->starts[0].trigger, TRIGGER_STARTUP);
	assert_in_range(since_begin_ns(scene, member, 0), 12 * SECOND_NS, 16 * SECOND_NS);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jitter_is_a_place_of_each_node_and_the_period_stays_exact),
		cmocka_unit_test(without_jitter_what_began_at_startup_goes_on_by_its_period),
		cmocka_unit_test(by_time_alone_the_first_start_lies_anywhere_in_the_first_period),
		cmocka_unit_test(a_reload_that_leaves_the_schedule_keeps_the_phase),
		cmocka_unit_test(a_turn_that_is_not_taken_is_missed_and_the_next_comes_in_its_time),
		cmocka_unit_test(a_run_at_startup_that_finds_no_place_is_begun_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
