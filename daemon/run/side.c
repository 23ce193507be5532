// SPDX-License-Identifier: MIT
#include "run/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/claim.h"
#include "util/memory.h"
#include "util/text.h"

void side_init(struct side *side, const struct assignment *assignment, enum job_role role,
	       struct participant *participant)
{
	const struct endpoint *endpoint = role == ROLE_INITIATOR ? &assignment->initiator
								 : &assignment->responder;

	*side = (struct side){
		.assignment = assignment,
		.role = role,
		.node = endpoint->node,
		.participant = participant,
	};
}

void side_reset(struct side *side)
{
	side->has_job = false;
	side->is_prepared = false;
	side->is_released = false;
	free(take(side->participant->info));
}

void side_set_failure(struct side *side, const struct failure *failure)
{
	struct participant *participant = side->participant;

	if (side_has_failed(side)) {
		return;
	}
	participant->failure = *failure;
	/* An end speaks for itself, whatever name it writes. */
	text_copy(participant->failure.node, sizeof(participant->failure.node), side->node);
}

bool side_has_failed(const struct side *side)
{
	return error_is_set(&side->participant->failure.error);
}

bool side_owes_end(const struct side *side)
{
	return side->is_start_sent && !side->is_finished && !side->is_lost;
}

bool side_owes_release(const struct side *side)
{
	return side->has_job && !side->is_released && !side->is_lost;
}

/* --- what it says --- */

static void read_steps(struct side *side, const json_t *message)
{
	struct steps steps;

	if (step_read(json_object_get(message, "steps"), &steps, NULL) == 0) {
		side->participant->steps = steps;
	}
}

static enum side_news take_prepared(struct side *side, const json_t *message, struct error *err)
{
	struct endpoint_info *info = memory_new(sizeof(*info));
	json_t *object;
	const json_t *use = json_object_get(message, "port_use");

	if (json_get_object(message, "info", &object, err) < 0 ||
	    schema_read(endpoint_info_fields, object, info, err) < 0 ||
	    (use != NULL && port_use_note_read(use, &side->participant->port_use, err) < 0)) {
		free(info);
		return SIDE_UNREADABLE;
	}
	free(side->participant->info);
	side->participant->info = info;
	read_steps(side, message);
	side->is_prepared = true;
	return SIDE_TOLD;
}

static enum side_news take_connected(struct side *side, const json_t *message, struct error *err)
{
	read_steps(side, message);
	side->is_connected = true;
	return SIDE_TOLD;
}

static enum side_news take_started(struct side *side, const json_t *message, struct error *err)
{
	json_get_u64_or(message, "first_post_ns", 0, INT64_MAX, &side->first_post_ns, NULL);
	side->is_started = true;
	return SIDE_TOLD;
}

/* Numbers that are not those of the assignment would be wrong ones: they are not kept. */
static enum side_news take_finished(struct side *side, const json_t *message, struct error *err)
{
	struct participant *participant = side->participant;
	struct totals totals;

	if (participant->has_totals) {
		return SIDE_IGNORED;
	}
	if (sample_totals_read(json_object_get(message, "totals"), &totals, err) < 0 ||
	    claim_check(&totals, side->assignment, side->role, err) < 0) {
		sample_totals_done(&totals);
		return SIDE_UNREADABLE;
	}
	participant->totals = totals;
	participant->has_totals = true;
	if (error_is_set(&totals.failure.error)) {
		side_set_failure(side, &totals.failure);
	}
	side->is_finished = true;
	return SIDE_TOLD;
}

static enum side_news take_failed(struct side *side, const json_t *message, struct error *err)
{
	struct failure failure = FAILURE_INIT;

	if (failure_read(json_object_get(message, "failure"), &failure, err) < 0) {
		return SIDE_UNREADABLE;
	}
	if (!error_is_set(&failure.error)) {
		error_set(err, -EPROTO, ERROR_PEER, "it does not say why it failed");
		return SIDE_UNREADABLE;
	}
	read_steps(side, message);
	side_set_failure(side, &failure);
	side->is_finished = true;
	/* Its release hangs in a driver: that may take for ever, and nothing more is to be heard.
	 */
	side->is_released = side->is_released || failure.error.stage == STAGE_TEARDOWN;
	return SIDE_FAILED;
}

static enum side_news take_busy(struct side *side, const json_t *message, struct error *err)
{
	return SIDE_BUSY;
}

static enum side_news take_released(struct side *side, const json_t *message, struct error *err)
{
	read_steps(side, message);
	side->is_released = true;
	return SIDE_TOLD;
}

static bool awaits_prepared(const struct side *side, enum phase phase)
{
	return side->has_job && !side->is_prepared &&
	       (phase == PHASE_PREPARE_FIRST || phase == PHASE_PREPARE_SECOND);
}

/* Also when it is over for the other end: its steps are in the record. */
static bool awaits_connected(const struct side *side, enum phase phase)
{
	return side->is_prepared && !side->is_connected && phase >= PHASE_CONNECT;
}

static bool awaits_started(const struct side *side, enum phase phase)
{
	return side->is_start_sent && !side->is_started;
}

static bool awaits_finished(const struct side *side, enum phase phase)
{
	return side->is_start_sent && !side->is_finished;
}

static bool has_job(const struct side *side, enum phase phase)
{
	return side->has_job;
}

/* Late answers to a release of the busy wait are not about the present job. */
static bool awaits_released(const struct side *side, enum phase phase)
{
	return side->has_job && phase == PHASE_RELEASING;
}

static const struct {
	const char *kind;
	bool (*is_awaited)(const struct side *side, enum phase phase);
	enum side_news (*note)(struct side *side, const json_t *message, struct error *err);
} answers[] = {
	{ "prepared", awaits_prepared, take_prepared },
	{ "busy", awaits_prepared, take_busy },
	{ "connected", awaits_connected, take_connected },
	{ "started", awaits_started, take_started },
	{ "finished", awaits_finished, take_finished },
	{ "failed", has_job, take_failed },
	{ "released", awaits_released, take_released },
};

enum side_news side_take(struct side *side, enum phase phase, const char *kind,
			 const json_t *message, struct error *err)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		if (strcmp(kind, answers[i].kind) == 0) {
			return answers[i].is_awaited(side, phase)
				       ? answers[i].note(side, message, err)
				       : SIDE_IGNORED;
		}
	}
	return SIDE_IGNORED;
}
