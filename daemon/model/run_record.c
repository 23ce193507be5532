// SPDX-License-Identifier: MIT
#include "model/run_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/compat.h"
#include "model/delivery.h"
#include "model/run_operations.h"
#include "model/steady.h"
#include "util/memory.h"

static const char *const metric_units[] = {
	[METRIC_LATENCY] = "ns",	  [METRIC_BANDWIDTH] = "bps",
	[METRIC_OPS_RATE] = "ops_per_s",  [METRIC_ERRORS] = "count",
	[METRIC_SERVICE_LATENCY] = "ns",  [METRIC_LATE_OPS] = "ratio",
	[METRIC_DROPPED_OPS] = "count",	  [METRIC_LOST_OPS] = "count",
	[METRIC_VERIFY_ERRORS] = "count",
};

void run_record_set_real(json_t *object, const char *key, double value)
{
	char digits[32];

	if (!isfinite(value)) {
		json_set_take(object, key, NULL);
		return;
	}
	snprintf(digits, sizeof(digits), "%.6g", value);
	json_set_real(object, key, strtod(digits, NULL));
}

static void set_known(json_t *object, const char *key, bool is_known, uint64_t value)
{
	json_set_u64(object, key, is_known ? value : UINT64_MAX);
}

static const char *known_text(const char *string)
{
	return string[0] ? string : NULL;
}

void run_record_set_rate(json_t *object, const char *key, uint64_t amount, uint64_t window_ns)
{
	run_record_set_real(object, key,
			    window_ns ? (double)amount * 1e9 / (double)window_ns : NAN);
}

/* --- one end --- */

static json_t *write_port(const struct participant *end)
{
	const struct port *port = &end->port;
	json_t *object = json_object();

	json_set_string(object, "link_layer", link_layer_names[port->link_layer]);
	json_set_string(object, "state", port_state_names[port->state]);
	set_known(object, "link_rate_bps", port->link_rate_bps, port->link_rate_bps);
	set_known(object, "link_width", port->link_width, port->link_width);
	json_set_u64(object, "active_mtu_bytes", port->active_mtu_bytes);
	json_set_u64(object, "lid", port->lid);
	json_set_u64(object, "rail", port->rail);
	json_set_u64(object, "numa_node", port->numa_node);
	json_set_string(object, "firmware", known_text(port->firmware));
	json_set_string(object, "driver", known_text(port->driver));
	json_set_string(object, "node_guid", known_text(port->node_guid));
	return object;
}

static json_t *write_prepared(const struct endpoint_info *info)
{
	json_t *object;

	if (!info) {
		return json_null();
	}
	object = json_object();
	json_set_string(object, "gid", known_text(info->gid));
	json_set_u64(object, "lid", info->lid);
	json_set_u64(object, "path_mtu_bytes", info->mtu_bytes);
	json_set_u64(object, "pkey_index", info->pkey_index);
	set_known(object, "pkey", info->pkey, info->pkey);
	json_set_u64(object, "max_inline_data_bytes", info->max_inline_data);
	json_set_u64(object, "buffer_bytes", info->buffer_bytes);
	json_set_u64(object, "num_qps", info->qp_count);
	set_known(object, "first_qp_num", info->qp_count, info->qps[0].qp_num);
	return object;
}

static json_t *write_clock(const struct participant *end)
{
	const struct totals *totals = &end->totals;
	json_t *object = json_object();

	json_set_string(object, "source", end->has_totals ? known_text(totals->clock) : NULL);
	set_known(object, "read_ns", end->has_totals, totals->clock_read_ns);
	run_record_set_real(object, "drift_ppm", end->has_totals ? totals->clock_drift_ppm : NAN);
	json_set_i64(object, "offset_ns", end->clock_offset_ns);
	json_set_i64(object, "offset_error_ns", end->clock_error_ns);
	return object;
}

static json_t *write_worker(const struct totals *totals)
{
	json_t *object = json_object();
	bool has_window = totals->window_ns && totals->worker_cpu_ns;

	json_set_u64(object, "cpu_ns", totals->worker_cpu_ns);
	run_record_set_real(object, "cpu_share",
			    has_window ? (double)totals->worker_cpu_ns / (double)totals->window_ns
				       : NAN);
	json_set_u64(object, "involuntary_switches", totals->involuntary_switches);
	json_set_u64(object, "polls", totals->polls);
	json_set_u64(object, "empty_polls", totals->empty_polls);
	return object;
}

static json_t *write_traffic(const struct totals *totals)
{
	json_t *object = json_object();

	json_set_string(object, "end", sample_end_names[totals->end]);
	json_set_u64(object, "window_ns", totals->window_ns);
	json_set_u64(object, "first_post_ns", totals->first_post_ns);
	json_set_u64(object, "completed", totals->operations);
	json_set_u64(object, "bytes", totals->bytes);
	json_set_u64(object, "errors", totals->errors);
	json_set_u64(object, "receives", totals->receives);
	json_set_u64(object, "late_operations", totals->late_operations);
	json_set_u64(object, "dropped_operations", totals->dropped_operations);
	json_set_u64(object, "traffic_completed", totals->traffic_operations);
	json_set_u64(object, "traffic_bytes", totals->traffic_bytes);
	return object;
}

static json_t *write_end(const struct participant *end)
{
	const struct gid_entry *gid = inventory_gid(&end->port, end->endpoint.gid_index);
	json_t *object = json_object();

	json_set_string(object, "node", end->endpoint.node);
	json_set_string(object, "device", end->endpoint.device);
	json_set_u64(object, "port_num", end->endpoint.port_num);
	json_set_u64(object, "gid_index", end->endpoint.gid_index);
	json_set_string(object, "gid_type", gid != NULL ? gid_type_names[gid->type] : NULL);
	json_set_string(object, "netdev", gid && gid->netdev[0] ? gid->netdev : NULL);
	json_set_u64(object, "vlan", gid && gid->vlan ? gid->vlan : SCHEMA_AUTO);
	json_set_take(object, "port", write_port(end));
	json_set_take(object, "port_use", port_use_note_write(&end->port_use));
	json_set_take(object, "prepared", write_prepared(end->info));
	json_set_take(object, "steps", step_write(&end->steps));
	json_set_take(object, "clock", write_clock(end));
	json_set_take(object, "worker", end->has_totals ? write_worker(&end->totals) : NULL);
	json_set_take(object, "traffic", end->has_totals ? write_traffic(&end->totals) : NULL);
	json_set_take(object, "counters",
		      end->has_totals && end->totals.has_counters
			      ? counter_write(&end->totals.counters)
			      : NULL);
	json_set_take(object, "port_report",
		      end->has_totals ? port_report_write(&end->totals.port_report) : NULL);
	json_set_take(object, "host",
		      end->has_totals ? host_report_write(&end->totals.host) : NULL);
	json_set_take(object, "failure", failure_write(&end->failure));
	return object;
}

static json_t *write_operations(const struct participant *end, bool with_histograms)
{
	_cleanup_free_ struct run_operation *operation = memory_new(sizeof(*operation));
	json_t *array = json_array();

	for (size_t i = 0; run_operations_get(end, i, operation); i++) {
		json_array_append_new(
			array, run_operations_write(operation, end->totals.window_ns,
						    with_histograms ? histogram_write_buckets(
									      &operation->latency)
								    : NULL));
	}
	return array;
}

/* --- the time series and the expectations --- */

json_t *run_record_interval(const struct sample *sample)
{
	uint64_t count = sample->latency_count;
	json_t *object = json_object();

	json_set_u64(object, "start_ns", sample->start_ns);
	json_set_u64(object, "end_ns", sample->end_ns);
	json_set_u64(object, "completed", sample->operations);
	json_set_u64(object, "bytes", sample->bytes);
	json_set_u64(object, "errors", sample->errors);
	run_record_set_rate(object, "bandwidth_bps", sample->bytes * 8,
			    sample->end_ns - sample->start_ns);
	run_record_set_rate(object, "ops_per_s", sample->operations,
			    sample->end_ns - sample->start_ns);
	json_set_u64(object, "latency_count", count);
	set_known(object, "latency_min_ns", count > 0, sample->latency_min_ns);
	set_known(object, "latency_p50_ns", count >= histogram_needed_count(SAMPLE_PPM_P50),
		  sample->latency_p50_ns);
	set_known(object, "latency_p99_ns", count >= histogram_needed_count(SAMPLE_PPM_P99),
		  sample->latency_p99_ns);
	set_known(object, "latency_max_ns", count > 0, sample->latency_max_ns);
	return object;
}

static json_t *write_intervals(const struct participant *end)
{
	json_t *array = json_array();

	for (size_t i = 0; end->has_totals && i < end->totals.interval_count; i++) {
		json_array_append_new(array, run_record_interval(&end->totals.intervals[i]));
	}
	return array;
}

static json_t *write_expectations(const struct measurement *measurement)
{
	json_t *array = json_array();

	for (size_t i = 0; i < measurement->expectation_count; i++) {
		const struct expectation_result *result = &measurement->expectations[i];
		json_t *object = json_object();

		json_set_string(object, "expr", result->expectation.text);
		json_set_string(object, "outcome", outcome_names[result->outcome]);
		run_record_set_real(object, "actual", result->has_actual ? result->actual : NAN);
		run_record_set_real(object, "limit", result->limit);
		json_set_string(object, "unit",
				result->expectation.statistic == STATISTIC_RATIO
					? "ratio"
					: metric_units[result->expectation.metric]);
		json_set_u64(object, "samples", result->samples);
		json_set_string(object, "severity",
				result->expectation.severity == SEVERITY_WARN ? "warn" : "fail");
		json_set_string(object, "source", known_text(result->expectation.source));
		json_set_string(object, "reason", known_text(result->reason));
		json_array_append_new(array, object);
	}
	return array;
}

/* Null where the transport delivers or fails. */
static json_t *write_delivery(const struct measurement *measurement)
{
	struct delivery delivery;
	json_t *object;

	if (!delivery_of(measurement, &delivery)) {
		return NULL;
	}
	object = json_object();
	json_set_u64(object, "sent", delivery.sent);
	json_set_u64(object, "received", delivery.received);
	json_set_u64(object, "lost", delivery.lost);
	run_record_set_real(object, "lost_ratio",
			    delivery.sent > 0 ? (double)delivery.lost / (double)delivery.sent
					      : NAN);
	return object;
}

/* Null where payload was not verified. */
static json_t *write_verification(const struct measurement *measurement)
{
	const struct verify_settings *verify = &measurement->assignment.workload.workload.verify;
	struct verification both;
	json_t *object;

	if (!delivery_verified(measurement, &both)) {
		return NULL;
	}
	object = verification_write(&both);
	json_set_string(object, "method", verify_method_names[verify->method]);
	json_set_u64(object, "sample", verify->sample);
	return object;
}

static json_t *write_slowest(const struct participant *end)
{
	const struct totals *totals = &end->totals;
	json_t *array = json_array();

	for (size_t i = 0; end->has_totals && i < totals->slowest.count; i++) {
		const struct slow_operation *item = &totals->slowest.items[i];
		const struct operation_class *class;
		json_t *object;

		if (item->class_index >= totals->class_count) {
			break; /* run/claim lets none such in */
		}
		class = &totals->classes[item->class_index].class;
		object = json_object();
		json_set_u64(object, "latency_ns", item->latency_ns);
		json_set_u64(object, "end_ns", item->end_ns);
		json_set_string(object, "op", operation_names[class->kind]);
		json_set_u64(object, "size_bytes", class->size_bytes);
		json_set_u64(object, "qp_index", item->qp_index);
		json_set_u64(object, "qp_num", item->qp_num);
		json_array_append_new(array, object);
	}
	return array;
}

/* How the other end saw writes that it answered; null where there were none. */
static const char *writes_seen_by(const struct measurement *measurement)
{
	const struct workload *workload = &measurement->assignment.workload;
	const struct workload_settings *settings = &workload->workload;
	bool has_immediate = false, has_memory = false;

	for (size_t i = 0; workload_is_answered(workload) && i < settings->op_count; i++) {
		const struct operation *op = &settings->ops[i];

		for (size_t j = 0; op->kind == OPERATION_WRITE && j < op->size_count; j++) {
			bool is_receive = workload_is_seen_by_receive(
				workload, op->sizes[j].size_bytes, op->response_bytes);

			has_immediate = has_immediate || is_receive;
			has_memory = has_memory || !is_receive;
		}
	}
	return has_immediate && has_memory ? "both"
	       : has_immediate		   ? "immediate"
	       : has_memory		   ? "memory"
					   : NULL;
}

/* Null but of pattern connect; phases of the initiator are among the operations. */
static json_t *write_connections(const struct measurement *measurement)
{
	const struct connections *a = measurement->initiator.totals.connections;
	const struct connections *b = measurement->responder.totals.connections;
	json_t *object;

	if (!a) {
		return NULL;
	}
	object = json_object();
	json_set_u64(object, "completed", measurement->initiator.totals.operations);
	json_set_u64(object, "failed", connections_failed(a));
	json_set_u64(object, "retried", a->retried);
	set_known(object, "refused", b != NULL, b ? b->refused : 0);
	json_set_take(object, "accepted", run_operations_accepted(&measurement->responder));
	return object;
}

static double per_second(const struct participant *end, uint64_t amount)
{
	return end->has_totals && end->totals.window_ns > 0
		       ? (double)amount * 1e9 / (double)end->totals.window_ns
		       : NAN;
}

/* null: too few intervals to say; from_ns null: it never was. */
static json_t *write_steady(const struct totals *totals)
{
	struct steady steady;
	json_t *object;

	if (!steady_find(totals, &steady)) {
		return NULL;
	}
	object = json_object();
	run_record_set_real(object, "within", STEADY_WITHIN);
	set_known(object, "from_ns", steady.is_reached,
		  steady.is_reached ? totals->intervals[steady.first].start_ns : 0);
	json_set_u64(object, "intervals", steady.count);
	run_record_set_real(object, "ops_per_s", steady.is_reached ? steady.ops_per_s : NAN);
	return object;
}

/* Mean of the operations in flight, by Little's law; NaN where their latencies are not known. */
static double in_flight(const struct measurement *measurement, const struct participant *end)
{
	const struct totals *totals = &end->totals;
	double sum_ns = 0;

	/* What was in flight when it failed has no latency, and is missing in the sum. */
	if (measurement->assignment.workload.workload.pattern != PATTERN_STREAM ||
	    totals->window_ns == 0 || totals->operations == 0 || totals->end > END_STOPPED) {
		return NAN;
	}
	for (size_t i = 0; i < totals->class_count; i++) {
		const struct class_totals *class = &totals->classes[i];
		const struct histogram *latency = class->service ? class->service : &class->latency;

		if (class->completed > 0) {
			sum_ns += (double)class->completed *
				  (latency->count > 0 ? histogram_mean_ns(latency) : NAN);
		}
	}
	return sum_ns / (double)totals->window_ns;
}

/* What one end that posts measured in its window. */
static void write_measured(json_t *object, const struct measurement *measurement,
			   const struct participant *end)
{
	const struct totals *totals = &end->totals;
	double variation = NAN;

	(void)sample_variation(totals, &variation);
	json_set_string(object, "end", end->has_totals ? sample_end_names[totals->end] : NULL);
	set_known(object, "window_ns", end->has_totals && totals->window_ns, totals->window_ns);
	json_set_u64(object, "completed", totals->operations);
	json_set_u64(object, "bytes", totals->bytes);
	run_record_set_real(object, "bandwidth_bps", per_second(end, totals->bytes * 8));
	run_record_set_real(object, "ops_per_s", per_second(end, totals->operations));
	run_record_set_real(object, "ops_per_s_cv", variation);
	json_set_take(object, "steady", write_steady(totals));
	run_record_set_real(object, "in_flight_mean", in_flight(measurement, end));
	json_set_take(object, "slowest", write_slowest(end));
}

/* Both directions together, each by its own window, as perftest adds them. */
static json_t *write_both(const struct measurement *measurement)
{
	const struct participant *a = &measurement->initiator;
	const struct participant *b = &measurement->responder;
	json_t *object;

	if (!run_is_mutual(measurement)) {
		return NULL;
	}
	object = json_object();
	json_set_u64(object, "completed", a->totals.operations + b->totals.operations);
	json_set_u64(object, "bytes", a->totals.bytes + b->totals.bytes);
	run_record_set_real(object, "bandwidth_bps",
			    per_second(a, a->totals.bytes * 8) +
				    per_second(b, b->totals.bytes * 8));
	run_record_set_real(object, "ops_per_s",
			    per_second(a, a->totals.operations) +
				    per_second(b, b->totals.operations));
	return object;
}

json_t *run_record_reverse(const struct measurement *measurement)
{
	json_t *object;

	if (!run_is_mutual(measurement)) {
		return NULL;
	}
	object = json_object();
	write_measured(object, measurement, &measurement->responder);
	return object;
}

json_t *run_record_head(const struct measurement *measurement)
{
	const struct participant *initiator = &measurement->initiator;
	const struct totals *totals = &initiator->totals;
	json_t *object = json_object();

	json_set_u64(object, "pair", measurement->pair);
	json_set_u64(object, "repeat_index", measurement->repeat_index);
	json_set_u64(object, "repeat_count",
		     measurement->repeat_count ? measurement->repeat_count : 1);
	json_set_string(object, "verdict",
			measurement->verdict ? verdict_names[measurement->verdict] : NULL);
	json_set_time(object, "started_at", measurement->started_real_ns);
	json_set_time(object, "ended_at", measurement->ended_real_ns);
	set_known(object, "accepted_to_first_post_ns", measurement->accepted_to_first_post_ns,
		  measurement->accepted_to_first_post_ns);
	json_set_take(object, "initiator", write_end(initiator));
	json_set_take(object, "responder", write_end(&measurement->responder));
	json_set_take(object, "coordination", step_write(&measurement->coordination));
	json_set_take(object, "workload",
		      schema_write(workload_section_fields, &measurement->assignment.workload));
	json_set_u64(object, "seed", measurement->assignment.seed);
	write_measured(object, measurement, initiator);
	json_set_u64(object, "errors", totals->errors + measurement->responder.totals.errors);
	json_set_take(object, "both", write_both(measurement));
	json_set_string(object, "writes_seen_by", writes_seen_by(measurement));
	json_set_take(object, "compat", compat_write(measurement));
	json_set_take(object, "delivery", write_delivery(measurement));
	json_set_take(object, "verification", write_verification(measurement));
	json_set_take(object, "connections", write_connections(measurement));
	json_set_take(object, "first_error", failure_write(&measurement->first_error));
	json_set_take(object, "teardown", failure_write(&measurement->teardown));
	json_set_take(object, "findings", finding_write(&measurement->findings));
	json_set_take(object, "expect", write_expectations(measurement));
	return object;
}

json_t *run_record_measurement(const struct measurement *measurement, bool with_histograms)
{
	json_t *object = run_record_head(measurement);
	json_t *reverse;

	json_set_take(object, "operations",
		      write_operations(&measurement->initiator, with_histograms));
	json_set_take(object, "intervals", write_intervals(&measurement->initiator));
	reverse = run_record_reverse(measurement);
	if (reverse) {
		json_set_take(reverse, "operations",
			      write_operations(&measurement->responder, with_histograms));
		json_set_take(reverse, "intervals", write_intervals(&measurement->responder));
	}
	json_set_take(object, "reverse", reverse);
	return object;
}
