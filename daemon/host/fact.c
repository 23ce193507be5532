// SPDX-License-Identifier: MIT
#include "host/fact.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TEXT_BYTES (8u << 20)
#define MAX_NAMES 65536

/* Formats the path of `format` and its arguments into path[PATH_MAX]; 0 or -ENAMETOOLONG. */
#define PATH_OF(path, format)                                              \
	({                                                                 \
		va_list arguments;                                         \
		va_start(arguments, format);                               \
		int length = vsnprintf(path, PATH_MAX, format, arguments); \
		va_end(arguments);                                         \
		length < 0 || length >= PATH_MAX ? -ENAMETOOLONG : 0;      \
	})

static ssize_t read_some(int fd, void *buf, size_t size)
{
	ssize_t count;

	do {
		count = read(fd, buf, size);
	} while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

static int read_line(char *ret, size_t size, const char *path)
{
	ret[0] = '\0';
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	ssize_t count = read_some(fd, ret, size - 1);
	if (count < 0) {
		return (int)count;
	}
	ret[count] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return 0;
}

int fact_line(char *ret, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	int error = PATH_OF(path, format);

	ret[0] = '\0';
	return error < 0 ? error : read_line(ret, size, path);
}

int fact_integer(int64_t *ret, const char *format, ...)
{
	char path[PATH_MAX];
	char line[64];
	char *end;
	int error = PATH_OF(path, format);

	if (error == 0) {
		error = read_line(line, sizeof(line), path);
	}
	if (error < 0) {
		return error;
	}
	errno = 0;
	long long value = strtoll(line, &end, text_starts_with(line, "0x") ? 16 : 10);
	if (end == line || *end != '\0' || errno != 0) {
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

int fact_text(struct text *ret, const char *format, ...)
{
	char path[PATH_MAX];
	char chunk[16384];
	size_t total = 0;
	int error = PATH_OF(path, format);

	if (error < 0) {
		return error;
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	for (;;) {
		ssize_t count = read_some(fd, chunk, sizeof(chunk));

		if (count < 0) {
			return (int)count;
		}
		if (count == 0) {
			text_add(ret, "");
			return 0;
		}
		total += (size_t)count;
		if (total > MAX_TEXT_BYTES) {
			return -EFBIG;
		}
		text_add_bytes(ret, chunk, (size_t)count);
	}
}

int fact_link(char *ret, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	char target[PATH_MAX];
	int error = PATH_OF(path, format);

	ret[0] = '\0';
	if (error < 0) {
		return error;
	}
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	if (length < 0) {
		return -errno;
	}
	target[length] = '\0';
	const char *slash = strrchr(target, '/');
	text_copy(ret, size, slash ? slash + 1 : target);
	return 0;
}

int fact_exists(const char *format, ...)
{
	char path[PATH_MAX];
	struct stat status;
	int error = PATH_OF(path, format);

	if (error < 0) {
		return error;
	}
	return stat(path, &status) < 0 ? -errno : 0;
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(a, b);
}

int fact_names(struct fact_names *ret, const char *format, ...)
{
	char path[PATH_MAX];
	size_t capacity = 0;
	const struct dirent *entry;
	int error = PATH_OF(path, format);

	*ret = (struct fact_names){ 0 };
	if (error < 0) {
		return error;
	}
	DIR *directory = opendir(path);
	if (!directory) {
		return -errno;
	}
	while ((entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= FACT_NAME) {
			continue;
		}
		if (ret->count == MAX_NAMES) {
			ret->is_cut = true;
			break;
		}
		if (ret->count == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			ret->names = memory_resize(ret->names, capacity, sizeof(ret->names[0]));
		}
		text_copy(ret->names[ret->count++], FACT_NAME, entry->d_name);
	}
	closedir(directory);
	if (ret->count > 0) {
		qsort(ret->names, ret->count, sizeof(ret->names[0]), compare_names);
	}
	return 0;
}

void fact_names_done(struct fact_names *names)
{
	free(names->names);
	*names = (struct fact_names){ 0 };
}

bool fact_is_component(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

const char *fact_find(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = text; line && *line != '\0'; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0) {
			return line + length + strspn(line + length, " \t");
		}
	}
	return NULL;
}
