// SPDX-License-Identifier: MIT
#include "run/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"

#define MS_NS 1000000ull
#define CLASSES 3
#define INTERVALS 4

/* An assignment of a second in intervals of 250 ms, and what an initiator could say of it. */
struct scene {
	struct assignment *assignment;
	struct totals totals;
};

static void fill_class(struct class_totals *class, int kind, uint64_t size_bytes, uint64_t weight)
{
	class->class = (struct operation_class){ .kind = kind,
						 .size_bytes = size_bytes,
						 .weight = weight };
	class->posted = 101;
	class->completed = 100;
	class->bytes = 100 * size_bytes;
	histogram_reset(&class->latency);
	for (unsigned i = 0; i < 50; i++) {
		histogram_add(&class->latency, 1000 + i);
	}
}

static void fill_totals(struct totals *totals)
{
	sample_totals_init(totals);
	totals->end = END_DURATION;
	totals->window_ns = 1000 * MS_NS;
	totals->class_count = CLASSES;
	totals->classes = memory_new_array(CLASSES, sizeof(*totals->classes));
	fill_class(&totals->classes[0], OPERATION_WRITE, 64, 1);
	fill_class(&totals->classes[1], OPERATION_WRITE, 4096, 1);
	fill_class(&totals->classes[2], OPERATION_READ, 64, 2);
	totals->operations = 300;
	totals->bytes = 100 * (64 + 4096 + 64);
	totals->traffic_operations = INT64_MAX;
	totals->traffic_bytes = INT64_MAX;
	totals->interval_count = INTERVALS;
	totals->intervals = memory_new_array(INTERVALS, sizeof(*totals->intervals));
	for (uint64_t i = 0; i < INTERVALS; i++) {
		totals->intervals[i] = (struct sample){ .start_ns = i * 250 * MS_NS,
							.end_ns = (i + 1) * 250 * MS_NS,
							.operations = 75,
							.bytes = totals->bytes / INTERVALS };
	}
}

static int set_up(void **state)
{
	struct scene *scene = memory_new(sizeof(*scene));
	struct workload *workload;

	scene->assignment = memory_new(sizeof(*scene->assignment));
	workload = &scene->assignment->workload;
	workload->workload.pattern = PATTERN_STREAM;
	workload->workload.op_count = 2;
	workload->workload.ops[0] = (struct operation){
		.kind = OPERATION_WRITE,
		.weight = 1,
		.size_count = 2,
		.sizes = { { 64, 1 }, { 4096, 1 } },
	};
	workload->workload.ops[1] = (struct operation){
		.kind = OPERATION_READ,
		.weight = 1,
		.size_count = 1,
		.sizes = { { 64, 1 } },
	};
	workload->run.duration_ns = 1000 * MS_NS;
	workload->run.interval_ns = 250 * MS_NS;
	fill_totals(&scene->totals);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	sample_totals_done(&scene->totals);
	free(scene->assignment);
	free(scene);
	return 0;
}

static int check(const struct scene *scene, enum job_role role, struct error *err)
{
	return claim_check(&scene->totals, scene->assignment, role, err);
}

static void fits(const struct scene *scene, enum job_role role)
{
	struct error err = ERROR_INIT;

	if (check(scene, role, &err) < 0) {
		fail_msg("%s", err.text);
	}
}

static void differs(const struct scene *scene, enum job_role role, const char *what)
{
	struct error err = ERROR_INIT;

	assert_true(check(scene, role, &err) < 0);
	assert_int_equal(err.class, ERROR_PEER);
	if (strstr(err.text, what) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", err.text, what);
	}
}

static void totals_of_the_assignment_are_taken(void **state)
{
	struct scene *scene = *state;

	fits(scene, ROLE_INITIATOR);
	/* One more at the end, and what clocks differ by. */
	scene->totals.window_ns = 998 * MS_NS;
	fits(scene, ROLE_INITIATOR);
}

static void totals_without_anything_measured_fit_everything(void **state)
{
	struct scene *scene = *state;

	sample_totals_done(&scene->totals);
	sample_totals_init(&scene->totals);
	scene->totals.end = END_STOPPED;
	fits(scene, ROLE_INITIATOR);
	fits(scene, ROLE_RESPONDER);
}

static void another_number_of_classes_is_named(void **state)
{
	struct scene *scene = *state;

	scene->totals.class_count = 2;
	differs(scene, ROLE_INITIATOR, "2 classes of operations, the assignment has 3");
	/* Operations of no class at all are no better. */
	scene->totals.class_count = 0;
	differs(scene, ROLE_INITIATOR, "0 classes of operations, the assignment has 3");
	scene->totals.class_count = 3;
	/* Who answers a stream has none. */
	differs(scene, ROLE_RESPONDER, "3 classes of operations, the assignment has 0");
}

static void another_operation_size_or_weight_is_named(void **state)
{
	struct scene *scene = *state;
	struct operation_class *class = &scene->totals.classes[1].class;

	class->kind = OPERATION_SEND;
	differs(scene, ROLE_INITIATOR, "classes[1] is send of 4096 bytes");
	class->kind = OPERATION_WRITE;
	class->size_bytes = 8192;
	differs(scene, ROLE_INITIATOR, "the assignment has write of 4096 bytes");
	class->size_bytes = 4096;
	class->weight = 7;
	differs(scene, ROLE_INITIATOR, "weight 7");
	class->weight = 1;
	fits(scene, ROLE_INITIATOR);
}

static void sums_that_do_not_agree_are_told(void **state)
{
	struct scene *scene = *state;
	struct class_totals *class = &scene->totals.classes[0];

	class->bytes++;
	differs(scene, ROLE_INITIATOR, "classes[0] has 100 operations of 64 bytes");
	class->bytes--;
	class->completed = UINT64_MAX / 2;
	differs(scene, ROLE_INITIATOR, "classes[0]");
	class->completed = 100;
	histogram_add(&class->latency, 1000);
	class->completed = 50;
	class->bytes = 50 * 64;
	differs(scene, ROLE_INITIATOR, "51 latencies of 50 operations completed");
	class->completed = 100;
	class->bytes = 100 * 64;
	scene->totals.operations = 1000000;
	differs(scene, ROLE_INITIATOR, "300 together, and 1000000 in all");
	scene->totals.operations = 300;
	scene->totals.intervals[2].operations = 76;
	differs(scene, ROLE_INITIATOR, "intervals are 301 together");
	scene->totals.intervals[2].operations = INT64_MAX;
	differs(scene, ROLE_INITIATOR, "intervals are 9223372036854776032 together");
	scene->totals.intervals[2].operations = 75;
	scene->totals.intervals[0].bytes = 0;
	differs(scene, ROLE_INITIATOR, "the bytes of its intervals");
}

static void more_intervals_than_the_window_holds_are_told(void **state)
{
	struct scene *scene = *state;

	scene->totals.end = END_STOPPED;
	scene->totals.window_ns = 300 * MS_NS;
	differs(scene, ROLE_INITIATOR, "4 intervals; a window of 300000000 ns holds at most 3");
	scene->totals.window_ns = 1000 * MS_NS;
	scene->totals.intervals[3].start_ns = 100 * MS_NS;
	differs(scene, ROLE_INITIATOR, "intervals[3] begins before");
}

static void a_window_that_cannot_be_is_told(void **state)
{
	struct scene *scene = *state;

	scene->totals.window_ns = 1;
	differs(scene, ROLE_INITIATOR, "after 1 ns, the assignment has run.duration 1000000000 ns");
	scene->totals.window_ns = 1ull << 62;
	differs(scene, ROLE_INITIATOR, "its window is of 4611686018427387904 ns");
	scene->totals.window_ns = 1000 * MS_NS;
	scene->totals.worker_cpu_ns = 1100 * MS_NS;
	differs(scene, ROLE_INITIATOR, "1100000000 ns of CPU in a window of 1000000000 ns");
	scene->totals.worker_cpu_ns = 1000 * MS_NS;
	fits(scene, ROLE_INITIATOR);
	/* Sums that agree do not make it possible. */
	scene->totals.classes[1].completed += 1ull << 40;
	scene->totals.classes[1].bytes += 4096ull << 40;
	scene->totals.operations += 1ull << 40;
	scene->totals.bytes += 4096ull << 40;
	scene->totals.intervals[3].operations += 1ull << 40;
	scene->totals.intervals[3].bytes += 4096ull << 40;
	differs(scene, ROLE_INITIATOR, "more than the 10 Tb/s that any port carries");
}

static void an_interval_that_cannot_be_is_told(void **state)
{
	struct scene *scene = *state;
	struct sample *sample = &scene->totals.intervals[3];

	sample->end_ns = 1ull << 62;
	differs(scene, ROLE_INITIATOR, "intervals[3] is from 750000000 to 4611686018427387904 ns");
	sample->end_ns = 700 * MS_NS;
	differs(scene, ROLE_INITIATOR, "intervals[3] is from 750000000 to 700000000 ns");
	sample->end_ns = 1000 * MS_NS;
	sample->latency_count = 76;
	differs(scene, ROLE_INITIATOR, "76 latencies of 75 operations");
	sample->latency_count = 75;
	sample->latency_min_ns = 5;
	differs(scene, ROLE_INITIATOR, "min 5, p50 0, p99 0, max 0 ns");
	sample->latency_p50_ns = sample->latency_p99_ns = sample->latency_max_ns = 5;
	fits(scene, ROLE_INITIATOR);
	sample->errors = 7;
	differs(scene, ROLE_INITIATOR, "the errors of its intervals are 7 together, and 0 in all");
	scene->totals.errors = 7;
	fits(scene, ROLE_INITIATOR);
}

static void what_only_an_open_load_has_is_held_against_the_assignment(void **state)
{
	struct scene *scene = *state;
	struct load_settings *load = &scene->assignment->workload.workload.load;
	struct totals *totals = &scene->totals;

	totals->late_operations = 1;
	differs(scene, ROLE_INITIATOR, "1 late and 0 dropped operations");
	totals->late_operations = 0;
	totals->classes[1].service = memory_new(sizeof(*totals->classes[1].service));
	histogram_reset(totals->classes[1].service);
	differs(scene, ROLE_INITIATOR,
		"classes[1] has a service latency, the assignment's load is closed");
	load->model = LOAD_OPEN;
	load->ops_rate = 300;
	differs(scene, ROLE_INITIATOR,
		"classes[0] has no service latency, the assignment's load is open");
	for (size_t i = 0; i < CLASSES; i += 2) {
		totals->classes[i].service = memory_new(sizeof(*totals->classes[i].service));
		histogram_reset(totals->classes[i].service);
	}
	totals->late_operations = 5;
	fits(scene, ROLE_INITIATOR);
	totals->dropped_operations = 5;
	differs(scene, ROLE_INITIATOR, "5 late and 5 dropped operations");
	load->on_full = ON_FULL_DROP;
	differs(scene, ROLE_INITIATOR, "5 late and 5 dropped operations");
	totals->late_operations = 0;
	fits(scene, ROLE_INITIATOR);
	totals->classes[0].service->count = 101;
	differs(scene, ROLE_INITIATOR, "101 service latencies of 100 operations");
}

static void more_in_the_window_than_in_all_its_traffic_is_told(void **state)
{
	struct scene *scene = *state;

	scene->totals.traffic_operations = scene->totals.operations;
	scene->totals.traffic_bytes = scene->totals.bytes;
	fits(scene, ROLE_INITIATOR);
	scene->totals.traffic_operations--;
	differs(scene, ROLE_INITIATOR, "more than in all its traffic: 299");
	scene->totals.traffic_operations++;
	scene->totals.traffic_bytes--;
	differs(scene, ROLE_INITIATOR, "more than in all its traffic");
	scene->totals.traffic_bytes++;
	/* Who answers a stream has operations by its receives alone. */
	scene->totals.class_count = 0;
	scene->totals.receives = 299;
	differs(scene, ROLE_RESPONDER, "299 receives");
	scene->totals.receives = 300;
	fits(scene, ROLE_RESPONDER);
	scene->totals.class_count = CLASSES;
}

static void the_slowest_must_be_of_the_assignment_and_its_histograms(void **state)
{
	struct scene *scene = *state;
	struct slowest *slowest = &scene->totals.slowest;
	struct slow_operation *item = slowest->items;

	scene->assignment->workload.qp.num_qps = 2;
	slowest_add(slowest, &(struct slow_operation){ 1049, 5 * MS_NS, 1, 17, 2 });
	slowest_add(slowest, &(struct slow_operation){ 1049, 7 * MS_NS, 0, 16, 0 });
	fits(scene, ROLE_INITIATOR);
	item->class_index = 3;
	differs(scene, ROLE_INITIATOR, "slowest[0] is of class 3");
	item->class_index = 2;
	item->qp_index = 2;
	differs(scene, ROLE_INITIATOR, "slowest[0] is of class 2, queue pair 2");
	item->qp_index = 1;
	item->qp_num = 1 << 24;
	differs(scene, ROLE_INITIATOR, "(0x1000000), which the assignment does not have");
	item->qp_num = 17;
	item->latency_ns = 1050;
	differs(scene, ROLE_INITIATOR, "slowest[0] has 1050 ns at 5000000 ns");
	item->latency_ns = 1048;
	differs(scene, ROLE_INITIATOR, "slowest[1] has 1049 ns");
	item->latency_ns = 999;
	differs(scene, ROLE_INITIATOR, "slowest[0] has 999 ns");
	item->latency_ns = 1049;
	item->end_ns = 2000 * MS_NS;
	differs(scene, ROLE_INITIATOR, "slowest[0] has 1049 ns at 2000000000 ns");
	item->end_ns = 0;
	fits(scene, ROLE_INITIATOR);
	for (size_t i = 0; i < CLASSES; i++) {
		scene->totals.classes[i].latency.count = i == 0;
	}
	differs(scene, ROLE_INITIATOR, "2 slowest operations, and fewer latencies");
}

static void latency_that_means_something_else_is_told(void **state)
{
	struct scene *scene = *state;

	scene->totals.is_half_round_trip[OPERATION_WRITE] = true;
	differs(scene, ROLE_INITIATOR, "latency of write is half a round trip");
	scene->assignment->workload.workload.pattern = PATTERN_PINGPONG;
	differs(scene, ROLE_INITIATOR, "latency of send is not half a round trip");
	scene->totals.is_half_round_trip[OPERATION_SEND] = true;
	differs(scene, ROLE_INITIATOR, "latency of send_with_imm is not half a round trip");
	scene->totals.is_half_round_trip[OPERATION_SEND_WITH_IMM] = true;
	scene->totals.is_half_round_trip[OPERATION_WRITE_WITH_IMM] = true;
	fits(scene, ROLE_INITIATOR);
	/* In a ping-pong both ends post. */
	fits(scene, ROLE_RESPONDER);
	scene->totals.is_round_trip = true;
	differs(scene, ROLE_INITIATOR,
		"of a request and its response, the assignment's pattern is pingpong");
	scene->assignment->workload.workload.pattern = PATTERN_REQUEST_RESPONSE;
	differs(scene, ROLE_INITIATOR, "latency of send is half a round trip");
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		scene->totals.is_half_round_trip[kind] = false;
	}
	fits(scene, ROLE_INITIATOR);
	fits(scene, ROLE_RESPONDER);
}

/* With direction: both the totals of either end are those of one that posts. */
static void of_two_ends_that_post_each_is_held_against_the_operations(void **state)
{
	struct scene *scene = *state;

	differs(scene, ROLE_RESPONDER, "3 classes of operations, the assignment has 0");
	scene->assignment->workload.workload.direction = DIRECTION_BOTH;
	fits(scene, ROLE_INITIATOR);
	fits(scene, ROLE_RESPONDER);
	scene->totals.window_ns = 100 * MS_NS;
	differs(scene, ROLE_RESPONDER, "it ended by duration after");
	scene->totals.window_ns = 1000 * MS_NS;
	scene->totals.classes[0].completed++;
	differs(scene, ROLE_RESPONDER, "classes[0] has 101 operations");
}

static void verification_is_of_those_who_were_asked_and_within_their_traffic(void **state)
{
	struct scene *scene = *state;
	struct totals *totals = &scene->totals;
	struct workload_settings *settings = &scene->assignment->workload.workload;

	totals->has_verification = true;
	differs(scene, ROLE_INITIATOR, "its verification is not asked for");
	settings->verify.method = VERIFY_SEQUENCE;
	settings->verify.sample = 1;
	settings->load.outstanding = 16;
	fits(scene, ROLE_INITIATOR);
	totals->traffic_operations = 1000;
	totals->traffic_bytes = INT64_MAX;
	totals->verification.sent = 1016;
	fits(scene, ROLE_INITIATOR);
	totals->verification.sent = 1017;
	differs(scene, ROLE_INITIATOR, "more messages sent or received");
	totals->verification.sent = 0;
	totals->verification.received = 1;
	differs(scene, ROLE_INITIATOR, "more messages sent or received");
	totals->verification.received = 0;
	totals->verification.corrupted = 1;
	differs(scene, ROLE_INITIATOR, "shows no corrupted payload");
	totals->verification.first.is_set = true;
	fits(scene, ROLE_INITIATOR);
	totals->has_verification = false;
	differs(scene, ROLE_INITIATOR, "its verification is missing");
}

static void an_end_that_the_assignment_does_not_have_is_told(void **state)
{
	struct scene *scene = *state;
	struct run_settings *run = &scene->assignment->workload.run;

	scene->totals.end = END_ITERATIONS;
	differs(scene, ROLE_INITIATOR, "ended by iterations, the assignment by run.duration");
	run->duration_ns = 0;
	run->iterations = 301;
	differs(scene, ROLE_INITIATOR,
		"after 300 operations, the assignment has run.iterations 301");
	run->iterations = 300;
	fits(scene, ROLE_INITIATOR);
	scene->totals.end = END_DURATION;
	differs(scene, ROLE_INITIATOR, "ended by duration, the assignment by run.iterations 300");
	/* Ended before its time: an error says why, or the judge does. */
	scene->totals.end = END_STOPPED;
	fits(scene, ROLE_INITIATOR);
}

static void connections_have_every_phase_of_their_end_and_no_other(void **state)
{
	struct scene *scene = *state;
	struct totals *totals = &scene->totals;
	struct workload_settings *settings = &scene->assignment->workload.workload;

	settings->pattern = PATTERN_CONNECT;
	totals->receives = INT64_MAX;
	settings->op_count = 0;
	totals->class_count = 0;
	totals->bytes = 0;
	totals->slowest.count = 0;
	for (size_t i = 0; i < INTERVALS; i++) {
		totals->intervals[i].bytes = 0;
	}
	differs(scene, ROLE_INITIATOR, "no phases");
	totals->connections = memory_new(sizeof(*totals->connections));
	connections_init(totals->connections);
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		for (uint64_t i = 0; connections_has_phase(true, phase) && i < totals->operations;
		     i++) {
			histogram_add(&totals->connections->phases[phase].latency, 1000);
		}
	}
	fits(scene, ROLE_INITIATOR);
	totals->connections->phases[CONNECTION_CONNECT].failed = 1;
	fits(scene, ROLE_INITIATOR);
	totals->connections->phases[CONNECTION_ACCEPT].failed = 1;
	differs(scene, ROLE_INITIATOR, "phase accept");
	totals->connections->phases[CONNECTION_ACCEPT].failed = 0;
	differs(scene, ROLE_RESPONDER, "phase resolve_addr");
	histogram_add(&totals->connections->phases[CONNECTION_SETUP].latency, 1);
	differs(scene, ROLE_INITIATOR, "phase setup");
	settings->pattern = PATTERN_STREAM;
	differs(scene, ROLE_RESPONDER, "pattern is stream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(totals_of_the_assignment_are_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(totals_without_anything_measured_fit_everything,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_number_of_classes_is_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_operation_size_or_weight_is_named, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(sums_that_do_not_agree_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_intervals_than_the_window_holds_are_told,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_window_that_cannot_be_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_interval_that_cannot_be_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			what_only_an_open_load_has_is_held_against_the_assignment, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(more_in_the_window_than_in_all_its_traffic_is_told,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_slowest_must_be_of_the_assignment_and_its_histograms, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(latency_that_means_something_else_is_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			of_two_ends_that_post_each_is_held_against_the_operations, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			verification_is_of_those_who_were_asked_and_within_their_traffic, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(an_end_that_the_assignment_does_not_have_is_told,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			connections_have_every_phase_of_their_end_and_no_other, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
