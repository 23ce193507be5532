// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/workload.h"
#include "util/text.h"

/* Reads the five sections from YAML; fails the test when the tables themselves refuse it. */
static struct workload read_workload(const char *yaml)
{
	struct workload workload = { 0 };
	struct problems problems;
	struct schema_context context = { "w.yaml", &problems };
	struct document *document;
	struct text out = TEXT_INIT;

	problems_init(&problems);
	document = document_read("w.yaml", yaml, strlen(yaml), &problems);
	if (!document || !schema_parse(workload_section_fields, document->root, "", &workload,
				       workload_section_fields, &context)) {
		problems_print(&problems, 20, &out);
		fail_msg("%s", out.data);
	}
	document_free(document);
	problems_done(&problems);
	workload_complete(&workload);
	return workload;
}

static void collect(void *arg, const char *field, const char *other, const char *sentence)
{
	text_format(arg, "%s|%s|%s\n", field, other ? other : "-", sentence);
}

static void expect_fine(const char *yaml)
{
	struct workload workload = read_workload(yaml);
	struct text out = TEXT_INIT;

	if (workload_check(&workload, collect, &out)) {
		fail_msg("%s", out.data);
	}
	text_done(&out);
}

/* Exactly one problem, at `field`, that says `part`. */
static void expect_problem(const char *yaml, const char *field, const char *part)
{
	struct workload workload = read_workload(yaml);
	struct text out = TEXT_INIT;
	unsigned count = workload_check(&workload, collect, &out);

	if (count != 1 || !text_starts_with(out.data, field) || out.data[strlen(field)] != '|' ||
	    !strstr(out.data, part)) {
		fail_msg("%u problems instead of one at %s with \"%s\":\n%s", count, field, part,
			 out.data ? out.data : "");
	}
	text_done(&out);
}

static void defaults_are_those_of_the_grammar(void **state)
{
	struct workload w =
		read_workload("workload: {pattern: stream, ops: [{op: write, size: 64KiB}]}\n");

	assert_int_equal(w.qp.qp_type, QP_TYPE_RC);
	assert_int_equal(w.qp.cm, QP_CM_EXCHANGE);
	assert_int_equal(w.qp.num_qps, 1);
	assert_true(w.qp.path_mtu == SCHEMA_AUTO);
	assert_true(w.qp.traffic_class == SCHEMA_AUTO);
	assert_int_equal(w.qp.hop_limit, 64);
	assert_int_equal(w.qp.local_ack_timeout, 14);
	assert_int_equal(w.qp.retry_cnt, 7);
	assert_int_equal(w.qp.rnr_retry, 6);
	assert_int_equal(w.qp.min_rnr_timer, 20);
	assert_int_equal(w.qp.max_send_wr, 128);
	assert_int_equal(w.qp.max_recv_wr, 512);
	assert_true(w.cq.size == SCHEMA_AUTO);
	assert_int_equal(w.workload.load.outstanding, 1);
	assert_int_equal(w.workload.signal_interval, 1);
	assert_int_equal(w.run.warmup_ns, 1000000000);
	assert_true(w.run.duration_ns == 10000000000);
	assert_int_equal(w.run.iterations, 0);
	assert_int_equal(w.run.interval_ns, 1000000000);
	assert_true(w.run.stall_timeout_ns == 3000000000);
	assert_true(w.cpu.affinity == SCHEMA_AUTO);
	assert_int_equal(workload_check(&w, NULL, NULL), 0);
}

static void what_can_be_measured_is_fine(void **state)
{
	expect_fine(
		"workload: {pattern: pingpong, ops: [{op: write, size: 2B}, {op: send, size: 0}, {op: read, size: 8B}]}\n");
	expect_fine(
		"qp: {num_qps: 8, max_send_wr: 256, max_inline_data: 256B}\n"
		"workload: {pattern: stream, ops: [{op: write, weight: 70, size: [4KiB, 64KiB]}, {op: read, size: 16KiB},"
		" {op: send, size: 256B, inline: true}], load: {outstanding: 2048}, signal_interval: 16, post_list: 8}\n"
		"run: {iterations: 1000000}\n");
	expect_fine(
		"workload: {pattern: stream, ops: [{op: write, size: 1B}], load: {outstanding: 128}, signal_interval: 100}\n"
		"run: {warmup: 0, duration: 24h, interval: 1m}\n");
	expect_fine(
		"qp: {num_qps: 1024}\nworkload: {pattern: stream, ops: [{op: write, size: 64B}], load: {outstanding: 1024}}\n");
}

#define WRITE "workload: {pattern: stream, ops: [{op: write, size: 64KiB}]}\n"

static void what_is_not_in_this_version_is_named_with_what_is(void **state)
{
	expect_problem("qp: {qp_type: UD}\n" WRITE, "qp.qp_type",
		       "\"UD\" is not in this version; RC is");
	expect_problem("qp: {cm: rdma_cm}\n" WRITE, "qp.cm", "exchange is");
	expect_problem("cq: {mode: event}\n" WRITE, "cq.mode", "poll is");
	expect_problem("workload: {pattern: request_response, ops: [{op: send, size: 1B}]}\n",
		       "workload.pattern", "pingpong and stream");
	expect_problem(
		"workload: {pattern: stream, direction: both, ops: [{op: send, size: 1B}]}\n",
		"workload.direction", "forward is");
	expect_problem(
		"workload: {pattern: stream, load: {model: open}, ops: [{op: send, size: 1B}]}\n",
		"workload.load.model", "closed is");
	expect_problem(
		"workload: {pattern: stream, ops: [{op: read, size: 1B}, {op: atomic_fetch_and_add, size: 8B}]}\n",
		"workload.ops[1].op", "send, write and read are");
}

static void a_pingpong_has_one_of_everything(void **state)
{
	expect_problem("workload: {pattern: pingpong, ops: [{op: write, size: 0}]}\n",
		       "workload.ops[0].size", "1B or more");
	expect_problem(
		"workload: {pattern: pingpong, load: {outstanding: 2}, ops: [{op: write, size: 8B}]}\n",
		"workload.load.outstanding", "one operation at a time");
	/* each of these needs more in flight, which a pingpong has not either */
	struct workload w = read_workload(
		"qp: {num_qps: 2}\nworkload: {pattern: pingpong, load: {outstanding: 2}, "
		"signal_interval: 1, ops: [{op: write, size: 8B}]}\n");
	assert_int_equal(workload_check(&w, NULL, NULL), 2);
}

static void inline_must_fit_and_is_no_read(void **state)
{
	expect_problem("workload: {pattern: stream, ops: [{op: read, size: 8B, inline: true}]}\n",
		       "workload.ops[0].inline", "read cannot be inlined");
	expect_problem(
		"qp: {max_inline_data: 64B}\nworkload: {pattern: stream, ops: [{op: send, size: 65B, inline: true}]}\n",
		"workload.ops[0].inline", "65");
	expect_problem(
		"workload: {pattern: stream, ops: [{op: send, size: [8B, 8KiB], inline: true}]}\n",
		"workload.ops[0].inline", "8KiB");
}

static void operations_and_sizes_are_bounded_and_not_repeated(void **state)
{
	struct text yaml = TEXT_INIT;

	expect_problem(
		"workload: {pattern: stream, ops: [{op: write, size: 8B}, {op: read, size: 8B}, {op: write, size: [4B, 8B]}]}\n",
		"workload.ops[2].size", "there twice");
	expect_problem("workload: {pattern: stream, ops: [{op: write, size: [8B, 8B]}]}\n",
		       "workload.ops[0].size", "there twice");
	text_add(&yaml, "workload: {pattern: stream, ops: [");
	for (int i = 0; i < 13; i++) {
		text_format(&yaml, "{op: write, size: [%dB, %dB, %dB, %dB, %dB]}, ", i * 5 + 1,
			    i * 5 + 2, i * 5 + 3, i * 5 + 4, i * 5 + 5);
	}
	text_add(&yaml, "]}\n");
	expect_problem(yaml.data, "workload.ops", "65 pairs");
	text_done(&yaml);
}

static void reads_and_sends_need_their_queues(void **state)
{
	expect_problem(
		"qp: {max_rd_atomic: 0}\nworkload: {pattern: stream, ops: [{op: read, size: 8B}]}\n",
		"qp.max_rd_atomic", "1 or more");
	expect_fine("qp: {max_rd_atomic: 0}\n" WRITE);
	expect_problem(
		"qp: {max_recv_wr: 16}\nworkload: {pattern: stream, load: {outstanding: 17}, ops: [{op: send, size: 8B}]}\n",
		"qp.max_recv_wr", "raise it to 17");
	expect_fine(
		"qp: {max_recv_wr: 16}\nworkload: {pattern: stream, load: {outstanding: 17}, ops: [{op: write, size: 8B}]}\n");
}

static void outstanding_lies_between_queue_pairs_and_queues(void **state)
{
	expect_problem(
		"qp: {num_qps: 4}\nworkload: {pattern: stream, load: {outstanding: 3}, ops: [{op: write, size: 8B}]}\n",
		"workload.load.outstanding", "raise it to 4");
	expect_problem(
		"qp: {num_qps: 2, max_send_wr: 8}\nworkload: {pattern: stream, load: {outstanding: 17}, ops: [{op: write, size: 8B}]}\n",
		"workload.load.outstanding", "lower it to 16");
}

static void batches_fit_what_a_queue_pair_may_have_in_flight(void **state)
{
	expect_problem(
		"workload: {pattern: stream, load: {outstanding: 16}, signal_interval: 17, ops: [{op: write, size: 8B}]}\n",
		"workload.signal_interval", "lower it to 16");
	expect_problem(
		"qp: {num_qps: 3}\nworkload: {pattern: stream, load: {outstanding: 16}, post_list: 6, ops: [{op: write, size: 8B}]}\n",
		"workload.post_list", "lower it to 5");
	expect_problem(
		"qp: {max_send_wr: 8}\nworkload: {pattern: stream, load: {outstanding: 8}, post_list: 9, ops: [{op: write, size: 8B}]}\n",
		"workload.post_list", "qp.max_send_wr 8");
	expect_problem(
		"qp: {max_send_wr: 2048}\nworkload: {pattern: stream, load: {outstanding: 2048}, post_list: 1021, "
		"signal_interval: 1019, ops: [{op: write, size: 8B}]}\n",
		"workload.post_list", "multiple of the other");
}

static void prepared_work_requests_are_bounded(void **state)
{
	expect_problem(
		"qp: {num_qps: 1024}\nworkload: {pattern: stream, load: {outstanding: 65537}, ops: [{op: write, size: 8B}]}\n",
		"workload.load.outstanding", "above 65536");
	expect_problem(
		"qp: {max_send_wr: 32768}\nworkload: {pattern: stream, load: {outstanding: 32768}, signal_interval: 32768, "
		"ops: [{op: write, size: [1B, 2B, 3B]}]}\n",
		"workload.load.outstanding", "above 65536");
}

static void a_completion_queue_holds_all_that_can_be_outstanding(void **state)
{
	expect_problem(
		"cq: {size: 15}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: write, size: 8B}]}\n",
		"cq.size", "16 completions");
	expect_problem(
		"cq: {size: 527}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: send, size: 8B}]}\n",
		"cq.size", "528 completions");
	expect_fine(
		"cq: {size: 528}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: send, size: 8B}]}\n");
}

static void memory_of_all_queue_pairs_is_bounded(void **state)
{
	expect_fine("workload: {pattern: stream, ops: [{op: write, size: 512MiB}]}\n");
	expect_problem("workload: {pattern: stream, ops: [{op: write, size: 1GiB}]}\n",
		       "qp.num_qps", "above 1GiB");
	expect_problem(
		"qp: {num_qps: 1024}\nworkload: {pattern: stream, load: {outstanding: 1024}, ops: [{op: write, size: 1MiB}]}\n",
		"qp.num_qps", "1024 queue pairs");
}

static void a_path_mtu_is_one_of_five(void **state)
{
	expect_problem("qp: {path_mtu: 1500B}\n" WRITE, "qp.path_mtu", "1KiB");
	expect_fine("qp: {path_mtu: 4KiB}\n" WRITE);
	expect_fine("qp: {path_mtu: 256B}\n" WRITE);
}

static void a_run_has_one_length_and_it_is_bounded(void **state)
{
	expect_problem(WRITE "run: {duration: 5s, iterations: 100}\n", "run.iterations",
		       "give one of them");
	expect_problem(WRITE "run: {duration: 999us}\n", "run.duration", "below 1ms");
	expect_problem(WRITE "run: {warmup: 1h, duration: 24h, interval: 1m}\n", "run.duration",
		       "above");
	expect_problem(WRITE "run: {duration: 10h}\n", "run.interval", "36000 intervals");
	expect_problem(WRITE "run: {duration: 10s, timeout: 11s}\n", "run.timeout", "raise it");
	expect_fine(WRITE "run: {duration: 10s, timeout: 12s}\n");
	expect_fine(WRITE "run: {duration: 2048s}\n");
	expect_problem(WRITE "run: {duration: 2049s}\n", "run.interval", "2049 intervals");

	struct workload w = read_workload(WRITE);
	w.run.duration_ns = 0;
	assert_int_equal(workload_check(&w, NULL, NULL), 1);
}

static void expected_time_and_timeout_follow_from_the_run(void **state)
{
	struct workload w = read_workload(WRITE "run: {warmup: 2s, duration: 8s}\n");

	assert_true(workload_expected_ns(&w) == 10000000000);
	assert_true(workload_timeout_ns(&w) == 50000000000);
	w.run.timeout_ns = 20000000000;
	assert_true(workload_timeout_ns(&w) == 20000000000);
	w = read_workload(WRITE "run: {iterations: 5}\n");
	assert_true(workload_expected_ns(&w) == UINT64_MAX);
	assert_true(workload_timeout_ns(&w) == w.run.warmup_ns + 600000000000);
	w.run.iterations = 0;
	w.run.warmup_ns = UINT64_MAX;
	w.run.duration_ns = 2;
	assert_true(workload_expected_ns(&w) == UINT64_MAX);
}

static void all_problems_are_told_at_once(void **state)
{
	struct workload w = read_workload(
		"qp: {qp_type: UC, cm: rdma_cm, path_mtu: 1500B}\ncq: {mode: event}\n" WRITE
		"run: {duration: 10s, iterations: 1}\n");

	assert_int_equal(workload_check(&w, NULL, NULL), 5);
}

static void later_keys_say_what_to_do_instead(void **state)
{
	static const char *const later[] = {
		"qp: {srq: true}\n" WRITE,
		"qp: {qkey: \"0x1\"}\n" WRITE,
		"cq: {moderation: {count: 1}}\n" WRITE,
		WRITE "run: {repeat: 3}\n",
		WRITE "run: {bytes: 1GiB}\n",
		WRITE "run: {steady_state: {}}\n",
		WRITE "cpu: {threads: 2}\n",
		"workload: {pattern: stream, verify: {method: crc32c}, ops: [{op: write, size: 8B}]}\n",
		"workload: {pattern: stream, load: {ops_rate: 10/s}, ops: [{op: write, size: 8B}]}\n",
	};

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		struct workload workload;
		struct problems problems;
		struct schema_context context = { "w.yaml", &problems };
		struct document *document;
		struct text out = TEXT_INIT;

		problems_init(&problems);
		document = document_read("w.yaml", later[i], strlen(later[i]), &problems);
		schema_parse(workload_section_fields, document->root, "", &workload,
			     workload_section_fields, &context);
		problems_print(&problems, 20, &out);
		if (problems.errors != 1 || !strstr(out.data, "is not in this version; ")) {
			fail_msg("%s: %s", later[i], out.data ? out.data : "no problem");
		}
		document_free(document);
		problems_done(&problems);
		text_done(&out);
	}
}

static void a_workload_comes_back_from_json_with_auto_as_null(void **state)
{
	struct workload w = read_workload(
		"qp: {num_qps: 2, path_mtu: 1KiB, flow_label: \"0xfffff\"}\n"
		"workload: {pattern: stream, load: {outstanding: 4}, seed: 9223372036854775807, "
		"ops: [{op: write, size: 64KiB}]}\n");
	struct workload read;
	struct error err = ERROR_INIT;
	json_t *json = schema_write(workload_section_fields, &w), *again;

	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "qp"), "path_mtu_bytes")),
		1024);
	assert_true(json_is_null(json_object_get(json_object_get(json, "qp"), "gid_index")));
	assert_int_equal(schema_read(workload_section_fields, json, &read, &err), 0);
	again = schema_write(workload_section_fields, &read);
	assert_true(json_equal(json, again));
	assert_true(read.workload.seed == INT64_MAX);
	assert_true(read.qp.gid_index == SCHEMA_AUTO);
	json_decref(json);
	json_decref(again);
}

static void queues_of_a_job_are_bounded_together(void **state)
{
	expect_problem(
		"qp: {num_qps: 256, max_send_wr: 128, max_recv_wr: 4096}\n"
		"workload: {pattern: stream, load: {outstanding: 256}, ops: [{op: send, size: 64B}]}\n",
		"qp.max_recv_wr", "1081344 work requests, above 1048576");
	/* A write needs no receives. */
	expect_fine(
		"qp: {num_qps: 256, max_send_wr: 128, max_recv_wr: 4096}\n"
		"workload: {pattern: stream, load: {outstanding: 256}, ops: [{op: write, size: 64B}]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_grammar),
		cmocka_unit_test(what_can_be_measured_is_fine),
		cmocka_unit_test(what_is_not_in_this_version_is_named_with_what_is),
		cmocka_unit_test(a_pingpong_has_one_of_everything),
		cmocka_unit_test(inline_must_fit_and_is_no_read),
		cmocka_unit_test(operations_and_sizes_are_bounded_and_not_repeated),
		cmocka_unit_test(reads_and_sends_need_their_queues),
		cmocka_unit_test(outstanding_lies_between_queue_pairs_and_queues),
		cmocka_unit_test(batches_fit_what_a_queue_pair_may_have_in_flight),
		cmocka_unit_test(prepared_work_requests_are_bounded),
		cmocka_unit_test(a_completion_queue_holds_all_that_can_be_outstanding),
		cmocka_unit_test(memory_of_all_queue_pairs_is_bounded),
		cmocka_unit_test(queues_of_a_job_are_bounded_together),
		cmocka_unit_test(a_path_mtu_is_one_of_five),
		cmocka_unit_test(a_run_has_one_length_and_it_is_bounded),
		cmocka_unit_test(expected_time_and_timeout_follow_from_the_run),
		cmocka_unit_test(all_problems_are_told_at_once),
		cmocka_unit_test(later_keys_say_what_to_do_instead),
		cmocka_unit_test(a_workload_comes_back_from_json_with_auto_as_null),
	};

	return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
