// SPDX-License-Identifier: MIT
#pragma once

/*
 * One end of a measurement as its coordinator sees it: how far it is, and its answers put into the
 * participant's record. Loop thread.
 */

#include <stdbool.h>

#include "model/run.h"
#include "run/phase.h"
#include "util/json.h"

struct side {
	const struct assignment *assignment;
	enum job_role role;
	const char *node;
	struct participant *participant;
	bool has_job; /* PREPARE went there and nothing has undone it */
	bool is_prepared;
	bool is_connected;
	bool is_start_sent;
	bool is_started;
	bool has_ended; /* its own stream, with direction: both; it answers until it is told to stop
			 */
	bool is_finished; /* totals or failure came, or never will */
	bool is_released;
	bool is_lost;
	uint64_t first_post_ns; /* since `start` arrived there, by its own clock */
};

/* Borrows all. */
void side_init(struct side *side, const struct assignment *assignment, enum job_role role,
	       struct participant *participant);
/* Back to where nothing was asked: before an end that was busy is asked again. */
void side_reset(struct side *side);
/* Keeps the first failure of an end, under that end's name whatever the message says. */
void side_set_failure(struct side *side, const struct failure *failure);
bool side_has_failed(const struct side *side);
/* Traffic began there and its end is not told yet. */
bool side_owes_end(const struct side *side);
bool side_owes_release(const struct side *side);

/* What a message of an end came to. */
enum side_news {
	SIDE_IGNORED, /* late, never asked for, or of an unknown kind */
	SIDE_TOLD, /* it is in the record */
	SIDE_FAILED, /* so is why it cannot go on */
	SIDE_BUSY, /* it cannot now; nothing is changed */
	SIDE_UNREADABLE, /* err says why it cannot be used; nothing of it is in the record */
};

/* phase: of the measurement. */
enum side_news side_take(struct side *side, enum phase phase, const char *kind,
			 const json_t *message, struct error *err);
