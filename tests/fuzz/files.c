// SPDX-License-Identifier: MIT
#include "fuzz/files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/text.h"

#define MARK "%%"
#define MAX_FILES 12

struct file {
	char *path;
	char kind;
	const char *bytes;
	size_t count;
};

static struct file files[MAX_FILES];
static size_t file_count;
static bool is_used;

/* libc's, under the names that calls with 64-bit offsets are linked by. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
char *__wrap_realpath(const char *path, char *resolved);
int __wrap_glob64(const char *pattern, int flags, int (*failed)(const char *path, int number),
		  glob_t *ret);
void __wrap_globfree64(glob_t *found);

/* Drops "." and empty segments behind the first. Caller frees. */
static char *plain_path(const char *path)
{
	char *plain = memory_new(strlen(path) + 1);
	size_t length = 0;

	while (*path) {
		if (length > 0 && plain[length - 1] == '/') {
			if (*path == '/') {
				path++;
				continue;
			}
			if (path[0] == '.' && path[1] == '/') {
				path += 2;
				continue;
			}
		}
		plain[length++] = *path++;
	}
	return plain;
}

static const struct file *find(const char *path)
{
	_cleanup_free_ char *plain = plain_path(path);

	for (size_t i = 0; i < file_count; i++) {
		if (strcmp(files[i].path, plain) == 0) {
			return &files[i];
		}
	}
	return NULL;
}

static void add_file(const char *name, size_t length, char kind, const char *bytes)
{
	struct text path = TEXT_INIT;

	text_add(&path, "config/");
	text_add_bytes(&path, name, length);
	files[file_count++] = (struct file){ .path = path.data, .kind = kind, .bytes = bytes };
}

/* The first "\n%%" or the end. */
static size_t length_of_file(const char *bytes, size_t size)
{
	const char *mark = memmem(bytes, size, "\n" MARK, strlen("\n" MARK));

	return mark ? (size_t)(mark - bytes) + 1 : size;
}

void files_set(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	size_t left = size;

	is_used = false;
	file_count = 0;
	add_file("main.yaml", strlen("main.yaml"), 'f', at);
	files[0].count = length_of_file(at, left);
	at += files[0].count;
	left -= files[0].count;
	while (left > strlen(MARK) + 2 && file_count < MAX_FILES) {
		const char *name = at + strlen(MARK) + 2;
		const char *end = memchr(at, '\n', left);
		size_t head = end ? (size_t)(end - at) + 1 : left;
		struct file *file = &files[file_count];

		add_file(name, end && end > name ? (size_t)(end - name) : 0, at[strlen(MARK)],
			 at + head);
		file->count = length_of_file(file->bytes, left - head);
		at += head + file->count;
		left -= head + file->count;
	}
}

void files_done(void)
{
	assert(is_used);
	for (size_t i = 0; i < file_count; i++) {
		free(files[i].path);
	}
	file_count = 0;
}

int __wrap_open64(const char *path, int flags, ...)
{
	const struct file *file = find(path);
	int fd;

	is_used = true;
	if (!file) {
		errno = ENOENT;
		return -1;
	}
	switch (file->kind) {
	case 'x':
		errno = EACCES;
		return -1;
	case 'd':
		return __real_open64("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	case 'n':
		return __real_open64("/dev/null", O_RDONLY | O_CLOEXEC);
	default:
		break;
	}
	fd = memfd_create("file", MFD_CLOEXEC);
	assert(fd >= 0);
	assert(pwrite(fd, file->bytes, file->count, 0) == (ssize_t)file->count);
	return fd;
}

char *__wrap_realpath(const char *path, char *resolved)
{
	const struct file *file = find(path);
	struct text real = TEXT_INIT;

	assert(!resolved);
	if (!file) {
		errno = ENOENT;
		return NULL;
	}
	text_format(&real, "/%s", file->path);
	return real.data;
}

int __wrap_glob64(const char *pattern, int flags, int (*failed)(const char *path, int number),
		  glob_t *ret)
{
	_cleanup_free_ char *plain = plain_path(pattern);

	assert(flags == 0);
	*ret = (glob_t){ 0 };
	for (size_t i = 0; i < file_count; i++) {
		if (fnmatch(plain, files[i].path, FNM_PATHNAME | FNM_PERIOD) != 0) {
			continue;
		}
		if (files[i].kind == 'x' && failed(files[i].path, EACCES)) {
			return GLOB_ABORTED;
		}
		ret->gl_pathv =
			memory_resize(ret->gl_pathv, ret->gl_pathc + 1, sizeof(ret->gl_pathv[0]));
		ret->gl_pathv[ret->gl_pathc++] = memory_copy_string(files[i].path);
	}
	return ret->gl_pathc > 0 ? 0 : GLOB_NOMATCH;
}

void __wrap_globfree64(glob_t *found)
{
	for (size_t i = 0; i < found->gl_pathc; i++) {
		free(found->gl_pathv[i]);
	}
	free(found->gl_pathv);
	*found = (glob_t){ 0 };
}
