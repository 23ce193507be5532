// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "judge/judgement.h"
#include "util/memory.h"
#include "util/text.h"

enum {
	LOC_LEN = 1,
	LOC_QP_OP = 2,
	LOC_PROT = 4,
	FLUSH = 5,
	REM_INV_REQ = 9,
	REM_ACCESS = 10,
	REM_OP = 11,
	RETRY_EXC = 12,
	FATAL = 19,
};

#define S 1000000000ull

struct scene {
	struct run *run;
	struct measurement *m;
};

/* Both ports as they were planned with, after traffic that `a` saw fail 3 s after its start. */
static struct scene scene_new(const char *driver, int wc_status)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct scene scene;

	schema_defaults(scenario_fields, scenario);
	scene.run = run_new(scenario);
	free(scenario);
	scene.m = run_add_measurement(scene.run);

	struct participant *const ends[] = { &scene.m->initiator, &scene.m->responder };
	scene.m->assignment.workload.qp.path_mtu = 4096;
	scene.m->assignment.workload.qp.retry_cnt = 7;
	scene.m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	scene.m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	for (size_t i = 0; i < 2; i++) {
		ends[i]->has_totals = true;
		ends[i]->totals.end = END_STOPPED;
		ends[i]->info = memory_new(sizeof(*ends[i]->info));
		text_copy(ends[i]->info->gid, sizeof(ends[i]->info->gid),
			  i ? "::ffff:10.0.0.2" : "::ffff:10.0.0.1");
		text_copy(ends[i]->port.driver, sizeof(ends[i]->port.driver), driver);
		ends[i]->totals.port_report.after = (struct port_after){
			.is_known = true,
			.is_present = true,
			.state = PORT_STATE_ACTIVE,
			.active_mtu_bytes = 4096,
		};
		text_copy(ends[i]->totals.port_report.after.gid, sizeof(ends[i]->info->gid),
			  ends[i]->info->gid);
	}
	scene.m->initiator.totals.operations = 1000;
	if (wc_status) {
		struct failure *failure = &scene.m->initiator.totals.failure;

		error_set(&failure->error, -EIO, ERROR_DEVICE, "it went wrong");
		failure->error.stage = STAGE_RUN;
		failure->error.kind = ERROR_KIND_WC_STATUS;
		failure->error.number = wc_status;
		text_copy(failure->error.call, sizeof(failure->error.call), "ibv_poll_cq");
		failure->at_ns = 3 * S;
		scene.m->initiator.totals.end = END_ERROR;
	} else {
		scene.m->initiator.totals.end = END_DURATION;
		scene.m->initiator.totals.window_ns = 10 * S;
	}
	return scene;
}

static void tell(struct participant *end, enum port_event_kind kind, uint64_t at_ns)
{
	port_report_add(&end->totals.port_report,
			&(struct port_event){ .kind = (int)kind, .port_num = 1, .at_ns = at_ns });
}

static const struct finding *found(const struct scene *scene, enum finding_code code)
{
	for (size_t i = 0; i < scene->m->findings.count; i++) {
		if (scene->m->findings.items[i].code == code) {
			return &scene->m->findings.items[i];
		}
	}
	return NULL;
}

static void assert_says(const char *text, const char *words)
{
	if (!strstr(text, words)) {
		fail_msg("\"%s\" is not in: %s", words, text);
	}
}

/* Judges it: this finding first, of this confidence. The scene stays for more questions. */
static const struct finding *expect_first(struct scene *scene, enum verdict verdict,
					  enum finding_code code, enum confidence confidence)
{
	const struct finding *first = &scene->m->findings.items[0];

	judgement_complete(scene->run);
	if (scene->m->findings.count == 0 || first->code != code ||
	    first->confidence != confidence) {
		fail_msg("%zu findings, first %s (%s)", scene->m->findings.count,
			 finding_info(first->code)->slug, confidence_names[first->confidence]);
	}
	assert_int_equal(scene->m->verdict, verdict);
	return first;
}

static void scene_done(struct scene *scene)
{
	run_free(scene->run);
}

static void a_port_that_went_down_is_named_with_its_moment(void **state)
{
	struct scene scene = scene_new("rdma_rxe", LOC_QP_OP);
	const struct finding *first;

	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 3 * S + 2000000);
	scene.m->initiator.totals.port_report.after.state = PORT_STATE_DOWN;
	first = expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	assert_says(first->text, "port 1 of a/rxe0 went down at +3");
	assert_says(first->evidence, "port_err at +3");
	assert_says(first->evidence, "down afterwards");
	assert_string_equal(first->against, "");
	/* The first error stays what was seen first. */
	assert_int_equal(scene.m->first_error.error.number, LOC_QP_OP);
	assert_null(found(&scene, FINDING_COMPLETION_ERROR));
	scene_done(&scene);
}

static void the_end_whose_port_went_down_first_is_the_one(void **state)
{
	struct scene scene = scene_new("mlx5_core", RETRY_EXC);

	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 2 * S + 1);
	tell(&scene.m->responder, PORT_EVENT_PORT_ERR, 2 * S);
	assert_says(expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN)->text,
		    "b/rxe1 went down at +2");
	assert_null(found(&scene, FINDING_PATH_LOST));
	scene_done(&scene);
}

static void without_an_event_the_state_alone_makes_it_likely(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);
	const struct finding *first;

	scene.m->responder.totals.port_report.after.state = PORT_STATE_DOWN;
	first = expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_LIKELY);
	assert_says(first->text, "b/rxe1 was down when the run was over");
	assert_says(first->against, "no event");
	scene_done(&scene);
}

static void what_is_not_known_of_a_port_is_not_down(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);

	scene.m->responder.totals.port_report.after = (struct port_after){ 0 };
	scene.m->initiator.totals.port_report.after.state = PORT_STATE_UNKNOWN;
	expect_first(&scene, VERDICT_FAIL, FINDING_PATH_LOST, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void an_event_behind_the_error_speaks_against_it(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);

	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 4 * S + 1);
	assert_says(
		expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_LIKELY)->against,
		"the first error came before, at +3");
	scene_done(&scene);
}

static void a_port_that_was_active_again_before_the_error_is_likely_only(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);

	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 1 * S);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ACTIVE, 2 * S);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ACTIVE, 2 * S + 5);
	assert_says(
		expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_LIKELY)->against,
		"active again at +2");
	scene_done(&scene);
	/* Down once more when it failed. */
	scene = scene_new("", RETRY_EXC);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 1 * S);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ACTIVE, 2 * S);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 2 * S + 5);
	expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void a_refused_access_is_not_explained_by_a_port(void **state)
{
	struct scene scene = scene_new("rdma_rxe", REM_ACCESS);

	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 3 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY);
	assert_int_equal(found(&scene, FINDING_PORT_DOWN)->confidence, CONFIDENCE_POSSIBLE);
	assert_says(found(&scene, FINDING_PORT_DOWN)->against, "none that a port");
	scene_done(&scene);
	/* Nor is a local error of a driver whose ports answer otherwise. */
	scene = scene_new("mlx5_core", LOC_QP_OP);
	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 3 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_COMPLETION_ERROR, CONFIDENCE_LIKELY);
	scene_done(&scene);
}

static void a_local_error_of_soft_roce_with_its_port_up_stays_one(void **state)
{
	struct scene scene = scene_new("rdma_rxe", LOC_QP_OP);

	expect_first(&scene, VERDICT_FAIL, FINDING_COMPLETION_ERROR, CONFIDENCE_LIKELY);
	scene_done(&scene);
}

/* C49: soft-RoCE has one word for a receive that is too short and for much else; what the sender
 * was told is the difference. Both are one incident, whichever end is heard first. */
static void a_local_error_of_which_the_other_end_was_told_is_about_memory(void **state)
{
	static const struct {
		int local;
		int remote;
	} pairs[] = { { LOC_QP_OP, REM_OP }, { LOC_LEN, REM_INV_REQ }, { LOC_PROT, REM_OP } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		for (int is_late = 0; is_late < 2; is_late++) {
			struct scene scene = scene_new("rdma_rxe", pairs[i].remote);
			struct failure *failure = &scene.m->responder.totals.failure;
			const struct finding *first;

			*failure = scene.m->initiator.totals.failure;
			failure->error.number = pairs[i].local;
			failure->at_ns += is_late ? 1000000 : 0;
			first = expect_first(&scene, VERDICT_FAIL, FINDING_LOCAL_PROTECTION,
					     CONFIDENCE_LIKELY);
			assert_says(first->text, "b refused its own memory");
			assert_says(first->text, failure_wc_status_name(pairs[i].remote));
			assert_int_equal(scene.m->findings.count, 1);
			scene_done(&scene);
		}
	}
}

static void a_port_that_was_down_at_the_start_fails_the_run(void **state)
{
	struct scene scene = scene_new("", 0);
	struct failure *failure = &scene.m->first_error;

	scene.m->initiator.has_totals = scene.m->responder.has_totals = false;
	error_set(&failure->error, -ENETDOWN, ERROR_DEVICE, "port 1 of b/rxe1 is down");
	error_number(&failure->error, ENETDOWN);
	failure->error.stage = STAGE_DISCOVER;
	text_copy(failure->error.call, sizeof(failure->error.call), "device");
	text_copy(failure->node, sizeof(failure->node), "b");
	assert_says(expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN)->text,
		    "port 1 of b/rxe1 is down");
	scene_done(&scene);
}

static void an_absent_device_is_still_no_port_that_is_down(void **state)
{
	struct scene scene = scene_new("", 0);
	struct failure *failure = &scene.m->first_error;

	error_set(&failure->error, -ENODEV, ERROR_DEVICE, "there is none");
	failure->error.stage = STAGE_DISCOVER;
	text_copy(failure->error.call, sizeof(failure->error.call), "device");
	expect_first(&scene, VERDICT_ERROR, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void a_flap_without_an_error_degrades(void **state)
{
	struct scene scene = scene_new("", 0);
	const struct finding *first;

	tell(&scene.m->responder, PORT_EVENT_PORT_ERR, 1 * S);
	tell(&scene.m->responder, PORT_EVENT_PORT_ACTIVE, 1 * S + 1000000);
	first = expect_first(&scene, VERDICT_DEGRADED, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	assert_says(first->text, "b/rxe1");
	assert_says(first->evidence, "port_active");
	assert_says(first->against, "without an error");
	scene_done(&scene);
}

static void ports_that_stayed_up_are_no_finding(void **state)
{
	struct scene scene = scene_new("", 0);

	tell(&scene.m->initiator, PORT_EVENT_PORT_ACTIVE, 1 * S);
	tell(&scene.m->initiator, PORT_EVENT_GID_CHANGE, 1 * S);
	tell(&scene.m->initiator, PORT_EVENT_SM_CHANGE, 1 * S);
	judgement_complete(scene.run);
	assert_int_equal(scene.m->verdict, VERDICT_PASS);
	assert_int_equal(scene.m->findings.count, 0);
	scene_done(&scene);
}

static void an_address_that_went_away_is_certain_with_its_event(void **state)
{
	struct scene scene = scene_new("rdma_rxe", RETRY_EXC);
	struct port_report *report = &scene.m->responder.totals.port_report;
	const struct finding *first;

	text_copy(report->after.gid, sizeof(report->after.gid), "::");
	first = expect_first(&scene, VERDICT_FAIL, FINDING_ADDRESS_LOST, CONFIDENCE_LIKELY);
	assert_says(first->text, "::ffff:10.0.0.2 of b/rxe1");
	assert_says(first->against, "no event");
	scene_done(&scene);
	scene = scene_new("rdma_rxe", LOC_QP_OP);
	report = &scene.m->initiator.totals.port_report;
	tell(&scene.m->initiator, PORT_EVENT_GID_CHANGE, 2 * S);
	text_copy(report->after.gid, sizeof(report->after.gid), "::ffff:10.0.0.9");
	first = expect_first(&scene, VERDICT_FAIL, FINDING_ADDRESS_LOST, CONFIDENCE_CERTAIN);
	assert_says(first->text, "at +2");
	scene_done(&scene);
}

/* Soft-RoCE may as well say nothing more when it cannot send. */
static void a_stall_is_explained_by_what_went_away(void **state)
{
	struct scene scene = scene_new("rdma_rxe", RETRY_EXC);
	struct error *error = &scene.m->initiator.totals.failure.error;

	error->kind = ERROR_KIND_NONE;
	text_copy(error->call, sizeof(error->call), "stall");
	expect_first(&scene, VERDICT_FAIL, FINDING_STALLED, CONFIDENCE_CERTAIN);
	scene.m->findings.count = 0;
	scene.m->first_error = FAILURE_INIT;
	tell(&scene.m->initiator, PORT_EVENT_GID_CHANGE, 1 * S);
	text_copy(scene.m->initiator.totals.port_report.after.gid,
		  sizeof(scene.m->initiator.totals.port_report.after.gid), "::");
	expect_first(&scene, VERDICT_FAIL, FINDING_ADDRESS_LOST, CONFIDENCE_CERTAIN);
	scene.m->findings.count = 0;
	scene.m->first_error = FAILURE_INIT;
	tell(&scene.m->responder, PORT_EVENT_PORT_ERR, 1 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void another_address_that_changed_is_not_ours(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);

	tell(&scene.m->responder, PORT_EVENT_GID_CHANGE, 2 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_PATH_LOST, CONFIDENCE_CERTAIN);
	scene_done(&scene);
	/* Nor one that could not be read. */
	scene = scene_new("", RETRY_EXC);
	scene.m->responder.totals.port_report.after.gid[0] = '\0';
	expect_first(&scene, VERDICT_FAIL, FINDING_PATH_LOST, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void an_mtu_below_the_path_mtu_is_told_with_both(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);
	const struct finding *first;

	scene.m->responder.totals.port_report.after.active_mtu_bytes = 1024;
	first = expect_first(&scene, VERDICT_FAIL, FINDING_MTU_SHRUNK, CONFIDENCE_LIKELY);
	assert_says(first->text, "b/rxe1 port 1 is 1024 now");
	assert_says(first->text, "4096");
	scene_done(&scene);
	scene = scene_new("", RETRY_EXC);
	scene.m->assignment.workload.qp.path_mtu = 1024;
	scene.m->responder.totals.port_report.after.active_mtu_bytes = 1024;
	scene.m->initiator.totals.port_report.after.active_mtu_bytes = 0;
	expect_first(&scene, VERDICT_FAIL, FINDING_PATH_LOST, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void a_removed_device_explains_silence_and_what_its_driver_flushes(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);
	struct port_report *report = &scene.m->responder.totals.port_report;

	report->after = (struct port_after){ .is_known = true };
	assert_says(
		expect_first(&scene, VERDICT_FAIL, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN)->text,
		"b/rxe1 went away");
	scene_done(&scene);
	scene = scene_new("ice", FATAL);
	tell(&scene.m->initiator, PORT_EVENT_DEVICE_FATAL, 3 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN);
	scene_done(&scene);
	/* Soft-RoCE cannot send any more when its network device goes first. */
	scene = scene_new("rdma_rxe", LOC_QP_OP);
	tell(&scene.m->initiator, PORT_EVENT_DEVICE_REMOVED, 3 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN);
	scene_done(&scene);
	/* Its own completions cannot be silence of the other end. */
	scene = scene_new("", REM_ACCESS);
	tell(&scene.m->initiator, PORT_EVENT_DEVICE_REMOVED, 3 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY);
	scene_done(&scene);
}

static void a_status_that_means_much_is_silence_with_a_doubt(void **state)
{
	struct scene scene = scene_new("ice", FATAL);
	const struct finding *first =
		expect_first(&scene, VERDICT_FAIL, FINDING_PATH_LOST, CONFIDENCE_LIKELY);

	assert_says(first->against, "same status");
	scene_done(&scene);
	/* mlx5 does not use it. */
	scene = scene_new("mlx5_core", FATAL);
	expect_first(&scene, VERDICT_FAIL, FINDING_COMPLETION_ERROR, CONFIDENCE_LIKELY);
	scene_done(&scene);
}

static void a_port_that_went_down_is_not_taken_for_a_lost_daemon(void **state)
{
	struct scene scene = scene_new("", RETRY_EXC);
	struct failure *lost = &scene.m->responder.failure;

	/* The network of the daemons broke with it. */
	error_set(&lost->error, -1, ERROR_PEER, "session lost");
	lost->error.stage = STAGE_RUN;
	text_copy(lost->error.call, sizeof(lost->error.call), "session");
	lost->at_ns = 4 * S;
	scene.m->responder.has_totals = false;
	tell(&scene.m->initiator, PORT_EVENT_PORT_ERR, 2 * S);
	expect_first(&scene, VERDICT_FAIL, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	scene_done(&scene);
}

static void a_link_that_came_up_slower_degrades_a_run_without_an_error(void **state)
{
	struct scene scene = scene_new("mlx5_core", 0);
	struct port_after *after = &scene.m->responder.totals.port_report.after;
	const struct finding *first;

	(void)state;
	scene.m->responder.port.link_rate_bps = 100000000000;
	scene.m->responder.port.link_width = 4;
	after->link_rate_bps = 25000000000;
	after->link_width = 1;
	first = expect_first(&scene, VERDICT_DEGRADED, FINDING_LINK_SLOWER, CONFIDENCE_CERTAIN);
	assert_says(first->text, "b/rxe1 port 1 came down to 25 Gb/s (1 lanes)");
	assert_says(first->evidence, "100 Gb/s (4 lanes) when it was planned");
	scene_done(&scene);
}

static void a_link_whose_rate_is_not_known_or_not_lower_says_nothing(void **state)
{
	static const struct {
		uint64_t before_bps, after_bps;
		int state;
	} rows[] = {
		{ 0, 25000000000, PORT_STATE_ACTIVE },
		{ 100000000000, 0, PORT_STATE_ACTIVE },
		{ 100000000000, 100000000000, PORT_STATE_ACTIVE },
		{ 100000000000, 200000000000, PORT_STATE_ACTIVE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene = scene_new("mlx5_core", 0);

		scene.m->initiator.port.link_rate_bps = rows[i].before_bps;
		scene.m->initiator.totals.port_report.after.link_rate_bps = rows[i].after_bps;
		scene.m->initiator.totals.port_report.after.state = rows[i].state;
		judgement_complete(scene.run);
		assert_null(found(&scene, FINDING_LINK_SLOWER));
		scene_done(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_that_came_up_slower_degrades_a_run_without_an_error),
		cmocka_unit_test(a_link_whose_rate_is_not_known_or_not_lower_says_nothing),
		cmocka_unit_test(a_port_that_went_down_is_named_with_its_moment),
		cmocka_unit_test(the_end_whose_port_went_down_first_is_the_one),
		cmocka_unit_test(without_an_event_the_state_alone_makes_it_likely),
		cmocka_unit_test(what_is_not_known_of_a_port_is_not_down),
		cmocka_unit_test(an_event_behind_the_error_speaks_against_it),
		cmocka_unit_test(a_port_that_was_active_again_before_the_error_is_likely_only),
		cmocka_unit_test(a_refused_access_is_not_explained_by_a_port),
		cmocka_unit_test(a_local_error_of_soft_roce_with_its_port_up_stays_one),
		cmocka_unit_test(a_local_error_of_which_the_other_end_was_told_is_about_memory),
		cmocka_unit_test(a_port_that_was_down_at_the_start_fails_the_run),
		cmocka_unit_test(an_absent_device_is_still_no_port_that_is_down),
		cmocka_unit_test(a_flap_without_an_error_degrades),
		cmocka_unit_test(ports_that_stayed_up_are_no_finding),
		cmocka_unit_test(an_address_that_went_away_is_certain_with_its_event),
		cmocka_unit_test(a_stall_is_explained_by_what_went_away),
		cmocka_unit_test(another_address_that_changed_is_not_ours),
		cmocka_unit_test(an_mtu_below_the_path_mtu_is_told_with_both),
		cmocka_unit_test(a_removed_device_explains_silence_and_what_its_driver_flushes),
		cmocka_unit_test(a_status_that_means_much_is_silence_with_a_doubt),
		cmocka_unit_test(a_port_that_went_down_is_not_taken_for_a_lost_daemon),
	};

	return cmocka_run_group_tests_name("diagnose_port", tests, NULL, NULL);
}
