// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/tls.h"
#include "util/memory.h"

#define DIGITS_MIN (2 * TLS_KEY_MIN)
#define DIGITS_MAX (2 * TLS_KEY_MAX)
#define MAKE_ONE "head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \\n'"

static int wrong(const char *path, struct error *err, const char *what)
{
	return error_set(
		err, -EINVAL, ERROR_INPUT,
		"%s: %s; a fleet key is one line of %d to %d hexadecimal digits; make one with "
		"(umask 077; " MAKE_ONE " >%s) and copy it to every node",
		path, what, DIGITS_MIN, DIGITS_MAX, path);
}

static int check_file(const char *path, int fd, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0) {
		return error_set_call(err, errno, ERROR_INPUT, STAGE_CONFIG, "fstat", "%s", path);
	}
	if (!S_ISREG(status.st_mode)) {
		return wrong(path, err, "is no regular file");
	}
	if (status.st_mode & S_IRWXO) {
		return error_set(
			err, -EPERM, ERROR_INPUT,
			"%s: mode %04o lets every user of this host at the fleet key; run: chmod o= %s",
			path, status.st_mode & 07777, path);
	}
	return 0;
}

/* Whole or up to `size` bytes; regular files do not give less before their end. */
static ssize_t read_file(int fd, char *bytes, size_t size)
{
	size_t count = 0;

	while (count < size) {
		ssize_t got = read(fd, bytes + count, size - count);

		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got < 0) {
			return -errno;
		}
		if (got == 0) {
			break;
		}
		count += (size_t)got;
	}
	return (ssize_t)count;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	if (c >= 'A' && c <= 'F') {
		return c - 'A' + 10;
	}
	return -1;
}

static int parse(const char *path, const char *line, size_t count, struct tls_key *ret,
		 struct error *err)
{
	struct tls_key key = { 0 };

	if (count > 0 && line[count - 1] == '\n') {
		count--;
	}
	if (count == 0) {
		return wrong(path, err, "is empty");
	}
	for (size_t i = 0; i < count; i++) {
		if (digit_value(line[i]) < 0) {
			return wrong(path, err, "holds something else than hexadecimal digits");
		}
	}
	if (count < DIGITS_MIN) {
		return wrong(path, err, "is too short");
	}
	if (count > DIGITS_MAX) {
		return wrong(path, err, "is too long");
	}
	if (count % 2 != 0) {
		return wrong(path, err, "has an odd number of digits");
	}
	for (size_t i = 0; i < count; i += 2) {
		key.bytes[key.count++] =
			(uint8_t)(digit_value(line[i]) << 4 | digit_value(line[i + 1]));
	}
	*ret = key;
	explicit_bzero(&key, sizeof(key));
	return 0;
}

int tls_key_read(const char *path, struct tls_key *ret_key, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[DIGITS_MAX + 2]; /* one more than a good file can have */
	ssize_t count;
	int ret;

	if (fd < 0) {
		return error_set_call(err, errno, ERROR_INPUT, STAGE_CONFIG, "open",
				      "%s: the fleet key cannot be read", path);
	}
	ret = check_file(path, fd, err);
	if (ret < 0) {
		return ret;
	}
	count = read_file(fd, line, sizeof(line));
	if (count < 0) {
		ret = error_set_call(err, (int)-count, ERROR_INPUT, STAGE_CONFIG, "read", "%s",
				     path);
	} else {
		ret = parse(path, line, (size_t)count, ret_key, err);
	}
	explicit_bzero(line, sizeof(line));
	return ret;
}
