// SPDX-License-Identifier: MIT
#include "http/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/metrics_store.h"
#include "model/delivery.h"
#include "util/clock.h"
#include "util/memory.h"

/* Series that do not depend on scenarios and peers: gauges, ports, requests. */
#define SERIES_RESERVED 250
#define BUCKETS METRICS_STORE_BUCKETS
#define PERCENTILES METRICS_STORE_PERCENTILES
#define PEER_SIZE METRICS_STORE_PEER_SIZE

#define OPERATION_COST (2 + BUCKETS + 3)
#define SCENARIO_COST                                                                       \
	(VERDICT_COUNT - 1 + 1 + 1 + 2 + METRICS_STORE_VERIFY_ERRORS) /* verdicts, errors,  \
								     connections, messages, \
								     verification */
#define LAST_COST (2 + PERCENTILES)
#define PAIR_COST 3
#define PHASE_COST (1 + BUCKETS + 3)

struct metrics *metrics_new(const char *node_name)
{
	struct metrics *metrics = memory_new(sizeof(*metrics));

	metrics->node_name = node_name;
	metrics->started_real_ns = clock_real_ns();
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics) {
		return;
	}
	free(metrics->scenarios);
	free(metrics->pairs);
	free(metrics->requests);
	free(metrics);
}

/* --- the budget --- */

static bool take_budget(struct metrics *metrics, size_t cost)
{
	if (metrics->used + cost > METRICS_SERIES_BUDGET - SERIES_RESERVED) {
		metrics->dropped += cost;
		return false;
	}
	metrics->used += cost;
	return true;
}

static size_t scenario_cost(const struct scenario_series *scenario)
{
	size_t cost = SCENARIO_COST;

	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		cost += scenario->operations[kind].is_kept ? OPERATION_COST : 0;
	}
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		cost += scenario->phases[phase].is_kept ? PHASE_COST : 0;
	}
	return cost;
}

static size_t pair_cost(const struct pair_series *pair)
{
	size_t cost = PAIR_COST;

	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		cost += pair->operations[kind].is_kept ? LAST_COST : 0;
	}
	cost += pair->connections.is_kept ? LAST_COST : 0;
	return cost;
}

static struct scenario_series *find_scenario(struct metrics *metrics, const char *name)
{
	for (size_t i = 0; i < metrics->scenario_count; i++) {
		if (strcmp(metrics->scenarios[i].name, name) == 0) {
			return &metrics->scenarios[i];
		}
	}
	return NULL;
}

static struct scenario_series *add_scenario(struct metrics *metrics, const char *name)
{
	struct scenario_series *scenario = find_scenario(metrics, name);

	if (scenario || !take_budget(metrics, SCENARIO_COST)) {
		return scenario;
	}
	metrics->scenarios = memory_resize(metrics->scenarios, metrics->scenario_count + 1,
					   sizeof(metrics->scenarios[0]));
	scenario = &metrics->scenarios[metrics->scenario_count++];
	memset(scenario, 0, sizeof(*scenario));
	text_copy(scenario->name, sizeof(scenario->name), name);
	return scenario;
}

static struct pair_series *add_pair(struct metrics *metrics, const char *scenario, const char *peer)
{
	struct pair_series *pair;

	for (size_t i = 0; i < metrics->pair_count; i++) {
		pair = &metrics->pairs[i];
		if (strcmp(pair->scenario, scenario) == 0 && strcmp(pair->peer, peer) == 0) {
			return pair;
		}
	}
	if (!take_budget(metrics, PAIR_COST)) {
		return NULL;
	}
	metrics->pairs =
		memory_resize(metrics->pairs, metrics->pair_count + 1, sizeof(metrics->pairs[0]));
	pair = &metrics->pairs[metrics->pair_count++];
	memset(pair, 0, sizeof(*pair));
	text_copy(pair->scenario, sizeof(pair->scenario), scenario);
	text_copy(pair->peer, sizeof(pair->peer), peer);
	return pair;
}

/* --- what is there to be told of --- */

static bool is_node(const struct config *config, const char *name, size_t length)
{
	const char *own = config->daemon.node_name;

	if (strlen(own) == length && strncmp(own, name, length) == 0) {
		return true;
	}
	for (size_t i = 0; i < config->peer_count; i++) {
		if (strlen(config->peers[i].name) == length &&
		    strncmp(config->peers[i].name, name, length) == 0) {
			return true;
		}
	}
	return false;
}

/* A peer, or two joined by "->". */
static bool is_peer(const struct config *config, const char *peer)
{
	const char *arrow = strstr(peer, "->");

	if (!arrow) {
		return is_node(config, peer, strlen(peer));
	}
	return is_node(config, peer, (size_t)(arrow - peer)) &&
	       is_node(config, arrow + 2, strlen(arrow + 2));
}

void metrics_configure(struct metrics *metrics, const struct config *config)
{
	size_t kept = 0;

	for (size_t i = 0; i < metrics->scenario_count; i++) {
		if (config_scenario(config, metrics->scenarios[i].name)) {
			metrics->scenarios[kept++] = metrics->scenarios[i];
		} else {
			metrics->used -= scenario_cost(&metrics->scenarios[i]);
		}
	}
	metrics->scenario_count = kept;
	kept = 0;
	for (size_t i = 0; i < metrics->pair_count; i++) {
		const struct pair_series *pair = &metrics->pairs[i];

		if (config_scenario(config, pair->scenario) && is_peer(config, pair->peer)) {
			metrics->pairs[kept++] = *pair;
		} else {
			metrics->used -= pair_cost(pair);
		}
	}
	metrics->pair_count = kept;
	for (size_t i = 0; i < config->scenario_count; i++) {
		add_scenario(metrics, config->scenarios[i]->name);
	}
}

/* --- what runs came to --- */

/* All sizes of an operation together, of all ends that posted it. */
struct operation_sum {
	bool is_there;
	uint64_t completed;
	uint64_t bytes;
	double bytes_per_s; /* of each end by its own window */
	double operations_per_s;
	struct histogram latency;
};

static void sum_end(const struct totals *totals, int kind, struct operation_sum *ret)
{
	uint64_t completed = 0, bytes = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		if (totals->classes[i].class.kind == kind) {
			completed += totals->classes[i].completed;
			bytes += totals->classes[i].bytes;
			histogram_merge(&ret->latency, &totals->classes[i].latency);
			ret->is_there = true;
		}
	}
	ret->completed += completed;
	ret->bytes += bytes;
	if (totals->window_ns > 0) {
		ret->bytes_per_s += (double)bytes * 1e9 / (double)totals->window_ns;
		ret->operations_per_s += (double)completed * 1e9 / (double)totals->window_ns;
	}
}

/* False when the measurement has none of it. */
static bool sum_operation(const struct measurement *measurement, int kind,
			  struct operation_sum *ret)
{
	ret->is_there = false;
	ret->completed = 0;
	ret->bytes = 0;
	ret->bytes_per_s = 0;
	ret->operations_per_s = 0;
	histogram_reset(&ret->latency);
	sum_end(&measurement->initiator.totals, kind, ret);
	if (run_is_mutual(measurement)) {
		sum_end(&measurement->responder.totals, kind, ret);
	}
	return ret->is_there;
}

static void count_operation(struct metrics *metrics, struct operation_series *series,
			    const struct operation_sum *sum)
{
	if (!series->is_kept && !take_budget(metrics, OPERATION_COST)) {
		return;
	}
	series->is_kept = true;
	series->operations += sum->completed;
	series->bytes += sum->bytes;
	series->count += sum->latency.count;
	series->sum_ns += sum->latency.sum_ns;
	for (size_t i = 0; i < BUCKETS; i++) {
		series->buckets[i] +=
			histogram_count_below(&sum->latency, metrics_store_buckets[i].le_ns);
	}
}

/* Of several ports to the same peer the worst one is told. */
static void keep_last(struct metrics *metrics, struct last_series *series,
		      const struct operation_sum *sum)
{
	if (!series->is_kept && !take_budget(metrics, LAST_COST)) {
		return;
	}
	series->is_kept = true;
	if (!series->has_rates || sum->bytes_per_s < series->bandwidth_bytes_per_s) {
		series->bandwidth_bytes_per_s = sum->bytes_per_s;
	}
	if (!series->has_rates || sum->operations_per_s < series->operations_per_s) {
		series->operations_per_s = sum->operations_per_s;
	}
	series->has_rates = true;
	for (size_t i = 0; i < PERCENTILES; i++) {
		uint64_t ns =
			histogram_has_percentile(&sum->latency, metrics_store_percentiles[i].ppm)
				? histogram_percentile_ns(&sum->latency,
							  metrics_store_percentiles[i].ppm)
				: 0;

		series->percentile_ns[i] = ns > series->percentile_ns[i] ? ns
									 : series->percentile_ns[i];
	}
}

static void count_phase(struct metrics *metrics, struct phase_series *series,
			const struct connection_phase_totals *totals)
{
	if (!series->is_kept && !take_budget(metrics, PHASE_COST)) {
		return;
	}
	series->is_kept = true;
	series->failed += totals->failed;
	series->count += totals->latency.count;
	series->sum_ns += totals->latency.sum_ns;
	for (size_t i = 0; i < BUCKETS; i++) {
		series->buckets[i] +=
			histogram_count_below(&totals->latency, metrics_store_buckets[i].le_ns);
	}
}

/* Of pattern connect: connections as such, with the latency of their set-up, and each phase. */
static void observe_connections(struct metrics *metrics, struct scenario_series *scenario,
				struct pair_series *pair, const struct totals *totals,
				struct operation_sum *sum)
{
	const struct connections *connections = totals->connections;

	scenario->connections += totals->operations;
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		if (connections_has_phase(true, phase)) {
			count_phase(metrics, &scenario->phases[phase], &connections->phases[phase]);
		}
	}
	if (!pair || totals->window_ns == 0) {
		return;
	}
	sum->bytes_per_s = 0;
	sum->operations_per_s = (double)totals->operations * 1e9 / (double)totals->window_ns;
	histogram_reset(&sum->latency);
	histogram_merge(&sum->latency, &connections->phases[CONNECTION_SETUP].latency);
	keep_last(metrics, &pair->connections, sum);
}

static void name_peer(const struct metrics *metrics, const struct measurement *measurement,
		      char *ret)
{
	const char *initiator = measurement->initiator.endpoint.node;
	const char *responder = measurement->responder.endpoint.node;

	if (strcmp(initiator, metrics->node_name) == 0) {
		text_copy(ret, PEER_SIZE, responder);
	} else if (strcmp(responder, metrics->node_name) == 0) {
		text_copy(ret, PEER_SIZE, initiator);
	} else {
		snprintf(ret, PEER_SIZE, "%s->%s", initiator, responder);
	}
}

static void begin_pair(struct metrics *metrics, struct pair_series *pair, const struct run *run)
{
	if (pair->run == metrics->runs) {
		return;
	}
	pair->run = metrics->runs;
	pair->verdict = VERDICT_NONE;
	pair->ended_real_ns = run->ended_real_ns;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		bool is_kept = pair->operations[kind].is_kept;

		pair->operations[kind] = (struct last_series){ .is_kept = is_kept };
	}
	pair->connections = (struct last_series){ .is_kept = pair->connections.is_kept };
}

static uint64_t ended_mono_ns(const struct run *run)
{
	return run->started_mono_ns + (uint64_t)(run->ended_real_ns - run->started_real_ns);
}

/* What could not be tried neither fails nor shows that all is well. */
static void close_pair(struct pair_series *pair, const struct run *run)
{
	uint64_t now_mono_ns = ended_mono_ns(run);

	if (pair->verdict > VERDICT_UNSUPPORTED) {
		pair->failing_mono_ns = pair->failing_mono_ns ? pair->failing_mono_ns : now_mono_ns;
	} else if (pair->verdict != VERDICT_UNSUPPORTED && pair->failing_mono_ns) {
		pair->recovery_ns = now_mono_ns - pair->failing_mono_ns;
		pair->failing_mono_ns = 0;
	}
}

static void close_pairs(struct metrics *metrics, const struct run *run)
{
	for (size_t i = 0; i < metrics->pair_count; i++) {
		if (metrics->pairs[i].run == metrics->runs) {
			close_pair(&metrics->pairs[i], run);
		}
	}
}

static void count_verified(struct scenario_series *scenario, const struct measurement *measurement)
{
	struct verification both;

	if (delivery_verified(measurement, &both)) {
		scenario->verify_errors[0] += both.corrupted;
		scenario->verify_errors[1] += both.lost;
		scenario->verify_errors[2] += both.duplicated;
		scenario->verify_errors[3] += both.reordered;
	}
}

static void count_delivered(struct scenario_series *scenario, const struct measurement *measurement)
{
	struct delivery delivery;

	if (delivery_of(measurement, &delivery)) {
		scenario->messages_sent += delivery.sent;
		scenario->messages_lost += delivery.lost;
	}
}

static void observe_measurement(struct metrics *metrics, struct scenario_series *scenario,
				const struct run *run, const struct measurement *measurement,
				struct operation_sum *sum)
{
	const struct totals *totals = &measurement->initiator.totals;
	struct pair_series *pair;
	char peer[PEER_SIZE];

	name_peer(metrics, measurement, peer);
	pair = add_pair(metrics, run->scenario->name, peer);
	if (pair) {
		begin_pair(metrics, pair, run);
		pair->verdict = (int)verdict_worse((enum verdict)pair->verdict,
						   (enum verdict)measurement->verdict);
	}
	if (!measurement->initiator.has_totals) {
		return;
	}
	count_verified(scenario, measurement);
	count_delivered(scenario, measurement);
	scenario->errors += totals->errors;
	if (run_is_mutual(measurement)) {
		scenario->errors += measurement->responder.totals.errors;
	}
	if (totals->connections) {
		observe_connections(metrics, scenario, pair, totals, sum);
	}
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		if (!sum_operation(measurement, kind, sum)) {
			continue;
		}
		count_operation(metrics, &scenario->operations[kind], sum);
		if (pair && totals->window_ns > 0) {
			keep_last(metrics, &pair->operations[kind], sum);
		}
	}
}

bool metrics_observe_piece(struct metrics *metrics, const struct run *run, size_t from,
			   size_t count)
{
	struct scenario_series *scenario = add_scenario(metrics, run->scenario->name);
	_cleanup_free_ struct operation_sum *sum = memory_new(sizeof(*sum));
	size_t left = run->measurement_count - from;

	metrics->runs += from == 0;
	if (!scenario) {
		return false;
	}
	scenario->verdicts[run->verdict] += from == 0;
	for (size_t i = 0; i < left && i < count; i++) {
		observe_measurement(metrics, scenario, run, run->measurements[from + i], sum);
	}
	if (left > count) {
		return true;
	}
	close_pairs(metrics, run);
	return false;
}

void metrics_observe(struct metrics *metrics, const struct run *run)
{
	metrics_observe_piece(metrics, run, 0, SIZE_MAX);
}

void metrics_count_request(struct metrics *metrics, const char *route, unsigned status)
{
	struct request_series *series;

	for (size_t i = 0; i < metrics->request_count; i++) {
		series = &metrics->requests[i];
		if (series->status == status && strcmp(series->route, route) == 0) {
			series->count++;
			return;
		}
	}
	metrics->requests = memory_resize(metrics->requests, metrics->request_count + 1,
					  sizeof(metrics->requests[0]));
	series = &metrics->requests[metrics->request_count++];
	*series = (struct request_series){ .route = route, .status = status, .count = 1 };
}

size_t metrics_series(const struct metrics *metrics)
{
	return metrics->written;
}

/* Nothing where the last run did not measure it. */
static void add_last(json_t *list, const char *name, bool has_bandwidth,
		     const struct last_series *series)
{
	static const char *const keys[PERCENTILES] = { "p50_ns", "p99_ns", "p99.9_ns" };
	json_t *object;

	if (!series->has_rates) {
		return;
	}
	object = json_object();
	json_set_string(object, "operation", name);
	if (has_bandwidth) {
		json_set_real(object, "bandwidth_bps", series->bandwidth_bytes_per_s * 8);
	} else {
		json_set_take(object, "bandwidth_bps", NULL);
	}
	json_set_real(object, "ops_per_s", series->operations_per_s);
	for (size_t i = 0; i < PERCENTILES; i++) {
		json_set_u64(object, keys[i],
			     series->percentile_ns[i] ? series->percentile_ns[i] : UINT64_MAX);
	}
	json_array_append_new(list, object);
}

static json_t *write_last_operations(const struct pair_series *pair)
{
	json_t *list = json_array();

	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		add_last(list, operation_names[kind], true, &pair->operations[kind]);
	}
	add_last(list, "connection", false, &pair->connections);
	return list;
}

json_t *metrics_last_at(const struct metrics *metrics, size_t index)
{
	const struct pair_series *pair;
	json_t *object;

	if (index >= metrics->pair_count) {
		return NULL;
	}
	pair = &metrics->pairs[index];
	object = json_object();
	json_set_string(object, "scenario", pair->scenario);
	json_set_string(object, "peer", pair->peer);
	json_set_string(object, "verdict", verdict_names[pair->verdict]);
	json_set_time(object, "ended_at", pair->ended_real_ns);
	json_set_take(object, "operations", write_last_operations(pair));
	return object;
}
