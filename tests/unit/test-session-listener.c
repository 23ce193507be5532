// SPDX-License-Identifier: MIT
#include "unit/control-harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

struct scene {
	sd_event *event;
	struct member node;
};

static void scene_init(struct scene *scene, unsigned max)
{
	memset(scene, 0, sizeof(*scene));
	assert_true(sd_event_new(&scene->event) >= 0);
	member_init(&scene->node, "node-a");
	member_listen(&scene->node, scene->event, max);
}

static void scene_done(struct scene *scene)
{
	member_done(&scene->node);
	sd_event_unref(scene->event);
}

static struct session_listener_status status_of(const struct scene *scene)
{
	struct session_listener_status status;

	session_listener_status(scene->node.listener, &status);
	return status;
}

static void of_one_host_eight_may_be_unauthenticated(void **state)
{
	struct stranger strangers[12];
	struct scene scene;

	scene_init(&scene, 64);
	for (int i = 0; i < 12; i++) {
		stranger_connect(&strangers[i], scene.node.port);
	}
	run_for(scene.event, 30);
	assert_int_equal(status_of(&scene).pending, 8);
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_FULL], 4);

	/* Who shows the key makes place for the next. */
	stranger_shake(&strangers[0], scene.event);
	stranger_send_text(&strangers[0], STRANGER_HELLO);
	run_until(scene.event, &scene.node.accepted, 1, 1000);
	assert_int_equal(status_of(&scene).pending, 7);
	for (int i = 0; i < 12; i++) {
		stranger_done(&strangers[i]);
	}
	run_for(scene.event, 30);
	assert_int_equal(status_of(&scene).pending, 0);
	assert_int_equal(status_of(&scene).open, 0);
	scene_done(&scene);
}

static void above_the_maximum_a_peer_is_told_so(void **state)
{
	struct record records[3] = { 0 };
	struct member clients[3];
	struct scene scene;

	scene_init(&scene, 2);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = { "node-x", "node-y", "node-z" };

		member_init(&clients[i], names[i]);
		member_connect(&clients[i], scene.event, scene.node.port, &records[i]);
		run_until(scene.event, i < 2 ? &records[i].opened : &records[i].closed, 1, 5000);
	}
	assert_int_equal(scene.node.accepted, 2);
	assert_int_equal(records[2].opened, 0); /* it never was in */
	assert_string_equal(records[2].why.call, "connect");
	assert_int_equal(records[2].why.number, ECONNRESET);
	assert_non_null(strstr(records[2].why.text, "serves 2 sessions already"));
	assert_int_equal(status_of(&scene).open, 2);

	/* A place that is left is free again. */
	session_close(records[0].session, "leaving");
	run_until(scene.event, &records[0].closed, 1, 1000);
	run_for(scene.event, 20);
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_FULL], 1);
	assert_int_equal(status_of(&scene).open, 1);
	record_done(&records[2]);
	member_connect(&clients[2], scene.event, scene.node.port, &records[2]);
	run_until(scene.event, &scene.node.accepted, 3, 5000);
	assert_int_equal(status_of(&scene).open, 2);
	for (int i = 0; i < 3; i++) {
		record_done(&records[i]);
		member_done(&clients[i]);
	}
	scene_done(&scene);
}

static void ignore_accepted(void *arg, struct session *session)
{
	unsigned *count = arg;

	(*count)++;
}

static void a_session_that_nobody_takes_is_closed(void **state)
{
	struct session_listener *listener;
	struct record record = { 0 };
	struct error err = ERROR_INIT;
	struct member client;
	struct scene scene;
	unsigned count = 0;
	uint16_t port;

	scene_init(&scene, 2);
	port = scene.node.port;
	session_listener_free(scene.node.listener);
	assert_int_equal(session_listen(&listener, scene.event, HOST, port, 2, &scene.node.identity,
					ignore_accepted, &count, &err),
			 0);
	member_init(&client, "node-x");
	member_connect(&client, scene.event, port, &record);
	run_until(scene.event, &record.closed, 1, 5000);
	assert_int_equal(count, 1);
	assert_non_null(strstr(record.why.text, "nobody takes"));
	session_listener_free(listener);
	scene.node.listener = NULL;
	record_done(&record);
	member_done(&client);
	scene_done(&scene);
}

static void a_taken_port_is_an_error_with_the_address(void **state)
{
	struct session_listener *listener = NULL;
	struct error err = ERROR_INIT;
	struct scene scene;
	unsigned count = 0;

	scene_init(&scene, 2);
	assert_true(session_listen(&listener, scene.event, HOST, scene.node.port, 2,
				   &scene.node.identity, ignore_accepted, &count, &err) < 0);
	assert_null(listener);
	assert_int_equal(err.class, ERROR_RESOURCE);
	assert_non_null(strstr(err.text, HOST));
	scene_done(&scene);
}

/* So that no more descriptors can be had. */
static void take_all_descriptors(struct rlimit *old)
{
	struct rlimit tight;
	int next = fcntl(0, F_DUPFD_CLOEXEC, 0);

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, old), 0);
	tight = (struct rlimit){ .rlim_cur = (rlim_t)next, .rlim_max = old->rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
}

static void without_descriptors_the_listener_pauses_and_goes_on(void **state)
{
	struct stranger strangers[3];
	struct rlimit old;
	struct scene scene;

	scene_init(&scene, 64);
	stranger_connect(&strangers[0], scene.node.port);
	run_for(scene.event, 50);
	assert_int_equal(status_of(&scene).pending, 1);
	stranger_connect(&strangers[1], scene.node.port);
	stranger_connect(&strangers[2], scene.node.port);
	take_all_descriptors(&old);
	run_for(scene.event, 300);
	assert_int_equal(status_of(&scene).pauses, 1); /* not a busy loop */
	assert_int_equal(status_of(&scene).pending, 2); /* one with the spare */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	run_for(scene.event, 1000);
	assert_int_equal(status_of(&scene).pauses, 1);
	assert_int_equal(status_of(&scene).pending, 3);
	for (int i = 0; i < 3; i++) {
		stranger_done(&strangers[i]);
	}
	scene_done(&scene);
}

static void a_peer_for_whom_no_descriptor_is_left_is_told_so(void **state)
{
	struct record records[3] = { 0 };
	struct member clients[3];
	struct rlimit old;
	struct scene scene;

	scene_init(&scene, 64);
	for (int i = 0; i < 3; i++) {
		member_init(&clients[i], "node-x");
	}
	member_connect(&clients[0], scene.event, scene.node.port, &records[0]);
	run_until(scene.event, &records[0].opened, 1, 5000);
	member_connect(&clients[1], scene.event, scene.node.port, &records[1]);
	take_all_descriptors(&old);
	run_until(scene.event, &records[1].closed, 1, 5000);
	assert_non_null(strstr(records[1].why.text, "no file descriptor left"));
	assert_non_null(strstr(records[1].why.text, "LimitNOFILE="));
	for (int i = 0; i < 500 && status_of(&scene).refused[SESSION_REFUSED_FULL] == 0; i++) {
		sd_event_run(scene.event, 10000);
	}
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_FULL], 1);
	assert_non_null(strstr(status_of(&scene).last_unheard.text, "no file descriptor left"));
	assert_int_equal(records[0].closed, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	member_connect(&clients[2], scene.event, scene.node.port, &records[2]);
	run_until(scene.event, &records[2].opened, 1, 5000);
	for (int i = 0; i < 3; i++) {
		record_done(&records[i]);
		member_done(&clients[i]);
	}
	scene_done(&scene);
}

static void a_flood_of_connections_does_not_starve_an_open_session(void **state)
{
	struct stranger flood[60];
	struct record record = { 0 };
	struct member client;
	struct scene scene;
	json_t *message = json_object();
	uint64_t seen = 0;

	scene_init(&scene, 64);
	member_init(&client, "node-x");
	member_connect(&client, scene.event, scene.node.port, &record);
	run_until(scene.event, &record.opened, 1, 5000);
	run_until(scene.event, &scene.node.accepted, 1, 5000);
	for (int i = 0; i < 60; i++) {
		stranger_connect(&flood[i], scene.node.port);
	}
	json_set_string(message, "kind", "work");
	assert_true(session_send(record.session, message));
	/* One turn accepts at most 16; the message comes before the flood is through. */
	for (int i = 0; i < 100 && seen == 0; i++) {
		sd_event_run(scene.event, 10000);
		seen = status_of(&scene).pending + status_of(&scene).refused[SESSION_REFUSED_FULL];
	}
	assert_in_range(seen, 1, 16);
	for (int i = 0; i < 10 && scene.node.records[0].messages == 0; i++) {
		sd_event_run(scene.event, 10000);
	}
	assert_int_equal(scene.node.records[0].messages, 1);
	assert_true(status_of(&scene).refused[SESSION_REFUSED_FULL] < 52);
	run_for(scene.event, 50);
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_FULL], 52);
	assert_int_equal(status_of(&scene).pending, 8);
	for (int i = 0; i < 60; i++) {
		stranger_done(&flood[i]);
	}
	record_done(&record);
	member_done(&client);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_one_host_eight_may_be_unauthenticated),
		cmocka_unit_test(above_the_maximum_a_peer_is_told_so),
		cmocka_unit_test(a_session_that_nobody_takes_is_closed),
		cmocka_unit_test(a_taken_port_is_an_error_with_the_address),
		cmocka_unit_test(without_descriptors_the_listener_pauses_and_goes_on),
		cmocka_unit_test(a_peer_for_whom_no_descriptor_is_left_is_told_so),
		cmocka_unit_test(a_flood_of_connections_does_not_starve_an_open_session),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
