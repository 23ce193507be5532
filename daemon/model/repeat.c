// SPDX-License-Identifier: MIT
#include "model/repeat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/run.h"
#include "model/run_record.h"
#include "util/memory.h"

/* Two-sided 95 % of Student's t by degrees of freedom; between rows the wider one holds. */
static const struct {
	size_t degrees;
	double t;
} quantiles[] = { { 1, 12.706 }, { 2, 4.303 },	{ 3, 3.182 },	{ 4, 2.776 },	{ 5, 2.571 },
		  { 6, 2.447 },	 { 7, 2.365 },	{ 8, 2.306 },	{ 9, 2.262 },	{ 10, 2.228 },
		  { 11, 2.201 }, { 12, 2.179 }, { 13, 2.160 },	{ 14, 2.145 },	{ 15, 2.131 },
		  { 16, 2.120 }, { 18, 2.101 }, { 20, 2.086 },	{ 25, 2.060 },	{ 30, 2.042 },
		  { 40, 2.021 }, { 60, 2.000 }, { 120, 1.980 }, { 1000, 1.962 } };

static double quantile(size_t degrees)
{
	double t = quantiles[0].t;

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
		if (quantiles[i].degrees <= degrees) {
			t = quantiles[i].t;
		}
	}
	return t;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

void repeat_summarize(double *values, size_t count, struct repeat_summary *ret)
{
	double sum = 0, squares = 0, half;

	qsort(values, count, sizeof(*values), compare);
	for (size_t i = 0; i < count; i++) {
		sum += values[i];
	}
	*ret = (struct repeat_summary){
		.count = count,
		.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
		.min = values[0],
		.max = values[count - 1],
		.mean = sum / (double)count,
		.has_interval = count > 1,
	};
	if (count < 2) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		squares += (values[i] - ret->mean) * (values[i] - ret->mean);
	}
	half = quantile(count - 1) * sqrt(squares / (double)(count - 1) / (double)count);
	ret->low = ret->mean - half;
	ret->high = ret->mean + half;
}

static void name_metric(size_t index, char *ret, size_t size)
{
	if (index < REPEAT_P50) {
		snprintf(ret, size, "%s", index == REPEAT_BANDWIDTH ? "bandwidth" : "ops_rate");
	} else if (index >= REPEAT_SETUP_P50) {
		snprintf(ret, size, "setup.latency.%s", index == REPEAT_SETUP_P50 ? "p50" : "p99");
	} else {
		snprintf(ret, size, "%s.latency.%s",
			 operation_names[(index - REPEAT_P50) % OPERATION_KINDS],
			 index < REPEAT_P99 ? "p50" : "p99");
	}
}

static json_t *write_summary(size_t index, const struct repeat_summary *summary)
{
	json_t *object = json_object();
	char name[64];

	name_metric(index, name, sizeof(name));
	json_set_string(object, "metric", name);
	json_set_string(object, "unit",
			index == REPEAT_BANDWIDTH  ? "bps"
			: index == REPEAT_OPS_RATE ? "ops_per_s"
						   : "ns");
	json_set_u64(object, "count", summary->count);
	run_record_set_real(object, "median", summary->median);
	run_record_set_real(object, "min", summary->min);
	run_record_set_real(object, "max", summary->max);
	run_record_set_real(object, "mean", summary->mean);
	run_record_set_real(object, "ci95_low", summary->has_interval ? summary->low : NAN);
	run_record_set_real(object, "ci95_high", summary->has_interval ? summary->high : NAN);
	return object;
}

static json_t *write_group(const struct measurement *first,
			   const struct measurement *const *by_pair, size_t pairs, double *scratch)
{
	json_t *object = json_object();
	json_t *metrics = json_array();

	json_set_u64(object, "pair", first->pair);
	json_set_string(object, "initiator", first->initiator.endpoint.node);
	json_set_string(object, "initiator_device", first->initiator.endpoint.device);
	json_set_string(object, "responder", first->responder.endpoint.node);
	json_set_string(object, "responder_device", first->responder.endpoint.device);
	json_set_u64(object, "repeat_count", first->repeat_count);
	for (size_t index = 0; index < REPEAT_VALUES; index++) {
		struct repeat_summary summary;
		size_t count = 0;

		for (size_t i = first->pair; i < first->pair + first->repeat_count && i < pairs;
		     i++) {
			if (by_pair[i] && by_pair[i]->repeat_values &&
			    !isnan(by_pair[i]->repeat_values->values[index])) {
				scratch[count++] = by_pair[i]->repeat_values->values[index];
			}
		}
		if (count > 0) {
			repeat_summarize(scratch, count, &summary);
			json_array_append_new(metrics, write_summary(index, &summary));
		}
	}
	json_set_take(object, "metrics", metrics);
	return object;
}

json_t *repeat_write(const struct run *run)
{
	_cleanup_free_ double *scratch = NULL;
	_cleanup_free_ const struct measurement **by_pair = NULL;
	json_t *array = json_array();
	size_t pairs = run->measurement_count;

	if (run->state != RUN_DONE || run->scenario->workload.run.repeat < 2) {
		return array;
	}
	/* They stand in the order in which they ended: pairs that share no node run at once. */
	scratch = memory_new_array(pairs + 1, sizeof(*scratch));
	by_pair = memory_new_array(pairs + 1, sizeof(struct measurement *));
	for (size_t i = 0; i < pairs; i++) {
		if (run->measurements[i]->pair < pairs) {
			by_pair[run->measurements[i]->pair] = run->measurements[i];
		}
	}
	for (size_t i = 0; i < pairs; i++) {
		if (by_pair[i] && by_pair[i]->repeat_count > 1 && by_pair[i]->repeat_index == 0) {
			json_array_append_new(array,
					      write_group(by_pair[i], by_pair, pairs, scratch));
		}
	}
	return array;
}
