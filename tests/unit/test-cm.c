// SPDX-License-Identifier: MIT
#include "unit/cm-scene.h"

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>

static void every_queue_pair_is_connected_and_each_phase_is_timed(void **state)
{
	static const char *const active[] = { "resolve_addr", "resolve_route", "connect",
					      "modify_rtr",   "modify_rts",    "established" };
	static const char *const passive[] = { "accept", "modify_rtr", "modify_rts",
					       "established" };
	struct fixture *fixture = *state;
	struct scene scene;

	/* More than may be under way at once. */
	scene_connect(&scene, fixture, 40);
	scene_expect_connected(&scene);
	scene_expect_write(fixture, 0);
	scene_expect_write(fixture, 39);
	for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++) {
		assert_non_null(ends_step(&fixture->left.steps, active[i]));
		assert_int_equal(ends_step(&fixture->left.steps, active[i])->count, 40);
	}
	for (size_t i = 0; i < sizeof(passive) / sizeof(passive[0]); i++) {
		assert_non_null(ends_step(&fixture->right.steps, passive[i]));
		assert_int_equal(ends_step(&fixture->right.steps, passive[i])->count, 40);
	}
	assert_int_equal(ends_step(&fixture->right.steps, "listen")->count, 1);
	/* A request and its answer cross the link. */
	assert_true(ends_step(&fixture->left.steps, "connect")->max_ns >= 2000);
	assert_null(ends_step(&fixture->left.steps, "connect_retry"));

	scene.left_progress = cm_disconnect(scene.left, &fixture->left.steps);
	scene.right_progress = cm_disconnect(scene.right, &fixture->right.steps);
	scene_run(&scene);
	scene_expect_connected(&scene);
	assert_int_equal(ends_step(&fixture->left.steps, "disconnect")->count, 40);
	assert_true(ends_step(&fixture->left.steps, "disconnect")->max_ns < ENDS_SECOND);
	scene_done(&scene);
	assert_int_equal(ends_step(&fixture->left.steps, "destroy_id")->count, 40);
}

static void datagrams_have_their_other_end_resolved(void **state)
{
	static const char *const active[] = { "resolve_addr", "resolve_route", "connect",
					      "modify_rts" };
	struct fixture *fixture = *state;
	struct scene scene;

	scene_be_datagrams(fixture);
	scene_connect(&scene, fixture, 20);
	scene_expect_connected(&scene);
	for (size_t i = 0; i < sizeof(active) / sizeof(active[0]); i++) {
		assert_int_equal(ends_step(&fixture->left.steps, active[i])->count, 20);
	}
	assert_int_equal(ends_step(&fixture->right.steps, "accept")->count, 20);
	assert_non_null(fixture->left.resources->ah);
	assert_non_null(fixture->right.resources->ah);
	/* There is nothing to part from. */
	assert_int_equal(cm_disconnect(scene.left, &fixture->left.steps), CM_DONE);
	assert_int_equal(cm_disconnect(scene.right, &fixture->right.steps), CM_DONE);
	scene_done(&scene);
}

static void a_link_local_address_is_reached_by_its_interface(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	fixture->left.assignment->initiator.gid_index = 0;
	fixture->left.assignment->responder.gid_index = 0;
	fixture->right.assignment->initiator.gid_index = 0;
	fixture->right.assignment->responder.gid_index = 0;
	scene_connect(&scene, fixture, 1);
	scene_expect_connected(&scene);
	scene_expect_write(fixture, 0);
	scene_done(&scene);
}

static void a_wrong_token_is_rejected_and_the_responder_goes_on_waiting(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;
	char right_token[sizeof(fixture->right.info.cm_token)];

	scene_prepare(&scene, fixture, 1);
	memcpy(right_token, fixture->right.info.cm_token, sizeof(right_token));
	fixture->right.info.cm_token[31] ^= 1; /* "0" to "1", "a" to "`": no digit at all */
	if (fixture->right.info.cm_token[31] == '`' || fixture->right.info.cm_token[31] == 'g') {
		fixture->right.info.cm_token[31] = '0';
	}
	scene_begin(&scene);
	scene_run(&scene);
	scene_expect_rejected(&scene, REJECT_CONSUMER, ERROR_PEER,
			      "does not know the token of this run");
	assert_int_equal(scene.right_progress, CM_WAITS);
	assert_int_equal(ends_step(&fixture->right.steps, "rejected_request")->count, 1);
	/* Who knows it gets in all the same. */
	cm_free(scene.left, NULL);
	memcpy(fixture->right.info.cm_token, right_token, sizeof(right_token));
	scene.left_err = ERROR_INIT;
	assert_int_equal(cm_new(&scene.left, fixture->left.resources, fixture->left.assignment,
				&fixture->left.steps, &scene.left_err),
			 0);
	scene.left_progress =
		cm_connect(scene.left, &fixture->right.info, &fixture->left.steps, &scene.left_err);
	scene_run(&scene);
	scene_expect_connected(&scene);
	scene_done(&scene);
}

static void a_refusal_of_datagrams_has_its_reason_too(void **state)
{
	struct fixture *fixture = *state;
	struct scene scene;

	scene_be_datagrams(fixture);
	scene_prepare(&scene, fixture, 1);
	memset(fixture->right.info.cm_token, '0', 2 * CM_TOKEN_BYTES);
	scene_begin(&scene);
	scene_run(&scene);
	scene_expect_rejected(&scene, REJECT_CONSUMER, ERROR_PEER,
			      "does not know the token of this run");
	/* The listener is gone. */
	cm_free(scene.left, NULL);
	cm_free(scene.right, NULL);
	scene.right = NULL;
	scene.left_err = ERROR_INIT;
	assert_int_equal(cm_new(&scene.left, fixture->left.resources, fixture->left.assignment,
				&fixture->left.steps, &scene.left_err),
			 0);
	scene.right_progress = CM_DONE;
	scene.left_progress =
		cm_connect(scene.left, &fixture->right.info, &fixture->left.steps, &scene.left_err);
	scene_run(&scene);
	scene_expect_rejected(&scene, REJECT_NO_LISTENER, ERROR_PEER, "nobody listens");
	scene_done(&scene);
}

/* Somebody who speaks to the listener without being of the run. */
struct stranger {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
};

static struct rdma_cm_event *stranger_event(struct scene *scene, struct stranger *stranger)
{
	if (stranger->event) {
		rdma_ack_cm_event(stranger->event);
		stranger->event = NULL;
	}
	for (int i = 0; i < 20 && !stranger->event; i++) {
		struct pollfd poll_fd = { .fd = stranger->channel->fd, .events = POLLIN };

		scene_turn(scene);
		if (poll(&poll_fd, 1, 0) > 0) {
			assert_int_equal(rdma_get_cm_event(stranger->channel, &stranger->event), 0);
		}
	}
	assert_non_null(stranger->event);
	return stranger->event;
}

static void stranger_knock(struct scene *scene, struct stranger *stranger, const void *data,
			   size_t bytes)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)scene->fixture->right.info.cm_port) };
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = (uint8_t)bytes,
					 .qp_num = 0x777 };

	inet_pton(AF_INET, "10.0.0.1", &from.sin_addr);
	inet_pton(AF_INET, "10.0.0.2", &to.sin_addr);
	*stranger = (struct stranger){ .channel = rdma_create_event_channel() };
	assert_int_equal(rdma_create_id(stranger->channel, &stranger->id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(stranger->id, (struct sockaddr *)&from,
					   (struct sockaddr *)&to, 1000),
			 0);
	assert_int_equal(stranger_event(scene, stranger)->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(rdma_resolve_route(stranger->id, 1000), 0);
	assert_int_equal(stranger_event(scene, stranger)->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_connect(stranger->id, &param), 0);
	assert_int_equal(stranger_event(scene, stranger)->event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(stranger->event->status, REJECT_CONSUMER);
	assert_memory_equal(stranger->event->param.conn.private_data, "RDT1", 4);
	rdma_ack_cm_event(stranger->event);
	rdma_destroy_id(stranger->id);
	rdma_destroy_event_channel(stranger->channel);
}

static void strangers_are_rejected_whatever_they_send(void **state)
{
	struct fixture *fixture = *state;
	struct stranger stranger;
	struct scene scene;
	uint8_t data[56] = "RDT1";

	scene_prepare(&scene, fixture, 1);
	scene.right_progress = cm_connect(scene.right, &fixture->left.info, &fixture->right.steps,
					  &scene.right_err);
	scene.left_progress = CM_DONE;
	stranger_knock(&scene, &stranger, NULL, 0);
	stranger_knock(&scene, &stranger, data, sizeof(data));
	/* A token of zeros, and the number of a queue pair that there is not. */
	memset(data + 4, 0xff, sizeof(data) - 4);
	stranger_knock(&scene, &stranger, data, sizeof(data));
	assert_int_equal(scene.right_progress, CM_WAITS);
	assert_int_equal(ends_step(&fixture->right.steps, "rejected_request")->count, 3);
	scene.left_progress =
		cm_connect(scene.left, &fixture->right.info, &fixture->left.steps, &scene.left_err);
	scene_run(&scene);
	scene_expect_connected(&scene);
	scene_done(&scene);
}

static void hex_token(const struct endpoint_info *info, uint8_t *ret)
{
	for (size_t i = 0; i < CM_TOKEN_BYTES; i++) {
		unsigned byte;

		assert_int_equal(sscanf(info->cm_token + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
}

static void C41_a_queue_pair_is_connected_once_whoever_asks_again(void **state)
{
	struct fixture *fixture = *state;
	struct stranger stranger;
	struct scene scene;
	uint8_t data[56] = "RDT1";

	scene_prepare(&scene, fixture, 2);
	hex_token(&fixture->right.info, data + 4);
	/* Only the first of two: the listener stays. */
	fabric_set_cm(fixture->fabric, "right",
		      &(struct fabric_cm_fault){ .fate = FABRIC_CM_SILENT, .count = 1 });
	scene_begin(&scene);
	for (int i = 0; i < 20; i++) {
		scene_turn(&scene);
	}
	assert_int_equal(ends_step(&fixture->right.steps, "accept")->count, 1);
	/* The token is right, the queue pair is connected already: number 1, since 0 got lost. */
	data[23] = 1;
	stranger_knock(&scene, &stranger, data, sizeof(data));
	/* One that is not yet: but not this one was told. */
	data[23] = 0;
	stranger_knock(&scene, &stranger, data, sizeof(data));
	data[23] = 2;
	stranger_knock(&scene, &stranger, data, sizeof(data));
	assert_int_equal(ends_step(&fixture->right.steps, "rejected_request")->count, 3);
	assert_int_equal(ends_step(&fixture->right.steps, "accept")->count, 1);
	scene_done(&scene);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_set_up, ends_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_queue_pair_is_connected_and_each_phase_is_timed),
		TEST(datagrams_have_their_other_end_resolved),
		TEST(a_link_local_address_is_reached_by_its_interface),
		TEST(a_wrong_token_is_rejected_and_the_responder_goes_on_waiting),
		TEST(a_refusal_of_datagrams_has_its_reason_too),
		TEST(strangers_are_rejected_whatever_they_send),
		TEST(C41_a_queue_pair_is_connected_once_whoever_asks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
