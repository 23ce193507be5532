// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the HTTP side may ask the daemon: callbacks of the composition root, so that http/ knows
 * little of the rest. All are called on the loop thread, must answer within a millisecond, and get
 * `arg` of struct view.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/metrics.h"
#include "model/run.h"
#include "util/error.h"
#include "util/json.h"

#define VIEW_RUNS_MAX 500
#define VIEW_RUNS_DEFAULT 50

/* Which runs of the history are wanted, newest first. */
struct view_query {
	char scenario[64]; /* empty: of any */
	int verdict; /* enum verdict; VERDICT_NONE: of any */
	char before[32]; /* only those older than the run with this id; empty: from the newest */
	size_t limit; /* 1..VIEW_RUNS_MAX */
};

struct view {
	void *arg;

	/* New references; shapes in api/openapi.yaml, written by http/records. Items by index, from
	 * 0; NULL: there are not so many. */
	json_t *(*status)(void *arg);
	json_t *(*device)(void *arg, size_t index); /* records_port of this node */
	json_t *(*peer)(void *arg, size_t index); /* records_peer_head */
	json_t *(*peer_port)(void *arg, size_t peer, size_t index); /* records_port */
	json_t *(*scenario)(void *arg, size_t index); /* records_scenario */
	/* New references to at most query->limit runs. *ret_more: there are older ones that fit. 0,
	 * or -ENOENT: the run `before` is not known (any more). */
	int (*runs)(void *arg, const struct view_query *query, struct run **ret_runs,
		    size_t *ret_count, bool *ret_more);
	/* A new reference, or NULL when there is no such run. */
	struct run *(*run)(void *arg, const char *id);
	/* records_progress, or NULL when there is no such run. */
	json_t *(*progress)(void *arg, const char *id);
	/* Whether work is taken; *ret_checks: an array of records_check. */
	bool (*is_ready)(void *arg, json_t **ret_checks);
	/* Whether the daemon makes progress (the loop does if this is called at all; so do workers
	 * and setup threads). */
	bool (*is_alive)(void *arg);
	/* What metrics cannot count themselves; pointers borrowed until the next call. */
	void (*gauges)(void *arg, struct metrics_gauges *ret);

	/*
	 * Actions; called for requests on the admin socket only.
	 * start: 0 and ret_id (32 bytes), -ENOENT no such scenario, -ESHUTDOWN stopping, -EBUSY too
	 * many wait, -EINVAL disabled.
	 */
	int (*start)(void *arg, const char *scenario, char *ret_id, struct error *err);
	/* 0, -ENOENT no such run, -EALREADY over already. */
	int (*cancel)(void *arg, const char *id, struct error *err);
	/* Begins a reload. Its end, now or later, is told by server_reload_done; a reload that goes
	 * on is joined. */
	void (*reload)(void *arg);
};
