// SPDX-License-Identifier: MIT
#include "model/run_operations.h"

#include <math.h>
#include <string.h>

#include "model/run_record.h"
#include "util/memory.h"

static const struct {
	const char *name;
	uint64_t ppm;
} percentiles[] = {
	{ "50", 500000 },   { "90", 900000 },	 { "99", 990000 },
	{ "99.9", 999000 }, { "99.99", 999900 }, { "99.999", 999990 },
};

static void reset(struct run_operation *operation, const char *scope, const char *op)
{
	operation->scope = scope;
	operation->op = op;
	operation->definition = NULL;
	operation->has_size = false;
	operation->classes = 0;
	operation->posted = 0;
	operation->completed = 0;
	operation->failed = 0;
	operation->bytes = 0;
	operation->has_service = false;
	histogram_reset(&operation->latency);
	histogram_reset(&operation->service);
}

static void add(struct run_operation *operation, const struct totals *totals,
		const struct class_totals *class)
{
	const char *definition = totals->is_half_round_trip[class->class.kind] ? "half_round_trip"
				 : totals->is_round_trip		       ? "round_trip"
				 : class->service ? "intended_to_completion"
						  : "post_to_completion";

	/* What is measured differently is still shown together, and said to be mixed. */
	operation->definition = !operation->definition || !strcmp(operation->definition, definition)
					? definition
					: "mixed";
	operation->has_size = operation->classes == 0;
	operation->size_bytes = class->class.size_bytes;
	operation->classes++;
	operation->posted += class->posted;
	operation->completed += class->completed;
	operation->bytes += class->bytes;
	histogram_merge(&operation->latency, &class->latency);
	if (class->service) {
		operation->has_service = true;
		histogram_merge(&operation->service, class->service);
	}
}

static size_t count_sizes(const struct totals *totals, int kind)
{
	size_t count = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		count += totals->classes[i].class.kind == kind;
	}
	return count;
}

/* kind -1: all. */
static void add_all(struct run_operation *operation, const struct totals *totals, int kind)
{
	for (size_t i = 0; i < totals->class_count; i++) {
		if (kind < 0 || totals->classes[i].class.kind == kind) {
			add(operation, totals, &totals->classes[i]);
		}
	}
}

/* The phases that this end has, in order. */
static bool get_phase(const struct participant *end, bool is_initiator, size_t index,
		      struct run_operation *ret)
{
	const struct connections *connections = end->totals.connections;

	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		const struct connection_phase_totals *totals = &connections->phases[phase];

		if (!connections_has_phase(is_initiator, phase) || index-- > 0) {
			continue;
		}
		reset(ret, "phase", connection_phase_names[phase]);
		ret->definition = "phase";
		ret->posted = totals->latency.count + totals->failed;
		ret->completed = totals->latency.count;
		ret->failed = totals->failed;
		histogram_merge(&ret->latency, &totals->latency);
		return true;
	}
	return false;
}

json_t *run_operations_accepted(const struct participant *end)
{
	_cleanup_free_ struct run_operation *operation = memory_new(sizeof(*operation));
	json_t *array = json_array();

	for (size_t i = 0;
	     end->has_totals && end->totals.connections && get_phase(end, false, i, operation);
	     i++) {
		json_array_append_new(array,
				      run_operations_write(operation, end->totals.window_ns, NULL));
	}
	return array;
}

bool run_operations_get(const struct participant *end, size_t index, struct run_operation *ret)
{
	const struct totals *totals = &end->totals;

	if (!end->has_totals) {
		return false;
	}
	if (totals->connections) {
		return get_phase(end, true, index, ret);
	}
	if (index < totals->class_count) {
		reset(ret, "size", operation_names[totals->classes[index].class.kind]);
		add(ret, totals, &totals->classes[index]);
		return true;
	}
	index -= totals->class_count;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		if (count_sizes(totals, kind) > 1 && index-- == 0) {
			reset(ret, "operation", operation_names[kind]);
			add_all(ret, totals, kind);
			return true;
		}
	}
	if (index > 0) {
		return false;
	}
	reset(ret, "all", "all");
	add_all(ret, totals, -1);
	return true;
}

static void set_known(json_t *object, const char *key, bool is_known, uint64_t value)
{
	json_set_u64(object, key, is_known ? value : UINT64_MAX);
}

static json_t *write_percentiles(const struct histogram *latency)
{
	json_t *array = json_array();

	for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
		bool is_enough = histogram_has_percentile(latency, percentiles[i].ppm);
		json_t *item = json_object();

		json_set_string(item, "p", percentiles[i].name);
		set_known(item, "value_ns", is_enough,
			  histogram_percentile_ns(latency, percentiles[i].ppm));
		json_set_string(item, "reason", is_enough ? NULL : "insufficient_samples");
		json_array_append_new(array, item);
	}
	return array;
}

static json_t *write_latency(const struct histogram *latency, const char *definition,
			     json_t *buckets)
{
	json_t *object = json_object();
	bool has_values = latency->count > 0;

	json_set_string(object, "definition", definition);
	json_set_u64(object, "count", latency->count);
	set_known(object, "min_ns", has_values, latency->min_ns);
	set_known(object, "max_ns", has_values, latency->max_ns);
	run_record_set_real(object, "mean_ns", has_values ? histogram_mean_ns(latency) : NAN);
	run_record_set_real(object, "stddev_ns", has_values ? histogram_stddev_ns(latency) : NAN);
	json_set_take(object, "percentiles", write_percentiles(latency));
	json_set_take(object, "buckets", buckets);
	return object;
}

json_t *run_operations_write(const struct run_operation *operation, uint64_t window_ns,
			     json_t *buckets)
{
	json_t *object = json_object();

	json_set_string(object, "scope", operation->scope);
	json_set_string(object, "op", operation->op);
	set_known(object, "size_bytes", operation->has_size, operation->size_bytes);
	json_set_u64(object, "posted", operation->posted);
	json_set_u64(object, "completed", operation->completed);
	set_known(object, "failed", strcmp(operation->scope, "phase") == 0, operation->failed);
	json_set_u64(object, "bytes", operation->bytes);
	run_record_set_rate(object, "bandwidth_bps", operation->bytes * 8, window_ns);
	run_record_set_rate(object, "ops_per_s", operation->completed, window_ns);
	json_set_take(object, "service_latency",
		      operation->has_service
			      ? write_latency(&operation->service, "post_to_completion", NULL)
			      : NULL);
	json_set_take(object, "latency",
		      write_latency(&operation->latency, operation->definition, buckets));
	return object;
}
