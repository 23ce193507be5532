// SPDX-License-Identifier: MIT
#include "util/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/journal.h"
#include "util/memory.h"
#include "util/net.h"
#include "util/text.h"

static atomic_int log_threshold = LOG_LEVEL_INFO;
static _Atomic(const char *) log_name;
static atomic_uint log_lost; /* lines that nobody took, since the last one that was taken */

static const struct {
	const char *word;
	int priority; /* of syslog(3) */
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", 3 },
	[LOG_LEVEL_WARNING] = { "warning", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

/*
 * systemd says "device:inode" of the stream it connected; a redirection later makes it another one.
 */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device;
	unsigned long long inode;
	struct stat status;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&log_threshold, (int)level, memory_order_relaxed);
}

void log_set_name(const char *name)
{
	atomic_store(&log_name, name);
}

static void add_escaped(struct text *line, const char *format, va_list arguments)
{
	_cleanup_text_ struct text raw = TEXT_INIT;
	_cleanup_free_ char *escaped = NULL;
	size_t size;

	text_format_list(&raw, format, arguments);
	size = 4 * raw.length + 1; /* each byte as \xNN at worst */
	escaped = memory_new(size);
	text_escape(escaped, size, raw.data);
	text_add(line, escaped);
}

static void add_head(struct text *line, enum log_level level)
{
	const char *name = atomic_load(&log_name);
	bool to_journal = is_journal();

	if (to_journal) {
		text_format(line, "<%d>", levels[level].priority);
	}
	if (name) {
		text_format(line, "%s: ", name);
	}
	if (!to_journal) {
		text_format(line, "%s: ", levels[level].word);
	}
}

/* A pipe or a journal whose reader hangs must not hang us: its lines are counted instead. */
static bool would_block(void)
{
	struct pollfd stream = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&stream, 1, 0) == 0;
}

static void write_line(enum log_level level, const char *escaped)
{
	_cleanup_text_ struct text line = TEXT_INIT;
	unsigned lost;

	if (would_block()) {
		atomic_fetch_add(&log_lost, 1);
		return;
	}
	lost = atomic_exchange(&log_lost, 0);
	if (lost > 0) {
		add_head(&line, LOG_LEVEL_WARNING);
		text_format(&line, "%u lines before this one are lost: nobody read the log\n",
			    lost);
	}
	add_head(&line, level);
	text_add(&line, escaped);
	text_add(&line, "\n");
	while (write(STDERR_FILENO, line.data, line.length) < 0 && errno == EINTR) {
	}
}

/* False: it has to go like any other line. */
static bool write_entry(enum log_level level, const char *message_id, const char *escaped)
{
	_cleanup_text_ struct text entry = TEXT_INIT;
	const char *name = atomic_load(&log_name);

	if (!message_id || !is_journal()) {
		return false;
	}
	journal_entry(levels[level].priority, name ? name : program_invocation_short_name,
		      message_id, escaped, &entry);
	return net_send_datagram(JOURNAL_SOCKET, entry.data, entry.length) == 0;
}

static void log_list(enum log_level level, const char *message_id, const char *format,
		     va_list arguments)
{
	_cleanup_text_ struct text escaped = TEXT_INIT;
	int saved_errno = errno;

	if ((int)level > atomic_load_explicit(&log_threshold, memory_order_relaxed)) {
		return;
	}
	add_escaped(&escaped, format, arguments); /* first: errno is that of %m */
	if (!write_entry(level, message_id, escaped.data)) {
		write_line(level, escaped.data);
	}
	errno = saved_errno;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_list(level, NULL, format, arguments);
	va_end(arguments);
}

void log_line_with_id(enum log_level level, const char *message_id, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_list(level, message_id, format, arguments);
	va_end(arguments);
}
