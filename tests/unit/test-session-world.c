// SPDX-License-Identifier: MIT
/* Sessions and peers under virtual time: deadlines to the nanosecond, clocks that differ, networks
 * that fall silent. */
#include "unit/control-harness.h"

#include "fake/fake-clock.h"
#include "fake/world.h"
#include "fleet/peers.h"

#define SECOND_NS 1000000000ull
#define PORT 18620
#define B_AHEAD_NS 250000000 /* b's real clock, wrong by this */
#define LATENCY_NS 3000000ull

struct scene {
	struct world *world;
	struct node *node_a;
	struct node *node_b;
	struct member a;
	struct member b;
	struct record record; /* of a's session */
	struct peers *peers; /* a's */
	uint64_t tries_ns[12]; /* a's monotonic clock */
	unsigned tries;
	unsigned ups;
	unsigned lost;
};

static void listen_b(struct scene *scene)
{
	struct node *before = world_enter(scene->node_b);
	struct error err = ERROR_INIT;

	assert_int_equal(session_listen(&scene->b.listener, world_event(scene->node_b), "10.0.0.2",
					PORT, 64, &scene->b.identity, member_accepted, &scene->b,
					&err),
			 0);
	world_enter(before);
}

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->world = world_new(7);
	scene->node_a = world_add_node(
		scene->world, &(struct node_options){ .name = "node-a", .address = "10.0.0.1" });
	scene->node_b = world_add_node(scene->world, &(struct node_options){
							     .name = "node-b",
							     .address = "10.0.0.2",
							     .mono_offset_ns = 5000 * SECOND_NS,
							     .real_offset_ns = B_AHEAD_NS,
						     });
	world_set_latency(scene->world, LATENCY_NS);
	member_init(&scene->a, "node-a");
	member_init(&scene->b, "node-b");
}

static void scene_done(struct scene *scene)
{
	world_enter(scene->node_a);
	peers_free(scene->peers);
	record_done(&scene->record);
	member_done(&scene->a);
	world_enter(scene->node_b);
	member_done(&scene->b);
	world_enter(NULL);
	world_free(scene->world);
}

static bool is_open(void *arg)
{
	struct scene *scene = arg;

	return scene->record.opened == 1 && scene->b.accepted == 1;
}

static void scene_open(struct scene *scene)
{
	scene_init(scene);
	listen_b(scene);
	world_enter(scene->node_a);
	scene->record.session = session_connect(world_event(scene->node_a), NULL, "10.0.0.2", PORT,
						&scene->a.identity, &record_events, &scene->record);
	world_enter(NULL);
	assert_true(world_run_until(scene->world, is_open, scene, SECOND_NS));
}

static void clocks_that_differ_are_told_with_their_bound(void **state)
{
	struct scene scene;
	int64_t offset_ns;
	int64_t error_ns;

	scene_open(&scene);
	world_run(scene.world, SECOND_NS);
	assert_true(session_clock_offset(scene.record.session, &offset_ns, &error_ns));
	assert_true(llabs(offset_ns - B_AHEAD_NS) <= error_ns);
	assert_in_range(error_ns, LATENCY_NS, LATENCY_NS + LATENCY_NS / 2);
	assert_in_range(session_round_trip_ns(scene.record.session), 2 * LATENCY_NS,
			3 * LATENCY_NS);
	assert_true(session_clock_offset(scene.b.records[0].session, &offset_ns, &error_ns));
	assert_true(llabs(offset_ns + B_AHEAD_NS) <= error_ns);
	scene_done(&scene);
}

static void a_silent_network_is_noticed_on_both_sides_after_6_s(void **state)
{
	struct scene scene;

	scene_open(&scene);
	world_run(scene.world, 60 * SECOND_NS);
	assert_true(session_is_open(scene.record.session));
	world_cut(scene.world, scene.node_a, scene.node_b, WORLD_SILENT);
	world_run(scene.world, 3900 * MS); /* a ping may have come just before */
	assert_int_equal(scene.record.closed + scene.b.records[0].closed, 0);
	world_run(scene.world, 2200 * MS);
	assert_int_equal(scene.record.closed, 1);
	assert_int_equal(scene.b.records[0].closed, 1);
	assert_non_null(strstr(scene.record.why.text, "nothing received for 6 s"));
	assert_string_equal(scene.record.why.call, "session");
	scene_done(&scene);
}

static void a_network_that_comes_back_in_time_loses_nothing(void **state)
{
	struct scene scene;
	json_t *message = json_object();

	scene_open(&scene);
	world_cut(scene.world, scene.node_a, scene.node_b, WORLD_SILENT);
	world_enter(scene.node_a);
	json_set_string(message, "kind", "late");
	assert_true(session_send(scene.record.session, message));
	world_enter(NULL);
	world_run(scene.world, 3500 * MS);
	world_cut(scene.world, scene.node_a, scene.node_b, WORLD_WHOLE);
	world_run(scene.world, 20 * SECOND_NS);
	assert_int_equal(scene.record.closed, 0);
	assert_int_equal(scene.b.records[0].closed, 0);
	assert_string_equal(scene.b.records[0].kinds, "late ");
	scene_done(&scene);
}

static void a_stopped_daemon_that_goes_on_in_time_keeps_its_sessions(void **state)
{
	struct scene scene;

	scene_open(&scene);
	world_freeze(scene.node_b, true);
	world_run(scene.world, 3900 * MS);
	world_freeze(scene.node_b, false);
	world_run(scene.world, 10 * SECOND_NS);
	assert_int_equal(scene.record.closed, 0);
	assert_int_equal(scene.b.records[0].closed, 0);

	world_freeze(scene.node_b, true);
	world_run(scene.world, 7 * SECOND_NS);
	assert_int_equal(scene.record.closed, 1);
	assert_non_null(strstr(scene.record.why.text, "hangs"));
	world_freeze(scene.node_b, false);
	world_run(scene.world, SECOND_NS);
	assert_int_equal(scene.b.records[0].closed, 1);
	scene_done(&scene);
}

/* Nothing of it reaches b. */
static void scene_connect_in_vain(struct scene *scene)
{
	scene_init(scene);
	listen_b(scene);
	world_cut(scene->world, scene->node_a, scene->node_b, WORLD_SILENT);
	world_enter(scene->node_a);
	scene->record.session = session_connect(world_event(scene->node_a), NULL, "10.0.0.2", PORT,
						&scene->a.identity, &record_events, &scene->record);
	world_enter(NULL);
}

static void a_connection_that_nobody_answers_ends_after_5_s(void **state)
{
	struct scene scene;

	scene_connect_in_vain(&scene);
	world_run(scene.world, 4990 * MS);
	assert_int_equal(scene.record.closed, 0);
	world_run(scene.world, 20 * MS);
	assert_int_equal(scene.record.closed, 1);
	assert_int_equal(scene.record.why.stage, STAGE_DISCOVER);
	assert_non_null(strstr(scene.record.why.text, "within 5 s"));
	scene_done(&scene);
}

static void who_stood_still_while_it_connected_blames_nobody(void **state)
{
	struct scene scene;

	scene_connect_in_vain(&scene);
	world_run(scene.world, SECOND_NS);
	world_freeze(scene.node_a, true);
	world_run(scene.world, 8 * SECOND_NS);
	world_freeze(scene.node_a, false);
	world_run(scene.world, SECOND_NS);
	assert_int_equal(scene.record.closed, 1);
	assert_int_equal(scene.record.why.number, ESTALE);
	assert_string_equal(scene.record.why.call, "connect");
	assert_non_null(strstr(scene.record.why.text, "this daemon stood still"));
	scene_done(&scene);
}

/* The kernel of a host whose daemon is stopped still takes connections. */
static void a_daemon_that_is_stopped_is_not_there_and_has_no_other_key(void **state)
{
	struct scene scene;

	scene_init(&scene);
	listen_b(&scene);
	world_freeze(scene.node_b, true);
	world_enter(scene.node_a);
	scene.record.session = session_connect(world_event(scene.node_a), NULL, "10.0.0.2", PORT,
					       &scene.a.identity, &record_events, &scene.record);
	world_enter(NULL);
	world_run(scene.world, 6 * SECOND_NS);
	assert_int_equal(scene.record.closed, 1);
	assert_int_equal(scene.record.why.class, ERROR_PEER);
	assert_string_equal(scene.record.why.call, "connect");
	assert_int_equal(scene.record.why.number, ETIMEDOUT);
	assert_non_null(strstr(scene.record.why.text, "no TLS handshake within 5 s"));
	world_freeze(scene.node_b, false);
	scene_done(&scene);
}

static void an_hour_of_pings_costs_little_and_keeps_the_best_offset(void **state)
{
	struct scene scene;
	uint64_t rounds;
	int64_t offset_ns;
	int64_t error_ns;

	scene_open(&scene);
	rounds = world_rounds(scene.world);
	world_run(scene.world, 3600 * SECOND_NS);
	assert_int_equal(scene.record.closed, 0);
	assert_true(session_clock_offset(scene.record.session, &offset_ns, &error_ns));
	assert_true(llabs(offset_ns - B_AHEAD_NS) <= error_ns);
	/* 1,800 pings each way, with their pongs. */
	assert_true(world_rounds(scene.world) - rounds < 1800 * 2 * 20);
	scene_done(&scene);
}

/* --- strangers --- */

static struct world *world_of_strangers;

static void pass_virtual_time(unsigned ms)
{
	world_run(world_of_strangers, ms * MS);
}

/* From node-a's host. */
static void connect_stranger(struct scene *scene, struct stranger *stranger)
{
	struct node *before = world_enter(scene->node_a);

	stranger_connect_to(stranger, "10.0.0.2", PORT);
	world_enter(before);
}

static void open_stranger(struct scene *scene, struct stranger *stranger)
{
	unsigned accepted = scene->b.accepted;

	connect_stranger(scene, stranger);
	stranger_shake(stranger, NULL);
	stranger_send_text(stranger, STRANGER_HELLO);
	world_run(scene->world, 50 * MS);
	assert_int_equal(scene->b.accepted, accepted + 1);
}

static void open_still_stranger(struct scene *scene, struct stranger *stranger)
{
	scene_init(scene);
	listen_b(scene);
	world_of_strangers = scene->world;
	pass_time = pass_virtual_time;
	open_stranger(scene, stranger);
	world_run(scene->world, SECOND_NS);
	fake_clock_stand_still_next(8 * SECOND_NS);
}

/* The connection broke while this end stood still: when it had seen to the time, and not yet read.
 */
static void a_daemon_that_was_stopped_while_it_read_blames_itself(void **state)
{
	struct scene scene;
	struct stranger stranger;

	open_still_stranger(&scene, &stranger);
	stranger_done(&stranger);
	world_run(scene.world, 10 * SECOND_NS);
	assert_int_equal(scene.b.records[0].closed, 1);
	assert_int_equal(scene.b.records[0].why.number, ESTALE);
	assert_non_null(
		strstr(scene.b.records[0].why.text, "this daemon stood still for up to 9 s"));
	pass_time = NULL;
	scene_done(&scene);
}

/* Who says why it leaves has not given us up. */
static void a_goodbye_that_a_stopped_daemon_reads_late_is_told_as_such(void **state)
{
	struct scene scene;
	struct stranger stranger;

	open_still_stranger(&scene, &stranger);
	stranger_send_text(&stranger, "{\"kind\":\"bye\",\"reason\":\"it is shutting down\"}");
	stranger_done(&stranger);
	world_run(scene.world, 10 * SECOND_NS);
	assert_int_equal(scene.b.records[0].closed, 1);
	assert_int_equal(scene.b.records[0].why.number, ECONNRESET);
	assert_non_null(strstr(scene.b.records[0].why.text, "shutting down"));
	assert_null(strstr(scene.b.records[0].why.text, "stood still"));
	pass_time = NULL;
	scene_done(&scene);
}

static struct session_listener_status status_of(const struct scene *scene)
{
	struct session_listener_status status;

	session_listener_status(scene->b.listener, &status);
	return status;
}

static void silence_and_slowness_end_by_deadlines(void **state)
{
	struct stranger silent; /* opened, then nothing */
	struct stranger alive; /* opened, then a byte of a frame now and then */
	struct stranger mute; /* does not even begin TLS */
	struct stranger keyed; /* shows the key and says no hello */
	struct stranger drip; /* a byte of its hello each second */
	struct scene scene;

	scene_init(&scene);
	listen_b(&scene);
	world_of_strangers = scene.world;
	pass_time = pass_virtual_time;
	open_stranger(&scene, &silent);
	open_stranger(&scene, &alive);
	connect_stranger(&scene, &mute);
	connect_stranger(&scene, &keyed);
	stranger_shake(&keyed, NULL);
	connect_stranger(&scene, &drip);
	stranger_shake(&drip, NULL);
	for (int i = 0; i < 4; i++) {
		stranger_send_bytes(&drip, &(uint8_t){ i == 3 }, 1);
		stranger_send_bytes(&alive, &(uint8_t){ i == 3 }, 1);
		world_run(scene.world, SECOND_NS);
	}
	assert_int_equal(status_of(&scene).pending, 3);
	assert_int_equal(status_of(&scene).open, 2);
	world_run(scene.world, 1200 * MS);
	assert_int_equal(status_of(&scene).pending, 0);
	assert_int_equal(status_of(&scene).refused[SESSION_REFUSED_TIMEOUT], 3);
	assert_non_null(strstr(status_of(&scene).last_failure.text, "no hello within 5 s"));
	assert_int_equal(scene.b.records[0].closed, 0);
	world_run(scene.world, 800 * MS);
	assert_int_equal(scene.b.records[0].closed, 1);
	assert_string_equal(scene.b.records[0].why.call, "session");
	assert_non_null(strstr(scene.b.records[0].why.text, "nothing received for 6 s"));
	assert_int_equal(scene.b.records[1].closed, 0);
	/* It pinged at the opening and every 2 s. */
	world_run(scene.world, 200 * MS);
	assert_int_equal(stranger_receive(&alive), 0);
	assert_string_equal(alive.kinds, "hello ping ping ping ping ");
	stranger_done(&silent);
	stranger_done(&alive);
	stranger_done(&mute);
	stranger_done(&keyed);
	stranger_done(&drip);
	pass_time = NULL;
	scene_done(&scene);
}

/* --- peers --- */

static void on_changed(void *arg, const char *name)
{
	struct scene *scene = arg;
	struct peer_status status;

	assert_int_equal(peers_find(scene->peers, name, &status), 0);
	scene->ups += status.state == PEER_UP;
	if (status.state == PEER_CONNECTING && scene->tries < 12) {
		scene->tries_ns[scene->tries++] = clock_mono_ns();
	}
}

static void on_lost(void *arg, const char *name, const struct error *why)
{
	struct scene *scene = arg;

	scene->lost++;
}

static void on_peer_message(void *arg, const char *name, const char *kind, const json_t *message)
{
	fail_msg("no message was sent");
}

static const struct peers_events peer_events = {
	.changed = on_changed,
	.lost = on_lost,
	.message = on_peer_message,
};

static void start_peers(struct scene *scene)
{
	struct peer_settings settings = { .name = "node-b",
					  .address = "10.0.0.2",
					  .is_enabled = true };

	world_enter(scene->node_a);
	scene->peers =
		peers_new(world_event(scene->node_a), &scene->a.identity, &peer_events, scene);
	peers_configure(scene->peers, &settings, 1);
	world_enter(NULL);
}

static void attempts_back_off_from_1_to_30_s_the_same_in_each_run(void **state)
{
	uint64_t tries_ns[2][12];

	for (int round = 0; round < 2; round++) {
		struct scene scene;

		scene_init(&scene);
		start_peers(&scene);
		world_run(scene.world, 240 * SECOND_NS);
		assert_int_equal(scene.tries, 12);
		memcpy(tries_ns[round], scene.tries_ns, sizeof(scene.tries_ns));
		scene_done(&scene);
	}
	assert_memory_equal(tries_ns[0], tries_ns[1], sizeof(tries_ns[0]));
	for (unsigned i = 0; i + 1 < 12; i++) {
		uint64_t wait_ns = tries_ns[0][i + 1] - tries_ns[0][i];
		uint64_t whole_ns = i < 5 ? SECOND_NS << i : 30 * SECOND_NS;

		assert_in_range(wait_ns, whole_ns / 4 * 3, whole_ns + 100 * MS);
		assert_int_not_equal(wait_ns, whole_ns);
	}
}

static void a_peer_that_was_steady_is_tried_again_within_a_second(void **state)
{
	struct scene scene;

	scene_init(&scene);
	start_peers(&scene);
	world_run(scene.world, 100 * SECOND_NS);
	assert_int_equal(scene.ups, 0);
	listen_b(&scene);
	world_run(scene.world, 31 * SECOND_NS);
	assert_int_equal(scene.ups, 1);
	world_run(scene.world, 20 * SECOND_NS);

	world_cut(scene.world, scene.node_a, scene.node_b, WORLD_RESET);
	world_run(scene.world, 100 * MS);
	assert_int_equal(scene.lost, 1);
	world_cut(scene.world, scene.node_a, scene.node_b, WORLD_WHOLE);
	world_run(scene.world, 1100 * MS);
	assert_int_equal(scene.ups, 2);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_differ_are_told_with_their_bound),
		cmocka_unit_test(a_silent_network_is_noticed_on_both_sides_after_6_s),
		cmocka_unit_test(a_network_that_comes_back_in_time_loses_nothing),
		cmocka_unit_test(a_stopped_daemon_that_goes_on_in_time_keeps_its_sessions),
		cmocka_unit_test(a_connection_that_nobody_answers_ends_after_5_s),
		cmocka_unit_test(who_stood_still_while_it_connected_blames_nobody),
		cmocka_unit_test(a_daemon_that_is_stopped_is_not_there_and_has_no_other_key),
		cmocka_unit_test(an_hour_of_pings_costs_little_and_keeps_the_best_offset),
		cmocka_unit_test(a_daemon_that_was_stopped_while_it_read_blames_itself),
		cmocka_unit_test(a_goodbye_that_a_stopped_daemon_reads_late_is_told_as_such),
		cmocka_unit_test(silence_and_slowness_end_by_deadlines),
		cmocka_unit_test(attempts_back_off_from_1_to_30_s_the_same_in_each_run),
		cmocka_unit_test(a_peer_that_was_steady_is_tried_again_within_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
