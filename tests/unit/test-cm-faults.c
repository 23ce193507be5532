// SPDX-License-Identifier: MIT
#include "unit/cm-scene.h"

/* What the connection manager of one end does wrong, and what the initiator says then. */
struct row {
	const char *device;
	enum fabric_cm_fate fate;
	int status;
	enum error_class class;
	enum error_stage stage;
	enum error_kind kind;
	int number;
	const char *call;
	const char *words;
};

static const struct row rows[] = {
	{ "left", FABRIC_CM_NO_ADDRESS, -ENODEV, ERROR_DEVICE, STAGE_RESOLVE, ERROR_KIND_ERRNO,
	  ENODEV, "rdma_resolve_addr", "an interface that has no RDMA device here" },
	{ "left", FABRIC_CM_NO_ADDRESS, -ETIMEDOUT, ERROR_DEVICE, STAGE_RESOLVE, ERROR_KIND_ERRNO,
	  ETIMEDOUT, "rdma_resolve_addr", "the address was not resolved" },
	{ "left", FABRIC_CM_NO_ROUTE, -ETIMEDOUT, ERROR_DEVICE, STAGE_RESOLVE, ERROR_KIND_ERRNO,
	  ETIMEDOUT, "rdma_resolve_route", "no route was found" },
	{ "left", FABRIC_CM_UNREACHABLE, -ETIMEDOUT, ERROR_DEVICE, STAGE_CONNECT, ERROR_KIND_ERRNO,
	  ETIMEDOUT, "rdma_connect", "did not answer" },
	{ "right", FABRIC_CM_SILENT, 0, ERROR_DEVICE, STAGE_CONNECT, ERROR_KIND_ERRNO, ETIMEDOUT,
	  "rdma_connect", "is UDP port 4791" },
	{ "left", FABRIC_CM_LOSES_ANSWERS, 0, ERROR_DEVICE, STAGE_CONNECT, ERROR_KIND_ERRNO,
	  ETIMEDOUT, "rdma_connect", "did not answer" },
	{ "right", FABRIC_CM_REJECTS, REJECT_NO_LISTENER, ERROR_PEER, STAGE_CONNECT,
	  ERROR_KIND_CM_REJECT, REJECT_NO_LISTENER, "rdma_connect",
	  "nobody listens at that address and port any more (IB_CM_REJ_INVALID_SERVICE_ID 8)" },
	{ "right", FABRIC_CM_REJECTS, 26, ERROR_DEVICE, STAGE_CONNECT, ERROR_KIND_CM_REJECT, 26,
	  "rdma_connect", "the path MTU is above what it takes (IB_CM_REJ_INVALID_MTU 26)" },
	{ "right", FABRIC_CM_REJECTS, 99, ERROR_DEVICE, STAGE_CONNECT, ERROR_KIND_CM_REJECT, 99,
	  "rdma_connect", "(unknown 99)" },
	/* iWARP tells an errno. */
	{ "right", FABRIC_CM_REJECTS, -ECONNREFUSED, ERROR_PEER, STAGE_CONNECT, ERROR_KIND_ERRNO,
	  ECONNREFUSED, "rdma_connect", "was rejected" },
	{ "left", FABRIC_CM_NO_DEVICE, 0, ERROR_DEVICE, STAGE_RESOLVE, ERROR_KIND_ERRNO, ENODEV,
	  "rdma_resolve_addr", "is its node GUID zero?" },
	{ "left", FABRIC_CM_OTHER_DEVICE, 0, ERROR_DEVICE, STAGE_RESOLVE, ERROR_KIND_ERRNO, ENODEV,
	  "rdma_resolve_addr", "went to right port 1, and not to left port 1" },
};

static void expect_row(struct fixture *fixture, const struct row *row)
{
	struct scene scene;
	uint64_t begun_ns = fake_clock_now_ns();

	fabric_set_cm(fixture->fabric, row->device,
		      &(struct fabric_cm_fault){ .fate = row->fate, .status = row->status });
	scene_connect(&scene, fixture, 2);
	assert_true(scene.left_progress < 0);
	assert_true(fake_clock_now_ns() - begun_ns < 10 * ENDS_SECOND);
	assert_int_equal(scene.left_err.class, row->class);
	assert_int_equal(scene.left_err.stage, row->stage);
	assert_int_equal(scene.left_err.kind, row->kind);
	assert_int_equal(scene.left_err.number, row->number);
	assert_string_equal(scene.left_err.call, row->call);
	ends_assert_says(&scene.left_err, row->words);
	fabric_set_cm(fixture->fabric, row->device, NULL);
	/* Parting is no error, and leaves nothing. */
	(void)cm_disconnect(scene.left, &fixture->left.steps);
	(void)cm_disconnect(scene.right, &fixture->right.steps);
	scene_done(&scene);
	resources_free(fixture->left.resources, NULL);
	resources_free(fixture->right.resources, NULL);
	fixture->left.resources = NULL;
	fixture->right.resources = NULL;
	assert_int_equal(fabric_objects(fixture->fabric), 2);
}

static void C35_C36_C37_C39_C40_every_end_of_a_phase_has_its_words(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("row %zu\n", i);
		expect_row(*state, &rows[i]);
	}
}

static void C25_C42_requests_that_found_no_room_are_made_again(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	fabric_set_cm_channel(fixture->fabric, 0, 1);
	scene_connect(&scene, fixture, 64);
	scene_expect_connected(&scene);
	assert_non_null(ends_step(&fixture->left.steps, "connect_retry"));
	assert_int_equal(ends_step(&fixture->right.steps, "accept")->count, 64);
	scene_expect_write(fixture, 63);
	scene_done(&scene);
}

static void what_is_left_of_an_earlier_connection_passes_or_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	fabric_set_cm(fixture->fabric, "right",
		      &(struct fabric_cm_fault){
			      .fate = FABRIC_CM_REJECTS, .status = REJECT_STALE, .count = 3 });
	scene_connect(&scene, fixture, 1);
	scene_expect_connected(&scene);
	assert_int_equal(ends_step(&fixture->left.steps, "connect_retry")->count, 3);
	cm_free(scene.left, NULL);
	cm_free(scene.right, NULL);
	resources_free(fixture->left.resources, NULL);
	resources_free(fixture->right.resources, NULL);
	fixture->left.resources = NULL;
	fixture->right.resources = NULL;
	fabric_set_cm(fixture->fabric, "right",
		      &(struct fabric_cm_fault){ .fate = FABRIC_CM_REJECTS,
						 .status = REJECT_STALE });
	scene_connect(&scene, fixture, 1);
	scene_expect_rejected(&scene, REJECT_STALE, ERROR_PEER, "IB_CM_REJ_STALE_CONN 10");
	scene_done(&scene);
}

static void what_the_other_end_tells_is_not_trusted(void **state)
{
	struct fixture *fixture = *state;
	struct endpoint_info *info = &fixture->right.info;
	struct scene scene;

	scene_prepare(&scene, fixture, 1);
	info->cm_port = 0;
	scene_begin(&scene);
	assert_int_equal(scene.left_progress, -EPROTO);
	assert_int_equal(scene.left_err.class, ERROR_PEER);
	ends_assert_says(&scene.left_err, "does not say where it listens");
	/* Another queue pair than the one that answers. */
	cm_info(scene.right, info);
	info->qps[0].qp_num++;
	scene.left_err = ERROR_INIT;
	scene_begin(&scene);
	scene_run(&scene);
	assert_int_equal(scene.left_progress, -EPROTO);
	assert_int_equal(scene.left_err.class, ERROR_PEER);
	ends_assert_says(&scene.left_err, "were agreed on");
	scene_done(&scene);
}

static void the_responder_does_not_wait_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	scene_prepare(&scene, fixture, 2);
	scene.left_progress = CM_DONE;
	scene.right_progress = cm_connect(scene.right, &fixture->left.info, &fixture->right.steps,
					  &scene.right_err);
	assert_in_range(cm_deadline_mono_ns(scene.right) - fake_clock_now_ns(), 16 * ENDS_SECOND,
			18 * ENDS_SECOND);
	scene_run(&scene);
	assert_true(scene.right_progress < 0);
	assert_int_equal(scene.right_err.number, ETIMEDOUT);
	assert_string_equal(scene.right_err.call, "rdma_accept");
	ends_assert_says(&scene.right_err, "0 of 2 queue pairs");
	scene_done(&scene);
}

static void a_device_that_is_removed_meanwhile_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	scene_prepare(&scene, fixture, 1);
	fabric_set_cm(fixture->fabric, "right",
		      &(struct fabric_cm_fault){ .fate = FABRIC_CM_SILENT });
	scene_begin(&scene);
	scene_turn(&scene);
	scene_turn(&scene);
	fabric_remove_device(fixture->fabric, "left");
	scene_run(&scene);
	assert_int_equal(scene.left_err.class, ERROR_DEVICE);
	assert_string_equal(scene.left_err.call, "device");
	ends_assert_says(&scene.left_err, "\"left\" was removed");
	scene_done(&scene);
	/* librdmacm lets go of it when it is told to look. */
	assert_int_equal(fabric_stale_contexts(fixture->fabric), 1);
	assert_true(cm_forget_devices());
	assert_int_equal(fabric_stale_contexts(fixture->fabric), 0);
}

static void parting_from_an_end_that_is_silent_takes_a_second(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;
	uint64_t begun_ns;

	scene_connect(&scene, fixture, 3);
	scene_expect_connected(&scene);
	fabric_set_black_hole(fixture->fabric, "left", "right", true);
	begun_ns = fake_clock_now_ns();
	scene.left_progress = cm_disconnect(scene.left, &fixture->left.steps);
	assert_int_equal(scene.left_progress, CM_WAITS);
	scene_run(&scene);
	assert_int_equal(scene.left_progress, CM_DONE);
	assert_in_range(fake_clock_now_ns() - begun_ns, ENDS_SECOND, ENDS_SECOND + ENDS_MS);
	assert_int_equal(ends_step(&fixture->left.steps, "disconnect")->count, 3);
	scene_done(&scene);
}

static void a_connection_manager_that_may_not_be_used_is_a_permission_that_lacks(void **state)
{
	struct fixture *fixture = *state;
	struct cm *cm = NULL;

	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	fabric_set_cm_channel(fixture->fabric, EACCES, 0);
	assert_int_equal(cm_new(&cm, fixture->right.resources, fixture->right.assignment,
				&fixture->right.steps, &fixture->err),
			 -EACCES);
	assert_null(cm);
	assert_int_equal(fixture->err.class, ERROR_RESOURCE);
	ends_assert_says(&fixture->err, "/dev/infiniband/rdma_cm");
}

static void a_call_that_the_device_refuses_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct cm *cm = NULL;

	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	fabric_set_verb(fixture->fabric, "right", FABRIC_RDMA_CM,
			&(struct fabric_verb_fault){ .error = EADDRINUSE, .skip = 1, .count = 1 });
	assert_int_equal(cm_new(&cm, fixture->right.resources, fixture->right.assignment,
				&fixture->right.steps, &fixture->err),
			 -EADDRINUSE);
	assert_string_equal(fixture->err.call, "rdma_listen");
	ends_assert_says(&fixture->err, "right (10.0.0.2)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_set_up, ends_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(C35_C36_C37_C39_C40_every_end_of_a_phase_has_its_words),
		TEST(C25_C42_requests_that_found_no_room_are_made_again),
		TEST(what_is_left_of_an_earlier_connection_passes_or_is_told),
		TEST(what_the_other_end_tells_is_not_trusted),
		TEST(the_responder_does_not_wait_for_ever),
		TEST(a_device_that_is_removed_meanwhile_is_named),
		TEST(parting_from_an_end_that_is_silent_takes_a_second),
		TEST(a_connection_manager_that_may_not_be_used_is_a_permission_that_lacks),
		TEST(a_call_that_the_device_refuses_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
