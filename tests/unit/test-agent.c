// SPDX-License-Identifier: MIT
#include "run/agent.h"

#include "unit/engines.h"

#include "util/json.h"
#include "util/memory.h"
#include "util/text.h"

#define MAX_ANSWERS 64

/* A coordinator that does as the test says, before the agent of the left node. */
struct scene {
	struct engines *engines;
	struct agent *agent;
	struct agent_way *way;
	json_t *answers; /* array, in order */
	struct occupancy *occupancy; /* of those tests that look at ports */
	uint64_t moved_bytes; /* on the port, by others */
};

static void on_answer(void *arg, json_t *message)
{
	struct scene *scene = arg;

	assert_true(json_array_size(scene->answers) < MAX_ANSWERS);
	json_array_append_new(scene->answers, message);
}

static size_t count(const struct scene *scene, const char *kind)
{
	size_t found = 0;
	size_t i;
	json_t *answer;

	json_array_foreach(scene->answers, i, answer) {
		found += strcmp(json_string_value(json_object_get(answer, "kind")), kind) == 0;
	}
	return found;
}

static void wait_for(struct scene *scene, const char *kind)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;

	while (count(scene, kind) == 0) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		assert_true(sd_event_run(scene->engines->event, 100000) >= 0);
	}
}

/* Takes what there is besides kind, run, pair and role. */
static void tell(struct scene *scene, const char *kind, const char *key, json_t *value)
{
	const struct assignment *assignment = scene->engines->initiator.assignment;
	_cleanup_json_ json_t *message = json_object();

	json_set_string(message, "kind", kind);
	json_set_string(message, "run", assignment->run_id);
	json_set_u64(message, "pair", assignment->pair);
	json_set_string(message, "role", job_role_names[assignment->role]);
	if (key) {
		json_set_take(message, key, value);
	}
	assert_true(agent_handle(scene->way, kind, message));
}

static void tell_prepare(struct scene *scene)
{
	tell(scene, "prepare", "assignment",
	     schema_write(assignment_fields, scene->engines->initiator.assignment));
}

static void begin_agent(struct scene *scene, struct engines *engines, struct occupancy *occupancy)
{
	struct agent_options options = {
		.event = engines->event,
		.engine = engines->left.engine,
		.node_name = "left",
		.occupancy = occupancy,
	};

	schema_defaults(daemon_fields, engines->left.settings);
	*scene = (struct scene){ .engines = engines,
				 .answers = json_array(),
				 .occupancy = occupancy };
	scene->agent = agent_new(&options, &engines->left.settings->limits);
	scene->way = agent_way_new(scene->agent, "left", NULL, on_answer, scene);
}

static void scene_begin(struct scene *scene, struct engines *engines)
{
	begin_agent(scene, engines, NULL);
}

/* Also the proof that nothing but `released` comes behind a failure. */
static void scene_end(struct scene *scene)
{
	json_t *last;

	tell(scene, "release", NULL, NULL);
	wait_for(scene, "released");
	last = json_array_get(scene->answers, json_array_size(scene->answers) - 1);
	assert_string_equal(json_string_value(json_object_get(last, "kind")), "released");
	assert_int_equal(count(scene, "released"), 1);
	assert_true(agent_is_idle(scene->agent));
	agent_free(scene->agent);
	json_decref(scene->answers);
}

static void a_job_that_failed_by_a_message_out_of_order_is_not_prepared_later(void **state)
{
	struct scene scene;

	scene_begin(&scene, *state);
	tell_prepare(&scene);
	tell(&scene, "start", NULL, NULL);
	assert_int_equal(count(&scene, "failed"), 1);
	engines_run_for(scene.engines, 300 * ENGINES_MS);
	/* Nor does it go on from there. */
	tell(&scene, "connect", "info", json_object());
	engines_run_for(scene.engines, 100 * ENGINES_MS);
	assert_int_equal(count(&scene, "prepared"), 0);
	assert_int_equal(count(&scene, "failed"), 1);
	scene_end(&scene);
}

/* An assignment of both ends at the one port of the left node, for one role. */
static void tell_loopback(struct scene *scene, struct agent_way *way, const char *coordinator,
			  const char *run_id, uint64_t pair, enum job_role role)
{
	struct assignment *assignment = memory_new(sizeof(*assignment));
	_cleanup_json_ json_t *message = json_object();

	*assignment = *scene->engines->initiator.assignment;
	assignment->responder = assignment->initiator;
	assignment->role = (int)role;
	assignment->pair = pair;
	text_copy(assignment->run_id, sizeof(assignment->run_id), run_id);
	text_copy(assignment->coordinator, sizeof(assignment->coordinator), coordinator);
	json_set_string(message, "kind", "prepare");
	json_set_take(message, "assignment", schema_write(assignment_fields, assignment));
	assert_true(agent_handle(way, "prepare", message));
	free(assignment);
}

static void release_loopback(struct scene *scene, const char *run_id, uint64_t pair,
			     enum job_role role)
{
	_cleanup_json_ json_t *message = json_object();

	json_set_string(message, "run", run_id);
	json_set_u64(message, "pair", pair);
	json_set_string(message, "role", job_role_names[role]);
	assert_true(agent_handle(scene->way, "release", message));
}

static void wait_count(struct scene *scene, const char *kind, size_t wanted)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;

	while (count(scene, kind) < wanted) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		assert_true(sd_event_run(scene->engines->event, 100000) >= 0);
	}
}

static void both_ends_of_one_pair_may_be_the_same_port(void **state)
{
	struct scene scene;

	scene_begin(&scene, *state);
	tell_loopback(&scene, scene.way, "left", "R1", 0, ROLE_INITIATOR);
	tell_loopback(&scene, scene.way, "left", "R1", 0, ROLE_RESPONDER);
	assert_int_equal(count(&scene, "busy"), 0);
	wait_count(&scene, "prepared", 2);
	assert_int_equal(count(&scene, "failed"), 0);
	release_loopback(&scene, "R1", 0, ROLE_INITIATOR);
	release_loopback(&scene, "R1", 0, ROLE_RESPONDER);
	wait_count(&scene, "released", 2);
	assert_true(agent_is_idle(scene.agent));
	agent_free(scene.agent);
	json_decref(scene.answers);
}

/* Two jobs on one port measure each other: naming a run that goes on there makes no exception. */
static void a_port_with_a_job_is_busy_for_every_other(void **state)
{
	struct scene scene;
	struct agent_way *other;

	scene_begin(&scene, *state);
	other = agent_way_new(scene.agent, "other", NULL, on_answer, &scene);
	tell_loopback(&scene, scene.way, "left", "R1", 0, ROLE_INITIATOR);
	wait_count(&scene, "prepared", 1);
	/* Another coordinator that names this one's run and pair. */
	tell_loopback(&scene, other, "other", "R1", 0, ROLE_RESPONDER);
	assert_int_equal(count(&scene, "busy"), 1);
	/* The other end of another pair, of another run; the same end of another pair. */
	tell_loopback(&scene, scene.way, "left", "R1", 1, ROLE_RESPONDER);
	assert_int_equal(count(&scene, "busy"), 2);
	tell_loopback(&scene, scene.way, "left", "R2", 0, ROLE_RESPONDER);
	assert_int_equal(count(&scene, "busy"), 3);
	tell_loopback(&scene, scene.way, "left", "R1", 1, ROLE_INITIATOR);
	assert_int_equal(count(&scene, "busy"), 4);
	assert_int_equal(count(&scene, "failed"), 0);
	/* Once it is released, it is free. */
	release_loopback(&scene, "R1", 0, ROLE_INITIATOR);
	wait_count(&scene, "released", 1);
	tell_loopback(&scene, other, "other", "R1", 0, ROLE_RESPONDER);
	wait_count(&scene, "prepared", 2);
	assert_int_equal(count(&scene, "busy"), 4);
	agent_way_free(other);
	while (!agent_is_idle(scene.agent)) {
		assert_true(sd_event_run(scene.engines->event, 100000) >= 0);
	}
	agent_free(scene.agent);
	json_decref(scene.answers);
}

static const char *answer_text(const struct scene *scene, size_t index, const char *key)
{
	return json_string_value(json_object_get(json_array_get(scene->answers, index), key));
}

/* By the name of who asks, over all its connections. */
static void a_peer_has_no_more_jobs_at_once_than_its_limit(void **state)
{
	struct limit_settings limits;
	struct scene scene;
	struct agent_way *other, *again;

	scene_begin(&scene, *state);
	limits = scene.engines->left.settings->limits;
	limits.max_jobs_per_peer = 1;
	agent_configure(scene.agent, &limits);
	other = agent_way_new(scene.agent, "other", NULL, on_answer, &scene);
	again = agent_way_new(scene.agent, "other", NULL, on_answer, &scene);
	tell_loopback(&scene, other, "other", "R1", 0, ROLE_INITIATOR);
	wait_count(&scene, "prepared", 1);
	/* Its other end would have room on the port. */
	tell_loopback(&scene, other, "other", "R1", 0, ROLE_RESPONDER);
	assert_int_equal(count(&scene, "busy"), 1);
	assert_non_null(strstr(answer_text(&scene, 1, "error"), "limits.max_jobs_per_peer"));
	agent_way_free(again);
	agent_way_free(other);
	while (!agent_is_idle(scene.agent)) {
		assert_true(sd_event_run(scene.engines->event, 100000) >= 0);
	}
	/* This node's own runs are its own affair. */
	tell_loopback(&scene, scene.way, "left", "R2", 0, ROLE_INITIATOR);
	tell_loopback(&scene, scene.way, "left", "R2", 0, ROLE_RESPONDER);
	wait_count(&scene, "prepared", 3);
	release_loopback(&scene, "R2", 0, ROLE_INITIATOR);
	release_loopback(&scene, "R2", 0, ROLE_RESPONDER);
	wait_count(&scene, "released", 2);
	assert_true(agent_is_idle(scene.agent));
	agent_free(scene.agent);
	json_decref(scene.answers);
}

static void traffic_ends_with_a_message_out_of_order_and_nothing_is_told_of_it(void **state)
{
	struct engines *engines = *state;
	struct scene scene;
	struct engine_usage usage;

	engines->initiator.assignment->workload.run.duration_ns = 3600 * ENGINES_SECOND;
	engines->initiator.assignment->workload.run.interval_ns = 10 * ENGINES_SECOND;
	scene_begin(&scene, engines);
	engines->responder.job = job_new(engines->right.engine, engines->responder.assignment,
					 &player_events, &engines->responder);
	job_prepare(engines->responder.job);
	engines_wait(engines, &engines->responder.is_prepared);
	tell_prepare(&scene);
	wait_for(&scene, "prepared");
	{
		json_t *info = json_object_get(json_array_get(scene.answers, 0), "info");
		struct endpoint_info *ours = calloc(1, sizeof(*ours));

		assert_int_equal(schema_read(endpoint_info_fields, info, ours, NULL), 0);
		job_connect(engines->responder.job, ours);
		free(ours);
	}
	tell(&scene, "connect", "info",
	     schema_write(endpoint_info_fields, &engines->responder.info));
	wait_for(&scene, "connected");
	engines_wait(engines, &engines->responder.is_connected);
	job_start(engines->responder.job);
	tell(&scene, "start", NULL, NULL);
	wait_for(&scene, "started");
	tell(&scene, "start", NULL, NULL);
	assert_int_equal(count(&scene, "failed"), 1);
	engines_run_for(engines, 500 * ENGINES_MS);
	assert_int_equal(count(&scene, "finished"), 0);
	scene_end(&scene);
	engine_usage(engines->left.engine, &usage);
	assert_int_equal(usage.jobs, 0);
	job_release(engines->responder.job);
	engines_wait(engines, &engines->responder.is_released);
}

static const struct inventory *find_inventory(void *arg)
{
	return engine_inventory(((struct engines *)arg)->left.engine);
}

static void write_traffic(struct scene *scene)
{
	static const char *const names[] = { "port_xmit_data", "port_rcv_data" };
	char path[128];
	char text[32];

	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)scene->moved_bytes / 4);
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/left/ports/1/counters/%s",
			 names[i]);
		tree_replace(&scene->engines->tree, path, text);
	}
}

static void begin_looking(struct scene *scene, struct engines *engines)
{
	struct occupancy_options options = { .event = engines->event,
					     .sys_root = engines->tree.root,
					     .inventory = find_inventory,
					     .arg = engines };
	struct occupancy *occupancy;
	struct error err = ERROR_INIT;

	assert_int_equal(occupancy_new(&occupancy, &options, &err), 0);
	begin_agent(scene, engines, occupancy);
	tree_write(&engines->tree, "/sys/class/infiniband/left/ports/1/rate",
		   "100 Gb/sec (4X EDR)\n");
	write_traffic(scene);
}

static void end_looking(struct scene *scene)
{
	struct occupancy *occupancy = scene->occupancy;

	scene_end(scene);
	assert_int_equal(occupancy_free(occupancy, clock_mono_ns() + ENGINES_PATIENCE_NS), 0);
}

static const json_t *last_answer(const struct scene *scene)
{
	return json_array_get(scene->answers, json_array_size(scene->answers) - 1);
}

static void a_disruptive_job_is_prepared_behind_a_look_at_its_port(void **state)
{
	struct scene scene;
	const json_t *use;

	begin_looking(&scene, *state);
	tell_prepare(&scene);
	assert_int_equal(json_array_size(scene.answers), 0);
	/* Once is enough, also while it looks. */
	tell_prepare(&scene);
	assert_int_equal(count(&scene, "failed"), 1);
	wait_for(&scene, "prepared");
	use = json_object_get(last_answer(&scene), "port_use");
	assert_non_null(json_string_value(json_object_get(use, "text")));
	assert_non_null(strstr(json_string_value(json_object_get(use, "text")), "0 % of its rate"));
	end_looking(&scene);
}

static void traffic_of_others_makes_it_busy_by_name_and_limit(void **state)
{
	struct scene scene;
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;
	const char *text;

	begin_looking(&scene, *state);
	tell_prepare(&scene);
	while (count(&scene, "busy") == 0) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		scene.moved_bytes += 1ull << 40;
		write_traffic(&scene);
		assert_true(sd_event_run(scene.engines->event, 5000) >= 0);
		assert_int_equal(count(&scene, "prepared"), 0);
	}
	assert_string_equal(json_string_value(json_object_get(last_answer(&scene), "cause")),
			    "in_use");
	text = json_string_value(json_object_get(last_answer(&scene), "error"));
	assert_non_null(strstr(text, "left port 1 of \"left\""));
	assert_non_null(strstr(text, "limits.allow_disruptive"));
	assert_true(json_integer_value(json_object_get(last_answer(&scene), "retry_after_ns")) > 0);
	end_looking(&scene);
}

static void a_job_is_released_and_a_way_breaks_while_the_port_is_looked_at(void **state)
{
	struct scene scene;

	begin_looking(&scene, *state);
	tell_prepare(&scene);
	tell(&scene, "release", NULL, NULL);
	assert_int_equal(count(&scene, "released"), 1);
	engines_run_for(scene.engines, 600 * ENGINES_MS);
	assert_int_equal(json_array_size(scene.answers), 1);
	tell_prepare(&scene);
	agent_way_free(scene.way);
	engines_run_for(scene.engines, 600 * ENGINES_MS);
	assert_int_equal(json_array_size(scene.answers), 1);
	json_array_clear(scene.answers);
	scene.way = agent_way_new(scene.agent, "left", NULL, on_answer, &scene);
	end_looking(&scene);
}

static void what_disturbs_nobody_is_prepared_without_a_look(void **state)
{
	struct scene scene;

	begin_looking(&scene, *state);
	scene.engines->initiator.assignment->is_disruptive = false;
	scene.engines->initiator.assignment->workload.workload.pattern = PATTERN_PINGPONG;
	scene.engines->initiator.assignment->workload.workload.ops[0].sizes[0].size_bytes = 64;
	tell_prepare(&scene);
	wait_for(&scene, "prepared");
	assert_null(json_object_get(last_answer(&scene), "port_use"));
	end_looking(&scene);
}

/* It begins at once, and who was there stands in the result. */
static void beside_others_it_is_prepared_where_limits_let_it_and_they_are_told(void **state)
{
	uint64_t deadline_mono_ns = clock_mono_ns() + ENGINES_PATIENCE_NS;
	struct limit_settings limits;
	struct scene scene;
	const json_t *use;

	begin_looking(&scene, *state);
	limits = scene.engines->left.settings->limits;
	limits.allow_disruptive = ALLOW_DISRUPTIVE_ALWAYS;
	agent_configure(scene.agent, &limits);
	tell_prepare(&scene);
	while (count(&scene, "prepared") == 0) {
		assert_true(clock_mono_ns() < deadline_mono_ns);
		scene.moved_bytes += 1ull << 40;
		write_traffic(&scene);
		assert_true(sd_event_run(scene.engines->event, 5000) >= 0);
	}
	use = json_object_get(last_answer(&scene), "port_use");
	assert_string_equal(json_string_value(json_object_get(use, "state")), "busy");
	assert_int_equal(count(&scene, "busy"), 0);
	end_looking(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_job_that_failed_by_a_message_out_of_order_is_not_prepared_later,
			engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(both_ends_of_one_pair_may_be_the_same_port,
						engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(a_port_with_a_job_is_busy_for_every_other,
						engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(a_peer_has_no_more_jobs_at_once_than_its_limit,
						engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(
			traffic_ends_with_a_message_out_of_order_and_nothing_is_told_of_it,
			engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(
			a_disruptive_job_is_prepared_behind_a_look_at_its_port, engines_set_up,
			engines_tear_down),
		cmocka_unit_test_setup_teardown(traffic_of_others_makes_it_busy_by_name_and_limit,
						engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(
			a_job_is_released_and_a_way_breaks_while_the_port_is_looked_at,
			engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(what_disturbs_nobody_is_prepared_without_a_look,
						engines_set_up, engines_tear_down),
		cmocka_unit_test_setup_teardown(
			beside_others_it_is_prepared_where_limits_let_it_and_they_are_told,
			engines_set_up, engines_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
