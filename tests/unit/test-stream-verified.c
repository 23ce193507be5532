// SPDX-License-Identifier: MIT
/* Streams whose payload is verified: nothing is found where nothing is wrong; and what a device
 * does to payload behind the verbs' back is found, counted and told, in every operation. */
#include "traffic-rig.h"

#define OPERATIONS 600
#define SIZE 2000

static uint64_t size_of(int kind)
{
	return operation_traits(kind) & OPERATION_IS_ATOMIC ? OPERATION_ATOMIC_BYTES : SIZE;
}

static void init(struct rig *rig, int kind, int method, uint64_t sample)
{
	rig_init(rig, PATTERN_STREAM, kind, size_of(kind));
	rig->assignment->workload.workload.verify.method = method;
	rig->assignment->workload.workload.verify.sample = sample;
	rig->assignment->workload.workload.load.outstanding = 16;
	rig->assignment->workload.run.warmup_ns = 0;
	rig->assignment->workload.run.duration_ns = 0;
	rig->assignment->workload.run.iterations = OPERATIONS;
}

/* What both ends saw. */
static struct verification sum(const struct rig *rig)
{
	struct verification sum = { 0 };

	for (int i = 0; i < 2; i++) {
		const struct verification *one = &rig->totals[i].verification;

		if (rig->has_totals[i] && rig->totals[i].has_verification) {
			sum.sent += one->sent;
			sum.received += one->received;
			sum.verified += one->verified;
			sum.corrupted += one->corrupted;
			sum.lost += one->lost;
			sum.duplicated += one->duplicated;
			sum.reordered += one->reordered;
			sum.first = one->first.is_set ? one->first : sum.first;
		}
	}
	sum.lost += sum.sent - sum.received;
	return sum;
}

static void expect_whole(const struct rig *rig)
{
	assert_int_equal(rig->totals[0].end, END_ITERATIONS);
	assert_int_equal(rig->totals[0].operations, rig->assignment->workload.run.iterations);
	assert_int_equal(rig->totals[0].errors + rig->totals[1].errors, 0);
	assert_false(error_is_set(&rig->totals[0].failure.error));
	rig_check_sums(&rig->totals[0]);
}

static void expect_good(const struct rig *rig, uint64_t verified)
{
	struct verification found = sum(rig);

	expect_whole(rig);
	assert_int_equal(found.verified, verified);
	assert_int_equal(verification_errors(&found), 0);
	assert_false(found.first.is_set);
}

static void nothing_is_found_in_messages_of_several_pieces(void **state)
{
	(void)state;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		struct rig rig;

		init(&rig, kind, VERIFY_CRC32C, 1);
		rig.assignment->workload.qp.max_send_sge = 5;
		rig.assignment->workload.qp.max_recv_sge = 3;
		rig_open(&rig);
		rig_run(&rig);
		expect_good(&rig, OPERATIONS);
		rig_done(&rig);
	}
}

static void nothing_is_found_where_nothing_is_wrong(void **state)
{
	static const struct {
		uint64_t num_qps, outstanding, post_list, signal_interval, sample;
	} shapes[] = {
		{ 1, 1, 1, 1, 1 },  { 1, 16, 1, 1, 1 },	 { 1, 16, 4, 8, 1 }, { 3, 48, 2, 4, 1 },
		{ 1, 16, 2, 2, 4 }, { 4, 64, 1, 16, 3 }, { 2, 5, 1, 1, 1 },
	};

	(void)state;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
			const uint64_t sample = shapes[i / 2].sample;
			const uint64_t num_qps = shapes[i / 2].num_qps;
			uint64_t each = OPERATIONS / num_qps;
			bool is_atomic = operation_traits(kind) & OPERATION_IS_ATOMIC;
			struct workload *workload;
			struct rig rig;

			init(&rig, kind, i % 2 ? VERIFY_SEQUENCE : VERIFY_CRC32C, sample);
			workload = &rig.assignment->workload;
			workload->qp.num_qps = num_qps;
			workload->workload.load.outstanding = shapes[i / 2].outstanding;
			workload->workload.post_list = shapes[i / 2].post_list;
			workload->workload.signal_interval = shapes[i / 2].signal_interval;
			rig_open(&rig);
			rig_run(&rig);
			expect_good(&rig, is_atomic ? OPERATIONS
						    : num_qps * ((each + sample - 1) / sample));
			rig_done(&rig);
		}
	}
}

/* What is expected of so many lies, of every kind of operation. */
struct wrong {
	uint64_t verified, corrupted, lost, duplicated, reordered;
};

#define LIES 5
#define LIE_EVERY 52
#define LIE_SKIP 100

static struct wrong expected_of(int kind, enum fabric_lie_kind lie, uint64_t sample)
{
	unsigned traits = operation_traits(kind);
	bool is_message = traits & OPERATION_TAKES_RECEIVE;
	bool is_atomic = traits & OPERATION_IS_ATOMIC;
	uint64_t all = is_atomic ? OPERATIONS : OPERATIONS / sample;
	struct wrong wrong = { .verified = all - LIES };

	switch (lie) {
	case FABRIC_LIE_CORRUPTS:
		wrong.corrupted = LIES;
		break;
	case FABRIC_LIE_DROPS:
		wrong.lost = LIES;
		break;
	case FABRIC_LIE_REPEATS:
		wrong.duplicated = LIES;
		wrong.verified = is_message ? all : all - LIES;
		break;
	default:
		/* Of messages and values the later one is late; of places both are wrong, if both
		 * are looked at. */
		wrong.reordered = is_message || is_atomic || (sample > 1 && kind == OPERATION_READ)
					  ? LIES
					  : 2 * LIES;
		wrong.verified = is_message		   ? all
				 : is_atomic || sample > 1 ? all - LIES
							   : all - 2 * LIES;
		break;
	}
	return wrong;
}

static void expect_wrong(const struct rig *rig, const struct wrong *wrong)
{
	struct verification found = sum(rig);

	expect_whole(rig);
	assert_int_equal(found.corrupted, wrong->corrupted);
	assert_int_equal(found.lost, wrong->lost);
	assert_int_equal(found.duplicated, wrong->duplicated);
	assert_int_equal(found.reordered, wrong->reordered);
	assert_int_equal(found.verified, wrong->verified);
}

static void each_lie_is_found_and_counted(int kind, enum fabric_lie_kind lie, int method,
					  uint64_t sample)
{
	struct wrong wrong = expected_of(kind, lie, sample);
	bool is_fetched = operation_traits(kind) & OPERATION_FETCHES;
	struct fabric_lie told = {
		.kind = lie, .skip = LIE_SKIP, .every = LIE_EVERY, .count = LIES
	};
	struct rig rig;

	init(&rig, kind, method, sample);
	rig_open(&rig);
	fabric_set_lie(rig.fabric, is_fetched ? "left" : "right", &told);
	rig_run(&rig);
	expect_wrong(&rig, &wrong);
	if (lie == FABRIC_LIE_CORRUPTS) {
		struct verification_fault first = sum(&rig).first;

		assert_true(first.is_set);
		assert_int_equal(first.operation, kind);
		assert_int_equal(first.qp_num, rig.infos[!is_fetched]->qps[0].qp_num);
		assert_int_equal(first.number, LIE_SKIP);
		if (!(operation_traits(kind) & OPERATION_IS_ATOMIC)) {
			assert_int_equal(first.offset_bytes, SIZE - 1);
			assert_int_equal(first.length, 1);
			assert_int_equal(first.expected[0] ^ first.found[0], 0x40);
		}
	}
	rig_done(&rig);
}

static void what_is_done_to_payload_is_found_and_counted_in_every_operation(void **state)
{
	(void)state;
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		for (int lie = FABRIC_LIE_CORRUPTS; lie <= FABRIC_LIE_SWAPS; lie++) {
			for (int method = VERIFY_SEQUENCE; method <= VERIFY_CRC32C; method++) {
				each_lie_is_found_and_counted(kind, lie, method, 1);
				each_lie_is_found_and_counted(kind, lie, method, 4);
			}
		}
	}
}

/* --- without acknowledgements --- */

static void init_lossy(struct rig *rig, int type, int kind, uint64_t size_bytes)
{
	init(rig, kind, VERIFY_SEQUENCE, 1);
	rig_set_op(rig, 0, kind, 1, size_bytes);
	rig->assignment->workload.qp.qp_type = type;
	rig->assignment->workload.qp.max_recv_wr = 1024;
}

static const struct {
	int type, kind;
} lossy[] = {
	{ QP_TYPE_UD, OPERATION_SEND },		  { QP_TYPE_UD, OPERATION_SEND_WITH_IMM },
	{ QP_TYPE_UC, OPERATION_SEND },		  { QP_TYPE_UC, OPERATION_SEND_WITH_IMM },
	{ QP_TYPE_UC, OPERATION_WRITE_WITH_IMM },
};
#define LOSSY (sizeof(lossy) / sizeof(lossy[0]))

static void nothing_is_found_over_uc_and_ud_either(void **state)
{
	(void)state;
	for (size_t i = 0; i < LOSSY; i++) {
		struct rig rig;

		init_lossy(&rig, lossy[i].type, lossy[i].kind, 512);
		rig.assignment->workload.qp.num_qps = 3;
		rig_open(&rig);
		rig_run(&rig);
		expect_good(&rig, OPERATIONS);
		rig_done(&rig);
	}
}

static void what_the_network_does_over_uc_and_ud_is_counted_apart(void **state)
{
	static const struct fabric_lie told = {
		.kind = FABRIC_LIE_CORRUPTS, .skip = 100, .every = 50, .count = 3
	};

	(void)state;
	for (size_t i = 0; i < LOSSY; i++) {
		struct verification found;
		struct rig rig;

		init_lossy(&rig, lossy[i].type, lossy[i].kind, 512);
		rig_open(&rig);
		fabric_set_lie(rig.fabric, "right", &told);
		fabric_next_packets(rig.fabric, "left", "right", FABRIC_DROP, 7);
		fabric_next_packets(rig.fabric, "left", "right", FABRIC_DUPLICATE, 5);
		rig_run(&rig);
		expect_whole(&rig);
		found = sum(&rig);
		assert_int_equal(found.lost, 7);
		assert_int_equal(found.duplicated, 5);
		assert_int_equal(found.corrupted, 3);
		assert_int_equal(found.reordered, 0);
		assert_int_equal(found.verified, OPERATIONS - 10);
		rig_done(&rig);
	}
}

/* Loss takes answers and questions as well: nothing stands still. */
static void writes_over_uc_go_on_whatever_is_lost(void **state)
{
	static const struct fabric_link bad = { .latency_ns = 1000, .loss_ppm = 200000 };
	struct verification found;
	struct rig rig;

	(void)state;
	init_lossy(&rig, QP_TYPE_UC, OPERATION_WRITE_WITH_IMM, 512);
	rig_open(&rig);
	fabric_set_link(rig.fabric, NULL, NULL, &bad);
	rig_run(&rig);
	expect_whole(&rig);
	found = sum(&rig);
	assert_in_range(found.lost, 60, 180);
	assert_int_equal(found.verified + found.lost, OPERATIONS);
	assert_int_equal(verification_errors(&found), found.lost);
	rig_done(&rig);
}

static void the_first_wrong_head_is_told_as_well(void **state)
{
	static const struct fabric_lie told = { .kind = FABRIC_LIE_CORRUPTS,
						.skip = 9,
						.count = 1 };
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct verification found;
		struct rig rig;

		init(&rig, kinds[i], VERIFY_SEQUENCE, 1);
		rig_set_op(&rig, 0, kinds[i], 1, VERIFICATION_HEAD_BYTES);
		rig_open(&rig);
		fabric_set_lie(rig.fabric, "right", &told);
		rig_run(&rig);
		expect_whole(&rig);
		found = sum(&rig);
		assert_int_equal(found.corrupted, 1);
		assert_int_equal(verification_errors(&found), 1);
		assert_int_equal(found.first.number, 9);
		assert_int_equal(found.first.offset_bytes, VERIFICATION_HEAD_BYTES - 1);
		rig_done(&rig);
	}
}

/* --- other shapes --- */

static void a_mix_is_verified_as_a_whole(void **state)
{
	(void)state;
	for (int is_timed = 0; is_timed < 2; is_timed++) {
		struct verification found;
		struct rig rig;

		init(&rig, OPERATION_SEND, VERIFY_CRC32C, 1);
		rig_set_op(&rig, 1, OPERATION_WRITE, 3, 5000);
		rig_set_op(&rig, 2, OPERATION_READ, 2, 64);
		rig_set_op(&rig, 3, OPERATION_ATOMIC_FETCH_AND_ADD, 1, 8);
		rig_set_op(&rig, 4, OPERATION_ATOMIC_CMP_AND_SWP, 1, 8);
		rig_set_op(&rig, 5, OPERATION_WRITE, 1, 24);
		rig.assignment->workload.qp.num_qps = 3;
		rig.assignment->workload.workload.load.outstanding = 48;
		rig.assignment->workload.run.warmup_ns = 200000;
		if (is_timed) {
			rig.assignment->workload.run.iterations = 0;
			rig.assignment->workload.run.duration_ns = 2000000;
		}
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, is_timed ? END_DURATION : END_ITERATIONS);
		assert_int_equal(rig.totals[0].errors + rig.totals[1].errors, 0);
		found = sum(&rig);
		assert_int_equal(verification_errors(&found), 0);
		/* Each that completed, that of the warm-up as well. */
		assert_int_equal(found.verified, rig.totals[0].traffic_operations);
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

static void an_open_load_is_verified_too(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_WRITE, OPERATION_WRITE_WITH_IMM,
				     OPERATION_READ };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		for (uint64_t rate = 10000; rate <= 100000000; rate *= 10000) {
			struct load_settings *load;
			struct rig rig;

			init(&rig, kinds[i], VERIFY_SEQUENCE, 1);
			load = &rig.assignment->workload.workload.load;
			load->model = LOAD_OPEN;
			load->ops_rate = rate;
			load->max_outstanding = 16;
			rig_open(&rig);
			rig_run(&rig);
			expect_good(&rig, OPERATIONS);
			rig_done(&rig);
		}
	}
}

static void sends_and_reads_are_verified_with_completion_events(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_READ,
				     OPERATION_ATOMIC_FETCH_AND_ADD };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig;

		init(&rig, kinds[i], VERIFY_SEQUENCE, 1);
		rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
		rig_open(&rig);
		rig_run(&rig);
		expect_good(&rig, OPERATIONS);
		rig_done(&rig);
	}
}

/* Nobody answers: the other end was never started. */
static void writes_that_nobody_looks_at_are_a_stall(void **state)
{
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_WRITE, VERIFY_SEQUENCE, 1);
	rig.assignment->workload.run.stall_timeout_ns = 50000000;
	rig_open(&rig);
	rig_start(&rig, 0);
	rig_finish(&rig);
	assert_int_equal(rig.totals[0].end, END_STALLED);
	assert_non_null(strstr(rig.totals[0].failure.error.text,
			       "does not say that it looked at the writes"));
	rig_done(&rig);
}

/* The responder had no CPU meanwhile: more lies there than one look at the end takes. */
static void what_waits_when_the_end_comes_counts(void **state)
{
	struct rig rig;
	unsigned steps = 0;

	(void)state;
	init(&rig, OPERATION_SEND, VERIFY_SEQUENCE, 1);
	rig.assignment->workload.qp.num_qps = 6;
	rig.assignment->workload.qp.max_recv_wr = 512;
	rig.assignment->workload.workload.load.outstanding = 96;
	rig.assignment->workload.run.iterations = 3000;
	rig_open(&rig);
	rig_start(&rig, 1);
	rig.has_started[1] = false; /* no step of it */
	rig_start(&rig, 0);
	while (!rig.is_over[0]) {
		assert_true(rig_step(&rig) && ++steps < RIG_STEPS_MOST);
	}
	rig.has_started[1] = true;
	traffic_stop(rig.traffic[1]);
	while (!rig.is_over[1]) {
		assert_true(rig_step(&rig) && ++steps < RIG_STEPS_MOST);
	}
	rig_finish(&rig);
	expect_good(&rig, 3000);
	rig_done(&rig);
}

/* Whoever knows the queue key may send datagrams: those do not count. */
static void datagrams_of_others_are_none_of_ours(void **state)
{
	struct error err = ERROR_INIT;
	struct verification found;
	struct rig rig;

	(void)state;
	init(&rig, OPERATION_SEND, VERIFY_CRC32C, 1);
	rig.assignment->workload.qp.qp_type = QP_TYPE_UD;
	rig.assignment->workload.qp.max_recv_wr = 2 * OPERATIONS;
	rig_connect(&rig);
	rig_need(rig_try_traffic(&rig, 0, &err), &err);
	/* As if another one had sent them. */
	rig.infos[0]->qps[0].qp_num++;
	rig_need(rig_try_traffic(&rig, 1, &err), &err);
	rig_run(&rig);
	found = sum(&rig);
	assert_int_equal(found.sent, OPERATIONS);
	assert_int_equal(found.received, 0);
	assert_int_equal(found.lost, OPERATIONS);
	assert_int_equal(found.corrupted + found.duplicated + found.reordered, 0);
	assert_int_equal(rig.totals[1].receives, 0);
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_where_nothing_is_wrong),
		cmocka_unit_test(nothing_is_found_in_messages_of_several_pieces),
		cmocka_unit_test(what_waits_when_the_end_comes_counts),
		cmocka_unit_test(datagrams_of_others_are_none_of_ours),
		cmocka_unit_test(what_is_done_to_payload_is_found_and_counted_in_every_operation),
		cmocka_unit_test(nothing_is_found_over_uc_and_ud_either),
		cmocka_unit_test(what_the_network_does_over_uc_and_ud_is_counted_apart),
		cmocka_unit_test(writes_over_uc_go_on_whatever_is_lost),
		cmocka_unit_test(the_first_wrong_head_is_told_as_well),
		cmocka_unit_test(a_mix_is_verified_as_a_whole),
		cmocka_unit_test(an_open_load_is_verified_too),
		cmocka_unit_test(sends_and_reads_are_verified_with_completion_events),
		cmocka_unit_test(writes_that_nobody_looks_at_are_a_stall),
	};

	return cmocka_run_group_tests_name("stream-verified", tests, NULL, NULL);
}
