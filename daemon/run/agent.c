// SPDX-License-Identifier: MIT
#include "run/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/permit.h"
#include "model/failure.h"
#include "model/sample.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define IDLE_TIMEOUT_NS (60ull * 1000000000)
#define RELEASING_RETRY_NS (200ull * 1000000)

enum task_state {
	TASK_PREPARING,
	TASK_PREPARED,
	TASK_CONNECTING,
	TASK_CONNECTED,
	TASK_RUNNING,
	TASK_FINISHED,
	TASK_RELEASING
};

/* One job and the way that its answers go. */
struct task {
	struct list link;
	struct agent *agent;
	struct agent_way *way; /* NULL once it broke */
	struct job *job;
	struct assignment assignment;
	enum task_state state;
	sd_event_source *deadline;
	uint64_t whole_deadline_mono_ns;
	uint64_t start_mono_ns;
	bool wants_released; /* the coordinator waits for `released` */
	bool has_failed; /* and said so: that was the last word but `released` */
};

struct agent {
	sd_event *event;
	struct engine *engine;
	const char *node_name;
	struct limit_settings limits;
	struct list tasks;
	struct list ways;
	size_t task_count;
	bool is_stopping;
};

struct agent_way {
	struct list link;
	struct agent *agent;
	char coordinator[LIMIT_NAME];
	bool has_labels;
	struct labels labels;
	agent_answer_fn answer;
	void *arg;
};

static json_t *new_answer(const char *kind, const struct assignment *assignment)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	json_set_string(message, "run", assignment->run_id);
	json_set_u64(message, "pair", assignment->pair);
	json_set_string(message, "role", job_role_names[assignment->role]);
	return message;
}

static void answer(struct task *task, json_t *message)
{
	if (task->way != NULL && !task->has_failed) {
		task->way->answer(task->way->arg, message);
	} else {
		json_decref(message);
	}
}

static void answer_simple(struct task *task, const char *kind)
{
	answer(task, new_answer(kind, &task->assignment));
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *arg)
{
	struct task *task = arg;

	log_warning("run %s: job of coordinator \"%s\" got no further message in time; released",
		    task->assignment.run_id, task->assignment.coordinator);
	task->state = TASK_RELEASING;
	job_release(task->job);
	return 0;
}

/* The next message must come by then; at most the whole run's deadline. */
static void arm(struct task *task, uint64_t timeout_ns)
{
	uint64_t when = clock_mono_ns() + timeout_ns;

	if (when > task->whole_deadline_mono_ns) {
		when = task->whole_deadline_mono_ns;
	}
	sd_event_source_set_time(task->deadline, when / 1000);
	sd_event_source_set_enabled(task->deadline, SD_EVENT_ONESHOT);
}

static void on_prepared(void *arg, struct job *job, const struct endpoint_info *info,
			const struct steps *steps)
{
	struct task *task = arg;
	json_t *message = new_answer("prepared", &task->assignment);

	task->state = TASK_PREPARED;
	json_set_take(message, "info", schema_write(endpoint_info_fields, info));
	json_set_take(message, "steps", step_write(steps));
	answer(task, message);
	arm(task, IDLE_TIMEOUT_NS);
}

static void on_connected(void *arg, struct job *job, const struct steps *steps)
{
	struct task *task = arg;
	json_t *message = new_answer("connected", &task->assignment);

	task->state = TASK_CONNECTED;
	json_set_take(message, "steps", step_write(steps));
	answer(task, message);
	arm(task, IDLE_TIMEOUT_NS);
}

static void on_started(void *arg, struct job *job)
{
	struct task *task = arg;
	json_t *message = new_answer("started", &task->assignment);

	json_set_u64(message, "first_post_ns", clock_mono_ns() - task->start_mono_ns);
	answer(task, message);
}

static void on_progress(void *arg, struct job *job, const struct progress *progress)
{
	struct task *task = arg;
	json_t *message = new_answer("progress", &task->assignment);

	json_set_take(message, "progress", sample_progress_write(progress));
	answer(task, message);
}

static void on_finished(void *arg, struct job *job, struct totals *totals)
{
	struct task *task = arg;
	json_t *message = new_answer("finished", &task->assignment);

	if (task->state == TASK_RUNNING) {
		task->state = TASK_FINISHED;
		arm(task, IDLE_TIMEOUT_NS);
	}
	if (error_is_set(&totals->failure.error) && totals->failure.node[0] == '\0') {
		text_copy(totals->failure.node, sizeof(totals->failure.node),
			  task->agent->node_name);
	}
	json_set_take(message, "totals", sample_totals_write(totals));
	sample_totals_done(totals);
	answer(task, message);
}

static void on_failed(void *arg, struct job *job, const struct failure *failure,
		      const struct steps *steps)
{
	struct task *task = arg;
	json_t *message = new_answer("failed", &task->assignment);
	struct failure named = *failure;

	text_copy(named.node, sizeof(named.node), task->agent->node_name);
	if (named.device[0] == '\0') {
		text_copy(named.device, sizeof(named.device),
			  assignment_local(&task->assignment)->device);
	}
	task->state = TASK_FINISHED;
	json_set_take(message, "failure", failure_write(&named));
	json_set_take(message, "steps", step_write(steps));
	answer(task, message);
	task->has_failed = true;
	arm(task, IDLE_TIMEOUT_NS);
}

static void on_released(void *arg, struct job *job)
{
	struct task *task = arg;

	if (task->wants_released) {
		task->has_failed = false;
		answer_simple(task, "released");
	}
	sd_event_source_disable_unref(task->deadline);
	list_remove(&task->link);
	task->agent->task_count--;
	free(task);
}

static const struct job_events job_events = {
	.prepared = on_prepared,
	.connected = on_connected,
	.started = on_started,
	.progress = on_progress,
	.finished = on_finished,
	.failed = on_failed,
	.released = on_released,
};

static void release(struct task *task)
{
	if (task->state != TASK_RELEASING) {
		task->state = TASK_RELEASING;
		sd_event_source_set_enabled(task->deadline, SD_EVENT_OFF);
		job_release(task->job);
	}
}

/* Another job on this end's port: two would measure each other. */
static bool endpoint_is_busy(const struct agent_way *way, const struct assignment *assignment)
{
	const struct endpoint *ours = assignment_local(assignment);
	struct task *task;

	list_each(task, &way->agent->tasks, link) {
		const struct endpoint *theirs = assignment_local(&task->assignment);

		if (strcmp(ours->device, theirs->device) != 0 ||
		    ours->port_num != theirs->port_num) {
			continue;
		}
		/* Both ends of one pair may be the same port, a loopback through the device: but
		 * not because somebody else names the same run. */
		if (task->way == way && assignment->role != task->assignment.role &&
		    assignment->pair == task->assignment.pair &&
		    strcmp(assignment->run_id, task->assignment.run_id) == 0) {
			continue;
		}
		return true;
	}
	return false;
}

static enum permit_answer ask_permit(struct agent_way *way, const struct assignment *assignment,
				     uint64_t *ret_retry_after_ns, struct error *err)
{
	struct agent *agent = way->agent;
	struct engine_usage used;
	struct permit_usage usage;

	engine_usage(agent->engine, &used);
	usage = (struct permit_usage){
		.jobs = used.jobs,
		.qps = used.qps,
		.pinned_bytes = used.pinned_bytes,
		.is_stopping = agent->is_stopping,
		.is_endpoint_busy = endpoint_is_busy(way, assignment),
	};
	return permit_check(assignment, way->coordinator, way->has_labels ? &way->labels : NULL,
			    agent->node_name, engine_inventory(agent->engine), &agent->limits,
			    &usage, ret_retry_after_ns, err);
}

static void answer_refused(struct agent_way *way, const struct assignment *assignment,
			   const struct error *err)
{
	json_t *message = new_answer("failed", assignment);
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	failure.error = *err;
	text_copy(failure.node, sizeof(failure.node), way->agent->node_name);
	text_copy(failure.device, sizeof(failure.device), assignment_local(assignment)->device);
	json_set_take(message, "failure", failure_write(&failure));
	json_set_take(message, "steps", step_write(&steps));
	way->answer(way->arg, message);
}

static void answer_busy(struct agent_way *way, const struct assignment *assignment,
			uint64_t retry_after_ns, const struct error *err)
{
	json_t *message = new_answer("busy", assignment);

	json_set_u64(message, "retry_after_ns", retry_after_ns);
	json_set_string(message, "error", err->text);
	way->answer(way->arg, message);
}

static struct task *find_task(struct agent_way *way, const char *run_id, uint64_t pair, int role)
{
	struct task *task;

	list_each(task, &way->agent->tasks, link) {
		if (task->way == way && task->assignment.pair == pair &&
		    task->assignment.role == role && strcmp(task->assignment.run_id, run_id) == 0) {
			return task;
		}
	}
	return NULL;
}

static void handle_prepare(struct agent_way *way, const struct assignment *assignment)
{
	struct agent *agent = way->agent;
	struct error err = ERROR_INIT;
	uint64_t retry_after_ns = 0;
	struct task *task;

	task = find_task(way, assignment->run_id, assignment->pair, assignment->role);
	if (task != NULL && task->state == TASK_RELEASING) {
		error_set(&err, -EBUSY, ERROR_RESOURCE,
			  "the earlier attempt of this pair is still being released");
		answer_busy(way, assignment, RELEASING_RETRY_NS, &err);
		return;
	}
	if (task != NULL) {
		error_set(&err, -EEXIST, ERROR_PEER,
			  "pair %" PRIu64 " of run %s is prepared already", assignment->pair,
			  assignment->run_id);
		answer_refused(way, assignment, &err);
		return;
	}
	switch (ask_permit(way, assignment, &retry_after_ns, &err)) {
	case PERMIT_BUSY:
		answer_busy(way, assignment, retry_after_ns, &err);
		return;
	case PERMIT_NO:
		if (err.stage == STAGE_NONE) {
			err.stage = STAGE_RESOURCE;
		}
		answer_refused(way, assignment, &err);
		return;
	case PERMIT_YES:
		break;
	}
	task = memory_new(sizeof(*task));
	task->agent = agent;
	task->way = way;
	task->assignment = *assignment;
	task->whole_deadline_mono_ns =
		clock_mono_ns() + workload_timeout_ns(&assignment->workload) + IDLE_TIMEOUT_NS;
	if (sd_event_add_time(agent->event, &task->deadline, CLOCK_MONOTONIC, 0, 1000, on_deadline,
			      task) < 0) {
		abort(); /* out of memory only */
	}
	list_append(&agent->tasks, &task->link);
	agent->task_count++;
	task->job = job_new(agent->engine, assignment, &job_events, task);
	arm(task, IDLE_TIMEOUT_NS);
	job_prepare(task->job);
}

/* A message out of order is the coordinator's bug: said, and the job ends. */
static bool expect_state(struct task *task, enum task_state state, const char *kind)
{
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	if (task->state == state && !task->has_failed) {
		return true;
	}
	if (task->state == TASK_RUNNING) {
		job_stop(task->job);
	}
	if (task->state != TASK_RELEASING) {
		error_set(&failure.error, -EPROTO, ERROR_PEER, "message \"%s\" came out of order",
			  kind);
		failure.error.stage = STAGE_CONNECT;
		on_failed(task, task->job, &failure, &steps);
	}
	return false;
}

static void handle_connect(struct task *task, const json_t *message)
{
	_cleanup_free_ struct endpoint_info *info = memory_new(sizeof(*info));
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };
	json_t *object;

	if (!expect_state(task, TASK_PREPARED, "connect")) {
		return;
	}
	if (json_get_object(message, "info", &object, &failure.error) < 0 ||
	    schema_read(endpoint_info_fields, object, info, &failure.error) < 0) {
		failure.error.stage = STAGE_CONNECT;
		on_failed(task, task->job, &failure, &steps);
		return;
	}
	if (info->qp_count != task->assignment.workload.qp.num_qps) {
		error_set(&failure.error, -EINVAL, ERROR_PEER,
			  "the other end prepared %zu queue pairs, the assignment says %" PRIu64,
			  info->qp_count, task->assignment.workload.qp.num_qps);
		failure.error.stage = STAGE_CONNECT;
		on_failed(task, task->job, &failure, &steps);
		return;
	}
	task->state = TASK_CONNECTING;
	arm(task, IDLE_TIMEOUT_NS);
	job_connect(task->job, info);
}

static void handle_start(struct task *task)
{
	if (!expect_state(task, TASK_CONNECTED, "start")) {
		return;
	}
	task->state = TASK_RUNNING;
	task->start_mono_ns = clock_mono_ns();
	/* The worker keeps the run's own deadline; this one is for a worker that is gone. */
	arm(task, workload_timeout_ns(&task->assignment.workload) + IDLE_TIMEOUT_NS);
	job_start(task->job);
}

static void handle_for_task(struct task *task, const char *kind, const json_t *message)
{
	if (strcmp(kind, "connect") == 0) {
		handle_connect(task, message);
	} else if (strcmp(kind, "start") == 0) {
		handle_start(task);
	} else if (strcmp(kind, "stop") == 0) {
		if (task->state == TASK_RUNNING) {
			job_stop(task->job);
		}
	} else if (strcmp(kind, "release") == 0) {
		task->wants_released = true;
		release(task);
	}
}

static void answer_error(struct agent_way *way, const json_t *message, const struct error *err)
{
	json_t *reply = json_object();
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	failure.error = *err;
	failure.error.stage = STAGE_RESOURCE;
	text_copy(failure.error.call, sizeof(failure.error.call), "assignment");
	text_copy(failure.node, sizeof(failure.node), way->agent->node_name);
	json_set_string(reply, "kind", "failed");
	/* Whose it is, as far as the message says: then the coordinator need not wait for its
	 * deadline. */
	json_set_take(reply, "run", json_incref(json_object_get(message, "run")));
	json_set_take(reply, "pair", json_incref(json_object_get(message, "pair")));
	json_set_take(reply, "role", json_incref(json_object_get(message, "role")));
	json_set_take(reply, "failure", failure_write(&failure));
	json_set_take(reply, "steps", step_write(&steps));
	way->answer(way->arg, reply);
}

bool agent_handle(struct agent_way *way, const char *kind, const json_t *message)
{
	static const char *const kinds[] = { "prepare", "connect", "start", "stop", "release" };
	struct error err = ERROR_INIT;
	char run_id[32];
	char role[16];
	uint64_t pair;
	struct task *task;
	bool is_ours = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		is_ours = is_ours || strcmp(kind, kinds[i]) == 0;
	}
	if (!is_ours) {
		return false;
	}
	if (strcmp(kind, "prepare") == 0) {
		_cleanup_free_ struct assignment *assignment = memory_new(sizeof(*assignment));
		json_t *object;

		if (json_get_object(message, "assignment", &object, &err) < 0 ||
		    schema_read(assignment_fields, object, assignment, &err) < 0) {
			answer_error(way, message, &err);
			return true;
		}
		handle_prepare(way, assignment);
		return true;
	}
	if (json_get_string(message, "run", run_id, sizeof(run_id), &err) < 0 ||
	    json_get_u64(message, "pair", 0, LIMIT_PAIRS, &pair, &err) < 0 ||
	    json_get_string(message, "role", role, sizeof(role), &err) < 0) {
		answer_error(way, message, &err);
		return true;
	}
	task = find_task(way, run_id, pair,
			 strcmp(role, job_role_names[ROLE_INITIATOR]) == 0 ? ROLE_INITIATOR
									   : ROLE_RESPONDER);
	if (task != NULL) {
		handle_for_task(task, kind, message);
	} else if (strcmp(kind, "release") == 0) {
		/* Nothing to release is as good as released. */
		json_t *released = json_object();

		json_set_string(released, "kind", "released");
		json_set_string(released, "run", run_id);
		json_set_u64(released, "pair", pair);
		json_set_string(released, "role", role);
		way->answer(way->arg, released);
	}
	return true;
}

void agent_way_set_labels(struct agent_way *way, const struct labels *labels)
{
	way->has_labels = labels != NULL;
	if (labels != NULL) {
		way->labels = *labels;
	}
}

struct agent_way *agent_way_new(struct agent *agent, const char *coordinator,
				const struct labels *labels, agent_answer_fn answer_fn, void *arg)
{
	struct agent_way *way = memory_new(sizeof(*way));

	way->agent = agent;
	text_copy(way->coordinator, sizeof(way->coordinator), coordinator);
	agent_way_set_labels(way, labels);
	way->answer = answer_fn;
	way->arg = arg;
	list_append(&agent->ways, &way->link);
	return way;
}

void agent_way_free(struct agent_way *way)
{
	struct task *task;

	if (way == NULL) {
		return;
	}
	list_each(task, &way->agent->tasks, link) {
		if (task->way == way) {
			task->way = NULL;
			release(task);
		}
	}
	list_remove(&way->link);
	free(way);
}

struct agent *agent_new(const struct agent_options *options, const struct limit_settings *limits)
{
	struct agent *agent = memory_new(sizeof(*agent));

	agent->event = options->event;
	agent->engine = options->engine;
	agent->node_name = options->node_name;
	agent->limits = *limits;
	list_init(&agent->tasks);
	list_init(&agent->ways);
	return agent;
}

void agent_free(struct agent *agent)
{
	struct agent_way *way;

	if (agent == NULL) {
		return;
	}
	list_each(way, &agent->ways, link) {
		agent_way_free(way);
	}
	free(agent);
}

void agent_configure(struct agent *agent, const struct limit_settings *limits)
{
	agent->limits = *limits;
}

void agent_stop(struct agent *agent, const char *reason)
{
	struct task *task;

	agent->is_stopping = true;
	list_each(task, &agent->tasks, link) {
		log_info("run %s: job released: %s", task->assignment.run_id, reason);
		release(task);
	}
}

bool agent_is_idle(const struct agent *agent)
{
	return agent->task_count == 0;
}
