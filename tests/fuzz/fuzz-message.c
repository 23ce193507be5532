// SPDX-License-Identifier: MIT
/*
 * The nouns that daemons send each other, and what becomes of them: assignments up to the deck that
 * the engine deals from, inventories up to the choice of GIDs, totals up to verdict and record.
 * The input is one JSON object with any of the keys below, each as a message has it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/permit.h"
#include "fuzz/fuzz.h"
#include "http/metrics.h"
#include "http/records.h"
#include "judge/judgement.h"
#include "model/port_use.h"
#include "model/run.h"
#include "util/memory.h"

#define NODE "node1"
#define COORDINATOR "node2"

/* --- objects of one table --- */

/* What was read is written, read and written the same. */
static void check_table(const struct schema_field *fields, const void *object, size_t size)
{
	_cleanup_json_ json_t *json = schema_write(fields, object);
	_cleanup_json_ json_t *again = NULL;
	void *back = memory_new(size);
	struct error err = ERROR_INIT;

	assert(schema_read(fields, json, back, &err) == 0);
	again = schema_write(fields, back);
	fuzz_expect_same(json, again);
	free(back);
}

/* NULL when the key is not there or cannot be read. Caller frees. */
static void *read_table(const json_t *message, const char *key, const struct schema_field *fields,
			size_t size)
{
	const json_t *json = json_object_get(message, key);
	struct error err = ERROR_INIT;
	void *object = memory_new(size);

	if (json && schema_read(fields, json, object, &err) == 0) {
		check_table(fields, object, size);
		fuzz_accept();
		return object;
	}
	if (json) {
		fuzz_expect_error(&err);
	}
	free(object);
	return NULL;
}

static void check_info(const json_t *message)
{
	struct endpoint_info *info =
		read_table(message, "info", endpoint_info_fields, sizeof(*info));

	/* Pattern connect has none yet; the agent compares them with its assignment. */
	assert(!info || info->qp_count <= LIMIT_QPS);
	free(info);
}

static void check_scenario(const json_t *message)
{
	struct scenario *scenario =
		read_table(message, "scenario", scenario_fields, sizeof(*scenario));

	if (scenario) {
		scenario_check(scenario, NULL, NULL);
	}
	free(scenario);
}

/* --- inventory --- */

static void check_inventory(const json_t *message)
{
	struct inventory *inventory =
		read_table(message, "inventory", inventory_fields, sizeof(*inventory));

	if (!inventory) {
		return;
	}
	json_decref(records_devices(inventory));
	for (size_t i = 1; i < inventory->port_count; i++) {
		const struct port *a = &inventory->ports[i - 1];
		const struct port *b = &inventory->ports[i];
		struct error err = ERROR_INIT;
		uint64_t index_a = 0;
		uint64_t index_b = 0;

		if (inventory_pick_gids(a, a->configured_gid_index, b, b->configured_gid_index,
					&index_a, &index_b, &err) < 0) {
			fuzz_expect_error(&err);
		} else if (a->link_layer != LINK_LAYER_INFINIBAND) {
			assert(inventory_gid(a, index_a) && inventory_gid(b, index_b));
		}
		assert(inventory_port(inventory, a->device, a->port_num));
	}
	free(inventory);
}

/* --- assignment --- */

/* As the engine deals the order of operations. */
static void deal(const struct assignment *assignment)
{
	const struct workload *workload = &assignment->workload;
	struct operation_class classes[LIMIT_CLASSES];
	uint64_t interval = workload->workload.signal_interval;
	uint64_t total;
	size_t count = operation_classes(workload->workload.ops, workload->workload.op_count,
					 workload->qp.max_inline_data, classes, &total);
	size_t length = operation_deck_length(classes, count, interval,
					      workload->workload.post_list,
					      workload->workload.load.outstanding);
	_cleanup_free_ uint16_t *deck = memory_new_array(length, sizeof(*deck));
	bool has_card[LIMIT_CLASSES] = { false };

	assert(!workload_has_writes_with_immediate(&assignment->workload) ||
	       workload_is_answered(&assignment->workload));
	assert(count > 0 && total > 0 && length % interval == 0);
	operation_deck(classes, count, interval, assignment->seed, deck, length);
	for (size_t i = 0; i < length; i++) {
		assert(deck[i] < count);
		has_card[deck[i]] = true;
	}
	for (size_t i = 0; i < count; i++) {
		assert(has_card[i]);
	}
}

static void check_permit(const struct assignment *assignment)
{
	_cleanup_free_ struct inventory *inventory = memory_new(sizeof(*inventory));
	_cleanup_free_ struct daemon_settings *settings = memory_new(sizeof(*settings));
	struct permit_usage usage = { .jobs = 1, .qps = 8, .pinned_bytes = 1 << 20 };
	struct port *port = &inventory->ports[0];
	struct error err = ERROR_INIT;
	uint64_t retry_after_ns = 0;

	schema_defaults(daemon_fields, settings);
	inventory->port_count = 1;
	*port = (struct port){ .device = "rxe0",
			       .port_num = 1,
			       .state = PORT_STATE_ACTIVE,
			       .link_layer = LINK_LAYER_ETHERNET,
			       .active_mtu_bytes = 1024,
			       .max_mtu_bytes = 4096,
			       .pkey_count = 1,
			       .gid_count = 1,
			       .gids = { { .index = 1, .gid = "::ffff:10.0.0.1" } } };
	port->limits = (struct device_limits){ .max_qp = 1 << 20,
					       .max_qp_wr = 1 << 20,
					       .max_sge = 32,
					       .max_cqe = 32767,
					       .max_mr_bytes = 1ull << 40,
					       .max_qp_rd_atom = 128,
					       .max_qp_init_rd_atom = 128,
					       .max_msg_bytes = 1 << 23 };
	if (permit_check(assignment, COORDINATOR, NULL, NODE, inventory, &settings->limits, &usage,
			 &retry_after_ns, &err) != PERMIT_YES) {
		assert(error_is_set(&err) && err.call[0] && err.class != ERROR_BUG);
		fuzz_expect_readable(err.text, false);
		return;
	}
	/* The limits hold, whatever the numbers were. */
	assert(assignment_pinned_bytes(assignment) + usage.pinned_bytes <=
	       settings->limits.max_pinned_bytes);
	assert(assignment->workload.qp.num_qps + usage.qps <= settings->limits.max_qps);
	assert(workload_timeout_ns(&assignment->workload) <= LIMIT_RUN_DURATION_NS * 2);
	if (!workload_is_connecting(&assignment->workload)) {
		deal(assignment);
	}
}

static void check_assignment(const json_t *message)
{
	struct assignment *assignment =
		read_table(message, "assignment", assignment_fields, sizeof(*assignment));
	struct error err = ERROR_INIT;

	if (!assignment) {
		return;
	}
	assert(workload_timeout_ns(&assignment->workload) > 0);
	if (assignment_check(assignment, &err) < 0) {
		fuzz_expect_error(&err);
	}
	check_permit(assignment);
	free(assignment);
}

/* --- what an end tells of its port, before the traffic --- */

static void check_port_use(const json_t *message)
{
	const json_t *json = json_object_get(message, "port_use");
	_cleanup_json_ json_t *written = NULL;
	_cleanup_json_ json_t *again = NULL;
	struct port_use_note note;
	struct error err = ERROR_INIT;

	if (!json) {
		return;
	}
	if (port_use_note_read(json, &note, &err) < 0) {
		fuzz_expect_error(&err);
		return;
	}
	fuzz_accept();
	written = port_use_note_write(&note);
	assert(port_use_note_read(written, &note, &err) == 0);
	again = port_use_note_write(&note);
	fuzz_expect_same(written, again);
	fuzz_expect_json(written);
}

/* --- what an end tells of its traffic --- */

static void check_progress(const json_t *message)
{
	struct progress progress = { 0 };
	struct error err = ERROR_INIT;
	json_t *json = json_object_get(message, "progress");
	json_t *written;

	if (!json) {
		return;
	}
	if (sample_progress_read(json, &progress, &err) < 0) {
		fuzz_expect_error(&err);
		return;
	}
	fuzz_accept();
	written = sample_progress_write(&progress);
	assert(sample_progress_read(written, &progress, &err) == 0);
	json_decref(written);
}

/* Of any histogram that was let in the statistics make sense. */
static void check_histogram(const struct histogram *histogram)
{
	static const uint64_t ppms[] = { 0, 1, 500000, 990000, 999999, 1000000 };
	_cleanup_free_ struct histogram *copy = memory_new(sizeof(*copy));
	_cleanup_free_ struct histogram *moved = memory_new(sizeof(*moved));
	uint64_t last_ns = 0;

	for (size_t i = 0; i < sizeof(ppms) / sizeof(ppms[0]); i++) {
		uint64_t ns = histogram_percentile_ns(histogram, ppms[i]);

		assert(ns >= last_ns && ns <= histogram->max_ns);
		assert(histogram->count == 0 || ns >= histogram->min_ns);
		last_ns = ns;
	}
	assert(histogram_count_below(histogram, histogram->max_ns) == histogram->count);
	assert(histogram_count_below(histogram, last_ns / 2) <= histogram->count);
	assert(histogram_mean_ns(histogram) >= 0 && histogram_stddev_ns(histogram) >= 0);
	json_decref(histogram_write_buckets(histogram));
	histogram_reset(copy);
	histogram_merge(copy, histogram);
	assert(memcmp(copy, histogram, sizeof(*copy)) == 0);
	histogram_reset(moved);
	histogram_move(moved, copy);
	assert(memcmp(moved, histogram, sizeof(*moved)) == 0 && copy->count == 0);
}

static void check_counters(const struct counters *counters)
{
	struct counters nothing = { 0 };
	struct counters much;
	struct counters growth;

	for (int i = 0; i < COUNTER_COUNT; i++) {
		much.values[i] = (struct counter_value){ COUNTER_READ, UINT64_MAX };
	}
	counter_growth(&nothing, counters, &growth);
	counter_growth(&much, counters, &growth);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		assert(!counter_grew(&growth, (enum counter)i));
	}
	counter_growth(counters, counters, &growth);
	for (int i = 0; i < COUNTER_COUNT; i++) {
		assert(!counter_grew(&growth, (enum counter)i));
		assert((growth.values[i].state == COUNTER_READ) ==
		       (counters->values[i].state == COUNTER_READ));
	}
}

/*
 * As the engine keeps them: of operations as slow as was told, twice, so that there is no room for
 * all, the slowest stay.
 */
static void check_slowest(const struct slowest *told)
{
	struct slowest kept = { 0 };
	uint64_t most_ns = 0;

	for (size_t i = 0; i < 2 * told->count; i++) {
		const struct slow_operation *operation = &told->items[i % told->count];

		most_ns = operation->latency_ns > most_ns ? operation->latency_ns : most_ns;
		if (operation->latency_ns > kept.floor_ns) {
			slowest_add(&kept, operation);
		}
		assert(kept.count <= SLOWEST_MAX);
	}
	slowest_sort(&kept);
	assert(kept.count == 0 || kept.items[0].latency_ns == most_ns);
	for (size_t i = 1; i < kept.count; i++) {
		const struct slow_operation *a = &kept.items[i - 1];
		const struct slow_operation *b = &kept.items[i];

		assert(a->latency_ns > b->latency_ns ||
		       (a->latency_ns == b->latency_ns && a->end_ns <= b->end_ns));
	}
	assert(kept.count < SLOWEST_MAX || kept.floor_ns == kept.items[SLOWEST_MAX - 1].latency_ns);
}

/* Totals that were let in: written and read again they are the same. */
static void check_totals(const struct totals *totals)
{
	_cleanup_json_ json_t *written = sample_totals_write(totals);
	_cleanup_json_ json_t *again = NULL;
	struct error err = ERROR_INIT;
	struct totals back;

	assert(sample_totals_read(written, &back, &err) == 0);
	again = sample_totals_write(&back);
	/* What is not written is nothing. */
	assert(!back.connections == !totals->connections);
	assert(!back.connections ||
	       connections_failed(back.connections) == connections_failed(totals->connections));
	assert(back.host.is_read == totals->host.is_read);
	assert(back.slowest.count == totals->slowest.count);
	assert(verification_errors(&back.verification) ==
	       verification_errors(&totals->verification));
	sample_totals_done(&back);
	fuzz_expect_same(written, again);
	check_counters(&totals->counters);
	check_slowest(&totals->slowest);
	for (size_t i = 0; i < totals->class_count; i++) {
		check_histogram(&totals->classes[i].latency);
	}
}

/* What was read of an end goes into the measurement, whole or not. */
static void read_end(const json_t *json, struct participant *end)
{
	const json_t *totals = json_object_get(json, "totals");
	struct error err[3] = { ERROR_INIT };

	if (totals) {
		end->has_totals = true;
		if (sample_totals_read(totals, &end->totals, &err[0]) == 0) {
			fuzz_accept();
			check_totals(&end->totals);
		}
	}
	if (json_object_get(json, "failure")) {
		failure_read(json_object_get(json, "failure"), &end->failure, &err[1]);
	}
	if (json_object_get(json, "steps")) {
		step_read(json_object_get(json, "steps"), &end->steps, &err[2]);
	}
	for (size_t i = 0; i < sizeof(err) / sizeof(err[0]); i++) {
		if (error_is_set(&err[i])) {
			fuzz_expect_error(&err[i]);
		}
	}
}

static void add_expectations(struct expectations *expect)
{
	static const char *const words[] = { "errors == 0",
					     "latency.p99 <= 5us",
					     "bandwidth.min >= 1Gbps",
					     "write.ops_rate.mean > 1/s",
					     "bandwidth.mean >= 90% of link_rate",
					     "verify_errors == 0",
					     "verify_errors.corrupted == 0",
					     "verify_errors.lost <= 1",
					     "verify_errors.duplicated == 0",
					     "verify_errors.reordered == 0",
					     "lost_ops.ratio <= 1%",
					     "lost_ops == 0",
					     "service_latency.p50 <= 1s",
					     "resolve_addr.latency.p99 <= 1ms" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert(!expectation_parse(words[i], &expect->items[expect->count++]));
	}
}

/* What both ends were asked for, where the message says it. */
static void read_workload(const json_t *message, struct workload *ret)
{
	_cleanup_free_ struct assignment *assignment = memory_new(sizeof(*assignment));
	const json_t *json = json_object_get(message, "assignment");
	struct error err = ERROR_INIT;

	if (json && schema_read(assignment_fields, json, assignment, &err) == 0 &&
	    assignment_check(assignment, &err) == 0) {
		*ret = assignment->workload;
	}
}

/* From both ends' words to the record that people and metrics get. */
static void check_run(const json_t *message)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	_cleanup_json_ json_t *record = NULL;
	_cleanup_json_ json_t *summary = NULL;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct measurement *measurement;
	struct metrics *metrics;
	struct run *run;

	schema_defaults(scenario_fields, scenario);
	add_expectations(&scenario->expect);
	run = run_new(scenario);
	measurement = run_add_measurement(run);
	measurement->initiator.port.link_rate_bps = 100000000000;
	measurement->responder.port.link_rate_bps = 100000000000;
	measurement->assignment.workload = scenario->workload;
	measurement->assignment.workload.qp.path_mtu = 4096;
	read_workload(message, &measurement->assignment.workload);
	text_copy(measurement->initiator.endpoint.node, LIMIT_NAME, NODE);
	text_copy(measurement->responder.endpoint.node, LIMIT_NAME, COORDINATOR);
	read_end(json_object_get(message, "initiator"), &measurement->initiator);
	read_end(json_object_get(message, "responder"), &measurement->responder);
	judgement_complete(run);
	run->state = RUN_DONE;
	assert(run->verdict > VERDICT_NONE && run->verdict < VERDICT_COUNT);
	assert(run->verdict != VERDICT_PASS || measurement->initiator.totals.operations > 0);
	record = run_write(run, true);
	summary = run_write_summary(run);
	fuzz_expect_json(record);
	fuzz_expect_json(summary);
	metrics = metrics_new(NODE);
	metrics_observe(metrics, run);
	metrics_write(metrics, &(struct metrics_gauges){ .version = "1" }, &text);
	json_decref(metrics_last_at(metrics, 0));
	fuzz_expect_readable(text.data, true);
	metrics_free(metrics);
	run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *message = json_read((const char *)data, size, &err);

	if (!message) {
		fuzz_expect_error(&err);
		return 0;
	}
	check_info(message);
	check_scenario(message);
	check_inventory(message);
	check_assignment(message);
	check_port_use(message);
	check_progress(message);
	if (json_object_get(message, "initiator") || json_object_get(message, "responder")) {
		check_run(message);
	}
	return 0;
}
