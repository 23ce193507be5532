// SPDX-License-Identifier: MIT
#pragma once

/*
 * Results: a measurement is one pair of endpoints seen from both ends; a run is all measurements of
 * one execution of a scenario, with context and verdict. Records of schema_version 1
 * (api/openapi.yaml describes the JSON); always produced, for failed and aborted runs too. Owned by
 * the coordinator until the run is over, then immutable in run/history.
 */

#include "model/assignment.h"
#include "model/expectation.h"
#include "model/finding.h"
#include "model/sample.h"
#include "model/scenario.h"
#include "model/verdict.h"

#define RESULT_SCHEMA_VERSION 1

enum outcome { OUTCOME_MET, OUTCOME_MISSED, OUTCOME_INCONCLUSIVE };
extern const char *const outcome_names[]; /* "ok", "missed", "inconclusive" */

struct expectation_result {
	struct expectation expectation;
	int outcome;
	bool has_actual;
	double actual; /* ns, bit/s, operations/s or a count */
	double limit; /* likewise, fractions of the link resolved */
	uint64_t samples; /* behind the actual value */
	char reason[160]; /* why inconclusive */
};

/* One end. */
struct participant {
	struct endpoint endpoint;
	struct port port; /* as planned with */
	struct endpoint_info *info; /* as prepared; NULL before; owned */
	struct steps steps; /* set-up, as reported */
	bool has_totals;
	struct totals totals;
	struct failure failure; /* first error of this end, session loss included */
	int64_t clock_offset_ns; /* its real clock minus the coordinator's */
	int64_t clock_error_ns; /* bound of that */
};

struct measurement {
	uint64_t pair;
	struct assignment assignment; /* the initiator's: resolved values */
	struct participant initiator;
	struct participant responder;
	int64_t started_real_ns;
	int64_t ended_real_ns;
	uint64_t accepted_to_first_post_ns; /* 0: never posted */
	struct steps coordination; /* prepare, connect, start: round trips of the coordinator */
	int verdict;
	struct failure first_error; /* of both ends and the sessions */
	struct findings findings;
	size_t expectation_count;
	struct expectation_result expectations[LIMIT_EXPECTATIONS];
};

enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE };
extern const char *const run_state_names[];

enum run_trigger { TRIGGER_MANUAL, TRIGGER_STARTUP, TRIGGER_SCHEDULE };
extern const char *const run_trigger_names[];

struct run {
	char id[32]; /* ULID */
	struct scenario *scenario; /* a copy; owned */
	char coordinator[LIMIT_NAME];
	int trigger;
	int state;
	uint64_t config_generation;
	int64_t queued_real_ns;
	int64_t started_real_ns;
	int64_t ended_real_ns;
	int verdict;
	uint64_t counts[VERDICT_COUNT]; /* of measurements */
	struct failure error; /* of the run as a whole: refused plan, aborted */
	struct findings findings; /* likewise */
	size_t measurement_count;
	struct measurement **measurements; /* owned */
};

struct run *run_new(const struct scenario *scenario);
void run_free(struct run *run);
struct measurement *run_add_measurement(struct run *run);

/* The record of the API. New reference. with_histograms: buckets as [lowest_ns, count] pairs, else
 * statistics only. */
json_t *run_write(const struct run *run, bool with_histograms);
/* One line of a list: id, scenario, state, verdict, times, counts, first finding. */
json_t *run_write_summary(const struct run *run);
