// SPDX-License-Identifier: MIT
/*
 * An agent before a coordinator that keeps no rules: run/agent, fleet/permit, and the nouns that
 * coordinators send. The engine is a stand-in that does what it is told one step at a time; the
 * loop is fuzz/loop.
 *
 * The input is lines. The first may be "!=looks": the agent can look at what others do on its
 * ports. JSON is a message; besides
 *
 *   !t MS  time passes             !j  each job goes one step on   !f  the next step fails
 *   !w     the way breaks, and     !q  the daemon stops            !l SELECTOR  accept_from
 *          another one comes       !d  rxe0 port 1 down or up      !k  InfiniBand or Ethernet there
 *                                                                  !n  small limits
 *   !o JSON  limits, as in a configuration: {"max_jobs_per_peer":1}
 *   !s       the looks under way end: nothing was seen; "!s 10": 10 per mille of the port's rate,
 *            "!s 10 2": and two connected queue pairs of others
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "fuzz/fuzz.h"
#include "fuzz/loop.h"
#include "model/failure.h"
#include "run/agent.h"
#include "run/occupancy.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define NODE "node1"
#define COORDINATOR "node2"
#define MS 1000000ull
#define DAY_NS (24ull * 3600 * 1000000000)

#define LOOKS "!=looks"
#define RATE_BPS 100000000000ull

/* --- the engine --- */

struct job {
	struct list link;
	struct assignment assignment;
	const struct job_events *events;
	void *arg;
	bool is_preparing;
	bool is_connecting;
	bool is_starting;
	bool is_running;
	bool is_stopping;
	bool is_releasing;
};

static struct scene {
	sd_event *event;
	struct agent *agent;
	struct agent_way *way;
	struct inventory *inventory;
	struct daemon_settings *settings;
	struct list jobs;
	struct occupancy *occupancy; /* NULL: nobody looks at ports */
	struct list looks;
	const struct port_use *seen; /* by the look that ends just now, or NULL */
	unsigned own_jobs; /* that occupancy was told of */
	unsigned answers;
	bool is_next_failing;
} scene;

const struct inventory *engine_inventory(const struct engine *engine)
{
	return scene.inventory;
}

/* No device of this test hangs. */
bool engine_is_sick(struct engine *engine, const char *device, struct hang *ret)
{
	(void)engine;
	(void)device;
	(void)ret;
	return false;
}

void engine_usage(const struct engine *engine, struct engine_usage *ret)
{
	const struct job *job;

	*ret = (struct engine_usage){ 0 };
	list_each(job, &scene.jobs, link) {
		ret->jobs++;
		ret->qps += job->assignment.workload.qp.num_qps;
		ret->pinned_bytes += assignment_pinned_bytes(&job->assignment);
	}
}

/* By our own sum: as much as all queue pairs can send and take, whatever is written of it. */
static unsigned __int128 least_bytes(const struct assignment *assignment)
{
	const struct workload_settings *settings = &assignment->workload.workload;
	uint64_t largest_bytes = 0;

	for (size_t i = 0; i < settings->op_count; i++) {
		for (size_t j = 0; j < settings->ops[i].size_count; j++) {
			uint64_t size_bytes = settings->ops[i].sizes[j].size_bytes;

			largest_bytes = size_bytes > largest_bytes ? size_bytes : largest_bytes;
		}
	}
	return (unsigned __int128)2 * largest_bytes * assignment->workload.qp.num_qps;
}

/* Two jobs on one port are the two ends of one pair, or would measure each other. */
static void expect_port_free(const struct job *job)
{
	const struct endpoint *ours = assignment_local(&job->assignment);
	const struct job *other;

	list_each(other, &scene.jobs, link) {
		const struct endpoint *theirs = assignment_local(&other->assignment);
		bool is_one_port = strcmp(ours->device, theirs->device) == 0 &&
				   ours->port_num == theirs->port_num;

		assert(!is_one_port || (job->assignment.role != other->assignment.role &&
					job->assignment.pair == other->assignment.pair));
	}
}

/* What limits say of a coordinator's jobs, and of those that disturb others. */
static void expect_wanted(const struct assignment *assignment, uint64_t jobs)
{
	const struct limit_settings *limits = &scene.settings->limits;

	assert(jobs <= limits->max_jobs_per_peer);
	assert(workload_expected_ns(&assignment->workload) == UINT64_MAX ||
	       workload_expected_ns(&assignment->workload) <= limits->max_peer_time_ns);
	if (!assignment->is_disruptive) {
		return;
	}
	assert(limits->allow_disruptive != ALLOW_DISRUPTIVE_NEVER);
	assert(!assignment->is_scheduled || limits->duty_cycle_ppm > 0);
	if (limits->allow_disruptive == ALLOW_DISRUPTIVE_WHEN_IDLE && scene.occupancy) {
		assert(scene.seen && port_use_state(scene.seen) != PORT_USE_BUSY);
	}
}

struct job *job_new(struct engine *engine, const struct assignment *assignment,
		    const struct job_events *events, void *arg)
{
	const struct limit_settings *limits = &scene.settings->limits;
	struct job *job = memory_new(sizeof(*job));
	struct engine_usage usage;
	struct error err = ERROR_INIT;

	/* What the coordinator wants holds together, is ours to do, and stays below the limits. */
	assert(assignment_check(assignment, &err) == 0);
	assert(strcmp(assignment_local(assignment)->node, NODE) == 0);
	assert(strcmp(assignment->coordinator, COORDINATOR) == 0);
	job->assignment = *assignment;
	expect_port_free(job);
	job->events = events;
	job->arg = arg;
	list_append(&scene.jobs, &job->link);
	engine_usage(engine, &usage);
	assert(usage.jobs <= limits->max_concurrent_jobs);
	assert(usage.qps <= limits->max_qps);
	assert(usage.pinned_bytes <= limits->max_pinned_bytes);
	assert(least_bytes(assignment) <= limits->max_pinned_bytes);
	expect_wanted(assignment, usage.jobs);
	return job;
}

/* Of pattern connect each queue pair comes with its connection, later. */
static uint64_t prepared_qps(const struct job *job)
{
	const struct workload *workload = &job->assignment.workload;

	return workload_is_connecting(workload) ? 0 : workload->qp.num_qps;
}

void job_prepare(struct job *job)
{
	job->is_preparing = true;
}

void job_connect(struct job *job, const struct endpoint_info *remote)
{
	assert(remote->qp_count == prepared_qps(job));
	job->is_connecting = true;
}

void job_start(struct job *job)
{
	job->is_starting = true;
}

void job_stop(struct job *job)
{
	job->is_stopping = job->is_running || job->is_starting;
}

void job_release(struct job *job)
{
	job->is_releasing = true;
}

bool job_release_is_stuck(struct job *job)
{
	return false;
}

const struct steps *job_steps(const struct job *job)
{
	static const struct steps none;

	(void)job;
	return &none;
}

static void fail(struct job *job)
{
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	error_set(&failure.error, -1, ERROR_DEVICE, "it does not work");
	scene.is_next_failing = false;
	job->is_preparing = job->is_connecting = false;
	job->events->failed(job->arg, job, &failure, &steps);
}

static void give_prepared(struct job *job)
{
	_cleanup_free_ struct endpoint_info *info = memory_new(sizeof(*info));
	struct steps steps = { 0 };

	info->mtu_bytes = 1024;
	info->qp_count = prepared_qps(job);
	step_add(&steps, "create_qp", 1000, 0);
	job->events->prepared(job->arg, job, info, &steps);
}

static void give_finished(struct job *job)
{
	struct totals totals;

	fuzz_accept();
	sample_totals_init(&totals);
	totals.end = END_STOPPED;
	job->events->finished(job->arg, job, &totals);
}

/* One step of what a job was told; the later ones wait. */
static void step_job(struct job *job)
{
	struct steps steps = { 0 };
	struct progress progress = { 0 };

	if (job->is_releasing) {
		list_remove(&job->link);
		job->events->released(job->arg, job);
		free(job);
	} else if ((job->is_preparing || job->is_connecting) && scene.is_next_failing) {
		fail(job);
	} else if (job->is_preparing) {
		job->is_preparing = false;
		give_prepared(job);
	} else if (job->is_connecting) {
		job->is_connecting = false;
		job->events->connected(job->arg, job, &steps);
	} else if (job->is_starting) {
		job->is_starting = false;
		job->is_running = true;
		job->events->started(job->arg, job);
	} else if (job->is_running && job->is_stopping) {
		job->is_running = false;
		give_finished(job);
	} else if (job->is_running) {
		job->events->progress(job->arg, job, &progress);
	}
}

static void step_jobs(void)
{
	struct job *job;

	list_each(job, &scene.jobs, link) {
		step_job(job);
	}
}

/* --- what looks at ports --- */

/* Of no use but to be there. */
struct occupancy {
	bool is_there;
};

struct occupancy_look {
	struct list link;
	occupancy_done_fn done;
	void *arg;
};

void occupancy_begin_own(struct occupancy *occupancy, const char *device, uint64_t port_num)
{
	scene.own_jobs++;
}

void occupancy_end_own(struct occupancy *occupancy, const char *device, uint64_t port_num)
{
	assert(scene.own_jobs > 0);
	scene.own_jobs--;
}

struct occupancy_look *occupancy_look(struct occupancy *occupancy, const char *device,
				      uint64_t port_num, occupancy_done_fn done, void *arg)
{
	struct occupancy_look *look = memory_new(sizeof(*look));

	assert(occupancy == scene.occupancy);
	look->done = done;
	look->arg = arg;
	list_append(&scene.looks, &look->link);
	return look;
}

void occupancy_cancel(struct occupancy_look *look)
{
	list_remove(&look->link);
	free(look);
}

/* What each look under way saw: " PER_MILLE QUEUE_PAIRS", as far as it is written. */
static void end_looks(const char *seen)
{
	const char *users = seen[0] == ' ' ? strchr(seen + 1, ' ') : NULL;
	struct port_use use = { .has_traffic = seen[0] == ' ',
				.rate_bps = RATE_BPS,
				.window_ns = 2000 * MS,
				.has_users = users != NULL };
	struct occupancy_look *look;

	use.traffic_bps = use.has_traffic ? fuzz_number(seen, 1000) * (RATE_BPS / 1000) : 0;
	use.qp_count = users ? fuzz_number(users, 1000) : 0;
	text_copy(use.user, sizeof(use.user), use.qp_count > 0 ? "ib_write_bw (process 4711)" : "");
	text_copy(use.unseen, sizeof(use.unseen), users ? "" : "queue pairs (not permitted)");
	scene.seen = &use;
	list_each(look, &scene.looks, link) {
		occupancy_done_fn done = look->done;
		void *arg = look->arg;

		occupancy_cancel(look);
		done(arg, &use);
	}
	scene.seen = NULL;
}

/* --- the scene --- */

static void on_answer(void *arg, json_t *message)
{
	static const char *const kinds[] = { "prepared", "connected", "started", "progress",
					     "finished", "failed",    "busy",	 "released" };
	const char *kind = json_string_value(json_object_get(message, "kind"));
	bool is_known = false;

	assert(kind);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		is_known = is_known || strcmp(kind, kinds[i]) == 0;
	}
	assert(is_known);
	fuzz_expect_json(message);
	json_decref(message);
	scene.answers++;
}

static uint32_t never_ready(void *arg)
{
	return 0;
}

static void add_port(const char *device, unsigned port_num)
{
	struct port *port = &scene.inventory->ports[scene.inventory->port_count++];

	*port = (struct port){ .port_num = port_num,
			       .state = PORT_STATE_ACTIVE,
			       .link_layer = LINK_LAYER_ETHERNET,
			       .active_mtu_bytes = 1024,
			       .max_mtu_bytes = 4096,
			       .pkey_count = 1,
			       .gid_count = 1,
			       .gids = { { .index = 1, .gid = "::ffff:10.0.0.1" } } };
	text_copy(port->device, sizeof(port->device), device);
	port->limits = (struct device_limits){ .max_qp = 1 << 20,
					       .max_qp_wr = 1 << 20,
					       .max_sge = 32,
					       .max_cqe = 1 << 22,
					       .max_mr_bytes = 1ull << 40,
					       .max_qp_rd_atom = 128,
					       .max_qp_init_rd_atom = 128,
					       .max_msg_bytes = 1 << 30 };
}

static void begin(bool looks)
{
	static struct occupancy occupancy = { .is_there = true };
	struct agent_options options = { .node_name = NODE };

	log_set_level(LOG_LEVEL_ERROR);
	scene = (struct scene){ .event = loop_new(never_ready, NULL) };
	scene.occupancy = looks ? &occupancy : NULL;
	list_init(&scene.jobs);
	list_init(&scene.looks);
	scene.inventory = memory_new(sizeof(*scene.inventory));
	add_port("rxe0", 1);
	add_port("rxe0", 2);
	add_port("rxe1", 1);
	scene.settings = memory_new(sizeof(*scene.settings));
	schema_defaults(daemon_fields, scene.settings);
	options.event = scene.event;
	options.occupancy = scene.occupancy;
	scene.agent = agent_new(&options, &scene.settings->limits);
	scene.way = agent_way_new(scene.agent, COORDINATOR, NULL, on_answer, NULL);
}

static void end(void)
{
	agent_way_free(scene.way);
	/* Nobody comes any more: every job has a deadline of its own. */
	for (unsigned i = 0; i < 3; i++) {
		loop_pass(scene.event, 2 * DAY_NS);
		step_jobs();
	}
	assert(agent_is_idle(scene.agent) && list_is_empty(&scene.jobs));
	assert(list_is_empty(&scene.looks) && scene.own_jobs == 0);
	agent_free(scene.agent);
	loop_free(scene.event);
	free(scene.inventory);
	free(scene.settings);
}

/* As after a reload. */
static void set_limits(const char *selector)
{
	static const struct labels labels = { .count = 1,
					      .items = { { .key = "role", .value = "a" } } };

	scene.settings->limits.accept_from.count = 0;
	labels_selector_parse(selector, &scene.settings->limits.accept_from);
	agent_way_set_labels(scene.way, &labels);
	agent_configure(scene.agent, &scene.settings->limits);
}

/* All of them: what is not written is as it is by itself. */
static void configure(const char *limits)
{
	_cleanup_free_ struct daemon_settings *settings = memory_new(sizeof(*settings));
	_cleanup_json_ json_t *json = json_object();
	struct error err = ERROR_INIT;
	json_t *object = json_read(limits, strlen(limits), &err);

	if (!object) {
		return;
	}
	json_set_take(json, "limits", object);
	if (schema_read(daemon_fields, json, settings, &err) == 0) {
		scene.settings->limits = settings->limits;
		agent_configure(scene.agent, &settings->limits);
	} else {
		fuzz_expect_error(&err);
	}
}

static void act(const char *what)
{
	struct limit_settings *limits = &scene.settings->limits;
	struct port *port = &scene.inventory->ports[0];

	switch (what[0]) {
	case 't':
		loop_pass(scene.event, fuzz_number(what + 1, 1000000) * MS);
		break;
	case 'j':
		step_jobs();
		break;
	case 'f':
		scene.is_next_failing = true;
		break;
	case 'w':
		agent_way_free(scene.way);
		scene.way = agent_way_new(scene.agent, COORDINATOR, NULL, on_answer, NULL);
		break;
	case 'q':
		agent_stop(scene.agent, "the daemon stops");
		break;
	case 'l':
		set_limits(what + 1);
		break;
	case 'n':
		limits->max_qps = 4;
		limits->max_pinned_bytes = 1 << 20;
		limits->max_concurrent_jobs = 1;
		limits->max_duration_ns = 1000 * MS;
		agent_configure(scene.agent, limits);
		break;
	case 'o':
		configure(what + 1);
		break;
	case 's':
		end_looks(what + 1);
		break;
	case 'd':
		port->state = port->state == PORT_STATE_ACTIVE ? PORT_STATE_DOWN
							       : PORT_STATE_ACTIVE;
		break;
	case 'k':
		port->link_layer = port->link_layer == LINK_LAYER_ETHERNET ? LINK_LAYER_INFINIBAND
									   : LINK_LAYER_ETHERNET;
		break;
	default:
		break;
	}
}

/* Each message that is the agent's is answered, or is about a job whose answer comes. */
static void say(const char *body, size_t length)
{
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *message = json_read(body, length, &err);
	const char *kind = json_string_value(json_object_get(message, "kind"));
	unsigned before = scene.answers;

	if (!kind) {
		return;
	}
	if (!agent_handle(scene.way, kind, message)) {
		assert(scene.answers == before);
	} else if (strcmp(kind, "prepare") == 0) {
		assert(scene.answers == before + 1 || !list_is_empty(&scene.jobs) ||
		       !list_is_empty(&scene.looks));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines lines = fuzz_lines(data, size);
	size_t length;
	char *line;

	begin(size >= strlen(LOOKS) && memcmp(data, LOOKS, strlen(LOOKS)) == 0);
	while ((line = fuzz_lines_next(&lines, &length))) {
		if (line[0] == '!') {
			act(line + 1);
		} else {
			say(line, length);
		}
		free(line);
		loop_settle(scene.event, 100);
	}
	end();
	return 0;
}
