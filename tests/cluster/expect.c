// SPDX-License-Identifier: MIT

/* The half of cluster.h that looks at records. */

#include "cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"
#include "util/text.h"

char *cluster_record(const struct run *run)
{
	struct text text = TEXT_INIT;
	_cleanup_json_ json_t *json = run_write(run, true);

	json_write_pretty(json, &text);
	return text.data;
}

static const struct findings *findings_of(const struct run *run)
{
	return run->measurement_count > 0 ? &run->measurements[0]->findings : &run->findings;
}

static bool is_expected(const struct run *run, enum verdict verdict, enum error_class class,
			enum error_stage stage, const char *call, const char *finding)
{
	const struct failure *failure =
		run->measurement_count > 0 ? &run->measurements[0]->first_error : &run->error;
	const struct findings *findings = findings_of(run);
	char code[16] = "";

	if (findings->count > 0 && findings->items[0].confidence > CONFIDENCE_POSSIBLE) {
		snprintf(code, sizeof(code), "RDT-%04u",
			 finding_info(findings->items[0].code)->number);
	}
	return run->verdict == (int)verdict && failure->error.class == class &&
	       failure->error.stage == stage && strcmp(failure->error.call, call) == 0 &&
	       strcmp(code, finding != NULL ? finding : "") == 0;
}

void cluster_expect(const struct run *run, enum verdict verdict, enum error_class class,
		    enum error_stage stage, const char *call, const char *finding)
{
	if (!is_expected(run, verdict, class, stage, call, finding)) {
		_cleanup_free_ char *record = cluster_record(run);

		fprintf(stderr, "%s\n", record);
		fail_msg("expected %s, %s/%s \"%s\", %s", verdict_names[verdict],
			 error_class_name(class), error_stage_name(stage), call,
			 finding != NULL ? finding : "no finding");
	}
}
