// SPDX-License-Identifier: MIT
#include "run/agent.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/permit.h"
#include "model/failure.h"
#include "run/errand.h"
#include "run/inquiry.h"
#include "run/ledger.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define RELEASING_RETRY_NS (200ull * 1000000)

/* Another job on this end's port: two would measure each other. */
static bool endpoint_is_busy(const struct agent_way *way, const struct assignment *assignment)
{
	const struct endpoint *ours = assignment_local(assignment);
	struct errand *errand;

	list_each(errand, &way->agent->errands, link) {
		const struct endpoint *theirs = assignment_local(&errand->assignment);

		if (strcmp(ours->device, theirs->device) != 0 ||
		    ours->port_num != theirs->port_num) {
			continue;
		}
		/* Both ends of one pair may be the same port, a loopback through the device: but
		 * not because somebody else names the same run. */
		if (errand->way == way && assignment->role != errand->assignment.role &&
		    assignment->pair == errand->assignment.pair &&
		    strcmp(assignment->run_id, errand->assignment.run_id) == 0) {
			continue;
		}
		return true;
	}
	return false;
}

/* What is under way for who asks, and what it had in the last hour. One that hangs in a driver is
 * nobody's doing. */
static void ask_peer(const struct agent_way *way, struct permit_usage *usage)
{
	struct agent *agent = way->agent;
	uint64_t now_mono_ns = clock_mono_ns();
	struct errand *errand;
	struct hang hang;

	usage->peer_traffic_ns =
		ledger_used_ns(agent->peer_ledger, way->coordinator, 0, now_mono_ns);
	list_each(errand, &agent->errands, link) {
		const struct endpoint *local = assignment_local(&errand->assignment);

		if (strcmp(errand->assignment.coordinator, way->coordinator) != 0 ||
		    engine_is_sick(agent->engine, local->device, &hang)) {
			continue;
		}
		usage->peer_jobs++;
		if (errand->start_mono_ns && !errand->is_booked) {
			usage->peer_traffic_ns += now_mono_ns - errand->start_mono_ns;
		}
	}
}

static enum permit_answer ask_permit(struct agent_way *way, const struct assignment *assignment,
				     const struct port_use *use, uint64_t *ret_retry_after_ns,
				     struct error *err)
{
	struct agent *agent = way->agent;
	struct engine_usage used;
	struct permit_usage usage;

	engine_usage(agent->engine, &used);
	usage = (struct permit_usage){
		/* Each look costs a question to the kernel: they are bounded as jobs are. */
		.jobs = used.jobs - used.stuck_jobs + inquiry_count(agent),
		.qps = used.qps,
		.pinned_bytes = used.pinned_bytes,
		.is_stopping = agent->is_stopping,
		.is_endpoint_busy = endpoint_is_busy(way, assignment),
		.disruptive_ns = agent_disruptive_ns(agent, assignment_local(assignment)->device,
						     assignment_local(assignment)->port_num),
		.port = use,
	};
	ask_peer(way, &usage);
	return permit_check(assignment, way->coordinator, way->has_labels ? &way->labels : NULL,
			    agent->node_name, engine_inventory(agent->engine), &agent->limits,
			    &usage, ret_retry_after_ns, err);
}

static void answer_refused(struct agent_way *way, const struct assignment *assignment,
			   const struct error *err)
{
	struct failure failure = FAILURE_INIT;
	struct steps steps = { 0 };

	failure.error = *err;
	way->answer(way->arg,
		    errand_answer_failed(assignment, way->agent->node_name, &failure, &steps));
}

static void answer_busy(struct agent_way *way, const struct assignment *assignment,
			uint64_t retry_after_ns, const struct error *err)
{
	json_t *message = errand_answer("busy", assignment);

	json_set_u64(message, "retry_after_ns", retry_after_ns);
	json_set_string(message, "cause", err->call);
	json_set_string(message, "error", err->text);
	way->answer(way->arg, message);
}

static struct errand *find_errand(struct agent_way *way, const char *run_id, uint64_t pair,
				  int role)
{
	struct errand *errand;

	list_each(errand, &way->agent->errands, link) {
		if (errand->way == way && errand->assignment.pair == pair &&
		    errand->assignment.role == role &&
		    strcmp(errand->assignment.run_id, run_id) == 0) {
			return errand;
		}
	}
	return NULL;
}

/* use: NULL while nobody looked at the port. */
static void begin(struct agent_way *way, const struct assignment *assignment,
		  const struct port_use *use);

static void on_looked(void *arg, struct inquiry *inquiry, const struct port_use *use)
{
	_cleanup_free_ struct assignment *assignment = memory_new(sizeof(*assignment));
	struct agent_way *way = inquiry_way(inquiry);

	*assignment = *inquiry_assignment(inquiry);
	inquiry_free(inquiry);
	begin(way, assignment, use);
}

static void look(struct agent_way *way, const struct assignment *assignment)
{
	struct port_use use = { .unseen = "anything (this process does not look at ports)" };

	if (way->agent->occupancy != NULL) {
		inquiry_new(way, assignment, on_looked, NULL);
	} else {
		begin(way, assignment, &use);
	}
}

static void begin(struct agent_way *way, const struct assignment *assignment,
		  const struct port_use *use)
{
	struct error err = ERROR_INIT;
	uint64_t retry_after_ns = 0;

	switch (ask_permit(way, assignment, use, &retry_after_ns, &err)) {
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
	if (use == NULL && permit_disruptive_needs_look(assignment, &way->agent->limits)) {
		look(way, assignment);
	} else {
		errand_new(way, assignment, use);
	}
}

static bool is_prepared(struct agent_way *way, const struct assignment *assignment,
			const struct errand *errand)
{
	return errand != NULL ||
	       inquiry_find(way, assignment->run_id, assignment->pair, assignment->role) != NULL;
}

static void handle_prepare(struct agent_way *way, const struct assignment *assignment)
{
	struct error err = ERROR_INIT;
	struct hang hang;
	struct errand *errand;

	/* First: what hangs there holds its endpoint, and would make it look busy. */
	if (engine_is_sick(way->agent->engine, assignment_local(assignment)->device, &hang)) {
		hang_refuse(&hang, clock_mono_ns(), &err);
		answer_refused(way, assignment, &err);
		return;
	}
	errand = find_errand(way, assignment->run_id, assignment->pair, assignment->role);
	if (errand != NULL && errand->state == ERRAND_RELEASING) {
		error_set(&err, -EBUSY, ERROR_RESOURCE,
			  "the earlier attempt of this pair is still being released");
		err.stage = STAGE_RESOURCE;
		text_copy(err.call, sizeof(err.call), "busy");
		answer_busy(way, assignment, RELEASING_RETRY_NS, &err);
		return;
	}
	if (is_prepared(way, assignment, errand)) {
		error_set(&err, -EEXIST, ERROR_PEER,
			  "pair %" PRIu64 " of run %s is prepared already", assignment->pair,
			  assignment->run_id);
		answer_refused(way, assignment, &err);
		return;
	}
	begin(way, assignment, NULL);
}

static void handle_for_errand(struct errand *errand, const char *kind, const json_t *message)
{
	if (strcmp(kind, "connect") == 0) {
		errand_connect(errand, message);
	} else if (strcmp(kind, "start") == 0) {
		errand_start(errand);
	} else if (strcmp(kind, "stop") == 0) {
		errand_stop(errand);
	} else if (strcmp(kind, "release") == 0) {
		errand_release(errand, true);
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

static int role_of(const char *name)
{
	return strcmp(name, job_role_names[ROLE_INITIATOR]) == 0 ? ROLE_INITIATOR : ROLE_RESPONDER;
}

bool agent_handle(struct agent_way *way, const char *kind, const json_t *message)
{
	static const char *const kinds[] = { "prepare", "connect", "start", "stop", "release" };
	struct error err = ERROR_INIT;
	char run_id[32];
	char role[16];
	uint64_t pair;
	struct errand *errand;
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
	errand = find_errand(way, run_id, pair, role_of(role));
	if (errand != NULL) {
		handle_for_errand(errand, kind, message);
	} else if (strcmp(kind, "release") == 0) {
		/* Nothing to release is as good as released. */
		json_t *released = json_object();

		inquiry_free(inquiry_find(way, run_id, pair, role_of(role)));
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
	struct errand *errand;

	if (way == NULL) {
		return;
	}
	inquiry_drop(way);
	list_each(errand, &way->agent->errands, link) {
		if (errand->way == way) {
			errand->way = NULL;
			errand_release(errand, false);
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
	agent->occupancy = options->occupancy;
	agent->limits = *limits;
	agent->ledger = ledger_new(LIMIT_PORTS);
	agent->peer_ledger = ledger_new(LIMIT_PEERS);
	list_init(&agent->errands);
	list_init(&agent->inquiries);
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
	ledger_free(agent->ledger);
	ledger_free(agent->peer_ledger);
	free(agent);
}

void agent_configure(struct agent *agent, const struct limit_settings *limits)
{
	agent->limits = *limits;
}

void agent_stop(struct agent *agent, const char *reason)
{
	struct errand *errand;

	agent->is_stopping = true;
	list_each(errand, &agent->errands, link) {
		log_info("run %s: job released: %s", errand->assignment.run_id, reason);
		errand_release(errand, false);
	}
}

uint64_t agent_disruptive_ns(const struct agent *agent, const char *device, uint64_t port_num)
{
	return ledger_used_ns(agent->ledger, device, port_num, clock_mono_ns());
}

bool agent_is_idle(const struct agent *agent)
{
	return agent->errand_count == 0;
}
