// SPDX-License-Identifier: MIT
#pragma once

/*
 * Two nodes, "left" and "right", each with a device of that name and an engine of its own, on one
 * loop, with real threads and real time over the fake NIC: what tests of the engine begin with.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "fake/fabric.h"
#include "fake/fake-clock.h"
#include "unit/assignments.h"
#include "unit/tree.h"
#include "util/clock.h"

#define ENGINES_MS 1000000ull
#define ENGINES_SECOND (1000 * ENGINES_MS)
#define ENGINES_PATIENCE_NS (20 * ENGINES_SECOND)

/* One end of a measurement, and what was told about it. */
struct player {
	struct assignment *assignment;
	struct job *job;
	bool is_prepared;
	bool is_connected;
	bool is_started;
	bool is_finished;
	bool is_failed;
	bool is_released;
	unsigned events; /* of all kinds */
	unsigned progress;
	bool releases_itself; /* in the next callback */
	struct endpoint_info info;
	struct totals totals;
	struct failure failure;
	struct steps steps;
};

struct engines_node {
	struct engine *engine;
	struct daemon_settings *settings;
	unsigned inventories; /* told */
};

struct engines {
	struct fabric *fabric;
	struct tree tree;
	sd_event *event;
	struct engines_node left;
	struct engines_node right;
	struct player initiator;
	struct player responder;
};

static inline void player_note(struct player *player)
{
	player->events++;
	assert_false(player->is_released);
	if (player->releases_itself) {
		job_release(player->job);
	}
}

static inline void player_prepared(void *arg, struct job *job, const struct endpoint_info *info,
				   const struct steps *steps)
{
	struct player *player = arg;

	assert_ptr_equal(job, player->job);
	player->is_prepared = true;
	player->info = *info;
	player->steps = *steps;
	player_note(player);
}

static inline void player_connected(void *arg, struct job *job, const struct steps *steps)
{
	struct player *player = arg;

	player->is_connected = true;
	player->steps = *steps;
	player_note(player);
}

static inline void player_started(void *arg, struct job *job)
{
	struct player *player = arg;

	player->is_started = true;
	player_note(player);
}

static inline void player_progress(void *arg, struct job *job, const struct progress *progress)
{
	struct player *player = arg;

	player->progress++;
	player_note(player);
}

static inline void player_finished(void *arg, struct job *job, struct totals *totals)
{
	struct player *player = arg;

	assert_false(player->is_finished);
	player->is_finished = true;
	player->totals = *totals;
	player_note(player);
}

static inline void player_failed(void *arg, struct job *job, const struct failure *failure,
				 const struct steps *steps)
{
	struct player *player = arg;

	assert_false(player->is_failed);
	player->is_failed = true;
	player->failure = *failure;
	player->steps = *steps;
	player_note(player);
}

static inline void player_released(void *arg, struct job *job)
{
	struct player *player = arg;

	player->steps = *job_steps(job);
	player->job = NULL;
	player->events++;
	player->is_released = true;
}

static const struct job_events player_events = {
	.prepared = player_prepared,
	.connected = player_connected,
	.started = player_started,
	.progress = player_progress,
	.finished = player_finished,
	.failed = player_failed,
	.released = player_released,
};

/* As after the first time: the assignment stays. */
static inline void player_reset(struct player *player)
{
	struct assignment *assignment = player->assignment;

	assert_null(player->job);
	if (player->is_finished) {
		sample_totals_done(&player->totals);
	}
	*player = (struct player){ .assignment = assignment };
}

static inline void engines_inventory(void *arg, const struct inventory *inventory)
{
	struct engines_node *node = arg;

	node->inventories++;
}

/* Runs the loop until the fact is there. */
static inline void engines_wait(struct engines *engines, const bool *fact)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;

	while (!*fact) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		assert_true(sd_event_run(engines->event, 100000) >= 0);
	}
}

static inline void engines_run_for(struct engines *engines, uint64_t ns)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ns;

	while (clock_mono_ns() < deadline_mono_ns) {
		assert_true(sd_event_run(engines->event, 5000) >= 0);
	}
}

static inline void engines_node_init(struct engines *engines, struct engines_node *node,
				     const char *name)
{
	struct engine_options options = { .event = engines->event,
					  .sys_root = engines->tree.root,
					  .inventory = engines_inventory,
					  .arg = node };
	struct error err = ERROR_INIT;

	node->settings = calloc(1, sizeof(*node->settings));
	snprintf(node->settings->node_name, sizeof(node->settings->node_name), "%s", name);
	node->settings->device_count = 1;
	snprintf(node->settings->devices[0].name, sizeof(node->settings->devices[0].name), "%s",
		 name);
	node->settings->devices[0].port_num = 1;
	node->settings->devices[0].gid_index = SCHEMA_AUTO;
	node->settings->devices[0].rail = SCHEMA_AUTO;
	assert_int_equal(engine_new(&node->engine, &options, node->settings, &err), 0);
	/* Not from inside the call. */
	assert_false(engine_has_scanned(node->engine));
	assert_int_equal(node->inventories, 0);
}

static inline int engines_set_up(void **state)
{
	struct engines *engines = calloc(1, sizeof(*engines));

	engines->fabric = fabric_new(3);
	fabric_set_threaded(engines->fabric, true);
	fabric_use(engines->fabric);
	fabric_add_device(engines->fabric,
			  &(struct fabric_device_config){ .name = "left", .address = "10.0.0.1" });
	fabric_add_device(engines->fabric,
			  &(struct fabric_device_config){ .name = "right", .address = "10.0.0.2" });
	tree_init(&engines->tree);
	tree_write(&engines->tree, "/proc/sys/kernel/random/boot_id",
		   "11111111-2222-3333-4444-555555555555\n");
	assert_int_equal(sd_event_new(&engines->event), 0);
	engines_node_init(engines, &engines->left, "left");
	engines_node_init(engines, &engines->right, "right");
	while (engines->left.inventories == 0 || engines->right.inventories == 0) {
		assert_true(sd_event_run(engines->event, 1000000) >= 0);
	}
	engines->initiator.assignment =
		assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);
	engines->responder.assignment =
		assignments_new(ROLE_RESPONDER, PATTERN_STREAM, OPERATION_WRITE, 4096);
	*state = engines;
	return 0;
}

static inline void engines_player_done(struct player *player)
{
	player_reset(player);
	free(player->assignment);
}

static inline int engines_tear_down(void **state)
{
	struct engines *engines = *state;
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;

	engines_player_done(&engines->initiator);
	engines_player_done(&engines->responder);
	assert_int_equal(engine_free(engines->left.engine, deadline_mono_ns), 0);
	assert_int_equal(engine_free(engines->right.engine, deadline_mono_ns), 0);
	free(engines->left.settings);
	free(engines->right.settings);
	sd_event_unref(engines->event);
	fabric_print_objects(engines->fabric, stdout);
	assert_int_equal(fabric_objects(engines->fabric), 0);
	fabric_use(NULL);
	fabric_free(engines->fabric);
	tree_done(&engines->tree);
	free(engines);
	return 0;
}

static inline void engines_new_jobs(struct engines *engines)
{
	engines->initiator.job = job_new(engines->left.engine, engines->initiator.assignment,
					 &player_events, &engines->initiator);
	engines->responder.job = job_new(engines->right.engine, engines->responder.assignment,
					 &player_events, &engines->responder);
}

static inline void engines_prepare(struct engines *engines)
{
	engines_new_jobs(engines);
	job_prepare(engines->initiator.job);
	job_prepare(engines->responder.job);
	assert_int_equal(engines->initiator.events + engines->responder.events, 0);
	engines_wait(engines, &engines->initiator.is_prepared);
	engines_wait(engines, &engines->responder.is_prepared);
}

static inline void engines_connect(struct engines *engines)
{
	engines_prepare(engines);
	job_connect(engines->initiator.job, &engines->responder.info);
	job_connect(engines->responder.job, &engines->initiator.info);
	engines_wait(engines, &engines->initiator.is_connected);
	engines_wait(engines, &engines->responder.is_connected);
}

static inline void engines_start(struct engines *engines)
{
	engines_connect(engines);
	job_start(engines->responder.job);
	engines_wait(engines, &engines->responder.is_started);
	job_start(engines->initiator.job);
	engines_wait(engines, &engines->initiator.is_started);
}

static inline void engines_release(struct engines *engines)
{
	if (engines->initiator.job) {
		job_release(engines->initiator.job);
	}
	if (engines->responder.job) {
		job_release(engines->responder.job);
	}
	engines_wait(engines, &engines->initiator.is_released);
	engines_wait(engines, &engines->responder.is_released);
}

static inline const struct step *engines_step(const struct steps *steps, const char *name)
{
	for (size_t i = 0; i < steps->count; i++) {
		if (strcmp(steps->items[i].name, name) == 0) {
			return &steps->items[i];
		}
	}
	return NULL;
}

/* The first device that is sick now, NULL: none. Valid until the next call. */
static inline const char *engines_sick(struct engine *engine)
{
	static struct hang hangs[HANGS_MAX];

	return engine_hangs(engine, hangs, HANGS_MAX) > 0 ? hangs[0].device : NULL;
}

static inline void engines_assert_says(const struct error *err, const char *words)
{
	if (!strstr(err->text, words)) {
		fail_msg("\"%s\" is not in: %s", words, err->text);
	}
}
