// SPDX-License-Identifier: MIT
#include "util/document_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory.h"

/*
 * The bytes of a line break at `at`, as libyaml counts lines: CR LF, CR, LF, NEL, LS, PS; else 0.
 */
static size_t break_length(const char *at, size_t left)
{
	if (left >= 2 && memcmp(at, "\r\n", 2) == 0) {
		return 2;
	}
	if (at[0] == '\n' || at[0] == '\r') {
		return 1;
	}
	if (left >= 2 && memcmp(at, "\xc2\x85", 2) == 0) {
		return 2;
	}
	if (left >= 3 &&
	    (memcmp(at, "\xe2\x80\xa8", 3) == 0 || memcmp(at, "\xe2\x80\xa9", 3) == 0)) {
		return 3;
	}
	return 0;
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

void document_source_init(struct document_source *source, const char *path, const char *bytes,
			  size_t count)
{
	size_t capacity = 64;
	size_t offset = 0;

	*source = (struct document_source){ .path = path, .bytes = bytes, .count = count };
	/* libyaml skips a byte order mark without counting it. */
	if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		offset = 3;
	}
	source->lines = memory_resize(NULL, capacity, sizeof(source->lines[0]));
	source->lines[source->line_count++] = offset;
	while (offset < count) {
		size_t length = break_length(bytes + offset, count - offset);

		offset += length ? length : 1;
		if (length == 0) {
			continue;
		}
		if (source->line_count == capacity) {
			capacity *= 2;
			source->lines =
				memory_resize(source->lines, capacity, sizeof(source->lines[0]));
		}
		source->lines[source->line_count++] = offset;
	}
}

void document_source_done(struct document_source *source)
{
	free(source->lines);
	source->lines = NULL;
}

void document_source_place(const struct document_source *source, size_t offset, size_t *ret_line,
			   size_t *ret_column)
{
	size_t line = 0;
	size_t column = 0;

	while (line + 1 < source->line_count && source->lines[line + 1] <= offset) {
		line++;
	}
	for (size_t i = source->lines[line]; i < offset && i < source->count; i++) {
		column += !is_continuation(source->bytes[i]);
	}
	*ret_line = line;
	*ret_column = column;
}

size_t document_source_offset(const struct document_source *source, size_t line, size_t column)
{
	size_t offset;

	if (line >= source->line_count) {
		return source->count;
	}
	offset = source->lines[line];
	for (size_t i = 0; i < column && offset < source->count; i++) {
		do {
			offset++;
		} while (offset < source->count && is_continuation(source->bytes[offset]));
	}
	return offset;
}

bool document_source_is_tab_indented(const struct document_source *source, size_t line,
				     size_t column)
{
	bool has_tab = false;
	size_t start;

	if (line >= source->line_count || column > source->count - source->lines[line]) {
		return false;
	}
	start = source->lines[line];
	for (size_t i = 0; i < column; i++) {
		if (source->bytes[start + i] != ' ' && source->bytes[start + i] != '\t') {
			return false;
		}
		has_tab |= source->bytes[start + i] == '\t';
	}
	return has_tab;
}

bool document_source_check(const struct document_source *source, struct problems *problems)
{
	size_t valid = text_utf8_prefix(source->bytes, source->count);
	size_t line;
	size_t column;

	if (valid < source->count) {
		document_source_place(source, valid, &line, &column);
		problems_add(problems, false, source->path, (unsigned)line + 1,
			     (unsigned)column + 1,
			     "invalid UTF-8 (byte 0x%02x); save the file as UTF-8",
			     (unsigned char)source->bytes[valid]);
		return false;
	}
	for (size_t i = 0; i < source->count; i++) {
		unsigned char byte = (unsigned char)source->bytes[i];

		if ((byte >= 0x20 && byte != 0x7f) || byte == '\t' || byte == '\n' ||
		    byte == '\r') {
			continue;
		}
		document_source_place(source, i, &line, &column);
		problems_add(problems, false, source->path, (unsigned)line + 1,
			     (unsigned)column + 1, "%s 0x%02x; a configuration is plain text",
			     byte ? "control character" : "NUL byte", byte);
		return false;
	}
	return true;
}

ssize_t document_source_read(const char *path, char *bytes, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	size_t count = 0;

	if (fd < 0 || fstat(fd, &status) < 0) {
		return -errno;
	}
	if (S_ISDIR(status.st_mode)) {
		return -EISDIR;
	}
	if (!S_ISREG(status.st_mode)) {
		return -ENOTSUP;
	}
	while (count < size) {
		ssize_t got = read(fd, bytes + count, size - count);

		if (got == 0) {
			break;
		}
		if (got < 0 && errno != EINTR) {
			return -errno;
		}
		count += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)count;
}
