// SPDX-License-Identifier: MIT
#include "ctl/connections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/run_record.h"
#include "util/memory.h"

static struct connections *new_connections(bool is_initiator)
{
	struct connections *connections = memory_new(sizeof(*connections));

	connections_init(connections);
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		for (uint64_t i = 0; connections_has_phase(is_initiator, phase) && i < 2400; i++) {
			histogram_add(&connections->phases[phase].latency,
				      (uint64_t)(phase + 1) * 100000 + i % 7);
		}
	}
	return connections;
}

static void set_end(struct participant *end, bool is_initiator)
{
	end->has_totals = true;
	end->totals.window_ns = 3000000000;
	end->totals.operations = 2400;
	end->totals.connections = new_connections(is_initiator);
}

static json_t *new_record(void)
{
	struct measurement *measurement = memory_new(sizeof(*measurement));
	json_t *record;

	measurement->assignment.workload.workload.pattern = PATTERN_CONNECT;
	set_end(&measurement->initiator, true);
	set_end(&measurement->responder, false);
	measurement->initiator.totals.connections->retried = 3;
	measurement->initiator.totals.connections->phases[CONNECTION_CONNECT].failed = 1;
	measurement->responder.totals.connections->refused = 2;
	record = run_record_measurement(measurement, true);
	sample_totals_done(&measurement->initiator.totals);
	sample_totals_done(&measurement->responder.totals);
	free(measurement);
	return record;
}

static void connections_are_told_phase_by_phase_of_both_ends(void **state)
{
	static const char expected[] =
		"  phase          of         count  failed     p50     p99  p99.9     max\n"
		"  setup          initiator  2 400       0  100 us  100 us      -  100 us\n"
		"  create_qp      initiator  2 400       0  200 us  200 us      -  200 us\n"
		"  resolve_addr   initiator  2 400       0  300 us  300 us      -  300 us\n"
		"  resolve_route  initiator  2 400       0  400 us  400 us      -  400 us\n"
		"  connect        initiator  2 400       1  500 us  500 us      -  500 us\n"
		"  established    initiator  2 400       0  700 us  700 us      -  700 us\n"
		"  disconnect     initiator  2 400       0  800 us  800 us      -  800 us\n"
		"  destroy        initiator  2 400       0  900 us  900 us      -  900 us\n"
		"  setup          responder  2 400       0  100 us  100 us      -  100 us\n"
		"  create_qp      responder  2 400       0  200 us  200 us      -  200 us\n"
		"  accept         responder  2 400       0  600 us  600 us      -  600 us\n"
		"  established    responder  2 400       0  700 us  700 us      -  700 us\n"
		"  destroy        responder  2 400       0  900 us  900 us      -  900 us\n"
		"  2 400 connections set up and taken down, 800 op/s; 3 requests were made again; the responder\n"
		"  rejected 2\n"
		"  setup: from creating the queue pair to established (of the responder: from the request); a\n"
		"  connection counts once it was taken down; \"-\": too few samples\n";
	struct paper paper = PAPER_INIT;
	json_t *record = new_record();
	_cleanup_text_ struct text sum = TEXT_INIT;

	(void)state;
	assert_true(connections_has(record));
	connections_print(record, &paper, 2);
	assert_string_equal(paper.text.data, expected);
	connections_sum_up(record, &sum);
	assert_string_equal(sum.data, "connections 800 op/s, set-up p50 100 us, max 100 us");
	paper_done(&paper);
	json_decref(record);
}

static void buckets_of_each_phase_are_in_the_record(void **state)
{
	json_t *record = new_record();
	const json_t *phases = json_object_get(record, "operations");

	(void)state;
	assert_int_equal(json_array_size(phases), 8);
	for (size_t i = 0; i < json_array_size(phases); i++) {
		const json_t *latency = json_object_get(json_array_get(phases, i), "latency");

		assert_true(json_array_size(json_object_get(latency, "buckets")) > 0);
	}
	json_decref(record);
}

static void what_is_missing_in_a_record_is_shown_without_harm(void **state)
{
	json_t *record = json_loads("{\"connections\": {}, \"operations\": [{}, 3]}", 0, NULL);
	struct paper paper = PAPER_INIT;
	_cleanup_text_ struct text sum = TEXT_INIT;

	(void)state;
	connections_print(record, &paper, 2);
	connections_sum_up(record, &sum);
	paper_done(&paper);
	json_decref(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_are_told_phase_by_phase_of_both_ends),
		cmocka_unit_test(buckets_of_each_phase_are_in_the_record),
		cmocka_unit_test(what_is_missing_in_a_record_is_shown_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
