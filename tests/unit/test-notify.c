// SPDX-License-Identifier: MIT

/* What systemd is told, by a socket in its place, under virtual time. */

#include "notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake/world.h"
#include "status_line.h"
#include "unit/log-capture.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define WATCHDOG_NS (30 * SECOND_NS)
#define MESSAGE_SIZE 1024

struct scene {
	char directory[32];
	char path[64];
	int socket;
	struct world *world;
	struct node *node;
	struct parts parts;
	struct notify *notify;
	char message[MESSAGE_SIZE]; /* the last that was received */
};

/* Stands in for daemon/status_line.c: the line is not the matter here. */
static const char *line_now = "one";

void status_line_write(const struct parts *parts, char *ret, size_t size)
{
	text_copy(ret, size, line_now);
}

static int set_up(void **state)
{
	struct scene *scene = memory_new(sizeof(*scene));
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	text_copy(scene->directory, sizeof(scene->directory), "/tmp/test-notify-XXXXXX");
	assert_non_null(mkdtemp(scene->directory));
	snprintf(scene->path, sizeof(scene->path), "%s/notify", scene->directory);
	text_copy(address.sun_path, sizeof(address.sun_path), scene->path);
	scene->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(scene->socket >= 0);
	assert_int_equal(bind(scene->socket, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", scene->path, 1);
	line_now = "one";
	scene->world = world_new(5);
	scene->node = world_add_node(scene->world, &(struct node_options){ .name = "node1",
									   .address = "10.0.0.1" });
	scene->parts.event = world_event(scene->node);
	scene->parts.is_progressing = true;
	*state = scene;
	return 0;
}

static void begin(struct scene *scene, const char *watchdog_usec)
{
	if (watchdog_usec) {
		setenv("WATCHDOG_USEC", watchdog_usec, 1);
	} else {
		unsetenv("WATCHDOG_USEC");
	}
	world_enter(scene->node);
	scene->notify = notify_new(&scene->parts);
	world_enter(NULL);
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	world_enter(scene->node);
	notify_free(scene->notify);
	world_enter(NULL);
	world_free(scene->world);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	close(scene->socket);
	unlink(scene->path);
	rmdir(scene->directory);
	free(scene);
	return 0;
}

static bool receive(struct scene *scene)
{
	ssize_t length = recv(scene->socket, scene->message, sizeof(scene->message) - 1, 0);

	scene->message[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* The next message, whole. */
static void expect(struct scene *scene, const char *message)
{
	if (!receive(scene)) {
		fail_msg("nothing was told; expected: %s", message);
	}
	assert_string_equal(scene->message, message);
}

static void expect_silence(struct scene *scene)
{
	if (receive(scene)) {
		fail_msg("told: %s", scene->message);
	}
}

/* How often the watchdog was fed in so many seconds. A socket holds few messages: it is read often.
 */
static size_t count_fed(struct scene *scene, uint64_t seconds)
{
	size_t count = 0;

	for (uint64_t i = 0; i < seconds; i++) {
		world_run(scene->world, SECOND_NS);
		while (receive(scene)) {
			count += strcmp(scene->message, "WATCHDOG=1") == 0;
		}
	}
	return count;
}

static void ready_and_stopping_carry_the_status(void **state)
{
	struct scene *scene = *state;

	begin(scene, NULL);
	expect_silence(scene);
	world_enter(scene->node);
	notify_ready(scene->notify);
	world_enter(NULL);
	expect(scene, "READY=1\nSTATUS=one");
	world_enter(scene->node);
	notify_stopping(scene->notify, "SIGTERM");
	world_enter(NULL);
	expect(scene, "STOPPING=1\nSTATUS=stopping: SIGTERM");
	/* That is the last word. */
	line_now = "two";
	world_run(scene->world, 10 * SECOND_NS);
	expect_silence(scene);
}

static void a_status_is_told_when_it_changed_and_once_a_second_at_most(void **state)
{
	struct scene *scene = *state;

	begin(scene, NULL);
	world_enter(scene->node);
	notify_ready(scene->notify);
	world_enter(NULL);
	expect(scene, "READY=1\nSTATUS=one");
	world_run(scene->world, 10 * SECOND_NS);
	expect_silence(scene);
	line_now = "two";
	world_run(scene->world, 1100 * MS_NS);
	expect(scene, "STATUS=two");
	line_now = "three";
	world_run(scene->world, 10 * MS_NS);
	line_now = "four";
	world_run(scene->world, 1100 * MS_NS);
	expect(scene, "STATUS=four");
	world_run(scene->world, 10 * SECOND_NS);
	expect_silence(scene);
}

/* Type=notify-reload needs the moment, and READY=1 behind it. */
static void a_reload_is_told_with_its_moment_and_its_end(void **state)
{
	struct scene *scene = *state;
	char wanted[128];

	begin(scene, NULL);
	world_run(scene->world, 1234 * MS_NS);
	while (receive(scene)) {
	}
	world_enter(scene->node);
	snprintf(wanted, sizeof(wanted),
		 "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reading the configuration again",
		 (unsigned long long)(clock_mono_ns() / 1000));
	notify_reloading(scene->notify);
	world_enter(NULL);
	expect(scene, wanted);
	world_enter(scene->node);
	notify_ready(scene->notify);
	world_enter(NULL);
	expect(scene, "READY=1\nSTATUS=one");
}

static void the_watchdog_is_fed_at_half_its_period(void **state)
{
	struct scene *scene = *state;

	begin(scene, "30000000");
	assert_int_equal(count_fed(scene, 14), 0);
	assert_int_equal(count_fed(scene, 2), 1);
	assert_int_equal(count_fed(scene, 300), 20);
}

static void without_a_watchdog_nothing_is_fed(void **state)
{
	struct scene *scene = *state;

	begin(scene, NULL);
	assert_int_equal(count_fed(scene, 300), 0);
}

static void the_watchdog_is_not_fed_while_a_worker_stands_still(void **state)
{
	struct scene *scene = *state;
	struct log_capture capture;

	begin(scene, "30000000");
	assert_int_equal(count_fed(scene, 20), 1);
	scene->parts.is_progressing = false;
	log_capture_begin(&capture);
	assert_int_equal(count_fed(scene, 100), 0);
	/* It is told once, not at each look. */
	assert_int_equal(log_capture_end(&capture), 1);
	assert_non_null(strstr(capture.lines, "a measuring worker makes no steps"));
	scene->parts.is_progressing = true;
	assert_int_equal(count_fed(scene, 2), 1);
	assert_int_equal(count_fed(scene, 300), 20);
}

/*
 * A process that was stopped for a moment finds its workers standing still in one look, of two
 * seconds: it was fed half a period ago, and must be again before the whole is over. Wherever the
 * look lies.
 */
static void one_false_look_ends_no_daemon_that_is_well(void **state)
{
	struct scene *scene = *state;
	uint64_t fed_mono_ns = 0;
	struct log_capture capture;

	log_capture_begin(&capture);
	begin(scene, "30000000");
	for (unsigned ms = 0; ms < 200000; ms += 250) {
		uint64_t now_mono_ns;

		scene->parts.is_progressing = ms % 17250 >= 2000;
		world_run(scene->world, 250 * MS_NS);
		world_enter(scene->node);
		now_mono_ns = clock_mono_ns();
		world_enter(NULL);
		fed_mono_ns = fed_mono_ns ? fed_mono_ns : now_mono_ns;
		while (receive(scene)) {
			fed_mono_ns = strcmp(scene->message, "WATCHDOG=1") == 0 ? now_mono_ns
										: fed_mono_ns;
		}
		if (now_mono_ns - fed_mono_ns > 2 * WATCHDOG_NS / 3) {
			log_capture_end(&capture);
			fail_msg("not fed for %llu ms",
				 (unsigned long long)((now_mono_ns - fed_mono_ns) / MS_NS));
		}
	}
	log_capture_end(&capture);
}

/* Of a short period the next look comes sooner still. */
static void a_short_period_is_looked_at_more_often(void **state)
{
	struct scene *scene = *state;
	struct log_capture capture;

	begin(scene, "4000000");
	world_run(scene->world, 1900 * MS_NS);
	scene->parts.is_progressing = false;
	log_capture_begin(&capture);
	assert_int_equal(count_fed(scene, 1), 0);
	log_capture_end(&capture);
	scene->parts.is_progressing = true;
	/* 2.9 s: fed by 3.5 s, in time. */
	world_run(scene->world, 600 * MS_NS);
	expect(scene, "WATCHDOG=1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ready_and_stopping_carry_the_status),
		TEST(a_status_is_told_when_it_changed_and_once_a_second_at_most),
		TEST(a_reload_is_told_with_its_moment_and_its_end),
		TEST(the_watchdog_is_fed_at_half_its_period),
		TEST(without_a_watchdog_nothing_is_fed),
		TEST(the_watchdog_is_not_fed_while_a_worker_stands_still),
		TEST(one_false_look_ends_no_daemon_that_is_well),
		TEST(a_short_period_is_looked_at_more_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
