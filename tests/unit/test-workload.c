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
	assert_int_equal(w.run.repeat, 1);
	assert_true(w.cpu.affinity == SCHEMA_AUTO);
	assert_int_equal(w.memory.kind, MEMORY_HOST);
	assert_int_equal(w.memory.hugepage_bytes, 2 << 20);
	assert_true(w.memory.numa_node == SCHEMA_AUTO);
	assert_false(w.memory.relaxed_ordering || w.memory.odp);
	assert_int_equal(workload_check(&w, NULL, NULL), 0);
}

#define WRITE "workload: {pattern: stream, ops: [{op: write, size: 64KiB}]}\n"

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
	expect_fine(
		"memory: {kind: hugepage, hugepage_size: 1GiB, numa: 1, relaxed_ordering: true}\n" WRITE);
	expect_fine("memory: {odp: true}\n" WRITE);
	expect_fine("memory: {relaxed_ordering: true}\n"
		    "workload: {pattern: pingpong, ops: [{op: write_with_imm, size: 1B}]}\n");
}

static void memory_that_contradicts_itself_is_told(void **state)
{
	expect_problem("memory: {kind: dmabuf}\n" WRITE, "memory.kind", "host and hugepage are");
	expect_problem("memory: {kind: hugepage, hugepage_size: 3MiB}\n" WRITE,
		       "memory.hugepage_size", "3MiB is no size of a huge page");
	expect_problem("memory: {kind: hugepage, odp: true}\n" WRITE, "memory.odp",
		       "not paged on demand");
	expect_problem("memory: {relaxed_ordering: true}\n"
		       "workload: {pattern: pingpong, ops: [{op: write, size: 64B}]}\n",
		       "memory.relaxed_ordering", "use write_with_imm or send");
}

static void what_is_not_in_this_version_is_named_with_what_is(void **state)
{
	expect_problem("qp: {qp_type: XRC}\n" WRITE, "qp.qp_type",
		       "\"XRC\" is not in this version; RC, UC and UD are");
	expect_fine("qp: {cm: rdma_cm}\n" WRITE);
	expect_fine("qp: {qp_type: UD, cm: rdma_cm}\n"
		    "workload: {pattern: stream, ops: [{op: send, size: 64B}]}\n");
	expect_problem("qp: {qp_type: UC, cm: rdma_cm}\n"
		       "workload: {pattern: stream, ops: [{op: send, size: 64B}]}\n",
		       "qp.cm", "rdma_cm knows no UC");
	expect_problem(
		"cq: {mode: event}\nworkload: {pattern: pingpong, ops: [{op: send, size: 1B}, {op: write, size: 1B}]}\n",
		"workload.ops[1].op", "use write_with_imm");
	expect_problem(
		"workload: {pattern: request_response, ops: [{op: send, size: 1B}, {op: read, size: 1B}]}\n",
		"workload.ops[1].op", "read is its own response; use pattern pingpong or stream");
	expect_problem("workload: {pattern: pingpong, ops: [{op: send, size: 1B, response: 2B}]}\n",
		       "workload.ops[0].response", "2B is for pattern request_response");
	expect_problem(
		"workload: {pattern: request_response, ops: [{op: write, size: 0B, response: 2B}]}\n",
		"workload.ops[0].size", "cannot be seen by the other end of a request_response");
	expect_problem(
		"qp: {qp_type: UD, path_mtu: 1KiB}\nworkload: {pattern: request_response, ops: [{op: send, size: 1B, response: 2KiB}]}\n",
		"workload.ops[0].response", "2KiB is above the path MTU 1KiB");
	expect_problem(
		"qp: {max_inline_data: 64B}\nworkload: {pattern: request_response, ops: [{op: send, size: 1B, response: 2KiB, inline: true}]}\n",
		"workload.ops[0].inline", "response 2KiB is above qp.max_inline_data 64B");
	expect_problem(
		"qp: {num_qps: 2}\nworkload: {pattern: request_response, ops: [{op: send, size: 1B}]}\n",
		"qp.num_qps",
		"does not go with pattern request_response, which has one operation at a time");
	expect_fine(
		"workload: {pattern: request_response, ops: [{op: send, size: 64B, response: 64KiB}]}\n");
	expect_problem(
		"workload: {pattern: pingpong, direction: both, ops: [{op: send, size: 1B}]}\n",
		"workload.direction", "both does not go with pattern pingpong");
	expect_problem(
		"workload: {pattern: stream, load: {model: open}, ops: [{op: send, size: 1B}]}\n",
		"workload.load.model", "open needs a rate");
	expect_problem(
		"workload: {pattern: stream, ops: [{op: read, size: 1B}, {op: atomic_fetch_and_add, size: 4B}]}\n",
		"workload.ops[1].size", "4B is not the size of an atomic; use 8B");
	expect_problem(
		"workload: {pattern: stream, ops: [{op: atomic_cmp_and_swp, size: 8B, inline: true}]}\n",
		"workload.ops[0].inline", "cannot be inlined");
	expect_problem(
		"qp: {max_rd_atomic: 0}\nworkload: {pattern: stream, ops: [{op: atomic_cmp_and_swp, size: 8B}]}\n",
		"qp.max_rd_atomic", "no atomic");
	expect_problem(
		"qp: {max_recv_wr: 4}\nworkload: {pattern: stream, load: {outstanding: 8}, ops: [{op: write_with_imm, size: 8B}]}\n",
		"qp.max_recv_wr", "4 receives cannot take the 8");
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

static void signalling_and_posting_fit_together_what_a_queue_pair_may_have_in_flight(void **state)
{
#define STREAM(load) "workload: {pattern: stream, ops: [{op: write, size: 8B}], " load "}\n"
	/* Each fits the ten by itself. */
	expect_problem(
		STREAM("load: {outstanding: 10}, signal_interval: 7, post_list: 5"),
		"workload.signal_interval",
		"7 with workload.post_list 5 needs 11 operations in flight on a queue pair, and it "
		"may have 10 (load.outstanding 10 / qp.num_qps 1)");
	expect_problem(STREAM("load: {outstanding: 10}, signal_interval: 7, post_list: 5"),
		       "workload.signal_interval",
		       "use 5, a multiple of post_list, or raise workload.load.outstanding to 11");
	/* Both cures lead somewhere. */
	expect_fine(STREAM("load: {outstanding: 10}, signal_interval: 5, post_list: 5"));
	expect_fine(STREAM("load: {outstanding: 11}, signal_interval: 7, post_list: 5"));
	expect_problem(STREAM("load: {outstanding: 10}, signal_interval: 4, post_list: 9"),
		       "workload.signal_interval", "use 9, a multiple");
	expect_fine(STREAM("load: {outstanding: 10}, signal_interval: 9, post_list: 9"));
	/* The queue pair with the least decides. */
	expect_problem("qp: {num_qps: 3}\n" STREAM(
			       "load: {outstanding: 35}, signal_interval: 7, post_list: 6"),
		       "workload.signal_interval", "raise workload.load.outstanding to 36");
	/* Alone it is too much, and the cure thinks of the other one. */
	expect_problem(STREAM("load: {outstanding: 16}, signal_interval: 17, post_list: 5"),
		       "workload.signal_interval",
		       "lower it to 15, or raise workload.load.outstanding to 21");
	expect_fine(STREAM("load: {outstanding: 16}, signal_interval: 15, post_list: 5"));
	expect_fine(STREAM("load: {outstanding: 21}, signal_interval: 17, post_list: 5"));
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
		"cq: {size: 16}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: write, size: 8B}]}\n",
		"cq.size", "below the 17 completions");
	expect_fine(
		"cq: {size: 17}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: write, size: 8B}]}\n");
	expect_problem(
		"qp: {num_qps: 4}\ncq: {size: 71}\nworkload: {pattern: stream, load: {outstanding: 65}, "
		"ops: [{op: write, size: 8B}]}\n",
		"cq.size", "raise it to 72");
	/* Receives have a queue of their own, of the same size. */
	expect_problem(
		"cq: {size: 511}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: send, size: 8B}]}\n",
		"cq.size",
		"below the 512 completions that can wait in the completion queue of receives");
	expect_fine(
		"cq: {size: 512}\nworkload: {pattern: stream, load: {outstanding: 16}, ops: [{op: send, size: 8B}]}\n");
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
	struct workload w = read_workload("qp: {qp_type: UC, cm: rdma_cm, path_mtu: 1500B}\n" WRITE
					  "run: {duration: 10s, iterations: 1}\n");

	assert_int_equal(workload_check(&w, NULL, NULL), 4);
}

static void later_keys_say_what_to_do_instead(void **state)
{
	static const char *const later[] = {
		WRITE "run: {bytes: 1GiB}\n",
		WRITE "run: {steady_state: {}}\n",
		WRITE "cpu: {threads: 2}\n",
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

/* 0 stands for "not given" where programs read it; a person cannot write it. */
static void a_length_of_nothing_is_refused_and_not_taken_for_the_default(void **state)
{
	static const struct {
		const char *yaml;
		const char *says;
	} rows[] = {
		{ "duration: 0s",
		  "run.duration: \"0s\" is below 1ms (allowed: 1ms to 1d; or leave it out)" },
		{ "duration: 0",
		  "run.duration: \"0\" is below 1ms (allowed: 1ms to 1d; or leave it out)" },
		{ "duration: 999us", "run.duration: \"999us\" is below 1ms" },
		{ "iterations: 0",
		  "run.iterations: 0 is below 1 (allowed: 1 to 1000000000000; or leave it out)" },
		{ "interval: 0s", "run.interval: \"0s\" is below 10ms (allowed: 10ms to 1h)" },
		{ "timeout: 0s", "run.timeout: \"0s\" is below 1s (allowed: 1s to 2d, auto)" },
		{ "stall_timeout: 0s",
		  "run.stall_timeout: \"0s\" is below 10ms (allowed: 10ms to 1h)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct workload workload;
		struct problems problems;
		struct schema_context context = { "w.yaml", &problems };
		struct document *document;
		struct text yaml = TEXT_INIT, out = TEXT_INIT;

		text_format(&yaml, WRITE "run: { %s }\n", rows[i].yaml);
		problems_init(&problems);
		document = document_read("w.yaml", yaml.data, yaml.length, &problems);
		schema_parse(workload_section_fields, document->root, "", &workload,
			     workload_section_fields, &context);
		problems_print(&problems, 20, &out);
		if (problems.errors != 1 || !strstr(out.data, rows[i].says)) {
			fail_msg("%s: %s", rows[i].yaml, out.data ? out.data : "no problem");
		}
		document_free(document);
		problems_done(&problems);
		text_done(&yaml);
		text_done(&out);
	}
	/* A warm-up of nothing is one. */
	expect_fine(WRITE "run: { warmup: 0, duration: 1s }\n");
	expect_fine(WRITE "run: { warmup: 0s, iterations: 1 }\n");
}

static void what_is_not_given_is_0_in_json_and_comes_back(void **state)
{
	static const char *const runs[] = { "duration: 5s", "iterations: 7" };

	for (size_t i = 0; i < 2; i++) {
		struct text yaml = TEXT_INIT;
		struct workload workload, read;
		struct error err = ERROR_INIT;
		json_t *json, *run;

		text_format(&yaml, WRITE "run: { %s }\n", runs[i]);
		workload = read_workload(yaml.data);
		json = schema_write(workload_section_fields, &workload);
		run = json_object_get(json, "run");
		assert_int_equal(json_integer_value(json_object_get(run, "duration_ns")),
				 i == 0 ? 5000000000 : 0);
		assert_int_equal(json_integer_value(json_object_get(run, "iterations")),
				 i == 0 ? 0 : 7);
		assert_int_equal(schema_read(workload_section_fields, json, &read, &err), 0);
		assert_memory_equal(&read.run, &workload.run, sizeof(read.run));
		/* What a peer may not ask for either. */
		json_object_set_new(run, "duration_ns", json_integer(999999));
		assert_int_equal(schema_read(workload_section_fields, json, &read, &err), -22);
		assert_non_null(strstr(err.text, "\"run.duration_ns\": 999999 is below 1000000"));
		json_decref(json);
		text_done(&yaml);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_grammar),
		cmocka_unit_test(what_can_be_measured_is_fine),
		cmocka_unit_test(memory_that_contradicts_itself_is_told),
		cmocka_unit_test(what_is_not_in_this_version_is_named_with_what_is),
		cmocka_unit_test(a_pingpong_has_one_of_everything),
		cmocka_unit_test(inline_must_fit_and_is_no_read),
		cmocka_unit_test(operations_and_sizes_are_bounded_and_not_repeated),
		cmocka_unit_test(reads_and_sends_need_their_queues),
		cmocka_unit_test(outstanding_lies_between_queue_pairs_and_queues),
		cmocka_unit_test(batches_fit_what_a_queue_pair_may_have_in_flight),
		cmocka_unit_test(
			signalling_and_posting_fit_together_what_a_queue_pair_may_have_in_flight),
		cmocka_unit_test(prepared_work_requests_are_bounded),
		cmocka_unit_test(a_completion_queue_holds_all_that_can_be_outstanding),
		cmocka_unit_test(memory_of_all_queue_pairs_is_bounded),
		cmocka_unit_test(queues_of_a_job_are_bounded_together),
		cmocka_unit_test(a_path_mtu_is_one_of_five),
		cmocka_unit_test(a_run_has_one_length_and_it_is_bounded),
		cmocka_unit_test(expected_time_and_timeout_follow_from_the_run),
		cmocka_unit_test(all_problems_are_told_at_once),
		cmocka_unit_test(later_keys_say_what_to_do_instead),
		cmocka_unit_test(a_length_of_nothing_is_refused_and_not_taken_for_the_default),
		cmocka_unit_test(what_is_not_given_is_0_in_json_and_comes_back),
		cmocka_unit_test(a_workload_comes_back_from_json_with_auto_as_null),
	};

	return cmocka_run_group_tests_name("workload", tests, NULL, NULL);
}
