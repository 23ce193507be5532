// SPDX-License-Identifier: MIT
#pragma once

/*
 * What all lines together mean: which ports rdmatestd can test with. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"
#include "util/json.h"
#include "util/text.h"

struct doctor_summary {
	size_t counts[DOCTOR_OK + 1]; /* lines of each status */
	size_t port_count;
	size_t usable_count; /* 0: nothing can be tested, whatever is bad */
	struct text usable; /* "rxe0 port 1, rxe1 port 1" */
	struct text text; /* the first line of the report */
};

/* report: sorted. */
void doctor_summary_init(struct doctor_summary *summary, const struct doctor_facts *facts,
			 const struct doctor_report *report);
void doctor_summary_done(struct doctor_summary *summary);

/*
 * For people: the summary, a blank line, then a line or more for each line of the report, `columns`
 * wide.
 */
void doctor_summary_print(const struct doctor_summary *summary, const struct doctor_report *report,
			  unsigned columns, struct text *out);
/* The record that rdmatestd(8) describes. New reference. */
json_t *doctor_summary_write(const struct doctor_summary *summary,
			     const struct doctor_report *report);
