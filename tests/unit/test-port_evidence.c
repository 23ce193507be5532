// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "judge/judgement.h"
#include "judge/port_evidence.h"
#include "util/memory.h"
#include "util/text.h"

#define OPERATIONS 10000u

struct scene {
	struct measurement m;
	struct class_totals class; /* of the initiator */
};

static void set(struct participant *end, enum counter counter, uint64_t value)
{
	end->totals.counters.values[counter] =
		(struct counter_value){ .state = COUNTER_READ, .value = value };
}

static void unset(struct participant *end, enum counter counter)
{
	end->totals.counters.values[counter] = (struct counter_value){ .state = COUNTER_ABSENT };
}

/* A stream of 64 KiB at MTU 4096: 16 packets each way at most. */
static struct scene *scene_new(int kind, int pattern)
{
	struct scene *scene = memory_new(sizeof(*scene));
	struct measurement *m = &scene->m;
	struct participant *const ends[] = { &m->initiator, &m->responder };

	m->first_error = FAILURE_INIT;
	m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	m->assignment.workload.qp.path_mtu = 4096;
	m->assignment.workload.workload.pattern = pattern;
	m->assignment.workload.workload.load.outstanding = 128;
	for (size_t i = 0; i < 2; i++) {
		sample_totals_init(&ends[i]->totals);
		ends[i]->has_totals = true;
		ends[i]->totals.has_counters = true;
		ends[i]->totals.end = END_DURATION;
		set(ends[i], COUNTER_SENT_PACKETS, OPERATIONS);
	}
	scene->class.class.kind = kind;
	scene->class.class.size_bytes = 65536;
	scene->class.completed = OPERATIONS;
	m->initiator.totals.classes = &scene->class;
	m->initiator.totals.class_count = 1;
	m->initiator.totals.operations = OPERATIONS;
	/* With the warm-up twice as many as in the window. */
	m->initiator.totals.traffic_operations = 2 * OPERATIONS;
	m->initiator.totals.traffic_bytes = 2ull * OPERATIONS * 65536;
	return scene;
}

static const struct finding *found(const struct scene *scene, enum finding_code code)
{
	for (size_t i = 0; i < scene->m.findings.count; i++) {
		if (scene->m.findings.items[i].code == code) {
			return &scene->m.findings.items[i];
		}
	}
	return NULL;
}

static enum verdict judge(struct scene *scene)
{
	scene->m.findings.count = 0;
	port_evidence_find(&scene->m);
	judgement_measurement(&scene->m);
	return (enum verdict)scene->m.verdict;
}

static void counters_that_stand_still_say_nothing(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 0);
	set(&scene->m.initiator, COUNTER_ICRC_ERRORS, 0);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(scene->m.findings.count, 0);
	free(scene);
}

static void retransmissions_of_ours_make_it_degraded(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16 + 500);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 100);
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 99);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_LIKELY);
	assert_non_null(
		strstr(found(scene, FINDING_RETRANSMISSIONS)->evidence, "out of sequence: 99"));
	free(scene);
}

static void a_few_retransmissions_are_told_and_no_more(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 9);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	/* Many, but one in 25,000 packets. */
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 25);
	assert_int_equal(judge(scene), VERDICT_PASS);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 65);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	free(scene);
}

static void soft_roce_resends_without_a_loss_and_that_is_not_degraded(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	text_copy(scene->m.initiator.port.driver, sizeof(scene->m.initiator.port.driver),
		  "rdma_rxe");
	text_copy(scene->m.responder.port.driver, sizeof(scene->m.responder.port.driver),
		  "rdma_rxe");
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 340);
	set(&scene->m.responder, COUNTER_DUPLICATE_REQUESTS, 3400);
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 3);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	/* All of it had arrived: nobody's trouble. */
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 0);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_null(found(scene, FINDING_RETRANSMISSIONS));
	/* Gaps are losses, whatever else was sent twice. */
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 212);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	/* So is what came again and had not been there. */
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 0);
	set(&scene->m.responder, COUNTER_DUPLICATE_REQUESTS, 40);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	free(scene);
}

static void traffic_of_others_takes_the_force_of_what_counters_say(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	/* As much again as is ours. */
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 4 * OPERATIONS * 16);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 70);
	set(&scene->m.responder, COUNTER_ICRC_ERRORS, 3);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_non_null(found(scene, FINDING_PORT_SHARED));
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	assert_int_equal(found(scene, FINDING_ICRC_ERRORS)->confidence, CONFIDENCE_POSSIBLE);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_POSSIBLE);
	/* Seen at both ends, and no matter of counting. */
	set(&scene->m.responder, COUNTER_SENT_PACKETS, 4 * OPERATIONS * 16);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_LIKELY);
	free(scene);
}

/* A driver that counts no packets is held against the bytes: 64 KiB and headers of 16 packets. */
static void traffic_of_others_is_seen_in_bytes_where_no_packets_are_counted(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	const uint64_t ours_bytes = 2ull * OPERATIONS * (65536 + 16 * 100);

	unset(&scene->m.initiator, COUNTER_SENT_PACKETS);
	unset(&scene->m.responder, COUNTER_SENT_PACKETS);
	set(&scene->m.initiator, COUNTER_SENT_BYTES, ours_bytes);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 70);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_null(found(scene, FINDING_PORT_SHARED));
	set(&scene->m.initiator, COUNTER_SENT_BYTES, 3 * ours_bytes);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->evidence, " bytes, 2."));
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	/* Of writes the other end sends acknowledgements alone: headers, no payload. */
	set(&scene->m.initiator, COUNTER_SENT_BYTES, ours_bytes);
	set(&scene->m.responder, COUNTER_SENT_BYTES, ours_bytes);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->text, "b/rxe1"));
	/* Never more than possible: some of them are of this daemon's own sessions. */
	set(&scene->m.initiator, COUNTER_SENT_BYTES, 3 * ours_bytes);
	judge(scene);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_POSSIBLE);
	/* An end that sends no payload does not tell by its bytes whose retransmissions are. */
	set(&scene->m.initiator, COUNTER_SENT_BYTES, ours_bytes);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 0);
	set(&scene->m.responder, COUNTER_SENT_BYTES, 1000);
	set(&scene->m.responder, COUNTER_RETRANSMISSIONS, 70);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	free(scene);
}

/* Of each packet one that says where it is, and its answer: at both ends that is not others. */
static void what_verification_sends_is_ours(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	scene->m.assignment.workload.workload.verify.method = VERIFY_SEQUENCE;
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16 * 3);
	set(&scene->m.responder, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16 * 2);
	judge(scene);
	assert_null(found(scene, FINDING_PORT_SHARED));
	scene->m.assignment.workload.workload.verify.method = VERIFY_NONE;
	judge(scene);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_LIKELY);
	/* What may have been sent again is not clear either. */
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 300);
	judge(scene);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_POSSIBLE);
	free(scene);
}

static void each_end_of_a_request_and_its_response_has_its_own_bytes(void **state)
{
	struct scene *scene = scene_new(OPERATION_SEND, PATTERN_REQUEST_RESPONSE);
	struct workload_settings *workload = &scene->m.assignment.workload.workload;

	/* 64 B there, 64 KiB back. */
	workload->op_count = 1;
	workload->ops[0].kind = OPERATION_SEND;
	workload->ops[0].size_count = 1;
	workload->ops[0].sizes[0].size_bytes = 64;
	workload->ops[0].response_bytes = 65536;
	scene->class.class.size_bytes = 64;
	scene->m.initiator.totals.traffic_bytes = 2ull * OPERATIONS * 64;
	unset(&scene->m.initiator, COUNTER_SENT_PACKETS);
	set(&scene->m.initiator, COUNTER_SENT_BYTES, 2ull * OPERATIONS * (64 + 16 * 80));
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 70);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_LIKELY);
	free(scene);
}

static void retransmissions_of_nobody_knows_whom_move_no_verdict(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	struct port_use_note *note = &scene->m.initiator.port_use;

	unset(&scene->m.initiator, COUNTER_SENT_PACKETS);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 100);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	assert_non_null(strstr(found(scene, FINDING_RETRANSMISSIONS)->against,
			       "neither packets nor bytes"));
	/* A network device that sees nothing of what its RDMA device sends tells as little. */
	set(&scene->m.initiator, COUNTER_SENT_BYTES, 4711);
	assert_int_equal(judge(scene), VERDICT_PASS);
	/* Somebody looked before it began, and the port was idle. */
	*note = (struct port_use_note){ .is_told = true, .state = PORT_USE_IDLE };
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	free(scene);
}

/* 500 times of up to 128 messages of 16 packets: the count of packets alone would leave room for
 * all of it. */
static void who_was_told_to_be_on_the_port_takes_the_force_of_retransmissions(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	struct port_use_note *note = &scene->m.responder.port_use;

	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 4 * OPERATIONS * 16);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 500);
	set(&scene->m.responder, COUNTER_OUT_OF_SEQUENCE, 500);
	*note = (struct port_use_note){ .is_told = true, .state = PORT_USE_IDLE };
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	note->state = PORT_USE_BUSY;
	text_copy(note->text, sizeof(note->text), "ib_write_bw (process 4711): 1 queue pair");
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_POSSIBLE);
	assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->evidence,
			       "on rxe1 when the run began: ib_write_bw"));
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	/* Seen in the counters, too. */
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 70);
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 40 * OPERATIONS * 16);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(found(scene, FINDING_PORT_SHARED)->confidence, CONFIDENCE_LIKELY);
	free(scene);
}

static void what_was_sent_again_is_not_taken_for_traffic_of_others(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	/* 200 times up to 128 messages of 16 packets: all of it may be ours. */
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16 + 200 * 128 * 16);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 200);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	/* And acknowledged, each of them. */
	set(&scene->m.responder, COUNTER_SENT_PACKETS, 2 * OPERATIONS * 16 + 200 * 128 * 16);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_null(found(scene, FINDING_PORT_SHARED));
	free(scene);
}

static void each_kind_of_traffic_has_its_own_number_of_packets(void **state)
{
	static const struct {
		int kind;
		int pattern;
		unsigned initiator; /* packets for one operation of 64 KiB, at most */
		unsigned responder;
	} rows[] = {
		{ OPERATION_WRITE, PATTERN_STREAM, 16, 16 },
		{ OPERATION_SEND, PATTERN_STREAM, 16, 16 },
		{ OPERATION_READ, PATTERN_STREAM, 1, 16 },
		{ OPERATION_READ, PATTERN_PINGPONG, 1, 16 },
		{ OPERATION_SEND, PATTERN_PINGPONG, 32, 32 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *scene = scene_new(rows[i].kind, rows[i].pattern);
		uint64_t initiator = 2ull * OPERATIONS * rows[i].initiator;
		uint64_t responder = 2ull * OPERATIONS * rows[i].responder;

		set(&scene->m.initiator, COUNTER_SENT_PACKETS, initiator + initiator / 100);
		set(&scene->m.responder, COUNTER_SENT_PACKETS, responder + responder / 100);
		judge(scene);
		assert_null(found(scene, FINDING_PORT_SHARED));
		set(&scene->m.initiator, COUNTER_SENT_PACKETS, initiator + initiator / 40);
		judge(scene);
		assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->text, "a/rxe0"));
		set(&scene->m.initiator, COUNTER_SENT_PACKETS, 0);
		set(&scene->m.responder, COUNTER_SENT_PACKETS, responder + responder / 40);
		judge(scene);
		assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->text, "b/rxe1"));
		free(scene);
	}
}

/* Of two ends that post each sends its own and acknowledges the other's. */
static void with_both_directions_each_end_sends_for_both(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	struct totals *back = &scene->m.responder.totals;
	uint64_t most = 3ull * OPERATIONS * 16;

	(void)state;
	scene->m.assignment.workload.workload.direction = DIRECTION_BOTH;
	back->classes = &scene->class;
	back->class_count = 1;
	back->operations = OPERATIONS;
	back->traffic_operations = OPERATIONS;
	back->traffic_bytes = OPERATIONS * 65536ull;
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, most + most / 100);
	set(&scene->m.responder, COUNTER_SENT_PACKETS, most + most / 100);
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_null(found(scene, FINDING_PORT_SHARED));
	set(&scene->m.responder, COUNTER_SENT_PACKETS, most + most / 40);
	judge(scene);
	assert_non_null(strstr(found(scene, FINDING_PORT_SHARED)->text, "b/rxe1"));
	free(scene);
}

static void a_starved_tester_takes_the_force_of_retransmissions(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 1000);
	finding_add(&scene->m.findings, FINDING_HOST_STARVED, CONFIDENCE_LIKELY, NULL, "starved");
	port_evidence_find(&scene->m);
	assert_int_equal(found(scene, FINDING_RETRANSMISSIONS)->confidence, CONFIDENCE_POSSIBLE);
	assert_false(port_evidence_is_degraded(&scene->m));
	free(scene);
}

static void a_sick_link_degrades_whoever_else_uses_it(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 40 * OPERATIONS * 16);
	set(&scene->m.responder, COUNTER_LINK_ERRORS, 1);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_non_null(strstr(found(scene, FINDING_LINK_ERRORS)->text, "b/rxe1"));
	set(&scene->m.responder, COUNTER_LINK_ERRORS, 0);
	set(&scene->m.responder, COUNTER_LINK_RECOVERIES, 2);
	assert_int_equal(judge(scene), VERDICT_DEGRADED);
	assert_non_null(strstr(found(scene, FINDING_LINK_ERRORS)->evidence, "recoveries +2"));
	free(scene);
}

static void what_is_not_known_is_no_evidence(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	scene->m.initiator.totals.counters.values[COUNTER_RETRANSMISSIONS].state = COUNTER_RESET;
	scene->m.responder.totals.counters.values[COUNTER_LINK_ERRORS].state = COUNTER_SATURATED;
	assert_int_equal(judge(scene), VERDICT_PASS);
	assert_int_equal(scene->m.findings.count, 0);
	/* Numbers without counters of that end, and no totals at all. */
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 1000);
	scene->m.initiator.totals.has_counters = false;
	scene->m.responder.has_totals = false;
	assert_int_equal(judge(scene), VERDICT_PASS);
	free(scene);
}

static void an_error_keeps_its_verdict_and_tells_where_packets_went(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	char path[LIMIT_TEXT];

	port_evidence_path(&scene->m, path, sizeof(path));
	assert_string_equal(path, "");
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 9841);
	set(&scene->m.initiator, COUNTER_RECEIVED_PACKETS, 0);
	set(&scene->m.responder, COUNTER_RECEIVED_PACKETS, 0);
	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 70);
	error_set(&scene->m.first_error.error, -1, ERROR_DEVICE, "retries were used up");
	scene->m.first_error.error.stage = STAGE_RUN;
	assert_int_equal(judge(scene), VERDICT_FAIL);
	assert_null(found(scene, FINDING_RETRANSMISSIONS));
	port_evidence_path(&scene->m, path, sizeof(path));
	assert_string_equal(
		path, "a/rxe0 sent 9841 packets and received 0, b/rxe1 received 0 and sent 10000");
	free(scene);
}

static void doubt_path(struct scene *scene)
{
	scene->m.findings.count = 0;
	finding_add(&scene->m.findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN, NULL, "lost");
	port_evidence_doubt_path(&scene->m, &scene->m.findings);
}

static void packets_that_arrived_speak_against_a_lost_path(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);
	const char *against = scene->m.findings.items[0].against;

	scene->m.assignment.workload.qp.retry_cnt = 6;
	/* Not known: nothing is said. */
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 1000);
	doubt_path(scene);
	assert_string_equal(against, "");
	/* As many are missing as one request was sent times. */
	set(&scene->m.responder, COUNTER_RECEIVED_PACKETS, 993);
	set(&scene->m.responder, COUNTER_SENT_PACKETS, 900);
	set(&scene->m.initiator, COUNTER_RECEIVED_PACKETS, 900);
	doubt_path(scene);
	assert_string_equal(against, "");
	set(&scene->m.responder, COUNTER_RECEIVED_PACKETS, 994);
	doubt_path(scene);
	assert_non_null(strstr(against, "b/rxe1 counted 994 packets as received, of 1000 that "
					"a/rxe0 sent: requests did arrive"));
	assert_non_null(strstr(against, "answers did arrive"));
	set(&scene->m.initiator, COUNTER_RECEIVED_PACKETS, 800);
	doubt_path(scene);
	assert_non_null(strstr(against, "requests did arrive"));
	assert_null(strstr(against, "answers did arrive"));
	free(scene);
}

static void what_makes_a_counter_doubtful_stands_beside_it(void **state)
{
	struct scene *scene = scene_new(OPERATION_WRITE, PATTERN_STREAM);

	set(&scene->m.initiator, COUNTER_RETRANSMISSIONS, 1000);
	judge(scene);
	assert_string_equal(found(scene, FINDING_RETRANSMISSIONS)->against, "");
	set(&scene->m.initiator, COUNTER_SENT_PACKETS, 40000ull * OPERATIONS * 16);
	judge(scene);
	assert_non_null(
		strstr(found(scene, FINDING_RETRANSMISSIONS)->against, "traffic of others"));
	free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_that_stand_still_say_nothing),
		cmocka_unit_test(retransmissions_of_ours_make_it_degraded),
		cmocka_unit_test(a_few_retransmissions_are_told_and_no_more),
		cmocka_unit_test(soft_roce_resends_without_a_loss_and_that_is_not_degraded),
		cmocka_unit_test(traffic_of_others_takes_the_force_of_what_counters_say),
		cmocka_unit_test(traffic_of_others_is_seen_in_bytes_where_no_packets_are_counted),
		cmocka_unit_test(what_verification_sends_is_ours),
		cmocka_unit_test(each_end_of_a_request_and_its_response_has_its_own_bytes),
		cmocka_unit_test(retransmissions_of_nobody_knows_whom_move_no_verdict),
		cmocka_unit_test(who_was_told_to_be_on_the_port_takes_the_force_of_retransmissions),
		cmocka_unit_test(what_was_sent_again_is_not_taken_for_traffic_of_others),
		cmocka_unit_test(each_kind_of_traffic_has_its_own_number_of_packets),
		cmocka_unit_test(with_both_directions_each_end_sends_for_both),
		cmocka_unit_test(a_starved_tester_takes_the_force_of_retransmissions),
		cmocka_unit_test(a_sick_link_degrades_whoever_else_uses_it),
		cmocka_unit_test(what_is_not_known_is_no_evidence),
		cmocka_unit_test(an_error_keeps_its_verdict_and_tells_where_packets_went),
		cmocka_unit_test(packets_that_arrived_speak_against_a_lost_path),
		cmocka_unit_test(what_makes_a_counter_doubtful_stands_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
