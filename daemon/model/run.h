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
#include "model/port_use.h"
#include "model/repeat.h"
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
	struct port_use_note port_use; /* by others, before it began */
	struct steps steps; /* set-up, as reported */
	bool has_totals;
	struct totals totals;
	struct failure failure; /* first error of this end, session loss included */
	int64_t clock_offset_ns; /* its real clock minus the coordinator's */
	int64_t clock_error_ns; /* bound of that */
};

struct measurement {
	uint64_t pair; /* of the run's plan; each time that a pair is measured has its own */
	uint64_t repeat_index; /* which time, from 0; pair - repeat_index is that of the first */
	uint64_t repeat_count; /* how many times in all; 0 and 1: once */
	struct repeat_values *repeat_values; /* owned; NULL: measured once, or ended in an error */
	struct assignment assignment; /* the initiator's: resolved values */
	struct participant initiator;
	struct participant responder;
	int64_t started_real_ns;
	uint64_t started_mono_ns; /* the same moment */
	int64_t ended_real_ns;
	/* From when the run was accepted (its turn, if it had to wait for another run; its own
	 * begin, if it had to wait for other pairs of the run) to the initiator's first post;
	 * planning and set-up are in it. 0: never posted. How the post is timed: run/measure. */
	uint64_t accepted_to_first_post_ns;
	struct steps coordination; /* prepare, connect, start: round trips of the coordinator */
	int verdict;
	struct failure first_error; /* of both ends and the sessions */
	/* What went wrong when all was measured, and both ends had told: no verdict rests on it. */
	struct failure teardown;
	struct findings findings;
	size_t expectation_count;
	struct expectation_result expectations[LIMIT_EXPECTATIONS];
};

/* Both ends post (direction: both): the totals of either are those of an initiator. */
bool run_is_mutual(const struct measurement *measurement);

enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_DONE };
extern const char *const run_state_names[];

enum run_trigger { TRIGGER_MANUAL, TRIGGER_STARTUP, TRIGGER_SCHEDULE, TRIGGER_RETRY };
extern const char *const run_trigger_names[];

/* Of TRIGGER_RETRY: which run it repeats, since that one came to nothing (run/retry). */
struct run_retry {
	uint64_t attempt; /* from 1 */
	char of[32]; /* the first run that came to nothing */
	int64_t since_real_ns; /* its end */
};

struct run {
	unsigned extra_references; /* of run_ref */
	char id[32]; /* ULID */
	struct scenario *scenario; /* a copy; owned */
	char coordinator[LIMIT_NAME];
	int trigger;
	struct run_retry retry;
	int state;
	uint64_t config_generation;
	int64_t queued_real_ns;
	int64_t started_real_ns;
	uint64_t started_mono_ns; /* the same moment */
	int64_t ended_real_ns;
	int verdict;
	uint64_t counts[VERDICT_COUNT]; /* of measurements */
	struct failure error; /* of the run as a whole: refused plan, aborted */
	struct findings findings; /* likewise */
	size_t measurement_count;
	struct measurement **measurements; /* owned */
	uint64_t weight_bytes; /* memory of all that, as far as it was weighed */
};

struct run *run_new(const struct scenario *scenario);
/* Gives back one reference; the last one frees it. NULL too. */
void run_free(struct run *run);
/* As run_free, a piece at a time: gives back `count` measurements at most. True when there is more
 * to do: call it again. */
bool run_free_piece(struct run *run, size_t count);
/* One more, for who still needs it when the history may have let go of it. Returns it. Loop thread.
 */
struct run *run_ref(struct run *run);
struct measurement *run_add_measurement(struct run *run);
/* Adds what the measurement holds, as it is now, to run->weight_bytes. */
void run_weigh(struct run *run, const struct measurement *measurement);
/* When something that began at these moments, and is over now, ended: later than its begin by how
 * long it took, also where the clock of the day was set meanwhile. Never begun (0): now. */
int64_t run_end_real_ns(int64_t started_real_ns, uint64_t started_mono_ns);
/* Its error, unless it has one: class INPUT, call "abort", told by `node`. */
void run_set_stopped(struct run *run, const char *node, const char *reason);

/* The record of the API. New reference. with_histograms: buckets as [lowest_ns, count] pairs, else
 * statistics only. */
json_t *run_write(const struct run *run, bool with_histograms);
/* The same but for its last member, `measurements`. New reference. model/run_pieces writes it all
 * in pieces. */
json_t *run_write_head(const struct run *run);
/* The most telling one: of the run as a whole, else the first of its worst measurement, which is
 * then in *ret_measurement (NULL otherwise). NULL when there is none. */
const struct finding *run_main_finding(const struct run *run,
				       const struct measurement **ret_measurement);
/* One line of a list: id, scenario, state, verdict, times, counts, first finding. */
json_t *run_write_summary(const struct run *run);
