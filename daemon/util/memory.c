// SPDX-License-Identifier: MIT
#include "util/memory.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* No formatting and no allocation here: memory is out. */
static void memory_fatal(void) __attribute__((noreturn));
static void memory_fatal(void)
{
	static const char line[] = "fatal: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)ignored;
	abort();
}

void *memory_new(size_t size_bytes)
{
	return memory_new_array(1, size_bytes);
}

void *memory_new_array(size_t count, size_t size_bytes)
{
	void *memory = memory_try(count, size_bytes);

	if (!memory) {
		memory_fatal();
	}
	return memory;
}

void *memory_resize(void *old, size_t count, size_t size_bytes)
{
	size_t total_bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size_bytes, &total_bytes) || total_bytes > PTRDIFF_MAX) {
		memory_fatal();
	}
	/* realloc(old, 0) would free: there is always something to own. */
	memory = realloc(old, total_bytes ? total_bytes : 1);
	if (!memory) {
		memory_fatal();
	}
	return memory;
}

void *memory_try(size_t count, size_t size_bytes)
{
	size_t total_bytes;

	if (__builtin_mul_overflow(count, size_bytes, &total_bytes) || total_bytes > PTRDIFF_MAX) {
		return NULL;
	}
	return calloc(1, total_bytes ? total_bytes : 1);
}

char *memory_copy_string(const char *text)
{
	size_t size_bytes = strlen(text) + 1;
	char *copy = memory_new(size_bytes);

	memcpy(copy, text, size_bytes);
	return copy;
}

void memory_close_fd(int *fd)
{
	if (*fd >= 0) {
		close(*fd);
		*fd = -1;
	}
}
