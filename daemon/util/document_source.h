// SPDX-License-Identifier: MIT
#pragma once

/*
 * The bytes of a configuration file with their lines, for document.c alone: what libyaml does not
 * check or cannot place. Lines and columns count from 0 here, columns in characters, as libyaml's
 * marks do.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/document.h"

struct document_source {
	const char *path; /* borrowed, as are the bytes */
	const char *bytes;
	size_t count;
	size_t *lines; /* offset of the first byte of each line */
	size_t line_count;
};

void document_source_init(struct document_source *source, const char *path, const char *bytes,
			  size_t count);
void document_source_done(struct document_source *source);

/* The place of a byte. */
void document_source_place(const struct document_source *source, size_t offset, size_t *ret_line,
			   size_t *ret_column);
/* The byte at a place; `count` when there is none. */
size_t document_source_offset(const struct document_source *source, size_t line, size_t column);
/* Whether the place is the first of its line and a tab stands before it. */
bool document_source_is_tab_indented(const struct document_source *source, size_t line,
				     size_t column);
/* UTF-8 without control characters; else the first offence is added to the problems. */
bool document_source_check(const struct document_source *source, struct problems *problems);

/*
 * A regular file up to `size` bytes; how many, or -errno; -ENOTSUP for what is no file: a FIFO may
 * never end.
 */
ssize_t document_source_read(const char *path, char *bytes, size_t size);
