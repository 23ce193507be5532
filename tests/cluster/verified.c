// SPDX-License-Identifier: MIT

/* Payload that is verified, by whole daemons: what a device does to it behind the verbs' back is
 * counted exactly, told with its place, and decides; and a run without it passes again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "model/delivery.h"
#include "util/memory.h"

#define RUN \
	"    run: { warmup: 1ms, iterations: 1000 }\n    expect: [errors == 0, verify_errors == 0]\n"
#define STREAM(op, size, method)                                                             \
	"  - name: " op "\n    disruptive: true\n    workload: { pattern: stream, verify: "  \
	"{ method: " method " }, load: { outstanding: 16 }, ops: [{ op: " op ", size: " size \
	" }] }\n" RUN
#define DATAGRAMS(name, expect)                                                                  \
	"  - name: " name "\n    disruptive: true\n    qp: { qp_type: UD, max_recv_wr: 1024 }\n" \
	"    workload: { pattern: stream, verify: { method: sequence }, load: { outstanding: 8 " \
	"}, ops: [{ op: send, size: 512B }] }\n    run: { warmup: 0s, iterations: 1000 }\n"      \
	"    expect: [" expect "]\n"

static const char scenarios[] = "scenarios:\n" STREAM("send", "1KiB", "sequence")
	STREAM("write", "64KiB", "crc32c") STREAM("read", "1KiB", "crc32c")
		STREAM("atomic_fetch_and_add", "8B", "sequence") DATAGRAMS("datagrams",
									   "errors == 0")
			DATAGRAMS("lenient", "verify_errors.reordered <= 10, lost_ops <= 10");

static const struct run *run(struct cluster *cluster, const char *scenario)
{
	return cluster_wait_run(cluster, 0, cluster_run(cluster, 0, scenario));
}

static struct verification found_in(const struct run *done)
{
	struct verification both;

	assert_true(delivery_verified(done->measurements[0], &both));
	return both;
}

static void expect_says(const char *text, const char *words)
{
	if (!strstr(text, words)) {
		fail_msg("\"%s\" is not in: %s", words, text);
	}
}

static void lie(struct cluster *cluster, bool is_fetched, enum fabric_lie_kind kind, uint32_t skip)
{
	struct fabric_lie told = { .kind = kind, .skip = skip, .every = 50, .count = 3 };

	fabric_set_lie(world_fabric(cluster_world(cluster)), cluster_device(cluster, !is_fetched),
		       &told);
}

static void C57_wrong_data_at_full_speed_fails_with_its_place(void **state)
{
	static const struct {
		const char *scenario, *says;
		bool is_fetched;
	} cases[] = { { "send", "byte 1023: ", false },
		      { "write", "byte 65535: ", false },
		      { "read", "byte 1023: ", true },
		      { "atomic_fetch_and_add", "byte 0: ", true } };
	struct cluster *cluster = cluster_new_pair(31, scenarios);

	(void)state;
	cluster_start_all(cluster);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct findings *findings;
		struct verification both;
		const struct run *done;

		lie(cluster, cases[i].is_fetched, FABRIC_LIE_CORRUPTS, 100);
		done = run(cluster, cases[i].scenario);
		cluster_expect(done, VERDICT_FAIL, ERROR_NONE, STAGE_NONE, "", "RDT-0142");
		both = found_in(done);
		assert_int_equal(both.corrupted, 3);
		assert_int_equal(verification_errors(&both), 3);
		findings = &done->measurements[0]->findings;
		expect_says(findings->items[0].text, "3 payloads arrived changed");
		expect_says(findings->items[0].evidence, cases[i].says);
		done = run(cluster, cases[i].scenario);
		cluster_expect(done, VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
		both = found_in(done);
		assert_true(both.verified >= 1000);
	}
	cluster_free(cluster);
}

static void what_is_lost_repeated_or_swapped_over_rc_fails(void **state)
{
	static const struct {
		enum fabric_lie_kind kind;
		const char *finding;
	} cases[] = { { FABRIC_LIE_DROPS, "RDT-0142" },
		      { FABRIC_LIE_REPEATS, "RDT-0143" },
		      { FABRIC_LIE_SWAPS, "RDT-0143" } };
	struct cluster *cluster = cluster_new_pair(32, scenarios);

	(void)state;
	cluster_start_all(cluster);
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *scenario = i % 2 ? "read" : "send";
		struct verification both;
		const struct run *done;

		lie(cluster, i % 2, cases[i / 2].kind, 20);
		done = run(cluster, scenario);
		cluster_expect(done, VERDICT_FAIL, ERROR_NONE, STAGE_NONE, "",
			       cases[i / 2].finding);
		both = found_in(done);
		assert_int_equal(verification_errors(&both),
				 i % 2 && cases[i / 2].kind == FABRIC_LIE_SWAPS ? 6 : 3);
		lie(cluster, i % 2, FABRIC_LIE_NONE, 0);
	}
	cluster_free(cluster);
}

/* One that came twice hides none that did not come. */
static void datagrams_lost_repeated_and_reordered_are_counted_apart(void **state)
{
	struct cluster *cluster = cluster_new_pair(33, scenarios);
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	const char *const from = cluster_device(cluster, 0), *const to = cluster_device(cluster, 1);
	_cleanup_json_ json_t *record = NULL;
	struct verification both;
	const struct run *done;
	const json_t *json;

	(void)state;
	cluster_start_all(cluster);
	for (int is_lenient = 0; is_lenient < 2; is_lenient++) {
		fabric_next_packets(fabric, from, to, FABRIC_DROP, 4);
		fabric_next_packets(fabric, from, to, FABRIC_DUPLICATE, 5);
		fabric_next_packets(fabric, from, to, FABRIC_REORDER, 1);
		done = run(cluster, is_lenient ? "lenient" : "datagrams");
		cluster_expect(done, is_lenient ? VERDICT_PASS : VERDICT_DEGRADED, ERROR_NONE,
			       STAGE_NONE, "", is_lenient ? NULL : "RDT-0143");
		both = found_in(done);
		assert_int_equal(both.sent, 1000);
		assert_int_equal(both.lost, 4);
		assert_int_equal(both.duplicated, 5);
		assert_int_equal(both.reordered, 1);
		assert_int_equal(both.verified, 996);
		assert_int_equal(both.corrupted, 0);
	}
	record = run_write(done, true);
	json = json_array_get(json_object_get(record, "measurements"), 0);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "delivery"), "lost")), 4);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(json, "verification"),
							    "duplicated")),
			 5);
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(C57_wrong_data_at_full_speed_fails_with_its_place),
		cmocka_unit_test(what_is_lost_repeated_or_swapped_over_rc_fails),
		cmocka_unit_test(datagrams_lost_repeated_and_reordered_are_counted_apart),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
