// SPDX-License-Identifier: MIT
#pragma once

/*
 * The paths below /v1/runs, and the one that starts a run: handlers of the table in http/routes.
 * Loop thread.
 */

#include "http/routes.h"

void routes_runs_list(const struct routes *routes, const struct request *request,
		      const char *segment, struct response *ret);
void routes_runs_get(const struct routes *routes, const struct request *request,
		     const char *segment, struct response *ret);
void routes_runs_progress(const struct routes *routes, const struct request *request,
			  const char *segment, struct response *ret);
/* Whether the answer of routes_runs_progress is to come later: ?wait= is well-formed, not 0, and
 * the run is not over. */
bool routes_runs_waits(const struct routes *routes, const struct request *request,
		       const char *segment, struct routes_wait *ret);
void routes_runs_start(const struct routes *routes, const struct request *request,
		       const char *segment, struct response *ret);
void routes_runs_cancel(const struct routes *routes, const struct request *request,
			const char *segment, struct response *ret);
