// SPDX-License-Identifier: MIT
#pragma once

/*
 * A measurement whose coordinator writes down what is sent, and whose ends the test plays: what
 * tests of run/measure begin with.
 */

#include "run/measure.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SENT 64
#define SECOND_NS 1000000000ull

/* A coordinator that writes down what is sent, and plays both ends. */
struct world {
	sd_event *event;
	struct run *run;
	struct measurement *measurement;
	struct measure *measure;
	struct scenario scenario;
	char sent[SENT][96]; /* "node1 prepare initiator" */
	size_t sent_count;
	const char *unreachable;
	uint64_t accepted_mono_ns;
	unsigned deferred; /* told */
	bool may_not_try;
	unsigned asked; /* whether it may */
	bool is_done;
};

static inline bool send_message(void *arg, const char *node, json_t *message)
{
	struct world *world = arg;
	bool is_sent = world->unreachable == NULL || strcmp(world->unreachable, node) != 0;

	if (is_sent) {
		assert_true(world->sent_count < SENT);
		snprintf(world->sent[world->sent_count++], sizeof(world->sent[0]), "%s %s %s", node,
			 json_string_value(json_object_get(message, "kind")),
			 json_string_value(json_object_get(message, "role")));
	}
	json_decref(message);
	return is_sent;
}

static inline void on_done(void *arg, struct measure *measure)
{
	struct world *world = arg;

	world->is_done = true;
}

static inline void on_deferred(void *arg, struct measure *measure)
{
	struct world *world = arg;
	uint64_t retry_ns;
	uint64_t give_up_ns;

	world->deferred++;
	assert_non_null(measure_in_use(measure, &retry_ns, &give_up_ns));
	assert_true(retry_ns <= give_up_ns);
}

static inline bool may_try(void *arg, struct measure *measure)
{
	struct world *world = arg;

	world->asked++;
	return !world->may_not_try;
}

static inline struct world *new_world_until(uint64_t in_use_deadline_mono_ns)
{
	struct world *world = memory_new(sizeof(*world));
	struct measure_options options = { .send = send_message,
					   .done = on_done,
					   .deferred = on_deferred,
					   .may_try = may_try,
					   .in_use_deadline_mono_ns = in_use_deadline_mono_ns,
					   .arg = world };
	struct assignment *assignment;

	assert_true(sd_event_new(&world->event) >= 0);
	schema_defaults(scenario_fields, &world->scenario);
	world->run = run_new(&world->scenario);
	world->measurement = run_add_measurement(world->run);
	assignment = &world->measurement->assignment;
	assignment->workload = world->scenario.workload;
	assignment->workload.run.duration_ns = SECOND_NS;
	assignment->workload.workload.op_count = 1;
	assignment->workload.workload.ops[0] = (struct operation){
		.weight = 1, .size_count = 1, .sizes = { { .size_bytes = 8, .weight = 1 } }
	};
	text_copy(assignment->run_id, sizeof(assignment->run_id), "R1");
	text_copy(assignment->initiator.node, LIMIT_NAME, "node2");
	text_copy(assignment->responder.node, LIMIT_NAME, "node1");
	world->measurement->initiator.endpoint = assignment->initiator;
	world->measurement->responder.endpoint = assignment->responder;
	options.event = world->event;
	world->accepted_mono_ns = clock_mono_ns();
	options.accepted_mono_ns = world->accepted_mono_ns;
	world->measure = measure_new(&options, world->measurement);
	return world;
}

static inline struct world *new_world(void)
{
	return new_world_until(clock_mono_ns() + 600 * SECOND_NS);
}

static inline void free_world(struct world *world)
{
	measure_free(world->measure);
	run_free(world->run);
	sd_event_unref(world->event);
	free(world);
}

static inline void expect_sent(struct world *world, size_t index, const char *line)
{
	assert_true(index < world->sent_count);
	assert_string_equal(world->sent[index], line);
}

/* node1 is the responder, node2 the initiator. */
static inline void answer(struct world *world, const char *node, const char *kind, const char *key,
			  json_t *value)
{
	json_t *message = json_object();

	json_set_string(message, "role", strcmp(node, "node2") == 0 ? "initiator" : "responder");
	if (key != NULL) {
		json_set_take(message, key, value);
	}
	measure_message(world->measure, node, kind, message);
	json_decref(message);
}

static inline json_t *new_info(void)
{
	struct endpoint_info *info = memory_new(sizeof(*info));
	json_t *json;

	info->qp_count = 1;
	info->qps[0].qp_num = 17;
	info->qps[0].psn = 1;
	text_copy(info->gid, sizeof(info->gid), "::ffff:10.0.0.1");
	info->buffer_bytes = 4096;
	info->mtu_bytes = 4096;
	json = schema_write(endpoint_info_fields, info);
	free(info);
	return json;
}

static inline json_t *new_totals(enum sample_end end, const struct failure *failure)
{
	struct totals totals;
	json_t *json;

	sample_totals_init(&totals);
	totals.end = end;
	if (failure != NULL) {
		totals.failure = *failure;
	}
	json = sample_totals_write(&totals);
	sample_totals_done(&totals);
	return json;
}

static inline void run_until_done(struct world *world)
{
	for (int i = 0; i < 100 && !world->is_done; i++) {
		sd_event_run(world->event, 10000);
	}
	assert_true(world->is_done);
}

static inline void come_to_running(struct world *world)
{
	measure_start(world->measure);
	answer(world, "node1", "prepared", "info", new_info());
	answer(world, "node2", "prepared", "info", new_info());
	answer(world, "node1", "connected", NULL, NULL);
	answer(world, "node2", "connected", NULL, NULL);
	answer(world, "node1", "started", NULL, NULL);
	answer(world, "node2", "started", NULL, NULL);
}
