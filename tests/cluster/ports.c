// SPDX-License-Identifier: MIT

/* What happens to ports and devices around a run, one row each: its exact record, then proof that
 * the next run passes with nothing touched but the fault taken back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: long\n"
	"    disruptive: true\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n"
	"    expect: [errors == 0]\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: elsewhere\n"
	"    qp: { gid_index: 7 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"  - name: wide\n"
	"    qp: { path_mtu: 4096 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

static struct cluster *new_pair(void)
{
	struct cluster *cluster = cluster_new_pair(17, scenarios);

	cluster_start_all(cluster);
	return cluster;
}

static struct fabric *fabric_of(struct cluster *cluster)
{
	return world_fabric(cluster_world(cluster));
}

static void begin_long(struct cluster *cluster, char *id)
{
	text_copy(id, 32, cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	world_run(cluster_world(cluster), SECOND_NS);
}

/* Both daemons have noticed, and told each other. */
static void settle(struct cluster *cluster)
{
	world_run(cluster_world(cluster), 5 * SECOND_NS);
}

static void expect_says(const char *text, const char *words)
{
	if (!strstr(text, words)) {
		fail_msg("\"%s\" is not in: %s", words, text);
	}
}

/* index: whose port. */
static void go_down_in_mid_run(size_t index)
{
	struct cluster *cluster = new_pair();
	const char *device = cluster_device(cluster, index);
	const struct measurement *m;
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
	fabric_set_port(fabric_of(cluster), device, false);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", "RDT-0132");
	m = run->measurements[0];
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_CERTAIN);
	expect_says(m->findings.items[0].text, device);
	expect_says(m->findings.items[0].text, index ? "node02" : "node01");
	expect_says(m->findings.items[0].text, "went down at +1");
	expect_says(m->findings.items[0].evidence, "down afterwards");
	fabric_set_port(fabric_of(cluster), device, true);
	settle(cluster);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_port_that_goes_down_in_mid_run_fails_it_by_name(void **state)
{
	go_down_in_mid_run(0);
	go_down_in_mid_run(1);
}

static void a_port_that_is_down_at_the_start_fails_the_run(void **state)
{
	for (size_t index = 0; index < 2; index++) {
		struct cluster *cluster = new_pair();
		const char *device = cluster_device(cluster, index);
		const struct run *run;

		fabric_set_port(fabric_of(cluster), device, false);
		settle(cluster);
		run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short"));
		cluster_expect(run, VERDICT_FAIL, ERROR_DEVICE, STAGE_DISCOVER, "device",
			       "RDT-0132");
		expect_says(run->measurements[0]->findings.items[0].text, device);
		fabric_set_port(fabric_of(cluster), device, true);
		settle(cluster);
		cluster_expect_pass(cluster, 0, "short");
		cluster_free(cluster);
	}
}

/* Nobody knows yet when the run begins. */
static void a_port_that_goes_down_while_a_run_begins_fails_it(void **state)
{
	struct cluster *cluster = new_pair();
	char id[32];

	text_copy(id, sizeof(id), cluster_run(cluster, 0, "short"));
	fabric_set_port(fabric_of(cluster), cluster_device(cluster, 1), false);
	cluster_expect(cluster_wait_run(cluster, 0, id), VERDICT_FAIL, ERROR_DEVICE, STAGE_DISCOVER,
		       "device", "RDT-0132");
	fabric_set_port(fabric_of(cluster), cluster_device(cluster, 1), true);
	settle(cluster);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_port_that_comes_back_in_time_degrades_the_run(void **state)
{
	struct cluster *cluster = new_pair();
	const char *device = cluster_device(cluster, 1);
	const struct run *run;
	char id[32];

	begin_long(cluster, id);
	fabric_set_port(fabric_of(cluster), device, false);
	world_run(cluster_world(cluster), SECOND_NS / 20);
	fabric_set_port(fabric_of(cluster), device, true);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_DEGRADED, ERROR_NONE, STAGE_NONE, "", "RDT-0132");
	assert_int_equal(run->measurements[0]->responder.totals.port_report.event_count, 2);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/* Both ports of a card share one context, and so its events. */
static void C58_an_event_of_the_other_port_is_not_ours(void **state)
{
	static const enum ibv_event_type types[] = { IBV_EVENT_PORT_ERR, IBV_EVENT_LID_CHANGE,
						     IBV_EVENT_PORT_ACTIVE };

	/* The same events of our own port are told: the row shows something. */
	for (int port_num = 1; port_num <= 2; port_num++) {
		struct cluster *cluster = new_pair();
		const struct measurement *m;
		const struct run *run;
		char id[32];

		begin_long(cluster, id);
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			fabric_raise_port(fabric_of(cluster), cluster_device(cluster, 0), types[i],
					  port_num);
			fabric_raise_port(fabric_of(cluster), cluster_device(cluster, 1), types[i],
					  port_num);
			world_run(cluster_world(cluster), SECOND_NS / 20);
		}
		run = cluster_wait_run(cluster, 0, id);
		m = run->measurements[0];
		cluster_expect(run, port_num == 1 ? VERDICT_DEGRADED : VERDICT_PASS, ERROR_NONE,
			       STAGE_NONE, "", port_num == 1 ? "RDT-0132" : "");
		assert_int_equal(m->initiator.totals.port_report.event_count,
				 port_num == 1 ? 3 : 0);
		assert_int_equal(m->responder.totals.port_report.event_count,
				 port_num == 1 ? 3 : 0);
		cluster_free(cluster);
	}
}

static void lose_in_mid_run(size_t index, void (*lose)(struct fabric *fabric, const char *name))
{
	struct cluster *cluster = new_pair();
	struct fabric_device_config config = { .name = cluster_device(cluster, index),
					       .host = index ? "node02" : "node01",
					       .address = index ? "10.0.0.2" : "10.0.0.1" };
	const struct run *run;
	char name[32];
	char id[32];

	text_copy(name, sizeof(name), config.name);
	config.name = name;
	begin_long(cluster, id);
	lose(fabric_of(cluster), name);
	run = cluster_wait_run(cluster, 0, id);
	cluster_expect(run, VERDICT_ERROR, ERROR_DEVICE, STAGE_RUN, "device", "RDT-0106");
	assert_string_equal(run->measurements[0]->first_error.device, name);
	settle(cluster);
	fabric_add_device(fabric_of(cluster), &config);
	settle(cluster);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_device_that_is_removed_is_the_error_whatever_the_other_end_saw(void **state)
{
	lose_in_mid_run(0, fabric_remove_device);
	lose_in_mid_run(1, fabric_remove_device);
}

/* Retries of the other end are used up before anybody looks for the device. */
static void a_device_that_is_lost_without_an_event_is_found_to_be(void **state)
{
	lose_in_mid_run(1, fabric_lose_device);
}

static void an_address_that_is_gone_before_the_run_is_said(void **state)
{
	struct cluster *cluster = new_pair();
	const char *device = cluster_device(cluster, 1);
	const struct run *run;

	fabric_set_address(fabric_of(cluster), device, NULL);
	settle(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short"));
	cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOLVE, "gid", "RDT-0112");
	fabric_set_address(fabric_of(cluster), device, "10.0.0.2");
	settle(cluster);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void a_gid_index_that_is_not_there_is_said(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "elsewhere"));

	cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOLVE, "gid", "RDT-0112");
	expect_says(run->measurements[0]->first_error.error.text, "port 1 (none)");
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

/* Who notices first is a matter of moments: the end itself, its daemon, or the one that plans. */
static void an_mtu_that_was_lowered_is_told_in_the_same_words_by_whoever_notices(void **state)
{
	for (size_t index = 0; index < 2; index++) {
		struct cluster *cluster = new_pair();
		const char *device = cluster_device(cluster, index);
		char words[64];

		snprintf(words, sizeof(words),
			 "qp.path_mtu: 4096 is above the active MTU 1024 of node%02zu/%s",
			 index + 1, device);
		fabric_set_mtu(fabric_of(cluster), device, IBV_MTU_1024);
		for (size_t i = 0; i < 2; i++) {
			const struct run *run =
				cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "wide"));

			cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOURCE, "limit",
				       "RDT-0110");
			expect_says(run->measurements[0]->first_error.error.text, words);
			settle(cluster);
		}
		/* What is auto follows what is known. */
		cluster_expect_pass(cluster, 0, "short");
		fabric_set_mtu(fabric_of(cluster), device, IBV_MTU_4096);
		settle(cluster);
		cluster_expect_pass(cluster, 0, "wide");
		cluster_free(cluster);
	}
}

static void a_link_that_comes_up_slower_degrades_the_run(void **state)
{
	for (size_t index = 0; index < 2; index++) {
		struct cluster *cluster = new_pair();
		const char *device = cluster_device(cluster, index);
		const struct measurement *m;
		const struct run *run;
		char id[32];

		(void)state;
		begin_long(cluster, id);
		fabric_set_rate(fabric_of(cluster), device, 25000000000);
		run = cluster_wait_run(cluster, 0, id);
		m = run->measurements[0];
		assert_int_equal(run->verdict, VERDICT_DEGRADED);
		assert_int_equal(m->findings.items[0].code, FINDING_LINK_SLOWER);
		expect_says(m->findings.items[0].text, device);
		expect_says(m->findings.items[0].text, "came down to 25 Gb/s");
		expect_says(m->findings.items[0].evidence,
			    "100 Gb/s (4 lanes) when it was planned");
		fabric_set_rate(fabric_of(cluster), device, 100000000000);
		settle(cluster);
		cluster_expect_pass(cluster, 0, "short");
		cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_goes_down_in_mid_run_fails_it_by_name),
		cmocka_unit_test(a_port_that_is_down_at_the_start_fails_the_run),
		cmocka_unit_test(a_port_that_goes_down_while_a_run_begins_fails_it),
		cmocka_unit_test(a_port_that_comes_back_in_time_degrades_the_run),
		cmocka_unit_test(C58_an_event_of_the_other_port_is_not_ours),
		cmocka_unit_test(a_device_that_is_removed_is_the_error_whatever_the_other_end_saw),
		cmocka_unit_test(a_device_that_is_lost_without_an_event_is_found_to_be),
		cmocka_unit_test(an_address_that_is_gone_before_the_run_is_said),
		cmocka_unit_test(a_gid_index_that_is_not_there_is_said),
		cmocka_unit_test(
			an_mtu_that_was_lowered_is_told_in_the_same_words_by_whoever_notices),
		cmocka_unit_test(a_link_that_comes_up_slower_degrades_the_run),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
