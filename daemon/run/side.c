// SPDX-License-Identifier: MIT
#include "run/side.h"

#include <errno.h>
#include <stdlib.h>

#include "util/memory.h"
#include "util/text.h"

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

void side_read_steps(struct side *side, const json_t *message)
{
	struct steps steps;

	if (step_read(json_object_get(message, "steps"), &steps, NULL) == 0) {
		side->participant->steps = steps;
	}
}

int side_read_prepared(struct side *side, const json_t *message, struct error *err)
{
	struct endpoint_info *info = memory_new(sizeof(*info));
	json_t *object;
	int r;

	if ((r = json_get_object(message, "info", &object, err)) < 0 ||
	    (r = schema_read(endpoint_info_fields, object, info, err)) < 0) {
		free(info);
		return r;
	}
	free(side->participant->info);
	side->participant->info = info;
	side_read_steps(side, message);
	side->is_prepared = true;
	return 0;
}

int side_read_finished(struct side *side, const json_t *message, struct error *err)
{
	struct participant *participant = side->participant;
	int r;

	if (participant->has_totals) {
		return 0;
	}
	sample_totals_init(&participant->totals);
	participant->has_totals = true;
	r = sample_totals_read(json_object_get(message, "totals"), &participant->totals, err);
	if (r < 0) {
		return r;
	}
	if (error_is_set(&participant->totals.failure.error)) {
		side_set_failure(side, &participant->totals.failure);
	}
	side->is_finished = true;
	return 0;
}

int side_read_failed(struct side *side, const json_t *message, struct error *err)
{
	struct failure failure = FAILURE_INIT;
	int r = failure_read(json_object_get(message, "failure"), &failure, err);

	if (r < 0) {
		return r;
	}
	if (!error_is_set(&failure.error)) {
		return error_set(err, -EPROTO, ERROR_PEER, "it does not say why it failed");
	}
	side_read_steps(side, message);
	side_set_failure(side, &failure);
	side->is_finished = true;
	return 0;
}
