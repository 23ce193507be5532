// SPDX-License-Identifier: MIT
#include "util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "util/text.h"

/* Formatted here first, since escaping may lengthen it and a cut must not split a character. */
#define ERROR_SCRATCH_SIZE 1024

static const char *const class_names[] = {
	[ERROR_NONE] = "none", [ERROR_INPUT] = "input",	  [ERROR_RESOURCE] = "resource",
	[ERROR_PEER] = "peer", [ERROR_DEVICE] = "device", [ERROR_BUG] = "bug",
};

static const char *const stage_names[] = {
	[STAGE_NONE] = "none",	       [STAGE_INPUT] = "input",		[STAGE_CONFIG] = "config",
	[STAGE_DISCOVER] = "discover", [STAGE_RESOURCE] = "resource",	[STAGE_RESOLVE] = "resolve",
	[STAGE_CONNECT] = "connect",   [STAGE_MODIFY_QP] = "modify_qp", [STAGE_RUN] = "run",
	[STAGE_TEARDOWN] = "teardown", [STAGE_REPORT] = "report",
};

static const char *const kind_names[] = {
	[ERROR_KIND_NONE] = "none",
	[ERROR_KIND_ERRNO] = "errno",
	[ERROR_KIND_WC_STATUS] = "wc_status",
	[ERROR_KIND_CM_REJECT] = "cm_reject",
};

static const char *name_of(const char *const *names, size_t count, unsigned index)
{
	return index < count ? names[index] : "unknown";
}

const char *error_class_name(enum error_class class)
{
	return name_of(class_names, sizeof(class_names) / sizeof(class_names[0]), class);
}

const char *error_stage_name(enum error_stage stage)
{
	return name_of(stage_names, sizeof(stage_names) / sizeof(stage_names[0]), stage);
}

const char *error_kind_name(enum error_kind kind)
{
	return name_of(kind_names, sizeof(kind_names) / sizeof(kind_names[0]), kind);
}

int error_set(struct error *err, int ret, enum error_class class, const char *format, ...)
{
	char scratch[ERROR_SCRATCH_SIZE];
	va_list arguments;

	if (!err || error_is_set(err)) {
		return ret;
	}
	va_start(arguments, format);
	vsnprintf(scratch, sizeof(scratch), format, arguments);
	va_end(arguments);
	err->class = class;
	/*
	 * What it quotes may come from a peer or a device: one line of valid UTF-8, whatever came.
	 */
	text_escape(err->text, sizeof(err->text), scratch);
	return ret;
}

/* The one limit of this process that any call may meet: told with its value and the cure. */
static void set_too_many_files(struct error *err, enum error_class class, const char *what)
{
	struct rlimit limit = { 0 };

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	error_set(err, -EMFILE, class,
		  "%s: %s; this process may have %llu open, raise that (LimitNOFILE= of its unit, "
		  "ulimit -n)",
		  what, strerrordesc_np(EMFILE), (unsigned long long)limit.rlim_cur);
}

int error_set_call(struct error *err, int number, enum error_class class, enum error_stage stage,
		   const char *call, const char *format, ...)
{
	char scratch[ERROR_SCRATCH_SIZE];
	const char *description;
	va_list arguments;

	if (number < 0) {
		number = -number;
	}
	if (number == 0) {
		number = EIO; /* failed without saying why: some providers do */
	}
	if (!err || error_is_set(err)) {
		return -number;
	}
	va_start(arguments, format);
	vsnprintf(scratch, sizeof(scratch), format, arguments);
	va_end(arguments);
	description = strerrordesc_np(number);
	if (number == EMFILE) {
		set_too_many_files(err, class, scratch);
	} else if (description) {
		error_set(err, -number, class, "%s: %s", scratch, description);
	} else {
		error_set(err, -number, class, "%s: errno %d", scratch, number);
	}
	err->stage = stage;
	err->kind = ERROR_KIND_ERRNO;
	err->number = number;
	text_copy(err->call, sizeof(err->call), call ? call : "");
	return -number;
}

void error_number(struct error *err, int number)
{
	err->kind = ERROR_KIND_ERRNO;
	err->number = number < 0 ? -number : number;
}

void error_prefix(struct error *err, const char *format, ...)
{
	char prefix[sizeof(err->text)];
	char scratch[sizeof(err->text) + sizeof(prefix) + 2];
	va_list arguments;

	if (!err || !error_is_set(err)) {
		return;
	}
	va_start(arguments, format);
	vsnprintf(prefix, sizeof(prefix), format, arguments);
	va_end(arguments);
	snprintf(scratch, sizeof(scratch), "%s: %s", prefix, err->text);
	text_escape(err->text, sizeof(err->text), scratch);
}
