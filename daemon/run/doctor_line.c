// SPDX-License-Identifier: MIT
#include "run/doctor_line.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

/* Formats into a member, which is an array; names from outside are made harmless. */
#define SET(member, format)                                     \
	do {                                                    \
		_cleanup_text_ struct text text = TEXT_INIT;    \
		va_list arguments;                              \
		va_start(arguments, format);                    \
		text_format_list(&text, format, arguments);     \
		va_end(arguments);                              \
		text_escape(member, sizeof(member), text.data); \
	} while (0)

void doctor_line_free_all(struct doctor_report *report)
{
	free(report->lines);
	*report = DOCTOR_REPORT_INIT;
}

struct doctor_line *doctor_line_add(struct doctor_report *report, const char *id,
				    enum doctor_status status, const char *format, ...)
{
	struct doctor_line *line;

	if (report->count == report->capacity) {
		report->capacity = report->capacity ? 2 * report->capacity : 32;
		report->lines =
			memory_resize(report->lines, report->capacity, sizeof(*report->lines));
	}
	line = &report->lines[report->count++];
	*line = (struct doctor_line){ .id = id, .status = status };
	SET(line->subject, format);
	return line;
}

void doctor_line_finding(struct doctor_line *line, const char *format, ...)
{
	SET(line->finding, format);
}

void doctor_line_cure(struct doctor_line *line, const char *format, ...)
{
	SET(line->cure, format);
}

void doctor_line_source(struct doctor_line *line, const char *format, ...)
{
	SET(line->source, format);
}

void doctor_line_reason(struct doctor_line *line, const char *format, ...)
{
	SET(line->reason, format);
}

void doctor_line_block(struct doctor_line *line, const char *device, uint64_t port_num,
		       const char *format, ...)
{
	line->is_blocking = true;
	text_copy(line->device, sizeof(line->device), device ? device : "");
	line->port_num = port_num;
	SET(line->reason, format);
}

static const char *why(int error)
{
	switch (-error) {
	case EACCES:
	case EPERM:
		return "this user may not read it";
	case ENOENT:
	case ENOTDIR:
		return "it is not there: a sandbox hides it, or this kernel does not have it";
	case EINVAL:
		return "it has another form than expected";
	default:
		return strerrordesc_np(-error);
	}
}

void doctor_line_not_seen(struct doctor_report *report, const char *id, const char *subject,
			  const char *source, int error)
{
	const char *reason = why(error);
	struct doctor_line *line = doctor_line_add(report, id, DOCTOR_NOT_SEEN, "%s", subject);

	doctor_line_finding(line, "%s: %s", source, reason ? reason : "unknown error");
	doctor_line_source(line, "%s", source);
	if (error == -EACCES || error == -EPERM) {
		doctor_line_cure(line, "run rdmatestd --doctor as root");
	}
}

void doctor_line_sort(struct doctor_report *report)
{
	/* Insertion: stable, and short. */
	for (size_t i = 1; i < report->count; i++) {
		struct doctor_line line = report->lines[i];
		size_t at = i;

		for (; at > 0 && report->lines[at - 1].status > line.status; at--) {
			report->lines[at] = report->lines[at - 1];
		}
		report->lines[at] = line;
	}
}

const char *doctor_line_status_name(enum doctor_status status)
{
	static const char *const names[] = {
		[DOCTOR_BAD] = "bad",
		[DOCTOR_WARN] = "warn",
		[DOCTOR_NOT_SEEN] = "not_seen",
		[DOCTOR_OK] = "ok",
	};

	return names[status];
}
