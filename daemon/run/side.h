// SPDX-License-Identifier: MIT
#pragma once

/*
 * One end of a measurement as its coordinator sees it: how far it is, and its answers put into the
 * participant's record. Loop thread.
 */

#include <stdbool.h>

#include "model/run.h"
#include "util/json.h"

struct side {
	const char *node;
	struct participant *participant;
	bool has_job; /* PREPARE went there and nothing has undone it */
	bool is_prepared;
	bool is_connected;
	bool is_start_sent;
	bool is_started;
	bool is_finished; /* totals or failure came, or never will */
	bool is_released;
	bool is_lost;
};

/* Back to where nothing was asked: before an end that was busy is asked again. */
void side_reset(struct side *side);
/* Keeps the first failure of an end, under that end's name whatever the message says. */
void side_set_failure(struct side *side, const struct failure *failure);
bool side_has_failed(const struct side *side);
/* Traffic began there and its end is not told yet. */
bool side_owes_end(const struct side *side);
bool side_owes_release(const struct side *side);

/* Each takes what the message tells; -EPROTO or -EINVAL with err when it cannot be read. */
int side_read_prepared(struct side *side, const json_t *message, struct error *err);
int side_read_finished(struct side *side, const json_t *message, struct error *err);
int side_read_failed(struct side *side, const json_t *message, struct error *err);
void side_read_steps(struct side *side, const json_t *message);
