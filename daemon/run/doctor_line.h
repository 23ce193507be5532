// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the doctor says: a line for each thing it looked at. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"
#include "model/limits.h"

/* In the order in which lines are shown. */
enum doctor_status { DOCTOR_BAD, DOCTOR_WARN, DOCTOR_NOT_SEEN, DOCTOR_OK };

struct doctor_line {
	const char *id; /* stable: "port-state" */
	enum doctor_status status;
	char subject[96]; /* "rxe0 port 1" */
	char finding[LIMIT_TEXT]; /* what is, in words for who never saw RDMA */
	char cure[LIMIT_TEXT]; /* what to do; "" = nothing */
	char source[160]; /* where it was seen */
	char reason[160]; /* of what is bad or blocks: continues "it cannot, because ..." */
	/* What it keeps from working: a port, a whole device ("" port 0), the whole host. */
	bool is_blocking;
	char device[FACT_NAME];
	uint64_t port_num;
};

struct doctor_report {
	size_t count;
	size_t capacity;
	struct doctor_line *lines; /* owned */
};

#define DOCTOR_REPORT_INIT ((struct doctor_report){ 0 })
void doctor_line_free_all(struct doctor_report *report);

/* An empty line of the given subject, valid until the next one is added. */
struct doctor_line *doctor_line_add(struct doctor_report *report, const char *id,
				    enum doctor_status status, const char *subject_format, ...)
	__attribute__((format(printf, 4, 5)));
/* Each sets the text, cut where it is too long. */
void doctor_line_finding(struct doctor_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_line_cure(struct doctor_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_line_source(struct doctor_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* In short what is wrong: continues "it cannot, because ...". */
void doctor_line_reason(struct doctor_line *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* As that; and the host (device NULL), a device (port_num 0) or a port cannot be used for it. */
void doctor_line_block(struct doctor_line *line, const char *device, uint64_t port_num,
		       const char *reason_format, ...) __attribute__((format(printf, 4, 5)));

/* A line NOT_SEEN: what is read from `source` is not known, for -errno `error`. */
void doctor_line_not_seen(struct doctor_report *report, const char *id, const char *subject,
			  const char *source, int error);

/* Bad first, then warnings, not seen, ok; what is alike stays in its order. */
void doctor_line_sort(struct doctor_report *report);
/* "bad", "warn", "not_seen", "ok" */
const char *doctor_line_status_name(enum doctor_status status);
