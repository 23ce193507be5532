// SPDX-License-Identifier: MIT
#include "run/doctor.h"

#include <errno.h>
#include <stdio.h>

#include "run/doctor_check.h"
#include "run/doctor_collect.h"
#include "run/doctor_summary.h"
#include "util/json.h"
#include "util/memory.h"

#define COLUMNS 100

static int print(const struct text *text, FILE *out)
{
	if (fwrite(text->data, 1, text->length, out) != text->length || fflush(out) != 0) {
		return errno != 0 ? -errno : -EIO;
	}
	return 0;
}

int doctor_run(const char *root, bool is_json, FILE *out)
{
	_cleanup_free_ struct doctor_facts *facts = memory_new(sizeof(*facts));
	struct doctor_report report = DOCTOR_REPORT_INIT;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct doctor_summary summary;
	int ret;

	doctor_collect(root, facts);
	doctor_check_all(facts, &report);
	doctor_summary_init(&summary, facts, &report);
	if (is_json) {
		_cleanup_json_ json_t *record = doctor_summary_write(&summary, &report);

		json_write_pretty(record, &text);
		text_add(&text, "\n");
	} else {
		doctor_summary_print(&summary, &report, COLUMNS, &text);
	}
	ret = print(&text, out) < 0					    ? DOCTOR_EXIT_FAILED
	      : summary.counts[DOCTOR_BAD] > 0 || summary.usable_count == 0 ? DOCTOR_EXIT_BAD
									    : DOCTOR_EXIT_WELL;
	doctor_summary_done(&summary);
	doctor_line_free_all(&report);
	doctor_collect_done(facts);
	return ret;
}
