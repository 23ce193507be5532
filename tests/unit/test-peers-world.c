// SPDX-License-Identifier: MIT
/* Peers that are not there, under virtual time: how often they are tried. */
#include "unit/control-harness.h"

#include "fake/world.h"
#include "fleet/peers.h"

#define SECOND_NS 1000000000ull
#define MANY 200
#define WINDOWS 700 /* of a second */

struct scene {
	struct world *world;
	struct node *node;
	struct member self;
	struct peers *peers;
	unsigned tries;
	unsigned tries_of_one; /* of the first */
	unsigned windows[WINDOWS];
	uint64_t start_mono_ns;
};

static void on_changed(void *arg, const char *name)
{
	struct scene *scene = arg;
	struct peer_status status;
	uint64_t second;

	assert_int_equal(peers_find(scene->peers, name, &status), 0);
	if (status.state != PEER_CONNECTING) {
		return;
	}
	second = (clock_mono_ns() - scene->start_mono_ns) / SECOND_NS;
	assert_true(second < WINDOWS);
	scene->windows[second]++;
	scene->tries++;
	scene->tries_of_one += strcmp(name, "peer-0") == 0;
}

static void on_lost(void *arg, const char *name, const struct error *why)
{
	fail_msg("nobody was there");
}

static void on_message(void *arg, const char *name, const char *kind, const json_t *message)
{
	fail_msg("nobody was there");
}

static const struct peers_events events = {
	.changed = on_changed,
	.lost = on_lost,
	.message = on_message,
};

static void scene_init(struct scene *scene, size_t count)
{
	static struct peer_settings settings[MANY];

	memset(scene, 0, sizeof(*scene));
	scene->world = world_new(7);
	scene->node = world_add_node(scene->world, &(struct node_options){ .name = "node-a",
									   .address = "10.0.0.1" });
	member_init(&scene->self, "node-a");
	for (size_t i = 0; i < count; i++) {
		settings[i] = (struct peer_settings){ .is_enabled = true };
		snprintf(settings[i].name, sizeof(settings[i].name), "peer-%zu", i);
		snprintf(settings[i].address, sizeof(settings[i].address), "10.1.0.%zu", i + 1);
	}
	world_enter(scene->node);
	scene->start_mono_ns = clock_mono_ns();
	scene->peers = peers_new(world_event(scene->node), &scene->self.identity, &events, scene);
	peers_configure(scene->peers, settings, count);
	world_enter(NULL);
}

static void scene_done(struct scene *scene)
{
	world_enter(scene->node);
	peers_free(scene->peers);
	member_done(&scene->self);
	world_enter(NULL);
	world_free(scene->world);
}

/* As a scheduler does that plans runs with all of them. */
static void hurry_all(struct scene *scene, size_t count)
{
	world_enter(scene->node);
	for (size_t i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "peer-%zu", i);
		peers_hurry(scene->peers, name);
	}
	world_enter(NULL);
}

static void C60_dead_peers_are_tried_twice_a_minute_and_never_all_at_once(void **state)
{
	struct scene scene;

	scene_init(&scene, MANY);
	world_run(scene.world, 660 * SECOND_NS);
	/* 5 s for an attempt that nobody answers, 22 to 30 s of waiting; a few more at first */
	assert_in_range(scene.tries, MANY * 600 / 35, MANY * 660 / 27 + MANY * 5);
	for (unsigned second = 60; second < 660; second++) {
		assert_true(scene.windows[second] < MANY / 4);
	}
	scene_done(&scene);
}

static void to_hurry_tries_at_once_what_waits(void **state)
{
	struct scene scene;
	unsigned before;

	scene_init(&scene, 1);
	/* the fifth attempt failed: then it waits for at least 12 s */
	world_run(scene.world, 44 * SECOND_NS);
	before = scene.tries;
	world_run(scene.world, 6 * SECOND_NS);
	assert_int_equal(scene.tries, before);
	hurry_all(&scene, 1);
	world_run(scene.world, MS);
	assert_int_equal(scene.tries, before + 1);
	scene_done(&scene);
}

static void to_hurry_again_and_again_makes_no_storm(void **state)
{
	struct scene scene;
	unsigned before;

	scene_init(&scene, MANY);
	world_run(scene.world, 300 * SECOND_NS);
	before = scene.tries_of_one;
	for (unsigned i = 0; i < 1000; i++) {
		hurry_all(&scene, MANY);
		world_run(scene.world, 100 * MS);
	}
	/* 100 s: each attempt takes 5 s here, and the next comes no sooner than that */
	assert_in_range(scene.tries_of_one - before, 10, 20);
	for (unsigned second = 300; second < 400; second++) {
		assert_true(scene.windows[second] <= MANY);
	}
	scene_done(&scene);
}

/* Nobody at all: as peers_hurry knows no moment at which a refusal comes back faster. */
static void refusals_that_come_at_once_are_hurried_every_5_s_at_most(void **state)
{
	struct peer_settings settings = { .name = "peer-0",
					  .address = "10.0.0.1",
					  .is_enabled = true }; /* ourselves, where nobody listens
								 */
	struct scene scene;

	scene_init(&scene, 0);
	world_enter(scene.node);
	peers_configure(scene.peers, &settings, 1);
	world_enter(NULL);
	for (unsigned i = 0; i < 1000; i++) {
		hurry_all(&scene, 1);
		world_run(scene.world, 100 * MS);
	}
	assert_in_range(scene.tries, 15, 22);
	scene_done(&scene);
}

static void the_number_behind_an_address_is_known_when_it_is_one(void **state)
{
	struct peer_settings settings[2] = {
		{ .name = "peer-0", .address = "[fe80::1%eth0]:5", .is_enabled = true },
		{ .name = "peer-1", .address = "some.name:5", .is_enabled = true },
	};
	struct peer_status status;
	struct scene scene;

	scene_init(&scene, 0);
	world_enter(scene.node);
	peers_configure(scene.peers, settings, 2);
	peers_status(scene.peers, 0, &status);
	assert_string_equal(status.host, "fe80::1%eth0");
	peers_status(scene.peers, 1, &status);
	assert_string_equal(status.host, "");
	world_enter(NULL);
	scene_done(&scene);
}

/* --- two that have each other in their configuration --- */

struct side {
	struct node *node;
	struct member self;
	struct peers *peers;
	unsigned ups;
	unsigned downs;
};

static void on_side_changed(void *arg, const char *name)
{
	struct side *side = arg;
	struct peer_status status;

	assert_int_equal(peers_find(side->peers, name, &status), 0);
	side->ups += status.state == PEER_UP;
	side->downs += status.state == PEER_DOWN;
}

static const struct peers_events side_events = {
	.changed = on_side_changed,
	.lost = on_lost,
	.message = on_message,
};

static void both_sides_that_connect_at_once_hold_one_session_each_way(void **state)
{
	struct peer_settings settings[2] = {
		{ .name = "node-a", .address = "10.0.0.1", .is_enabled = true },
		{ .name = "node-b", .address = "10.0.0.2", .is_enabled = true },
	};
	struct world *world = world_new(7);
	struct side sides[2] = { 0 };
	struct error err = ERROR_INIT;

	for (int i = 0; i < 2; i++) {
		struct side *side = &sides[i];

		side->node = world_add_node(
			world, &(struct node_options){ .name = settings[i].name,
						       .address = settings[i].address });
		member_init(&side->self, settings[i].name);
		world_enter(side->node);
		assert_int_equal(session_listen(&side->self.listener, world_event(side->node),
						settings[i].address, SESSION_PORT, 64,
						&side->self.identity, member_accepted, &side->self,
						&err),
				 0);
		side->peers = peers_new(world_event(side->node), &side->self.identity, &side_events,
					side);
		peers_configure(side->peers, settings, 2); /* itself is left out */
		world_enter(NULL);
	}
	world_run(world, 300 * SECOND_NS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sides[i].ups, 1);
		assert_int_equal(sides[i].downs, 0);
		assert_int_equal(sides[i].self.accepted, 1);
		assert_int_equal(sides[i].self.records[0].closed, 0);
	}
	for (int i = 0; i < 2; i++) {
		world_enter(sides[i].node);
		peers_free(sides[i].peers);
		member_done(&sides[i].self);
	}
	world_enter(NULL);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(C60_dead_peers_are_tried_twice_a_minute_and_never_all_at_once),
		cmocka_unit_test(to_hurry_tries_at_once_what_waits),
		cmocka_unit_test(to_hurry_again_and_again_makes_no_storm),
		cmocka_unit_test(refusals_that_come_at_once_are_hurried_every_5_s_at_most),
		cmocka_unit_test(the_number_behind_an_address_is_known_when_it_is_one),
		cmocka_unit_test(both_sides_that_connect_at_once_hold_one_session_each_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
