// SPDX-License-Identifier: MIT
/* Streams over UC and UD, where a completion says that a message left: what arrived is counted
 * exactly. */
#include "traffic-rig.h"

#define OPERATIONS 1000

/* The port's MTU is 1024. */
#define DATAGRAM_BYTES 1024

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

static void datagrams_arrive_with_their_payload_alone_counted(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_SEND_WITH_IMM };
	static const uint64_t sizes[] = { 0, 64, DATAGRAM_BYTES };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rig rig;

		init(&rig, kinds[i % 2], sizes[i / 2]);
		rig.assignment->workload.qp.qp_type = QP_TYPE_UD;
		rig.assignment->workload.qp.qkey = 0x22222222;
		rig.assignment->workload.qp.num_qps = 3;
		rig.assignment->workload.cq.mode = i % 2 ? CQ_MODE_EVENT : CQ_MODE_POLL;
		rig_open(&rig);
		rig_run(&rig);
		expect(&rig, 0);
		assert_int_equal(rig.totals[1].traffic_bytes, OPERATIONS * sizes[i / 2]);
		rig_done(&rig);
	}
}

/* Each packet is a message there. */
static void each_lost_message_is_missed(void **state)
{
	(void)state;
	for (int type = QP_TYPE_UC; type <= QP_TYPE_UD; type++) {
		struct rig rig;

		init(&rig, OPERATION_SEND, 64);
		rig.assignment->workload.qp.qp_type = type;
		rig_open(&rig);
		fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 7);
		rig_run(&rig);
		expect(&rig, 7);
		rig_done(&rig);
	}
}

static void a_datagram_without_a_way_is_told_before_any_traffic(void **state)
{
	struct rig rig;
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;

	(void)state;
	init(&rig, OPERATION_SEND, 64);
	rig.assignment->workload.qp.qp_type = QP_TYPE_UD;
	rig_open(&rig);
	/* What was made stays as it was. */
	resources_free(rig.resources[0], NULL);
	rig_need(resources_new(&rig.resources[0], rig.devices[0], rig.assignment, &steps, &err),
		 &err);
	fabric_set_verb(rig.fabric, "left", FABRIC_CREATE_AH,
			&(struct fabric_verb_fault){ .error = ETIMEDOUT });
	assert_true(resources_connect(rig.resources[0], rig.assignment, rig.infos[1], &steps,
				      &err) < 0);
	assert_string_equal(err.call, "ibv_create_ah");
	assert_int_equal(err.number, ETIMEDOUT);
	assert_int_equal(err.stage, STAGE_MODIFY_QP);
	assert_non_null(strstr(err.text, "no way to ::ffff:10.0.0.2"));
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
	static const int kinds[] = { OPERATION_SEND, OPERATION_SEND, OPERATION_WRITE,
				     OPERATION_WRITE_WITH_IMM };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig;

		rig_init(&rig, PATTERN_PINGPONG, kinds[i], 64);
		rig.assignment->workload.qp.qp_type = i == 0 ? QP_TYPE_UD : QP_TYPE_UC;
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
		cmocka_unit_test(datagrams_arrive_with_their_payload_alone_counted),
		cmocka_unit_test(a_datagram_without_a_way_is_told_before_any_traffic),
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
