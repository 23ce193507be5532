// SPDX-License-Identifier: MIT
#include "judge/diagnose_cm.h"

#include <errno.h>
#include <string.h>

static bool is_unanswered(const struct error *error)
{
	return (error->stage == STAGE_CONNECT || error->stage == STAGE_RUN) &&
	       error->kind == ERROR_KIND_ERRNO &&
	       (error->number == ETIMEDOUT || error->number == EHOSTUNREACH ||
		error->number == ENETUNREACH || error->number == ECONNRESET) &&
	       (strcmp(error->call, "rdma_connect") == 0 ||
		strcmp(error->call, "rdma_accept") == 0 ||
		strcmp(error->call, "rdma_disconnect") == 0);
}

bool diagnose_cm(const struct failure *failure, const char *node, const char *path,
		 const char *evidence, struct findings *findings)
{
	if (failure->error.kind == ERROR_KIND_CM_REJECT) {
		finding_add(findings, FINDING_CONNECTION_REJECTED, CONFIDENCE_CERTAIN, evidence,
			    "a connection was rejected, as %s saw it: %s", node,
			    failure->error.text);
		return true;
	}
	if (is_unanswered(&failure->error)) {
		/* Of pattern connect others came about just before: it is not the way that never
		 * was. */
		finding_add(findings, FINDING_CONNECTION_UNANSWERED,
			    failure->error.stage == STAGE_RUN ? CONFIDENCE_CERTAIN
							      : CONFIDENCE_LIKELY,
			    evidence, "no connection came about from %s: %s", path,
			    failure->error.text);
		return true;
	}
	return false;
}
