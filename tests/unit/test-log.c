// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/log.h"
#include "util/text.h"

static int stderr_copy = -1;
static int file = -1;

/* Standard error goes to a file until end_capture. */
static void begin_capture(void)
{
	file = memfd_create("log", MFD_CLOEXEC);
	assert_true(file >= 0);
	stderr_copy = dup(STDERR_FILENO);
	dup2(file, STDERR_FILENO);
}

static void end_capture(char *ret_lines, size_t size)
{
	ssize_t length;

	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	length = pread(file, ret_lines, size - 1, 0);
	ret_lines[length > 0 ? length : 0] = '\0';
	close(file);
}

static int reset(void **state)
{
	unsetenv("JOURNAL_STREAM");
	log_set_name(NULL);
	log_set_level(LOG_LEVEL_INFO);
	return 0;
}

static void a_line_has_its_level_in_front(void **state)
{
	char lines[1000];

	begin_capture();
	log_error("port %d is down", 1);
	log_warning("look");
	log_info("started");
	end_capture(lines, sizeof(lines));
	assert_string_equal(lines, "error: port 1 is down\nwarning: look\ninfo: started\n");
}

static void what_is_below_the_level_is_not_written(void **state)
{
	char lines[1000];

	begin_capture();
	log_debug("unseen");
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("unseen");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("seen");
	end_capture(lines, sizeof(lines));
	assert_string_equal(lines, "debug: seen\n");
}

static void a_name_comes_first(void **state)
{
	char lines[1000];

	begin_capture();
	log_set_name("node1");
	log_info("started");
	end_capture(lines, sizeof(lines));
	assert_string_equal(lines, "node1: info: started\n");
}

static void an_argument_cannot_forge_a_line(void **state)
{
	char lines[1000];

	begin_capture();
	log_info("peer \"%s\"", "x\n<0>error: all is lost\x1b[2J");
	end_capture(lines, sizeof(lines));
	assert_string_equal(lines, "info: peer \"x\\x0a<0>error: all is lost\\x1b[2J\"\n");
}

static void the_journal_gets_priorities(void **state)
{
	struct stat status;
	char stream[64];
	char lines[1000];

	begin_capture();
	fstat(STDERR_FILENO, &status);
	snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)status.st_dev,
		 (unsigned long)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_set_name("node1");
	log_error("bad");
	log_info("good");
	end_capture(lines, sizeof(lines));
	assert_string_equal(lines, "<3>node1: bad\n<6>node1: good\n");
}

static void a_redirected_stream_is_not_the_journal(void **state)
{
	static const char *const streams[] = { "1:2", "garbage", "", "99999999999999999999:1" };
	char lines[1000];

	for (unsigned i = 0; i < 4; i++) {
		begin_capture();
		setenv("JOURNAL_STREAM", streams[i], 1);
		log_info("plain");
		end_capture(lines, sizeof(lines));
		assert_string_equal(lines, "info: plain\n");
	}
}

static void a_long_line_is_whole_and_errno_is_kept(void **state)
{
	static char lines[100000];
	static char argument[20001];

	memset(argument, '\x01', 20000);
	begin_capture();
	errno = ENOTTY;
	log_info("%s", argument);
	assert_int_equal(errno, ENOTTY);
	end_capture(lines, sizeof(lines));
	assert_int_equal(strlen(lines), 6 + 4 * 20000 + 1);
	assert_string_equal(lines + strlen(lines) - 5, "\\x01\n");
}

static void *log_many(void *arg)
{
	for (unsigned i = 0; i < 500; i++) {
		log_info("thread %s says something of some length", (const char *)arg);
	}
	return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	static char lines[200000];
	static const char *const names[] = { "a", "b", "c", "d" };
	const char *expected = "info: thread ? says something of some length\n";
	size_t length = strlen(expected);
	pthread_t threads[4];

	begin_capture();
	/* one offset for all writers, as a terminal or a pipe has */
	fcntl(STDERR_FILENO, F_SETFL, O_APPEND);
	for (unsigned i = 0; i < 4; i++) {
		pthread_create(&threads[i], NULL, log_many, (void *)(uintptr_t)names[i]);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
	}
	end_capture(lines, sizeof(lines));
	assert_int_equal(strlen(lines), 2000 * length);
	for (unsigned i = 0; i < 2000; i++) {
		assert_memory_equal(lines + i * length, expected, 13);
		assert_memory_equal(lines + i * length + 14, expected + 14, length - 14);
	}
}

static void a_reader_that_hangs_costs_lines_and_no_time(void **state)
{
	static char lines[1 << 20];
	int ends[2];
	ssize_t length;
	unsigned written = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	stderr_copy = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	alarm(20); /* the way out of a write that blocks */
	for (unsigned i = 0; i < 10000; i++) {
		log_warning("line %u of many", i);
	}
	length = read(ends[0], lines, sizeof(lines) - 1);
	log_info("somebody reads again");
	alarm(0);
	dup2(stderr_copy, STDERR_FILENO);
	close(stderr_copy);
	assert_true(length > 0);
	for (ssize_t i = 0; i < length; i++) {
		written += lines[i] == '\n';
	}
	assert_true(written > 0 && written < 10000);
	length = read(ends[0], lines, sizeof(lines) - 1);
	assert_true(length > 0);
	lines[length] = '\0';
	{
		char expected[200];

		snprintf(expected, sizeof(expected),
			 "warning: %u lines before this one are lost: nobody read the log\n"
			 "info: somebody reads again\n",
			 10000 - written);
		assert_string_equal(lines, expected);
	}
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_line_has_its_level_in_front, reset),
		cmocka_unit_test_setup(what_is_below_the_level_is_not_written, reset),
		cmocka_unit_test_setup(a_name_comes_first, reset),
		cmocka_unit_test_setup(an_argument_cannot_forge_a_line, reset),
		cmocka_unit_test_setup(the_journal_gets_priorities, reset),
		cmocka_unit_test_setup(a_redirected_stream_is_not_the_journal, reset),
		cmocka_unit_test_setup(a_long_line_is_whole_and_errno_is_kept, reset),
		cmocka_unit_test_setup(a_reader_that_hangs_costs_lines_and_no_time, reset),
		cmocka_unit_test_setup(lines_of_several_threads_do_not_mix, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
