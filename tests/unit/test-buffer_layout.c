// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/buffer_layout.h"

static struct workload workload_of(int kind, uint64_t size_bytes, uint64_t num_qps)
{
	return (struct workload){
		.qp = { .num_qps = num_qps },
		.workload = { .op_count = 1,
			      .ops = { { .kind = kind,
					 .weight = 1,
					 .size_count = 1,
					 .sizes = { { .size_bytes = size_bytes } } } } },
	};
}

static void the_region_holds_two_halves_of_the_largest_size_for_each_queue_pair(void **state)
{
	struct workload workload = workload_of(OPERATION_WRITE, 64, 3);
	struct buffer_layout layout;

	(void)state;
	workload.workload.ops[0].sizes[1].size_bytes = 65537;
	workload.workload.ops[0].size_count = 2;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.half_bytes, 65600);
	assert_int_equal(layout.stride_bytes, 131200);
	assert_int_equal(layout.total_bytes, 397312); /* 3 x 131200 = 393600, up to 97 x 4096 */
}

static void buffers_are_rows_of_slots_in_each_half(void **state)
{
	struct workload workload = workload_of(OPERATION_WRITE, 100, 2);
	struct buffer_layout layout;

	(void)state;
	workload.memory.buffers = 5;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.slot_bytes, 128);
	assert_int_equal(layout.spread_slots, 5);
	assert_int_equal(layout.receive_slots, 5);
	assert_int_equal(layout.half_bytes, 640);
	assert_int_equal(layout.write_offset_bytes, 640);
	assert_int_equal(layout.stride_bytes, 1280);
	/* Verified payload has slots of its own. */
	workload.workload.verify = (struct verify_settings){ VERIFY_SEQUENCE, 1 };
	workload.workload.load.outstanding = 4;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.spread_slots, 1);
}

static void datagrams_have_room_for_their_header(void **state)
{
	struct workload workload = workload_of(OPERATION_SEND, 4096, 1);
	struct buffer_layout layout;

	(void)state;
	workload.qp.qp_type = QP_TYPE_UD;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.header_bytes, 40);
	assert_int_equal(layout.half_bytes, 4160);
	workload.qp.qp_type = QP_TYPE_UC;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.header_bytes, 0);
	assert_int_equal(layout.half_bytes, 4096);
}

static void operations_without_payload_have_an_address(void **state)
{
	struct workload workload = workload_of(OPERATION_SEND, 0, 1);
	struct buffer_layout layout;

	(void)state;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.half_bytes, 64);
	assert_int_equal(layout.total_bytes, 4096);
}

static void atomics_work_where_nothing_else_is(void **state)
{
	struct workload workload = workload_of(OPERATION_ATOMIC_FETCH_AND_ADD, 8, 2);
	struct buffer_layout layout;

	(void)state;
	buffer_layout_of(&workload, &layout);
	assert_int_equal(layout.half_bytes, 64);
	assert_int_equal(layout.atomic_offset_bytes, 128);
	assert_int_equal(layout.stride_bytes, 192);
	assert_true(layout.total_bytes >= 2 * 192);
	assert_int_equal(layout.atomic_offset_bytes % 8, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_region_holds_two_halves_of_the_largest_size_for_each_queue_pair),
		cmocka_unit_test(buffers_are_rows_of_slots_in_each_half),
		cmocka_unit_test(datagrams_have_room_for_their_header),
		cmocka_unit_test(operations_without_payload_have_an_address),
		cmocka_unit_test(atomics_work_where_nothing_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
