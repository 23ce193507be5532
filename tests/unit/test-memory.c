// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/memory.h"

static unsigned freed;

static void count_free(int *thing)
{
	freed += thing != NULL;
}
MEMORY_CLEANUP(int, count_free)

static void memory_is_zeroed(void **state)
{
	_cleanup_free_ unsigned char *bytes = memory_new_array(100, 3);

	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(bytes[i], 0);
	}
}

static void nothing_is_still_something_to_free(void **state)
{
	_cleanup_free_ void *none = memory_new(0);
	_cleanup_free_ void *empty = memory_new_array(0, 8);
	_cleanup_free_ void *tried = memory_try(0, 0);
	_cleanup_free_ void *resized = memory_resize(NULL, 0, 8);

	assert_non_null(none);
	assert_non_null(empty);
	assert_non_null(tried);
	assert_non_null(resized);
}

static void resize_keeps_the_content(void **state)
{
	_cleanup_free_ int *numbers = memory_resize(NULL, 2, sizeof(int));

	numbers[0] = 7;
	numbers[1] = 8;
	numbers = memory_resize(numbers, 1000, sizeof(int));
	numbers[999] = 9;
	assert_int_equal(numbers[0], 7);
	assert_int_equal(numbers[1], 8);
}

static void an_impossible_size_is_refused_where_a_user_chose_it(void **state)
{
	assert_null(memory_try(SIZE_MAX, 2));
	assert_null(memory_try(SIZE_MAX / 2, 3));
	assert_null(memory_try(1, SIZE_MAX));
	assert_null(memory_try((size_t)PTRDIFF_MAX + 1, 1));
}

/* How a child ends that calls `action`; its last words go to `ret_words`. */
static int status_of_child(void (*action)(void), char *ret_words, size_t size)
{
	const struct rlimit no_core = { 0, 0 };
	ssize_t length;
	int status;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		sigaction(SIGABRT, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		action();
		_exit(0);
	}
	close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	length = read(ends[0], ret_words, size - 1);
	ret_words[length > 0 ? length : 0] = '\0';
	close(ends[0]);
	return status;
}

static void overflow_array(void)
{
	memory_new_array(SIZE_MAX / 2, 4);
}

static void overflow_resize(void)
{
	memory_resize(NULL, SIZE_MAX / 2, 4);
}

static void an_impossible_control_allocation_is_fatal_with_a_line(void **state)
{
	char words[256];
	int status = status_of_child(overflow_array, words, sizeof(words));

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	assert_string_equal(words, "fatal: out of memory\n");
	status = status_of_child(overflow_resize, words, sizeof(words));
	assert_true(WIFSIGNALED(status));
	assert_string_equal(words, "fatal: out of memory\n");
}

static void a_copied_string_is_a_copy(void **state)
{
	char original[] = "rxe0";
	_cleanup_free_ char *copy = memory_copy_string(original);
	_cleanup_free_ char *empty = memory_copy_string("");

	original[0] = 'X';
	assert_string_equal(copy, "rxe0");
	assert_string_equal(empty, "");
}

static int *give_away(int *thing)
{
	_cleanup_(count_free_pointer) int *held = thing;

	return take(held);
}

static void what_is_taken_is_not_cleaned(void **state)
{
	int thing = 1;

	freed = 0;
	assert_ptr_equal(give_away(&thing), &thing);
	assert_int_equal(freed, 0);
	{
		_cleanup_(count_free_pointer) int *held = &thing;

		assert_ptr_equal(held, &thing);
	}
	assert_int_equal(freed, 1);
}

static void a_local_descriptor_closes_itself(void **state)
{
	int number;
	int taken;

	{
		_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		_cleanup_close_ int none = -1;
		_cleanup_close_ int given = open("/dev/null", O_RDONLY | O_CLOEXEC);

		number = fd;
		taken = take_fd(given);
		assert_int_equal(given, -1);
		assert_true(fcntl(number, F_GETFD) >= 0);
		assert_int_equal(none, -1);
	}
	assert_int_equal(fcntl(number, F_GETFD), -1);
	assert_true(fcntl(taken, F_GETFD) >= 0);
	memory_close_fd(&taken);
	assert_int_equal(taken, -1);
	memory_close_fd(&taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(nothing_is_still_something_to_free),
		cmocka_unit_test(resize_keeps_the_content),
		cmocka_unit_test(an_impossible_size_is_refused_where_a_user_chose_it),
		cmocka_unit_test(an_impossible_control_allocation_is_fatal_with_a_line),
		cmocka_unit_test(a_copied_string_is_a_copy),
		cmocka_unit_test(what_is_taken_is_not_cleaned),
		cmocka_unit_test(a_local_descriptor_closes_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
