// SPDX-License-Identifier: MIT
#pragma once

/* Log lines of a piece of a test: standard error goes to a file meanwhile. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/log.h"

struct log_capture {
	int file;
	int stderr_copy;
	char lines[8192];
};

static inline void log_capture_begin(struct log_capture *capture)
{
	log_set_level(LOG_LEVEL_INFO);
	capture->file = memfd_create("log", MFD_CLOEXEC);
	assert_true(capture->file >= 0);
	capture->stderr_copy = dup(STDERR_FILENO);
	dup2(capture->file, STDERR_FILENO);
}

/* capture->lines has them from then on; returns how many they are. */
static inline size_t log_capture_end(struct log_capture *capture)
{
	ssize_t length = pread(capture->file, capture->lines, sizeof(capture->lines) - 1, 0);
	size_t count = 0;

	dup2(capture->stderr_copy, STDERR_FILENO);
	close(capture->stderr_copy);
	close(capture->file);
	capture->lines[length > 0 ? length : 0] = '\0';
	for (const char *at = capture->lines; *at != '\0'; at++) {
		count += *at == '\n';
	}
	return count;
}
