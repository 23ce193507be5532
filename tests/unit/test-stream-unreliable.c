// SPDX-License-Identifier: MIT
/* Streams over UC, where a completion says that a message left: what arrived is counted exactly. */
#include "traffic-rig.h"

#define OPERATIONS 1000

static void init(struct rig *rig, int kind, uint64_t size_bytes)
{
	rig_init(rig, PATTERN_STREAM, kind, size_bytes);
	rig->assignment->workload.qp.qp_type = QP_TYPE_UC;
	rig->assignment->workload.qp.max_recv_wr = 2048;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = OPERATIONS;
}

static void expect(const struct rig *rig, uint64_t lost)
{
	assert_int_equal(rig->totals[0].end, END_ITERATIONS);
	assert_int_equal(rig->totals[0].traffic_operations, OPERATIONS);
	assert_int_equal(rig->totals[1].receives, OPERATIONS - lost);
	assert_int_equal(rig->totals[0].errors + rig->totals[1].errors, 0);
	rig_check_sums(&rig->totals[0]);
	rig_check_sums(&rig->totals[1]);
}

static void every_operation_that_takes_a_receive_arrives(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_SEND_WITH_IMM,
				     OPERATION_WRITE_WITH_IMM };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (int mode = CQ_MODE_POLL; mode <= CQ_MODE_EVENT; mode++) {
			struct rig rig;

			init(&rig, kinds[i], 3000);
			rig.assignment->workload.cq.mode = mode;
			rig.assignment->workload.qp.num_qps = 3;
			rig_open(&rig);
			rig_run(&rig);
			expect(&rig, 0);
			rig_done(&rig);
		}
	}
}

/* A packet is a message. */
static void each_lost_message_is_missed(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig_open(&rig);
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 7);
	rig_run(&rig);
	expect(&rig, 7);
	rig_done(&rig);
}

static void a_message_that_lacks_a_packet_is_lost_whole_and_no_other_one(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_WRITE_WITH_IMM, 10000);
	rig_open(&rig);
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 1);
	rig_run(&rig);
	expect(&rig, 1);
	rig_done(&rig);
}

static void a_damaged_message_is_lost(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig_open(&rig);
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_CORRUPT, 2);
	rig_run(&rig);
	expect(&rig, 2);
	rig_done(&rig);
}

/* UC takes whatever begins a message: only what is in it could tell that it was there before. */
static void a_message_that_the_network_repeats_arrives_twice(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig_open(&rig);
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_DUPLICATE, 5);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].traffic_operations, OPERATIONS);
	assert_int_equal(rig.totals[1].receives, OPERATIONS + 5);
	rig_done(&rig);
}

/* The initiator is done when all has left; the responder is told so long before it arrives. */
static void what_is_on_its_way_at_the_end_is_waited_for(void **state)
{
	const struct fabric_link slow = { .latency_ns = 20000000 };
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	fabric_set_link(rig.fabric, "left", "right", &slow);
	rig_open(&rig);
	rig_run(&rig);
	expect(&rig, 0);
	assert_int_equal(rig.totals[1].end, END_STOPPED);
	rig_done(&rig);
}

static void a_warm_up_that_was_drained_is_counted_at_both_ends(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.run.warmup_ns = 100000;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].operations, OPERATIONS);
	assert_true(rig.totals[0].traffic_operations > OPERATIONS);
	assert_int_equal(rig.totals[1].receives, rig.totals[0].traffic_operations);
	assert_int_equal(rig.totals[0].traffic_bytes, 64 * rig.totals[0].traffic_operations);
	rig_done(&rig);
}

static void a_ping_pong_goes_to_and_fro(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE, OPERATION_WRITE_WITH_IMM };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig;

		rig_init(&rig, PATTERN_PINGPONG, kinds[i], 64);
		rig.assignment->workload.qp.qp_type = QP_TYPE_UC;
		rig.assignment->workload.run.duration_ns = 0;
		rig.assignment->workload.run.iterations = 100;
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].operations, 100);
		rig_done(&rig);
	}
}

static void a_ping_pong_that_loses_its_message_stands_still(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_PINGPONG, OPERATION_SEND, 64);
	rig.assignment->workload.qp.qp_type = QP_TYPE_UC;
	rig.assignment->workload.run.stall_timeout_ns = 100000000;
	rig_open(&rig);
	fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 1);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_STALLED);
	assert_string_equal(rig.totals[0].failure.error.call, "stall");
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_that_takes_a_receive_arrives),
		cmocka_unit_test(each_lost_message_is_missed),
		cmocka_unit_test(a_message_that_lacks_a_packet_is_lost_whole_and_no_other_one),
		cmocka_unit_test(a_damaged_message_is_lost),
		cmocka_unit_test(a_message_that_the_network_repeats_arrives_twice),
		cmocka_unit_test(what_is_on_its_way_at_the_end_is_waited_for),
		cmocka_unit_test(a_warm_up_that_was_drained_is_counted_at_both_ends),
		cmocka_unit_test(a_ping_pong_goes_to_and_fro),
		cmocka_unit_test(a_ping_pong_that_loses_its_message_stands_still),
	};

	return cmocka_run_group_tests_name("stream-unreliable", tests, NULL, NULL);
}
