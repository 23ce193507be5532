// SPDX-License-Identifier: MIT

/* Faults of devices and settings that soft-RoCE cannot be made to have, one row each: its exact
 * record, then proof that the next run passes once it is mended. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: writes\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 2s }\n"
	"  - name: sends\n"
	"    disruptive: true\n"
	"    qp: { rnr_retry: 2, max_recv_wr: 16 }\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 2s }\n"
	"  - name: shared\n"
	"    disruptive: true\n"
	"    qp: { srq: true, num_qps: 2, max_recv_wr: 64 }\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 2s }\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n";

static struct cluster *new_pair(void)
{
	return cluster_new_pair(23, scenarios);
}

static void begin(struct cluster *cluster, const char *scenario, char *id)
{
	text_copy(id, 32, cluster_run(cluster, 0, scenario));
	cluster_wait_phase(cluster, 0, id, "measuring");
	world_run(cluster_world(cluster), SECOND_NS / 4);
}

/* Of the device of node `index`, in mid-run. */
static const struct run *run_with(struct cluster *cluster, const char *scenario, size_t index,
				  enum fabric_defect defect)
{
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	const char *device = cluster_device(cluster, index);
	const struct run *run;
	char id[32];

	begin(cluster, scenario, id);
	fabric_set_defect(fabric, device, defect, true);
	run = cluster_wait_run(cluster, 0, id);
	fabric_set_defect(fabric, device, defect, false);
	return run;
}

static const struct measurement *first_of(const struct run *run)
{
	return run->measurements[0];
}

static void expect_says(const char *text, const char *words)
{
	if (!strstr(text, words)) {
		fail_msg("\"%s\" is not in: %s", words, text);
	}
}

static void C48_C50_C51_a_wrong_rkey_is_one_error_and_what_was_flushed_is_counted(void **state)
{
	struct cluster *cluster = new_pair();
	const struct measurement *m;
	const struct run *run;

	cluster_start_all(cluster);
	run = run_with(cluster, "writes", 1, FABRIC_FORGETS_KEYS);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", "RDT-0111");
	m = first_of(run);
	assert_int_equal(m->first_error.error.number, IBV_WC_REM_ACCESS_ERR);
	assert_string_equal(m->first_error.node, "node01");
	/* One first error; what was flushed behind it is counted, not told. */
	assert_int_equal(m->initiator.totals.errors, 1);
	assert_int_equal(m->first_error.flushed, 7);
	cluster_expect_pass(cluster, 0, "writes");
	cluster_free(cluster);
}

static void C49_a_receive_that_is_too_short_is_one_incident(void **state)
{
	struct cluster *cluster = new_pair();
	const struct measurement *m;
	const struct run *run;

	cluster_start_all(cluster);
	run = run_with(cluster, "sends", 1, FABRIC_SHORT_RECEIVES);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", "RDT-0144");
	m = first_of(run);
	expect_says(m->findings.items[0].text, "node02 refused its own memory");
	expect_says(m->findings.items[0].text, "the other end was told so by IBV_WC_REM_INV_REQ");
	assert_int_equal(m->findings.count, 1);
	/* The receiver saw it first: the sender hears of it half a millisecond later. */
	assert_int_equal(m->first_error.error.number, IBV_WC_LOC_LEN_ERR);
	assert_string_equal(m->first_error.node, "node02");
	cluster_expect_pass(cluster, 0, "sends");
	cluster_free(cluster);
}

static void C47_a_receiver_that_posts_nothing_is_named_as_the_cause(void **state)
{
	struct cluster *cluster = new_pair();
	const struct measurement *m;
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	begin(cluster, "sends", id);
	/* Its worker gets no further: receives run out. */
	world_hold(cluster_node(cluster, 1), "worker-0");
	world_run(cluster_world(cluster), SECOND_NS / 4);
	world_hold(cluster_node(cluster, 1), NULL);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", "RDT-0109");
	m = first_of(run);
	assert_int_equal(m->first_error.error.number, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_says(m->findings.items[0].text, "the receiver had no buffer posted");
	cluster_expect_pass(cluster, 0, "sends");
	cluster_free(cluster);
}

static void C52_a_completion_queue_that_overruns_ends_the_run_at_once(void **state)
{
	for (size_t index = 0; index < 2; index++) {
		struct cluster *cluster = new_pair();
		const struct run *run;

		cluster_start_all(cluster);
		run = run_with(cluster, "sends", index, FABRIC_FULL_QUEUES);
		cluster_expect(run, VERDICT_ERROR, ERROR_BUG, STAGE_RUN, "ibv_get_async_event",
			       "RDT-0121");
		expect_says(first_of(run)->first_error.error.text, cluster_device(cluster, index));
		expect_says(first_of(run)->first_error.error.text, "completion queue");
		cluster_expect_pass(cluster, 0, "sends");
		cluster_free(cluster);
	}
}

static void a_shared_receive_queue_that_fails_ends_the_run_by_its_name(void **state)
{
	struct cluster *cluster = new_pair();
	const struct measurement *m;
	const struct run *run;
	char id[32];

	cluster_start_all(cluster);
	begin(cluster, "shared", id);
	fabric_fail_srqs(world_fabric(cluster_world(cluster)), cluster_device(cluster, 1));
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_get_async_event", NULL);
	m = first_of(run);
	expect_says(m->first_error.error.text, "the shared receive queue of fake1 failed");
	assert_string_equal(m->first_error.node, "node02");
	assert_int_equal(m->responder.totals.port_report.events[0].kind, PORT_EVENT_SRQ_ERR);
	cluster_expect_pass(cluster, 0, "shared");
	cluster_free(cluster);
}

static void C09_roce_v1_at_one_end_is_refused_with_both_types(void **state)
{
	for (size_t index = 0; index < 2; index++) {
		struct cluster *cluster = new_pair();
		struct fabric *fabric = world_fabric(cluster_world(cluster));
		const struct run *run;

		fabric_set_defect(fabric, cluster_device(cluster, index), FABRIC_ROCE_V1, true);
		cluster_start_all(cluster);
		run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short"));
		cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOLVE, "gid", "RDT-0112");
		expect_says(first_of(run)->first_error.error.text, "roce_v1");
		expect_says(first_of(run)->first_error.error.text, "roce_v2");
		assert_false(first_of(run)->initiator.has_totals);
		fabric_set_defect(fabric, cluster_device(cluster, index), FABRIC_ROCE_V1, false);
		world_run(cluster_world(cluster), 5 * SECOND_NS);
		cluster_expect_pass(cluster, 0, "short");
		cluster_free(cluster);
	}
}

static void C65_a_daemon_of_another_version_is_told_and_passes_once_it_is_the_same(void **state)
{
	struct cluster *cluster = new_pair();

	cluster_set_protocol(cluster, 1, SESSION_PROTOCOL + 1);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_PEER, STAGE_DISCOVER, "hello", "RDT-0104");
	cluster_set_protocol(cluster, 1, SESSION_PROTOCOL);
	cluster_stop(cluster, 1);
	cluster_wait_stopped(cluster, 1);
	cluster_start(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			C48_C50_C51_a_wrong_rkey_is_one_error_and_what_was_flushed_is_counted),
		cmocka_unit_test(C49_a_receive_that_is_too_short_is_one_incident),
		cmocka_unit_test(C47_a_receiver_that_posts_nothing_is_named_as_the_cause),
		cmocka_unit_test(C52_a_completion_queue_that_overruns_ends_the_run_at_once),
		cmocka_unit_test(a_shared_receive_queue_that_fails_ends_the_run_by_its_name),
		cmocka_unit_test(C09_roce_v1_at_one_end_is_refused_with_both_types),
		cmocka_unit_test(
			C65_a_daemon_of_another_version_is_told_and_passes_once_it_is_the_same),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
