// SPDX-License-Identifier: MIT

/* qp.srq: all queue pairs of an end take their receives from one queue. */

#include "traffic-rig.h"

enum { QPS = 4, ITERATIONS = 5000 };

static void shared_init(struct rig *rig, int qp_type, int kind, uint64_t size_bytes)
{
	struct workload *workload;

	rig_init(rig, PATTERN_STREAM, kind, size_bytes);
	workload = &rig->assignment->workload;
	workload->qp.qp_type = qp_type;
	workload->qp.num_qps = QPS;
	workload->qp.srq = true;
	workload->qp.max_recv_wr = 64;
	workload->workload.load.outstanding = 32;
	workload->run.duration_ns = 0;
	workload->run.iterations = ITERATIONS;
}

static void every_message_is_counted_whichever_queue_pair_it_came_to(void **state)
{
	static const struct {
		int qp_type;
		int kind;
		uint64_t size_bytes; /* of several packets: two messages come at the same time */
	} rows[] = {
		{ QP_TYPE_RC, OPERATION_SEND, 64 },
		{ QP_TYPE_RC, OPERATION_SEND, 100000 },
		{ QP_TYPE_RC, OPERATION_SEND_WITH_IMM, 4096 },
		{ QP_TYPE_RC, OPERATION_WRITE_WITH_IMM, 20000 },
		{ QP_TYPE_UD, OPERATION_SEND, 1024 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig rig;

		shared_init(&rig, rows[i].qp_type, rows[i].kind, rows[i].size_bytes);
		rig_open(&rig);
		assert_non_null(rig.resources[1]->srq);
		assert_int_equal(rig.resources[1]->recv_queues, 1);
		/* Who takes no messages needs none. */
		assert_null(rig.resources[0]->srq);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].operations, ITERATIONS);
		assert_int_equal(rig.totals[0].errors, 0);
		assert_int_equal(rig.totals[1].receives, ITERATIONS);
		assert_int_equal(rig.totals[1].bytes, ITERATIONS * rows[i].size_bytes);
		rig_done(&rig);
	}
}

/* As long as receives for all that may be in flight are there nobody is told to wait. */
static void no_sender_meets_a_queue_without_receives(void **state)
{
	struct fabric_counters counters;
	struct rig rig;

	(void)state;
	shared_init(&rig, QP_TYPE_RC, OPERATION_SEND, 4096);
	rig.assignment->workload.qp.max_recv_wr = 48; /* 32 in flight, 12 given back at once */
	rig_open(&rig);
	rig_run(&rig);
	fabric_counters(rig.fabric, "right", &counters);
	assert_int_equal(counters.rnr_naks, 0);
	rig_done(&rig);
}

static void a_failed_receive_names_its_queue_pair(void **state)
{
	struct rig rig;

	(void)state;
	shared_init(&rig, QP_TYPE_RC, OPERATION_SEND, 4096);
	rig_open(&rig);
	rig_start(&rig, 1);
	rig_start(&rig, 0);
	fabric_set_defect(rig.fabric, "right", FABRIC_SHORT_RECEIVES, true);
	rig_finish(&rig);
	assert_int_equal(rig.totals[1].end, END_ERROR);
	assert_int_equal(rig.totals[1].failure.error.number, IBV_WC_LOC_LEN_ERR);
	assert_true(rig.totals[1].failure.qp_num >= rig.resources[1]->qps[0]->qp_num);
	assert_true(rig.totals[1].failure.qp_num <= rig.resources[1]->qps[QPS - 1]->qp_num);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_is_counted_whichever_queue_pair_it_came_to),
		cmocka_unit_test(no_sender_meets_a_queue_without_receives),
		cmocka_unit_test(a_failed_receive_names_its_queue_pair),
	};

	return cmocka_run_group_tests_name("stream-shared", tests, NULL, NULL);
}
