// SPDX-License-Identifier: MIT
#include "fleet/peers.h"

#include "unit/control-harness.h"

/* node-a knows node-b; b listens when told to. */
struct scene {
	sd_event *event;
	struct member a;
	struct member b;
	struct peers *peers;
	struct peer_settings settings[3];
	unsigned changed;
	unsigned lost;
	unsigned messages;
	unsigned ups; /* changes after which node-b was up */
	unsigned downs;
	struct error why;
	char kinds[64];
	unsigned tries; /* times that node-b was found connecting */
};

static void on_changed(void *arg, const char *name)
{
	struct scene *scene = arg;
	struct peer_status status;

	scene->changed++;
	assert_int_equal(peers_find(scene->peers, name, &status), 0);
	if (strcmp(name, "node-b") != 0) {
		return;
	}
	scene->ups += status.state == PEER_UP;
	scene->downs += status.state == PEER_DOWN;
	if (status.state == PEER_CONNECTING) {
		scene->tries++;
	}
}

static void on_lost(void *arg, const char *name, const struct error *why)
{
	struct scene *scene = arg;

	scene->lost++;
	scene->why = *why;
	/* Nothing can be sent to it any more. */
	assert_false(peers_send(scene->peers, name, json_object()));
}

static void on_message(void *arg, const char *name, const char *kind, const json_t *message)
{
	struct scene *scene = arg;

	assert_string_equal(name, "node-b");
	scene->messages++;
	text_copy(scene->kinds, sizeof(scene->kinds), kind);
}

static const struct peers_events events = {
	.changed = on_changed,
	.lost = on_lost,
	.message = on_message,
};

static void set_peer(struct peer_settings *settings, const char *name, uint16_t port)
{
	*settings = (struct peer_settings){ .is_enabled = true };
	text_copy(settings->name, sizeof(settings->name), name);
	snprintf(settings->address, sizeof(settings->address), HOST ":%u", port);
}

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	assert_true(sd_event_new(&scene->event) >= 0);
	member_init(&scene->a, "node-a");
	member_init(&scene->b, "node-b");
	member_listen(&scene->b, scene->event, 64);
	scene->peers = peers_new(scene->event, &scene->a.identity, &events, scene);
	set_peer(&scene->settings[0], "node-b", scene->b.port);
}

static void scene_done(struct scene *scene)
{
	peers_free(scene->peers);
	member_done(&scene->a);
	member_done(&scene->b);
	sd_event_unref(scene->event);
}

static void scene_up(struct scene *scene)
{
	scene_init(scene);
	peers_configure(scene->peers, scene->settings, 1);
	run_until(scene->event, &scene->ups, 1, 5000);
	run_until(scene->event, &scene->b.accepted, 1, 5000);
}

static struct peer_status status_of(const struct scene *scene, const char *name)
{
	struct peer_status status;

	assert_int_equal(peers_find(scene->peers, name, &status), 0);
	return status;
}

static json_t *message_of(const char *kind)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	return message;
}

static void a_peer_comes_up_and_carries_messages_both_ways(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_up(&scene);
	status = status_of(&scene, "node-b");
	assert_int_equal(status.state, PEER_UP);
	assert_string_equal(status.inventory->node, "node-b");
	assert_false(error_is_set(&status.last_error));
	assert_string_equal(status.host, HOST);
	assert_true(peers_send(scene.peers, "node-b", message_of("prepare")));
	run_until(scene.event, &scene.b.records[0].messages, 1, 1000);
	assert_true(session_send(scene.b.records[0].session, message_of("prepared")));
	run_until(scene.event, &scene.messages, 1, 1000);
	assert_string_equal(scene.kinds, "prepared");
	run_for(scene.event, 20);
	status = status_of(&scene, "node-b");
	assert_true(status.has_offset);
	assert_true(status.round_trip_ns > 0);
	scene_done(&scene);
}

/* Of one job, as the coordinator and the other end write it. */
static json_t *job_message(const char *kind, const char *role, size_t filler_bytes)
{
	_cleanup_free_ char *filler = memory_new(filler_bytes + 1);
	json_t *message = message_of(kind);

	memset(filler, 'f', filler_bytes);
	json_set_string(message, "run", "01K3V9Q7W0E5R2T8Y4U6J1M3N5");
	json_set_u64(message, "pair", 3);
	json_set_string(message, "role", role);
	json_set_string(message, "filler", filler);
	return message;
}

static void answer(struct scene *scene, json_t *message)
{
	unsigned messages = scene->messages;

	assert_true(session_send(scene->b.records[0].session, message));
	run_until(scene->event, &scene->messages, messages + 1, 5000);
}

/* From the start of the traffic to the release of the last job there. */
static void only_who_owes_totals_may_send_frames_as_large_as_they_are(void **state)
{
	struct scene scene;

	scene_up(&scene);
	assert_true(peers_send(scene.peers, "node-b", job_message("start", "responder", 0)));
	assert_true(peers_send(scene.peers, "node-b", job_message("start", "initiator", 0)));
	answer(&scene, job_message("finished", "responder", 1u << 20));
	answer(&scene, job_message("released", "responder", 0));
	answer(&scene, job_message("finished", "initiator", 1u << 20));
	answer(&scene, job_message("released", "initiator", 0));
	assert_true(session_send(scene.b.records[0].session,
				 job_message("finished", "initiator", 1u << 20)));
	run_until(scene.event, &scene.lost, 1, 5000);
	assert_non_null(strstr(scene.why.text, "the limit is 524288"));
	scene_done(&scene);
}

static void a_release_of_another_job_takes_nothing_back(void **state)
{
	struct scene scene;

	scene_up(&scene);
	assert_true(peers_send(scene.peers, "node-b", job_message("start", "initiator", 0)));
	answer(&scene, job_message("released", "responder", 0));
	answer(&scene, job_message("finished", "initiator", 1u << 20));
	assert_int_equal(scene.lost, 0);
	scene_done(&scene);
}

static void a_name_that_is_not_configured_is_not_there(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_up(&scene);
	assert_int_equal(peers_find(scene.peers, "node-z", &status), -ENOENT);
	assert_false(peers_send(scene.peers, "node-z", message_of("x")));
	peers_hurry(scene.peers, "node-z");
	scene_done(&scene);
}

static void our_own_name_and_disabled_entries_are_left_out(void **state)
{
	struct scene scene;

	scene_init(&scene);
	set_peer(&scene.settings[1], "node-a", 1);
	set_peer(&scene.settings[2], "node-c", 1);
	scene.settings[2].is_enabled = false;
	peers_configure(scene.peers, scene.settings, 3);
	assert_int_equal(peers_count(scene.peers), 1);
	scene_done(&scene);
}

static void a_lost_peer_is_told_and_comes_back(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_up(&scene);
	assert_int_equal(scene.lost, 0);
	session_free(take(scene.b.records[0].session));
	run_until(scene.event, &scene.lost, 1, 1000);
	assert_int_equal(scene.why.class, ERROR_PEER);
	assert_string_equal(scene.why.call, "session");
	status = status_of(&scene, "node-b");
	assert_int_equal(status.state, PEER_DOWN);
	assert_true(error_is_set(&status.last_error));
	assert_string_equal(status.inventory->node, "node-b"); /* what it told last */
	run_until(scene.event, &scene.ups, 2, 3000);
	assert_int_equal(status_of(&scene, "node-b").state, PEER_UP);
	scene_done(&scene);
}

static void a_peer_that_is_not_there_is_down_with_a_reason(void **state)
{
	struct scene scene;

	scene_init(&scene);
	session_listener_free(take(scene.b.listener));
	peers_configure(scene.peers, scene.settings, 1);
	run_until(scene.event, &scene.downs, 1, 5000);
	assert_int_equal(scene.tries, 1);
	assert_null(status_of(&scene, "node-b").inventory);
	assert_string_equal(status_of(&scene, "node-b").last_error.call, "connect");
	assert_int_equal(scene.lost, 0); /* nobody held it */
	scene_done(&scene);
}

static void a_peer_of_another_name_than_configured_is_refused(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_init(&scene);
	set_peer(&scene.settings[0], "node-c", scene.b.port);
	peers_configure(scene.peers, scene.settings, 1);
	run_until(scene.event, &scene.b.accepted, 1, 5000);
	run_until(scene.event, &scene.b.records[0].closed, 1, 1000);
	run_for(scene.event, 20);
	status = status_of(&scene, "node-c");
	assert_int_equal(status.state, PEER_DOWN);
	assert_int_equal(status.last_error.class, ERROR_INPUT); /* a mistake of configuration */
	assert_string_equal(status.last_error.call, "hello");
	assert_non_null(strstr(status.last_error.text, "\"node-b\""));
	assert_non_null(strstr(status.last_error.text, "peers[].name"));
	assert_non_null(strstr(scene.b.records[0].why.text, "another name"));
	assert_int_equal(scene.lost, 0);
	scene_done(&scene);
}

static void configure_keeps_a_session_whose_address_did_not_change(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_up(&scene);
	text_copy(scene.settings[0].labels.items[0].key, LIMIT_NAME, "rack");
	text_copy(scene.settings[0].labels.items[0].value, LIMIT_NAME, "r7");
	scene.settings[0].labels.count = 1;
	peers_configure(scene.peers, scene.settings, 1);
	status = status_of(&scene, "node-b");
	assert_int_equal(status.state, PEER_UP);
	assert_string_equal(labels_get(&status.settings->labels, "rack"), "r7");
	run_for(scene.event, 50);
	assert_int_equal(scene.b.records[0].closed, 0);
	assert_int_equal(scene.lost, 0);
	scene_done(&scene);
}

static void configure_closes_what_is_left_out_and_what_moved(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_up(&scene);
	snprintf(scene.settings[0].address, sizeof(scene.settings[0].address), "127.0.0.2:%u",
		 scene.b.port);
	peers_configure(scene.peers, scene.settings, 1);
	assert_int_equal(scene.lost, 1);
	assert_non_null(strstr(scene.why.text, "node-b: no longer in peers at 127.0.0.1:"));
	assert_int_equal(status_of(&scene, "node-b").state, PEER_DOWN);
	run_until(scene.event, &scene.b.records[0].closed, 1, 1000);
	assert_non_null(strstr(scene.b.records[0].why.text, "configuration"));
	peers_configure(scene.peers, scene.settings, 0);
	assert_int_equal(peers_count(scene.peers), 0);
	assert_int_equal(peers_find(scene.peers, "node-b", &status), -ENOENT);
	assert_int_equal(scene.lost, 1);
	run_for(scene.event, 50);
	scene_done(&scene);
}

static void an_address_that_cannot_be_one_is_said(void **state)
{
	struct scene scene;
	struct peer_status status;

	scene_init(&scene);
	text_copy(scene.settings[0].address, sizeof(scene.settings[0].address), "host:99999");
	peers_configure(scene.peers, scene.settings, 1);
	run_until(scene.event, &scene.downs, 1, 1000);
	status = status_of(&scene, "node-b");
	assert_int_equal(status.state, PEER_DOWN);
	assert_non_null(strstr(status.last_error.text, "host:99999"));
	scene_done(&scene);
}

static void a_changed_inventory_reaches_those_who_hold_us(void **state)
{
	struct scene scene;
	unsigned changed;

	scene_up(&scene);
	scene.a.inventory->port_count = 1;
	text_copy(scene.a.inventory->ports[0].device, LIMIT_NAME, "rxe7");
	scene.a.inventory->ports[0].port_num = 1;
	peers_send_inventory(scene.peers);
	run_until(scene.event, &scene.b.records[0].inventories, 1, 1000);
	assert_non_null(
		inventory_port(session_peer_inventory(scene.b.records[0].session), "rxe7", 1));
	changed = scene.changed;
	session_send_inventory(scene.b.records[0].session);
	run_until(scene.event, &scene.changed, changed + 1, 1000);
	scene_done(&scene);
}

static void the_end_says_goodbye(void **state)
{
	struct scene scene;

	scene_up(&scene);
	peers_free(take(scene.peers));
	run_until(scene.event, &scene.b.records[0].closed, 1, 1000);
	assert_non_null(strstr(scene.b.records[0].why.text, "stopping"));
	assert_int_equal(scene.lost, 0);
	scene_done(&scene);
}

static void a_large_fleet_is_not_connected_in_one_moment(void **state)
{
	static struct peer_settings many[40];
	struct scene scene;
	unsigned connecting = 0;

	scene_init(&scene);
	for (unsigned i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "node-%u", i);
		set_peer(&many[i], name, scene.b.port);
	}
	peers_configure(scene.peers, many, 40);
	assert_int_equal(peers_count(scene.peers), 40);
	for (int i = 0; i < 3; i++) {
		sd_event_run(scene.event, 0);
	}
	for (unsigned i = 0; i < 40; i++) {
		struct peer_status status;

		peers_status(scene.peers, i, &status);
		assert_string_equal(status.settings->name, many[i].name);
		connecting += status.state == PEER_CONNECTING;
	}
	assert_true(connecting < 30);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_comes_up_and_carries_messages_both_ways),
		cmocka_unit_test(only_who_owes_totals_may_send_frames_as_large_as_they_are),
		cmocka_unit_test(a_release_of_another_job_takes_nothing_back),
		cmocka_unit_test(a_name_that_is_not_configured_is_not_there),
		cmocka_unit_test(our_own_name_and_disabled_entries_are_left_out),
		cmocka_unit_test(a_lost_peer_is_told_and_comes_back),
		cmocka_unit_test(a_peer_that_is_not_there_is_down_with_a_reason),
		cmocka_unit_test(a_peer_of_another_name_than_configured_is_refused),
		cmocka_unit_test(configure_keeps_a_session_whose_address_did_not_change),
		cmocka_unit_test(configure_closes_what_is_left_out_and_what_moved),
		cmocka_unit_test(an_address_that_cannot_be_one_is_said),
		cmocka_unit_test(a_changed_inventory_reaches_those_who_hold_us),
		cmocka_unit_test(the_end_says_goodbye),
		cmocka_unit_test(a_large_fleet_is_not_connected_in_one_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
