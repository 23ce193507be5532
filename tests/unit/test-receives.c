// SPDX-License-Identifier: MIT

/* Receives are posted again as many at a time as is asked for. */

#include "traffic-rig.h"

#define MESSAGES 640

/* What the receiving device was given: ibv_post_recv of its context is ours meanwhile. */
static struct {
	int (*real)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	size_t calls;
	size_t shortest;
	size_t longest;
	size_t receives;
} seen;

static int count_posts(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	size_t length = 0;

	for (const struct ibv_recv_wr *at = wr; at; at = at->next) {
		length++;
	}
	seen.calls++;
	seen.receives += length;
	seen.shortest = length < seen.shortest ? length : seen.shortest;
	seen.longest = length > seen.longest ? length : seen.longest;
	return seen.real(qp, wr, bad);
}

/* A stream of sends over one queue pair; what the receiver did stands in `seen` and in what is
 * returned. */
static struct fabric_counters run_sends(uint64_t outstanding, uint64_t max_recv_wr,
					uint64_t recv_post_list)
{
	struct fabric_counters counters;
	struct ibv_context *context;
	struct rig rig;

	rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, 64);
	rig.assignment->workload.workload.load.outstanding = outstanding;
	rig.assignment->workload.workload.recv_post_list = recv_post_list;
	rig.assignment->workload.qp.max_recv_wr = max_recv_wr;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = MESSAGES;
	rig_open(&rig);
	context = rig.resources[1]->qps[0]->context;
	seen.real = context->ops.post_recv;
	seen.calls = seen.longest = seen.receives = 0;
	seen.shortest = SIZE_MAX;
	context->ops.post_recv = count_posts;
	rig_run(&rig);
	context->ops.post_recv = seen.real;
	assert_int_equal(rig.totals[0].operations, MESSAGES);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	fabric_counters(rig.fabric, "right", &counters);
	rig_done(&rig);
	return counters;
}

static void as_many_are_posted_at_once_as_is_asked_for(void **state)
{
	static const uint64_t lists[] = { 1, 4, 16, 64 };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		struct fabric_counters counters = run_sends(16, 128, lists[i]);

		assert_int_equal(seen.shortest, lists[i]);
		assert_int_equal(seen.longest, lists[i]);
		assert_in_range(seen.receives, MESSAGES - lists[i], MESSAGES);
		assert_int_equal(counters.rnr_naks, 0);
	}
}

static void
by_itself_a_quarter_of_the_queue_is_posted_at_once_and_no_more_than_sixteen(void **state)
{
	static const struct {
		uint64_t outstanding;
		uint64_t max_recv_wr;
		uint64_t batch;
	} rows[] = { { 16, 16, 4 }, { 16, 20, 5 }, { 32, 128, 16 }, { 1, 8, 2 }, { 1, 1, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fabric_counters counters =
			run_sends(rows[i].outstanding, rows[i].max_recv_wr, SCHEMA_AUTO);

		assert_int_equal(seen.longest, rows[i].batch);
		assert_int_equal(counters.rnr_naks, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_are_posted_at_once_as_is_asked_for),
		cmocka_unit_test(
			by_itself_a_quarter_of_the_queue_is_posted_at_once_and_no_more_than_sixteen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
