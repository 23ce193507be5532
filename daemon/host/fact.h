// SPDX-License-Identifier: MIT
#pragma once

/*
 * Small reads of /proc and /sys, in bounded bytes. Paths are printf formats that begin with the
 * root path ("" in production, a directory in tests). Errors are -errno, so that who asks can tell
 * what is absent from what is refused. Blocks no longer than a file read. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/memory.h"
#include "util/text.h"

#define FACT_NAME 64 /* bytes of a device's, interface's or program's name with its NUL */

/* The first line without its newline, cut to size; "" on errors. */
int fact_line(char *ret, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A decimal or (0x) hexadecimal number that is the whole first line; else -EINVAL. */
int fact_integer(int64_t *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the whole file, 8 MiB at most (-EFBIG). */
int fact_text(struct text *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The last component of where a symbolic link points; "" on errors. */
int fact_link(char *ret, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* 0 when there is such a file or directory. */
int fact_exists(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names in a directory without those that begin with a dot, rxe2 before rxe10. */
struct fact_names {
	size_t count; /* 65536 at most */
	bool is_cut; /* there are more */
	char (*names)[FACT_NAME];
};
int fact_names(struct fact_names *ret, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void fact_names_done(struct fact_names *names);
#define _cleanup_fact_names_ _cleanup_(fact_names_done)

/* Whether a name from outside can be a part of a path: one component, no way out. */
bool fact_is_component(const char *name);

/* The line of a text that begins with `key`: what is behind the key and blanks. NULL when none. */
const char *fact_find(const char *text, const char *key);
