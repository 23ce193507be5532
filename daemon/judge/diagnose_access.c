// SPDX-License-Identifier: MIT
#include "judge/diagnose_access.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* enum ibv_wc_status as far as the rules look at it; judge/ knows no verbs. */
enum {
	STATUS_LOC_LEN = 1,
	STATUS_LOC_QP_OP = 2,
	STATUS_LOC_PROT = 4,
	STATUS_LOC_ACCESS = 8,
	STATUS_REM_INV_REQ = 9,
	STATUS_REM_ACCESS = 10,
	STATUS_REM_OP = 11,
};

static bool is_status(const struct failure *failure, int status)
{
	return failure->error.kind == ERROR_KIND_WC_STATUS && failure->error.number == status;
}

static bool is_refusal(const struct failure *failure)
{
	return is_status(failure, STATUS_REM_INV_REQ) || is_status(failure, STATUS_REM_ACCESS) ||
	       is_status(failure, STATUS_REM_OP);
}

static bool is_local(const struct failure *failure)
{
	return is_status(failure, STATUS_LOC_LEN) || is_status(failure, STATUS_LOC_PROT) ||
	       is_status(failure, STATUS_LOC_ACCESS);
}

/* What the other end was told by this one; NULL: it was told nothing, or not heard. */
static const struct failure *refusal_of(const struct measurement *measurement)
{
	if (!measurement) {
		return NULL;
	}

	const struct failure *const failures[] = {
		&measurement->initiator.failure,
		&measurement->initiator.totals.failure,
		&measurement->responder.failure,
		&measurement->responder.totals.failure,
	};

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (is_refusal(failures[i])) {
			return failures[i];
		}
	}
	return NULL;
}

static bool find_local(const struct failure *failure, const struct measurement *measurement,
		       const char *node, const char *evidence, struct findings *findings)
{
	const struct failure *told = refusal_of(measurement);
	char effect[160] = "";

	/* A device that has no better word for what it refuses (soft-RoCE) is understood by what it
	 * told the other end; alone that word means much else. */
	if (!is_local(failure) && !(is_status(failure, STATUS_LOC_QP_OP) && told)) {
		return false;
	}
	if (told) {
		snprintf(effect, sizeof(effect), "; the other end was told so by %s",
			 failure_wc_status_name(told->error.number));
	}
	finding_add(findings, FINDING_LOCAL_PROTECTION, CONFIDENCE_LIKELY, evidence,
		    "%s refused its own memory, or what does not fit into it: %s%s", node,
		    failure_wc_status_name(failure->error.number), effect);
	return true;
}

/* The device at the end of a request tells it by an event; the other end was not heard. */
static bool is_refused_request(const struct failure *failure)
{
	return strcmp(failure->error.call, "ibv_get_async_event") == 0 &&
	       failure->error.kind == ERROR_KIND_ERRNO &&
	       (failure->error.number == EACCES || failure->error.number == EPROTO);
}

/* An invalid request that fetches is, before all, one too many of those under way. */
static bool find_too_many_fetches(const struct failure *failure,
				  const struct measurement *measurement, const char *node,
				  const char *evidence, struct findings *findings)
{
	if (!is_status(failure, STATUS_REM_INV_REQ) || measurement == NULL ||
	    failure->operation < 0 || !(operation_traits(failure->operation) & OPERATION_FETCHES)) {
		return false;
	}
	finding_add(findings, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY, evidence,
		    "a %s was refused: %s, seen by %s: more of them were under way than the other "
		    "device takes (qp.max_rd_atomic: %" PRIu64 "), or its memory allows none",
		    operation_names[failure->operation],
		    failure_wc_status_name(failure->error.number), node,
		    measurement->assignment.workload.qp.max_rd_atomic);
	return true;
}

bool diagnose_access(const struct failure *failure, const struct measurement *measurement,
		     const char *node, const char *evidence, struct findings *findings)
{
	if (find_local(failure, measurement, node, evidence, findings) ||
	    find_too_many_fetches(failure, measurement, node, evidence, findings)) {
		return true;
	}
	if (is_refusal(failure)) {
		finding_add(findings, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY, evidence,
			    "memory access was refused: %s, seen by %s",
			    failure_wc_status_name(failure->error.number), node);
		return true;
	}
	if (is_refused_request(failure)) {
		finding_add(findings, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY, evidence,
			    "a request was refused: %s, seen by %s", failure->error.text, node);
		return true;
	}
	return false;
}
