// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "run/doctor_child.h"

#define SECOND 1000000000ull
#define LONG (300 * SECOND)

static void tell_twice(void *arg, int fd)
{
	const char *word = arg;

	doctor_child_tell(fd, word, strlen(word));
	doctor_child_tell(fd, word, strlen(word));
}

static void tell_then_wait(void *arg, int fd)
{
	tell_twice(arg, fd);
	(void)poll(NULL, 0, -1);
}

static void tell_then_turn(void *arg, int fd)
{
	volatile bool is_forever = true;

	tell_twice(arg, fd);
	while (is_forever) {
	}
}

static void tell_then_die(void *arg, int fd)
{
	tell_twice(arg, fd);
	raise(SIGKILL);
}

static void tell_much(void *arg, int fd)
{
	static char bytes[300000];

	memset(bytes, *(const char *)arg, sizeof(bytes));
	doctor_child_tell(fd, bytes, sizeof(bytes));
}

static void what_children_tell_arrives_whole(void **state)
{
	static char answers[2][300000];
	struct doctor_child children[] = {
		{ .run = tell_much,
		  .arg = (char[]){ "a" },
		  .answer = answers[0],
		  .answer_bytes = sizeof(answers[0]) },
		{ .run = tell_much,
		  .arg = (char[]){ "b" },
		  .answer = answers[1],
		  .answer_bytes = sizeof(answers[1]) },
	};

	(void)state;
	doctor_child_run(children, 2, LONG, LONG);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(children[i].error, 0);
		assert_false(children[i].is_late);
		assert_int_equal(children[i].got_bytes, sizeof(answers[i]));
		assert_int_equal(answers[i][0], "ab"[i]);
		assert_memory_equal(answers[i], answers[i] + 1, sizeof(answers[i]) - 1);
	}
}

static void more_than_was_asked_for_is_dropped(void **state)
{
	char answer[4] = "";
	struct doctor_child child = {
		.run = tell_twice, .arg = (char[]){ "abc" }, .answer = answer, .answer_bytes = 4
	};

	(void)state;
	doctor_child_run(&child, 1, LONG, LONG);
	assert_false(child.is_late);
	assert_int_equal(child.got_bytes, 4);
	assert_memory_equal(answer, "abca", 4);
}

static void one_that_waits_for_ever_is_late_and_the_others_are_not(void **state)
{
	char answers[2][8] = { "", "" };
	struct doctor_child children[] = {
		{ .run = tell_then_wait,
		  .arg = (char[]){ "abc" },
		  .answer = answers[0],
		  .answer_bytes = 8 },
		{ .run = tell_twice,
		  .arg = (char[]){ "wxyz" },
		  .answer = answers[1],
		  .answer_bytes = 8 },
	};

	(void)state;
	/* Far less than the limit, which a child that waits must not use up. */
	doctor_child_run(children, 2, 5 * SECOND, LONG);
	assert_true(children[0].is_late);
	assert_int_equal(children[0].got_bytes, 6);
	assert_memory_equal(answers[0], "abcabc", 6);
	assert_false(children[1].is_late);
	assert_memory_equal(answers[1], "wxyzwxyz", 8);
}

static void one_that_gets_on_has_until_the_limit(void **state)
{
	char answer[8] = "";
	struct doctor_child child = {
		.run = tell_then_turn, .arg = (char[]){ "abc" }, .answer = answer, .answer_bytes = 8
	};

	(void)state;
	doctor_child_run(&child, 1, SECOND / 10, 5 * SECOND);
	assert_true(child.is_late);
	assert_int_equal(child.got_bytes, 6);
}

static void one_that_dies_has_told_what_it_told(void **state)
{
	char answer[8] = "";
	struct doctor_child child = {
		.run = tell_then_die, .arg = (char[]){ "abc" }, .answer = answer, .answer_bytes = 8
	};

	(void)state;
	doctor_child_run(&child, 1, LONG, LONG);
	assert_false(child.is_late);
	assert_int_equal(child.got_bytes, 6);
}

static void no_children_take_no_time(void **state)
{
	(void)state;
	doctor_child_run(NULL, 0, LONG, LONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_children_tell_arrives_whole),
		cmocka_unit_test(more_than_was_asked_for_is_dropped),
		cmocka_unit_test(one_that_waits_for_ever_is_late_and_the_others_are_not),
		cmocka_unit_test(one_that_gets_on_has_until_the_limit),
		cmocka_unit_test(one_that_dies_has_told_what_it_told),
		cmocka_unit_test(no_children_take_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
