// SPDX-License-Identifier: MIT

/* Ports of InfiniBand, which soft-RoCE has not: every transport by LID, without a GRH and without
 * an IP address; partitions by value. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "judge/judgement.h"

static const char scenarios[] =
	"scenarios:\n"
	"  - name: rc\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }, { op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: uc\n"
	"    disruptive: true\n"
	"    qp: { qp_type: UC }\n"
	"    workload: { pattern: stream, ops: [{ op: send, size: 64KiB }], load: { outstanding: 4 } }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: ud\n"
	"    disruptive: true\n"
	"    qp: { qp_type: UD }\n"
	"    workload:\n"
	"      pattern: stream\n"
	"      ops: [{ op: send, size: 2KiB }]\n"
	"      load: { outstanding: 4 }\n"
	"      verify: { method: crc32c }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0, verify_errors == 0]\n"
	"  - name: partition\n"
	"    qp: { pkey: 0x8001 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"  - name: empty\n"
	"    qp: { pkey_index: 1 }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"  - name: by-manager\n"
	"    qp: { cm: rdma_cm }\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n";

static const uint16_t everywhere[FABRIC_PKEYS] = { 0xffff };

static struct cluster *new_pair(const uint16_t *first, const uint16_t *second)
{
	struct cluster *cluster = cluster_new_pair(31, scenarios);

	cluster_set_infiniband(cluster, 0, first);
	cluster_set_infiniband(cluster, 1, second);
	cluster_start_all(cluster);
	return cluster;
}

static const struct run *run_of(struct cluster *cluster, const char *scenario)
{
	return cluster_wait_run(cluster, 0, cluster_run(cluster, 0, scenario));
}

static uint64_t ways_by_lid(struct cluster *cluster, size_t index)
{
	struct fabric_counters counters;

	fabric_counters(world_fabric(cluster_world(cluster)), cluster_device(cluster, index),
			&counters);
	return counters.ways_by_lid;
}

static void every_transport_goes_by_lid(void **state)
{
	static const char *const names[] = { "rc", "uc", "ud" };
	struct cluster *cluster = new_pair(everywhere, everywhere);

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cluster_expect_pass(cluster, 0, names[i]);
		/* One queue pair, or one address handle, of each end. */
		assert_int_equal(ways_by_lid(cluster, 0), i + 1);
		assert_int_equal(ways_by_lid(cluster, 1), i + 1);
	}
	cluster_free(cluster);
}

static void the_record_has_lids_and_no_address(void **state)
{
	struct cluster *cluster = new_pair(everywhere, everywhere);
	const struct measurement *m = run_of(cluster, "rc")->measurements[0];

	(void)state;
	assert_int_equal(m->verdict, VERDICT_PASS);
	assert_int_equal(m->initiator.port.link_layer, LINK_LAYER_INFINIBAND);
	assert_int_equal(m->initiator.info->lid, m->initiator.port.lid);
	assert_int_equal(m->responder.info->lid, m->initiator.info->lid + 1);
	assert_int_equal(m->initiator.info->pkey, 0xffff);
	assert_memory_equal(m->initiator.info->gid, "fe80::", 6);
	cluster_free(cluster);
}

static void a_partition_is_taken_by_its_value_wherever_it_stands(void **state)
{
	static const uint16_t second[FABRIC_PKEYS] = { 0xffff, 0, 0x8001 };
	static const uint16_t limited[FABRIC_PKEYS] = { 0x0001, 0xffff };
	struct cluster *cluster = new_pair(second, limited);
	const struct measurement *m = run_of(cluster, "partition")->measurements[0];

	(void)state;
	assert_int_equal(m->verdict, VERDICT_PASS);
	assert_int_equal(m->initiator.info->pkey_index, 2);
	assert_int_equal(m->initiator.info->pkey, 0x8001);
	assert_int_equal(m->responder.info->pkey_index, 0);
	assert_int_equal(m->responder.info->pkey, 0x0001);
	cluster_free(cluster);
}

/* The sentence of the first finding. */
static void expect_refused(struct cluster *cluster, const char *scenario, enum error_stage stage,
			   const char *words)
{
	const struct run *run = run_of(cluster, scenario);
	const char *text = run->measurements[0]->findings.items[0].text;

	cluster_expect(run, VERDICT_ERROR, ERROR_DEVICE, stage, "pkey", "RDT-0145");
	if (!strstr(text, words)) {
		fail_msg("\"%s\" is not in: %s", words, text);
	}
}

static void a_port_outside_of_the_partition_is_told_with_what_it_has(void **state)
{
	static const uint16_t other[FABRIC_PKEYS] = { 0x8001, 0x8002 };
	struct cluster *cluster = new_pair(other, everywhere);

	(void)state;
	expect_refused(
		cluster, "partition", STAGE_RESOURCE,
		"fake1 port 1 is in no partition 0x0001 (qp.pkey): its P_Key table has 0xffff;");
	/* Without qp.pkey both take their first entry. */
	expect_refused(cluster, "rc", STAGE_CONNECT, "are of different partitions");
	/* It is in the table, and there is nothing. */
	expect_refused(cluster, "empty", STAGE_RESOURCE,
		       "entry 1 (qp.pkey_index) of the P_Key table of fake1 port 1 is empty; the "
		       "table has 0xffff:");
	cluster_free(cluster);
}

static void two_limited_members_are_told_before_traffic_is_lost(void **state)
{
	static const uint16_t limited[FABRIC_PKEYS] = { 0xffff, 0x0001 };
	struct cluster *cluster = new_pair(limited, limited);

	(void)state;
	expect_refused(cluster, "partition", STAGE_CONNECT,
		       "are both of limited members, who do not reach each other");
	cluster_expect_pass(cluster, 0, "rc");
	cluster_free(cluster);
}

static void rdma_cm_is_refused_where_there_is_no_ip_address(void **state)
{
	struct cluster *cluster = new_pair(everywhere, everywhere);

	(void)state;
	cluster_expect(run_of(cluster, "by-manager"), VERDICT_UNSUPPORTED, ERROR_INPUT,
		       STAGE_RESOURCE, "rdma_bind_addr", "RDT-0120");
	cluster_free(cluster);
}

static void a_neighbour_that_is_gone_is_lost_packets(void **state)
{
	struct cluster *cluster = new_pair(everywhere, everywhere);
	struct fabric *fabric = world_fabric(cluster_world(cluster));

	(void)state;
	/* A switch that leads nowhere: nobody is asked for an address first, as on Ethernet. */
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1), true);
	cluster_expect(run_of(cluster, "rc"), VERDICT_FAIL, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq",
		       "RDT-0107");
	fabric_set_black_hole(fabric, cluster_device(cluster, 0), cluster_device(cluster, 1),
			      false);
	cluster_expect_pass(cluster, 0, "rc");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_transport_goes_by_lid),
		cmocka_unit_test(the_record_has_lids_and_no_address),
		cmocka_unit_test(a_partition_is_taken_by_its_value_wherever_it_stands),
		cmocka_unit_test(a_port_outside_of_the_partition_is_told_with_what_it_has),
		cmocka_unit_test(two_limited_members_are_told_before_traffic_is_lost),
		cmocka_unit_test(rdma_cm_is_refused_where_there_is_no_ip_address),
		cmocka_unit_test(a_neighbour_that_is_gone_is_lost_packets),
	};

	return cmocka_run_group_tests_name("infiniband", tests, NULL, NULL);
}
