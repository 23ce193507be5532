// SPDX-License-Identifier: MIT
#include "fleet/permit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

/* A request that is permitted; each test spoils one thing. */
struct scene {
	struct assignment assignment;
	const char *coordinator;
	const struct labels *labels;
	struct inventory inventory;
	struct port *port;
	struct limit_settings limits;
	struct permit_usage usage;
	enum permit_answer answer;
	uint64_t retry_after_ns;
	struct error err;
};

static void set_name(char *to, const char *name)
{
	text_copy(to, LIMIT_NAME, name);
}

static struct scene *scene_new(void)
{
	struct scene *scene = memory_new(sizeof(*scene));
	struct assignment *assignment = &scene->assignment;
	struct workload *workload = &assignment->workload;
	struct port *port = &scene->inventory.ports[0];

	schema_defaults(workload_section_fields, workload);
	text_copy(assignment->run_id, sizeof(assignment->run_id), "01K3V9Q7W0E5R2T8Y4U6J1M3N5");
	set_name(assignment->scenario, "smoke");
	set_name(assignment->coordinator, "node-a");
	assignment->role = ROLE_RESPONDER;
	assignment->is_disruptive = true;
	assignment->initiator = (struct endpoint){ "node-a", "rxe0", 1, 1 };
	assignment->responder = (struct endpoint){ "node-b", "rxe1", 1, 1 };
	workload->qp.path_mtu = 1024;
	workload->qp.max_rd_atomic = 4;
	workload->qp.max_inline_data = 220;
	workload->qp.num_qps = 1;
	workload->workload.pattern = PATTERN_STREAM;
	workload->workload.op_count = 1;
	workload->workload.ops[0] = (struct operation){
		.kind = OPERATION_WRITE,
		.weight = 1,
		.size_count = 1,
		.sizes = { { 65536, 1 } },
	};
	workload->workload.load.outstanding = 16;
	workload->run = (struct run_settings){
		.warmup_ns = SECOND_NS,
		.duration_ns = 10 * SECOND_NS,
		.interval_ns = SECOND_NS,
		.stall_timeout_ns = 3 * SECOND_NS,
		.timeout_ns = SCHEMA_AUTO,
	};
	scene->coordinator = "node-a";
	scene->inventory.port_count = 1;
	scene->port = port;
	*port = (struct port){
		.device = "rxe1",
		.port_num = 1,
		.state = PORT_STATE_ACTIVE,
		.link_layer = LINK_LAYER_ETHERNET,
		.active_mtu_bytes = 1024,
		.pkey_count = 1,
		.limits = { .max_qp = 1000,
			    .max_qp_wr = 16384,
			    .max_sge = 32,
			    .max_cqe = 32767,
			    .max_mr_bytes = 1ull << 40,
			    .max_qp_rd_atom = 128,
			    .max_qp_init_rd_atom = 128,
			    .max_msg_bytes = 1ull << 31 },
		.gid_count = 1,
		.gids = { { .index = 1, .type = GID_TYPE_ROCE_V2, .gid = "::ffff:10.0.0.2" } },
	};
	scene->limits = (struct limit_settings){
		.max_qps = 4096,
		.max_pinned_bytes = 1ull << 30,
		.max_concurrent_jobs = 4,
		.allow_disruptive = ALLOW_DISRUPTIVE_WHEN_IDLE,
		.max_duration_ns = 3600 * SECOND_NS,
		.max_jobs_per_peer = 2,
		.max_peer_time_ns = 24 * 3600 * SECOND_NS,
	};
	return scene;
}

static void ask(struct scene *scene)
{
	scene->err = ERROR_INIT;
	scene->retry_after_ns = 0;
	scene->answer = permit_check(&scene->assignment, scene->coordinator, scene->labels,
				     "node-b", &scene->inventory, &scene->limits, &scene->usage,
				     &scene->retry_after_ns, &scene->err);
}

static void permitted(struct scene *scene)
{
	ask(scene);
	if (scene->answer != PERMIT_YES) {
		fail_msg("%s", scene->err.text);
	}
	assert_false(error_is_set(&scene->err));
}

/* Each part must stand in the text. */
static void refused(struct scene *scene, enum error_class class, const char *call,
		    const char *const parts[])
{
	ask(scene);
	assert_int_equal(scene->answer, PERMIT_NO);
	assert_int_equal(scene->retry_after_ns, 0);
	for (size_t i = 0; parts[i]; i++) {
		if (!strstr(scene->err.text, parts[i])) {
			fail_msg("\"%s\" does not hold \"%s\"", scene->err.text, parts[i]);
		}
	}
	assert_int_equal(scene->err.class, class);
	assert_string_equal(scene->err.call, call);
}

static void busy(struct scene *scene, const char *part, const char *call)
{
	ask(scene);
	assert_int_equal(scene->answer, PERMIT_BUSY);
	assert_true(scene->retry_after_ns > 0);
	assert_string_equal(scene->err.call, call);
	assert_int_equal(scene->err.stage, STAGE_RESOURCE);
	assert_non_null(strstr(scene->err.text, part));
}

#define PARTS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void an_honest_request_is_permitted_to_either_role(void **state)
{
	struct scene *scene = scene_new();

	permitted(scene);
	scene->assignment.role = ROLE_INITIATOR;
	scene->assignment.initiator = (struct endpoint){ "node-b", "rxe1", 1, 1 };
	scene->assignment.responder = (struct endpoint){ "node-a", "rxe0", 1, 1 };
	permitted(scene);
	/* A coordinator that is neither end. */
	scene->coordinator = "node-c";
	set_name(scene->assignment.coordinator, "node-c");
	permitted(scene);
	free(scene);
}

static void the_parties_must_be_who_they_are(void **state)
{
	struct scene *scene = scene_new();

	set_name(scene->assignment.coordinator, "node-x");
	refused(scene, ERROR_INPUT, "assignment", PARTS("\"node-x\"", "\"node-a\""));
	set_name(scene->assignment.coordinator, "node-a");

	scene->assignment.role = ROLE_INITIATOR;
	refused(scene, ERROR_INPUT, "assignment",
		PARTS("initiator is node \"node-a\"", "\"node-b\""));
	scene->assignment.role = 7;
	refused(scene, ERROR_INPUT, "assignment", PARTS("role 7"));
	scene->assignment.role = -1;
	refused(scene, ERROR_INPUT, "assignment", PARTS("role -1"));
	scene->assignment.role = ROLE_RESPONDER;

	set_name(scene->assignment.responder.node, "node-z");
	refused(scene, ERROR_INPUT, "assignment", PARTS("\"node-z\"", "peers"));
	scene->assignment.responder = (struct endpoint){ "node-b", "rxe1", 1, 1 };
	/* A loopback through the device. */
	scene->assignment.initiator = scene->assignment.responder;
	permitted(scene);
	free(scene);
}

static void accept_from_selects_by_claimed_name_and_known_labels(void **state)
{
	struct labels labels = { .count = 1, .items = { { "role", "compute" } } };
	struct scene *scene = scene_new();

	assert_null(labels_selector_parse("name=node-a", &scene->limits.accept_from));
	permitted(scene);
	scene->limits.accept_from = (struct selector){ 0 };
	assert_null(labels_selector_parse("role=compute", &scene->limits.accept_from));
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("\"node-a\"", "limits.accept_from", "not in its peers"));
	assert_int_equal(scene->err.stage, STAGE_RESOURCE);
	scene->labels = &labels;
	permitted(scene);
	set_name(labels.items[0].value, "storage");
	refused(scene, ERROR_RESOURCE, "permit", PARTS("limits.accept_from"));
	assert_null(strstr(scene->err.text, "not in its peers"));

	/* What this node coordinates itself needs nobody's leave. */
	scene->coordinator = "node-b";
	set_name(scene->assignment.coordinator, "node-b");
	permitted(scene);
	free(scene);
}

static void a_workload_that_does_not_hold_together_is_refused(void **state)
{
	struct scene *scene = scene_new();
	struct workload *workload = &scene->assignment.workload;

	workload->workload.signal_interval = 500;
	refused(scene, ERROR_INPUT, "assignment", PARTS("node-a", "signal_interval", "500"));
	workload->workload.signal_interval = 1;
	workload->workload.ops[0].kind = OPERATION_ATOMIC_FETCH_AND_ADD;
	refused(scene, ERROR_INPUT, "assignment", PARTS("size of an atomic", "8B"));
	workload->workload.ops[0].kind = OPERATION_WRITE;
	workload->qp.qp_type = QP_TYPE_UD;
	refused(scene, ERROR_INPUT, "assignment", PARTS("UD"));
	workload->qp.qp_type = QP_TYPE_RC;
	workload->qp.max_rd_atomic = SCHEMA_AUTO;
	refused(scene, ERROR_INPUT, "assignment", PARTS("max_rd_atomic", "auto"));
	workload->qp.max_rd_atomic = 4;
	text_copy(scene->assignment.run_id, sizeof(scene->assignment.run_id), "../x");
	refused(scene, ERROR_INPUT, "assignment", PARTS("run_id"));
	free(scene);
}

static void a_load_that_others_feel_must_say_so(void **state)
{
	struct scene *scene = scene_new();

	scene->assignment.is_disruptive = false;
	refused(scene, ERROR_INPUT, "assignment",
		PARTS("\"node-a\"", "16 operations", "100 %", "5 %", "disruptive: true"));
	scene->assignment.workload.workload.load.outstanding = 1;
	scene->assignment.workload.workload.ops[0].sizes[0].size_bytes = 64;
	permitted(scene);
	free(scene);
}

static void a_peer_may_not_measure_longer_than_the_limit(void **state)
{
	struct scene *scene = scene_new();
	struct run_settings *run = &scene->assignment.workload.run;

	scene->limits.max_duration_ns = 11 * SECOND_NS;
	permitted(scene);
	scene->limits.max_duration_ns = 10 * SECOND_NS;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("11s", "limits.max_duration 10s", "node-b"));

	/* Iterations end by their timeout. */
	run->duration_ns = 0;
	run->iterations = 1000;
	run->timeout_ns = 10 * SECOND_NS;
	permitted(scene);
	run->timeout_ns = 61 * SECOND_NS;
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("run.iterations", "61s", "10s", "run.timeout"));
	run->timeout_ns = SCHEMA_AUTO;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("run.timeout"));

	/* Nor may a long timeout hold a responder beyond it, waiting for an end that never comes.
	 */
	run->iterations = 0;
	run->duration_ns = SECOND_NS;
	permitted(scene);
	run->timeout_ns = 10 * SECOND_NS;
	permitted(scene);
	run->timeout_ns = 11 * SECOND_NS;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("run.timeout, 11s", "10s", "node-b"));

	/* The limit is for peers; our own runs are bounded by their scenario. */
	scene->coordinator = "node-b";
	set_name(scene->assignment.coordinator, "node-b");
	permitted(scene);
	free(scene);
}

static void configured_maxima_hold_and_are_named(void **state)
{
	struct scene *scene = scene_new();
	struct workload *workload = &scene->assignment.workload;

	workload->qp.num_qps = 8;
	scene->limits.max_qps = 8;
	permitted(scene);
	scene->limits.max_qps = 7;
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("qp.num_qps 8", "limits.max_qps 7", "node-b"));
	scene->limits.max_qps = 4096;

	/* Two halves of 64 KiB each for eight queue pairs. */
	scene->limits.max_pinned_bytes = 8 * 2 * 65536;
	permitted(scene);
	scene->limits.max_pinned_bytes--;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("1MiB", "limits.max_pinned_memory"));
	scene->limits.max_pinned_bytes = 1ull << 30;

	scene->usage.is_stopping = true;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("stopping"));
	free(scene);
}

static void a_device_that_is_absent_or_down_is_said(void **state)
{
	struct scene *scene = scene_new();

	scene->assignment.responder.port_num = 2;
	refused(scene, ERROR_DEVICE, "device", PARTS("rxe1 port 2", "it has: rxe1 port 1"));
	assert_int_equal(scene->err.stage, STAGE_DISCOVER);
	scene->assignment.responder.port_num = 1;
	scene->inventory.port_count = 0;
	refused(scene, ERROR_DEVICE, "device", PARTS("it has: none"));
	scene->inventory.port_count = 1;
	for (int port_state = PORT_STATE_UNKNOWN; port_state < PORT_STATE_ACTIVE; port_state++) {
		scene->port->state = port_state;
		refused(scene, ERROR_DEVICE, "device",
			PARTS("rxe1 port 1", port_state_names[port_state]));
	}
	free(scene);
}

static void a_gid_index_must_be_there(void **state)
{
	struct scene *scene = scene_new();

	scene->assignment.responder.gid_index = 5;
	refused(scene, ERROR_DEVICE, "device", PARTS("index 5", "qp.gid_index"));
	scene->assignment.responder.gid_index = SCHEMA_AUTO;
	refused(scene, ERROR_INPUT, "assignment", PARTS("gid_index"));
	scene->port->link_layer = LINK_LAYER_INFINIBAND;
	permitted(scene);
	free(scene);
}

static void limits_of_the_device_hold_and_are_named(void **state)
{
	struct scene *scene = scene_new();
	struct qp_settings *qp = &scene->assignment.workload.qp;
	struct device_limits *limits = &scene->port->limits;
	struct device_limits good = *limits;

	limits->max_qp = 0;
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.num_qps 1", "rxe1's max_qp 0", "node-b"));
	*limits = good;
	limits->max_qp_wr = qp->max_send_wr - 1;
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.max_send_wr", "max_qp_wr"));
	*limits = good;
	limits->max_sge = 0;
	refused(scene, ERROR_INPUT, "limit", PARTS("max_sge 0"));
	*limits = good;
	limits->max_cqe = 15;
	refused(scene, ERROR_INPUT, "limit", PARTS("workload.load.outstanding 16", "max_cqe 15"));
	*limits = good;
	limits->max_msg_bytes = 65535;
	refused(scene, ERROR_INPUT, "limit", PARTS("64KiB", "max_msg_sz"));
	*limits = good;
	limits->max_mr_bytes = 4096;
	refused(scene, ERROR_INPUT, "limit", PARTS("128KiB", "max_mr_size 4KiB"));
	*limits = good;
	qp->path_mtu = 4096;
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.path_mtu: 4096", "active MTU 1024"));
	qp->path_mtu = 1024;
	qp->pkey_index = 1;
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.pkey_index 1"));
	qp->pkey_index = 0;
	scene->assignment.workload.cq.size = 40000;
	refused(scene, ERROR_INPUT, "limit", PARTS("cq.size", "max_cqe"));
	assert_int_equal(scene->err.stage, STAGE_RESOURCE);
	free(scene);
}

static void each_end_has_its_own_limit_of_reads(void **state)
{
	struct scene *scene = scene_new();
	struct device_limits *limits = &scene->port->limits;

	limits->max_qp_rd_atom = 2;
	limits->max_qp_init_rd_atom = 3;
	permitted(scene); /* writes need none */
	scene->assignment.workload.workload.ops[0].kind = OPERATION_READ;
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.max_rd_atomic 4", "max_qp_rd_atom 2"));
	scene->assignment.role = ROLE_INITIATOR;
	scene->assignment.initiator = (struct endpoint){ "node-b", "rxe1", 1, 1 };
	scene->assignment.responder = (struct endpoint){ "node-a", "rxe0", 1, 1 };
	refused(scene, ERROR_INPUT, "limit", PARTS("qp.max_rd_atomic 4", "max_qp_init_rd_atom 3"));
	free(scene);
}

static void what_comes_right_by_waiting_is_busy(void **state)
{
	struct scene *scene = scene_new();

	scene->usage.is_endpoint_busy = true;
	busy(scene, "rxe1 port 1 of \"node-b\" runs another job", "busy");
	scene->usage.is_endpoint_busy = false;
	scene->usage.jobs = 3;
	permitted(scene);
	scene->usage.jobs = 4;
	busy(scene, "limits.max_concurrent_jobs", "busy");
	scene->usage.jobs = 0;
	scene->usage.qps = 4095;
	permitted(scene);
	scene->usage.qps = 4096;
	busy(scene, "limits.max_qps 4096", "busy");
	scene->usage.qps = UINT64_MAX; /* a limit that was lowered meanwhile */
	busy(scene, "limits.max_qps 4096", "busy");
	scene->usage.qps = 0;
	scene->usage.pinned_bytes = (1ull << 30) - 131072;
	permitted(scene);
	scene->usage.pinned_bytes++;
	busy(scene, "limits.max_pinned_memory 1GiB", "busy");
	free(scene);
}

static void one_peer_has_its_share_and_no_more(void **state)
{
	struct scene *scene = scene_new();

	scene->usage.peer_jobs = 1;
	permitted(scene);
	scene->usage.peer_jobs = 2;
	busy(scene, "2 jobs of \"node-a\" already, as many as its limits.max_jobs_per_peer",
	     "busy");
	scene->usage.peer_jobs = 0;
	scene->limits.max_peer_time_ns = 60 * SECOND_NS;
	scene->usage.peer_traffic_ns = 49 * SECOND_NS; /* 11 s are asked for */
	permitted(scene);
	scene->usage.peer_traffic_ns++;
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("jobs of \"node-a\" had traffic on \"node-b\" for 49", "with 11",
		      "limits.max_peer_time 1m", "raise the limit there"));
	scene->usage.peer_traffic_ns = UINT64_MAX; /* a limit that was lowered meanwhile */
	refused(scene, ERROR_RESOURCE, "permit", PARTS("limits.max_peer_time 1m"));
	/* This node's own runs. */
	scene->coordinator = "node-b";
	set_name(scene->assignment.coordinator, "node-b");
	permitted(scene);
	free(scene);
}

static void nobody_is_told_to_wait_for_what_can_never_be(void **state)
{
	struct scene *scene = scene_new();

	scene->usage.is_endpoint_busy = true;
	scene->usage.jobs = 4;
	scene->assignment.responder.port_num = 9;
	refused(scene, ERROR_DEVICE, "device", PARTS("port 9"));
	free(scene);
}

static void a_node_decides_whether_others_may_feel_it(void **state)
{
	struct port_use use = { .has_traffic = true,
				.traffic_bps = 20000000000,
				.rate_bps = 100000000000,
				.window_ns = 2 * SECOND_NS,
				.has_users = true,
				.qp_count = 2,
				.user = "ib_write_bw (process 4711)" };
	struct scene *scene = scene_new();

	assert_true(permit_disruptive_needs_look(&scene->assignment, &scene->limits));
	permitted(scene);
	scene->usage.port = &use;
	busy(scene, "ib_write_bw (process 4711): 2 connected queue pairs", "in_use");
	assert_true(scene->retry_after_ns > SECOND_NS);
	busy(scene, "rxe1 port 1 of \"node-b\"", "in_use");
	busy(scene, "limits.allow_disruptive is when_idle: under 1 %", "in_use");
	use.qp_count = 0;
	busy(scene, "20 % of its rate", "in_use");
	use.traffic_bps = 0;
	permitted(scene);
	use.has_users = false;
	permitted(scene);

	use.traffic_bps = use.rate_bps;
	scene->limits.allow_disruptive = ALLOW_DISRUPTIVE_ALWAYS;
	assert_true(permit_disruptive_needs_look(&scene->assignment, &scene->limits));
	permitted(scene);

	scene->limits.allow_disruptive = ALLOW_DISRUPTIVE_NEVER;
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("\"node-b\"", "limits.allow_disruptive is never"));
	/* This node's own runs as well. */
	scene->coordinator = "node-b";
	set_name(scene->assignment.coordinator, "node-b");
	refused(scene, ERROR_RESOURCE, "permit", PARTS("limits.allow_disruptive is never"));

	/* What nobody feels is nobody's business. */
	scene->assignment.is_disruptive = false;
	scene->assignment.workload.workload.pattern = PATTERN_PINGPONG;
	scene->assignment.workload.workload.load.outstanding = 1;
	scene->assignment.workload.workload.ops[0].sizes[0].size_bytes = 64;
	permitted(scene);
	scene->limits.allow_disruptive = ALLOW_DISRUPTIVE_WHEN_IDLE;
	assert_false(permit_disruptive_needs_look(&scene->assignment, &scene->limits));
	permitted(scene);
	free(scene);
}

static void scheduled_runs_have_their_share_of_the_hour(void **state)
{
	struct port_use use = {
		.has_traffic = true, .traffic_bps = 1, .rate_bps = 1, .window_ns = SECOND_NS
	};
	struct scene *scene = scene_new();

	/* 11 s of the 180 s that 5 % of an hour are. */
	scene->limits.duty_cycle_ppm = 50000;
	scene->assignment.is_scheduled = true;
	scene->usage.disruptive_ns = 169 * SECOND_NS;
	permitted(scene);
	scene->usage.disruptive_ns = 169 * SECOND_NS + 1;
	busy(scene, "rxe1 port 1 of \"node-b\"", "duty_cycle");
	busy(scene, "limits.duty_cycle 5%", "duty_cycle");
	/* Who uses the port does not matter then. */
	scene->usage.port = &use;
	busy(scene, "limits.duty_cycle 5%", "duty_cycle");
	scene->usage.port = NULL;

	scene->assignment.is_scheduled = false;
	permitted(scene);
	scene->assignment.is_scheduled = true;
	scene->usage.disruptive_ns = 0;
	scene->limits.duty_cycle_ppm = 1000;
	refused(scene, ERROR_RESOURCE, "permit",
		PARTS("11.0 s", "limits.duty_cycle 0.1%", "\"node-b\"", "3.6"));
	scene->limits.duty_cycle_ppm = 0;
	refused(scene, ERROR_RESOURCE, "permit", PARTS("limits.duty_cycle is 0%"));

	/* Counted operations take what they take. */
	scene->limits.duty_cycle_ppm = 50000;
	scene->assignment.workload.run.duration_ns = 0;
	scene->assignment.workload.run.iterations = 1000;
	scene->assignment.workload.run.timeout_ns = 60 * SECOND_NS;
	scene->usage.disruptive_ns = 180 * SECOND_NS - 1;
	permitted(scene);
	scene->usage.disruptive_ns = 180 * SECOND_NS;
	busy(scene, "limits.duty_cycle 5%", "duty_cycle");
	free(scene);
}

static void an_earlier_error_stays(void **state)
{
	struct scene *scene = scene_new();
	struct error err = ERROR_INIT;
	uint64_t retry_after_ns = 0;

	error_set(&err, -EIO, ERROR_BUG, "first");
	scene->usage.is_stopping = true;
	assert_int_equal(permit_check(&scene->assignment, "node-a", NULL, "node-b",
				      &scene->inventory, &scene->limits, &scene->usage,
				      &retry_after_ns, &err),
			 PERMIT_NO);
	assert_string_equal(err.text, "first");
	assert_string_equal(err.call, "");
	assert_int_equal(permit_check(&scene->assignment, "node-a", NULL, "node-b",
				      &scene->inventory, &scene->limits, &scene->usage,
				      &retry_after_ns, NULL),
			 PERMIT_NO);
	free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_honest_request_is_permitted_to_either_role),
		cmocka_unit_test(the_parties_must_be_who_they_are),
		cmocka_unit_test(accept_from_selects_by_claimed_name_and_known_labels),
		cmocka_unit_test(a_workload_that_does_not_hold_together_is_refused),
		cmocka_unit_test(a_load_that_others_feel_must_say_so),
		cmocka_unit_test(a_peer_may_not_measure_longer_than_the_limit),
		cmocka_unit_test(configured_maxima_hold_and_are_named),
		cmocka_unit_test(a_device_that_is_absent_or_down_is_said),
		cmocka_unit_test(a_gid_index_must_be_there),
		cmocka_unit_test(limits_of_the_device_hold_and_are_named),
		cmocka_unit_test(each_end_has_its_own_limit_of_reads),
		cmocka_unit_test(what_comes_right_by_waiting_is_busy),
		cmocka_unit_test(one_peer_has_its_share_and_no_more),
		cmocka_unit_test(nobody_is_told_to_wait_for_what_can_never_be),
		cmocka_unit_test(a_node_decides_whether_others_may_feel_it),
		cmocka_unit_test(scheduled_runs_have_their_share_of_the_hour),
		cmocka_unit_test(an_earlier_error_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
