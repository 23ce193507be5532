// SPDX-License-Identifier: MIT
#include "reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/clock.h"

#define SECOND_NS 1000000000ull

struct world {
	char path[64];
	sd_event *event;
	struct reload *reload;
	unsigned done_count;
	struct config *config; /* of the last one */
	char problems[512]; /* its errors */
	char warnings[512];
	bool has_key;
};

static void write_file(struct world *world, const char *node_name)
{
	FILE *file = fopen(world->path, "we");

	assert_non_null(file);
	fprintf(file, "version: 1\ndaemon: { node_name: %s }\n", node_name);
	assert_int_equal(fclose(file), 0);
}

static void write_file_with_key(struct world *world, const char *key)
{
	FILE *file = fopen(world->path, "we");

	assert_non_null(file);
	fprintf(file, "version: 1\ndaemon: { node_name: one, key_file: %s }\n", key);
	assert_int_equal(fclose(file), 0);
}

static void on_done(void *arg, const struct reload_result *result)
{
	struct world *world = arg;

	world->done_count++;
	config_unref(world->config);
	world->config = result->config;
	snprintf(world->problems, sizeof(world->problems), "%s", result->errors);
	snprintf(world->warnings, sizeof(world->warnings), "%s", result->warnings);
	world->has_key = result->key != NULL;
}

static void world_init(struct world *world)
{
	int fd;

	*world = (struct world){ .path = "/tmp/test-reload-XXXXXX.yaml" };
	fd = mkstemps(world->path, 5);
	assert_true(fd >= 0);
	close(fd);
	assert_true(sd_event_new(&world->event) >= 0);
	assert_int_equal(reload_new(&world->reload, world->event, "host", on_done, world, NULL), 0);
}

static void world_done(struct world *world)
{
	reload_free(world->reload, clock_mono_ns() + SECOND_NS);
	config_unref(world->config);
	sd_event_unref(world->event);
	unlink(world->path);
}

/* Turns the loop until something was told, and a little longer. */
static void turn(struct world *world)
{
	uint64_t until_mono_ns = clock_mono_ns() + 20 * SECOND_NS;

	while (world->done_count == 0 && clock_mono_ns() < until_mono_ns) {
		sd_event_run(world->event, 10000);
	}
	sd_event_run(world->event, 100000);
}

/* The thread reads while this one, the loop's, does nothing. */
static void let_it_read(void)
{
	struct timespec pause = { .tv_nsec = 300000000 };

	nanosleep(&pause, NULL);
}

static void what_was_read_is_told_once(void **state)
{
	struct world world;

	world_init(&world);
	write_file(&world, "one");
	assert_true(reload_start(world.reload, world.path));
	assert_true(reload_is_busy(world.reload));
	turn(&world);
	assert_int_equal(world.done_count, 1);
	assert_false(reload_is_busy(world.reload));
	assert_non_null(world.config);
	assert_string_equal(world.config->daemon.node_name, "one");
	assert_string_equal(world.problems, "");
	world_done(&world);
}

static void a_change_behind_a_reading_that_goes_on_is_not_lost(void **state)
{
	struct world world;

	world_init(&world);
	write_file(&world, "one");
	assert_true(reload_start(world.reload, world.path));
	let_it_read();
	write_file(&world, "two");
	assert_false(reload_start(world.reload, world.path));
	turn(&world);
	assert_int_equal(world.done_count, 1);
	assert_non_null(world.config);
	assert_string_equal(world.config->daemon.node_name, "two");
	world_done(&world);
}

static void errors_are_told_and_give_no_configuration(void **state)
{
	struct world world;

	world_init(&world);
	write_file(&world, "[");
	assert_true(reload_start(world.reload, world.path));
	turn(&world);
	assert_int_equal(world.done_count, 1);
	assert_null(world.config);
	assert_non_null(strstr(world.problems, world.path));
	world_done(&world);
}

static void the_key_is_looked_at_as_at_the_start(void **state)
{
	char key[] = "/tmp/test-reload-key-XXXXXX";
	struct world world;
	int fd;

	world_init(&world);
	fd = mkstemp(key);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "short", 5), 5);
	write_file_with_key(&world, key);
	assert_true(reload_start(world.reload, world.path));
	turn(&world);
	assert_null(world.config);
	assert_non_null(strstr(world.problems, "error: daemon.key_file: "));
	assert_non_null(strstr(world.problems, key));
	assert_string_equal(world.warnings, "");
	for (int i = 0; i < 64; i++) {
		assert_int_equal(pwrite(fd, &"0123456789abcdef"[i % 16], 1, i), 1);
	}
	close(fd);
	world.done_count = 0;
	assert_true(reload_start(world.reload, world.path));
	turn(&world);
	assert_non_null(world.config);
	assert_true(world.has_key);
	unlink(key);
	world_done(&world);
}

static void warnings_are_told_apart_from_errors(void **state)
{
	struct world world;
	FILE *file;

	world_init(&world);
	file = fopen(world.path, "we");
	fputs("version: 1\ndaemon: { node_name: one, port: 1 }\nscenarios:\n  - name: s\n"
	      "    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	      "    run: { iterations: 500 }\n",
	      file);
	fclose(file);
	assert_true(reload_start(world.reload, world.path));
	turn(&world);
	assert_null(world.config);
	assert_non_null(strstr(world.problems, ": error: "));
	assert_null(strstr(world.problems, ": warning: "));
	assert_non_null(strstr(world.warnings, ": warning: "));
	assert_null(strstr(world.warnings, ": error: "));
	world_done(&world);
}

static void one_that_goes_on_is_waited_for_at_the_end(void **state)
{
	struct world world;

	world_init(&world);
	write_file(&world, "one");
	assert_true(reload_start(world.reload, world.path));
	world_done(&world);
	assert_int_equal(world.done_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_read_is_told_once),
		cmocka_unit_test(a_change_behind_a_reading_that_goes_on_is_not_lost),
		cmocka_unit_test(errors_are_told_and_give_no_configuration),
		cmocka_unit_test(the_key_is_looked_at_as_at_the_start),
		cmocka_unit_test(warnings_are_told_apart_from_errors),
		cmocka_unit_test(one_that_goes_on_is_waited_for_at_the_end),
	};

	clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
