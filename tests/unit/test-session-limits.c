// SPDX-License-Identifier: MIT
/* What strangers and peers may cost, under virtual time: how often they may come, how much of the
 * loop's time their messages may take. */
#include "unit/control-harness.h"

#include "control/session_internal.h"
#include "fake/world.h"

#define SECOND_NS 1000000000ull
#define PORT 18620

#define CROWD 16

/* node-b listens; node-a and node-c come to it, and a crowd of hosts that hold no key. */
struct scene {
	struct world *world;
	struct node *crowd[CROWD];
	struct node *nodes[3];
	struct member members[3];
	struct record records[3]; /* of the sessions of a and c */
};

enum { A, B, C };

static struct world *world_of_strangers;

static void pass_virtual_time(unsigned ms)
{
	world_run(world_of_strangers, ms * MS);
}

static void scene_init(struct scene *scene)
{
	static const char *const names[] = { "node-a", "node-b", "node-c" };
	static const char *const addresses[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3" };
	struct error err = ERROR_INIT;

	memset(scene, 0, sizeof(*scene));
	scene->world = world_new(7);
	for (int i = A; i <= C; i++) {
		scene->nodes[i] = world_add_node(scene->world,
						 &(struct node_options){ .name = names[i],
									 .address = addresses[i] });
		member_init(&scene->members[i], names[i]);
	}
	for (unsigned i = 0; i < CROWD; i++) {
		char address[32];
		char name[32];

		snprintf(name, sizeof(name), "host-%u", i);
		snprintf(address, sizeof(address), "10.0.1.%u", i + 1);
		scene->crowd[i] = world_add_node(
			scene->world, &(struct node_options){ .name = name, .address = address });
	}
	world_enter(scene->nodes[B]);
	assert_int_equal(session_listen(&scene->members[B].listener, world_event(scene->nodes[B]),
					"10.0.0.2", PORT, 64, &scene->members[B].identity,
					member_accepted, &scene->members[B], &err),
			 0);
	world_enter(NULL);
	world_of_strangers = scene->world;
	pass_time = pass_virtual_time;
}

static void scene_done(struct scene *scene)
{
	for (int i = A; i <= C; i++) {
		world_enter(scene->nodes[i]);
		record_done(&scene->records[i]);
		member_done(&scene->members[i]);
	}
	world_enter(NULL);
	world_free(scene->world);
	pass_time = NULL;
}

static void connect_from(struct scene *scene, int i)
{
	world_enter(scene->nodes[i]);
	scene->records[i].session = session_connect(world_event(scene->nodes[i]), NULL, "10.0.0.2",
						    PORT, &scene->members[i].identity,
						    &record_events, &scene->records[i]);
	world_enter(NULL);
	world_run(scene->world, 100 * MS);
}

static struct session_listener_status status_of(const struct scene *scene)
{
	struct session_listener_status status;

	session_listener_status(scene->members[B].listener, &status);
	return status;
}

/* Connections from one host, one after the other, each of which says something that is no TLS. */
static void knock(struct scene *scene, struct node *from, unsigned count)
{
	static const char http[] = "GET / HTTP/1.0\r\n\r\n";

	for (unsigned i = 0; i < count; i++) {
		struct stranger stranger;

		world_enter(from);
		stranger_connect_to(&stranger, "10.0.0.2", PORT);
		world_enter(NULL);
		assert_true(write(stranger.fd, http, sizeof(http) - 1) > 0);
		world_run(scene->world, MS);
		stranger_done(&stranger);
	}
}

static void who_comes_too_often_is_closed_before_tls_begins(void **state)
{
	struct session_listener_status status;
	struct scene scene;

	scene_init(&scene);
	knock(&scene, scene.nodes[A], 100);
	status = status_of(&scene);
	/* 40 at once, and 20 a second for 0.1 s */
	assert_in_range(status.refused[SESSION_REFUSED_TLS], 40, 44);
	assert_int_equal(status.refused[SESSION_REFUSED_RATE],
			 100 - status.refused[SESSION_REFUSED_TLS]);
	assert_non_null(strstr(status.last_unheard.text, "10.0.0.1:"));
	assert_non_null(strstr(status.last_unheard.text, "too often"));
	/* just behind one that was heard nobody gets in from there, from elsewhere all do */
	while (status_of(&scene).refused[SESSION_REFUSED_TLS] ==
	       status.refused[SESSION_REFUSED_TLS]) {
		knock(&scene, scene.nodes[A], 1);
	}
	connect_from(&scene, A);
	assert_int_equal(scene.records[A].opened, 0);
	assert_string_equal(scene.records[A].why.call, "connect");
	assert_int_equal(scene.records[A].why.number, ECONNRESET);
	connect_from(&scene, C);
	assert_int_equal(scene.records[C].opened, 1);
	/* and later from there again */
	world_run(scene.world, SECOND_NS);
	connect_from(&scene, A);
	assert_int_equal(scene.records[A].opened, 1);
	scene_done(&scene);
}

static void start_from(struct scene *scene, int i)
{
	world_enter(scene->nodes[i]);
	scene->records[i].session = session_connect(world_event(scene->nodes[i]), NULL, "10.0.0.2",
						    PORT, &scene->members[i].identity,
						    &record_events, &scene->records[i]);
	world_enter(NULL);
}

/* More than strangers may come in sum: then a and c connect, behind others of the same moment. */
static void connect_in_a_storm(struct scene *scene)
{
	struct session_listener_status status;
	struct stranger strangers[4];

	/* 40 of each are within his own limit; in sum it is 400, and 200 a second for 0.7 s */
	for (unsigned i = 0; i < CROWD; i++) {
		knock(scene, scene->crowd[i], 40);
	}
	status = status_of(scene);
	assert_in_range(status.refused[SESSION_REFUSED_TLS], 400, 400 + 140);
	assert_true(status.refused[SESSION_REFUSED_RATE] > 0);
	world_enter(scene->crowd[0]);
	for (int i = 0; i < 4; i++) {
		stranger_connect_to(&strangers[i], "10.0.0.2", PORT);
	}
	world_enter(NULL);
	start_from(scene, A);
	start_from(scene, C);
	world_run(scene->world, 100 * MS);
	for (int i = 0; i < 4; i++) {
		stranger_done(&strangers[i]);
	}
}

static void who_is_known_gets_in_while_strangers_storm(void **state)
{
	struct scene scene;

	scene_init(&scene);
	session_listener_know(scene.members[B].listener, "10.0.0.3:18620");
	session_listener_know(scene.members[B].listener, "node-a:18620"); /* a name: ignored */
	session_listener_know(NULL, "10.0.0.1");
	connect_in_a_storm(&scene);
	assert_int_equal(scene.records[A].opened, 0);
	assert_int_equal(scene.records[C].opened, 1);
	scene_done(&scene);
}

static void who_got_in_is_known(void **state)
{
	struct scene scene;

	scene_init(&scene);
	connect_from(&scene, A);
	assert_int_equal(scene.records[A].opened, 1);
	record_done(&scene.records[A]);
	connect_in_a_storm(&scene);
	assert_int_equal(scene.records[A].opened, 1);
	assert_int_equal(scene.records[C].opened, 0);
	scene_done(&scene);
}

/* Strangers that begin nothing hold all the places that strangers may hold. */
static void known_nodes_find_a_place_beside_strangers_that_wait(void **state)
{
	struct stranger strangers[10 * 8];
	struct scene scene;

	scene_init(&scene);
	session_listener_know(scene.members[B].listener, "10.0.0.3");
	for (unsigned i = 0; i < 80; i++) {
		world_enter(scene.crowd[i % 10]);
		stranger_connect_to(&strangers[i], "10.0.0.2", PORT);
		world_enter(NULL);
		world_run(scene.world, MS);
	}
	assert_int_equal(status_of(&scene).pending, 64);
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_FULL], 16);
	assert_non_null(strstr(status_of(&scene).last_unheard.text, "10.0.1.10:"));
	connect_from(&scene, A);
	assert_int_equal(scene.records[A].opened, 0);
	connect_from(&scene, C);
	assert_int_equal(scene.records[C].opened, 1);
	for (unsigned i = 0; i < 80; i++) {
		stranger_done(&strangers[i]);
	}
	scene_done(&scene);
}

/* --- what messages may cost --- */

static void send_from(struct scene *scene, int i, const char *kind)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	world_enter(scene->nodes[i]);
	assert_true(session_send(scene->records[i].session, message));
	world_enter(NULL);
}

/* As if the last message of a peer had taken b so long; never unheard for more than a second. */
static void charge(struct scene *scene, unsigned accepted, unsigned ms)
{
	world_enter(scene->nodes[B]);
	session_budget_charge(scene->members[B].records[accepted].session, ms * MS);
	world_enter(NULL);
}

static void a_peer_pays_for_what_it_costs_by_not_being_heard(void **state)
{
	const struct record *record;
	struct scene scene;

	scene_init(&scene);
	connect_from(&scene, A);
	record = &scene.members[B].records[0];
	/* 50 ms are given in advance */
	charge(&scene, 0, 49);
	send_from(&scene, A, "soon");
	world_run(scene.world, 10 * MS);
	assert_string_equal(record->kinds, "soon ");
	/* ten times what is beyond: it has paid all so far */
	world_run(scene.world, SECOND_NS);
	charge(&scene, 0, 130);
	send_from(&scene, A, "late");
	world_run(scene.world, 700 * MS);
	assert_string_equal(record->kinds, "soon ");
	world_run(scene.world, 200 * MS);
	assert_string_equal(record->kinds, "soon late ");
	scene_done(&scene);
}

/* Each message of a machine that is slow costs as if it were hostile: those of one measurement come
 * through in time. */
static void on_a_slow_machine_each_message_waits_a_second_at_most(void **state)
{
	static const char *const kinds[] = { "prepare", "connect", "start", "stop", "release" };
	const struct record *record;
	struct scene scene;

	scene_init(&scene);
	connect_from(&scene, A);
	record = &scene.members[B].records[0];
	for (unsigned i = 0; i < 5; i++) {
		charge(&scene, 0, 400);
		send_from(&scene, A, kinds[i]);
		world_run(scene.world, 1100 * MS);
		assert_int_equal(record->messages, i + 1);
	}
	scene_done(&scene);
}

/* From a second that has just begun. */
static void stay_deaf(struct scene *scene, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		world_run(scene->world, 900 * MS);
		charge(scene, 0, 1050);
	}
	world_run(scene->world, 900 * MS);
}

static void who_is_not_heard_is_not_taken_for_silent(void **state)
{
	struct scene scene;

	scene_init(&scene);
	connect_from(&scene, A);
	charge(&scene, 0, 1050);
	send_from(&scene, A, "late");
	stay_deaf(&scene, 11);
	assert_int_equal(scene.members[B].records[0].messages, 0);
	assert_int_equal(scene.records[A].closed, 0); /* it is pinged */
	world_run(scene.world, 200 * MS);
	assert_int_equal(scene.members[B].records[0].messages, 1);
	world_run(scene.world, 20 * SECOND_NS);
	assert_int_equal(scene.members[B].records[0].closed, 0);
	assert_int_equal(scene.records[A].closed, 0);
	/* but who says nothing when it is heard again is */
	charge(&scene, 0, 1050);
	world_cut(scene.world, scene.nodes[A], scene.nodes[B], WORLD_SILENT);
	stay_deaf(&scene, 10);
	assert_int_equal(scene.members[B].records[0].closed, 0);
	world_run(scene.world, 6200 * MS);
	assert_int_equal(scene.members[B].records[0].closed, 1);
	assert_non_null(strstr(scene.members[B].records[0].why.text, "nothing received"));
	scene_done(&scene);
}

static void a_hung_up_peer_that_is_not_heard_wakes_nobody(void **state)
{
	struct scene scene;
	uint64_t rounds;

	scene_init(&scene);
	connect_from(&scene, A);
	charge(&scene, 0, 250); /* 1 s */
	world_enter(scene.nodes[A]);
	session_free(scene.records[A].session);
	scene.records[A].session = NULL;
	world_enter(NULL);
	world_run(scene.world, 100 * MS);
	rounds = world_rounds(scene.world);
	world_run(scene.world, 800 * MS);
	assert_true(world_rounds(scene.world) - rounds < 100);
	assert_int_equal(scene.members[B].records[0].closed, 0);
	world_run(scene.world, 300 * MS);
	assert_int_equal(scene.members[B].records[0].closed, 1);
	scene_done(&scene);
}

static void all_that_came_share_a_quarter(void **state)
{
	struct scene scene;

	scene_init(&scene);
	connect_from(&scene, A);
	connect_from(&scene, C);
	/* 250 ms are given in advance, to all; the rest costs four times as long */
	charge(&scene, 0, 500);
	charge(&scene, 1, 0);
	send_from(&scene, C, "late");
	world_run(scene.world, 900 * MS);
	assert_int_equal(scene.members[B].records[1].messages, 0);
	world_run(scene.world, 200 * MS);
	assert_int_equal(scene.members[B].records[1].messages, 1);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_comes_too_often_is_closed_before_tls_begins),
		cmocka_unit_test(who_is_known_gets_in_while_strangers_storm),
		cmocka_unit_test(who_got_in_is_known),
		cmocka_unit_test(known_nodes_find_a_place_beside_strangers_that_wait),
		cmocka_unit_test(a_peer_pays_for_what_it_costs_by_not_being_heard),
		cmocka_unit_test(on_a_slow_machine_each_message_waits_a_second_at_most),
		cmocka_unit_test(who_is_not_heard_is_not_taken_for_silent),
		cmocka_unit_test(a_hung_up_peer_that_is_not_heard_wakes_nobody),
		cmocka_unit_test(all_that_came_share_a_quarter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
