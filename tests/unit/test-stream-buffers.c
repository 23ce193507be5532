// SPDX-License-Identifier: MIT

/* memory.buffers: which bytes a stream touches, at both ends. */

#include "traffic-rig.h"

enum { QPS = 2, SIZE = 128 };

/* Slot `index` of a queue pair: of the half from which it sends (and is read), or of the other. */
static uint8_t *slot(const struct rig *rig, int end, uint64_t qp, bool is_second, uint64_t index)
{
	const struct resources *resources = rig->resources[end];
	const struct buffer_layout *layout = &resources->layout;

	return resources->buffer + qp * layout->stride_bytes +
	       (is_second ? layout->half_bytes : 0) + index * layout->slot_bytes;
}

/* Each slot of the source has bytes of its own; where do they come to? */
static void run_with(struct rig *rig, int kind, uint64_t buffers)
{
	bool is_read = kind == OPERATION_READ;
	int source = is_read ? 1 : 0;

	rig_init(rig, PATTERN_STREAM, kind,
		 operation_traits(kind) & OPERATION_IS_ATOMIC ? OPERATION_ATOMIC_BYTES : SIZE);
	rig->assignment->workload.qp.num_qps = QPS;
	rig->assignment->workload.workload.load.outstanding = QPS * 16;
	rig->assignment->workload.memory.buffers = buffers;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = QPS * (buffers + 50);
	rig_open(rig);
	assert_int_equal(rig->resources[0]->layout.spread_slots, buffers);
	for (uint64_t qp = 0; qp < QPS; qp++) {
		for (uint64_t i = 0; i < buffers; i++) {
			memset(slot(rig, source, qp, false, i), (int)(1 + (qp * 97 + i) % 255),
			       SIZE);
		}
	}
	rig_run(rig);
	assert_int_equal(rig->totals[0].end, END_ITERATIONS);
	assert_int_equal(rig->totals[0].errors, 0);
}

static void expect_slot(const uint8_t *at, int value)
{
	for (size_t i = 0; i < SIZE; i++) {
		if (at[i] != value) {
			fail_msg("byte %zu is %d instead of %d", i, at[i], value);
		}
	}
}

static void each_buffer_of_writes_and_reads_comes_to_its_like(void **state)
{
	static const int kinds[] = { OPERATION_WRITE, OPERATION_READ };
	/* Fewer and more than are in flight. */
	static const uint64_t counts[] = { 1, 2, 7, 16, 1000 };
	struct rig rig;

	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			run_with(&rig, kinds[k], counts[c]);
			for (uint64_t i = 0; i < QPS * counts[c]; i++) {
				uint64_t qp = i / counts[c], index = i % counts[c];

				expect_slot(slot(&rig, kinds[k] == OPERATION_READ ? 0 : 1, qp, true,
						 index),
					    (int)(1 + (qp * 97 + index) % 255));
			}
			rig_done(&rig);
		}
	}
}

/* Receives take theirs in turn, whatever came: each has got something whole. */
static void receives_take_their_buffers_in_turn(void **state)
{
	struct rig rig;

	(void)state;
	run_with(&rig, OPERATION_SEND, 8);
	for (uint64_t i = 0; i < QPS * 8; i++) {
		const uint8_t *at = slot(&rig, 1, i / 8, true, i % 8);

		assert_int_not_equal(at[0], 0);
		expect_slot(at, at[0]);
	}
	rig_done(&rig);
}

/* A shared queue has one row of receives, and the buffers of all queue pairs. */
static void receives_of_a_shared_queue_take_the_buffers_of_all(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, SIZE);
	rig.assignment->workload.qp.num_qps = QPS;
	rig.assignment->workload.qp.srq = true;
	rig.assignment->workload.qp.max_recv_wr = 64;
	rig.assignment->workload.workload.load.outstanding = QPS * 8;
	rig.assignment->workload.memory.buffers = 32;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 200;
	rig_open(&rig);
	for (uint64_t qp = 0; qp < QPS; qp++) {
		memset(slot(&rig, 0, qp, false, 0), 1, 32 * rig.resources[0]->layout.slot_bytes);
		memset(slot(&rig, 1, qp, true, 0), 0, 32 * rig.resources[1]->layout.slot_bytes);
	}
	rig_run(&rig);
	assert_int_equal(rig.totals[1].receives, 200);
	for (uint64_t i = 0; i < QPS * 32; i++) {
		expect_slot(slot(&rig, 1, i / 32, true, i % 32), 1);
	}
	rig_done(&rig);
}

/* They are counters: wherever their answers go, nothing else may lie there. */
static void atomics_beside_buffers_keep_their_place(void **state)
{
	struct rig rig;
	uint64_t count;

	(void)state;
	run_with(&rig, OPERATION_ATOMIC_FETCH_AND_ADD, 4);
	memcpy(&count, rig.resources[1]->buffer + rig.resources[1]->layout.atomic_offset_bytes,
	       sizeof(count));
	assert_int_equal(count, 4 + 50);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_buffer_of_writes_and_reads_comes_to_its_like),
		cmocka_unit_test(receives_take_their_buffers_in_turn),
		cmocka_unit_test(receives_of_a_shared_queue_take_the_buffers_of_all),
		cmocka_unit_test(atomics_beside_buffers_keep_their_place),
	};

	return cmocka_run_group_tests_name("stream-buffers", tests, NULL, NULL);
}
