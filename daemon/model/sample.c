// SPDX-License-Identifier: MIT
#include "model/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

const char *const sample_phase_names[] = { "warmup", "measuring", "draining", NULL };
const char *const sample_end_names[] = { "duration", "iterations", "stopped", "stalled",
					 "error",    "deadline",   NULL };

/* Numbers of a struct, by name: written and read by one table. */
struct number {
	const char *key;
	size_t offset;
};

#define NUMBER(type, name)                         \
	{                                          \
#name, offsetof(struct type, name) \
	}

static const struct number sample_numbers[] = {
	NUMBER(sample, start_ns),	NUMBER(sample, end_ns),
	NUMBER(sample, operations),	NUMBER(sample, bytes),
	NUMBER(sample, errors),		NUMBER(sample, latency_count),
	NUMBER(sample, latency_min_ns), NUMBER(sample, latency_p50_ns),
	NUMBER(sample, latency_p99_ns), NUMBER(sample, latency_max_ns),
};
#define SAMPLE_NUMBERS (sizeof(sample_numbers) / sizeof(sample_numbers[0]))

static const struct number totals_numbers[] = {
	NUMBER(totals, window_ns),
	NUMBER(totals, first_post_ns),
	NUMBER(totals, operations),
	NUMBER(totals, bytes),
	NUMBER(totals, errors),
	NUMBER(totals, receives),
	NUMBER(totals, clock_read_ns),
	NUMBER(totals, polls),
	NUMBER(totals, empty_polls),
	NUMBER(totals, traffic_operations),
	NUMBER(totals, traffic_bytes),
	NUMBER(totals, worker_cpu_ns),
	NUMBER(totals, involuntary_switches),
};

static const struct number progress_numbers[] = {
	NUMBER(progress, elapsed_ns),
	NUMBER(progress, total_ns),
	NUMBER(progress, operations),
	NUMBER(progress, iterations),
};

#define EACH_NUMBER(item, table)                  \
	for (const struct number *item = (table); \
	     item < (table) + sizeof(table) / sizeof((table)[0]); item++)

static uint64_t *member_u64(const void *object, const struct number *number)
{
	return (uint64_t *)((char *)object + number->offset);
}

/* A word of a list, or -EINVAL. */
static int read_word(const json_t *json, const char *key, const char *const *names, int *ret,
		     struct error *err)
{
	char word[32];
	int r = json_get_string(json, key, word, sizeof(word), err);

	if (r < 0) {
		return r;
	}
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], word)) {
			*ret = i;
			return 0;
		}
	}
	return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": \"%s\" is not one of its words", key,
			 word);
}

/* --- intervals: rows of numbers in the order of the table, to keep frames small --- */

static json_t *write_sample(const struct sample *sample)
{
	json_t *row = json_array();

	EACH_NUMBER(number, sample_numbers)
	{
		json_array_append_new(row, json_integer((json_int_t)*member_u64(sample, number)));
	}
	return row;
}

static int read_sample(const json_t *json, struct sample *ret, struct error *err)
{
	if (!json_is_array(json) || json_array_size(json) != SAMPLE_NUMBERS) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "an interval must be a list of %zu numbers", SAMPLE_NUMBERS);
	}
	for (size_t i = 0; i < SAMPLE_NUMBERS; i++) {
		const json_t *value = json_array_get(json, i);

		if (!json_is_integer(value) || json_integer_value(value) < 0) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "an interval's \"%s\" must be a number from 0 on",
					 sample_numbers[i].key);
		}
		*member_u64(ret, &sample_numbers[i]) = (uint64_t)json_integer_value(value);
	}
	if (ret->end_ns < ret->start_ns) {
		return error_set(err, -EINVAL, ERROR_INPUT, "an interval ends before it starts");
	}
	return 0;
}

/* --- live progress --- */

json_t *sample_progress_write(const struct progress *progress)
{
	json_t *object = json_object();

	json_set_string(object, "phase", sample_phase_names[progress->phase]);
	EACH_NUMBER(number, progress_numbers)
	{
		json_set_u64(object, number->key, *member_u64(progress, number));
	}
	json_set_take(object, "last", write_sample(&progress->last));
	return object;
}

int sample_progress_read(const json_t *json, struct progress *ret, struct error *err)
{
	struct progress progress = { 0 };
	int r = read_word(json, "phase", sample_phase_names, &progress.phase, err);

	EACH_NUMBER(number, progress_numbers)
	{
		if (r == 0) {
			r = json_get_u64(json, number->key, 0, INT64_MAX,
					 member_u64(&progress, number), err);
		}
	}
	if (r == 0) {
		r = read_sample(json_object_get(json, "last"), &progress.last, err);
	}
	if (r == 0) {
		*ret = progress;
	}
	return r;
}

/* --- totals --- */

void sample_totals_init(struct totals *totals)
{
	*totals = (struct totals){ .failure = FAILURE_INIT };
	host_report_init(&totals->host);
}

void sample_totals_done(struct totals *totals)
{
	for (size_t i = 0; i < totals->class_count && totals->classes; i++) {
		free(totals->classes[i].service);
	}
	free(totals->classes);
	free(totals->connections);
	totals->connections = NULL;
	free(totals->intervals);
	totals->classes = NULL;
	totals->intervals = NULL;
	totals->class_count = 0;
	totals->interval_count = 0;
}

size_t sample_whole_intervals(const struct totals *totals)
{
	size_t count = totals->interval_count;

	if (count > 1) {
		const struct sample *first = &totals->intervals[0];
		const struct sample *last = &totals->intervals[count - 1];

		if ((last->end_ns - last->start_ns) * 2 < first->end_ns - first->start_ns) {
			return count - 1;
		}
	}
	return count;
}

bool sample_variation(const struct totals *totals, double *ret)
{
	size_t whole = sample_whole_intervals(totals);
	double sum = 0, squares = 0;
	size_t count = 0;

	for (size_t i = 0; i < whole; i++) {
		const struct sample *sample = &totals->intervals[i];
		uint64_t span_ns = sample->end_ns - sample->start_ns;

		if (span_ns > 0) {
			double rate = (double)sample->operations / (double)span_ns;

			sum += rate;
			squares += rate * rate;
			count++;
		}
	}
	if (count < 3 || sum <= 0) {
		return false;
	}
	squares -= sum * sum / (double)count;
	*ret = sqrt((squares > 0 ? squares : 0) / (double)(count - 1)) * (double)count / sum;
	return true;
}

static json_t *write_class(const struct class_totals *class)
{
	json_t *object = json_object();

	json_set_string(object, "op", operation_names[class->class.kind]);
	json_set_bool(object, "is_inline", class->class.is_inline);
	json_set_u64(object, "size_bytes", class->class.size_bytes);
	json_set_u64(object, "weight", class->class.weight);
	json_set_u64(object, "posted", class->posted);
	json_set_u64(object, "completed", class->completed);
	json_set_u64(object, "bytes", class->bytes);
	json_set_take(object, "latency", histogram_write(&class->latency));
	json_set_take(object, "service_latency",
		      class->service ? histogram_write(class->service) : NULL);
	return object;
}

json_t *sample_totals_write(const struct totals *totals)
{
	json_t *object = json_object();
	json_t *halves = json_array();
	json_t *classes = json_array();
	json_t *intervals = json_array();

	json_set_string(object, "end", sample_end_names[totals->end]);
	EACH_NUMBER(number, totals_numbers)
	{
		json_set_u64(object, number->key, *member_u64(totals, number));
	}
	json_set_string(object, "clock", totals->clock);
	json_set_real(object, "clock_drift_ppm", totals->clock_drift_ppm);
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		if (totals->is_half_round_trip[kind]) {
			json_array_append_new(halves, json_string(operation_names[kind]));
		}
	}
	json_set_u64(object, "late_operations", totals->late_operations);
	json_set_u64(object, "dropped_operations", totals->dropped_operations);
	json_set_take(object, "half_round_trip", halves);
	json_set_bool(object, "round_trip", totals->is_round_trip);
	json_set_take(object, "failure", failure_write(&totals->failure));
	json_set_take(object, "counters",
		      totals->has_counters ? counter_write(&totals->counters) : NULL);
	json_set_take(object, "verification",
		      totals->has_verification ? verification_write(&totals->verification) : NULL);
	json_set_take(object, "port_report", port_report_write(&totals->port_report));
	json_set_take(object, "host", host_report_write(&totals->host));
	json_set_take(object, "steps", step_write(&totals->steps));
	for (size_t i = 0; i < totals->class_count; i++) {
		json_array_append_new(classes, write_class(&totals->classes[i]));
	}
	json_set_take(object, "classes", classes);
	json_set_take(object, "slowest", slowest_write(&totals->slowest));
	json_set_take(object, "connections", connections_write(totals->connections));
	for (size_t i = 0; i < totals->interval_count; i++) {
		json_array_append_new(intervals, write_sample(&totals->intervals[i]));
	}
	json_set_take(object, "intervals", intervals);
	return object;
}

static int read_halves(const json_t *json, struct totals *ret, struct error *err)
{
	json_t *list;
	int r = json_get_array(json, "half_round_trip", OPERATION_KINDS, &list, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));
		int kind = 0;

		while (word && operation_names[kind] && strcmp(operation_names[kind], word) != 0) {
			kind++;
		}
		if (!word || !operation_names[kind]) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "\"half_round_trip\" names no operation");
		}
		ret->is_half_round_trip[kind] = true;
	}
	return 0;
}

/* Null of closed loads. */
static int read_service(const json_t *json, struct class_totals *ret, struct error *err)
{
	const json_t *service = json_object_get(json, "service_latency");

	if (!service || json_is_null(service)) {
		return 0;
	}
	ret->service = memory_try(1, sizeof(*ret->service));
	if (!ret->service) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE, "no memory for a histogram");
	}
	return histogram_read(service, ret->service, err);
}

/* 0, or no, where an end does not tell. */
static int read_load(const json_t *json, struct totals *ret, struct error *err)
{
	int r = 0;

	if (json_object_get(json, "round_trip")) {
		r = json_get_bool(json, "round_trip", &ret->is_round_trip, err);
	}
	if (r < 0) {
		return r;
	}
	if (json_object_get(json, "late_operations")) {
		r = json_get_u64(json, "late_operations", 0, INT64_MAX, &ret->late_operations, err);
	}
	if (r == 0 && json_object_get(json, "dropped_operations")) {
		r = json_get_u64(json, "dropped_operations", 0, INT64_MAX, &ret->dropped_operations,
				 err);
	}
	return r;
}

static int read_class(const json_t *json, struct class_totals *ret, struct error *err)
{
	int r;

	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "an item of \"classes\" must be an object");
	}
	if ((r = read_word(json, "op", operation_names, &ret->class.kind, err)) < 0 ||
	    (r = json_get_bool(json, "is_inline", &ret->class.is_inline, err)) < 0 ||
	    (r = json_get_u64(json, "size_bytes", 0, LIMIT_BUFFER_BYTES, &ret->class.size_bytes,
			      err)) < 0 ||
	    (r = json_get_u64(json, "weight", 0, INT64_MAX, &ret->class.weight, err)) < 0 ||
	    (r = json_get_u64(json, "posted", 0, INT64_MAX, &ret->posted, err)) < 0 ||
	    (r = json_get_u64(json, "completed", 0, INT64_MAX, &ret->completed, err)) < 0 ||
	    (r = json_get_u64(json, "bytes", 0, INT64_MAX, &ret->bytes, err)) < 0) {
		return r;
	}
	r = histogram_read(json_object_get(json, "latency"), &ret->latency, err);
	return r < 0 ? r : read_service(json, ret, err);
}

/* Null where they were not read. */
static int read_counters(const json_t *json, struct totals *ret, struct error *err)
{
	const json_t *counters = json_object_get(json, "counters");

	if (!counters || json_is_null(counters)) {
		return 0;
	}
	ret->has_counters = true;
	return counter_read(counters, &ret->counters, err);
}

/* Null where nothing was verified. */
static int read_verification(const json_t *json, struct totals *ret, struct error *err)
{
	const json_t *verification = json_object_get(json, "verification");
	int r;

	if (!verification || json_is_null(verification)) {
		return 0;
	}
	if (!json_is_object(verification)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"verification\" must be an object");
	}
	ret->has_verification = true;
	r = verification_read(verification, &ret->verification, err);
	if (r < 0) {
		error_prefix(err, "verification");
	}
	return r;
}

static int read_classes(const json_t *json, struct totals *ret, struct error *err)
{
	json_t *list;
	int r = json_get_array(json, "classes", LIMIT_CLASSES, &list, err);
	size_t count = r < 0 ? 0 : json_array_size(list);

	if (count == 0) {
		return r;
	}
	ret->classes = memory_try(count, sizeof(*ret->classes));
	if (!ret->classes) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE, "no memory for %zu histograms",
				 count);
	}
	ret->class_count = count;
	for (size_t i = 0; i < count; i++) {
		r = read_class(json_array_get(list, i), &ret->classes[i], err);
		if (r < 0) {
			error_prefix(err, "classes[%zu]", i);
			return r;
		}
	}
	return 0;
}

static int read_intervals(const json_t *json, struct totals *ret, struct error *err)
{
	json_t *list;
	int r = json_get_array(json, "intervals", LIMIT_INTERVALS, &list, err);
	size_t count = r < 0 ? 0 : json_array_size(list);

	if (count == 0) {
		return r;
	}
	ret->intervals = memory_try(count, sizeof(*ret->intervals));
	if (!ret->intervals) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE, "no memory for %zu intervals",
				 count);
	}
	ret->interval_count = count;
	for (size_t i = 0; i < count; i++) {
		r = read_sample(json_array_get(list, i), &ret->intervals[i], err);
		if (r < 0) {
			error_prefix(err, "intervals[%zu]", i);
			return r;
		}
	}
	return 0;
}

int sample_totals_read(const json_t *json, struct totals *ret, struct error *err)
{
	int r;

	sample_totals_init(ret);
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "totals must be an object");
	}
	r = read_word(json, "end", sample_end_names, &ret->end, err);
	EACH_NUMBER(number, totals_numbers)
	{
		if (r == 0) {
			r = json_get_u64(json, number->key, 0, INT64_MAX, member_u64(ret, number),
					 err);
		}
	}
	if (r < 0 ||
	    (r = json_get_string(json, "clock", ret->clock, sizeof(ret->clock), err)) < 0 ||
	    (r = json_get_real(json, "clock_drift_ppm", &ret->clock_drift_ppm, err)) < 0 ||
	    (r = read_halves(json, ret, err)) < 0 || (r = read_load(json, ret, err)) < 0 ||
	    (r = failure_read(json_object_get(json, "failure"), &ret->failure, err)) < 0 ||
	    (r = step_read(json_object_get(json, "steps"), &ret->steps, err)) < 0 ||
	    (r = read_counters(json, ret, err)) < 0 ||
	    (r = read_verification(json, ret, err)) < 0 ||
	    (r = port_report_read(json_object_get(json, "port_report"), &ret->port_report, err)) <
		    0 ||
	    (r = host_report_read(json_object_get(json, "host"), &ret->host, err)) < 0 ||
	    (r = slowest_read(json_object_get(json, "slowest"), &ret->slowest, err)) < 0 ||
	    (r = connections_read(json_object_get(json, "connections"), &ret->connections, err)) <
		    0 ||
	    (r = read_classes(json, ret, err)) < 0) {
		return r;
	}
	return read_intervals(json, ret, err);
}
