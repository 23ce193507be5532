// SPDX-License-Identifier: MIT
#include "model/footprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"

static struct footprint footprint;
static char said[LIMIT_TEXT];

static struct workload *workload_with(int pattern, uint64_t outstanding)
{
	struct workload *workload = memory_new(sizeof(*workload));

	schema_defaults(workload_section_fields, workload);
	workload->workload.pattern = pattern;
	workload->workload.load.outstanding = outstanding;
	return workload;
}

static struct operation *add(struct workload *workload, int kind, uint64_t weight)
{
	struct operation *op = &workload->workload.ops[workload->workload.op_count++];

	op->kind = kind;
	op->weight = weight;
	return op;
}

static void add_size(struct operation *op, uint64_t size_bytes, uint64_t weight)
{
	op->sizes[op->size_count++] = (struct operation_size){ size_bytes, weight };
}

/* Frees it. */
static bool is_disruptive(struct workload *workload)
{
	memset(&footprint, 0xa5, sizeof(footprint)); /* whatever was there */
	footprint_of(workload, &footprint);
	footprint_say(&footprint, said, sizeof(said));
	free(workload);
	return footprint_is_disruptive(&footprint);
}

static bool of_one(int pattern, uint64_t outstanding, uint64_t size_bytes)
{
	struct workload *workload = workload_with(pattern, outstanding);

	add_size(add(workload, OPERATION_WRITE, 1), size_bytes, 1);
	return is_disruptive(workload);
}

/* Each port bears what either end asks for. */
static void both_directions_count_twice(void **state)
{
	struct workload *workload = workload_with(PATTERN_STREAM, 1);
	double alone;

	(void)state;
	add_size(add(workload, OPERATION_WRITE, 1), 2048, 1);
	footprint_of(workload, &footprint);
	alone = footprint.percent;
	assert_false(footprint_is_disruptive(&footprint));
	workload->workload.direction = DIRECTION_BOTH;
	footprint_of(workload, &footprint);
	assert_true(footprint.percent == 2 * alone);
	assert_true(is_disruptive(workload));
	assert_non_null(strstr(said, "from either end, takes 8 %"));
	workload = workload_with(PATTERN_STREAM, 16);
	workload->workload.direction = DIRECTION_BOTH;
	workload->workload.load.model = LOAD_OPEN;
	workload->workload.load.rate_bps = 3000000000;
	add_size(add(workload, OPERATION_WRITE, 1), 4096, 1);
	assert_true(is_disruptive(workload));
	assert_non_null(strstr(said, "from both ends, takes 6 %"));
}

static void a_response_counts_as_what_is_larger(void **state)
{
	static const uint64_t sizes[][2] = { { 64, 65536 }, { 65536, 64 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct workload *workload = workload_with(PATTERN_REQUEST_RESPONSE, 1);
		struct operation *op = add(workload, OPERATION_SEND, 1);

		add_size(op, sizes[i][0], 1);
		op->response_bytes = sizes[i][1];
		/* 5.2 us of 9.2. */
		assert_true(is_disruptive(workload));
		assert_in_range((uint64_t)footprint.percent, 56, 57);
		assert_non_null(strstr(said, "one operation of 64KiB"));
	}
	assert_false(of_one(PATTERN_REQUEST_RESPONSE, 1, 2048));
}

static void several_operations_under_way_fill_any_port(void **state)
{
	assert_true(of_one(PATTERN_STREAM, 2, 1));
	assert_true(of_one(PATTERN_STREAM, 128, 65536));
	assert_int_equal((int)footprint.percent, 100);
	assert_non_null(strstr(said, "128 operations"));
	assert_non_null(strstr(said, "100 %"));
}

/* There a completion is no answer: the next message goes at once. */
static void a_stream_without_acknowledgements_fills_any_port_with_one_under_way(void **state)
{
	struct workload *workload = workload_with(PATTERN_STREAM, 1);

	(void)state;
	workload->qp.qp_type = QP_TYPE_UC;
	add_size(add(workload, OPERATION_SEND, 1), 64, 1);
	assert_true(is_disruptive(workload));
	assert_non_null(strstr(said, "without acknowledgements"));
	workload = workload_with(PATTERN_PINGPONG, 1);
	workload->qp.qp_type = QP_TYPE_UC;
	add_size(add(workload, OPERATION_SEND, 1), 64, 1);
	assert_false(is_disruptive(workload));
}

static void how_short_a_stream_is_changes_nothing(void **state)
{
	struct workload *workload = workload_with(PATTERN_STREAM, 16);

	workload->run.duration_ns = 0;
	workload->run.iterations = 1;
	add_size(add(workload, OPERATION_READ, 1), 64, 1);
	assert_true(is_disruptive(workload));
}

static void one_small_operation_at_a_time_disturbs_nobody(void **state)
{
	assert_false(of_one(PATTERN_PINGPONG, 1, 0));
	assert_false(of_one(PATTERN_PINGPONG, 1, 8));
	assert_false(of_one(PATTERN_PINGPONG, 1, 2048));
	assert_false(of_one(PATTERN_STREAM, 1, 2048));
	/* A ping-pong has one whatever else is written. */
	assert_false(of_one(PATTERN_PINGPONG, 64, 8));
}

static void large_operations_take_their_share_one_at_a_time_too(void **state)
{
	assert_true(of_one(PATTERN_PINGPONG, 1, 4096));
	assert_true(of_one(PATTERN_PINGPONG, 1, 65536));
	/* 5.2 us on the wire each way, and 4 us besides */
	assert_int_equal((int)footprint.percent, 36);
	assert_non_null(strstr(said, "64KiB"));
	assert_non_null(strstr(said, "36 %"));
	assert_true(of_one(PATTERN_STREAM, 1, 1 << 20));
}

static void sizes_count_by_their_share_of_the_operations(void **state)
{
	struct workload *workload = workload_with(PATTERN_PINGPONG, 1);
	struct operation *op = add(workload, OPERATION_SEND, 3);

	add_size(op, 8, 9);
	add_size(op, 10008, 1);
	add_size(add(workload, OPERATION_READ, 1), 8, 1);
	assert_false(is_disruptive(workload));
	assert_int_equal(footprint.operation_bytes, 758);

	workload = workload_with(PATTERN_PINGPONG, 1);
	op = add(workload, OPERATION_SEND, 3);
	add_size(op, 8, 1);
	add_size(op, 10008, 1);
	add_size(add(workload, OPERATION_READ, 1), 8, 1);
	assert_true(is_disruptive(workload));
}

static bool of_open(uint64_t ops_rate, uint64_t rate_bps, uint64_t max_outstanding,
		    uint64_t size_bytes)
{
	struct workload *workload = workload_with(PATTERN_STREAM, max_outstanding);
	struct load_settings *load = &workload->workload.load;

	load->model = LOAD_OPEN;
	load->ops_rate = ops_rate;
	load->rate_bps = rate_bps;
	load->max_outstanding = max_outstanding;
	add_size(add(workload, OPERATION_WRITE, 1), size_bytes, 1);
	return is_disruptive(workload);
}

static void an_open_load_takes_its_rate(void **state)
{
	(void)state;
	assert_false(of_open(100000, 0, 128, 64));
	assert_false(of_open(0, 4000000000, 128, 65536));
	assert_non_null(strstr(said, "4 Gb/s"));
	assert_true(of_open(0, 6000000000, 128, 65536));
	assert_non_null(strstr(said, "takes 6 %"));
	/* Payload is not all: a port does so many operations. */
	assert_true(of_open(6000000, 0, 128, 1));
}

static void an_open_load_that_comes_in_large_pieces_fills_the_port(void **state)
{
	(void)state;
	assert_true(of_open(0, 1000000000, 1, 256u << 20));
	assert_non_null(strstr(said, "max_outstanding"));
	assert_true(of_open(0, 1000000000, 128, 1u << 20));
	assert_false(of_open(0, 1000000000, 8, 1u << 20));
}

static void a_workload_without_operations_has_no_footprint(void **state)
{
	assert_false(is_disruptive(workload_with(PATTERN_PINGPONG, 1)));
	assert_int_equal(footprint.operation_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_operations_under_way_fill_any_port),
		cmocka_unit_test(a_response_counts_as_what_is_larger),
		cmocka_unit_test(both_directions_count_twice),
		cmocka_unit_test(
			a_stream_without_acknowledgements_fills_any_port_with_one_under_way),
		cmocka_unit_test(how_short_a_stream_is_changes_nothing),
		cmocka_unit_test(one_small_operation_at_a_time_disturbs_nobody),
		cmocka_unit_test(large_operations_take_their_share_one_at_a_time_too),
		cmocka_unit_test(sizes_count_by_their_share_of_the_operations),
		cmocka_unit_test(an_open_load_takes_its_rate),
		cmocka_unit_test(an_open_load_that_comes_in_large_pieces_fills_the_port),
		cmocka_unit_test(a_workload_without_operations_has_no_footprint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
