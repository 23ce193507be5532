// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ctl/result.h"
#include "model/run.h"
#include "util/memory.h"

#define START_REAL_NS 1788264000000000000 /* 2026-09-01T12:00:00Z */

/* --- runs made with the daemon's own nouns, so that the record is the one that it writes --- */

static struct run *new_run(const char *name)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	text_copy(scenario->name, sizeof(scenario->name), name);
	scenario->workload.run.duration_ns = 10000000000;
	run = run_new(scenario);
	free(scenario);
	text_copy(run->id, sizeof(run->id), "01K3V9Q7W0E5R2T8Y4U6J1M3N5");
	text_copy(run->coordinator, sizeof(run->coordinator), "node1");
	run->state = RUN_DONE;
	run->started_real_ns = START_REAL_NS;
	run->ended_real_ns = START_REAL_NS + 12300000000;
	return run;
}

static void set_end(struct participant *end, const char *node, const char *device, const char *gid)
{
	text_copy(end->endpoint.node, sizeof(end->endpoint.node), node);
	text_copy(end->endpoint.device, sizeof(end->endpoint.device), device);
	end->endpoint.port_num = 1;
	end->port.link_layer = LINK_LAYER_ETHERNET;
	end->port.state = PORT_STATE_ACTIVE;
	end->info = memory_new(sizeof(*end->info));
	text_copy(end->info->gid, sizeof(end->info->gid), gid);
	end->info->mtu_bytes = 4096;
	end->info->qp_count = 4;
	end->info->qps[0].qp_num = 0x12;
}

static struct measurement *add_measurement(struct run *run, int pattern)
{
	struct measurement *measurement = run_add_measurement(run);
	struct workload *workload = &measurement->assignment.workload;

	set_end(&measurement->initiator, "node1", "rxe0", "::ffff:10.99.0.1");
	set_end(&measurement->responder, "node2", "rxe1", "::ffff:10.99.0.2");
	workload->workload.pattern = pattern;
	workload->workload.load.outstanding = pattern == PATTERN_STREAM ? 64 : 1;
	workload->qp.num_qps = pattern == PATTERN_STREAM ? 4 : 1;
	workload->run.duration_ns = 10000000000;
	measurement->started_real_ns = START_REAL_NS;
	measurement->ended_real_ns = START_REAL_NS + 12000000000;
	measurement->accepted_to_first_post_ns = 34000000;
	measurement->verdict = VERDICT_PASS;
	return measurement;
}

struct measured {
	int kind;
	uint64_t size_bytes;
	uint64_t count;
	uint64_t latency_ns;
};

static void set_totals(struct participant *end, uint64_t window_ns, const struct measured *measured,
		       size_t count)
{
	struct totals *totals = &end->totals;

	end->has_totals = true;
	totals->end = END_DURATION;
	totals->window_ns = window_ns;
	totals->worker_cpu_ns = window_ns / 100 * 71;
	totals->involuntary_switches = 3;
	text_copy(totals->clock, sizeof(totals->clock), "tsc");
	totals->classes = memory_new_array(count, sizeof(*totals->classes));
	totals->class_count = count;
	for (size_t i = 0; i < count; i++) {
		struct class_totals *class = &totals->classes[i];

		class->class.kind = measured[i].kind;
		class->class.size_bytes = measured[i].size_bytes;
		class->posted = measured[i].count;
		class->completed = measured[i].count;
		class->bytes = measured[i].count * measured[i].size_bytes;
		totals->operations += class->completed;
		totals->bytes += class->bytes;
		histogram_reset(&class->latency);
		for (uint64_t k = 0; k < measured[i].count; k++) {
			histogram_add(&class->latency, measured[i].latency_ns + (k == 0) * 4200000);
		}
	}
}

static const struct measured mix[] = {
	{ OPERATION_WRITE, 4096, 50000, 61000 },
	{ OPERATION_WRITE, 65536, 34201, 90000 },
	{ OPERATION_READ, 16384, 24050, 120000 },
	{ OPERATION_SEND, 256, 12033, 40000 },
};

static void finish(struct run *run)
{
	for (size_t i = 0; i < run->measurement_count; i++) {
		run->verdict = (int)verdict_worse((enum verdict)run->verdict,
						  (enum verdict)run->measurements[i]->verdict);
		run->counts[run->measurements[i]->verdict]++;
	}
}

static void assert_text(const char *actual, const char *expected)
{
	if (strcmp(actual, expected) != 0) {
		fprintf(stderr, "--- got:\n%s--- expected:\n%s", actual, expected);
	}
	assert_string_equal(actual, expected);
}

/* Takes the run. */
static void assert_rendered(struct run *run, bool is_full, const char *expected)
{
	_cleanup_json_ json_t *record = run_write(run, false);
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	run_free(run);
	result_print(record, is_full, &paper);
	assert_text(paper.text.data, expected);
}

static void add_expectation(struct measurement *measurement, const char *text, int outcome,
			    double actual, double limit)
{
	struct expectation_result *result =
		&measurement->expectations[measurement->expectation_count++];

	assert_null(expectation_parse(text, &result->expectation));
	result->outcome = outcome;
	result->has_actual = outcome != OUTCOME_INCONCLUSIVE;
	result->actual = actual;
	result->limit = limit;
}

static void a_run_that_passed_shows_its_numbers_by_operation_and_size(void **state)
{
	struct run *run = new_run("mixed");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);

	set_totals(&measurement->initiator, 10000000000, mix, 4);
	add_expectation(measurement, "errors == 0", OUTCOME_MET, 0, 0);
	add_expectation(measurement, "write.latency.p99 <= 5ms", OUTCOME_MET, 240000, 5000000);
	finish(run);
	assert_rendered(
		run, false,
		"PASS  mixed   node1/rxe0 -> node2/rxe1   10.0 s\n"
		"  stream, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE 10.99.0.1 -> 10.99.0.2\n"
		"  operation  size        count        rate  bandwidth      p50      p99    p99.9      max\n"
		"  write      4-64 KiB   84 201  8.42 kop/s  1.96 Gb/s  61.1 us  89.9 us  89.9 us  4.29 ms\n"
		"             4 KiB      50 000     5 kop/s   164 Mb/s  61.1 us  61.1 us  61.1 us  4.26 ms\n"
		"             64 KiB     34 201  3.42 kop/s  1.79 Gb/s    90 us    90 us    90 us  4.29 ms\n"
		"  read       16 KiB     24 050   2.4 kop/s   315 Mb/s   120 us   120 us   120 us  4.32 ms\n"
		"  send       256 B      12 033   1.2 kop/s  2.46 Mb/s  40.1 us  40.1 us  40.1 us  4.24 ms\n"
		"  all                  120 284    12 kop/s  2.27 Gb/s  61.1 us   120 us   120 us  4.32 ms\n"
		"  latency: post to completion\n"
		"  expect                    actual  outcome\n"
		"  errors == 0                    0  ok\n"
		"  write.latency.p99 <= 5ms  240 us  ok, 95 % below\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

/* direction: both: a table each way, and the sum. */
static void both_directions_are_told_apart_and_together(void **state)
{
	static const struct measured there = { OPERATION_WRITE, 65536, 40000, 90000 };
	static const struct measured back = { OPERATION_WRITE, 65536, 20000, 180000 };
	struct run *run = new_run("both");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);

	(void)state;
	measurement->assignment.workload.workload.direction = DIRECTION_BOTH;
	set_totals(&measurement->initiator, 10000000000, &there, 1);
	set_totals(&measurement->responder, 10000000000, &back, 1);
	finish(run);
	assert_rendered(
		run, false,
		"PASS  both   node1/rxe0 <-> node2/rxe1   10.0 s\n"
		"  stream each way, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE 10.99.0.1 ->\n"
		"  10.99.0.2\n"
		"  node1 to node2:\n"
		"  operation  size     count     rate  bandwidth    p50    p99  p99.9      max\n"
		"  write      64 KiB  40 000  4 kop/s   2.1 Gb/s  90 us  90 us  90 us  4.29 ms\n"
		"  node2 to node1:\n"
		"  operation  size     count     rate  bandwidth     p50     p99   p99.9      max\n"
		"  write      64 KiB  20 000  2 kop/s  1.05 Gb/s  180 us  180 us  180 us  4.38 ms\n"
		"  both directions together: 6 kop/s, 3.15 Gb/s\n"
		"  latency: post to completion\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void a_failure_shows_the_first_error_the_finding_and_the_cure(void **state)
{
	struct run *run = new_run("mixed");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);
	struct failure *failure = &measurement->first_error;

	set_totals(&measurement->initiator, 3200000000, NULL, 0);
	measurement->initiator.totals.end = END_ERROR;
	measurement->verdict = VERDICT_FAIL;
	failure->error.class = ERROR_DEVICE;
	failure->error.stage = STAGE_RUN;
	failure->error.kind = ERROR_KIND_WC_STATUS;
	failure->error.number = 12;
	text_copy(failure->error.text, sizeof(failure->error.text), "retry exceeded");
	text_copy(failure->node, sizeof(failure->node), "node1");
	text_copy(failure->device, sizeof(failure->device), "rxe0");
	failure->operation = OPERATION_WRITE;
	failure->qp_num = 0x12;
	failure->at_ns = 3204000000;
	failure->flushed = 1127;
	finding_add(
		&measurement->findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN,
		"node1/rxe0 sent 9 841 packets, none of which node2/rxe1 received; both ports are up",
		"nothing that node1/rxe0 sends reaches node2/rxe1");
	finding_doubt(&measurement->findings, FINDING_PATH_LOST, "the other end was seen before");
	finish(run);
	assert_rendered(
		run, false,
		"FAIL  mixed   node1/rxe0 -> node2/rxe1   after 3.2 s of 10.0 s\n"
		"  stream, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE 10.99.0.1 -> 10.99.0.2\n"
		"  first error   retry exceeded (node1/rxe0, write, queue pair 0x12, IBV_WC_RETRY_EXC_ERR 12, at +3.2\n"
		"      s); 1 127 flushed behind it\n"
		"  RDT-0107 packets do not get through (certain)\n"
		"      nothing that node1/rxe0 sends reaches node2/rxe1\n"
		"      seen: node1/rxe0 sent 9 841 packets, none of which node2/rxe1 received; both ports are up\n"
		"      but: the other end was seen before\n"
		"      do: Check link state on both ends, MTU along the path, and that nothing drops UDP port 4791.\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void an_expectation_that_was_missed_says_by_how_much(void **state)
{
	struct run *run = new_run("bw");
	struct measurement *measurement = add_measurement(run, PATTERN_PINGPONG);
	struct expectation_result *result;

	/* One GID of its port, of VLAN 10 here. */
	measurement->initiator.port.gids[0].vlan = 10;
	measurement->initiator.port.gids[0].type = GID_TYPE_ROCE_V2;
	measurement->initiator.port.gid_count = 1;
	measurement->responder.port = measurement->initiator.port;

	static const struct measured few[] = { { OPERATION_WRITE, 8, 500, 2000 },
					       { OPERATION_READ, 8, 500, 3000 } };

	set_totals(&measurement->initiator, 10000000000, few, 2);
	measurement->initiator.totals.is_half_round_trip[OPERATION_WRITE] = true;
	measurement->verdict = VERDICT_FAIL;
	add_expectation(measurement, "bandwidth.mean >= 90% of link_rate", OUTCOME_MISSED, 20e9,
			87.3e9);
	add_expectation(measurement, "write.latency.p50 <= 1us", OUTCOME_MISSED, 2000, 1000);
	measurement->expectations[1].expectation.severity = SEVERITY_WARN;
	add_expectation(measurement, "write.latency.p99.9 <= 1us", OUTCOME_INCONCLUSIVE, 0, 1000);
	result = &measurement->expectations[2];
	text_copy(result->reason, sizeof(result->reason),
		  "p99.9 needs 10,000 samples, there are 500");
	add_expectation(measurement, "read.latency.max <= 10us", OUTCOME_MISSED, 4203000, 10000);
	finish(run);
	assert_rendered(
		run, false,
		"FAIL  bw   node1/rxe0 -> node2/rxe1   10.0 s\n"
		"  ping-pong, RC exchange, MTU 4096, RoCE v2 10.99.0.1 -> 10.99.0.2, VLAN 10\n"
		"  operation  size  count      rate  bandwidth   p50  p99  p99.9     max\n"
		"  write      8 B     500   50 op/s   3.2 kb/s  2 us    -      -  4.2 ms\n"
		"  read       8 B     500   50 op/s   3.2 kb/s  3 us    -      -  4.2 ms\n"
		"  all              1 000  100 op/s   6.4 kb/s     -    -      -       -\n"
		"  latency of write: half of the round trip; of read: post to completion; of all together: none,\n"
		"  since these are two things; \"-\": too few samples\n"
		"  expect                               actual  outcome\n"
		"  bandwidth.mean >= 90% of link_rate  20 Gb/s  MISSED, 77 % below 87.3 Gb/s\n"
		"  write.latency.p50 <= 1us               2 us  MISSED (a warning), 100 % above\n"
		"  write.latency.p99.9 <= 1us                -  inconclusive: p99.9 needs 10,000 samples, there are\n"
		"                                               500\n"
		"  read.latency.max <= 10us             4.2 ms  MISSED, 420 times the limit\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void an_open_load_says_what_it_reached_and_both_latencies(void **state)
{
	static const struct measured one[] = { { OPERATION_WRITE, 4096, 5000, 2000000 } };
	struct run *run = new_run("paced");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);
	struct load_settings *load = &measurement->assignment.workload.workload.load;
	struct class_totals *class;

	(void)state;
	load->model = LOAD_OPEN;
	load->ops_rate = 1000;
	load->arrival = ARRIVAL_POISSON;
	set_totals(&measurement->initiator, 10000000000, one, 1);
	class = &measurement->initiator.totals.classes[0];
	class->service = memory_new(sizeof(*class->service));
	histogram_reset(class->service);
	for (int i = 0; i < 5000; i++) {
		histogram_add(class->service, 5000);
	}
	measurement->initiator.totals.late_operations = 4990;
	measurement->initiator.totals.dropped_operations = 12;
	finish(run);
	assert_rendered(
		run, false,
		"PASS  paced   node1/rxe0 -> node2/rxe1   10.0 s\n"
		"  stream, an open load of 1 kop/s, Poisson, at most 64 in flight over 4 queue pairs, RC exchange,\n"
		"  MTU 4096, RoCE 10.99.0.1 -> 10.99.0.2\n"
		"  operation  size   count      rate  bandwidth   p50   p99  p99.9     max\n"
		"  write      4 KiB  5 000  500 op/s  16.4 Mb/s  2 ms  2 ms      -  6.2 ms\n"
		"  only 500 op/s of the 1 kop/s that were asked for; 4 990 operations late, 12 dropped for want of\n"
		"  room; from the post alone: p50 5 us, p99 5 us, p99.9 -, max 5 us\n"
		"  0.0025 operations in flight on average\n"
		"  latency: from the moment that an operation was meant to begin to its completion; \"-\": too few\n"
		"  samples\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void the_slowest_operations_and_the_variation_are_told(void **state)
{
	struct run *run = new_run("mixed");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);
	struct totals *totals = &measurement->initiator.totals;

	(void)state;
	set_totals(&measurement->initiator, 3000000000, mix, 4);
	for (uint64_t i = 0; i < 4; i++) {
		slowest_add(&totals->slowest,
			    &(struct slow_operation){ 4320000 - i * 10000, (i + 1) * 700000000, i,
						      0x12 + i, 3 - i });
	}
	totals->interval_count = 3;
	totals->intervals = memory_new_array(3, sizeof(*totals->intervals));
	for (uint64_t i = 0; i < 3; i++) {
		totals->intervals[i] = (struct sample){ .start_ns = i * 1000000000,
							.end_ns = (i + 1) * 1000000000,
							.operations = 40000 + i * 1000 };
	}
	finish(run);
	assert_rendered(
		run, false,
		"PASS  mixed   node1/rxe0 -> node2/rxe1   3.0 s\n"
		"  stream, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE 10.99.0.1 -> 10.99.0.2\n"
		"  operation  size        count        rate  bandwidth      p50      p99    p99.9      max\n"
		"  write      4-64 KiB   84 201  28.1 kop/s  6.52 Gb/s  61.1 us  89.9 us  89.9 us  4.29 ms\n"
		"             4 KiB      50 000  16.7 kop/s   546 Mb/s  61.1 us  61.1 us  61.1 us  4.26 ms\n"
		"             64 KiB     34 201  11.4 kop/s  5.98 Gb/s    90 us    90 us    90 us  4.29 ms\n"
		"  read       16 KiB     24 050  8.02 kop/s  1.05 Gb/s   120 us   120 us   120 us  4.32 ms\n"
		"  send       256 B      12 033  4.01 kop/s  8.21 Mb/s  40.1 us  40.1 us  40.1 us  4.24 ms\n"
		"  all                  120 284  40.1 kop/s  7.58 Gb/s  61.1 us   120 us   120 us  4.32 ms\n"
		"  slowest: 4.32 ms at +700 ms, a send of 256 B, on queue pair 0x12; 4.31 ms at +1.4 s, a read of 16\n"
		"  KiB, on queue pair 0x13; 4.3 ms at +2.1 s, a write of 64 KiB, on queue pair 0x14; the rate varied\n"
		"  by 2.4 % (standard deviation of intervals)\n"
		"  latency: post to completion\n"
		"  clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void assert_delivery(uint64_t received, const char *part)
{
	struct run *run = new_run("uc");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);
	static const struct measured one[] = { { OPERATION_SEND, 4096, 5000, 5000 } };
	_cleanup_paper_ struct paper paper = PAPER_INIT;
	_cleanup_json_ json_t *record = NULL;

	measurement->assignment.workload.qp.qp_type = QP_TYPE_UC;
	set_totals(&measurement->initiator, 10000000000, one, 1);
	measurement->initiator.totals.traffic_operations = 5000;
	measurement->responder.has_totals = true;
	measurement->responder.totals.receives = received;
	finish(run);
	record = run_write(run, false);
	run_free(run);
	result_print(record, false, &paper);
	if (!strstr(paper.text.data, part)) {
		fail_msg("\"%s\" is not in:\n%s", part, paper.text.data);
	}
}

static void what_arrived_is_told(void **state)
{
	(void)state;
	assert_delivery(5000, "  all 5 000 messages arrived, those of the warm-up counted\n");
	assert_delivery(4900, "  100 of 5 000 messages did not arrive (2 %); 16.1 Mb/s did\n");
	assert_delivery(5003, "  3 messages more arrived than the 5 000 that were sent");
}

static void of_several_pairs_the_bad_ones_come_first(void **state)
{
	struct run *run = new_run("smoke");
	struct measurement *good = add_measurement(run, PATTERN_STREAM);
	struct measurement *bad = add_measurement(run, PATTERN_STREAM);

	set_totals(&good->initiator, 10000000000, mix, 1);
	text_copy(bad->initiator.endpoint.node, LIMIT_NAME, "node3");
	bad->verdict = VERDICT_ERROR;
	free(take(bad->initiator.info));
	free(take(bad->responder.info));
	error_set(&bad->first_error.error, -ENODEV, ERROR_DEVICE,
		  "node3 has no device \"rxe0\"; it has none at all");
	finish(run);
	assert_rendered(
		run, false,
		"ERROR  smoke   2 pairs: 1 error, 1 pass   took 12.3 s\n"
		"  ERROR  node3/rxe0 -> node2/rxe1   nothing measured\n"
		"    stream, 64 in flight over 4 queue pairs, RC exchange\n"
		"    first error   node3 has no device \"rxe0\"; it has none at all\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s\n"
		"    stream, 64 in flight over 4 queue pairs, RC exchange, MTU 4096, RoCE 10.99.0.1 -> 10.99.0.2\n"
		"    operation  size    count     rate  bandwidth      p50      p99    p99.9      max\n"
		"    write      4 KiB  50 000  5 kop/s   164 Mb/s  61.1 us  61.1 us  61.1 us  4.26 ms\n"
		"    latency: post to completion\n"
		"    clock tsc · first post after 34 ms · worker had 71 % of a CPU, preempted 3 times\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static struct run *new_large_run(void)
{
	struct run *run = new_run("mesh");

	for (int i = 0; i < RESULT_FULL_PAIRS + 1; i++) {
		struct measurement *measurement = add_measurement(run, PATTERN_STREAM);

		set_totals(&measurement->initiator, 10000000000, mix, 1);
	}
	finish(run);
	return run;
}

static void of_many_pairs_those_that_passed_take_a_line_each(void **state)
{
	assert_rendered(
		new_large_run(), false,
		"PASS  mesh   5 pairs: 5 pass   took 12.3 s\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s   5 kop/s, 164 Mb/s, p50 61.1 us, max 4.26 ms\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s   5 kop/s, 164 Mb/s, p50 61.1 us, max 4.26 ms\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s   5 kop/s, 164 Mb/s, p50 61.1 us, max 4.26 ms\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s   5 kop/s, 164 Mb/s, p50 61.1 us, max 4.26 ms\n"
		"  PASS  node1/rxe0 -> node2/rxe1   10.0 s   5 kop/s, 164 Mb/s, p50 61.1 us, max 4.26 ms\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void all_numbers_of_many_pairs_are_there_when_asked_for(void **state)
{
	struct run *run = new_large_run();
	_cleanup_json_ json_t *record = run_write(run, false);
	_cleanup_paper_ struct paper paper = PAPER_INIT;
	const char *at;
	int tables = 0;

	run_free(run);
	result_print(record, true, &paper);
	for (at = paper.text.data; (at = strstr(at, "operation  size")) != NULL; at++) {
		tables++;
	}
	assert_int_equal(tables, RESULT_FULL_PAIRS + 1);
}

static void a_plan_that_was_refused_says_why_and_has_no_pairs(void **state)
{
	struct run *run = new_run("ring");

	run->verdict = VERDICT_ERROR;
	error_set(&run->error.error, -ENOENT, ERROR_INPUT,
		  "the selectors match no pair: from \"role=gpu\" matches no node");
	finding_add(&run->findings, FINDING_INPUT_REFUSED, CONFIDENCE_CERTAIN, NULL,
		    "the scenario fits no node");
	assert_rendered(
		run, false,
		"ERROR  ring   nothing ran\n"
		"  error   the selectors match no pair: from \"role=gpu\" matches no node\n"
		"  RDT-0123 the run could not be planned as asked (certain)\n"
		"      the scenario fits no node\n"
		"      do: Correct the value named in the error.\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

static void a_run_that_goes_on_is_said_to_go_on(void **state)
{
	struct run *run = new_run("mixed");

	run->state = RUN_RUNNING;
	run->ended_real_ns = 0;
	assert_rendered(
		run, false,
		"RUNNING  mixed   no pair has begun\n"
		"  run 01K3V9Q7W0E5R2T8Y4U6J1M3N5 · 2026-09-01 12:00:00Z · rdmatestctl results 01K3V9Q7W0\n");
}

/* What another version, or something that is no rdmatestd, may answer. */
static void strange_records_are_shown_without_harm(void **state)
{
	static const char *const records[] = {
		"{}",
		"{\"verdict\": 5, \"measurements\": {}, \"error\": [], \"findings\": 3}",
		"{\"measurements\": [null, 1, \"x\", [], {}]}",
		"{\"verdict\": \"odd\", \"measurements\": [{\"operations\": [{}, {\"scope\": \"size\"},"
		" {\"scope\": \"operation\"}, {\"scope\": \"all\"}], \"expect\": [{}, null],"
		" \"findings\": [{}, 7], \"first_error\": {\"text\": \"a\\u001bb\", \"at_ns\": 1.5,"
		" \"flushed\": -3, \"qp_num\": -1}}]}",
		"{\"scenario\": \"\\u001b[2J\\n\", \"measurements\": [{\"window_ns\": -1, \"workload\":"
		" {\"workload\": {\"pattern\": 7}}, \"operations\": [{\"scope\": \"all\", \"latency\":"
		" {\"percentiles\": [{\"p\": 50}, {\"p\": \"50\", \"value_ns\": 1e300}]}}]}]}",
	};

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		_cleanup_json_ json_t *record = json_read(records[i], strlen(records[i]), NULL);
		_cleanup_paper_ struct paper paper = PAPER_INIT;

		assert_non_null(record);
		result_print(record, false, &paper);
		assert_null(strchr(paper.text.data, '\033'));
		assert_non_null(strstr(paper.text.data, "run "));
	}
}

static void no_line_is_longer_than_the_paper(void **state)
{
	struct run *run = new_run("mixed");
	struct measurement *measurement = add_measurement(run, PATTERN_STREAM);
	_cleanup_paper_ struct paper paper = PAPER_INIT;
	_cleanup_json_ json_t *record = NULL;
	char words[LIMIT_TEXT];

	for (size_t i = 0; i < sizeof(words) - 1; i++) {
		words[i] = i % 9 == 8 ? ' ' : 'w';
	}
	words[sizeof(words) - 1] = '\0';
	set_totals(&measurement->initiator, 10000000000, mix, 4);
	measurement->verdict = VERDICT_FAIL;
	error_set(&measurement->first_error.error, -EIO, ERROR_DEVICE, "%s", words);
	finding_add(&measurement->findings, FINDING_STALLED, CONFIDENCE_LIKELY, words, "%s", words);
	add_expectation(measurement, "errors == 0", OUTCOME_INCONCLUSIVE, 0, 0);
	text_copy(measurement->expectations[0].reason, sizeof(measurement->expectations[0].reason),
		  words);
	finish(run);
	record = run_write(run, false);
	run_free(run);
	result_print(record, false, &paper);
	for (char *line = paper.text.data; *line != '\0';) {
		size_t length = strcspn(line, "\n");

		line[length] = '\0';
		assert_true(paper_width(line) <= PAPER_COLUMNS);
		assert_true(length == 0 || line[length - 1] != ' ');
		line += length + 1;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_that_passed_shows_its_numbers_by_operation_and_size),
		cmocka_unit_test(both_directions_are_told_apart_and_together),
		cmocka_unit_test(a_failure_shows_the_first_error_the_finding_and_the_cure),
		cmocka_unit_test(an_expectation_that_was_missed_says_by_how_much),
		cmocka_unit_test(an_open_load_says_what_it_reached_and_both_latencies),
		cmocka_unit_test(the_slowest_operations_and_the_variation_are_told),
		cmocka_unit_test(what_arrived_is_told),
		cmocka_unit_test(of_several_pairs_the_bad_ones_come_first),
		cmocka_unit_test(of_many_pairs_those_that_passed_take_a_line_each),
		cmocka_unit_test(all_numbers_of_many_pairs_are_there_when_asked_for),
		cmocka_unit_test(a_plan_that_was_refused_says_why_and_has_no_pairs),
		cmocka_unit_test(a_run_that_goes_on_is_said_to_go_on),
		cmocka_unit_test(strange_records_are_shown_without_harm),
		cmocka_unit_test(no_line_is_longer_than_the_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
