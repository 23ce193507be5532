// SPDX-License-Identifier: MIT
#include "model/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/run_record.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

const char *const outcome_names[] = { "ok", "missed", "inconclusive", NULL };
const char *const run_state_names[] = { "queued", "running", "done", NULL };
const char *const run_trigger_names[] = { "manual", "startup", "schedule", "retry", NULL };

bool run_is_mutual(const struct measurement *measurement)
{
	return measurement->assignment.workload.workload.direction == DIRECTION_BOTH;
}

struct run *run_new(const struct scenario *scenario)
{
	struct run *run = memory_new(sizeof(*run));

	run->scenario = memory_new(sizeof(*run->scenario));
	*run->scenario = *scenario;
	run->error = FAILURE_INIT;
	run->weight_bytes = sizeof(*run) + sizeof(*run->scenario);
	return run;
}

static void free_participant(struct participant *end)
{
	free(end->info);
	sample_totals_done(&end->totals);
}

struct run *run_ref(struct run *run)
{
	run->extra_references++;
	return run;
}

static void free_measurement(struct measurement *measurement)
{
	free_participant(&measurement->initiator);
	free_participant(&measurement->responder);
	free(measurement->repeat_values);
	free(measurement);
}

bool run_free_piece(struct run *run, size_t count)
{
	if (run->extra_references > 0) {
		run->extra_references--;
		return false;
	}
	for (; count > 0 && run->measurement_count > 0; count--) {
		free_measurement(run->measurements[--run->measurement_count]);
	}
	if (run->measurement_count > 0) {
		return true;
	}
	free(run->measurements);
	free(run->scenario);
	free(run);
	return false;
}

void run_free(struct run *run)
{
	if (run != NULL) {
		run_free_piece(run, SIZE_MAX);
	}
}

static uint64_t totals_bytes(const struct totals *totals)
{
	size_t services = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		services += totals->classes[i].service != NULL;
	}
	return (totals->connections ? sizeof(*totals->connections) : 0) +
	       totals->class_count * sizeof(*totals->classes) +
	       services * sizeof(struct histogram) +
	       totals->interval_count * sizeof(*totals->intervals);
}

void run_weigh(struct run *run, const struct measurement *measurement)
{
	run->weight_bytes += sizeof(*measurement) + totals_bytes(&measurement->initiator.totals) +
			     totals_bytes(&measurement->responder.totals);
	run->weight_bytes += measurement->initiator.info ? sizeof(*measurement->initiator.info) : 0;
	run->weight_bytes += measurement->responder.info ? sizeof(*measurement->responder.info) : 0;
}

struct measurement *run_add_measurement(struct run *run)
{
	struct measurement *measurement = memory_new(sizeof(*measurement));

	measurement->pair = run->measurement_count;
	measurement->first_error = FAILURE_INIT;
	measurement->teardown = FAILURE_INIT;
	measurement->initiator.failure = FAILURE_INIT;
	measurement->responder.failure = FAILURE_INIT;
	sample_totals_init(&measurement->initiator.totals);
	sample_totals_init(&measurement->responder.totals);
	run->measurements = memory_resize(run->measurements, run->measurement_count + 1,
					  sizeof(*run->measurements));
	run->measurements[run->measurement_count++] = measurement;
	return measurement;
}

int64_t run_end_real_ns(int64_t started_real_ns, uint64_t started_mono_ns)
{
	return started_real_ns != 0 ? started_real_ns + (int64_t)(clock_mono_ns() - started_mono_ns)
				    : clock_real_ns();
}

void run_set_stopped(struct run *run, const char *node, const char *reason)
{
	if (error_is_set(&run->error.error)) {
		return;
	}
	run->error = FAILURE_INIT;
	error_set(&run->error.error, -ECANCELED, ERROR_INPUT, "stopped: %s", reason);
	run->error.error.stage = STAGE_RUN;
	text_copy(run->error.error.call, sizeof(run->error.error.call), "abort");
	text_copy(run->error.node, sizeof(run->error.node), node);
}

static json_t *write_counts(const struct run *run)
{
	json_t *object = json_object();

	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		json_set_u64(object, verdict_names[verdict], run->counts[verdict]);
	}
	return object;
}

static json_t *write_operation_list(const struct workload_settings *settings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < settings->op_count; i++) {
		json_array_append_new(array, schema_write(operation_fields, &settings->ops[i]));
	}
	return array;
}

/* What was wished for, in short; the resolved values stand in each measurement. */
static json_t *write_plan(const struct run *run)
{
	const struct workload *workload = &run->scenario->workload;
	json_t *object = json_object();

	json_set_u64(object, "measurements", run->measurement_count);
	json_set_string(object, "topology", topology_type_names[run->scenario->topology.type]);
	json_set_string(object, "qp_type", qp_type_names[workload->qp.qp_type]);
	json_set_string(object, "cm", qp_cm_names[workload->qp.cm]);
	json_set_u64(object, "num_qps", workload->qp.num_qps);
	json_set_string(object, "pattern", workload_pattern_names[workload->workload.pattern]);
	json_set_take(object, "ops", write_operation_list(&workload->workload));
	json_set_u64(object, "outstanding", workload->workload.load.outstanding);
	json_set_u64(object, "warmup_ns", workload->run.warmup_ns);
	json_set_u64(object, "duration_ns",
		     workload->run.duration_ns ? workload->run.duration_ns : SCHEMA_AUTO);
	json_set_u64(object, "iterations",
		     workload->run.iterations ? workload->run.iterations : SCHEMA_AUTO);
	return object;
}

static void write_times(const struct run *run, json_t *object)
{
	bool is_over = run->started_real_ns && run->ended_real_ns >= run->started_real_ns;

	json_set_time(object, "queued_at", run->queued_real_ns);
	json_set_time(object, "started_at", run->started_real_ns);
	json_set_time(object, "ended_at", run->ended_real_ns);
	json_set_u64(object, "duration_ns",
		     is_over ? (uint64_t)(run->ended_real_ns - run->started_real_ns) : UINT64_MAX);
}

static json_t *write_retry(const struct run *run)
{
	json_t *object;

	if (run->trigger != TRIGGER_RETRY) {
		return NULL;
	}
	object = json_object();
	json_set_u64(object, "attempt", run->retry.attempt);
	json_set_string(object, "of", run->retry.of);
	json_set_time(object, "since", run->retry.since_real_ns);
	return object;
}

static void write_head(const struct run *run, json_t *object)
{
	json_set_string(object, "id", run->id);
	json_set_string(object, "scenario", run->scenario->name);
	json_set_string(object, "state", run_state_names[run->state]);
	json_set_string(object, "verdict", run->verdict ? verdict_names[run->verdict] : NULL);
	json_set_string(object, "trigger", run_trigger_names[run->trigger]);
	json_set_take(object, "retry", write_retry(run));
	json_set_string(object, "coordinator", run->coordinator);
	write_times(run, object);
	json_set_take(object, "counts", write_counts(run));
}

json_t *run_write_head(const struct run *run)
{
	json_t *object = json_object();

	json_set_string(object, "schema", "rdmatestd.run");
	json_set_u64(object, "schema_version", RESULT_SCHEMA_VERSION);
	write_head(run, object);
	json_set_string(object, "version", RDMATESTD_VERSION);
	json_set_string(object, "description",
			run->scenario->description[0] ? run->scenario->description : NULL);
	json_set_take(object, "labels", labels_write(NULL, &run->scenario->labels));
	json_set_string(object, "source", run->scenario->source[0] ? run->scenario->source : NULL);
	json_set_u64(object, "config_generation", run->config_generation);
	json_set_take(object, "plan", write_plan(run));
	json_set_take(object, "error", failure_write(&run->error));
	json_set_take(object, "findings", finding_write(&run->findings));
	json_set_take(object, "repeats", repeat_write(run));
	return object;
}

json_t *run_write(const struct run *run, bool with_histograms)
{
	json_t *object = run_write_head(run);
	json_t *measurements = json_array();

	for (size_t i = 0; i < run->measurement_count; i++) {
		json_array_append_new(measurements, run_record_measurement(run->measurements[i],
									   with_histograms));
	}
	json_set_take(object, "measurements", measurements);
	return object;
}

const struct finding *run_main_finding(const struct run *run,
				       const struct measurement **ret_measurement)
{
	const struct measurement *worst = NULL;

	*ret_measurement = NULL;
	if (run->findings.count > 0) {
		return &run->findings.items[0];
	}
	for (size_t i = 0; i < run->measurement_count; i++) {
		const struct measurement *measurement = run->measurements[i];

		if (measurement->findings.count > 0 &&
		    (worst == NULL || measurement->verdict > worst->verdict)) {
			worst = measurement;
		}
	}
	*ret_measurement = worst;
	return worst != NULL ? &worst->findings.items[0] : NULL;
}

static json_t *write_first_finding(const struct run *run)
{
	const struct measurement *measurement;
	const struct finding *finding = run_main_finding(run, &measurement);
	json_t *object;
	char code[16];

	if (finding == NULL) {
		return json_null();
	}
	snprintf(code, sizeof(code), "RDT-%04u", finding_info(finding->code)->number);
	object = json_object();
	json_set_string(object, "code", code);
	json_set_string(object, "name", finding_info(finding->code)->slug);
	json_set_string(object, "confidence", confidence_names[finding->confidence]);
	json_set_string(object, "text", finding->text);
	json_set_string(object, "against", finding->against[0] ? finding->against : NULL);
	return object;
}

json_t *run_write_summary(const struct run *run)
{
	json_t *object = json_object();

	write_head(run, object);
	json_set_u64(object, "measurements", run->measurement_count);
	json_set_take(object, "first_finding", write_first_finding(run));
	return object;
}
