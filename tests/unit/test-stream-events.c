// SPDX-License-Identifier: MIT
/* Streams: what is left at the other end, and completion events. */
#include "traffic-rig.h"

/* What the responder's memory holds shows that they happened there, each once. */
static void atomics_change_the_other_end_as_often_as_they_completed(void **state)
{
	const uint64_t iterations = 1000;
	struct rig rig;
	uint64_t sum = 0;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_ATOMIC_FETCH_AND_ADD, OPERATION_ATOMIC_BYTES);
	rig_set_op(&rig, 1, OPERATION_ATOMIC_CMP_AND_SWP, 1, OPERATION_ATOMIC_BYTES);
	rig_set_op(&rig, 2, OPERATION_WRITE, 1, 64);
	rig_set_op(&rig, 3, OPERATION_READ, 1, 64);
	rig.assignment->workload.qp.num_qps = 4;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = iterations;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].operations, iterations);
	for (size_t i = 0; i < rig.resources[1]->qp_count; i++) {
		const struct buffer_layout *layout = &rig.resources[1]->layout;
		uint64_t value;

		memcpy(&value,
		       rig.resources[1]->buffer + i * layout->stride_bytes +
			       layout->atomic_offset_bytes,
		       sizeof(value));
		sum += value;
	}
	assert_int_equal(sum, rig.totals[0].classes[0].completed);
	rig_done(&rig);
}

/* One look in vain ends a burst, and the queues are armed before the next. */
static void a_stream_with_completion_events_counts_the_same(void **state)
{
	static const int kinds[] = { OPERATION_WRITE, OPERATION_SEND, OPERATION_READ };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig;

		rig_init(&rig, PATTERN_STREAM, kinds[i], 64);
		rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
		rig.assignment->workload.qp.num_qps = 2;
		rig.assignment->workload.run.duration_ns = 0;
		rig.assignment->workload.run.iterations = 777;
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].operations, 777);
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

static void completion_events_that_are_refused_end_it_in_words(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
	rig_open(&rig);
	fabric_set_verb(rig.fabric, "left", FABRIC_REQ_NOTIFY,
			&(struct fabric_verb_fault){ .error = EIO, .skip = 20 });
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ERROR);
	assert_string_equal(rig.totals[0].failure.error.call, "ibv_req_notify_cq");
	assert_int_equal(rig.totals[0].failure.error.number, EIO);
	assert_non_null(strstr(rig.totals[0].failure.error.text, "left refuses to tell"));
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomics_change_the_other_end_as_often_as_they_completed),
		cmocka_unit_test(a_stream_with_completion_events_counts_the_same),
		cmocka_unit_test(completion_events_that_are_refused_end_it_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
