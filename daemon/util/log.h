// SPDX-License-Identifier: MIT
#pragma once

/*
 * The one global: where log lines go. Used by run, http, fleet, control's owner and daemon.c only
 * (style: Logging). To stderr with a <N> priority prefix when it is the journal's stream
 * ($JOURNAL_STREAM), else plain "level: text". Any thread; a line is written by one write(2).
 * Control characters in arguments are escaped.
 */

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);

/*
 * Every line begins with "name: " when set (tests with several daemons); borrowed, must outlive the
 * log.
 */
void log_set_name(const char *name);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same with a MESSAGE_ID (32 hexadecimal digits), by which the journal finds its explanation
 * (journalctl -x) and people find the line. Only where standard error is the journal's stream; it
 * goes there on a way of its own then, and where that fails like any other line.
 */
void log_line_with_id(enum log_level level, const char *message_id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
