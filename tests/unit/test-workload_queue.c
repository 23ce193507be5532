// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/workload_queue.h"

static struct workload stream_of(uint64_t num_qps, uint64_t outstanding, uint64_t post_list,
				 uint64_t signal_interval)
{
	struct workload workload;

	memset(&workload, 0, sizeof(workload));
	schema_defaults(workload_section_fields, &workload);
	workload.qp.num_qps = num_qps;
	workload.workload.pattern = PATTERN_STREAM;
	workload.workload.load.outstanding = outstanding;
	workload.workload.post_list = post_list;
	workload.workload.signal_interval = signal_interval;
	workload.workload.op_count = 1;
	workload.workload.ops[0] = (struct operation){
		.kind = OPERATION_WRITE, .weight = 1, .size_count = 1, .sizes = { { 64, 1 } }
	};
	workload.run.duration_ns = 1000000000;
	return workload;
}

static void what_is_outstanding_is_shared_out_whole(void **state)
{
	(void)state;
	for (uint64_t num_qps = 1; num_qps <= 9; num_qps++) {
		for (uint64_t outstanding = num_qps; outstanding < 40; outstanding++) {
			struct workload w = stream_of(num_qps, outstanding, 1, 1);
			uint64_t sum = 0;

			for (uint64_t i = 0; i < num_qps; i++) {
				uint64_t depth = workload_queue_depth(&w, i);

				assert_in_range(depth, workload_queue_depth_least(&w),
						workload_queue_depth_most(&w));
				sum += depth;
			}
			assert_int_equal(sum, outstanding);
			assert_in_range(workload_queue_depth_most(&w) -
						workload_queue_depth_least(&w),
					0, 1);
		}
	}
}

/* Posts whole batches and completes up to the last signalled request, as a device would. */
static bool makes_progress(uint64_t depth, uint64_t post_list, uint64_t signal_interval)
{
	uint64_t posted = 0;
	uint64_t completed = 0;

	for (unsigned turn = 0; turn < 200; turn++) {
		uint64_t before = completed;

		while (posted + post_list <= completed + depth) {
			posted += post_list;
		}
		completed = posted / signal_interval * signal_interval;
		if (completed == before) {
			return false;
		}
	}
	return true;
}

static void the_depth_needed_is_the_least_that_makes_progress(void **state)
{
	(void)state;
	for (uint64_t post_list = 1; post_list <= 24; post_list++) {
		for (uint64_t signal_interval = 1; signal_interval <= 24; signal_interval++) {
			struct workload w = stream_of(1, 64, post_list, signal_interval);
			uint64_t needed = workload_queue_depth_needed(&w);

			assert_true(makes_progress(needed, post_list, signal_interval));
			assert_false(makes_progress(needed - 1, post_list, signal_interval));
		}
	}
}

/* What the check lets pass runs; and its cures lead there. */
static void the_check_asks_for_that_depth_on_every_queue_pair(void **state)
{
	(void)state;
	for (uint64_t num_qps = 1; num_qps <= 3; num_qps++) {
		for (uint64_t outstanding = num_qps; outstanding <= 40; outstanding += 3) {
			for (uint64_t post_list = 1; post_list <= 14; post_list++) {
				for (uint64_t signal = 1; signal <= 14; signal++) {
					struct workload w =
						stream_of(num_qps, outstanding, post_list, signal);
					bool runs = makes_progress(workload_queue_depth_least(&w),
								   post_list, signal);

					assert_int_equal(workload_check(&w, NULL, NULL) == 0, runs);
				}
			}
		}
	}
}

static void completion_queues_hold_all_and_one_for_each_end(void **state)
{
	struct workload w = stream_of(4, 64, 1, 1);

	(void)state;
	assert_int_equal(workload_queue_send_completions(&w), 4 * 17);
	w = stream_of(4, 65, 1, 1);
	assert_int_equal(workload_queue_send_completions(&w), 4 * 18);
	assert_int_equal(workload_queue_receive_completions(&w, false), 1);
	assert_int_equal(workload_queue_receive_completions(&w, true), 4 * 512);
	/* A ping-pong's next post may meet a completion that was not read yet. */
	w = stream_of(1, 1, 1, 1);
	assert_int_equal(workload_queue_send_completions(&w), 3);
	w.qp.max_send_wr = 1;
	assert_int_equal(workload_queue_send_completions(&w), 2);
}

static void rings_hold_the_depth_in_whole_batches_and_intervals(void **state)
{
	struct operation_class classes[LIMIT_CLASSES];
	struct workload_ring ring;
	uint64_t total;

	(void)state;
	for (uint64_t num_qps = 1; num_qps <= 1024; num_qps *= 4) {
		for (uint64_t signal = 1; signal <= 12; signal++) {
			struct workload w = stream_of(num_qps, num_qps * 16 + 1, 3, signal);
			size_t count;

			w.workload.ops[0].size_count = 2;
			w.workload.ops[0].sizes[1] = (struct operation_size){ 128, 7 };
			count = operation_classes(w.workload.ops, 1, 0, classes, &total);
			assert_true(workload_queue_ring(&w, classes, count, &ring));
			assert_true(ring.length >= 17);
			assert_int_equal(ring.length % 3, 0);
			assert_int_equal(ring.length % signal, 0);
			assert_int_equal(ring.total, ring.length * num_qps);
			assert_true(ring.is_shared ? num_qps > 1 : num_qps < 1024);
		}
	}
	struct workload w = stream_of(1024, 65537, 1, 1);

	operation_classes(w.workload.ops, 1, 0, classes, &total);
	assert_false(workload_queue_ring(&w, classes, 1, &ring));
	assert_true(ring.total > LIMIT_RING_WRS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_outstanding_is_shared_out_whole),
		cmocka_unit_test(the_depth_needed_is_the_least_that_makes_progress),
		cmocka_unit_test(the_check_asks_for_that_depth_on_every_queue_pair),
		cmocka_unit_test(completion_queues_hold_all_and_one_for_each_end),
		cmocka_unit_test(rings_hold_the_depth_in_whole_batches_and_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
