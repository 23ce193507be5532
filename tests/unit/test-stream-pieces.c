// SPDX-License-Identifier: MIT

/* qp.max_send_sge and qp.max_recv_sge: messages that are gathered from pieces and scattered to
 * pieces, and come out as they went in. */

#include "traffic-rig.h"

enum { SEND_SGES = 3, RECV_SGES = 5, SIZE = 100, ITERATIONS = 500 };

static void pieces_init(struct rig *rig, int pattern, int kind, uint64_t size_bytes)
{
	struct workload *workload;

	rig_init(rig, pattern, kind, size_bytes);
	workload = &rig->assignment->workload;
	workload->qp.max_send_sge = SEND_SGES;
	workload->qp.max_recv_sge = RECV_SGES;
	workload->run.duration_ns = 0;
	workload->run.iterations = ITERATIONS;
	if (pattern == PATTERN_STREAM) {
		workload->workload.load.outstanding = 8;
	}
}

static uint64_t sges_of(const struct rig *rig, const char *device, bool is_send)
{
	struct fabric_counters counters;

	fabric_counters(rig->fabric, device, &counters);
	return is_send ? counters.send_sges : counters.recv_sges;
}

static void a_message_in_pieces_arrives_whole(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE, OPERATION_READ,
				     OPERATION_SEND_WITH_IMM, OPERATION_WRITE_WITH_IMM };

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		int source = kinds[k] == OPERATION_READ ? 1 : 0;
		bool takes_receive = operation_traits(kinds[k]) & OPERATION_TAKES_RECEIVE;
		struct rig rig;
		uint8_t *from, *to;

		pieces_init(&rig, PATTERN_STREAM, kinds[k], SIZE);
		rig_open(&rig);
		from = rig.resources[source]->buffer;
		to = rig.resources[!source]->buffer + rig.resources[!source]->layout.half_bytes;
		for (int i = 0; i < SIZE; i++) {
			from[i] = (uint8_t)(i * 7 + 1);
		}
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].errors, 0);
		assert_int_equal(rig.totals[0].bytes, ITERATIONS * SIZE);
		assert_memory_equal(from, to, SIZE);
		/* Nothing was posted in one piece. */
		assert_true(sges_of(&rig, "left", true) >= ITERATIONS * SEND_SGES);
		assert_int_equal(sges_of(&rig, "left", true) % SEND_SGES, 0);
		assert_int_equal(sges_of(&rig, "right", false) >= ITERATIONS * RECV_SGES,
				 takes_receive);
		assert_int_equal(sges_of(&rig, "right", false) % RECV_SGES, 0);
		rig_done(&rig);
	}
}

/* A byte cannot be cut, and eight that are one counter must not be. */
static void what_is_too_small_has_fewer_pieces(void **state)
{
	struct rig rig;

	(void)state;
	pieces_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 2);
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].errors, 0);
	assert_int_equal(sges_of(&rig, "left", true), ITERATIONS * 2);
	rig_done(&rig);

	pieces_init(&rig, PATTERN_STREAM, OPERATION_ATOMIC_FETCH_AND_ADD, OPERATION_ATOMIC_BYTES);
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].errors, 0);
	assert_int_equal(sges_of(&rig, "left", true), ITERATIONS);
	rig_done(&rig);
}

static void answers_are_in_pieces_too(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE, OPERATION_READ };

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		bool is_answered = kinds[k] != OPERATION_READ;
		struct rig rig;

		pieces_init(&rig, PATTERN_PINGPONG, kinds[k], SIZE);
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].errors, 0);
		assert_int_equal(rig.totals[0].operations, ITERATIONS);
		assert_int_equal(sges_of(&rig, "right", true),
				 is_answered ? sges_of(&rig, "left", true) : 0);
		rig_done(&rig);
	}
}

/* A request of one byte, an answer of many, of which the last is what is looked for. */
static void requests_and_responses_have_each_their_own(void **state)
{
	struct rig rig;

	(void)state;
	pieces_init(&rig, PATTERN_REQUEST_RESPONSE, OPERATION_SEND, 1);
	rig.assignment->workload.workload.ops[0].response_bytes = SIZE;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	assert_int_equal(sges_of(&rig, "left", true), ITERATIONS);
	assert_int_equal(sges_of(&rig, "right", true), ITERATIONS * SEND_SGES);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_in_pieces_arrives_whole),
		cmocka_unit_test(what_is_too_small_has_fewer_pieces),
		cmocka_unit_test(answers_are_in_pieces_too),
		cmocka_unit_test(requests_and_responses_have_each_their_own),
	};

	return cmocka_run_group_tests_name("stream-pieces", tests, NULL, NULL);
}
