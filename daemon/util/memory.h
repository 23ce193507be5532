// SPDX-License-Identifier: MIT
#pragma once

/*
 * Allocation and cleanup. Small control allocations are fatal when memory is out (abort with a line
 * on stderr); sizes that a person or a peer chooses go through memory_try, which reports. Any
 * thread.
 */

#include <stddef.h>
#include <stdlib.h>

/* Zeroed; never NULL. */
void *memory_new(size_t size_bytes);
/* Zeroed array; never NULL; overflow is fatal. */
void *memory_new_array(size_t count, size_t size_bytes);
/* Grows to `count` items; new items are not zeroed; never NULL. */
void *memory_resize(void *old, size_t count, size_t size_bytes);
/* Zeroed or NULL; for user-sized memory. */
void *memory_try(size_t count, size_t size_bytes);
char *memory_copy_string(const char *text);

static inline void memory_free_pointer(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

/* Local variables that clean themselves: `_cleanup_free_ char *s = ...;` */
#define _cleanup_(function) __attribute__((cleanup(function)))
#define _cleanup_free_ _cleanup_(memory_free_pointer)

/*
 * Defines function ##_pointer for _cleanup_: MEMORY_CLEANUP(struct plan, plan_free) ->
 * _cleanup_(plan_free_pointer).
 */
#define MEMORY_CLEANUP(type, function)                        \
	static inline void function##_pointer(type **pointer) \
	{                                                     \
		function(*pointer);                           \
	}

/* Moves ownership out of a variable: returns it and leaves NULL behind. */
#define take(pointer)                               \
	({                                          \
		typeof(pointer) _taken = (pointer); \
		(pointer) = NULL;                   \
		_taken;                             \
	})

void memory_close_fd(int *fd);
/* A local descriptor, -1 when none. */
#define _cleanup_close_ _cleanup_(memory_close_fd)

/* The same for a descriptor: returns it and leaves -1 behind. */
#define take_fd(fd)                   \
	({                            \
		int _taken_fd = (fd); \
		(fd) = -1;            \
		_taken_fd;            \
	})
