// SPDX-License-Identifier: MIT
#include "model/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/run_record.h"
#include "util/memory.h"

const char *const outcome_names[] = { "ok", "missed", "inconclusive", NULL };
const char *const run_state_names[] = { "queued", "running", "done", NULL };
const char *const run_trigger_names[] = { "manual", "startup", "schedule", NULL };

struct run *run_new(const struct scenario *scenario)
{
	struct run *run = memory_new(sizeof(*run));

	run->scenario = memory_new(sizeof(*run->scenario));
	*run->scenario = *scenario;
	run->error = FAILURE_INIT;
	return run;
}

static void free_participant(struct participant *end)
{
	free(end->info);
	sample_totals_done(&end->totals);
}

void run_free(struct run *run)
{
	if (!run) {
		return;
	}
	for (size_t i = 0; i < run->measurement_count; i++) {
		free_participant(&run->measurements[i]->initiator);
		free_participant(&run->measurements[i]->responder);
		free(run->measurements[i]);
	}
	free(run->measurements);
	free(run->scenario);
	free(run);
}

struct measurement *run_add_measurement(struct run *run)
{
	struct measurement *measurement = memory_new(sizeof(*measurement));

	measurement->pair = run->measurement_count;
	measurement->first_error = FAILURE_INIT;
	measurement->initiator.failure = FAILURE_INIT;
	measurement->responder.failure = FAILURE_INIT;
	sample_totals_init(&measurement->initiator.totals);
	sample_totals_init(&measurement->responder.totals);
	run->measurements = memory_resize(run->measurements, run->measurement_count + 1,
					  sizeof(*run->measurements));
	run->measurements[run->measurement_count++] = measurement;
	return measurement;
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

static void write_head(const struct run *run, json_t *object)
{
	json_set_string(object, "id", run->id);
	json_set_string(object, "scenario", run->scenario->name);
	json_set_string(object, "state", run_state_names[run->state]);
	json_set_string(object, "verdict", run->verdict ? verdict_names[run->verdict] : NULL);
	json_set_string(object, "trigger", run_trigger_names[run->trigger]);
	json_set_string(object, "coordinator", run->coordinator);
	write_times(run, object);
	json_set_take(object, "counts", write_counts(run));
}

json_t *run_write(const struct run *run, bool with_histograms)
{
	json_t *object = json_object();
	json_t *measurements = json_array();

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
	for (size_t i = 0; i < run->measurement_count; i++) {
		json_array_append_new(measurements, run_record_measurement(run->measurements[i],
									   with_histograms));
	}
	json_set_take(object, "measurements", measurements);
	return object;
}

/* The most telling one: of the run as a whole, else of the worst measurement. */
static const struct findings *telling_findings(const struct run *run)
{
	const struct findings *findings = &run->findings;
	int worst = VERDICT_PASS;

	if (findings->count) {
		return findings;
	}
	for (size_t i = 0; i < run->measurement_count; i++) {
		const struct measurement *measurement = run->measurements[i];

		if (measurement->findings.count &&
		    (measurement->verdict > worst || !findings->count)) {
			worst = measurement->verdict;
			findings = &measurement->findings;
		}
	}
	return findings;
}

static json_t *write_first_finding(const struct run *run)
{
	const struct findings *findings = telling_findings(run);
	const struct finding_info *info;
	json_t *object;
	char code[16];

	if (findings->count == 0) {
		return json_null();
	}
	info = finding_info(findings->items[0].code);
	snprintf(code, sizeof(code), "RDT-%04u", info->number);
	object = json_object();
	json_set_string(object, "code", code);
	json_set_string(object, "name", info->slug);
	json_set_string(object, "confidence", confidence_names[findings->items[0].confidence]);
	json_set_string(object, "text", findings->items[0].text);
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
